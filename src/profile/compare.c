// SPDX-License-Identifier: MIT
/*
 * Comparing: how much of what two profiles executed is the same.
 *
 * Overlap is the sum over all things of the smaller of their two shares. It is computed in whole
 * numbers, sum(min(a * B, b * A)) / (A * B) with A and B the totals, so that equal shares give
 * exactly 100, whatever the rounding.
 */
#include "base/base.h"
#include "profile/profile_impl.h"

#include <math.h>

/* hp_comparison_free() finds the strings behind the public part. */
struct comparison {
    struct hp_comparison public;
    struct hp_strings strings;
};

struct compare {
    const struct hp_profile *a, *b;
    uint32_t *maps[HP_ROW_KINDS]; /* by row of B: the same of A, or one that A does not have */
    bool *in_b;                   /* by module of A */
    struct comparison *result;
};

static void compare_fini(struct compare *c)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        free(c->maps[kind]);
    free(c->in_b);
    if (c->result)
        hp_comparison_free(&c->result->public);
}

/* --- Modules ---------------------------------------------------------------------------------- */

static int compare_modules(const void *a, const void *b)
{
    const struct hp_pmodule *const *x = a, *const *y = b;
    return hp_module_identity(*x, *y);
}

static enum hp_err match_modules(struct compare *c)
{
    size_t n = c->a->n_modules;
    uint32_t **map = &c->maps[HP_ROW_MODULE];
    const struct hp_pmodule **sorted HP_CLEANUP(hp_free) = calloc(n + 1, sizeof *sorted);
    c->in_b = calloc(n + 1, sizeof *c->in_b);
    if (!sorted || !c->in_b)
        return hp_fail_nomem();
    HP_TRY(hp_map_new(c->b->n_modules, map));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &c->a->modules[i];
    qsort(sorted, n, sizeof *sorted, compare_modules);
    for (size_t i = 0; i < c->b->n_modules; i++) {
        const struct hp_pmodule *module = &c->b->modules[i];
        size_t at = HP_BISECT(k, 0, n, hp_module_identity(sorted[k], module) < 0);
        bool same = at < n && hp_module_identity(sorted[at], module) == 0;
        (*map)[i] = (uint32_t)(same ? (size_t)(sorted[at] - c->a->modules) : n + i);
        if (same)
            c->in_b[sorted[at] - c->a->modules] = true;
    }
    return HP_OK;
}

/* --- Overlap ---------------------------------------------------------------------------------- */

/* What each item of A and of B weighs. */
struct weights {
    uint64_t *a, *b;
};

static void weights_fini(struct weights *weights)
{
    free(weights->a);
    free(weights->b);
}

/* The sums of a column of counters, by item (malloc'd). */
static enum hp_err sum_counters(const struct hp_profile *p, enum hp_row_kind counter,
                                const char *column, uint64_t **sums)
{
    const struct hp_row_field *item = hp_row_formats[counter].fields;
    const struct hp_row_field *value = hp_row_column(counter, column);
    HP_TRY(hp_new(sums, hp_profile_n_rows(p, item->to) + 1, sizeof **sums));
    for (size_t i = 0; i < hp_profile_n_rows(p, counter); i++) {
        const void *row = hp_profile_row(p, counter, i);
        uint64_t *sum = &(*sums)[hp_row_number(item, row)];
        hp_add_up(sum, hp_row_number(value, row));
    }
    return HP_OK;
}

static enum hp_err weigh(const struct compare *c, enum hp_row_kind counter, const char *column,
                         struct weights *weights)
{
    HP_TRY(sum_counters(c->a, counter, column, &weights->a));
    return sum_counters(c->b, counter, column, &weights->b);
}

static uint64_t sum(const uint64_t *values, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        hp_add_up(&sum, values[i]);
    return sum;
}

/* The smaller of two shares, times both totals. */
static unsigned __int128 smaller_share(uint64_t a, uint64_t total_a, uint64_t b, uint64_t total_b)
{
    unsigned __int128 x = (unsigned __int128)a * total_b, y = (unsigned __int128)b * total_a;
    return x < y ? x : y;
}

static double percent(unsigned __int128 sum, uint64_t total_a, uint64_t total_b)
{
    if (total_a == 0 || total_b == 0)
        return total_a == total_b ? 100.0 : 0.0;
    double part = (double)((long double)sum / (long double)((unsigned __int128)total_a * total_b));
    /* Only totals that do not fit 64 bits could give more. */
    return part > 1.0 ? 100.0 : part * 100.0;
}

/* Of a part of A and of B. */
struct range {
    size_t from, end;
};

static double overlap(const struct compare *c, enum hp_row_kind kind, const struct weights *weights,
                      struct range a, struct range b)
{
    uint64_t total_a = sum(weights->a + a.from, a.end - a.from);
    uint64_t total_b = sum(weights->b + b.from, b.end - b.from);
    unsigned __int128 shares = 0;
    for (size_t i = b.from; i < b.end; i++) {
        uint32_t same = c->maps[kind][i];
        if (same < a.end)
            shares += smaller_share(weights->a[same], total_a, weights->b[i], total_b);
    }
    return percent(shares, total_a, total_b);
}

/* Of all rows of a kind, weighed by a column of their counters, which `change` may change. */
static enum hp_err
compare_rows(const struct compare *c, enum hp_row_kind counter, const char *column,
             enum hp_err (*change)(const struct hp_profile *p, uint64_t *weights), double *result)
{
    struct weights weights HP_CLEANUP(weights_fini) = {0};
    enum hp_row_kind kind = hp_row_formats[counter].fields[0].to;
    HP_TRY(weigh(c, counter, column, &weights));
    if (change) {
        HP_TRY(change(c->a, weights.a));
        HP_TRY(change(c->b, weights.b));
    }
    *result = overlap(c, kind, &weights, (struct range){0, hp_profile_n_rows(c->a, kind)},
                      (struct range){0, hp_profile_n_rows(c->b, kind)});
    return HP_OK;
}

/* Blocks by their instructions. */
static enum hp_err multiply_insns(const struct hp_profile *p, uint64_t *weights)
{
    for (size_t i = 0; i < p->n_blocks; i++)
        if (__builtin_mul_overflow(weights[i], p->blocks[i].insns, &weights[i]))
            weights[i] = UINT64_MAX;
    return HP_OK;
}

/* Loops by the instructions that are in no loop nested in it: so none counts twice. */
static enum hp_err subtract_nested(const struct hp_profile *p, uint64_t *weights)
{
    uint64_t *all HP_CLEANUP(hp_free) = malloc((p->n_loops + 1) * sizeof *all);
    if (!all)
        return hp_fail_nomem();
    memcpy(all, weights, p->n_loops * sizeof *all);
    for (size_t i = 0; i < p->n_loops; i++)
        if (p->loops[i].parent != HP_PROFILE_NONE) {
            uint64_t *parent = &weights[p->loops[i].parent];
            *parent -= all[i] < *parent ? all[i] : *parent;
        }
    return HP_OK;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* The paths of one kind. */
static struct range kind_at(const struct hp_profile *p, size_t at)
{
    struct range range = {at, at};
    while (range.end < p->n_paths && strcmp(p->paths[range.end].kind, p->paths[at].kind) == 0)
        range.end++;
    return range;
}

/* By kinds that both have: paths are sorted by it. */
static enum hp_err compare_paths(struct compare *c)
{
    struct hp_comparison *public = &c->result->public;
    struct weights counts HP_CLEANUP(weights_fini) = {0}, insns HP_CLEANUP(weights_fini) = {0};
    size_t capacity = 0;
    HP_TRY(weigh(c, HP_ROW_PATH_COUNT, "count", &counts));
    HP_TRY(weigh(c, HP_ROW_PATH_COUNT, "instructions", &insns));
    for (size_t i = 0, j = 0; i < c->a->n_paths && j < c->b->n_paths;) {
        struct range a = kind_at(c->a, i), b = kind_at(c->b, j);
        const char *kind = c->a->paths[i].kind;
        int order = strcmp(kind, c->b->paths[j].kind);
        if (order == 0) {
            HP_TRY(hp_grow(&public->kinds, &capacity, public->n_kinds + 1, sizeof *public->kinds));
            public->kinds[public->n_kinds++] =
                (struct hp_kind_overlap){kind, overlap(c, HP_ROW_PATH, &counts, a, b),
                                         overlap(c, HP_ROW_PATH, &insns, a, b)};
        }
        i = order <= 0 ? a.end : i;
        j = order >= 0 ? b.end : j;
    }
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* A function of either or both. Where the module is in both profiles the place tells which it is;
 * elsewhere the name does, together with the file name of the module. */
struct entry {
    struct hp_move move;
    bool by_name, from_b;
    uint32_t module; /* of A, or one that A does not have */
    uint64_t offset;
    const char *file; /* name of the module without directory */
};

static int compare_keys(const struct entry *x, const struct entry *y)
{
    if (x->by_name != y->by_name)
        return x->by_name ? 1 : -1;
    if (x->by_name)
        return strcmp(x->file, y->file) ?: strcmp(x->move.name, y->move.name);
    return HP_COMPARE(x->module, y->module) ?: HP_COMPARE(x->offset, y->offset);
}

/* Within a key the entry that lends its name comes first: one with a name, A's before B's. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return compare_keys(x, y)
               ?: HP_COMPARE(*x->move.name == 0, *y->move.name == 0)
               ?: HP_COMPARE(x->from_b, y->from_b)
               ?: HP_COMPARE(x->module, y->module)
               ?: HP_COMPARE(x->offset, y->offset);
}

static struct entry make_entry(const struct compare *c, bool from_b, uint32_t index, uint64_t self)
{
    const struct hp_profile *p = from_b ? c->b : c->a;
    const struct hp_pfunction *function = &p->functions[index];
    uint32_t module = function->place.module;
    const char *path = module == HP_PROFILE_NONE ? "" : hp_text(p->modules[module].path);
    const char *slash = strrchr(path, '/');
    uint32_t common = from_b ? hp_renumbered(c->maps[HP_ROW_MODULE], module) : module;
    bool in_both =
        module == HP_PROFILE_NONE || (from_b ? common < c->a->n_modules : c->in_b[module]);
    return (struct entry){
        .move = {.name = hp_text(function->name),
                 .module = path,
                 .a = from_b ? 0 : self,
                 .b = from_b ? self : 0},
        .by_name = !in_both && *hp_text(function->name),
        .from_b = from_b,
        .module = common,
        .offset = function->place.offset,
        .file = slash ? slash + 1 : path,
    };
}

/* All functions that executed something, each once. */
static size_t make_entries(const struct compare *c, const struct weights *self,
                           struct entry *entries)
{
    size_t n = 0, kept = 0;
    for (uint32_t i = 0; i < c->a->n_functions; i++)
        if (self->a[i])
            entries[n++] = make_entry(c, false, i, self->a[i]);
    for (uint32_t i = 0; i < c->b->n_functions; i++)
        if (self->b[i])
            entries[n++] = make_entry(c, true, i, self->b[i]);
    qsort(entries, n, sizeof *entries, compare_entries);
    for (size_t i = 0; i < n; i++) {
        struct entry *last = &entries[kept - (kept > 0)];
        if (kept > 0 && compare_keys(last, &entries[i]) == 0) {
            hp_add_up(&last->move.a, entries[i].move.a);
            hp_add_up(&last->move.b, entries[i].move.b);
        } else {
            entries[kept++] = entries[i];
        }
    }
    return kept;
}

static double share(uint64_t part, uint64_t total)
{
    return total ? (double)part / (double)total : 0.0;
}

static int compare_moves(const void *a, const void *b)
{
    const struct hp_move *x = a, *y = b;
    double dx = fabs(x->share_b - x->share_a), dy = fabs(y->share_b - y->share_a);
    return HP_COMPARE(dy, dx)
               ?: strcmp(x->name, y->name)
               ?: strcmp(x->module, y->module)
               ?: HP_COMPARE(y->a, x->a)
               ?: HP_COMPARE(y->b, x->b);
}

/* The name of a function, or its place. NULL: no memory. */
static const char *entry_name(struct comparison *result, const struct entry *entry)
{
    if (*entry->move.name)
        return entry->move.name;
    return hp_strings_format(&result->strings, "%s%s0x%llx", entry->file, *entry->file ? "+" : "",
                             (unsigned long long)entry->offset);
}

static enum hp_err make_moves(struct comparison *result, const struct entry *entries, size_t n)
{
    struct hp_comparison *public = &result->public;
    HP_TRY(hp_new(&public->moves, n + 1, sizeof *public->moves));
    for (size_t i = 0; i < n; i++) {
        struct hp_move *move = &public->moves[i];
        *move = entries[i].move;
        move->name = entry_name(result, &entries[i]);
        move->share_a = share(move->a, public->instructions_a);
        move->share_b = share(move->b, public->instructions_b);
        if (!move->name)
            return hp_fail_nomem();
    }
    public->n_moves = n;
    qsort(public->moves, n, sizeof *public->moves, compare_moves);
    return HP_OK;
}

/* Executed instructions: what the threads say, but not less than their functions add up to. */
static uint64_t instructions(const struct hp_profile *p, uint64_t functions)
{
    uint64_t threads = 0;
    for (size_t i = 0; i < p->n_threads; i++)
        hp_add_up(&threads, p->threads[i].instructions);
    return threads > functions ? threads : functions;
}

static enum hp_err compare_functions(struct compare *c)
{
    struct hp_comparison *public = &c->result->public;
    struct weights self HP_CLEANUP(weights_fini) = {0};
    struct entry *entries HP_CLEANUP(hp_free) =
        calloc(c->a->n_functions + c->b->n_functions + 1, sizeof *entries);
    if (!entries)
        return hp_fail_nomem();
    HP_TRY(weigh(c, HP_ROW_FUNCTION_COUNT, "self", &self));
    uint64_t total_a = sum(self.a, c->a->n_functions), total_b = sum(self.b, c->b->n_functions);
    unsigned __int128 shares = 0;
    size_t n = make_entries(c, &self, entries);
    for (size_t i = 0; i < n; i++)
        shares += smaller_share(entries[i].move.a, total_a, entries[i].move.b, total_b);
    public->function_overlap = percent(shares, total_a, total_b);
    public->instructions_a = instructions(c->a, total_a);
    public->instructions_b = instructions(c->b, total_b);
    return make_moves(c->result, entries, n);
}

static enum hp_err compare_all(struct compare *c)
{
    static const enum hp_row_kind kinds[] = {HP_ROW_FUNCTION, HP_ROW_BLOCK, HP_ROW_EDGE,
                                             HP_ROW_PATH, HP_ROW_LOOP};
    struct hp_comparison *public = &c->result->public;
    HP_TRY(match_modules(c));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        HP_TRY(hp_rows_match(c->a, c->b, kinds[i], c->maps));
    HP_TRY(compare_rows(c, HP_ROW_BLOCK_COUNT, "count", multiply_insns, &public->block_overlap));
    HP_TRY(compare_rows(c, HP_ROW_EDGE_COUNT, "count", NULL, &public->edge_overlap));
    HP_TRY(compare_paths(c));
    public->has_loops = c->a->n_loops && c->b->n_loops;
    if (public->has_loops) {
        HP_TRY(compare_rows(c, HP_ROW_LOOP_COUNT, "self", subtract_nested,
                            &public->loop_instructions));
        HP_TRY(compare_rows(c, HP_ROW_LOOP_COUNT, "iterations", NULL, &public->loop_iterations));
    }
    return compare_functions(c);
}

enum hp_err hp_profile_compare(const struct hp_profile *a, const struct hp_profile *b,
                               struct hp_comparison **comparison)
{
    HP_TRY(hp_profile_check_normal(a));
    HP_TRY(hp_profile_check_normal(b));
    struct compare c HP_CLEANUP(compare_fini) = {.a = a, .b = b};
    HP_TRY(hp_new(&c.result, 1, sizeof *c.result));
    HP_TRY(compare_all(&c));
    *comparison = &c.result->public;
    c.result = NULL;
    return HP_OK;
}

void hp_comparison_free(struct hp_comparison *comparison)
{
    if (!comparison)
        return;
    struct comparison *result = (struct comparison *)comparison;
    free(comparison->moves);
    free(comparison->kinds);
    hp_strings_fini(&result->strings);
    free(result);
}
