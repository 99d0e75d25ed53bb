// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "base/base.h"
#include "base/map64.h"
#include "report/tables.h"

/* --- Changes ---------------------------------------------------------------------------------- */

static size_t count_of(const struct hp_digest *d, enum hp_diff_kind kind)
{
    const size_t counts[] = {d->n_functions, d->n_lines, d->n_loops, d->n_paths};
    return counts[kind];
}

/* Something of a digest and its instructions; NULL and 0 for none. */
static const void *item_of(const struct hp_digest *d, enum hp_diff_kind kind, uint32_t i,
                           uint64_t *weight)
{
    const struct {
        const void *items;
        size_t size, weight;
    } of[] = {{d->functions, sizeof *d->functions, offsetof(struct hp_dfunction, self)},
              {d->lines, sizeof *d->lines, offsetof(struct hp_dline, instructions)},
              {d->loops, sizeof *d->loops, offsetof(struct hp_dloop, self)},
              {d->paths, sizeof *d->paths, offsetof(struct hp_dpath, instructions)}};
    if (i == HP_PROFILE_NONE)
        return NULL;
    const char *item = (const char *)of[kind].items + i * of[kind].size;
    memcpy(weight, item + of[kind].weight, sizeof *weight);
    return item;
}

/* Lines and loops only of functions that both versions have. */
static void add_change(struct hp_diff *diff, enum hp_diff_kind kind, uint32_t old, uint32_t new)
{
    struct hp_changes *to = &diff->kinds[kind];
    struct hp_change change = {.old = old, .new = new, .inlined = HP_PROFILE_NONE};
    change.old_item = item_of(diff->old, kind, old, &change.before);
    change.new_item = item_of(diff->new, kind, new, &change.after);
    change.delta = hp_delta(change.before, change.after);
    if (kind == HP_DIFF_LINES || kind == HP_DIFF_LOOPS) {
        uint32_t f = *(const uint32_t *)(change.new_item ?: change.old_item); /* of both: first */
        if (new == HP_PROFILE_NONE && f != HP_PROFILE_NONE)
            f = diff->functions.to_new[f];
        change.function = f == HP_PROFILE_NONE ? f : diff->rows[f];
        if (change.function == HP_PROFILE_NONE)
            return;
    }
    if (kind != HP_DIFF_LINES || change.before || change.after)
        to->items[to->n++] = change;
}

static int compare_changes(const void *a, const void *b, void *context)
{
    const struct hp_change *x = a, *y = b;
    enum hp_diff_kind kind = *(const enum hp_diff_kind *)context;
    int order = kind == HP_DIFF_LINES ? HP_COMPARE(x->function, y->function) : 0;
    order = order ?: HP_COMPARE(hp_delta_size(y->delta), hp_delta_size(x->delta));
    if (!order && kind == HP_DIFF_FUNCTIONS)
        order = HP_COMPARE(y->before + y->after, x->before + x->after);
    return order ?: HP_COMPARE(x->old, y->old) ?: HP_COMPARE(x->new, y->new);
}

/* Makes the changes of what is matched. */
static void make_changes(struct hp_diff *diff, enum hp_diff_kind kind)
{
    struct hp_changes *changes = &diff->kinds[kind];
    for (uint32_t i = 0; i < count_of(diff->old, kind); i++)
        add_change(diff, kind, i, changes->to_new[i]);
    for (uint32_t i = 0; i < count_of(diff->new, kind); i++)
        if (changes->to_old[i] == HP_PROFILE_NONE)
            add_change(diff, kind, HP_PROFILE_NONE, i);
    qsort_r(changes->items, changes->n, sizeof *changes->items, compare_changes, &kind);
}

/* --- Loops and paths, once functions and lines are matched ------------------------------------ */

/* What loop number `i` in order is nested in, as a number. */
static uint64_t nest_of(const struct hp_digest *d, size_t i)
{
    const struct hp_dloop *loop = &d->loops[d->loop_order[i]];
    return (uint64_t)loop->function << 32 | loop->parent;
}

/* The `*n` loops of a function in `parent` (HP_PROFILE_NONE: in none), in source order. */
static const uint32_t *children(const struct hp_digest *d, uint32_t function, uint32_t parent,
                                size_t *n)
{
    uint64_t nest = (uint64_t)function << 32 | parent;
    size_t first = HP_BISECT(i, 0, d->n_loops, nest_of(d, i) < nest);
    *n = HP_BISECT(i, first, d->n_loops, nest_of(d, i) <= nest) - first;
    return &d->loop_order[first];
}

/* Whether two loops begin at the same line: as lines are matched, or by distance from the start. */
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

/* --- Inlined functions ------------------------------------------------------------------------ */

/* Where most of each inlined function is: a function of the digest, by the address of the name. */
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

static uint32_t find_inlined(const struct hp_digest *d, const struct hp_map64 *map,
                             const char *name)
{
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        uint32_t line = map->slots[i].value;
        const char *inlined = line == HP_MAP64_NONE ? NULL : d->lines[line].inlined;
        size_t n = inlined ? strlen(inlined) : 0;
        /* Names of inlined functions come without parameters. */
        if (inlined && strncmp(name, inlined, n) == 0 && (name[n] == 0 || name[n] == '('))
            return d->lines[line].function;
    }
    return HP_PROFILE_NONE;
}

/* Functions that are gone may have been inlined, and new ones may have been before. */
static enum hp_err find_all_inlined(struct hp_diff *diff)
{
    struct hp_map64 old HP_CLEANUP(hp_map64_fini) = {0}, new HP_CLEANUP(hp_map64_fini) = {0};
    HP_TRY(map_inlined(diff->old, &old));
    HP_TRY(map_inlined(diff->new, &new));
    size_t budget = 1000; /* the ones that matter come first */
    for (size_t i = 0; i < diff->functions.n && budget; i++) {
        struct hp_change *f = &diff->functions.items[i];
        budget -= f->old == HP_PROFILE_NONE || f->new == HP_PROFILE_NONE;
        if (f->new == HP_PROFILE_NONE)
            f->inlined = find_inlined(diff->new, &new, diff->old->functions[f->old].name);
        else if (f->old == HP_PROFILE_NONE)
            f->inlined = find_inlined(diff->old, &old, diff->new->functions[f->new].name);
    }
    return HP_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err new_map(uint32_t **map, size_t n)
{
    HP_TRY(hp_new(map, n, sizeof **map));
    memset(*map, 0xff, n * sizeof **map); /* HP_PROFILE_NONE */
    return HP_OK;
}

static enum hp_err make_functions(struct hp_diff *diff)
{
    HP_TRY(hp_diff_match(diff));
    make_changes(diff, HP_DIFF_FUNCTIONS);
    for (uint32_t i = 0; i < diff->functions.n; i++) {
        struct hp_change *f = &diff->functions.items[i];
        if (f->old == HP_PROFILE_NONE || f->new == HP_PROFILE_NONE)
            continue;
        f->how = diff->how[f->new];
        diff->rows[f->new] = i;
        HP_TRY(hp_diff_align(diff, f->old_item, f->new_item));
    }
    return find_all_inlined(diff);
}

static enum hp_err make(struct hp_diff *diff)
{
    for (enum hp_diff_kind kind = 0; kind < HP_DIFF_KINDS; kind++) {
        size_t n_old = count_of(diff->old, kind), n_new = count_of(diff->new, kind);
        struct hp_changes *changes = &diff->kinds[kind];
        HP_TRY(hp_new(&changes->items, n_old + n_new, sizeof *changes->items));
        HP_TRY(new_map(&changes->to_new, n_old));
        HP_TRY(new_map(&changes->to_old, n_new));
    }
    HP_TRY(new_map(&diff->rows, diff->new->n_functions));
    HP_TRY(hp_new(&diff->how, diff->new->n_functions, sizeof *diff->how));
    HP_TRY(make_functions(diff));
    HP_TRY(match_loops(diff));
    HP_TRY(match_paths(diff));
    for (enum hp_diff_kind kind = HP_DIFF_LINES; kind < HP_DIFF_KINDS; kind++)
        if (count_of(diff->old, kind) && count_of(diff->new, kind))
            make_changes(diff, kind);
    return HP_OK;
}

static struct hp_sources sources_of(const struct hp_digest *d, const char *path)
{
    return (struct hp_sources){.directory = d->directory,
                               .path = path,
                               .time = path ? 0 : d->started,
                               .only_older = !path};
}

enum hp_err hp_diff_make(const struct hp_digest *old, const struct hp_digest *new,
                         const struct hp_diff_options *options, struct hp_diff **diff)
{
    HP_TRY(hp_new(diff, 1, sizeof **diff));
    (*diff)->old = old;
    (*diff)->new = new;
    (*diff)->old_sources = sources_of(old, options->old_source);
    (*diff)->new_sources = sources_of(new, options->new_source);
    return make(*diff);
}

void hp_diff_free(struct hp_diff *diff)
{
    if (!diff)
        return;
    for (size_t i = 0; i < HP_DIFF_KINDS; i++) {
        free(diff->kinds[i].items);
        free(diff->kinds[i].to_new);
        free(diff->kinds[i].to_old);
    }
    hp_sources_fini(&diff->old_sources);
    hp_sources_fini(&diff->new_sources);
    free(diff->rows);
    free(diff->how);
    free(diff);
}

bool hp_diff_has(const struct hp_diff *diff, enum hp_total total)
{
    const struct hp_digest *old = diff->old, *new = diff->new;
    bool of_machine = total >= HP_TOTAL_CYCLES;
    return old->known[total] && new->known[total] &&
           (!of_machine || strcmp(old->about[HP_ABOUT_MACHINE], new->about[HP_ABOUT_MACHINE]) == 0);
}
