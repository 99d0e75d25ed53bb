// SPDX-License-Identifier: MIT
/*
 * The random parts of the hot path table: which path gets an entry, and how accumulators of few
 * bits count far. See docs/better.md.
 *
 * Random admission (RAP: Ben Basat, Einziger, Friedman, Kassner, "Randomized admission policy for
 * efficient top-k and frequency estimation", INFOCOM 2017). A path that misses in a full set
 * replaces the least entry, of count c, with a probability of about 1 / c, and continues from c. So
 * it gets in after about as many executions as the one it replaces, and rare paths, however many,
 * do not disturb the others. The probability here is events / 2^floor(log2(c + events)): a mask and
 * a comparison in hardware, where 1 / (c + 1) takes a division.
 *
 * Floating accumulators (Csuros, "Approximate counting with a floating-point counter", COCOON
 * 2010). A count has a mantissa and an exponent. What is below the mantissa's last bit is rounded
 * up or down at random, in proportion, so that on average nothing is lost.
 */
#ifndef HP_PROFILER_PATH_HPT_ADMISSION_H
#define HP_PROFILER_PATH_HPT_ADMISSION_H

#include "hotpath/path.h"

#define HP_HPT_RANDOM_BITS 64 /* of the generator, which is part of the table */
#define HP_HPT_SEED        UINT64_C(0x9e3779b97f4a7c15)

/* The next random number: a shift register with feedback (xorshift). The state is never 0. */
uint64_t hp_hpt_draw(uint64_t *state);

/* Whether a path with `events` (not 0) replaces an entry with count `least`. */
bool hp_hpt_admits(uint64_t random, uint64_t least, uint32_t events);

/* The largest value of an accumulator. */
uint64_t hp_hpt_most(const struct hp_hpt_config *config);

/* One of the two values of an accumulator nearest to `value`, which is at most the largest. */
uint64_t hp_hpt_round(const struct hp_hpt_config *config, uint64_t value, uint64_t random);

/* The bits needed to distinguish `n` things. */
uint32_t hp_hpt_bits_for(uint32_t n);

#endif
