// SPDX-License-Identifier: MIT
/*
 * What the hot path table does by chance: who gets a place, and how accumulators of few bits count
 * far. See docs/better.md.
 *
 * Random admission (RAP: Ben Basat, Einziger, Friedman, Kassner, "Randomized admission policy for
 * efficient top-k and frequency estimation", INFOCOM 2017). A path that is not in its full set gets
 * the place of the least entry, of count c, by a lottery that it wins about once in c executions,
 * and goes on from c: so it gets in when it has come about as often as the one it replaces, and
 * what comes rarely never disturbs the others, however many rare ones there are. Here the
 * probability is events / 2^floor(log2(c + events)): a mask and a comparison in hardware, where 1 /
 * (c + 1) takes a division.
 *
 * Floating accumulators (Csuros, "Approximate counting with a floating-point counter", COCOON
 * 2010). A count has a mantissa and an exponent; what is below the mantissa's last bit is rounded
 * up or down by chance, in proportion, so that on average nothing is lost.
 */
#ifndef HP_PROFILER_PATH_HPT_ADMISSION_H
#define HP_PROFILER_PATH_HPT_ADMISSION_H

#include "hotpath/path.h"

#define HP_HPT_RANDOM_BITS 64 /* of the generator, which is part of the table */
#define HP_HPT_SEED        UINT64_C(0x9e3779b97f4a7c15)

/* The next random number: a shift register with feedback (xorshift). The state is never 0. */
uint64_t hp_hpt_draw(uint64_t *state);

/* Whether a path with `events` (not 0) wins the place of an entry that has `least`. */
bool hp_hpt_admits(uint64_t random, uint64_t least, uint32_t events);

/* The largest value of an accumulator. */
uint64_t hp_hpt_most(const struct hp_hpt_config *config);

/* One of the two values of an accumulator nearest to `value`, which is at most the largest. */
uint64_t hp_hpt_round(const struct hp_hpt_config *config, uint64_t value, uint64_t random);

/* How many bits it takes to tell `n` things apart. */
uint32_t hp_hpt_bits_for(uint32_t n);

#endif
