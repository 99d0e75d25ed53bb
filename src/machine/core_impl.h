// SPDX-License-Identifier: MIT
/*
 * Internals of a core, for its functional form (core.c) and for the pipeline around it (pipe/),
 * which use the same caches and predictors.
 */
#ifndef HP_MACHINE_CORE_IMPL_H
#define HP_MACHINE_CORE_IMPL_H

#include "machine/blocks.h"
#include "machine/branches.h"

#define HP_CORE_STATS_MAX 80

struct hp_core {
    const struct hp_machine *machine;
    struct hp_memory memory;
    struct hp_branches branches;
    struct hp_blocks blocks;
    uint64_t n_blocks;
    uint64_t reads, writes, updates; /* operands */
    uint64_t totals[HP_METRICS]; /* without EXECUTIONS, L2, L3 and MISPREDICTIONS, which are counted
                                    elsewhere */
    struct hp_core_stat stats[HP_CORE_STATS_MAX + 1];
    unsigned n_stats;
};

/* Counts what does not depend on hits and misses for a retired block: instructions, power, and with
 * `addresses` its operands. */
void hp_core_count(struct hp_core *core, const struct hp_block_info *info, bool addresses,
                   struct hp_events *events);

#endif
