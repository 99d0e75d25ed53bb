// SPDX-License-Identifier: MIT
/*
 * The cycles profiler. From the timings of a machine in cycles it computes exactly: a tally of
 * every instruction, where every cycle went, what instructions waited for, and for comparison what
 * other sampling methods would have reported (docs/instructions.md).
 */
#ifndef HP_PROFILER_CYCLES_PROFILER_H
#define HP_PROFILER_CYCLES_PROFILER_H

#include "hotpath/cycles.h"
#include "hotpath/profiler.h"

struct hp_cycles_config {
    uint64_t interval; /* mean cycles between samples of the sampling methods; 0: every cycle (no
                          sampling error) */
    uint64_t seed;
};

/* Keeps `program`. */
enum hp_err hp_cycles_profiler_new(const struct hp_cycles_config *config,
                                   struct hp_program *program, struct hp_profiler **profiler);

#endif
