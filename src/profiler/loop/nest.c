// SPDX-License-Identifier: MIT
/*
 * The loops of one function: strongly connected components, and, recursively, those of each
 * component without the edges to its headers.
 *
 * A *region* is where components are searched: an interval of `order`, first the whole function,
 * then each loop. Tarjan's algorithm (without recursion: functions may have many thousand nodes)
 * yields the components of a region in reverse topological order, so the region is filled from its
 * end. In the end a node's position is its index in `order`.
 */
#include "profiler/loop/graph.h"

#include "base/grow.h"

#include <stdlib.h>

/* A node, by slot. */
struct item {
    uint32_t succ;   /* its first successor; that of the next item ends them */
    uint32_t place;  /* in `order` */
    uint32_t number; /* Tarjan's; 0: not visited */
    uint32_t low;
    uint32_t edge;      /* the next successor to visit */
    uint32_t component; /* in the current region: where it begins in `order` */
    uint32_t heads;     /* of a header: the loop */
    bool stacked;
    bool root;
    bool reached; /* from a root */
    bool entered; /* from outside its component */
    bool header;  /* of a loop: edges to it from inside are back edges */
};

struct region {
    uint32_t low, high;
    uint32_t loop; /* HP_NO_ID: the function */
};

struct hp_nest {
    struct hp_loop_graph *graph;
    struct hp_loop_function *function;
    uint32_t index; /* of the function */
    struct item *items;
    uint32_t *succs, *order, *sorted, *stack, *path;
    struct region *regions;
    size_t cap_items, cap_succs, cap_order, cap_sorted, cap_stack, cap_path, cap_regions;
    size_t n_succs, n_regions;
    uint64_t work;
    uint32_t n_made;
};

void hp_loop_nest_free(struct hp_nest *nest)
{
    if (!nest)
        return;
    free(nest->items);
    free(nest->succs);
    free(nest->order);
    free(nest->sorted);
    free(nest->stack);
    free(nest->path);
    free(nest->regions);
    free(nest);
}

/* --- Successors ------------------------------------------------------------------------------- */

static enum hp_err add_succ(struct hp_nest *n, uint32_t to)
{
    const struct hp_loop_node *node = &n->graph->nodes[to];
    if (node->function != n->index)
        return HP_OK;
    HP_TRY(hp_grow(&n->succs, &n->cap_succs, n->n_succs + 1, sizeof *n->succs));
    n->succs[n->n_succs++] = node->slot;
    return HP_OK;
}

/* A chain is left from its last node, whichever of its blocks was run. */
static enum hp_err add_succs(struct hp_nest *n, uint32_t id)
{
    const struct hp_loop_graph *g = n->graph;
    if (g->nodes[id].next != HP_NO_ID)
        return add_succ(n, g->nodes[id].next);
    for (uint32_t peer = id;;) {
        for (uint32_t e = g->nodes[peer].out; e; e = g->edges[e - 1].next) {
            const struct hp_loop_edge *edge = &g->edges[e - 1];
            if (!edge->exceptional || !hp_loop_graph_leaves_out(g, edge->to))
                HP_TRY(add_succ(n, edge->to));
        }
        peer = g->nodes[peer].peer;
        if (peer == id)
            return HP_OK;
    }
}

static enum hp_err prepare(struct hp_nest *n)
{
    size_t count = n->function->n_nodes;
    HP_TRY(hp_grow(&n->items, &n->cap_items, count + 1, sizeof *n->items));
    HP_TRY(hp_grow(&n->order, &n->cap_order, count, sizeof *n->order));
    HP_TRY(hp_grow(&n->sorted, &n->cap_sorted, count, sizeof *n->sorted));
    HP_TRY(hp_grow(&n->stack, &n->cap_stack, count, sizeof *n->stack));
    HP_TRY(hp_grow(&n->path, &n->cap_path, count, sizeof *n->path));
    n->n_succs = n->n_regions = 0;
    n->n_made = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = n->function->nodes[i];
        n->items[i] = (struct item){.succ = (uint32_t)n->n_succs,
                                    .place = i,
                                    .root = n->graph->arrivals[id].root != 0 ||
                                            n->graph->nodes[id].n_foreign > 0};
        n->order[i] = i;
        HP_TRY(add_succs(n, id));
    }
    n->items[count].succ = (uint32_t)n->n_succs;
    n->work = count + n->n_succs;
    return HP_OK;
}

/* --- Roots ------------------------------------------------------------------------------------ */

static void reach(struct hp_nest *n, uint32_t slot)
{
    size_t depth = 0;
    n->items[slot].reached = true;
    n->stack[depth++] = slot;
    while (depth) {
        uint32_t i = n->stack[--depth];
        for (uint32_t e = n->items[i].succ; e < n->items[i + 1].succ; e++)
            if (!n->items[n->succs[e]].reached) {
                n->items[n->succs[e]].reached = true;
                n->stack[depth++] = n->succs[e];
            }
    }
}

/* Whether node `a` was run before node `b`. */
static bool is_earlier(const struct hp_loop_graph *g, uint32_t a, uint32_t b)
{
    if (g->nodes[a].first != g->nodes[b].first)
        return g->nodes[a].first < g->nodes[b].first;
    return hp_code_block(g->code, a)->start < hp_code_block(g->code, b)->start;
}

static void sift_down(const struct hp_nest *n, uint32_t *heap, size_t count, size_t i)
{
    const uint32_t *nodes = n->function->nodes;
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_earlier(n->graph, nodes[heap[child + 1]], nodes[heap[child]]))
            child++;
        if (!is_earlier(n->graph, nodes[heap[child]], nodes[heap[i]]))
            return;
        uint32_t slot = heap[i];
        heap[i] = heap[child];
        heap[child] = slot;
    }
}

/* Of the nodes that no root reaches, the first that was run becomes a root, until all are
 * reached. */
static void make_roots(struct hp_nest *n)
{
    size_t count = 0;
    for (uint32_t i = 0; i < n->function->n_nodes; i++) {
        n->graph->nodes[n->function->nodes[i]].orphan = !n->items[i].reached;
        if (!n->items[i].reached)
            n->sorted[count++] = i;
    }
    for (size_t i = count / 2; i-- > 0;)
        sift_down(n, n->sorted, count, i);
    while (count) {
        uint32_t slot = n->sorted[0];
        n->sorted[0] = n->sorted[--count];
        sift_down(n, n->sorted, count, 0);
        if (n->items[slot].reached)
            continue;
        n->items[slot].root = true;
        n->n_made++;
        reach(n, slot);
    }
}

static void find_roots(struct hp_nest *n)
{
    for (uint32_t i = 0; i < n->function->n_nodes; i++)
        if (n->items[i].root && !n->items[i].reached)
            reach(n, i);
    make_roots(n);
}

/* --- Components ------------------------------------------------------------------------------- */

/* Whether an edge to this slot counts in the region. */
static bool counts_in(const struct hp_nest *n, const struct region *region, uint32_t slot)
{
    const struct item *item = &n->items[slot];
    return item->place >= region->low && item->place < region->high && !item->header;
}

struct walk {
    const struct region *region;
    uint32_t number;
    size_t n_stack, n_path;
    uint32_t end; /* of the unfilled part of `sorted` */
};

static void visit(struct hp_nest *n, struct walk *w, uint32_t slot)
{
    struct item *item = &n->items[slot];
    item->number = item->low = ++w->number;
    item->edge = item->succ;
    item->stacked = true;
    n->stack[w->n_stack++] = slot;
    n->path[w->n_path++] = slot;
}

/* Everything reachable from `slot` has been visited: it may be the first of a component. */
static void leave(struct hp_nest *n, struct walk *w, uint32_t slot)
{
    struct item *item = &n->items[slot];
    w->n_path--;
    if (w->n_path) {
        struct item *above = &n->items[n->path[w->n_path - 1]];
        above->low = above->low < item->low ? above->low : item->low;
    }
    if (item->low != item->number)
        return;
    size_t bottom = w->n_stack;
    while (n->stack[--bottom] != slot)
        ;
    uint32_t begin = w->end - (uint32_t)(w->n_stack - bottom);
    for (size_t i = bottom; i < w->n_stack; i++) {
        n->items[n->stack[i]].stacked = false;
        n->items[n->stack[i]].component = begin;
        n->sorted[begin + (i - bottom)] = n->stack[i];
    }
    w->n_stack = bottom;
    w->end = begin;
}

static void walk_from(struct hp_nest *n, struct walk *w, uint32_t start)
{
    visit(n, w, start);
    while (w->n_path) {
        uint32_t slot = n->path[w->n_path - 1];
        struct item *item = &n->items[slot];
        if (item->edge == n->items[slot + 1].succ) {
            leave(n, w, slot);
            continue;
        }
        uint32_t to = n->succs[item->edge++];
        if (!counts_in(n, w->region, to))
            continue;
        if (!n->items[to].number)
            visit(n, w, to);
        else if (n->items[to].stacked && n->items[to].number < item->low)
            item->low = n->items[to].number;
    }
}

/* Sorts the region topologically, component by component. */
static void find_components(struct hp_nest *n, const struct region *region)
{
    struct walk w = {.region = region, .end = region->high};
    for (uint32_t i = region->low; i < region->high; i++)
        n->items[n->order[i]].number = 0;
    for (uint32_t i = region->low; i < region->high; i++)
        if (!n->items[n->order[i]].number)
            walk_from(n, &w, n->order[i]);
    for (uint32_t i = region->low; i < region->high; i++) {
        uint32_t slot = n->sorted[i];
        n->order[i] = slot;
        n->items[slot].place = i;
        n->items[slot].entered = false;
        n->work += n->items[slot + 1].succ - n->items[slot].succ + 1;
    }
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* The loop named by a node; a new one if it has not named any. */
static enum hp_err loop_of(struct hp_nest *n, uint32_t node, uint32_t *id)
{
    struct hp_loop_graph *g = n->graph;
    if (!g->nodes[node].named) {
        HP_TRY(hp_grow(&g->loops, &g->cap_loops, g->n_loops + 1, sizeof *g->loops));
        g->nodes[node].named = (uint32_t)++g->n_loops;
    }
    *id = g->nodes[node].named - 1;
    return HP_OK;
}

/* Whether a component, `low` to `high` in `order`, is a loop. mark_headers() then finds its
 * headers, and the one that names it. */
static bool has_cycle(const struct hp_nest *n, const struct region *region, uint32_t low,
                      uint32_t high)
{
    if (high - low > 1)
        return true;
    uint32_t slot = n->order[low];
    if (!counts_in(n, region, slot))
        return false;
    for (uint32_t e = n->items[slot].succ; e < n->items[slot + 1].succ; e++)
        if (n->succs[e] == slot)
            return true;
    return false;
}

static uint32_t mark_headers(struct hp_nest *n, uint32_t low, uint32_t high, uint32_t *n_headers)
{
    uint32_t name = HP_NO_ID;
    *n_headers = 0;
    for (uint32_t i = low; i < high; i++) {
        struct item *item = &n->items[n->order[i]];
        uint32_t node = n->function->nodes[n->order[i]];
        if (!item->root && !item->entered)
            continue;
        item->header = true;
        ++*n_headers;
        if (name == HP_NO_ID || is_earlier(n->graph, node, name))
            name = node;
    }
    return name;
}

static enum hp_err add_loop(struct hp_nest *n, const struct region *region, uint32_t low,
                            uint32_t high)
{
    struct hp_loop_graph *g = n->graph;
    uint32_t n_headers, id, name = mark_headers(n, low, high, &n_headers);
    if (name == HP_NO_ID)
        return HP_OK; /* impossible: every node is reached from a root */
    HP_TRY(loop_of(n, name, &id));
    HP_TRY(hp_grow(&n->function->loops, &n->function->cap_loops, n->function->n_loops + 1,
                   sizeof *n->function->loops));
    n->function->loops[n->function->n_loops++] = id;
    g->loops[id] = (struct hp_loop){.header = name,
                                    .function = n->index,
                                    .parent = region->loop,
                                    .low = low,
                                    .high = high,
                                    .begin = (uint64_t)n->index << 32 | low,
                                    .irreducible = n_headers > 1,
                                    .alive = true};
    for (uint32_t i = low; i < high; i++) {
        g->nodes[n->function->nodes[n->order[i]]].inner = id;
        if (n->items[n->order[i]].header)
            n->items[n->order[i]].heads = id;
    }
    if (high - low == n_headers)
        return HP_OK;
    HP_TRY(hp_grow(&n->regions, &n->cap_regions, n->n_regions + 1, sizeof *n->regions));
    n->regions[n->n_regions++] = (struct region){low, high, id};
    return HP_OK;
}

static enum hp_err divide(struct hp_nest *n, struct region region)
{
    find_components(n, &region);
    for (uint32_t i = region.low; i < region.high; i++) {
        uint32_t from = n->order[i];
        for (uint32_t e = n->items[from].succ; e < n->items[from + 1].succ; e++) {
            uint32_t to = n->succs[e];
            if (counts_in(n, &region, to) && n->items[to].component != n->items[from].component)
                n->items[to].entered = true;
        }
    }
    for (uint32_t low = region.low, high; low < region.high; low = high) {
        uint32_t component = n->items[n->order[low]].component;
        for (high = low + 1; high < region.high; high++)
            if (n->items[n->order[high]].component != component)
                break;
        if (has_cycle(n, &region, low, high))
            HP_TRY(add_loop(n, &region, low, high));
    }
    return HP_OK;
}

/* --- Arrivals --------------------------------------------------------------------------------- */

static enum hp_err mark(struct hp_loop_graph *g, uint32_t block)
{
    HP_TRY(hp_grow(&g->marked, &g->cap_marked, g->n_marked + 1, sizeof *g->marked));
    g->marked[g->n_marked++] = block;
    return HP_OK;
}

/* What running a block means for the headers after it in its chain. */
static enum hp_err look_ahead(struct hp_nest *n, uint32_t block)
{
    struct hp_loop_graph *g = n->graph;
    struct hp_loop_arrival *a = &g->arrivals[block];
    bool meant = (a->loop && a->loop != HP_LOOP_UNSEEN) || a->more;
    a->more = a->via = 0;
    for (uint32_t i = block, next; (next = g->nodes[i].next) != HP_NO_ID && !a->more; i = next) {
        n->work++;
        if (g->arrivals[next].loop && g->arrivals[next].loop != HP_LOOP_UNSEEN) {
            a->more = next + 1;
            a->via = i;
        }
    }
    return !meant && a->more ? mark(g, block) : HP_OK;
}

static enum hp_err set_arrivals(struct hp_nest *n)
{
    struct hp_loop_graph *g = n->graph;
    for (uint32_t i = 0; i < n->function->n_nodes; i++) {
        uint32_t node = n->function->nodes[i];
        struct hp_loop_arrival *a = &g->arrivals[node];
        bool meant = a->loop | a->more;
        a->loop = n->items[i].header ? n->items[i].heads + 1 : 0;
        g->nodes[node].position = n->items[i].place;
        n->function->order[n->items[i].place] = node;
        if (!meant && a->loop)
            HP_TRY(mark(g, node));
    }
    for (uint32_t i = 0; i < n->function->n_nodes; i++) {
        uint32_t node = n->function->nodes[i];
        uint32_t last = g->nodes[node].last;
        if (last == node)
            g->exits[node] = hp_loop_position(&g->nodes[node]);
        if (last == node || g->nodes[last].function != n->index) /* once per ring, if possible */
            for (uint32_t peer = g->nodes[last].peer; peer != last; peer = g->nodes[peer].peer) {
                g->exits[peer] = hp_loop_position(&g->nodes[last]);
                HP_TRY(look_ahead(n, peer));
            }
    }
    return HP_OK;
}

static enum hp_err compute(struct hp_nest *n)
{
    HP_TRY(prepare(n));
    find_roots(n);
    for (size_t i = 0; i < n->function->n_loops; i++)
        n->graph->loops[n->function->loops[i]].alive = false;
    for (size_t i = 0; i < n->function->n_nodes; i++)
        n->graph->nodes[n->function->nodes[i]].inner = HP_NO_ID;
    n->function->n_loops = 0;
    HP_TRY(divide(n, (struct region){0, (uint32_t)n->function->n_nodes, HP_NO_ID}));
    while (n->n_regions)
        HP_TRY(divide(n, n->regions[--n->n_regions]));
    HP_TRY(set_arrivals(n));
    n->function->n_made = n->n_made;
    n->function->n_edges = (uint32_t)n->n_succs;
    n->function->n_since = 0;
    n->function->work += n->work;
    n->graph->version++;
    return HP_OK;
}

enum hp_err hp_loop_nest(struct hp_loop_graph *graph, uint32_t function)
{
    if (!graph->scratch && !(graph->scratch = calloc(1, sizeof *graph->scratch)))
        return hp_fail_nomem();
    struct hp_nest *n = graph->scratch;
    n->graph = graph;
    n->function = &graph->functions[function];
    n->index = function;
    return compute(n);
}
