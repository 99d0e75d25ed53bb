// SPDX-License-Identifier: MIT
/*
 * Comparing: how much of what two profiles executed is the same.
 *
 * Overlap is the sum over all things of the smaller of their two shares. It is computed in whole
 * numbers, sum(min(a * B, b * A)) / (A * B) with A and B the totals, so that equal shares give
 * exactly 100, whatever the rounding.
 */
#include "profile/compare.h"

#include "base/bisect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Modules ---------------------------------------------------------------------------------- */

/* A list of the modules of A in the order of their identities, to search those of B in. */
static const struct hp_pmodule *find_module(const struct hp_pmodule *const *sorted, size_t n,
                                            const struct hp_pmodule *module)
{
    size_t i = HP_BISECT(k, 0, n, hp_module_identity(sorted[k], module) < 0);
    return i < n && hp_module_identity(sorted[i], module) == 0 ? sorted[i] : NULL;
}

static int compare_modules(const void *a, const void *b)
{
    const struct hp_pmodule *const *x = a, *const *y = b;
    return hp_module_identity(*x, *y);
}

static enum hp_err match_modules(struct hp_compare *c)
{
    size_t n = c->a->n_modules;
    const struct hp_pmodule **sorted = calloc(n + 1, sizeof *sorted);
    c->of_b = calloc(c->b->n_modules + 1, sizeof *c->of_b);
    c->in_b = calloc(n + 1, sizeof *c->in_b);
    if (!sorted || !c->of_b || !c->in_b) {
        free(sorted);
        return hp_fail_nomem();
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = &c->a->modules[i];
    qsort(sorted, n, sizeof *sorted, compare_modules);
    for (size_t i = 0; i < c->b->n_modules; i++) {
        const struct hp_pmodule *same = find_module(sorted, n, &c->b->modules[i]);
        c->of_b[i] = same ? (uint32_t)(same - c->a->modules) : (uint32_t)(n + i);
        if (same)
            c->in_b[same - c->a->modules] = true;
    }
    free(sorted);
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* A function of either or both. Where the module is in both profiles the place tells which it is;
 * elsewhere the name does, together with the file name of the module. */
struct entry {
    bool by_name;
    uint32_t module; /* in the common numbering */
    uint64_t offset;
    const char *file; /* name of the module without directory */
    const char *name;
    const char *path;
    bool from_b;
    uint64_t a, b;
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int compare_keys(const struct entry *x, const struct entry *y)
{
    if (x->by_name != y->by_name)
        return x->by_name ? 1 : -1;
    if (x->by_name) {
        int order = strcmp(x->file, y->file);
        return order ? order : strcmp(x->name, y->name);
    }
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Within a key the entry that lends its name comes first: one with a name, A's before B's. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_keys(x, y);
    if (!order)
        order = (*x->name == 0) - (*y->name == 0);
    if (!order)
        order = x->from_b - y->from_b;
    if (!order)
        order = (x->module > y->module) - (x->module < y->module);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static struct entry make_entry(const struct hp_compare *c, bool from_b, uint32_t index,
                               uint64_t self)
{
    const struct hp_profile *p = from_b ? c->b : c->a;
    const struct hp_pfunction *function = &p->functions[index];
    uint32_t module = function->place.module;
    const char *path = module == HP_PROFILE_NONE ? "" : hp_text(p->modules[module].path);
    uint32_t common = hp_compare_module(from_b ? c->of_b : NULL, module);
    bool in_both =
        module == HP_PROFILE_NONE || (from_b ? common < c->a->n_modules : c->in_b[module]);
    return (struct entry){
        .by_name = !in_both && *hp_text(function->name),
        .module = common,
        .offset = function->place.offset,
        .file = file_name(path),
        .name = hp_text(function->name),
        .path = path,
        .from_b = from_b,
        .a = from_b ? 0 : self,
        .b = from_b ? self : 0,
    };
}

static enum hp_err add_entries(const struct hp_compare *c, bool from_b, struct entry *entries,
                               size_t *n)
{
    const struct hp_profile *p = from_b ? c->b : c->a;
    uint64_t *self = calloc(p->n_functions + 1, sizeof *self);
    if (!self)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *count = &p->function_counts[i];
        self[count->item] = hp_add_saturated(self[count->item], count->self);
    }
    for (size_t i = 0; i < p->n_functions; i++)
        if (self[i])
            entries[(*n)++] = make_entry(c, from_b, (uint32_t)i, self[i]);
    free(self);
    return HP_OK;
}

/* All functions that executed something, each once. */
static enum hp_err make_entries(const struct hp_compare *c, struct entry **entries, size_t *n)
{
    struct entry *list = calloc(c->a->n_functions + c->b->n_functions + 1, sizeof *list);
    if (!list)
        return hp_fail_nomem();
    *entries = list;
    HP_TRY(add_entries(c, false, list, n));
    HP_TRY(add_entries(c, true, list, n));
    qsort(list, *n, sizeof *list, compare_entries);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (kept > 0 && compare_keys(&list[kept - 1], &list[i]) == 0) {
            list[kept - 1].a = hp_add_saturated(list[kept - 1].a, list[i].a);
            list[kept - 1].b = hp_add_saturated(list[kept - 1].b, list[i].b);
        } else {
            list[kept++] = list[i];
        }
    }
    *n = kept;
    return HP_OK;
}

static double function_overlap(const struct entry *entries, size_t n)
{
    uint64_t total_a = 0, total_b = 0;
    for (size_t i = 0; i < n; i++) {
        total_a = hp_add_saturated(total_a, entries[i].a);
        total_b = hp_add_saturated(total_b, entries[i].b);
    }
    unsigned __int128 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hp_smaller_share(entries[i].a, total_a, entries[i].b, total_b);
    return hp_overlap_percent(sum, total_a, total_b);
}

static double share(uint64_t part, uint64_t total)
{
    return total ? (double)part / (double)total : 0.0;
}

static int compare_moves(const void *a, const void *b)
{
    const struct hp_move *x = a, *y = b;
    double dx = fabs(x->share_b - x->share_a), dy = fabs(y->share_b - y->share_a);
    if (dx != dy)
        return dx > dy ? -1 : 1;
    int order = strcmp(x->name, y->name);
    if (!order)
        order = strcmp(x->module, y->module);
    if (!order)
        order = (x->a < y->a) - (x->a > y->a);
    return order ? order : (x->b < y->b) - (x->b > y->b);
}

static enum hp_err make_moves(struct hp_comparison_own *result, const struct entry *entries,
                              size_t n)
{
    struct hp_comparison *public = &result->public;
    public->moves = calloc(n + 1, sizeof *public->moves);
    if (!public->moves)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++) {
        const struct entry *entry = &entries[i];
        const char *name = entry->name;
        if (!*name) {
            char *text;
            if (asprintf(&text, "%s%s0x%llx", entry->file, *entry->file ? "+" : "",
                         (unsigned long long)entry->offset) < 0)
                return hp_fail_nomem();
            name = hp_strings_add(&result->strings, text, strlen(text));
            free(text);
            if (!name)
                return hp_fail_nomem();
        }
        public->moves[i] = (struct hp_move){
            .name = name,
            .module = entry->path,
            .a = entry->a,
            .b = entry->b,
            .share_a = share(entry->a, public->instructions_a),
            .share_b = share(entry->b, public->instructions_b),
        };
    }
    public->n_moves = n;
    qsort(public->moves, n, sizeof *public->moves, compare_moves);
    return HP_OK;
}

/* Executed instructions: what the threads say, but not less than their functions add up to. */
static uint64_t instructions(const struct hp_profile *p)
{
    uint64_t threads = 0, functions = 0;
    for (size_t i = 0; i < p->n_threads; i++)
        threads = hp_add_saturated(threads, p->threads[i].instructions);
    for (size_t i = 0; i < p->n_function_counts; i++)
        functions = hp_add_saturated(functions, p->function_counts[i].self);
    return threads > functions ? threads : functions;
}

static enum hp_err compare_functions(struct hp_compare *c)
{
    struct entry *entries = NULL;
    size_t n = 0;
    enum hp_err err = make_entries(c, &entries, &n);
    if (err == HP_OK) {
        c->result->public.function_overlap = function_overlap(entries, n);
        err = make_moves(c->result, entries, n);
    }
    free(entries);
    return err;
}

static enum hp_err compare_all(struct hp_compare *c)
{
    struct hp_comparison *public = &c->result->public;
    public->instructions_a = instructions(c->a);
    public->instructions_b = instructions(c->b);
    HP_TRY(match_modules(c));
    HP_TRY(hp_compare_code(c, false, &public->block_overlap));
    HP_TRY(hp_compare_code(c, true, &public->edge_overlap));
    HP_TRY(hp_compare_paths(c, false));
    HP_TRY(hp_compare_paths(c, true));
    public->has_loops = c->a->n_loops && c->b->n_loops;
    if (public->has_loops) {
        HP_TRY(hp_compare_loops(c, true, &public->loop_instructions));
        HP_TRY(hp_compare_loops(c, false, &public->loop_iterations));
    }
    return compare_functions(c);
}

enum hp_err hp_profile_compare(const struct hp_profile *a, const struct hp_profile *b,
                               struct hp_comparison **comparison)
{
    HP_TRY(hp_profile_check_normal(a));
    HP_TRY(hp_profile_check_normal(b));
    struct hp_comparison_own *result = calloc(1, sizeof *result);
    if (!result)
        return hp_fail_nomem();
    struct hp_compare c = {.a = a, .b = b, .result = result};
    enum hp_err err = compare_all(&c);
    free(c.of_b);
    free(c.in_b);
    if (err != HP_OK) {
        hp_comparison_free(&result->public);
        return err;
    }
    *comparison = &result->public;
    return HP_OK;
}

void hp_comparison_free(struct hp_comparison *comparison)
{
    if (!comparison)
        return;
    struct hp_comparison_own *result = (struct hp_comparison_own *)comparison;
    free(comparison->moves);
    free(comparison->kinds);
    hp_strings_fini(&result->strings);
    free(result);
}
