// SPDX-License-Identifier: MIT
#include "hotpath/cfg.h"

#include "base/grow.h"
#include "base/map64.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* For finding vertices and edges. */
struct hp_cfg_memory {
    size_t capacity;            /* of edges */
    struct hp_map64 by_address; /* start of a basic block to its vertex */
    struct hp_map64 by_ends;    /* from << 32 | to to the edge: at most one */
    struct hp_map64 by_return;  /* where a call returns to, to the vertex that ends with it */
};

/* While it is built. */
struct build {
    struct hp_cfg *cfg;
    struct hp_code *code;
    const uint32_t *blocks;
    size_t n_blocks;
    struct hp_map64 mine;     /* the function's blocks */
    struct hp_map64 by_start; /* the longest of its blocks that starts at an address */
    size_t capacity;          /* of vertices */
};

/* --- Basic blocks ----------------------------------------------------------------------------- */

/* Two blocks may start at the same address when one of them was cut short; otherwise the code
 * changed. */
static enum hp_err add_start(struct build *b, uint32_t id)
{
    const struct hp_block *block = hp_code_block(b->code, id);
    HP_TRY(hp_map64_put(&b->mine, id, id));
    uint32_t known = hp_map64_get(&b->by_start, block->start);
    if (known == HP_MAP64_NONE || known == id)
        return hp_map64_put(&b->by_start, block->start, id);
    const struct hp_block *other = hp_code_block(b->code, known);
    bool longer = block->end > other->end;
    size_t common = (size_t)((longer ? other->end : block->end) - block->start);
    if (memcmp(hp_code_bytes(b->code, block), hp_code_bytes(b->code, other), common) != 0)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "numbering: the code at 0x%" PRIx64 " was changed while it ran",
                       block->start);
    return longer ? hp_map64_put(&b->by_start, block->start, id) : HP_OK;
}

static enum hp_err add_vertex(struct build *b, const struct hp_cfg_vertex *vertex)
{
    struct hp_cfg *cfg = b->cfg;
    HP_TRY(hp_grow(&cfg->vertices, &b->capacity, (size_t)cfg->graph.n + 1, sizeof *cfg->vertices));
    cfg->vertices[cfg->graph.n++] = *vertex;
    return HP_OK;
}

/* Adds only the first piece of each block: from the start of another block on, it is part of that
 * one. */
static enum hp_err add_first_piece(struct build *b, uint32_t id)
{
    const struct hp_block block = *hp_code_block(b->code, id);
    const struct hp_insn *insns;
    if (hp_map64_get(&b->by_start, block.start) != id)
        return HP_OK;
    HP_TRY(hp_code_insns(b->code, id, &insns));
    struct hp_cfg_vertex vertex = {.start = block.start,
                                   .last = block.last,
                                   .end = block.end,
                                   .target = block.target,
                                   .insns = block.insns,
                                   .flow = block.flow,
                                   .flags = block.flags};
    for (uint32_t i = 1; i < block.insns; i++) {
        if (hp_map64_get(&b->by_start, insns[i].address) == HP_MAP64_NONE)
            continue;
        vertex.last = insns[i - 1].address;
        vertex.end = insns[i].address;
        vertex.target = 0;
        vertex.insns = i;
        vertex.flow = HP_FLOW_NONE;
        vertex.flags = 0;
        break;
    }
    return add_vertex(b, &vertex);
}

static int by_start(const void *a, const void *b)
{
    const struct hp_cfg_vertex *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static bool is_call(uint8_t flow)
{
    return flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND;
}

static enum hp_err make_vertices(struct build *b)
{
    struct hp_cfg *cfg = b->cfg;
    for (size_t i = 0; i < b->n_blocks; i++)
        HP_TRY(add_start(b, b->blocks[i]));
    for (int i = 0; i < HP_CFG_FIRST; i++)
        HP_TRY(add_vertex(b, &(struct hp_cfg_vertex){0}));
    for (size_t i = 0; i < b->n_blocks; i++)
        HP_TRY(add_first_piece(b, b->blocks[i]));
    qsort(cfg->vertices + HP_CFG_FIRST, cfg->graph.n - HP_CFG_FIRST, sizeof *cfg->vertices,
          by_start);
    /* Merges blocks given twice. */
    uint32_t n = HP_CFG_FIRST;
    for (uint32_t v = HP_CFG_FIRST; v < cfg->graph.n; v++)
        if (n == HP_CFG_FIRST || cfg->vertices[v].start != cfg->vertices[n - 1].start)
            cfg->vertices[n++] = cfg->vertices[v];
    cfg->graph.n = n;
    for (uint32_t v = HP_CFG_FIRST; v < n; v++) {
        HP_TRY(hp_map64_put(&cfg->memory->by_address, cfg->vertices[v].start, v));
        if (is_call(cfg->vertices[v].flow))
            HP_TRY(hp_map64_put(&cfg->memory->by_return, cfg->vertices[v].end, v));
    }
    return HP_OK;
}

/* --- Edges ------------------------------------------------------------------------------------ */

static enum hp_err add_edge(struct hp_cfg *cfg, uint32_t from, uint32_t to, uint64_t count)
{
    uint32_t known = hp_cfg_edge(cfg, from, to);
    if (known != HP_NO_EDGE) {
        cfg->edges[known].count += count;
        return HP_OK;
    }
    HP_TRY(hp_grow(&cfg->edges, &cfg->memory->capacity, (size_t)cfg->graph.n_edges + 1,
                   sizeof *cfg->edges));
    HP_TRY(hp_map64_put(&cfg->memory->by_ends, (uint64_t)from << 32 | to, cfg->graph.n_edges));
    cfg->edges[cfg->graph.n_edges++] = (struct hp_graph_edge){from, to, count};
    return HP_OK;
}

/* An edge to the block at an address, if it was executed. */
static enum hp_err add_edge_to(struct hp_cfg *cfg, uint32_t from, uint64_t address)
{
    uint32_t to = hp_cfg_at(cfg, address);
    return to == HP_NO_ID ? HP_OK : add_edge(cfg, from, to, 0);
}

/* The edges in the code. Not taken comes first. */
static enum hp_err add_static_edges(struct hp_cfg *cfg, uint32_t v)
{
    const struct hp_cfg_vertex *vertex = &cfg->vertices[v];
    bool falls = vertex->flow == HP_FLOW_NONE || vertex->flow == HP_FLOW_COND ||
                 vertex->flow == HP_FLOW_SYSCALL || is_call(vertex->flow) ||
                 vertex->flags & HP_BLOCK_CONDITIONAL;
    if (falls)
        HP_TRY(add_edge_to(cfg, v, vertex->end));
    if (vertex->flow == HP_FLOW_COND || vertex->flow == HP_FLOW_JUMP)
        HP_TRY(add_edge_to(cfg, v, vertex->target));
    if (vertex->flow == HP_FLOW_RETURN)
        HP_TRY(add_edge(cfg, v, HP_CFG_EXIT, 0));
    return HP_OK;
}

/* The last vertex of a block; counts the edges inside it on the way. */
static enum hp_err go_through(struct hp_cfg *cfg, const struct hp_block *block, uint64_t count,
                              uint32_t *last)
{
    uint32_t v = hp_cfg_at(cfg, block->start);
    while (cfg->vertices[v].last != block->last) {
        uint32_t next = hp_cfg_at(cfg, cfg->vertices[v].end);
        if (next == HP_NO_ID || cfg->vertices[v].flow != HP_FLOW_NONE)
            return hp_fail(HP_ERR_UNSUPPORTED,
                           "numbering: the code at 0x%" PRIx64 " was changed while it ran",
                           block->start);
        HP_TRY(add_edge(cfg, v, next, count));
        v = next;
    }
    *last = v;
    return HP_OK;
}

/* An observed edge. */
static enum hp_err add_observed(struct build *b, const struct hp_edge_count *edge)
{
    struct hp_cfg *cfg = b->cfg;
    bool from_mine = hp_map64_get(&b->mine, edge->from) != HP_MAP64_NONE;
    bool to_mine = edge->to != HP_NO_ID && hp_map64_get(&b->mine, edge->to) != HP_MAP64_NONE;
    if (!from_mine && !to_mine)
        return HP_OK;
    const struct hp_block *from = hp_code_block(b->code, edge->from);
    uint64_t target = edge->to == HP_NO_ID ? 0 : hp_code_block(b->code, edge->to)->start;
    bool behind = target == from->end; /* not taken, or a call that only reads its address */
    bool call = is_call(from->flow) && !behind;
    bool back = from->flow == HP_FLOW_RETURN && !(behind && from->flags & HP_BLOCK_CONDITIONAL);
    uint32_t to = to_mine ? hp_cfg_at(cfg, target) : HP_CFG_EXIT;
    if (from_mine) {
        uint32_t v = 0;
        HP_TRY(go_through(cfg, from, edge->count, &v));
        if (back)
            HP_TRY(add_edge(cfg, v, HP_CFG_EXIT, edge->count));
        else if (!call)
            HP_TRY(add_edge(cfg, v, to, edge->count));
    }
    if (to_mine && (!from_mine || call || back)) {
        uint32_t caller = back ? hp_map64_get(&cfg->memory->by_return, target) : HP_MAP64_NONE;
        HP_TRY(add_edge(cfg, caller != HP_MAP64_NONE ? caller : HP_CFG_ENTRY, to, edge->count));
    }
    return HP_OK;
}

static enum hp_err make_edges(struct build *b, uint32_t entry, const struct hp_edge_count *observed,
                              size_t n_observed)
{
    struct hp_cfg *cfg = b->cfg;
    HP_TRY(add_edge(cfg, HP_CFG_ENTRY, hp_cfg_at(cfg, hp_code_block(b->code, entry)->start), 0));
    for (uint32_t v = HP_CFG_FIRST; v < cfg->graph.n; v++)
        HP_TRY(add_static_edges(cfg, v));
    for (size_t i = 0; i < n_observed; i++)
        HP_TRY(add_observed(b, &observed[i]));
    bool *leaves = calloc(cfg->graph.n, sizeof *leaves);
    if (!leaves)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < cfg->graph.n_edges; i++)
        leaves[cfg->edges[i].from] = true;
    enum hp_err err = HP_OK;
    for (uint32_t v = HP_CFG_FIRST; v < cfg->graph.n && err == HP_OK; v++)
        if (!leaves[v])
            err = add_edge(cfg, v, HP_CFG_EXIT, 0);
    free(leaves);
    return err;
}

/* --- The graph -------------------------------------------------------------------------------- */

enum hp_err hp_cfg_new(struct hp_code *code, const uint32_t *blocks, size_t n_blocks,
                       uint32_t entry, const struct hp_edge_count *observed, size_t n_observed,
                       struct hp_cfg **out)
{
    struct hp_cfg *cfg = calloc(1, sizeof *cfg);
    struct hp_cfg_memory *memory = calloc(1, sizeof *memory);
    if (!cfg || !memory) {
        free(cfg);
        free(memory);
        return hp_fail_nomem();
    }
    cfg->memory = memory;
    struct build b = {.cfg = cfg, .code = code, .blocks = blocks, .n_blocks = n_blocks};
    enum hp_err err = make_vertices(&b);
    if (err == HP_OK && hp_map64_get(&b.mine, entry) == HP_MAP64_NONE)
        err = hp_fail(HP_ERR_INVALID, "numbering: block %u is not one of the function", entry);
    if (err == HP_OK)
        err = make_edges(&b, entry, observed, n_observed);
    cfg->graph.entry = HP_CFG_ENTRY;
    cfg->graph.exit = HP_CFG_EXIT;
    cfg->graph.edges = cfg->edges;
    hp_map64_fini(&b.mine);
    hp_map64_fini(&b.by_start);
    if (err == HP_OK)
        *out = cfg;
    else
        hp_cfg_free(cfg);
    return err;
}

void hp_cfg_free(struct hp_cfg *cfg)
{
    if (!cfg)
        return;
    hp_map64_fini(&cfg->memory->by_address);
    hp_map64_fini(&cfg->memory->by_ends);
    hp_map64_fini(&cfg->memory->by_return);
    free(cfg->memory);
    free(cfg->vertices);
    free(cfg->edges);
    free(cfg);
}

uint32_t hp_cfg_at(const struct hp_cfg *cfg, uint64_t address)
{
    uint32_t v = hp_map64_get(&cfg->memory->by_address, address);
    return v == HP_MAP64_NONE ? HP_NO_ID : v;
}

uint32_t hp_cfg_edge(const struct hp_cfg *cfg, uint32_t from, uint32_t to)
{
    uint32_t edge = hp_map64_get(&cfg->memory->by_ends, (uint64_t)from << 32 | to);
    return edge == HP_MAP64_NONE ? HP_NO_EDGE : edge;
}

/* --- As the detector sees it ------------------------------------------------------------------ */

/* The outcome of the branch at the end of a vertex when control continues at `to`; -1: no branch is
 * recorded; -2: ambiguous. */
static int outcome(const struct hp_cfg_vertex *from, const struct hp_cfg_vertex *to, bool leaves)
{
    switch (from->flow) {
    case HP_FLOW_JUMP:
    case HP_FLOW_JUMP_IND: return 1;
    case HP_FLOW_COND:
        if (leaves || (from->target == from->end && to->start == from->end))
            return -2;
        return to->start == from->target;
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN: return from->flags & HP_BLOCK_CONDITIONAL ? -2 : -1;
    default: return -1;
    }
}

/* The dummy of a back edge does not show its target: it is a taken branch (or falls through). */
static int last_outcome(const struct hp_cfg *cfg, const struct hp_numbering *numbering,
                        const struct hp_numbered_edge *edge)
{
    const struct hp_cfg_vertex *from = &cfg->vertices[edge->from];
    if (edge->kind != HP_EDGE_LEAVE)
        return outcome(from, &cfg->vertices[HP_CFG_EXIT], true);
    int found = -3;
    for (uint32_t i = 0; i < numbering->n_edges; i++) {
        const struct hp_numbered_edge *back = &numbering->edges[i];
        if (back->kind != HP_EDGE_BACK || back->from != edge->from)
            continue;
        int this = outcome(from, &cfg->vertices[back->to], false);
        found = found == -3 || found == this ? this : -2;
    }
    return found;
}

bool hp_cfg_signature(const struct hp_cfg *cfg, const struct hp_numbering *numbering,
                      const uint32_t *edges, uint32_t n, struct hp_cfg_signature *signature)
{
    const struct hp_numbered_edge *all = numbering->edges;
    *signature = (struct hp_cfg_signature){
        .start = cfg->vertices[all[edges[0]].to].start,
        .from_entry = all[edges[0]].kind != HP_EDGE_ENTER,
        .to_exit = all[edges[n - 1]].kind != HP_EDGE_LEAVE,
    };
    for (uint32_t i = 1; i < n; i++) {
        const struct hp_numbered_edge *edge = &all[edges[i]];
        int taken = i + 1 < n ? outcome(&cfg->vertices[edge->from], &cfg->vertices[edge->to], false)
                              : last_outcome(cfg, numbering, edge);
        if (taken == -1)
            continue;
        if (taken < 0 || signature->length == 64)
            return false;
        signature->outcomes = signature->outcomes << 1 | (uint64_t)taken;
        signature->length++;
    }
    return true;
}
