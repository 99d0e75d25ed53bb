// SPDX-License-Identifier: MIT
/*
 * The steps of paths in their normal form.
 *
 * Where paths are joined each may have steps: those of one of them are kept, whole, as a path that
 * is made of pieces of two would be none that was executed. (They differ when code at the same
 * place did.)
 */
#include "profile/profile_impl.h"

#include <stdlib.h>

/* --- Steps ------------------------------------------------------------------------------------ */

/* A step with the path it was of before paths were joined. */
struct old_step {
    struct hp_pstep step; /* of the new path */
    uint32_t old;
};

static int compare_steps(const struct hp_pstep *a, const struct hp_pstep *b)
{
    int order = hp_compare_u64(a->position, b->position);
    if (!order)
        order = hp_compare_u64(a->block, b->block);
    return order ? order : hp_compare_u64(a->how, b->how);
}

static int order_steps(const void *a, const void *b)
{
    const struct old_step *x = a, *y = b;
    if (x->step.path != y->step.path)
        return x->step.path < y->step.path ? -1 : 1;
    if (x->old != y->old)
        return x->old < y->old ? -1 : 1;
    return compare_steps(&x->step, &y->step);
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
        int order = compare_steps(&a[i].step, &b[i].step);
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

enum hp_err hp_steps_order(struct hp_profile *p, const uint32_t *paths, const uint32_t *blocks)
{
    size_t n = p->n_path_steps;
    struct old_step *steps = malloc((n + 1) * sizeof *steps);
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
