// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

/* --- Functions -------------------------------------------------------------------------------- */

static int compare_functions(const void *a, const void *b)
{
    const struct hp_diff_function *x = a, *y = b;
    uint64_t p = hp_change(x->delta), q = hp_change(y->delta);
    if (p != q)
        return p > q ? -1 : 1;
    uint64_t most_x = x->before > x->after ? x->before : x->after;
    uint64_t most_y = y->before > y->after ? y->before : y->after;
    if (most_x != most_y)
        return most_x > most_y ? -1 : 1;
    if (x->old != y->old)
        return x->old < y->old ? -1 : 1;
    return (x->new > y->new) - (x->new < y->new);
}

static void add_function(struct hp_diff *diff, uint32_t old, uint32_t new, enum hp_diff_how how)
{
    uint64_t before = old == HP_PROFILE_NONE ? 0 : diff->old->functions[old].self;
    uint64_t after = new == HP_PROFILE_NONE ? 0 : diff->new->functions[new].self;
    diff->functions[diff->n_functions++] = (struct hp_diff_function){
        .old = old,
        .new = new,
        .how = how,
        .inlined = HP_PROFILE_NONE,
        .before = before,
        .after = after,
        .delta = hp_delta(before, after),
    };
}

/* In which function of a digest most instructions of each inlined function are, by the address of
 * its name. */
static enum hp_err map_inlined(const struct hp_digest *d, struct hp_map64 *map)
{
    for (uint32_t i = 0; i < d->n_lines; i++) {
        const char *name = d->lines[i].inlined;
        uint32_t known = *name ? hp_map64_get(map, (uintptr_t)name) : HP_MAP64_NONE;
        if (*name &&
            (known == HP_MAP64_NONE || d->lines[known].instructions < d->lines[i].instructions))
            HP_TRY(hp_map64_put(map, (uintptr_t)name, i));
    }
    return HP_OK;
}

/* Names of inlined functions come without parameters. */
static bool is_named(const char *name, const char *inlined)
{
    size_t n = strlen(inlined);
    return strncmp(name, inlined, n) == 0 && (name[n] == 0 || name[n] == '(');
}

static uint32_t find_inlined(const struct hp_digest *d, const struct hp_map64 *map,
                             const struct hp_dfunction *gone)
{
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        uint32_t line = map->slots[i].value;
        if (line != HP_MAP64_NONE && is_named(gone->name, d->lines[line].inlined))
            return d->lines[line].function;
    }
    return HP_PROFILE_NONE;
}

/* Functions that are gone may have been inlined, and new ones may have been before. */
static enum hp_err find_all_inlined(struct hp_diff *diff)
{
    struct hp_map64 old = {0}, new = {0};
    enum hp_err err = map_inlined(diff->old, &old);
    if (err == HP_OK)
        err = map_inlined(diff->new, &new);
    size_t budget = 1000; /* the ones that matter come first */
    for (size_t i = 0; err == HP_OK && i < diff->n_functions && budget; i++) {
        struct hp_diff_function *f = &diff->functions[i];
        budget -= f->old == HP_PROFILE_NONE || f->new == HP_PROFILE_NONE;
        if (f->new == HP_PROFILE_NONE)
            f->inlined = find_inlined(diff->new, &new, &diff->old->functions[f->old]);
        else if (f->old == HP_PROFILE_NONE)
            f->inlined = find_inlined(diff->old, &old, &diff->new->functions[f->new]);
    }
    hp_map64_fini(&old);
    hp_map64_fini(&new);
    return err;
}

static enum hp_err make_functions(struct hp_diff *diff, struct hp_diff_sources *sources)
{
    enum hp_diff_how *how = calloc(diff->new->n_functions + 1, sizeof *how);
    diff->functions =
        calloc(diff->old->n_functions + diff->new->n_functions + 1, sizeof *diff->functions);
    enum hp_err err = how && diff->functions ? hp_diff_match(diff, sources, how) : hp_fail_nomem();
    for (uint32_t i = 0; err == HP_OK && i < diff->old->n_functions; i++) {
        uint32_t new = diff->new_function[i];
        add_function(diff, i, new, new == HP_PROFILE_NONE ? HP_DIFF_SAME : how[new]);
    }
    for (uint32_t i = 0; err == HP_OK && i < diff->new->n_functions; i++)
        if (diff->old_function[i] == HP_PROFILE_NONE)
            add_function(diff, HP_PROFILE_NONE, i, HP_DIFF_SAME);
    free(how);
    HP_TRY(err);
    qsort(diff->functions, diff->n_functions, sizeof *diff->functions, compare_functions);
    return find_all_inlined(diff);
}

/* --- Lines ------------------------------------------------------------------------------------ */

static int compare_lines(const void *a, const void *b)
{
    const struct hp_diff_line *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    uint64_t p = hp_change(x->delta), q = hp_change(y->delta);
    if (p != q)
        return p > q ? -1 : 1;
    if (x->old != y->old)
        return x->old < y->old ? -1 : 1;
    return (x->new > y->new) - (x->new < y->new);
}

static void add_line(struct hp_diff *diff, uint32_t function, uint32_t old, uint32_t new)
{
    uint64_t before = old == HP_PROFILE_NONE ? 0 : diff->old->lines[old].instructions;
    uint64_t after = new == HP_PROFILE_NONE ? 0 : diff->new->lines[new].instructions;
    if (before || after)
        diff->lines[diff->n_lines++] =
            (struct hp_diff_line){function, old, new, hp_delta(before, after)};
}

static enum hp_err make_lines(struct hp_diff *diff, struct hp_diff_sources *sources)
{
    diff->lines = calloc(diff->old->n_lines + diff->new->n_lines + 1, sizeof *diff->lines);
    if (!diff->lines)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < diff->n_functions; i++) {
        const struct hp_diff_function *pair = &diff->functions[i];
        if (pair->old == HP_PROFILE_NONE || pair->new == HP_PROFILE_NONE)
            continue;
        HP_TRY(hp_diff_align(diff, sources, pair->old, pair->new));
        const struct hp_dfunction *f = &diff->old->functions[pair->old];
        const struct hp_dfunction *g = &diff->new->functions[pair->new];
        for (uint32_t k = f->lines; k < f->lines + f->n_lines; k++)
            add_line(diff, i, k, diff->new_line[k]);
        for (uint32_t k = g->lines; k < g->lines + g->n_lines; k++)
            if (diff->old_line[k] == HP_PROFILE_NONE)
                add_line(diff, i, HP_PROFILE_NONE, k);
    }
    qsort(diff->lines, diff->n_lines, sizeof *diff->lines, compare_lines);
    return HP_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err new_map(uint32_t **map, size_t n)
{
    *map = malloc((n + 1) * sizeof **map);
    if (!*map)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        (*map)[i] = HP_PROFILE_NONE;
    return HP_OK;
}

static enum hp_err make(struct hp_diff *diff, struct hp_diff_sources *sources)
{
    HP_TRY(new_map(&diff->new_function, diff->old->n_functions));
    HP_TRY(new_map(&diff->old_function, diff->new->n_functions));
    HP_TRY(new_map(&diff->new_line, diff->old->n_lines));
    HP_TRY(new_map(&diff->old_line, diff->new->n_lines));
    HP_TRY(make_functions(diff, sources));
    HP_TRY(make_lines(diff, sources));
    diff->has_loops = diff->old->n_loops && diff->new->n_loops;
    diff->has_paths = diff->old->n_paths && diff->new->n_paths;
    diff->has_cycles = diff->old->known[HP_TOTAL_CYCLES] && diff->new->known[HP_TOTAL_CYCLES] &&
                       strcmp(diff->old->machine, diff->new->machine) == 0;
    if (diff->has_loops)
        HP_TRY(hp_diff_loops(diff));
    return diff->has_paths ? hp_diff_paths(diff) : HP_OK;
}

enum hp_err hp_diff_make(const struct hp_digest *old, const struct hp_digest *new,
                         const struct hp_diff_options *options, struct hp_diff **diff)
{
    struct hp_diff *made = calloc(1, sizeof *made);
    if (!made)
        return hp_fail_nomem();
    made->old = old;
    made->new = new;
    struct hp_diff_sources sources = {
        .old = {.directory = old->directory,
                .path = options->old_source,
                .time = options->old_source ? 0 : old->started,
                .only_older = !options->old_source},
        .new = {.directory = new->directory,
                .path = options->new_source,
                .time = options->new_source ? 0 : new->started,
                .only_older = !options->new_source},
    };
    enum hp_err err = make(made, &sources);
    hp_sources_fini(&sources.old);
    hp_sources_fini(&sources.new);
    if (err != HP_OK) {
        hp_diff_free(made);
        return err;
    }
    *diff = made;
    return HP_OK;
}

void hp_diff_free(struct hp_diff *diff)
{
    if (!diff)
        return;
    free(diff->functions);
    free(diff->lines);
    free(diff->loops);
    free(diff->paths);
    free(diff->new_function);
    free(diff->old_function);
    free(diff->new_line);
    free(diff->old_line);
    free(diff);
}
