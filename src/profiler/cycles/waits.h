// SPDX-License-Identifier: MIT
/*
 * What instructions waited for: pairs of a static instruction and the one whose result it needed
 * last, of retired executions in which it was not there when the instruction was mapped.
 */
#ifndef HP_PROFILER_CYCLES_WAITS_H
#define HP_PROFILER_CYCLES_WAITS_H

#include "base/map64.h"
#include "hotpath/pipe.h"

struct hp_wait {
    uint32_t insn, producer; /* static ids */
    uint64_t count;          /* executions */
    uint64_t cycles;         /* from map to data ready */
};

/* All zero is empty. */
struct hp_waits {
    struct hp_wait *waits; /* in the order in which they were first seen */
    size_t n, cap;
    struct hp_map64 index; /* insn << 32 | producer */
    uint32_t *last; /* by instruction: its latest + 1, for most wait for the same always; 0: none */
    size_t cap_last;
};

void hp_waits_fini(struct hp_waits *waits);

/* Counts the measured ones; ids are below `n_insns`. HP_ERR_NOMEM. */
enum hp_err hp_waits_timings(struct hp_waits *waits, uint32_t n_insns,
                             const struct hp_timing *timings, size_t n);

#endif
