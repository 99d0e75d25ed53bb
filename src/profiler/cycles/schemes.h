// SPDX-License-Identifier: MIT
/*
 * What other ways of sampling say of the time of instructions: docs/instructions.md, "Other ways to
 * attribute". One a thread, fed with all its timings in the order of fetch.
 *
 * Without an interval a way looks at every cycle (at every instruction), so that what is wrong with
 * it is the way, not chance. With one, dispatch and next look at the same random cycles, and
 * profileme at as random instructions.
 */
#ifndef HP_PROFILER_CYCLES_SCHEMES_H
#define HP_PROFILER_CYCLES_SCHEMES_H

#include "profiler/cycles/attribute.h"
#include "profiler/sample/random.h"

/* Points that are looked at, on a line of cycles or of instructions. */
struct hp_looks {
    uint64_t interval; /* mean; 0: all */
    uint64_t at;       /* the next one */
    struct hp_random random;
};

/* Of a way that looks at cycles. */
struct hp_cycle_scheme {
    struct hp_looks looks;
    uint64_t next; /* the first cycle that is nobody's yet */
    bool begins;   /* the next measured one is behind something that was not, or the first of all */
};

struct hp_schemes {
    struct hp_cycle_scheme dispatch, retired; /* retired: the way `next` */
    struct hp_looks fetched;                  /* profileme; counts measured instructions */
    uint64_t n_fetched;
};

/* A thread's generators start with the seed and its number. */
void hp_schemes_init(struct hp_schemes *schemes, uint64_t interval, uint64_t seed, uint32_t thread);

/* Adds to the rows' weights: cycles, or samples; of profileme cycles of latency. */
void hp_schemes_timings(struct hp_schemes *schemes, struct hp_cycles_row *rows,
                        const struct hp_timing *timings, size_t n);

#endif
