// SPDX-License-Identifier: MIT
/*
 * A batch on a core, in halves. Caches and TLBs never ask the predictors anything, nor these them:
 * so each half may see the whole batch before, after, or while the other one does, in another
 * thread. What they write is apart. hp_core_batch() is one after the other.
 */
#ifndef HP_MACHINE_HALVES_H
#define HP_MACHINE_HALVES_H

#include "hotpath/machine.h"

/* Analyses the blocks of a batch that are new; before its halves. `*n`: how many of its blocks can
 * be run, all of them unless it fails. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_core_prepare(struct hp_core *core, struct hp_code *code,
                                          const struct hp_batch *batch, size_t *n);

/* Caches, TLBs and power of the first `n` blocks. Fills events[0 ... n - 1], without
 * mispredictions; NULL: they are not wanted. */
void hp_core_run_memory(struct hp_core *core, const struct hp_batch *batch, size_t n,
                        struct hp_events *events);

/* The branches of the first `n` blocks, at most HP_BATCH_MAX. Those of the blocks wrong[0 ... k -
 * 1] were mispredicted; returns k. */
size_t hp_core_run_branches(struct hp_core *core, const struct hp_batch *batch, size_t n,
                            uint32_t *wrong);

/* Adds mispredictions to the events. */
static inline void hp_core_add_wrong(struct hp_events *events, const uint32_t *wrong, size_t n)
{
    for (size_t i = 0; i < n; i++)
        events[wrong[i]].count[HP_METRIC_MISPREDICTIONS]++;
}

#endif
