// SPDX-License-Identifier: MIT
/*
 * Overlaps of what is at a place in the program: blocks, edges, paths and loops.
 */
#include "base/grow.h"
#include "profile/compare.h"

#include <stdlib.h>

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
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

static struct item *block_items(const struct hp_profile *p, const uint32_t *modules)
{
    struct item *items = calloc(p->n_blocks + 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < p->n_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[i];
        items[i].module = hp_compare_module(modules, block->place.module);
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
        items[i].module = hp_compare_module(modules, edge->from.module);
        items[i].offset = edge->from.offset;
        items[i].to_module = hp_compare_module(modules, edge->to.module);
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

static double item_overlap(const struct item *a, size_t n_a, const struct item *b, size_t n_b)
{
    uint64_t total_a = 0, total_b = 0;
    for (size_t i = 0; i < n_a; i++)
        total_a = hp_add_saturated(total_a, a[i].weight);
    for (size_t i = 0; i < n_b; i++)
        total_b = hp_add_saturated(total_b, b[i].weight);
    unsigned __int128 sum = 0;
    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        int order = compare_items(&a[i], &b[j]);
        if (order == 0)
            sum += hp_smaller_share(a[i].weight, total_a, b[j].weight, total_b);
        i += order <= 0;
        j += order >= 0;
    }
    return hp_overlap_percent(sum, total_a, total_b);
}

enum hp_err hp_compare_code(struct hp_compare *c, bool edges, double *overlap)
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

/* Items of all paths, those of a kind in order. What makes a path, in the members that an edge has.
 */
static struct item *path_items(const struct hp_profile *p, const uint32_t *modules, bool by_insns)
{
    struct item *items = calloc(p->n_paths + 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < p->n_paths; i++) {
        const struct hp_ppath *path = &p->paths[i];
        items[i].module = hp_compare_module(modules, path->start.module);
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
static enum hp_err overlap_kinds(struct hp_compare *c, const struct item *a, const struct item *b,
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

enum hp_err hp_compare_paths(struct hp_compare *c, bool by_insns)
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

/* Weighed by iterations, or by the instructions that are in no loop nested in it: so none counts
 * twice. */
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
        items[i].module = hp_compare_module(modules, loop->header.module);
        items[i].offset = loop->header.offset;
        items[i].to_module = hp_compare_module(modules, function.module);
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

enum hp_err hp_compare_loops(struct hp_compare *c, bool by_insns, double *overlap)
{
    struct item *a = loop_items(c->a, NULL, by_insns), *b = loop_items(c->b, c->of_b, by_insns);
    enum hp_err err = a && b ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        *overlap = item_overlap(a, c->a->n_loops, b, c->b->n_loops);
    free(a);
    free(b);
    return err;
}
