// SPDX-License-Identifier: MIT
/* Which loops and paths are the same in two versions, once functions and lines are matched. */
#include "diff/diff.h"

#include "base/base.h"
#include "report/tables.h"

/* What loop number `i` in order is nested in, as a number. */
static uint64_t nest_of(const struct hp_digest *d, size_t i)
{
    const struct hp_dloop *loop = &d->loops[d->loop_order[i]];
    return (uint64_t)loop->function << 32 | loop->parent;
}

/* The loops nested in `parent` (HP_PROFILE_NONE: in none) of a function, in the order of the
 * source; `*n` of them. */
static const uint32_t *children(const struct hp_digest *d, uint32_t function, uint32_t parent,
                                size_t *n)
{
    uint64_t nest = (uint64_t)function << 32 | parent;
    size_t first = HP_BISECT(i, 0, d->n_loops, nest_of(d, i) < nest);
    *n = HP_BISECT(i, first, d->n_loops, nest_of(d, i) <= nest) - first;
    return &d->loop_order[first];
}

/* Whether the first line of a loop is the same: as lines are matched, or by its distance from the
 * function's start. */
static bool same_start(const struct hp_diff *diff, const struct hp_dloop *a,
                       const struct hp_dloop *b)
{
    const struct hp_dfunction *f = &diff->old->functions[a->function];
    const struct hp_dfunction *g = &diff->new->functions[b->function];
    for (uint32_t i = f->lines; i < f->lines + f->n_lines; i++) {
        const struct hp_dline *x = &diff->old->lines[i];
        uint32_t to = diff->lines.to_new[i];
        if (to == HP_PROFILE_NONE || x->line != a->line || strcmp(x->file, a->file) != 0)
            continue;
        const struct hp_dline *y = &diff->new->lines[to];
        return y->line == b->line && strcmp(hp_base_name(y->file), hp_base_name(b->file)) == 0;
    }
    return a->line - f->line == b->line - g->line &&
           strcmp(hp_base_name(a->file), hp_base_name(b->file)) == 0;
}

/* Matches the loops nested in one; the old ones that have a match go to `matched`. */
static void match_children(struct hp_diff *diff, uint32_t function, uint32_t parent,
                           uint32_t *matched, size_t *n_matched)
{
    size_t n_old, n_new, from = 0;
    uint32_t new_parent = parent == HP_PROFILE_NONE ? parent : diff->loops.to_new[parent];
    const uint32_t *a = children(diff->old, function, parent, &n_old);
    const uint32_t *b = children(diff->new, diff->functions.to_new[function], new_parent, &n_new);
    for (size_t i = 0; i < n_old; i++)
        for (size_t j = n_old == n_new ? i : from; j < n_new; j++)
            if (n_old == n_new ||
                same_start(diff, &diff->old->loops[a[i]], &diff->new->loops[b[j]])) {
                hp_changes_match(&diff->loops, a[i], b[j]);
                matched[(*n_matched)++] = a[i];
                from = j + 1;
                break;
            }
}

static enum hp_err match_loops(struct hp_diff *diff)
{
    uint32_t *matched HP_CLEANUP(hp_free) = NULL;
    size_t n = 0;
    HP_TRY(hp_new(&matched, diff->old->n_loops, sizeof *matched));
    if (!diff->old->n_loops || !diff->new->n_loops)
        return HP_OK;
    for (uint32_t i = 0; i < diff->old->n_functions; i++)
        if (diff->functions.to_new[i] != HP_PROFILE_NONE)
            match_children(diff, i, HP_PROFILE_NONE, matched, &n);
    for (size_t i = 0; i < n; i++)
        match_children(diff, diff->old->loops[matched[i]].function, matched[i], matched, &n);
    return HP_OK;
}

static enum hp_err match_paths(struct hp_diff *diff)
{
    const struct hp_digest *old = diff->old, *new = diff->new;
    uint32_t *steps HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&steps, old->n_steps, sizeof *steps));
    /* Lines of `old` as those of `new`; one that is gone is a line that `new` does not have. */
    for (size_t i = 0; i < old->n_steps; i++) {
        uint32_t line = diff->lines.to_new[old->steps[i]];
        steps[i] = line != HP_PROFILE_NONE ? line : (uint32_t) new->n_lines + old->steps[i];
    }
    for (uint32_t i = 0; i < old->n_paths; i++) {
        const struct hp_dpath *path = &old->paths[i], *paths = new->paths;
        size_t k = HP_BISECT(j, 0, new->n_paths,
                             hp_digest_compare_paths(&paths[j], new->steps, path, steps) < 0);
        if (k < new->n_paths && hp_digest_compare_paths(&paths[k], new->steps, path, steps) == 0)
            hp_changes_match(&diff->paths, i, (uint32_t)k);
    }
    return HP_OK;
}

enum hp_err hp_diff_follow(struct hp_diff *diff)
{
    HP_TRY(match_loops(diff));
    return match_paths(diff);
}
