// SPDX-License-Identifier: MIT
#include "hotpath/numbered.h"

#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>

#define SEARCH 4096 /* frames that a return may leave at once */

struct frame {
    uint64_t return_to;
    uint64_t number; /* the register */
    uint32_t vertex; /* its vertex, also while it waits for a call; HP_NO_ID: not in the function */
    bool marker;     /* what a signal interrupted is below */
};

struct hp_numbered {
    const struct hp_cfg *cfg;
    const struct hp_numbering *numbering;
    struct frame *stack;
    size_t depth, capacity;
    struct frame nowhere; /* used when out of memory */
    struct hp_map64 by_number;
    struct hp_numbered_count *counts;
    size_t n, counts_capacity;
    struct hp_numbered_stats stats;
    enum hp_err err;
};

enum hp_err hp_numbered_new(const struct hp_cfg *cfg, const struct hp_numbering *numbering,
                            struct hp_numbered **numbered)
{
    struct hp_numbered *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->cfg = cfg;
    p->numbering = numbering;
    *numbered = p;
    return HP_OK;
}

void hp_numbered_free(struct hp_numbered *p)
{
    if (!p)
        return;
    hp_map64_fini(&p->by_number);
    free(p->stack);
    free(p->counts);
    free(p);
}

/* --- A frame ---------------------------------------------------------------------------------- */

static void count(struct hp_numbered *p, uint64_t number)
{
    uint32_t i = hp_map64_get(&p->by_number, number);
    p->stats.paths++;
    if (i != HP_MAP64_NONE) {
        p->counts[i].count++;
        return;
    }
    enum hp_err err = hp_grow(&p->counts, &p->counts_capacity, p->n + 1, sizeof *p->counts);
    if (err == HP_OK)
        err = hp_map64_put(&p->by_number, number, (uint32_t)p->n);
    if (err == HP_OK)
        p->counts[p->n++] = (struct hp_numbered_count){number, 1};
    else
        p->err = err;
}

static void add(struct hp_numbered *p, struct frame *frame, uint32_t edge)
{
    const struct hp_numbered_edge *e = &p->numbering->edges[edge];
    p->stats.edges++;
    if (!e->chord)
        return;
    p->stats.chords++;
    frame->number += (uint64_t)e->increment;
}

/* Advances the frame to `to`; the exit ends it. */
static void advance(struct hp_numbered *p, struct frame *frame, uint32_t to)
{
    uint32_t edge = to == HP_NO_ID ? HP_NO_EDGE : hp_cfg_edge(p->cfg, frame->vertex, to);
    uint8_t kind = edge == HP_NO_EDGE ? HP_EDGE_UNREACHABLE : p->numbering->edges[edge].kind;
    if (kind == HP_EDGE_UNREACHABLE) {
        p->stats.unknown++;
        frame->vertex = HP_NO_ID;
        return;
    }
    if (kind == HP_EDGE_BACK) {
        add(p, frame, p->numbering->edges[edge].leave);
        count(p, frame->number);
        frame->number = 0;
        edge = p->numbering->edges[edge].enter;
    }
    add(p, frame, edge);
    frame->vertex = to;
    if (to == HP_CFG_EXIT) {
        count(p, frame->number);
        frame->vertex = HP_NO_ID;
    }
}

/* Control comes from outside to an address. */
static void enter(struct hp_numbered *p, struct frame *frame, uint64_t address)
{
    uint32_t to = hp_cfg_at(p->cfg, address);
    if (to == HP_NO_ID || hp_cfg_edge(p->cfg, HP_CFG_ENTRY, to) == HP_NO_EDGE)
        return;
    frame->vertex = HP_CFG_ENTRY;
    frame->number = 0;
    p->stats.entered++;
    advance(p, frame, to);
}

/* Walks the basic blocks of a block, up to its last one. */
static void go_through(struct hp_numbered *p, struct frame *frame, const struct hp_block *block)
{
    while (frame->vertex != HP_NO_ID && p->cfg->vertices[frame->vertex].last != block->last) {
        const struct hp_cfg_vertex *vertex = &p->cfg->vertices[frame->vertex];
        advance(p, frame, vertex->flow == HP_FLOW_NONE ? hp_cfg_at(p->cfg, vertex->end) : HP_NO_ID);
    }
}

/* --- Frames ----------------------------------------------------------------------------------- */

static struct frame *push(struct hp_numbered *p, uint64_t return_to, bool marker)
{
    enum hp_err err = hp_grow(&p->stack, &p->capacity, p->depth + 1, sizeof *p->stack);
    if (err != HP_OK) {
        p->err = err;
        p->nowhere = (struct frame){.vertex = HP_NO_ID};
        return &p->nowhere;
    }
    p->stack[p->depth] =
        (struct frame){.return_to = return_to, .vertex = HP_NO_ID, .marker = marker};
    return &p->stack[p->depth++];
}

static void drop_to(struct hp_numbered *p, size_t depth)
{
    while (p->depth > depth)
        p->stats.unfinished += p->stack[--p->depth].vertex != HP_NO_ID;
}

static struct frame *top(struct hp_numbered *p)
{
    return p->depth ? &p->stack[p->depth - 1] : push(p, 0, false);
}

/* Drops the frames down to the one in which the thread, or the signal handler, began. */
static void drop_to_base(struct hp_numbered *p)
{
    size_t k = p->depth;
    while (k > 0 && p->stack[k - 1].return_to != 0)
        k--;
    drop_to(p, k);
    struct frame *base = top(p);
    p->stats.unfinished += base->vertex != HP_NO_ID;
    base->vertex = HP_NO_ID;
}

/* Returns to the frame below the nearest one that returns there. */
static void leave(struct hp_numbered *p, uint64_t target)
{
    size_t k = p->depth, lowest = k > SEARCH ? k - SEARCH : 0;
    while (k > lowest && p->stack[k - 1].return_to != target && !p->stack[k - 1].marker)
        k--;
    if (k == lowest || p->stack[k - 1].marker) {
        drop_to_base(p);
        return;
    }
    drop_to(p, k - 1);
    struct frame *frame = top(p);
    if (frame->vertex != HP_NO_ID)
        advance(p, frame, hp_cfg_at(p->cfg, target));
}

static void transfer(struct hp_numbered *p, const struct hp_block *block, uint64_t target,
                     bool taken)
{
    struct frame *frame = top(p);
    if (frame->vertex != HP_NO_ID)
        go_through(p, frame, block);
    bool call = (block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND) && taken &&
                target != block->end;
    bool active = frame->vertex != HP_NO_ID;
    if (call) {
        enter(p, push(p, block->end, false), target);
    } else if (block->flow == HP_FLOW_RETURN && taken) {
        if (active)
            advance(p, frame, HP_CFG_EXIT);
        leave(p, target);
    } else if (active) {
        uint32_t to = hp_cfg_at(p->cfg, target);
        advance(p, frame, to == HP_NO_ID ? HP_CFG_EXIT : to);
    } else if (taken) {
        enter(p, frame, target);
    }
}

void hp_numbered_batch(struct hp_numbered *p, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        transfer(p, &batch->table[batch->blocks[i]], batch->table[batch->blocks[i + 1]].start,
                 batch->taken[i]);
}

void hp_numbered_event(struct hp_numbered *p, const struct hp_event *event)
{
    size_t k = p->depth;
    switch (event->kind) {
    case HP_EVENT_SIGNAL: push(p, 0, true); break;
    case HP_EVENT_SIGRETURN:
        while (k > 0 && !p->stack[k - 1].marker)
            k--;
        drop_to(p, k ? k - 1 : 0);
        break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY:
    case HP_EVENT_END: drop_to(p, 0); break;
    default: break;
    }
}

enum hp_err hp_numbered_check(const struct hp_numbered *p)
{
    return p->err == HP_OK ? HP_OK : hp_fail_nomem();
}

const struct hp_numbered_count *hp_numbered_counts(const struct hp_numbered *p, size_t *n)
{
    *n = p->n;
    return p->counts;
}

const struct hp_numbered_stats *hp_numbered_stats(const struct hp_numbered *p)
{
    return &p->stats;
}
