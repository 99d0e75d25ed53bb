// SPDX-License-Identifier: MIT
/*
 * Loops in their normal form.
 *
 * Where loops are joined they may be nested in different ones: a run that never iterated the loop
 * in the middle does not know it. Of the loops that one is said to be in, the smallest stays its
 * parent.
 */
#include "base/base.h"
#include "profile/profile_impl.h"

/* Walks up, no further than to where a walk has been: each loop is passed once. A loop of the
 * circle that the walk ends in; HP_PROFILE_NONE: it ends in none. `seen`: by which walk, from 1. */
static uint32_t find_circle(const struct hp_profile *p, uint32_t start, uint32_t *seen)
{
    uint32_t at = start;
    while (at != HP_PROFILE_NONE && !seen[at]) {
        seen[at] = start + 1;
        at = p->loops[at].parent;
    }
    return at != HP_PROFILE_NONE && seen[at] == start + 1 ? at : HP_PROFILE_NONE;
}

enum hp_err hp_loops_check_nesting(const struct hp_profile *p)
{
    uint32_t *seen HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&seen, p->n_loops + 1, sizeof *seen));
    for (uint32_t start = 0; start < p->n_loops; start++) {
        uint32_t at = find_circle(p, start, seen);
        if (at != HP_PROFILE_NONE)
            return hp_fail(HP_ERR_INVALID, "loop %u is nested in itself", at);
    }
    return HP_OK;
}

/* A circle is opened at its first loop. */
enum hp_err hp_loops_open_circles(struct hp_profile *p, size_t *n)
{
    uint32_t *seen HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&seen, p->n_loops + 1, sizeof *seen));
    *n = 0;
    for (uint32_t start = 0; start < p->n_loops; start++) {
        uint32_t at = find_circle(p, start, seen), first = at;
        if (at == HP_PROFILE_NONE)
            continue;
        for (uint32_t i = p->loops[at].parent; i != at; i = p->loops[i].parent)
            first = i < first ? i : first;
        p->loops[first].parent = HP_PROFILE_NONE;
        ++*n;
    }
    return HP_OK;
}

/* Whether `parent` is a better one than `than`. */
static bool is_nearer(const struct hp_profile *p, uint32_t parent, uint32_t than)
{
    return than == HP_PROFILE_NONE || (HP_COMPARE(p->loops[parent].insns, p->loops[than].insns)
                                           ?: HP_COMPARE(parent, than)) < 0;
}

/* Parents from different runs can contradict each other, and go in circles. */
enum hp_err hp_loops_order(struct hp_profile *p, uint32_t **map)
{
    size_t n = p->n_loops, circles;
    uint32_t *parents HP_CLEANUP(hp_free) = malloc((n + 1) * sizeof *parents);
    if (!parents)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        parents[i] = p->loops[i].parent;
    HP_TRY(hp_rows_order(p, HP_ROW_LOOP, map));
    for (size_t i = 0; i < p->n_loops; i++)
        p->loops[i].parent = HP_PROFILE_NONE;
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = hp_renumbered(*map, parents[i]), loop = (*map)[i];
        if (parent != HP_PROFILE_NONE && parent != loop &&
            is_nearer(p, parent, p->loops[loop].parent))
            p->loops[loop].parent = parent;
    }
    return hp_loops_open_circles(p, &circles);
}

static int more_frequent(const void *a, const void *b)
{
    const struct hp_ploop_trips *x = a, *y = b;
    return HP_COMPARE(y->count, x->count) ?: HP_COMPARE(x->value, y->value);
}

static int by_value(const void *a, const void *b)
{
    const struct hp_ploop_trips *x = a, *y = b;
    return HP_COMPARE(x->value, y->value);
}

/* Values come before buckets. */
bool hp_loop_trips_kept(const struct hp_profile *p)
{
    const struct hp_ploop_trips *trips = p->loop_trips;
    for (size_t i = HP_LOOP_VALUES; i < p->n_loop_trips; i++)
        if (!trips[i].bucket && trips[i].loop == trips[i - HP_LOOP_VALUES].loop)
            return false;
    return true;
}

void hp_loop_trips_keep(struct hp_profile *p)
{
    struct hp_ploop_trips *trips = p->loop_trips;
    size_t kept = 0;
    for (size_t at = 0, end; at < p->n_loop_trips; at = end) {
        for (end = at + 1; end < p->n_loop_trips && trips[end].loop == trips[at].loop &&
                           trips[end].bucket == trips[at].bucket;)
            end++;
        size_t stay = end - at;
        if (!trips[at].bucket && stay > HP_LOOP_VALUES) {
            qsort(trips + at, stay, sizeof *trips, more_frequent);
            stay = HP_LOOP_VALUES;
            qsort(trips + at, stay, sizeof *trips, by_value);
        }
        memmove(trips + kept, trips + at, stay * sizeof *trips);
        kept += stay;
    }
    p->n_loop_trips = kept;
}
