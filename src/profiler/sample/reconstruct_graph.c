// SPDX-License-Identifier: MIT
/*
 * The graph of a whole program, backwards. It is like that of a function (cfg.h), but calls lead to
 * callees and returns come from them, so that they can be walked through.
 */
#include "base/bisect.h"
#include "base/grow.h"
#include "profiler/sample/reconstruct_impl.h"

#include <stdlib.h>
#include <string.h>

/* While it is built. */
struct build {
    struct hp_place_graph *graph;
    struct hp_code *code;
    bool *executed;          /* by block */
    struct hp_map64 longest; /* of the executed blocks that start at an address */
    struct hp_frame_source *frames;
};

/* --- Places ----------------------------------------------------------------------------------- */

/* Two blocks may start at the same address when one of them was cut short. Otherwise the code
 * changed: the first one stays. */
static enum hp_err add_start(struct build *b, uint32_t id)
{
    const struct hp_block *block = hp_code_block(b->code, id);
    uint32_t known = hp_map64_get(&b->longest, block->start);
    if (known != HP_MAP64_NONE) {
        const struct hp_block *other = hp_code_block(b->code, known);
        if (block->end <= other->end ||
            memcmp(hp_code_bytes(b->code, block), hp_code_bytes(b->code, other),
                   (size_t)(other->end - other->start)) != 0)
            return HP_OK;
    }
    return hp_map64_put(&b->longest, block->start, id);
}

/* Adds only the first piece of a block: from the start of another block on, it is part of that
 * one. */
static enum hp_err add_place(struct build *b, uint32_t id)
{
    struct hp_place_graph *g = b->graph;
    const struct hp_block block = *hp_code_block(b->code, id);
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(b->code, id, &insns));
    HP_TRY(hp_grow(&g->places, &g->cap_places, (size_t)g->n + 2, sizeof *g->places));
    struct hp_graph_place place = {.start = block.start,
                                   .last = block.last,
                                   .end = block.end,
                                   .target = block.target,
                                   .block = id,
                                   .insns = block.insns,
                                   .flow = block.flow,
                                   .flags = block.flags};
    for (uint32_t i = 1; i < block.insns; i++) {
        if (hp_map64_get(&b->longest, insns[i].address) == HP_MAP64_NONE)
            continue;
        place.last = insns[i - 1].address;
        place.end = insns[i].address;
        place.target = 0;
        place.insns = i;
        place.flow = HP_FLOW_NONE;
        place.flags &= (uint8_t) ~(HP_BLOCK_CONDITIONAL | HP_BLOCK_SPLIT);
        break;
    }
    g->places[g->n++] = place;
    return HP_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct hp_graph_place *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static enum hp_err make_places(struct build *b)
{
    struct hp_place_graph *g = b->graph;
    uint32_t n_blocks = hp_code_n_blocks(b->code);
    HP_TRY(hp_grow(&g->places, &g->cap_places, 1, sizeof *g->places));
    for (uint32_t i = 0; i < n_blocks; i++)
        if (b->executed[i])
            HP_TRY(add_start(b, i));
    for (uint32_t i = 0; i < n_blocks; i++)
        if (b->executed[i] && hp_map64_get(&b->longest, hp_code_block(b->code, i)->start) == i)
            HP_TRY(add_place(b, i));
    qsort(g->places, g->n, sizeof *g->places, by_start);
    for (uint32_t p = 0; p < g->n; p++) {
        const struct hp_graph_place *place = &g->places[p];
        HP_TRY(hp_map64_put(&g->by_start, place->start, p));
        if (hp_place_calls(place))
            HP_TRY(hp_map64_put(&g->by_call, place->end, p));
        if (place->end - place->start > g->longest)
            g->longest = place->end - place->start;
    }
    return HP_OK;
}

/* --- Arrows ----------------------------------------------------------------------------------- */

enum hp_err hp_place_graph_add(struct hp_place_graph *g, uint32_t from, uint32_t to, uint64_t count)
{
    uint64_t key = (uint64_t)from << 32 | to;
    uint32_t known = hp_map64_get(&g->by_ends, key);
    if (known != HP_MAP64_NONE) {
        g->arrows[known].count += count;
        return HP_OK;
    }
    if (g->n_arrows >= HP_MAP64_NONE)
        return hp_fail_nomem();
    HP_TRY(hp_grow(&g->arrows, &g->cap_arrows, g->n_arrows + 1, sizeof *g->arrows));
    HP_TRY(hp_map64_put(&g->by_ends, key, (uint32_t)g->n_arrows));
    const struct hp_graph_place *a = &g->places[from];
    bool behind = g->places[to].start == a->end; /* not taken; or a call that reads its address */
    bool conditional = hp_place_conditional(a);
    struct hp_arrow arrow = {.from = from, .to = to, .site = HP_NO_ID, .count = count};
    arrow.bit = (int8_t)(conditional ? !behind : -1);
    if (hp_place_calls(a) && !behind)
        arrow.kind = HP_ARROW_CALL;
    if (a->flow == HP_FLOW_RETURN && !(behind && conditional)) {
        arrow.site = hp_map64_get(&g->by_call, g->places[to].start);
        arrow.kind = arrow.site == HP_MAP64_NONE ? HP_ARROW_PLAIN : HP_ARROW_RETURN;
    }
    g->arrows[g->n_arrows++] = arrow;
    return HP_OK;
}

/* The last place of a block; adds the arrows inside it. HP_NO_ID: the block differs from the code
 * there. */
static enum hp_err go_through(struct hp_place_graph *g, uint32_t block, uint64_t count,
                              uint32_t *last)
{
    const struct hp_block *b = hp_code_block(g->code, block);
    uint32_t p = hp_place_of_block(g, block);
    while (p != HP_NO_ID && g->places[p].last != b->last) {
        uint32_t next = hp_map64_get(&g->by_start, g->places[p].end);
        if (g->places[p].flow != HP_FLOW_NONE || next == HP_MAP64_NONE ||
            g->places[p].last > b->last)
            next = HP_NO_ID;
        else
            HP_TRY(hp_place_graph_add(g, p, next, count));
        p = next;
    }
    *last = p;
    return HP_OK;
}

static enum hp_err add_observed(struct build *b, const struct hp_edge_count *edge)
{
    struct hp_place_graph *g = b->graph;
    uint32_t from;
    HP_TRY(go_through(g, edge->from, edge->count, &from));
    uint32_t to = edge->to == HP_NO_ID ? HP_NO_ID : hp_place_of_block(g, edge->to);
    if (from == HP_NO_ID || (to == HP_NO_ID && edge->to != HP_NO_ID))
        g->left_out++;
    return from == HP_NO_ID || to == HP_NO_ID ? HP_OK
                                              : hp_place_graph_add(g, from, to, edge->count);
}

/* Adds branch directions never taken that lead to executed code. */
static enum hp_err add_sides(struct hp_place_graph *g)
{
    for (uint32_t p = 0; p < g->n; p++) {
        if (g->places[p].flow != HP_FLOW_COND)
            continue;
        uint32_t next = hp_map64_get(&g->by_start, g->places[p].end);
        uint32_t target = hp_map64_get(&g->by_start, g->places[p].target);
        if (next != HP_MAP64_NONE)
            HP_TRY(hp_place_graph_add(g, p, next, 0));
        if (target != HP_MAP64_NONE)
            HP_TRY(hp_place_graph_add(g, p, target, 0));
    }
    return HP_OK;
}

static uint32_t function_of(struct build *b, const struct hp_graph_place *place)
{
    return b->frames->function_of(b->frames, place->block);
}

/* Finds jumps, or falls, to the entry of another function: an entry is called too, or has a
 * symbol. */
static void find_tails(struct build *b)
{
    struct hp_place_graph *g = b->graph;
    for (size_t i = 0; i < g->n_arrows; i++)
        if (g->arrows[i].kind == HP_ARROW_CALL)
            g->places[g->arrows[i].to].begins = true;
    for (size_t i = 0; i < g->n_arrows && b->frames; i++) {
        struct hp_arrow *arrow = &g->arrows[i];
        const struct hp_graph_place *from = &g->places[arrow->from], *to = &g->places[arrow->to];
        if (arrow->kind != HP_ARROW_PLAIN ||
            (!to->begins && !b->frames->is_entry(b->frames, to->block)))
            continue;
        uint32_t one = function_of(b, from), two = function_of(b, to);
        if (one != HP_NO_ID && two != HP_NO_ID && one != two)
            arrow->kind = HP_ARROW_TAIL;
    }
}

/* --- Building it ------------------------------------------------------------------------------ */

static int by_to(const void *a, const void *b)
{
    const struct hp_arrow *x = a, *y = b;
    bool one = x->kind == HP_ARROW_CALL, two = y->kind == HP_ARROW_CALL;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (one != two)
        return one ? 1 : -1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

enum hp_err hp_place_graph_order(struct hp_place_graph *g)
{
    for (uint32_t p = 0; p < g->n; p++)
        g->places[p].entered = g->places[p].called = g->places[p].came = g->places[p].left = 0;
    if (g->n_arrows)
        qsort(g->arrows, g->n_arrows, sizeof *g->arrows, by_to);
    size_t i = 0;
    for (uint32_t p = 0; p <= g->n; p++) {
        struct hp_graph_place *place = &g->places[p];
        place->first = i;
        while (i < g->n_arrows && g->arrows[i].to == p && g->arrows[i].kind != HP_ARROW_CALL)
            i++;
        place->calls = i;
        while (i < g->n_arrows && g->arrows[i].to == p)
            i++;
        for (size_t k = place->first; k < i; k++) {
            const struct hp_arrow *arrow = &g->arrows[k];
            bool enters = arrow->kind == HP_ARROW_CALL || arrow->kind == HP_ARROW_TAIL;
            place->begins |= enters;
            place->entered += enters ? arrow->count : 0;
            place->called += arrow->kind == HP_ARROW_CALL ? arrow->count : 0;
            place->came += arrow->count;
            g->places[arrow->from].left += arrow->count;
        }
        place->begins |= place->first == i || place->flags & HP_BLOCK_HANDLER;
    }
    for (size_t k = 0; k < g->n_arrows; k++)
        HP_TRY(hp_map64_put(&g->by_ends, (uint64_t)g->arrows[k].from << 32 | g->arrows[k].to,
                            (uint32_t)k));
    return HP_OK;
}

static enum hp_err make(struct build *b, const struct hp_edge_count *edges, size_t n_edges,
                        bool executed)
{
    uint32_t n_blocks = hp_code_n_blocks(b->code);
    b->executed = calloc((size_t)n_blocks + 1, sizeof *b->executed);
    if (!b->executed)
        return hp_fail_nomem();
    for (size_t i = 0; i < n_edges; i++) {
        if (edges[i].from >= n_blocks || (edges[i].to >= n_blocks && edges[i].to != HP_NO_ID))
            return hp_fail(HP_ERR_INVALID, "reconstruction: block %u follows %u, of %u",
                           edges[i].to, edges[i].from, n_blocks);
        b->executed[edges[i].from] = true;
        if (edges[i].to != HP_NO_ID)
            b->executed[edges[i].to] = true;
    }
    HP_TRY(make_places(b));
    for (size_t i = 0; i < n_edges; i++)
        HP_TRY(add_observed(b, &edges[i]));
    b->graph->executed = b->graph->n_arrows;
    if (!executed)
        HP_TRY(add_sides(b->graph));
    find_tails(b);
    if (!executed)
        HP_TRY(hp_place_graph_exits(b->graph, false));
    return hp_place_graph_order(b->graph);
}

enum hp_err hp_place_graph_init(struct hp_place_graph *graph, struct hp_code *code,
                                const struct hp_edge_count *edges, size_t n_edges,
                                struct hp_frame_source *frames, bool executed)
{
    *graph = (struct hp_place_graph){.code = code};
    struct build b = {.graph = graph, .code = code, .frames = frames};
    enum hp_err err = make(&b, edges, n_edges, executed);
    free(b.executed);
    hp_map64_fini(&b.longest);
    if (err != HP_OK)
        hp_place_graph_fini(graph);
    return err;
}

/* --- From samples ----------------------------------------------------------------------------- */

/* Adds what follows from the code alone, but for calls that return. */
static enum hp_err add_static(struct hp_place_graph *g)
{
    for (uint32_t p = 0; p < g->n; p++) {
        const struct hp_graph_place *place = &g->places[p];
        bool on = place->flow == HP_FLOW_NONE || place->flow == HP_FLOW_SYSCALL ||
                  hp_place_conditional(place);
        uint32_t next = on ? hp_map64_get(&g->by_start, place->end) : HP_MAP64_NONE;
        uint32_t target = place->target ? hp_map64_get(&g->by_start, place->target) : HP_MAP64_NONE;
        if (next != HP_MAP64_NONE)
            HP_TRY(hp_place_graph_add(g, p, next, 0));
        if (target != HP_MAP64_NONE)
            HP_TRY(hp_place_graph_add(g, p, target, 0));
    }
    return HP_OK;
}

static bool is_open(const struct hp_graph_place *place)
{
    return place->flow == HP_FLOW_JUMP_IND || place->flow == HP_FLOW_CALL_IND ||
           place->flow == HP_FLOW_RETURN;
}

/* A sampled transfer knows where it went. The two of a pair may be in successive places: when they
 * are as far from each other as these are long. */
static enum hp_err add_sample(struct hp_place_graph *g, const struct hp_path_observation *sample)
{
    uint32_t place, index, other, other_index;
    HP_TRY(hp_place_find(g, sample->pc, &place, &index));
    if (place == HP_NO_ID)
        return HP_OK;
    uint32_t next = sample->next ? hp_map64_get(&g->by_start, sample->next) : HP_MAP64_NONE;
    if (next != HP_MAP64_NONE && index + 1 == g->places[place].insns)
        HP_TRY(hp_place_graph_add(g, place, next, 1));
    if (!sample->distance)
        return HP_OK;
    HP_TRY(hp_place_find(g, sample->other, &other, &other_index));
    if (other != HP_NO_ID && is_open(&g->places[other]) &&
        g->places[other].insns - other_index + index == sample->distance)
        HP_TRY(hp_place_graph_add(g, other, place, 0));
    return HP_OK;
}

static enum hp_err make_sampled(struct build *b, const struct hp_path_observation *samples,
                                size_t n, const bool *known)
{
    uint32_t n_blocks = hp_code_n_blocks(b->code);
    b->executed = calloc((size_t)n_blocks + 1, sizeof *b->executed);
    if (!b->executed)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < n_blocks; i++)
        b->executed[i] = !known || known[i];
    HP_TRY(make_places(b));
    HP_TRY(add_static(b->graph));
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_sample(b->graph, &samples[i]));
    find_tails(b);
    HP_TRY(hp_place_graph_exits(b->graph, true));
    return hp_place_graph_order(b->graph);
}

enum hp_err hp_place_graph_sampled(struct hp_place_graph *graph, struct hp_code *code,
                                   const struct hp_path_observation *samples, size_t n,
                                   const bool *known, struct hp_frame_source *frames)
{
    *graph = (struct hp_place_graph){.code = code};
    struct build b = {.graph = graph, .code = code, .frames = frames};
    enum hp_err err = make_sampled(&b, samples, n, known);
    free(b.executed);
    hp_map64_fini(&b.longest);
    if (err != HP_OK)
        hp_place_graph_fini(graph);
    return err;
}

void hp_place_graph_fini(struct hp_place_graph *graph)
{
    free(graph->places);
    free(graph->arrows);
    hp_map64_fini(&graph->by_start);
    hp_map64_fini(&graph->by_ends);
    hp_map64_fini(&graph->by_call);
    *graph = (struct hp_place_graph){0};
}

/* --- Finding ---------------------------------------------------------------------------------- */

/* Places overlap where code jumps into the middle of an instruction: then the last one to start
 * that contains the address. */
enum hp_err hp_place_find(const struct hp_place_graph *g, uint64_t address, uint32_t *place,
                          uint32_t *index)
{
    uint32_t low = (uint32_t)HP_BISECT(i, 0, g->n, g->places[i].start <= address);
    *place = HP_NO_ID;
    *index = 0;
    for (uint32_t p = low; p-- > 0 && address - g->places[p].start < g->longest;) {
        const struct hp_insn *insns;
        if (address > g->places[p].last)
            continue;
        HP_TRY(hp_code_insns(g->code, g->places[p].block, &insns));
        for (uint32_t i = 0; i < g->places[p].insns; i++)
            if (insns[i].address == address) {
                *place = p;
                *index = i;
                return HP_OK;
            }
    }
    return HP_OK;
}

uint32_t hp_place_of_block(const struct hp_place_graph *g, uint32_t block)
{
    uint32_t p = hp_map64_get(&g->by_start, hp_code_block(g->code, block)->start);
    return p == HP_MAP64_NONE ? HP_NO_ID : p;
}

const struct hp_arrow *hp_place_arrow(const struct hp_place_graph *g, uint32_t from, uint32_t to)
{
    uint32_t arrow = hp_map64_get(&g->by_ends, (uint64_t)from << 32 | to);
    return arrow == HP_MAP64_NONE ? NULL : &g->arrows[arrow];
}
