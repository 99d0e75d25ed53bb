// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "base/base.h"
#include "base/map64.h"

/* --- Changes ---------------------------------------------------------------------------------- */

static size_t count_of(const struct hp_digest *d, enum hp_diff_kind kind)
{
    const size_t counts[] = {d->n_functions, d->n_lines, d->n_loops, d->n_paths};
    return counts[kind];
}

static const void *item_of(const struct hp_digest *d, enum hp_diff_kind kind, uint32_t i)
{
    if (i == HP_PROFILE_NONE)
        return NULL;
    switch (kind) {
    case HP_DIFF_FUNCTIONS: return &d->functions[i];
    case HP_DIFF_LINES: return &d->lines[i];
    case HP_DIFF_LOOPS: return &d->loops[i];
    default: return &d->paths[i];
    }
}

static uint64_t weight_of(enum hp_diff_kind kind, const void *item)
{
    static const size_t offsets[] = {
        offsetof(struct hp_dfunction, self), offsetof(struct hp_dline, instructions),
        offsetof(struct hp_dloop, self), offsetof(struct hp_dpath, instructions)};
    return item ? *(const uint64_t *)((const char *)item + offsets[kind]) : 0;
}

/* Lines and loops only of functions that both versions have. */
static void add_change(struct hp_diff *diff, enum hp_diff_kind kind, uint32_t old, uint32_t new)
{
    struct hp_changes *to = &diff->kinds[kind];
    struct hp_change change = {
        .old = old,
        .new = new,
        .old_item = item_of(diff->old, kind, old),
        .new_item = item_of(diff->new, kind, new),
        .inlined = HP_PROFILE_NONE,
    };
    change.before = weight_of(kind, change.old_item);
    change.after = weight_of(kind, change.new_item);
    change.delta = hp_delta(change.before, change.after);
    if (kind == HP_DIFF_LINES || kind == HP_DIFF_LOOPS) {
        const struct hp_digest *d = new == HP_PROFILE_NONE ? diff->old : diff->new;
        uint32_t i = new == HP_PROFILE_NONE ? old : new;
        uint32_t f = kind == HP_DIFF_LINES ? d->lines[i].function : d->loops[i].function;
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

/* --- Inlined functions ------------------------------------------------------------------------ */

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

static enum hp_err make_functions(struct hp_diff *diff, struct hp_diff_sources *sources)
{
    enum hp_diff_how *how HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&how, diff->new->n_functions, sizeof *how));
    HP_TRY(hp_diff_match(diff, sources, how));
    make_changes(diff, HP_DIFF_FUNCTIONS);
    for (uint32_t i = 0; i < diff->functions.n; i++) {
        struct hp_change *f = &diff->functions.items[i];
        if (f->old == HP_PROFILE_NONE || f->new == HP_PROFILE_NONE)
            continue;
        f->how = how[f->new];
        diff->rows[f->new] = i;
        HP_TRY(hp_diff_align(diff, sources, &diff->old->functions[f->old],
                             &diff->new->functions[f->new]));
    }
    return find_all_inlined(diff);
}

static enum hp_err make(struct hp_diff *diff, struct hp_diff_sources *sources)
{
    for (enum hp_diff_kind kind = 0; kind < HP_DIFF_KINDS; kind++) {
        size_t n_old = count_of(diff->old, kind), n_new = count_of(diff->new, kind);
        struct hp_changes *changes = &diff->kinds[kind];
        HP_TRY(hp_new(&changes->items, n_old + n_new, sizeof *changes->items));
        HP_TRY(new_map(&changes->to_new, n_old));
        HP_TRY(new_map(&changes->to_old, n_new));
    }
    HP_TRY(new_map(&diff->rows, diff->new->n_functions));
    HP_TRY(make_functions(diff, sources));
    HP_TRY(hp_diff_follow(diff));
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
    struct hp_diff_sources sources = {sources_of(old, options->old_source),
                                      sources_of(new, options->new_source)};
    HP_TRY(hp_new(diff, 1, sizeof **diff));
    (*diff)->old = old;
    (*diff)->new = new;
    enum hp_err err = make(*diff, &sources);
    hp_sources_fini(&sources.old);
    hp_sources_fini(&sources.new);
    if (err != HP_OK) {
        hp_diff_free(*diff);
        *diff = NULL;
    }
    return err;
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
    free(diff->rows);
    free(diff);
}

bool hp_diff_has(const struct hp_diff *diff, enum hp_total total)
{
    const struct hp_digest *old = diff->old, *new = diff->new;
    bool of_machine = total >= HP_TOTAL_CYCLES;
    return old->known[total] && new->known[total] &&
           (!of_machine || strcmp(old->about[HP_ABOUT_MACHINE], new->about[HP_ABOUT_MACHINE]) == 0);
}
