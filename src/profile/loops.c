// SPDX-License-Identifier: MIT
/*
 * Loops in their normal form.
 *
 * Where loops are joined they may be nested in different ones: a run that never iterated the loop
 * in the middle does not know it. Of the loops that one is said to be in, the smallest stays its
 * parent.
 */
#include "profile/profile_impl.h"

#include <stdlib.h>

/* --- Nesting ---------------------------------------------------------------------------------- */

/* Walks up from every loop, no further than to where a walk has been: each loop is passed once. */
enum hp_err hp_loops_check_nesting(const struct hp_profile *p, uint32_t *culprit)
{
    if (p->n_loops == 0)
        return HP_OK;
    uint32_t *seen = calloc(p->n_loops + 1, sizeof *seen); /* by which walk, from 1 */
    if (!seen)
        return hp_fail_nomem();
    enum hp_err err = HP_OK;
    for (uint32_t start = 0; start < p->n_loops && err == HP_OK; start++) {
        uint32_t at = start;
        while (at != HP_PROFILE_NONE && !seen[at]) {
            seen[at] = start + 1;
            at = p->loops[at].parent;
        }
        if (at != HP_PROFILE_NONE && seen[at] == start + 1) {
            *culprit = at;
            err = hp_fail(HP_ERR_INVALID, "loop %u is nested in itself", at);
        }
    }
    free(seen);
    return err;
}

/* Parents from different runs can contradict each other: a circle of them is opened at its first
 * loop. */
static enum hp_err open_circles(struct hp_profile *p)
{
    uint32_t *seen = calloc(p->n_loops + 1, sizeof *seen); /* by which walk, from 1 */
    if (!seen)
        return hp_fail_nomem();
    for (uint32_t start = 0; start < p->n_loops; start++) {
        uint32_t at = start;
        while (at != HP_PROFILE_NONE && !seen[at]) {
            seen[at] = start + 1;
            at = p->loops[at].parent;
        }
        if (at == HP_PROFILE_NONE || seen[at] != start + 1)
            continue;
        uint32_t first = at;
        for (uint32_t i = p->loops[at].parent; i != at; i = p->loops[i].parent)
            first = i < first ? i : first;
        p->loops[first].parent = HP_PROFILE_NONE;
    }
    free(seen);
    return HP_OK;
}

/* Whether `parent` is a better one than `than`. */
static bool is_nearer(const struct hp_profile *p, uint32_t parent, uint32_t than)
{
    if (than == HP_PROFILE_NONE)
        return true;
    if (p->loops[parent].insns != p->loops[than].insns)
        return p->loops[parent].insns < p->loops[than].insns;
    return parent < than;
}

/* `old`: the loops as they were, `n` of them; `map`: what became of them. */
static enum hp_err join_loops(struct hp_profile *p, const struct hp_ploop *old, size_t n,
                              const uint32_t *map)
{
    for (size_t i = 0; i < p->n_loops; i++)
        p->loops[i].parent = HP_PROFILE_NONE;
    for (size_t i = 0; i < n; i++) {
        struct hp_ploop *loop = &p->loops[map[i]];
        loop->flags |= old[i].flags;
        if (loop->insns < old[i].insns)
            loop->insns = old[i].insns;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = hp_renumbered(map, old[i].parent);
        if (parent != HP_PROFILE_NONE && parent != map[i] &&
            is_nearer(p, parent, p->loops[map[i]].parent))
            p->loops[map[i]].parent = parent;
    }
    return open_circles(p);
}

enum hp_err hp_loops_order(struct hp_profile *p, uint32_t **map)
{
    size_t n = p->n_loops;
    struct hp_ploop *old = malloc((n + 1) * sizeof *old);
    if (!old)
        return hp_fail_nomem();
    if (n)
        memcpy(old, p->loops, n * sizeof *old);
    enum hp_err err = hp_rows_order(p, HP_ROW_LOOP, map);
    if (err == HP_OK)
        err = join_loops(p, old, n, *map);
    free(old);
    return err;
}

/* --- What belongs to them --------------------------------------------------------------------- */

static void join_count(struct hp_ploop_count *a, const struct hp_ploop_count *b)
{
    if (a->max == 0 || (b->max && b->min < a->min))
        a->min = b->min;
    if (a->max < b->max)
        a->max = b->max;
    a->executions = hp_add_saturated(a->executions, b->executions);
    a->iterations = hp_add_saturated(a->iterations, b->iterations);
    a->back_edges = hp_add_saturated(a->back_edges, b->back_edges);
    a->self = hp_add_saturated(a->self, b->self);
    a->inclusive = hp_add_saturated(a->inclusive, b->inclusive);
    a->same = hp_add_saturated(a->same, b->same);
    a->stride = hp_add_saturated(a->stride, b->stride);
    a->interrupted = hp_add_saturated(a->interrupted, b->interrupted);
}

/* The smallest and the largest are not sums. */
enum hp_err hp_join_loop_counts(void *joint, const void *rows, size_t n, size_t stride)
{
    for (size_t i = 1; i < n; i++)
        join_count(joint, (const void *)((const char *)rows + i * stride));
    return HP_OK;
}

static int more_frequent(const void *a, const void *b)
{
    const struct hp_ploop_trips *x = a, *y = b;
    int order = hp_compare_u64(y->count, x->count);
    return order ? order : hp_compare_u64(x->value, y->value);
}

static int by_value(const void *a, const void *b)
{
    const struct hp_ploop_trips *x = a, *y = b;
    return hp_compare_u64(x->value, y->value);
}

/* The end of the rows of one loop with the same `bucket`. */
static size_t end_of_group(const struct hp_profile *p, size_t at)
{
    const struct hp_ploop_trips *trips = p->loop_trips;
    size_t end = at + 1;
    while (end < p->n_loop_trips && trips[end].loop == trips[at].loop &&
           trips[end].bucket == trips[at].bucket)
        end++;
    return end;
}

bool hp_loop_trips_kept(const struct hp_profile *p)
{
    for (size_t at = 0, end; at < p->n_loop_trips; at = end) {
        end = end_of_group(p, at);
        if (!p->loop_trips[at].bucket && end - at > HP_LOOP_VALUES)
            return false;
    }
    return true;
}

void hp_loop_trips_keep(struct hp_profile *p)
{
    struct hp_ploop_trips *trips = p->loop_trips;
    size_t kept = 0;
    for (size_t at = 0, end; at < p->n_loop_trips; at = end) {
        end = end_of_group(p, at);
        size_t n = end - at;
        if (!trips[at].bucket && n > HP_LOOP_VALUES) {
            qsort(trips + at, n, sizeof *trips, more_frequent);
            n = HP_LOOP_VALUES;
            qsort(trips + at, n, sizeof *trips, by_value);
        }
        memmove(trips + kept, trips + at, n * sizeof *trips);
        kept += n;
    }
    p->n_loop_trips = kept;
}
