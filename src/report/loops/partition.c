// SPDX-License-Identifier: MIT
#include "report/loops/partition.h"

#include "report/tables.h"

#include <stdlib.h>

#define LARGEST 1e12 /* speedup that is told apart */

double hp_partition_speedup(const struct hp_tables *tables, double gain)
{
    double all = (double)tables->summary.instructions, left = all - gain;
    if (all <= 0)
        return 1;
    if (left * LARGEST < all)
        return LARGEST;
    return all / left;
}

void hp_partition_estimate(const struct hp_tables *tables, uint32_t loop,
                           struct hp_partition_estimate *estimate)
{
    const struct hp_partition_costs *costs = &tables->costs;
    const struct hp_ploop_count *total = &tables->loops.info[loop].total;
    double all = (double)tables->summary.instructions, self = (double)total->self;
    double each = costs->set ? (double)costs->init + (double)costs->sync
                             : (double)HP_PARTITION_INIT + (double)HP_PARTITION_SYNC;
    estimate->software = self < all ? self : all;
    estimate->hardware = costs->set && costs->iteration >= 0
                             ? costs->iteration * (double)total->iterations
                             : estimate->software / HP_PARTITION_FASTER;
    estimate->communication = each * (double)total->executions;
    estimate->gain = estimate->software - estimate->hardware - estimate->communication;
    estimate->speedup = hp_partition_speedup(tables, estimate->gain);
}

enum hp_err hp_rows_partition(struct hp_rows *rows, struct hp_tables *tables, bool per_thread)
{
    (void)per_thread;
    HP_TRY(hp_rows_of_items(rows, tables->profile->n_loops));
    size_t n = rows->n;
    rows->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hp_partition_estimate estimate;
        if (tables->loops.info[i].total.executions == 0)
            continue;
        hp_partition_estimate(tables, i, &estimate);
        rows->rows[rows->n] = rows->rows[i];
        rows->rows[rows->n++].v[0] = (uint64_t)(estimate.speedup * 1e6 + 0.5);
    }
    return HP_OK;
}

/* No loop that is nested in the chosen one, or in which that is nested, can be chosen any more.
 * `blocked` by position, `above` by loop: of those that are blocked for what is in them, all around
 * them are, too. */
static void block(const struct hp_tables *tables, uint32_t loop, bool *blocked, bool *above)
{
    const struct hp_loop_info *info = tables->loops.info;
    for (uint32_t at = info[loop].at; at < info[loop].end; at++)
        blocked[at] = true;
    for (uint32_t i = tables->profile->loops[loop].parent; i != HP_PROFILE_NONE && !above[i];
         i = tables->profile->loops[i].parent)
        above[i] = blocked[info[i].at] = true;
}

/* The loops of the rows, in that order or by iterations. */
static void list_loops(const struct hp_tables *tables, const struct hp_rows *rows,
                       bool by_iterations, uint32_t *by_rank, uint32_t *loops)
{
    size_t n = 0, all = tables->profile->n_loops;
    for (size_t i = 0; i < all; i++)
        by_rank[i] = HP_PROFILE_NONE;
    for (size_t i = 0; i < rows->n; i++) {
        loops[i] = rows->rows[i].item;
        by_rank[tables->loops.info[loops[i]].rank - 1] = loops[i];
    }
    for (size_t i = 0; by_iterations && i < all; i++)
        if (by_rank[i] != HP_PROFILE_NONE)
            loops[n++] = by_rank[i];
}

enum hp_err hp_partition_choose(const struct hp_tables *tables, const struct hp_rows *rows,
                                bool by_iterations, uint32_t **chosen, size_t *n)
{
    size_t all = tables->profile->n_loops, most = tables->costs.set ? tables->costs.loops : 1;
    bool *blocked = calloc(2 * all + 1, sizeof *blocked);
    uint32_t *loops = calloc(2 * all + 1, sizeof *loops);
    if (!blocked || !loops) {
        free(blocked);
        free(loops);
        return hp_fail_nomem();
    }
    /* The choice is made in place: it is never longer than what was looked at. */
    list_loops(tables, rows, by_iterations, loops + all, loops);
    *n = 0;
    for (size_t i = 0; i < rows->n && *n < most; i++) {
        uint32_t loop = loops[i];
        struct hp_partition_estimate estimate;
        hp_partition_estimate(tables, loop, &estimate);
        if (!by_iterations && estimate.gain <= 0)
            break;
        if (blocked[tables->loops.info[loop].at])
            continue;
        loops[(*n)++] = loop;
        block(tables, loop, blocked, blocked + all);
    }
    free(blocked);
    *chosen = loops;
    return HP_OK;
}
