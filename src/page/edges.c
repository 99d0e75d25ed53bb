// SPDX-License-Identifier: MIT
/*
 * Edges between blocks. The profile has them between places: from a branch to what ran next.
 *
 * Blocks may overlap: a loop that is entered from above is the end of one block and another block
 * of its own. They end with the same branch, and nobody counted from which of them it was reached.
 * Edges leave the last one to begin; the others go on as the next one, by edges of their own kind.
 * So what enters a block leaves it.
 */
#include "base/base.h"
#include "page/model.h"
#include "text/number.h"

static struct hp_place start_of(const struct hp_pblock *block)
{
    return block->place;
}

static struct hp_place branch_of(const struct hp_pblock *block)
{
    return (struct hp_place){block->place.module, block->place.offset + block->branch};
}

/* By branch, version and start. */
static int compare_branches(const void *a, const void *b, void *context)
{
    const struct hp_pblock *blocks = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return hp_place_compare(branch_of(&blocks[x]), branch_of(&blocks[y]))
               ?: HP_COMPARE(blocks[x].version, blocks[y].version)
               ?: hp_place_compare(blocks[x].place, blocks[y].place)
               ?: HP_COMPARE(x, y);
}

static int compare_edges(const void *a, const void *b)
{
    const struct hp_page_edge *x = a, *y = b;
    return HP_COMPARE(x->from, y->from)
               ?: HP_COMPARE(x->to, y->to)
               ?: HP_COMPARE(x->flow, y->flow)
               ?: HP_COMPARE(x->taken, y->taken);
}

/* Blocks in the order of their starts, or branches; the first of equal ones has the one chosen. */
struct ends {
    struct hp_place (*place)(const struct hp_pblock *block);
    uint32_t *order;
    uint32_t *chosen; /* by position in that order */
};

static enum hp_err ends_init(struct hp_page *page, struct ends *ends)
{
    size_t n = page->profile->n_blocks;
    HP_TRY(hp_page_allocate(page, &ends->order, n, sizeof *ends->order));
    HP_TRY(hp_page_allocate(page, &ends->chosen, n, sizeof *ends->chosen));
    for (uint32_t i = 0; i < n; i++)
        ends->order[i] = i;
    return HP_OK;
}

/* Of blocks with the same branch the last to begin; of versions the one executed most often. */
static void choose(const struct hp_page *page, struct ends *ends)
{
    const struct hp_pblock *blocks = page->profile->blocks;
    const uint64_t *counts = page->tables.block_counts;
    size_t first = 0;
    for (size_t i = 0; i < page->profile->n_blocks; i++) {
        uint32_t block = ends->order[i], best = ends->chosen[first];
        bool later = ends->place == branch_of && blocks[block].version == blocks[best].version;
        if (i == 0 ||
            hp_place_compare(ends->place(&blocks[block]), ends->place(&blocks[best])) != 0)
            ends->chosen[first = i] = block;
        else if (later || counts[block] > counts[best])
            ends->chosen[first] = block;
    }
}

/* The block that begins, or ends, there. */
static uint32_t find_block(const struct hp_profile *p, const struct ends *ends,
                           struct hp_place place)
{
    const struct hp_pblock *blocks = p->blocks;
    const uint32_t *order = ends->order;
    size_t i =
        HP_BISECT(k, 0, p->n_blocks, hp_place_compare(ends->place(&blocks[order[k]]), place) < 0);
    bool found = i < p->n_blocks && hp_place_compare(ends->place(&blocks[order[i]]), place) == 0;
    return found ? ends->chosen[i] : HP_PROFILE_NONE;
}

static void add_edge(struct hp_page *page, uint32_t from, uint32_t to, struct hp_page_edge edge)
{
    edge.from = hp_page_row(page, HP_ROW_BLOCK, from);
    edge.to = hp_page_row(page, HP_ROW_BLOCK, to);
    if (edge.from != HP_PROFILE_NONE && edge.to != HP_PROFILE_NONE)
        page->edges[page->n_edges++] = edge;
}

static void add_overlaps(struct hp_page *page, const uint32_t *by_branch)
{
    const struct hp_profile *p = page->profile;
    uint64_t count = 0; /* what goes on, of all that began before */
    for (size_t i = 1; i < p->n_blocks; i++) {
        uint32_t block = by_branch[i - 1], next = by_branch[i];
        const struct hp_pblock *a = &p->blocks[block], *b = &p->blocks[next];
        hp_add_up(&count, page->tables.block_counts[block]);
        if (a->version != b->version || hp_place_compare(branch_of(a), branch_of(b)) != 0)
            count = 0;
        else if (count)
            add_edge(page, block, next,
                     (struct hp_page_edge){.count = count, .flow = HP_FLOW_COUNT_});
    }
}

/* Several edges between the same blocks, of equal kind, may be one: those of versions. */
static void join_edges(struct hp_page *page)
{
    size_t kept = 0;
    if (page->n_edges)
        qsort(page->edges, page->n_edges, sizeof *page->edges, compare_edges);
    for (size_t i = 0; i < page->n_edges; i++) {
        struct hp_page_edge *last = kept ? &page->edges[kept - 1] : NULL;
        if (last && compare_edges(last, &page->edges[i]) == 0)
            hp_add_up(&last->count, page->edges[i].count);
        else
            page->edges[kept++] = page->edges[i];
    }
    page->n_edges = kept;
}

static enum hp_err add_edges(struct hp_page *page, const struct ends *from, const struct ends *to)
{
    const struct hp_profile *p = page->profile;
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    HP_TRY(hp_page_take(page, &hp_view_edges, HP_PAGE_EDGES, "rare transfers are left out", &rows));
    HP_TRY(hp_page_allocate(page, &page->edges, rows.n + p->n_blocks, sizeof *page->edges));
    for (size_t i = 0; i < rows.n; i++) {
        const struct hp_pedge *edge = &p->edges[rows.rows[i].item];
        add_edge(page, find_block(p, from, edge->from), find_block(p, to, edge->to),
                 (struct hp_page_edge){
                     .count = rows.rows[i].v[0], .taken = edge->taken != 0, .flow = edge->flow});
    }
    return HP_OK;
}

enum hp_err hp_page_make_edges(struct hp_page *page)
{
    struct hp_pblock *blocks = page->profile->blocks;
    struct ends from = {.place = branch_of}, to = {.place = start_of};
    HP_TRY(ends_init(page, &from));
    HP_TRY(ends_init(page, &to));
    qsort_r(from.order, page->profile->n_blocks, sizeof *from.order, compare_branches, blocks);
    choose(page, &from);
    choose(page, &to);
    HP_TRY(add_edges(page, &from, &to));
    add_overlaps(page, from.order);
    join_edges(page);
    return HP_OK;
}
