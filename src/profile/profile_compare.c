// SPDX-License-Identifier: MIT
/*
 * Comparing: how much of what two profiles executed is the same.
 *
 * Overlap is the sum over all things of the smaller of their two shares. It is computed in whole
 * numbers, sum(min(a * B, b * A)) / (A * B) with A and B the totals, so that equal shares give
 * exactly 100, whatever the rounding.
 */
#include "base/grow.h"
#include "profile/profile_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;

/* hp_comparison_free() finds the strings behind the public part. */
struct comparison {
    struct hp_comparison public;
    struct hp_strings strings;
};

struct context {
    const struct hp_profile *a, *b;
    /* Modules of both in one numbering: those of A keep their index, a module of B has that of the
     * same module of A, or one that A does not have. */
    uint32_t *of_b;
    bool *in_b; /* of the modules of A */
    struct comparison *result;
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* --- Modules ---------------------------------------------------------------------------------- */

/* A list of the modules of A in the order of their identities, to search those of B in. */
static const struct hp_pmodule *find_module(const struct hp_pmodule *const *sorted, size_t n,
                                            const struct hp_pmodule *module)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = hp_module_identity(module, sorted[middle]);
        if (order == 0)
            return sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static int compare_modules(const void *a, const void *b)
{
    const struct hp_pmodule *const *x = a, *const *y = b;
    return hp_module_identity(*x, *y);
}

static enum hp_err match_modules(struct context *c)
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

/* --- Blocks and edges ------------------------------------------------------------------------- */

/* A block or an edge with how much it weighs. */
struct item {
    uint32_t module, to_module;
    uint64_t offset, to_offset;
    uint64_t rest;
    uint64_t weight;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->to_module != y->to_module)
        return x->to_module < y->to_module ? -1 : 1;
    if (x->to_offset != y->to_offset)
        return x->to_offset < y->to_offset ? -1 : 1;
    return (x->rest > y->rest) - (x->rest < y->rest);
}

/* Items of A are in order already; those of B mostly. */
static void sort_items(struct item *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare_items(&items[i - 1], &items[i]) > 0) {
            qsort(items, n, sizeof *items, compare_items);
            return;
        }
}

static uint32_t joint(const uint32_t *modules, uint32_t module)
{
    return modules && module != HP_PROFILE_NONE ? modules[module] : module;
}

static struct item *block_items(const struct hp_profile *p, const uint32_t *modules)
{
    struct item *items = calloc(p->n_blocks + 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < p->n_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[i];
        items[i].module = joint(modules, block->place.module);
        items[i].offset = block->place.offset;
        items[i].to_offset = (uint64_t)block->size << 32 | block->version;
        items[i].rest = block->flow;
    }
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pcount *count = &p->block_counts[i];
        uint64_t weight = multiply(count->count, p->blocks[count->item].insns);
        items[count->item].weight = hp_add_saturated(items[count->item].weight, weight);
    }
    sort_items(items, p->n_blocks);
    return items;
}

static struct item *edge_items(const struct hp_profile *p, const uint32_t *modules)
{
    struct item *items = calloc(p->n_edges + 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < p->n_edges; i++) {
        const struct hp_pedge *edge = &p->edges[i];
        items[i].module = joint(modules, edge->from.module);
        items[i].offset = edge->from.offset;
        items[i].to_module = joint(modules, edge->to.module);
        items[i].to_offset = edge->to.offset;
        items[i].rest = (uint64_t)edge->flow << 1 | edge->taken;
    }
    for (size_t i = 0; i < p->n_edge_counts; i++) {
        const struct hp_pcount *count = &p->edge_counts[i];
        items[count->item].weight = hp_add_saturated(items[count->item].weight, count->count);
    }
    sort_items(items, p->n_edges);
    return items;
}

/* --- Overlap ---------------------------------------------------------------------------------- */

static wide smaller_share(uint64_t a, uint64_t total_a, uint64_t b, uint64_t total_b)
{
    wide x = (wide)a * total_b, y = (wide)b * total_a;
    return x < y ? x : y;
}

static double percent(wide sum, uint64_t total_a, uint64_t total_b)
{
    if (total_a == 0 || total_b == 0)
        return total_a == total_b ? 100.0 : 0.0;
    double part = (double)((long double)sum / (long double)((wide)total_a * total_b));
    /* Only totals that do not fit 64 bits could give more. */
    return part > 1.0 ? 100.0 : part * 100.0;
}

static double item_overlap(const struct item *a, size_t n_a, const struct item *b, size_t n_b)
{
    uint64_t total_a = 0, total_b = 0;
    for (size_t i = 0; i < n_a; i++)
        total_a = hp_add_saturated(total_a, a[i].weight);
    for (size_t i = 0; i < n_b; i++)
        total_b = hp_add_saturated(total_b, b[i].weight);
    wide sum = 0;
    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        int order = compare_items(&a[i], &b[j]);
        if (order == 0)
            sum += smaller_share(a[i].weight, total_a, b[j].weight, total_b);
        i += order <= 0;
        j += order >= 0;
    }
    return percent(sum, total_a, total_b);
}

static enum hp_err compare_code(struct context *c, bool edges, double *overlap)
{
    struct item *a = edges ? edge_items(c->a, NULL) : block_items(c->a, NULL);
    struct item *b = edges ? edge_items(c->b, c->of_b) : block_items(c->b, c->of_b);
    enum hp_err err = HP_OK;
    if (!a || !b)
        err = hp_fail_nomem();
    else
        *overlap = item_overlap(a, edges ? c->a->n_edges : c->a->n_blocks, b,
                                edges ? c->b->n_edges : c->b->n_blocks);
    free(a);
    free(b);
    return err;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* The end of the paths of one kind. */
static size_t kind_end(const struct hp_profile *p, size_t at)
{
    size_t end = at + 1;
    while (end < p->n_paths && strcmp(p->paths[end].kind, p->paths[at].kind) == 0)
        end++;
    return end;
}

/* Items of all paths, those of a kind in order. What makes a path, in the members that an edge has. */
static struct item *path_items(const struct hp_profile *p, const uint32_t *modules, bool by_insns)
{
    struct item *items = calloc(p->n_paths + 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < p->n_paths; i++) {
        const struct hp_ppath *path = &p->paths[i];
        items[i].module = joint(modules, path->start.module);
        items[i].offset = path->start.offset;
        items[i].to_module = path->length;
        items[i].to_offset = path->outcomes;
        items[i].rest = path->targets;
    }
    for (size_t i = 0; i < p->n_path_counts; i++) {
        const struct hp_ppath_count *count = &p->path_counts[i];
        struct item *item = &items[count->item];
        item->weight = hp_add_saturated(item->weight, by_insns ? count->insns : count->count);
    }
    for (size_t at = 0, end; at < p->n_paths; at = end) {
        end = kind_end(p, at);
        sort_items(items + at, end - at);
    }
    return items;
}

static enum hp_err add_kind(struct hp_comparison *public, size_t *capacity, const char *kind)
{
    HP_TRY(hp_grow(&public->kinds, capacity, public->n_kinds + 1, sizeof *public->kinds));
    public->kinds[public->n_kinds++] = (struct hp_kind_overlap){.kind = kind};
    return HP_OK;
}

/* Kinds that both have: their paths are sorted by it. */
static enum hp_err overlap_kinds(struct context *c, const struct item *a, const struct item *b,
                                 bool by_insns)
{
    struct hp_comparison *public = &c->result->public;
    size_t capacity = public->n_kinds, n = 0;
    for (size_t i = 0, j = 0; i < c->a->n_paths && j < c->b->n_paths;) {
        size_t end_a = kind_end(c->a, i), end_b = kind_end(c->b, j);
        int order = strcmp(c->a->paths[i].kind, c->b->paths[j].kind);
        if (order == 0) {
            if (n == public->n_kinds)
                HP_TRY(add_kind(public, &capacity, c->a->paths[i].kind));
            struct hp_kind_overlap *kind = &public->kinds[n++];
            double overlap = item_overlap(a + i, end_a - i, b + j, end_b - j);
            *(by_insns ? &kind->instructions : &kind->executions) = overlap;
        }
        if (order <= 0)
            i = end_a;
        if (order >= 0)
            j = end_b;
    }
    return HP_OK;
}

static enum hp_err compare_paths(struct context *c, bool by_insns)
{
    struct item *a = path_items(c->a, NULL, by_insns), *b = path_items(c->b, c->of_b, by_insns);
    enum hp_err err = a && b ? overlap_kinds(c, a, b, by_insns) : hp_fail_nomem();
    free(a);
    free(b);
    return err;
}

/* --- Loops ------------------------------------------------------------------------------------ */

static uint64_t without(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Weighed by iterations, or by the instructions that are in no loop nested in it: so none counts twice. */
static struct item *loop_items(const struct hp_profile *p, const uint32_t *modules, bool by_insns)
{
    struct item *items = calloc(p->n_loops + 1, sizeof *items);
    uint64_t *self = calloc(p->n_loops + 1, sizeof *self);
    if (!items || !self) {
        free(items);
        free(self);
        return NULL;
    }
    for (size_t i = 0; i < p->n_loops; i++) {
        const struct hp_ploop *loop = &p->loops[i];
        struct hp_place function = {HP_PROFILE_NONE, 0};
        if (loop->function != HP_PROFILE_NONE)
            function = p->functions[loop->function].place;
        items[i].module = joint(modules, loop->header.module);
        items[i].offset = loop->header.offset;
        items[i].to_module = joint(modules, function.module);
        items[i].to_offset = function.offset;
        items[i].rest = loop->version;
    }
    for (size_t i = 0; i < p->n_loop_counts; i++) {
        const struct hp_ploop_count *count = &p->loop_counts[i];
        uint64_t weight = by_insns ? count->self : count->iterations;
        items[count->item].weight = hp_add_saturated(items[count->item].weight, weight);
    }
    for (size_t i = 0; i < p->n_loops; i++)
        self[i] = items[i].weight;
    for (size_t i = 0; by_insns && i < p->n_loops; i++)
        if (p->loops[i].parent != HP_PROFILE_NONE) {
            struct item *parent = &items[p->loops[i].parent];
            parent->weight = without(parent->weight, self[i]);
        }
    free(self);
    sort_items(items, p->n_loops);
    return items;
}

static enum hp_err compare_loops(struct context *c, bool by_insns, double *overlap)
{
    struct item *a = loop_items(c->a, NULL, by_insns), *b = loop_items(c->b, c->of_b, by_insns);
    enum hp_err err = a && b ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        *overlap = item_overlap(a, c->a->n_loops, b, c->b->n_loops);
    free(a);
    free(b);
    return err;
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

static struct entry make_entry(const struct context *c, bool from_b, uint32_t index, uint64_t self)
{
    const struct hp_profile *p = from_b ? c->b : c->a;
    const struct hp_pfunction *function = &p->functions[index];
    uint32_t module = function->place.module;
    const char *path = module == HP_PROFILE_NONE ? "" : hp_text(p->modules[module].path);
    uint32_t common = joint(from_b ? c->of_b : NULL, module);
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

static enum hp_err add_entries(const struct context *c, bool from_b, struct entry *entries,
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
static enum hp_err make_entries(const struct context *c, struct entry **entries, size_t *n)
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
    wide sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += smaller_share(entries[i].a, total_a, entries[i].b, total_b);
    return percent(sum, total_a, total_b);
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

static enum hp_err make_moves(struct comparison *result, const struct entry *entries, size_t n)
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

static enum hp_err compare_functions(struct context *c)
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

static enum hp_err compare_all(struct context *c)
{
    struct hp_comparison *public = &c->result->public;
    public->instructions_a = instructions(c->a);
    public->instructions_b = instructions(c->b);
    HP_TRY(match_modules(c));
    HP_TRY(compare_code(c, false, &public->block_overlap));
    HP_TRY(compare_code(c, true, &public->edge_overlap));
    HP_TRY(compare_paths(c, false));
    HP_TRY(compare_paths(c, true));
    public->has_loops = c->a->n_loops && c->b->n_loops;
    if (public->has_loops) {
        HP_TRY(compare_loops(c, true, &public->loop_instructions));
        HP_TRY(compare_loops(c, false, &public->loop_iterations));
    }
    return compare_functions(c);
}

enum hp_err hp_profile_compare(const struct hp_profile *a, const struct hp_profile *b,
                               struct hp_comparison **comparison)
{
    HP_TRY(hp_profile_check_normal(a));
    HP_TRY(hp_profile_check_normal(b));
    struct comparison *result = calloc(1, sizeof *result);
    if (!result)
        return hp_fail_nomem();
    struct context c = {.a = a, .b = b, .result = result};
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
    struct comparison *result = (struct comparison *)comparison;
    free(comparison->moves);
    free(comparison->kinds);
    hp_strings_fini(&result->strings);
    free(result);
}
