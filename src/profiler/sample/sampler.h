// SPDX-License-Identifier: MIT
/*
 * Inside the sampler (docs/instructions.md, "Sampling"): selection (select.c), and the profile
 * registers, which hold what was selected until it is delivered (registers.c).
 *
 * A *count* is the number of a measured instruction, or slot, from 1 on, over all windows of a run.
 */
#ifndef HP_PROFILER_SAMPLE_SAMPLER_H
#define HP_PROFILER_SAMPLE_SAMPLER_H

#include "hotpath/sample.h"
#include "profiler/sample/random.h"

#define HP_COUNT_NEVER UINT64_MAX
#define HP_SAMPLE_TAGS 64

struct hp_sampler {
    struct hp_sample_config config; /* with the window in use */
    struct hp_sample_machine machine;
    struct hp_thread thread;
    struct hp_random random;
    struct hp_sampler_stats stats; /* counted: the count of the last measured one */

    /* Selection. */
    bool in_window;     /* the last timing was measured */
    uint64_t slot_zero; /* mode slots: the number of the slot with count 0 */
    uint64_t first_at;  /* counts to select next */
    uint64_t second_at; /* HP_COUNT_NEVER: no pair is open */
    uint64_t at;        /* the latest count that was selected */

    /* Registers. */
    struct hp_sample_pair current;       /* its first one, while a pair is open */
    uint32_t tag;                        /* the set it is in */
    uint64_t busy_until[HP_SAMPLE_TAGS]; /* of each set: the cycle in which what it holds has left
                                            the pipe */
    uint32_t history_mask;

    /* Delivery. */
    hp_sample_deliver deliver;
    void *context;
    size_t n; /* in the buffer */
    struct hp_sample_pair *buffer;
};

/* HP_ERR_INVALID: a number is out of its bounds. */
enum hp_err hp_sample_config_check(const struct hp_sample_config *config);

/* Sets the counter for the first time. */
void hp_sampler_start(struct hp_sampler *sampler);

/* An instruction, or an empty slot in a cycle (timing NULL), was selected: as the first of a pair
 * or the only one; as the second. The first returns the distance to the second; 0: there is
 * none. */
uint64_t hp_sampler_first(struct hp_sampler *sampler, const struct hp_timing *timing,
                          uint64_t cycle);
void hp_sampler_second(struct hp_sampler *sampler, const struct hp_timing *timing, uint64_t cycle);
/* An open pair gets no second one: it is lost. */
void hp_sampler_cut(struct hp_sampler *sampler);
/* Delivers what is in the buffer. */
void hp_sampler_deliver(struct hp_sampler *sampler);

#endif
