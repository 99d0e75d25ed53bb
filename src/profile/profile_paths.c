// SPDX-License-Identifier: MIT
/*
 * The normal form of paths and of what models say.
 *
 * Where paths are joined each may have steps: those of one of them are kept, whole, as a path that is made
 * of pieces of two would be none that was executed. (They differ when code at the same place did.)
 */
#include "profile/profile_memory.h"

#include <stdlib.h>
#include <string.h>

/* --- Steps ------------------------------------------------------------------------------------ */

/* A step with the path it was of before paths were joined. */
struct old_step {
    struct hp_pstep step; /* of the new path */
    uint32_t old;
};

static int order_steps(const void *a, const void *b)
{
    const struct old_step *x = a, *y = b;
    if (x->step.path != y->step.path)
        return x->step.path < y->step.path ? -1 : 1;
    if (x->old != y->old)
        return x->old < y->old ? -1 : 1;
    int order = hp_order_step.key(&x->step, &y->step);
    return order ? order : hp_order_step.rest(&x->step, &y->step);
}

/* The end of the steps of one old path, or, with `joined`, of one new path. */
static size_t run_end(const struct old_step *steps, size_t n, size_t at, bool joined)
{
    size_t end = at + 1;
    while (end < n && steps[end].step.path == steps[at].step.path &&
           (joined || steps[end].old == steps[at].old))
        end++;
    return end;
}

/* Negative: the first is kept. The longer one, then the smaller one: not who came first. */
static int order_runs(const struct old_step *a, size_t n_a, const struct old_step *b, size_t n_b)
{
    if (n_a != n_b)
        return n_a > n_b ? -1 : 1;
    for (size_t i = 0; i < n_a; i++) {
        int order = hp_order_step.key(&a[i].step, &b[i].step);
        if (!order)
            order = hp_order_step.rest(&a[i].step, &b[i].step);
        if (order)
            return order;
    }
    return 0;
}

/* Of the steps of each new path those that stay, one a position. */
static void keep_steps(struct hp_profile *p, const struct old_step *steps, size_t n)
{
    p->n_path_steps = 0;
    for (size_t at = 0; at < n;) {
        size_t end = run_end(steps, n, at, true), best = at, n_best = 0;
        for (size_t run = at, next; run < end; run = next) {
            next = run_end(steps, end, run, false);
            if (run == at || order_runs(&steps[run], next - run, &steps[best], n_best) < 0) {
                best = run;
                n_best = next - run;
            }
        }
        for (size_t i = best; i < best + n_best; i++)
            if (i == best || steps[i].step.position != steps[i - 1].step.position)
                p->path_steps[p->n_path_steps++] = steps[i].step;
        at = end;
    }
}

static enum hp_err join_steps(struct hp_profile *p, const uint32_t *paths, const uint32_t *blocks)
{
    size_t n = p->n_path_steps;
    struct old_step *steps = malloc((n ? n : 1) * sizeof *steps);
    if (!steps)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++) {
        steps[i] = (struct old_step){p->path_steps[i], p->path_steps[i].path};
        steps[i].step.path = paths[steps[i].old];
        steps[i].step.block = blocks[steps[i].step.block];
    }
    qsort(steps, n, sizeof *steps, order_steps);
    keep_steps(p, steps, n);
    free(steps);
    return HP_OK;
}

/* Equal ones become one; zeroes stay: the table had the path. */
static void join_table_paths(struct hp_profile *p, const uint32_t *paths)
{
    struct hp_ptable_path *all = p->table_paths;
    size_t kept = 0;
    for (size_t i = 0; i < p->n_table_paths; i++)
        all[i].path = paths[all[i].path];
    if (p->n_table_paths)
        qsort(all, p->n_table_paths, sizeof *all, hp_order_table_path.key);
    for (size_t i = 0; i < p->n_table_paths; i++) {
        struct hp_ptable_path path = all[i], *last = kept ? &all[kept - 1] : NULL;
        if (last && hp_order_table_path.key(last, &path) == 0)
            last->events = hp_add_saturated(last->events, path.events);
        else
            all[kept++] = path;
    }
    p->n_table_paths = kept;
}

enum hp_err hp_paths_order(struct hp_profile *p, const uint32_t *blocks)
{
    uint32_t *paths;
    HP_TRY(hp_order_apply(&hp_order_path, p->paths, &p->n_paths, &paths));
    enum hp_err err = join_steps(p, paths, blocks);
    if (err == HP_OK)
        err = hp_counters_order(p->path_counts, &p->n_path_counts, sizeof *p->path_counts, paths,
                                p->n_paths, NULL);
    if (err == HP_OK)
        join_table_paths(p, paths);
    free(paths);
    return err;
}

/* --- Models ----------------------------------------------------------------------------------- */

static uint64_t join_values(uint8_t unit, uint64_t a, uint64_t b)
{
    switch (unit) {
    case HP_STAT_SIZE: return a > b ? a : b;
    case HP_STAT_SHARE: return a < b ? a : b;
    default: return hp_add_saturated(a, b);
    }
}

/* Sorted by what they are of; equal ones become one. */
static void join_stats(struct hp_profile *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n_stats; i++) {
        struct hp_pstat stat = p->stats[i], *last = kept ? &p->stats[kept - 1] : NULL;
        if (last && hp_order_stat.key(last, &stat) == 0)
            last->value = join_values(last->unit, last->value, stat.value);
        else
            p->stats[kept++] = stat;
    }
    p->n_stats = kept;
}

static int64_t add_signed(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static void add_prediction(struct hp_pprediction *sum, const struct hp_pprediction *other)
{
    static const size_t members[] = {
        offsetof(struct hp_pprediction, flow),       offsetof(struct hp_pprediction, paths),
        offsetof(struct hp_pprediction, heads),      offsetof(struct hp_pprediction, hot_paths),
        offsetof(struct hp_pprediction, hot_flow),   offsetof(struct hp_pprediction, predicted),
        offsetof(struct hp_pprediction, hits),       offsetof(struct hp_pprediction, predicted_hot),
        offsetof(struct hp_pprediction, noise),      offsetof(struct hp_pprediction, missed),
        offsetof(struct hp_pprediction, profiled),   offsetof(struct hp_pprediction, counters),
        offsetof(struct hp_pprediction, operations), offsetof(struct hp_pprediction, branches)};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        uint64_t a, b;
        memcpy(&a, (char *)sum + members[i], sizeof a);
        memcpy(&b, (const char *)other + members[i], sizeof b);
        a = hp_add_saturated(a, b);
        memcpy((char *)sum + members[i], &a, sizeof a);
    }
    sum->closed_hits = add_signed(sum->closed_hits, other->closed_hits);
    sum->closed_noise = add_signed(sum->closed_noise, other->closed_noise);
    sum->closed_missed = add_signed(sum->closed_missed, other->closed_missed);
}

static void join_predictions(struct hp_profile *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n_predictions; i++) {
        struct hp_pprediction other = p->predictions[i];
        if (kept && hp_order_prediction.key(&p->predictions[kept - 1], &other) == 0)
            add_prediction(&p->predictions[kept - 1], &other);
        else
            p->predictions[kept++] = other;
    }
    p->n_predictions = kept;
}

static int compare_stats(const void *a, const void *b)
{
    int order = hp_order_stat.key(a, b);
    return order ? order : hp_order_stat.rest(a, b);
}

void hp_models_order(struct hp_profile *p)
{
    if (p->n_stats)
        qsort(p->stats, p->n_stats, sizeof *p->stats, compare_stats);
    join_stats(p);
    if (p->n_predictions)
        qsort(p->predictions, p->n_predictions, sizeof *p->predictions, hp_order_prediction.key);
    join_predictions(p);
}
