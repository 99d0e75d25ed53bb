// SPDX-License-Identifier: MIT
/*
 * Which edges of the profile are back edges of which loop: those to its header from a block of it,
 * or of one nested in it.
 */
#include "base/bisect.h"
#include "base/grow.h"
#include "report/items.h"
#include "report/loops/loops.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>

#define SAME_HEADER                                                                                \
    1000 /* loops looked at: versions of code at one place, not a file made to take long */

/* That the block that ends at a place is in the loop at a position. */
struct end {
    struct hp_place place;
    uint32_t at;
};

struct header {
    struct hp_place place;
    uint32_t loop;
};

struct search {
    const struct hp_profile *profile;
    struct hp_loops *loops;
    struct end *ends;       /* by place, then position */
    struct header *headers; /* by place */
    uint64_t *counts;       /* by edge */
};

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int order = hp_place_compare(x->place, y->place);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int compare_headers(const void *a, const void *b)
{
    const struct header *x = a, *y = b;
    int order = hp_place_compare(x->place, y->place);
    return order ? order : (x->loop > y->loop) - (x->loop < y->loop);
}

static int compare_back_edges(const void *a, const void *b)
{
    const struct hp_back_edge *x = a, *y = b;
    if (x->loop != y->loop)
        return x->loop < y->loop ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Whether a block that ends at `place` is in the loop. */
static bool ends_in(const struct search *s, struct hp_place place, uint32_t loop)
{
    const struct hp_loop_info *info = &s->loops->info[loop];
    struct end first = {place, info->at};
    size_t low = HP_BISECT(i, 0, s->profile->n_loop_blocks, compare_ends(&s->ends[i], &first) < 0);
    return low < s->profile->n_loop_blocks && s->ends[low].at < info->end &&
           hp_place_compare(s->ends[low].place, place) == 0;
}

/* The first header that is not before a place. */
static size_t find_header(const struct search *s, struct hp_place place)
{
    size_t low =
        HP_BISECT(i, 0, s->profile->n_loops, hp_place_compare(s->headers[i].place, place) < 0);
    return low;
}

static void prepare(struct search *s)
{
    const struct hp_profile *p = s->profile;
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[p->loop_blocks[i].block];
        s->ends[i] = (struct end){{block->place.module, block->place.offset + block->branch},
                                  s->loops->info[p->loop_blocks[i].loop].at};
    }
    qsort(s->ends, p->n_loop_blocks, sizeof *s->ends, compare_ends);
    for (uint32_t i = 0; i < p->n_loops; i++)
        s->headers[i] = (struct header){p->loops[i].header, i};
    qsort(s->headers, p->n_loops, sizeof *s->headers, compare_headers);
    for (size_t i = 0; i < p->n_edge_counts; i++) {
        uint64_t *count = &s->counts[p->edge_counts[i].item];
        *count = hp_saturating_add(*count, p->edge_counts[i].count);
    }
}

static enum hp_err search_edges(struct search *s)
{
    const struct hp_profile *p = s->profile;
    struct hp_loops *loops = s->loops;
    size_t capacity = 0;
    prepare(s);
    for (uint32_t i = 0; i < p->n_edges; i++) {
        struct hp_place to = p->edges[i].to;
        size_t first = find_header(s, to);
        for (size_t k = first; k < p->n_loops && k < first + SAME_HEADER &&
                               hp_place_compare(s->headers[k].place, to) == 0;
             k++) {
            if (s->counts[i] == 0 || !ends_in(s, p->edges[i].from, s->headers[k].loop))
                continue;
            HP_TRY(hp_grow(&loops->back_edges, &capacity, loops->n_back_edges + 1,
                           sizeof *loops->back_edges));
            loops->back_edges[loops->n_back_edges++] =
                (struct hp_back_edge){s->headers[k].loop, i, s->counts[i]};
        }
    }
    if (loops->n_back_edges)
        qsort(loops->back_edges, loops->n_back_edges, sizeof *loops->back_edges,
              compare_back_edges);
    loops->edges_known = true;
    return HP_OK;
}

enum hp_err hp_loops_edges(struct hp_loops *loops, const struct hp_profile *profile)
{
    if (loops->edges_known || profile->n_loops == 0)
        return HP_OK;
    struct search s = {.profile = profile, .loops = loops};
    s.ends = calloc(profile->n_loop_blocks + 1, sizeof *s.ends);
    s.headers = calloc(profile->n_loops + 1, sizeof *s.headers);
    s.counts = calloc(profile->n_edges + 1, sizeof *s.counts);
    enum hp_err err = s.ends && s.headers && s.counts ? search_edges(&s) : hp_fail_nomem();
    free(s.ends);
    free(s.headers);
    free(s.counts);
    return err;
}

const struct hp_back_edge *hp_loop_edges(const struct hp_loops *loops, uint32_t loop, size_t *n)
{
    return hp_items_of(loops->back_edges, loops->n_back_edges, sizeof *loops->back_edges, loop, n);
}
