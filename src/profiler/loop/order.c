// SPDX-License-Identifier: MIT
/*
 * A new edge that goes backward closes a cycle, or shows that the order of the nodes was only one
 * of several. In the second case no loop changes: what the edge leads to is moved behind where it
 * comes from.
 */
#include "profiler/loop/graph.h"

#include "base/grow.h"

/* The part of a region, by position, between the two ends of an edge, both with the loops of the
 * region that they are in. */
struct part {
    struct hp_loop_graph *graph;
    const struct hp_loop_function *function;
    uint32_t index; /* of the function */
    uint32_t low, high;
    uint32_t from;   /* the edge comes from here on */
    uint32_t region; /* the loop; HP_NO_ID: the function */
    size_t n_stack;
    uint32_t mark;
    bool cycle;
};

/* The loop directly inside `region` that contains the node; HP_NO_ID: none. */
static uint32_t child_of(const struct hp_loop_graph *g, uint32_t region, uint32_t node)
{
    uint32_t loop = g->nodes[node].inner, child = HP_NO_ID;
    for (; loop != region && loop != HP_NO_ID; loop = g->loops[loop].parent)
        child = loop;
    return child;
}

static void reach(struct part *p, uint32_t id)
{
    struct hp_loop_node *node = &p->graph->nodes[id];
    if (node->function != p->index || node->position < p->low || node->position >= p->high ||
        node->mark == p->mark ||
        (p->region != HP_NO_ID && p->graph->arrivals[id].loop == p->region + 1))
        return;
    node->mark = p->mark;
    p->cycle |= node->position >= p->from;
    p->graph->stack[p->n_stack++] = id;
}

/* A chain is left from its last node, whichever of its blocks was run. */
static void reach_next(struct part *p, uint32_t id)
{
    const struct hp_loop_graph *g = p->graph;
    if (g->nodes[id].next != HP_NO_ID) {
        reach(p, g->nodes[id].next);
        return;
    }
    uint32_t peer = id;
    do {
        for (uint32_t e = g->nodes[peer].out; e; e = g->edges[e - 1].next)
            if (!g->edges[e - 1].exceptional || !hp_loop_graph_leaves_out(g, g->edges[e - 1].to))
                reach(p, g->edges[e - 1].to);
        peer = g->nodes[peer].peer;
    } while (peer != id);
}

/* Moves a node, and the loop that it names, which moves as a whole. */
static void move(struct part *p, uint32_t id, uint32_t position)
{
    struct hp_loop_graph *g = p->graph;
    uint32_t shift = position - g->nodes[id].position, loop = g->arrivals[id].loop - 1;
    g->nodes[id].position = position;
    p->function->order[position] = id;
    hp_loop_graph_set_exits(g, id);
    if (g->arrivals[id].loop == 0 || g->loops[loop].header != id || loop == p->region)
        return;
    g->loops[loop].low += shift;
    g->loops[loop].high += shift;
    g->loops[loop].begin = (uint64_t)p->index << 32 | g->loops[loop].low;
}

/* First what was not reached, then what was, each as it was ordered. */
static void rearrange(struct part *p)
{
    uint32_t *nodes = p->graph->stack, n = 0;
    for (int reached = 0; reached < 2; reached++)
        for (uint32_t i = p->low; i < p->high; i++) {
            uint32_t id = p->function->order[i];
            if ((p->graph->nodes[id].mark == p->mark) == reached)
                nodes[n++] = id;
        }
    for (uint32_t i = 0; i < n; i++)
        move(p, nodes[i], p->low + i);
}

bool hp_loop_reorder(struct hp_loop_graph *g, uint32_t from, uint32_t to, uint32_t region)
{
    struct hp_loop_function *f = &g->functions[g->nodes[to].function];
    uint32_t first = child_of(g, region, to), last = child_of(g, region, from);
    if (hp_grow(&g->stack, &g->cap_stack, f->n_nodes + 1, sizeof *g->stack) != HP_OK)
        return false;
    struct part p = {
        .graph = g,
        .function = f,
        .index = g->nodes[to].function,
        .low = first == HP_NO_ID ? g->nodes[to].position : g->loops[first].low,
        .high = last == HP_NO_ID ? g->nodes[from].position + 1 : g->loops[last].high,
        .from = last == HP_NO_ID ? g->nodes[from].position : g->loops[last].low,
        .region = region,
        .mark = ++g->marks,
    };
    reach(&p, to);
    while (p.n_stack && !p.cycle)
        reach_next(&p, g->stack[--p.n_stack]);
    f->work += p.high - p.low;
    if (p.cycle)
        return false;
    rearrange(&p);
    return true;
}
