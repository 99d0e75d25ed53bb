// SPDX-License-Identifier: MIT
/*
 * Which loops and paths are the same in two versions, once functions and lines are matched.
 */
#include "diff/diff.h"

#include "base/bisect.h"

#include "report/tables.h"

#include <stdlib.h>
#include <string.h>

/* --- Loops ------------------------------------------------------------------------------------ */

/* Loops with the same parent, in the order of the source. */
struct nest {
    const struct hp_digest *digest;
    uint32_t *order; /* loops by function, parent, position */
    uint32_t *other; /* by loop: the same one of the other version */
    size_t n;
};

static int compare_loops(const void *a, const void *b, void *context)
{
    const struct hp_dloop *loops = context;
    const struct hp_dloop *x = &loops[*(const uint32_t *)a], *y = &loops[*(const uint32_t *)b];
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static enum hp_err open_nest(struct nest *nest, const struct hp_digest *digest)
{
    nest->digest = digest;
    nest->n = digest->n_loops;
    nest->order = malloc((nest->n + 1) * sizeof *nest->order);
    nest->other = malloc((nest->n + 1) * sizeof *nest->other);
    if (!nest->order || !nest->other)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < nest->n; i++) {
        nest->order[i] = i;
        nest->other[i] = HP_PROFILE_NONE;
    }
    qsort_r(nest->order, nest->n, sizeof *nest->order, compare_loops, digest->loops);
    return HP_OK;
}

static bool is_before(const struct hp_dloop *loop, uint32_t function, uint32_t parent)
{
    return loop->function < function || (loop->function == function && loop->parent < parent);
}

/* The loops nested in `parent` (HP_PROFILE_NONE: in none) of a function; `*n` of them. */
static const uint32_t *children(const struct nest *nest, uint32_t function, uint32_t parent,
                                size_t *n)
{
    const struct hp_dloop *loops = nest->digest->loops;
    size_t low = HP_BISECT(i, 0, nest->n, is_before(&loops[nest->order[i]], function, parent));
    *n = 0;
    while (low + *n < nest->n && loops[nest->order[low + *n]].function == function &&
           loops[nest->order[low + *n]].parent == parent)
        ++*n;
    return &nest->order[low];
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
        if (x->line != a->line || strcmp(x->file, a->file) != 0 ||
            diff->new_line[i] == HP_PROFILE_NONE)
            continue;
        const struct hp_dline *y = &diff->new->lines[diff->new_line[i]];
        return y->line == b->line && strcmp(hp_base_name(y->file), hp_base_name(b->file)) == 0;
    }
    return a->line - f->line == b->line - g->line &&
           strcmp(hp_base_name(a->file), hp_base_name(b->file)) == 0;
}

static void match_children(struct hp_diff *diff, struct nest *old, struct nest *new,
                           uint32_t function, uint32_t parent)
{
    bool top = parent == HP_PROFILE_NONE;
    size_t n_old, n_new, from = 0;
    const uint32_t *a = children(old, function, parent, &n_old);
    const uint32_t *b =
        children(new, diff->new_function[function], top ? parent : old->other[parent], &n_new);
    for (size_t i = 0; i < n_old; i++)
        for (size_t j = n_old == n_new ? i : from; j < n_new; j++)
            if (n_old == n_new ||
                same_start(diff, &old->digest->loops[a[i]], &new->digest->loops[b[j]])) {
                old->other[a[i]] = b[j];
                new->other[b[j]] = a[i];
                from = j + 1;
                break;
            }
}

/* Outer loops before those nested in them: level by level, until nothing new is found. */
static enum hp_err match_loops(struct hp_diff *diff, struct nest *old, struct nest *new)
{
    bool *done = calloc(old->n + 1, sizeof *done);
    if (!done)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < diff->old->n_functions; i++)
        if (diff->new_function[i] != HP_PROFILE_NONE)
            match_children(diff, old, new, i, HP_PROFILE_NONE);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < old->n; i++)
            if (!done[i] && old->other[i] != HP_PROFILE_NONE) {
                match_children(diff, old, new, old->digest->loops[i].function, i);
                done[i] = more = true;
            }
    }
    free(done);
    return HP_OK;
}

static int compare_loop_changes(const void *a, const void *b)
{
    const struct hp_diff_loop *x = a, *y = b;
    uint64_t p = hp_change(x->delta), q = hp_change(y->delta);
    if (p != q)
        return p > q ? -1 : 1;
    if (x->old != y->old)
        return x->old < y->old ? -1 : 1;
    return (x->new > y->new) - (x->new < y->new);
}

static void add_loop(struct hp_diff *diff, uint32_t function, uint32_t old, uint32_t new)
{
    uint64_t before = old == HP_PROFILE_NONE ? 0 : diff->old->loops[old].self;
    uint64_t after = new == HP_PROFILE_NONE ? 0 : diff->new->loops[new].self;
    diff->loops[diff->n_loops++] =
        (struct hp_diff_loop){function, old, new, hp_delta(before, after)};
}

enum hp_err hp_diff_loops(struct hp_diff *diff)
{
    struct nest old = {0}, new = {0};
    uint32_t *rows = malloc((diff->new->n_functions + 1) * sizeof *rows);
    diff->loops = calloc(diff->old->n_loops + diff->new->n_loops + 1, sizeof *diff->loops);
    enum hp_err err = rows && diff->loops ? open_nest(&old, diff->old) : hp_fail_nomem();
    if (err == HP_OK)
        err = open_nest(&new, diff->new);
    if (err == HP_OK)
        err = match_loops(diff, &old, &new);
    if (err == HP_OK) {
        for (uint32_t i = 0; i < diff->n_functions; i++)
            if (diff->functions[i].new != HP_PROFILE_NONE)
                rows[diff->functions[i].new] = i;
        for (uint32_t i = 0; i < old.n; i++) {
            uint32_t f = old.digest->loops[i].function;
            if (f != HP_PROFILE_NONE && diff->new_function[f] != HP_PROFILE_NONE)
                add_loop(diff, rows[diff->new_function[f]], i, old.other[i]);
        }
        for (uint32_t i = 0; i < new.n; i++) {
            uint32_t f = new.digest->loops[i].function;
            if (f != HP_PROFILE_NONE && diff->old_function[f] != HP_PROFILE_NONE &&
                new.other[i] == HP_PROFILE_NONE)
                add_loop(diff, rows[f], HP_PROFILE_NONE, i);
        }
        qsort(diff->loops, diff->n_loops, sizeof *diff->loops, compare_loop_changes);
    }
    free(rows);
    free(old.order);
    free(old.other);
    free(new.order);
    free(new.other);
    return err;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* A path of either version along lines of `new`. */
struct route {
    const char *kind;
    const uint32_t *lines;
    uint32_t n;
    uint32_t path;
    bool is_new;
};

static int compare_ways(const struct route *x, const struct route *y)
{
    int order = strcmp(x->kind, y->kind);
    for (uint32_t i = 0; !order && i < x->n && i < y->n; i++)
        order = (x->lines[i] > y->lines[i]) - (x->lines[i] < y->lines[i]);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int compare_routes(const void *a, const void *b)
{
    const struct route *x = a, *y = b;
    int order = compare_ways(x, y);
    return order ? order : x->is_new - y->is_new;
}

static int compare_path_changes(const void *a, const void *b)
{
    const struct hp_diff_path *x = a, *y = b;
    uint64_t p = hp_change(x->delta), q = hp_change(y->delta);
    if (p != q)
        return p > q ? -1 : 1;
    if (x->old != y->old)
        return x->old < y->old ? -1 : 1;
    return (x->new > y->new) - (x->new < y->new);
}

static void add_path(struct hp_diff *diff, uint32_t old, uint32_t new)
{
    uint64_t before = old == HP_PROFILE_NONE ? 0 : diff->old->paths[old].instructions;
    uint64_t after = new == HP_PROFILE_NONE ? 0 : diff->new->paths[new].instructions;
    diff->paths[diff->n_paths++] = (struct hp_diff_path){old, new, hp_delta(before, after)};
}

/* Lines of `old` as those of `new`; one that is gone is a line that `new` does not have. */
static uint32_t *translate(const struct hp_diff *diff)
{
    const struct hp_digest *d = diff->old;
    uint32_t *lines = malloc((d->n_steps + 1) * sizeof *lines);
    for (size_t i = 0; lines && i < d->n_steps; i++) {
        uint32_t new = diff->new_line[d->steps[i]];
        lines[i] = new != HP_PROFILE_NONE ? new : (uint32_t)diff->new->n_lines + d->steps[i];
    }
    return lines;
}

enum hp_err hp_diff_paths(struct hp_diff *diff)
{
    size_t n_old = diff->old->n_paths, n = n_old + diff->new->n_paths;
    struct route *routes = calloc(n + 1, sizeof *routes);
    uint32_t *lines = translate(diff);
    diff->paths = calloc(n + 1, sizeof *diff->paths);
    if (!routes || !lines || !diff->paths) {
        free(routes);
        free(lines);
        return hp_fail_nomem();
    }
    for (size_t i = 0; i < n; i++) {
        bool is_new = i >= n_old;
        uint32_t path = (uint32_t)(is_new ? i - n_old : i);
        const struct hp_dpath *p = is_new ? &diff->new->paths[path] : &diff->old->paths[path];
        routes[i] = (struct route){p->kind, (is_new ? diff->new->steps : lines) + p->steps,
                                   p->n_steps, path, is_new};
    }
    qsort(routes, n, sizeof *routes, compare_routes);
    for (size_t i = 0; i < n; i++) {
        bool both = i + 1 < n && !routes[i].is_new && routes[i + 1].is_new &&
                    compare_ways(&routes[i], &routes[i + 1]) == 0;
        if (both)
            add_path(diff, routes[i].path, routes[i + 1].path);
        else if (routes[i].is_new)
            add_path(diff, HP_PROFILE_NONE, routes[i].path);
        else
            add_path(diff, routes[i].path, HP_PROFILE_NONE);
        i += both;
    }
    qsort(diff->paths, diff->n_paths, sizeof *diff->paths, compare_path_changes);
    free(routes);
    free(lines);
    return HP_OK;
}
