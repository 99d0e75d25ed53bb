// SPDX-License-Identifier: MIT
/*
 * What other sampling methods report about the time of instructions: docs/instructions.md, "Other
 * ways to attribute". One per thread, fed with all its timings in order of fetch.
 *
 * Without an interval a method samples every cycle (every instruction), so that its error is
 * systematic, not random. With one, dispatch and next sample the same random cycles, and profileme
 * equally random instructions.
 */
#ifndef HP_PROFILER_CYCLES_SCHEMES_H
#define HP_PROFILER_CYCLES_SCHEMES_H

#include "profiler/cycles/attribute.h"
#include "profiler/sample/random.h"

/* The sampled points, on a line of cycles or of instructions. */
struct hp_looks {
    uint64_t interval; /* mean; 0: all */
    uint64_t at;       /* the next one */
    struct hp_random random;
};

/* A method that samples cycles. */
struct hp_cycle_scheme {
    struct hp_looks looks;
    uint64_t next; /* the first cycle not yet attributed */
    bool begins; /* the next measured one is the first, or the first after something not measured */
};

struct hp_schemes {
    struct hp_cycle_scheme dispatch, retired; /* retired: the method `next` */
    struct hp_looks fetched;                  /* profileme; counts measured instructions */
    uint64_t n_fetched;
};

/* A thread's generators start with the seed and its number. */
void hp_schemes_init(struct hp_schemes *schemes, uint64_t interval, uint64_t seed, uint32_t thread);

/* Adds to the rows' weights: cycles, or samples; for profileme cycles of latency. */
void hp_schemes_timings(struct hp_schemes *schemes, struct hp_cycles_row *rows,
                        const struct hp_timing *timings, size_t n);

#endif
