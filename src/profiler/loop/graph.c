// SPDX-License-Identifier: MIT
#include "profiler/loop/graph.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define ENDS_TRIED     64 /* chains of other code with its end, compared with a new block */
#define ENDS_LOOKED_AT 8192
#define LATE_SHARE     8 /* late loops are computed when this part of the edges is new */

enum hp_err hp_loop_graph_init(struct hp_loop_graph *graph, struct hp_code *code,
                               struct hp_functions *functions)
{
    *graph = (struct hp_loop_graph){.code = code, .names = functions};
    return HP_OK;
}

void hp_loop_graph_fini(struct hp_loop_graph *g)
{
    for (size_t i = 0; i < g->n_functions; i++) {
        free(g->functions[i].nodes);
        free(g->functions[i].order);
        free(g->functions[i].loops);
    }
    free(g->functions);
    free(g->nodes);
    free(g->arrivals);
    free(g->exits);
    free(g->group_next);
    free(g->edges);
    free(g->loops);
    free(g->dirty);
    free(g->marked);
    free(g->stack);
    hp_map64_fini(&g->group_of);
    hp_map64_fini(&g->edge_of[0]);
    hp_map64_fini(&g->edge_of[1]);
    hp_map64_fini(&g->function_of);
    hp_loop_nest_free(g->scratch);
    *g = (struct hp_loop_graph){0};
}

uint32_t hp_loop_graph_own(const struct hp_loop_graph *g, uint32_t node)
{
    uint32_t insns = hp_code_block(g->code, node)->insns, next = g->nodes[node].next;
    return next == HP_NO_ID ? insns : insns - hp_code_block(g->code, next)->insns;
}

void hp_loop_graph_set_exits(struct hp_loop_graph *g, uint32_t id)
{
    uint64_t position = hp_loop_position(&g->nodes[id]);
    if (g->nodes[id].last != id)
        return;
    for (uint32_t i = g->nodes[id].peer;; i = g->nodes[i].peer) {
        g->exits[i] = position;
        if (i == id)
            return;
    }
}

/* --- Recomputation ---------------------------------------------------------------------------- */

static void make_dirty(struct hp_loop_graph *g, uint32_t function)
{
    struct hp_loop_function *f = &g->functions[function];
    if (f->dirty)
        return;
    if (hp_grow(&g->dirty, &g->cap_dirty, g->n_dirty + 1, sizeof *g->dirty) != HP_OK) {
        g->out_of_memory = true;
        return;
    }
    f->dirty = true;
    g->dirty[g->n_dirty++] = function;
}

static bool is_put_off(const struct hp_loop_function *f)
{
    return f->work > HP_LOOP_WORK_MAX && f->n_since < f->n_edges / LATE_SHARE + 16;
}

static void compute(struct hp_loop_graph *g, uint32_t function)
{
    if (hp_loop_nest(g, function) != HP_OK)
        g->out_of_memory = true;
}

void hp_loop_graph_update(struct hp_loop_graph *g)
{
    for (size_t i = 0; i < g->n_dirty; i++) {
        struct hp_loop_function *f = &g->functions[g->dirty[i]];
        f->dirty = false;
        f->late = is_put_off(f);
        if (!f->late)
            compute(g, g->dirty[i]);
    }
    g->n_dirty = 0;
}

void hp_loop_graph_settle(struct hp_loop_graph *g)
{
    hp_loop_graph_update(g);
    for (uint32_t i = 0; i < g->n_functions; i++)
        if (g->functions[i].late) {
            g->functions[i].late = false;
            compute(g, i);
        }
}

/* Whether its chain is all that follows from it yet. */
static bool is_bare(const struct hp_loop_node *node)
{
    return node->out == 0 && node->inner == HP_NO_ID;
}

/* A root reaches this node. The loops must be computed unless only its chain follows from it. */
static void adopt(struct hp_loop_graph *g, uint32_t id)
{
    for (; id != HP_NO_ID && g->nodes[id].function != HP_NO_ID && g->nodes[id].orphan;
         id = g->nodes[id].next) {
        if (!is_bare(&g->nodes[id])) {
            make_dirty(g, g->nodes[id].function);
            return;
        }
        g->nodes[id].orphan = false;
    }
}

/*
 * Records an edge from node `a` to node `b`, both of one function, and marks the function dirty if
 * the edge may change its loops. It does not when every loop that it enters is entered at its
 * header anyway, and in the loop that contains both nodes it goes forward, or back to the header.
 */
static void connect(struct hp_loop_graph *g, uint32_t a, uint32_t b)
{
    const struct hp_loop_node *from = &g->nodes[a];
    struct hp_loop_node *to = &g->nodes[b];
    struct hp_loop_function *f = &g->functions[to->function];
    f->n_since++;
    if (to->orphan && !from->orphan)
        adopt(g, b);
    bool changes = f->late || (to->orphan && f->n_made > 1);
    uint32_t head = g->arrivals[b].loop - 1, loop = to->inner;
    if (loop != HP_NO_ID && !hp_loop_has(g, &g->loops[loop], a)) {
        changes |= head != loop;
        loop = g->loops[loop].parent;
        changes |= loop != HP_NO_ID && !hp_loop_has(g, &g->loops[loop], a);
    }
    bool back = loop != HP_NO_ID && head == loop;
    if (changes)
        make_dirty(g, to->function);
    else if (!back && from->position >= to->position && !f->dirty &&
             (is_put_off(f) || !hp_loop_reorder(g, a, b, loop)))
        make_dirty(g, to->function);
}

/* The node has become a root. */
static void take_root(struct hp_loop_graph *g, uint32_t id)
{
    if (g->nodes[id].inner != HP_NO_ID)
        make_dirty(g, g->nodes[id].function);
    adopt(g, id);
}

/* Connects `a` to the next node of its chain. */
static void link(struct hp_loop_graph *g, uint32_t a)
{
    uint32_t b = g->nodes[a].next;
    if (b == HP_NO_ID)
        return;
    if (g->nodes[a].function != g->nodes[b].function) {
        if (g->nodes[b].n_foreign++ == 0)
            take_root(g, b);
        return;
    }
    if (g->nodes[b].n_normal++ == 0 && g->nodes[b].thrown)
        make_dirty(g, g->nodes[b].function); /* exceptional edges are ignored now */
    connect(g, a, b);
}

/* Undoes link(). */
static void unlink_next(struct hp_loop_graph *g, uint32_t a)
{
    uint32_t b = g->nodes[a].next;
    if (b == HP_NO_ID)
        return;
    if (g->nodes[a].function == g->nodes[b].function)
        g->nodes[b].n_normal--;
    else
        g->nodes[b].n_foreign--;
    make_dirty(g, g->nodes[b].function);
}

/* --- Running nodes ---------------------------------------------------------------------------- */

static uint32_t function_index(struct hp_loop_graph *g, uint32_t id)
{
    uint32_t index = hp_map64_get(&g->function_of, id);
    if (index != HP_MAP64_NONE)
        return index;
    index = (uint32_t)g->n_functions;
    if (hp_grow(&g->functions, &g->cap_functions, g->n_functions + 1, sizeof *g->functions) !=
            HP_OK ||
        hp_map64_put(&g->function_of, id, index) != HP_OK)
        return HP_NO_ID;
    g->functions[g->n_functions++] = (struct hp_loop_function){.id = id};
    return index;
}

static bool run_node(struct hp_loop_graph *g, uint32_t id, uint32_t running, uint32_t first)
{
    struct hp_loop_node *node = &g->nodes[id];
    uint32_t named = hp_functions_of_block(g->names, id);
    uint32_t index = function_index(g, named == HP_NO_ID ? running : named);
    struct hp_loop_function *f = index == HP_NO_ID ? NULL : &g->functions[index];
    if (!f || hp_grow(&f->nodes, &f->cap_nodes, f->n_nodes + 1, sizeof *f->nodes) != HP_OK ||
        hp_grow(&f->order, &f->cap_order, f->n_nodes + 1, sizeof *f->order) != HP_OK) {
        g->out_of_memory = true;
        return false;
    }
    node->function = index;
    node->first = first;
    node->orphan = true;
    node->slot = node->position = (uint32_t)f->n_nodes;
    f->order[f->n_nodes] = id;
    f->nodes[f->n_nodes++] = id;
    g->arrivals[id].loop = 0;
    hp_loop_graph_set_exits(g, id);
    return true;
}

void hp_loop_graph_run(struct hp_loop_graph *g, uint32_t block, uint32_t running)
{
    if (g->nodes[block].function != HP_NO_ID)
        return;
    uint32_t first = g->clock++;
    for (uint32_t i = block; i != HP_NO_ID && g->nodes[i].function == HP_NO_ID;
         i = g->nodes[i].next)
        if (!run_node(g, i, running, first))
            return;
    for (uint32_t i = block; i != HP_NO_ID && g->nodes[i].first == first; i = g->nodes[i].next)
        link(g, i);
}

/* --- Chains ----------------------------------------------------------------------------------- */

/* Whether block `a` contains block `b`, which has the same end. */
static bool contains(struct hp_loop_graph *g, uint32_t a, uint32_t b)
{
    const struct hp_block *x = hp_code_block(g->code, a), *y = hp_code_block(g->code, b);
    const struct hp_insn *insns;
    if (x->start >= y->start || x->insns <= y->insns || (x->flags ^ y->flags) & HP_BLOCK_THUMB ||
        memcmp(hp_code_bytes(g->code, x) + (y->start - x->start), hp_code_bytes(g->code, y),
               y->end - y->start) != 0)
        return false;
    if (hp_code_insns(g->code, a, &insns) != HP_OK) {
        g->out_of_memory = true;
        return false;
    }
    /* Identical code from there on has as many instructions. */
    return insns[hp_code_block(g->code, a)->insns - hp_code_block(g->code, b)->insns].address ==
           hp_code_block(g->code, b)->start;
}

static uint64_t start_of(const struct hp_loop_graph *g, uint32_t block)
{
    return hp_code_block(g->code, block)->start;
}

/* Inserts `b` after `a` in the chain of `a`. */
static void relink(struct hp_loop_graph *g, uint32_t a, uint32_t b)
{
    struct hp_loop_node *node = &g->nodes[a], *next = &g->nodes[b];
    if (node->function != HP_NO_ID) {
        unlink_next(g, a);
        make_dirty(g, node->function);
        if (next->function == HP_NO_ID)
            run_node(g, b, g->functions[node->function].id, node->first);
        else if (node->first < next->first)
            next->first = node->first;
    }
    node->next = b;
}

static void join_rings(struct hp_loop_graph *g, uint32_t a, uint32_t b)
{
    uint32_t peer = g->nodes[a].peer;
    g->nodes[a].peer = g->nodes[b].peer;
    g->nodes[b].peer = peer;
}

/* The new block `b` is in all chains that ended with `last`, and ends them. */
static void add_last(struct hp_loop_graph *g, uint32_t last, uint32_t b)
{
    relink(g, last, b);
    for (uint32_t i = g->nodes[last].peer;; i = g->nodes[i].peer) {
        g->nodes[i].last = b;
        if (i == last)
            break;
    }
    join_rings(g, last, b);
}

/* The new block `b` has a chain that ends with `last`. */
static void add_before(struct hp_loop_graph *g, uint32_t last, uint32_t b)
{
    uint64_t start = start_of(g, b);
    uint32_t next = last;
    for (uint32_t i = g->nodes[last].peer; i != last; i = g->nodes[i].peer)
        if (start_of(g, i) > start && start_of(g, i) < start_of(g, next) && contains(g, b, i))
            next = i;
    g->nodes[b].next = next;
    g->nodes[b].last = last;
    for (uint32_t i = g->nodes[last].peer; i != last; i = g->nodes[i].peer)
        if (start_of(g, i) < start && start_of(g, g->nodes[i].next) > start && contains(g, i, b))
            relink(g, i, b);
    join_rings(g, last, b);
}

/* The links of a node that turns out to have been run. */
static void link_found(struct hp_loop_graph *g, uint32_t b)
{
    for (uint32_t i = g->nodes[b].peer; i != b; i = g->nodes[i].peer)
        if (g->nodes[i].next == b && g->nodes[i].function != HP_NO_ID)
            link(g, i);
    if (g->nodes[b].function != HP_NO_ID)
        link(g, b);
    for (uint32_t i = g->nodes[b].peer; i != b; i = g->nodes[i].peer)
        if (g->nodes[i].function != HP_NO_ID)
            make_dirty(g, g->nodes[i].function);
}

static bool same_end(const struct hp_block *a, const struct hp_block *b)
{
    return a->module == b->module && a->last == b->last && a->end == b->end;
}

/* Finds the chains that a new block belongs to, by their last nodes: a block that overlaps one node
 * of a chain overlaps its last. */
static void enter_chains(struct hp_loop_graph *g, uint32_t b)
{
    const struct hp_block *block = hp_code_block(g->code, b);
    uint64_t key =
        hp_hash64(block->last) ^ block->end << 32 ^ (uint64_t)block->module << 20 ^ block->end;
    uint32_t newest = hp_map64_get(&g->group_of, key);
    g->group_next[b] = newest;
    if (hp_map64_put(&g->group_of, key, b) != HP_OK)
        g->out_of_memory = true;
    unsigned tried = 0, looked = 0;
    for (uint32_t i = newest; i != HP_MAP64_NONE && tried < ENDS_TRIED && looked < ENDS_LOOKED_AT;
         i = g->group_next[i], looked++) {
        const struct hp_block *other = hp_code_block(g->code, i);
        if (!same_end(block, other) || g->nodes[i].last != i || i == b)
            continue;
        tried++;
        if (contains(g, i, b)) {
            add_last(g, i, b);
        } else if (contains(g, b, i)) {
            add_before(g, i, b);
            break;
        }
    }
    if (g->nodes[b].peer == b)
        return;
    link_found(g, b);
    g->version++;
    if (g->nodes[g->nodes[b].last].function != HP_NO_ID)
        hp_loop_graph_set_exits(g, g->nodes[b].last);
}

void hp_loop_graph_cover(struct hp_loop_graph *g)
{
    size_t n = hp_code_n_blocks(g->code);
    if (n <= g->n_nodes || g->out_of_memory)
        return;
    if (hp_grow(&g->nodes, &g->cap_nodes, n, sizeof *g->nodes) != HP_OK ||
        hp_grow(&g->arrivals, &g->cap_arrivals, n, sizeof *g->arrivals) != HP_OK ||
        hp_grow(&g->exits, &g->cap_exits, n, sizeof *g->exits) != HP_OK ||
        hp_grow(&g->group_next, &g->cap_group_next, n, sizeof *g->group_next) != HP_OK) {
        g->out_of_memory = true;
        return;
    }
    while (g->n_nodes < n) {
        uint32_t id = (uint32_t)g->n_nodes++;
        g->nodes[id] = (struct hp_loop_node){.function = HP_NO_ID,
                                             .next = HP_NO_ID,
                                             .last = id,
                                             .peer = id,
                                             .first = UINT32_MAX,
                                             .inner = HP_NO_ID};
        g->arrivals[id] = (struct hp_loop_arrival){.loop = HP_LOOP_UNSEEN};
        g->exits[id] = UINT64_MAX;
        enter_chains(g, id);
    }
    hp_loop_graph_update(g);
}

/* --- Edges and roots -------------------------------------------------------------------------- */

void hp_loop_graph_edge(struct hp_loop_graph *g, uint32_t from, uint32_t to, bool exceptional)
{
    uint64_t key = (uint64_t)from << 32 | to;
    if (hp_map64_get(&g->edge_of[exceptional], key) != HP_MAP64_NONE)
        return;
    if (hp_grow(&g->edges, &g->cap_edges, g->n_edges + 1, sizeof *g->edges) != HP_OK ||
        hp_map64_put(&g->edge_of[exceptional], key, (uint32_t)g->n_edges) != HP_OK) {
        g->out_of_memory = true;
        return;
    }
    struct hp_loop_node *node = &g->nodes[from], *target = &g->nodes[to];
    g->edges[g->n_edges++] =
        (struct hp_loop_edge){.to = to, .next = node->out, .exceptional = exceptional};
    if (g->nodes[node->last].function == target->function) {
        if (exceptional) {
            target->thrown = true;
            make_dirty(g, target->function);
        } else if (target->n_normal++ == 0 && target->thrown) {
            make_dirty(g, target->function);
        }
        connect(g, node->last, to);
    }
    node->out = (uint32_t)g->n_edges;
}

void hp_loop_graph_root(struct hp_loop_graph *g, uint32_t block)
{
    if (g->arrivals[block].root)
        return;
    g->arrivals[block].root = 1;
    take_root(g, block);
}
