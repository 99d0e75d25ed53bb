// SPDX-License-Identifier: MIT
/*
 * What instructions waited for: pairs of a static instruction and the producer of its last operand,
 * for retired executions in which the operand was not ready when the instruction was mapped.
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
    struct hp_wait *waits; /* in order of first occurrence */
    size_t n, cap;
    struct hp_map64 index; /* insn << 32 | producer */
    uint32_t *last; /* by instruction: its latest + 1: mostly it is the same again; 0: none */
    size_t cap_last;
};

void hp_waits_fini(struct hp_waits *waits);

/* Counts the measured timings; ids are below `n_insns`. HP_ERR_NOMEM. */
enum hp_err hp_waits_timings(struct hp_waits *waits, uint32_t n_insns,
                             const struct hp_timing *timings, size_t n);

#endif
