// SPDX-License-Identifier: MIT
/*
 * The normal form of loops.
 *
 * Where loops are joined they may be nested in different ones: a run that never iterated the loop in the middle does
 * not know it. Of the loops that one is said to be in, the smallest stays its parent.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>

typedef unsigned __int128 wide;

/* --- Order ------------------------------------------------------------------------------------ */

static int loop_key(const void *a, const void *b)
{
    const struct hp_ploop *x = a, *y = b;
    int order = hp_compare_u64(x->function, y->function);
    if (!order)
        order = hp_compare_place(&x->header, &y->header);
    return order ? order : hp_compare_u64(x->version, y->version);
}

/* The source that is known, and the most lines of it. */
static int loop_rest(const void *a, const void *b)
{
    const struct hp_ploop *x = a, *y = b;
    int order = hp_compare_u64(*hp_text(x->file) == 0, *hp_text(y->file) == 0);
    if (!order)
        order = hp_compare_text(x->file, y->file);
    if (!order)
        order = hp_compare_u64(x->first_line, y->first_line);
    return order ? order : hp_compare_u64(y->last_line, x->last_line);
}

static int trips_key(const void *a, const void *b)
{
    const struct hp_ploop_trips *x = a, *y = b;
    int order = hp_compare_u64(x->loop, y->loop);
    if (!order)
        order = hp_compare_u64(x->bucket, y->bucket);
    return order ? order : hp_compare_u64(x->value, y->value);
}

static int block_key(const void *a, const void *b)
{
    const struct hp_ploop_block *x = a, *y = b;
    int order = hp_compare_u64(x->loop, y->loop);
    return order ? order : hp_compare_u64(x->block, y->block);
}

static int model_key(const void *a, const void *b)
{
    const struct hp_pmodel_loop *x = a, *y = b;
    int order = hp_compare_text(x->model, y->model);
    if (!order)
        order = hp_compare_place(&x->branch, &y->branch);
    return order ? order : hp_compare_place(&x->target, &y->target);
}

/* What refers to something is kept: HP_PROFILE_NONE is the largest. */
static int model_rest(const void *a, const void *b)
{
    const struct hp_pmodel_loop *x = a, *y = b;
    int order = hp_compare_u64(x->loop, y->loop);
    return order ? order : hp_compare_u64(x->function, y->function);
}

const struct hp_order hp_order_loop = {sizeof(struct hp_ploop), loop_key, loop_rest};
const struct hp_order hp_order_loop_trips = {sizeof(struct hp_ploop_trips), trips_key, NULL};
const struct hp_order hp_order_loop_block = {sizeof(struct hp_ploop_block), block_key, NULL};
const struct hp_order hp_order_model_loop = {sizeof(struct hp_pmodel_loop), model_key, model_rest};

static uint32_t mapped(const uint32_t *map, uint32_t index)
{
    return index == HP_PROFILE_NONE ? index : map[index];
}

/* --- Nesting ---------------------------------------------------------------------------------- */

/* Parents from different runs can contradict each other: a circle of them is opened at its first loop. */
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
        uint32_t parent = mapped(map, old[i].parent);
        if (parent != HP_PROFILE_NONE && parent != map[i] &&
            is_nearer(p, parent, p->loops[map[i]].parent))
            p->loops[map[i]].parent = parent;
    }
    return open_circles(p);
}

static enum hp_err order_loops(struct hp_profile *p, uint32_t **map)
{
    size_t n = p->n_loops;
    struct hp_ploop *old = malloc((n + 1) * sizeof *old);
    if (!old)
        return hp_fail_nomem();
    if (n)
        memcpy(old, p->loops, n * sizeof *old);
    enum hp_err err = hp_order_apply(&hp_order_loop, p->loops, &p->n_loops, map);
    if (err == HP_OK)
        err = join_loops(p, old, n, *map);
    free(old);
    return err;
}

/* --- What belongs to them --------------------------------------------------------------------- */

/* The smallest and the largest are not sums. */
static void join_counts(void *sum, const void *counter)
{
    struct hp_ploop_count *a = sum;
    const struct hp_ploop_count *b = counter;
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

static int more_frequent(const void *a, const void *b)
{
    const struct hp_ploop_trips *x = a, *y = b;
    int order = hp_compare_u64(y->count, x->count);
    return order ? order : hp_compare_u64(x->value, y->value);
}

/* Of the `n` values of a loop the most frequent ones, at the start, by value; returns how many. */
static size_t keep_frequent(struct hp_ploop_trips *values, size_t n)
{
    if (n <= HP_LOOP_VALUES)
        return n;
    qsort(values, n, sizeof *values, more_frequent);
    qsort(values, HP_LOOP_VALUES, sizeof *values, trips_key);
    return HP_LOOP_VALUES;
}

static void order_trips(struct hp_profile *p, const uint32_t *map)
{
    struct hp_ploop_trips *trips = p->loop_trips;
    size_t n = p->n_loop_trips, kept = 0;
    for (size_t i = 0; i < n; i++)
        trips[i].loop = map[trips[i].loop];
    if (n)
        qsort(trips, n, sizeof *trips, trips_key);
    for (size_t at = 0, end; at < n; at = end) {
        size_t first = kept;
        for (end = at;
             end < n && trips[end].loop == trips[at].loop && trips[end].bucket == trips[at].bucket;
             end++) {
            if (trips[end].count == 0)
                continue;
            if (kept > first && trips[kept - 1].value == trips[end].value)
                trips[kept - 1].count = hp_add_saturated(trips[kept - 1].count, trips[end].count);
            else
                trips[kept++] = trips[end];
        }
        if (kept > first && !trips[first].bucket)
            kept = first + keep_frequent(trips + first, kept - first);
    }
    p->n_loop_trips = kept;
}

static enum hp_err order_blocks(struct hp_profile *p, const uint32_t *map, const uint32_t *blocks)
{
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        p->loop_blocks[i].loop = map[p->loop_blocks[i].loop];
        p->loop_blocks[i].block = blocks[p->loop_blocks[i].block];
    }
    uint32_t *unused;
    HP_TRY(hp_order_apply(&hp_order_loop_block, p->loop_blocks, &p->n_loop_blocks, &unused));
    free(unused);
    return HP_OK;
}

/* --- Models ----------------------------------------------------------------------------------- */

static int compare_models(const void *a, const void *b)
{
    int order = model_key(a, b);
    return order ? order : model_rest(a, b);
}

/* `n` reports of the same loop as one: counts are added, the average is that of all executions. */
static struct hp_pmodel_loop join_reports(const struct hp_pmodel_loop *same, size_t n)
{
    struct hp_pmodel_loop joint = same[0];
    wide back_edges = 0, executions = 0;
    joint.executions = joint.iterations = joint.instructions = 0;
    for (size_t i = 0; i < n; i++) {
        back_edges += (wide)same[i].average * same[i].executions;
        executions += same[i].executions;
        joint.average = same[i].average > joint.average ? same[i].average : joint.average;
        joint.executions = hp_add_saturated(joint.executions, same[i].executions);
        joint.iterations = hp_add_saturated(joint.iterations, same[i].iterations);
        joint.instructions = hp_add_saturated(joint.instructions, same[i].instructions);
    }
    if (executions)
        joint.average = (uint64_t)((back_edges + executions / 2) / executions);
    return joint;
}

static void order_models(struct hp_profile *p, const uint32_t *map)
{
    struct hp_pmodel_loop *loops = p->model_loops;
    size_t n = p->n_model_loops, kept = 0;
    for (size_t i = 0; i < n; i++)
        loops[i].loop = mapped(map, loops[i].loop);
    if (n)
        qsort(loops, n, sizeof *loops, compare_models);
    for (size_t at = 0, end; at < n; at = end) {
        end = at + 1;
        while (end < n && model_key(&loops[at], &loops[end]) == 0)
            end++;
        loops[kept++] = end > at + 1 ? join_reports(loops + at, end - at) : loops[at];
    }
    p->n_model_loops = kept;
}

enum hp_err hp_loops_order(struct hp_profile *p, const uint32_t *blocks)
{
    uint32_t *map = NULL;
    enum hp_err err = order_loops(p, &map);
    if (err == HP_OK)
        err = hp_counters_order(p->loop_counts, &p->n_loop_counts, sizeof *p->loop_counts, map,
                                p->n_loops, join_counts);
    if (err == HP_OK)
        err = order_blocks(p, map, blocks);
    if (err == HP_OK) {
        order_trips(p, map);
        order_models(p, map);
    }
    free(map);
    return err;
}
