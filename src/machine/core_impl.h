// SPDX-License-Identifier: MIT
/*
 * Internals of a core, for its functional form (core.c) and for the pipeline around it (pipe/),
 * which use the same caches and predictors.
 */
#ifndef HP_MACHINE_CORE_IMPL_H
#define HP_MACHINE_CORE_IMPL_H

#include "machine/blocks.h"
#include "machine/branches.h"
#include "machine/power.h"

#define HP_CORE_STATS_MAX 80

struct hp_core {
    const struct hp_machine *machine;
    struct hp_branches branches;
    char apart[64]; /* the two halves of a batch do not write to one line (halves.h) */
    struct hp_memory memory;
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
static inline void hp_core_count(struct hp_core *core, const struct hp_block_info *info,
                                 bool addresses, struct hp_events *events)
{
    uint32_t *count = events->count;
    count[HP_METRIC_INSTRUCTIONS] += info->insns;
    count[HP_METRIC_POWER] += info->insns * HP_POWER_ONE;
    count[HP_METRIC_POWER_CYCLE] += info->fetch_power_cycle;
    if (!addresses)
        return;
    count[HP_METRIC_POWER] += info->data_power;
    count[HP_METRIC_POWER_CYCLE] += info->data_power_cycle;
    core->reads += info->reads;
    core->writes += info->writes;
    core->updates += info->updates;
}

/* Runs all of a block except its branch: `n` operands of it have addresses. */
void hp_core_run_straight(struct hp_core *core, const struct hp_block_info *info,
                          const uint64_t *addresses, size_t n, struct hp_events *events);

#endif
