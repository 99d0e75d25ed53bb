// SPDX-License-Identifier: MIT
/* The back edges of a loop: edges to its header from a block of it, or of one nested in it. */
#include "base/base.h"
#include "report/loops/loops.h"
#include "report/tables.h"
#include "text/number.h"

#define SAME_HEADER 1000 /* loops looked at: a file may be made to take long */

/* That a loop has its header at a place, or (by position) a block that ends there. */
struct mark {
    struct hp_place place;
    uint32_t loop;
};

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    return hp_place_compare(x->place, y->place) ?: HP_COMPARE(x->loop, y->loop);
}

static int compare_back_edges(const void *a, const void *b)
{
    const struct hp_back_edge *x = a, *y = b;
    return HP_COMPARE(x->loop, y->loop)
               ?: HP_COMPARE(y->count, x->count) ?: HP_COMPARE(x->edge, y->edge);
}

/* The first that is not before a mark; `n` when there is none. */
static size_t find_mark(const struct mark *marks, size_t n, struct hp_place place, uint32_t loop)
{
    const struct mark first = {place, loop};
    return HP_BISECT(i, 0, n, compare_marks(&marks[i], &first) < 0);
}

/* Whether a block that ends at `place` is in the loop. */
static bool ends_in(const struct mark *ends, size_t n, struct hp_place place,
                    const struct hp_loop_info *loop)
{
    size_t at = find_mark(ends, n, place, loop->at);
    return at < n && ends[at].loop < loop->end && hp_place_compare(ends[at].place, place) == 0;
}

static enum hp_err search_edges(struct hp_loops *loops, const struct hp_profile *p,
                                struct mark *ends, struct mark *headers, uint64_t *counts)
{
    size_t capacity = 0;
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[p->loop_blocks[i].block];
        ends[i] = (struct mark){{block->place.module, block->place.offset + block->branch},
                                loops->info[p->loop_blocks[i].loop].at};
    }
    qsort(ends, p->n_loop_blocks, sizeof *ends, compare_marks);
    for (uint32_t i = 0; i < p->n_loops; i++)
        headers[i] = (struct mark){p->loops[i].header, i};
    qsort(headers, p->n_loops, sizeof *headers, compare_marks);
    for (size_t i = 0; i < p->n_edge_counts; i++)
        hp_add_up(&counts[p->edge_counts[i].item], p->edge_counts[i].count);
    for (uint32_t i = 0; i < p->n_edges; i++) {
        const struct hp_pedge *edge = &p->edges[i];
        size_t k = find_mark(headers, p->n_loops, edge->to, 0), end = k + SAME_HEADER;
        for (; k < p->n_loops && k < end && hp_place_compare(headers[k].place, edge->to) == 0;
             k++) {
            uint32_t loop = headers[k].loop;
            if (counts[i] == 0 || !ends_in(ends, p->n_loop_blocks, edge->from, &loops->info[loop]))
                continue;
            HP_TRY(hp_grow(&loops->back_edges, &capacity, loops->n_back_edges + 1,
                           sizeof *loops->back_edges));
            loops->back_edges[loops->n_back_edges++] = (struct hp_back_edge){loop, i, counts[i]};
        }
    }
    if (loops->n_back_edges)
        qsort(loops->back_edges, loops->n_back_edges, sizeof *loops->back_edges,
              compare_back_edges);
    loops->edges_known = true;
    return HP_OK;
}

enum hp_err hp_loops_edges(struct hp_tables *tables)
{
    struct hp_loops *loops = &tables->loops;
    const struct hp_profile *profile = tables->profile;
    if (loops->edges_known || profile->n_loops == 0)
        return HP_OK;
    struct mark *ends HP_CLEANUP(hp_free) = calloc(profile->n_loop_blocks + 1, sizeof *ends);
    struct mark *headers HP_CLEANUP(hp_free) = calloc(profile->n_loops + 1, sizeof *headers);
    uint64_t *counts HP_CLEANUP(hp_free) = calloc(profile->n_edges + 1, sizeof *counts);
    return ends && headers && counts ? search_edges(loops, profile, ends, headers, counts)
                                     : hp_fail_nomem();
}

const struct hp_back_edge *hp_loop_edges(const struct hp_loops *loops, uint32_t loop, size_t *n)
{
    return hp_items_of(loops->back_edges, loops->n_back_edges, sizeof *loops->back_edges, loop, n);
}
