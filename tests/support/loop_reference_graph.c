// SPDX-License-Identifier: MIT
/* The loop reference: nodes, edges, roots and loops, by rules 1 to 5 of docs/loops.md. */
#include "loop_reference_impl.h"

#include <stdlib.h>
#include <string.h>

/* --- Rule 1: chains --------------------------------------------------------------------------- */

/* The number of instructions of `a` before the one that `b` starts with; 0: `a` does not contain
 * `b`. */
static uint32_t contains(struct loop_reference *r, uint32_t a, uint32_t b)
{
    const struct hp_block *x = hp_code_block(r->code, a), *y = hp_code_block(r->code, b);
    if (x->module != y->module || x->last != y->last || x->end != y->end || y->start <= x->start ||
        (x->flags & HP_BLOCK_THUMB) != (y->flags & HP_BLOCK_THUMB) ||
        memcmp(hp_code_bytes(r->code, x) + (y->start - x->start), hp_code_bytes(r->code, y),
               y->end - y->start) != 0)
        return 0;
    const struct hp_insn *insns;
    if (hp_code_insns(r->code, a, &insns) != HP_OK)
        abort();
    for (uint32_t i = 0; i < x->insns; i++)
        if (insns[i].address == y->start)
            return i;
    return 0;
}

struct by_end {
    uint64_t end, start;
    uint32_t id;
};

static int compare_ends(const void *a, const void *b)
{
    const struct by_end *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void loop_reference_chains(struct loop_reference *r)
{
    r->n_nodes = hp_code_n_blocks(r->code);
    r->nodes = calloc(r->n_nodes + 1, sizeof *r->nodes);
    struct by_end *ends = calloc(r->n_nodes + 1, sizeof *ends);
    if (!r->nodes || !ends)
        abort();
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        const struct hp_block *b = hp_code_block(r->code, i);
        ends[i] = (struct by_end){b->end, b->start, i};
        r->nodes[i] = (struct node){.next = HP_NO_ID,
                                    .own = b->insns,
                                    .order = UINT64_MAX,
                                    .function = HP_NO_ID,
                                    .loop = HP_NO_ID};
    }
    qsort(ends, r->n_nodes, sizeof *ends, compare_ends);
    for (size_t i = 0; i < r->n_nodes; i++)
        for (size_t k = i + 1; k < r->n_nodes && ends[k].end == ends[i].end; k++) {
            uint32_t before = contains(r, ends[i].id, ends[k].id);
            if (!before)
                continue;
            r->nodes[ends[i].id].next = ends[k].id;
            r->nodes[ends[i].id].own = before;
            break;
        }
    free(ends);
}

/* --- Rules 2 to 4, listening to the stack ----------------------------------------------------- */

static void add_edge(struct loop_reference *r, uint32_t from, uint32_t to, bool normal)
{
    uint64_t key = (uint64_t)from << 32 | to;
    uint32_t i = hp_map64_get(&r->edge_of, key);
    if (i == HP_MAP64_NONE) {
        i = (uint32_t)r->n_edges;
        r->edges = loop_reference_room(r->edges, &r->cap_edges, r->n_edges + 1, sizeof *r->edges);
        if (hp_map64_put(&r->edge_of, key, i) != HP_OK)
            abort();
        r->edges[r->n_edges++] = (struct edge){.from = from, .to = to};
    }
    r->edges[i].normal |= normal;
    r->nodes[to].normal |= normal;
}

/* The function of a node that is run for the first time. */
static uint32_t node_function(const struct walk *w, const struct activation *a, uint32_t node)
{
    uint32_t function = hp_functions_of_block(w->functions, node);
    bool known = function != HP_NO_ID && hp_functions_get(w->functions, function)->symbol;
    return known ? function : a->function;
}

void loop_reference_stray(struct loop_reference *r, uint32_t node)
{
    if (hp_map64_put(&r->strayed, r->nodes[node].function, 1) != HP_OK)
        abort();
}

/* Whether a node with a symbol is run by an activation of another function, or reached by a jump
 * from one. */
static void note_stray(struct walk *w, const struct activation *a, uint32_t id, uint32_t from,
                       enum came came)
{
    struct loop_reference *r = w->r;
    uint32_t function = r->nodes[id].function;
    bool jumped = came == CAME_ALONG && from != HP_NO_ID && r->nodes[from].function != function;
    if (function == HP_NO_ID || (function == a->function && !jumped) ||
        !hp_functions_get(w->functions, function)->symbol)
        return;
    loop_reference_stray(r, id);
}

static void note_run(struct walk *w, struct walk_thread *t, struct activation *a, uint32_t id,
                     uint32_t from, enum came came)
{
    struct loop_reference *r = w->r;
    struct node *node = &r->nodes[id];
    (void)t;
    if (node->order == UINT64_MAX) {
        node->order = r->n_run++;
        node->function = node_function(w, a, id);
    }
    note_stray(w, a, id, from, came);
    if (node->function != a->function && hp_map64_put(&r->shared, node->function, 1) != HP_OK)
        abort();
    switch (came) {
    case CAME_BEGIN: break;
    case CAME_CALLED:
    case CAME_JUMPED: node->root = true; break;
    case CAME_WITHIN:
    case CAME_ALONG:
    case CAME_BACK:
    case CAME_EXCEPTION:
        if (from == HP_NO_ID)
            break;
        if (r->nodes[from].function == node->function)
            add_edge(r, from, id, came != CAME_EXCEPTION);
        else if (came == CAME_WITHIN || came == CAME_ALONG)
            node->root = true;
        break;
    }
}

static void note_interrupt(struct walk *w, struct walk_thread *t, struct activation *a)
{
    (void)w, (void)t, (void)a;
}

static void note_end(struct walk *w, struct walk_thread *t, struct activation *a, bool history)
{
    (void)w, (void)t, (void)a, (void)history;
}

static void note_orphan(struct walk *w, struct walk_thread *t, uint32_t id)
{
    (void)t;
    struct node *node = &w->r->nodes[id];
    if (node->order == UINT64_MAX) {
        node->order = w->r->n_run++;
        node->function = hp_functions_of_block(w->functions, id);
    }
}

const struct listener loop_reference_edges = {note_run, note_interrupt, note_end, note_orphan};

/* Rule 3: exceptional edges only count where nothing else leads to their target. */
static bool kept(const struct loop_reference *r, const struct edge *e)
{
    return e->normal || !r->nodes[e->to].normal;
}

bool loop_reference_is_edge(const struct loop_reference *r, uint32_t from, uint32_t to,
                            enum came came)
{
    bool way = came == CAME_WITHIN || came == CAME_ALONG || came == CAME_BACK ||
               (came == CAME_EXCEPTION && !r->nodes[to].normal);
    return way && from != HP_NO_ID && r->nodes[from].function == r->nodes[to].function;
}

/* --- Graphs ----------------------------------------------------------------------------------- */

/* A graph: edges as lists, forwards and backwards. */
struct graph {
    struct loop_reference *r;
    uint32_t *out_at, *in_at; /* by node: where its edges begin in: */
    uint32_t *out, *in;       /* edges, except those left out */
    uint32_t *set;            /* by node: its current set */
    bool *seen, *reaching;
    uint32_t *queue, *back_queue;
    uint32_t n_sets;
};

static void list_edges(struct graph *g)
{
    struct loop_reference *r = g->r;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = r->n_edges; i-- > 0;) {
            const struct edge *e = &r->edges[i];
            if (!kept(r, e))
                continue;
            if (pass == 0) {
                g->out_at[e->from]++;
                g->in_at[e->to]++;
            } else {
                g->out[--g->out_at[e->from]] = (uint32_t)i;
                g->in[--g->in_at[e->to]] = (uint32_t)i;
            }
        }
        for (size_t i = 0; pass == 0 && i < r->n_nodes; i++) {
            g->out_at[i + 1] += g->out_at[i];
            g->in_at[i + 1] += g->in_at[i];
        }
    }
}

static void graph_init(struct graph *g, struct loop_reference *r)
{
    *g = (struct graph){.r = r, .n_sets = 1};
    g->out_at = calloc(r->n_nodes + 2, sizeof *g->out_at);
    g->in_at = calloc(r->n_nodes + 2, sizeof *g->in_at);
    g->out = calloc(r->n_edges + 1, sizeof *g->out);
    g->in = calloc(r->n_edges + 1, sizeof *g->in);
    g->set = calloc(r->n_nodes + 1, sizeof *g->set);
    g->seen = calloc(r->n_nodes + 1, sizeof *g->seen);
    g->reaching = calloc(r->n_nodes + 1, sizeof *g->reaching);
    g->queue = calloc(r->n_nodes + 1, sizeof *g->queue);
    g->back_queue = calloc(r->n_nodes + 1, sizeof *g->back_queue);
    if (!g->out_at || !g->in_at || !g->out || !g->in || !g->set || !g->seen || !g->reaching ||
        !g->queue || !g->back_queue)
        abort();
    list_edges(g);
}

static void graph_fini(struct graph *g)
{
    free(g->out_at);
    free(g->in_at);
    free(g->out);
    free(g->in);
    free(g->set);
    free(g->seen);
    free(g->reaching);
    free(g->queue);
    free(g->back_queue);
}

/*
 * The nodes of the set of `start` that can be reached from it (or that reach it) without a back
 * edge of an enclosing loop. Puts them into `queue` and marks them as seen; returns their number.
 */
static size_t reach(struct graph *g, uint32_t start, bool forwards, uint32_t *queue, bool *seen)
{
    const uint32_t *at = forwards ? g->out_at : g->in_at, *list = forwards ? g->out : g->in;
    size_t n = 0;
    queue[n++] = start;
    seen[start] = true;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = at[queue[i]]; k < at[queue[i] + 1]; k++) {
            const struct edge *e = &g->r->edges[list[k]];
            uint32_t other = forwards ? e->to : e->from;
            if (e->back || g->set[other] != g->set[start] || seen[other])
                continue;
            seen[other] = true;
            queue[n++] = other;
        }
    }
    return n;
}

/* --- Rule 4: roots ---------------------------------------------------------------------------- */

static const struct node *ordered_nodes;

static int compare_orders(const void *a, const void *b)
{
    uint64_t x = ordered_nodes[*(const uint32_t *)a].order;
    uint64_t y = ordered_nodes[*(const uint32_t *)b].order;
    return x < y ? -1 : x > y;
}

/* The nodes that were run, in the order of execution. */
static uint32_t *in_order(const struct loop_reference *r, size_t *n)
{
    uint32_t *list = calloc(r->n_nodes + 1, sizeof *list);
    if (!list)
        abort();
    *n = 0;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (r->nodes[i].order != UINT64_MAX)
            list[(*n)++] = i;
    ordered_nodes = r->nodes;
    qsort(list, *n, sizeof *list, compare_orders);
    return list;
}

/* All nodes are in the same set: edges do not leave functions. */
static void find_roots(struct graph *g)
{
    size_t n;
    uint32_t *list = in_order(g->r, &n);
    for (size_t i = 0; i < n; i++)
        if (g->r->nodes[list[i]].root && !g->seen[list[i]])
            reach(g, list[i], true, g->queue, g->seen);
    for (size_t i = 0; i < n; i++) {
        if (g->seen[list[i]])
            continue;
        g->r->nodes[list[i]].root = true;
        reach(g, list[i], true, g->queue, g->seen);
    }
    memset(g->seen, 0, g->r->n_nodes * sizeof *g->seen);
    free(list);
}

/* --- Rule 5: loops ---------------------------------------------------------------------------- */

static bool is_header(const struct graph *g, uint32_t node)
{
    if (g->r->nodes[node].root)
        return true;
    for (uint32_t k = g->in_at[node]; k < g->in_at[node + 1]; k++)
        if (g->set[g->r->edges[g->in[k]].from] != g->set[node])
            return true;
    return false;
}

static bool has_self_edge(const struct graph *g, uint32_t node)
{
    for (uint32_t k = g->out_at[node]; k < g->out_at[node + 1]; k++)
        if (g->r->edges[g->out[k]].to == node && !g->r->edges[g->out[k]].back)
            return true;
    return false;
}

static void find_loops(struct graph *g, const uint32_t *nodes, size_t n, uint32_t parent);

/* Makes a component, which is a set of its own, a loop, and finds the loops in it. */
static void make_loop(struct graph *g, uint32_t *nodes, size_t n, uint32_t parent)
{
    struct loop_reference *r = g->r;
    uint32_t id = (uint32_t)r->n_loops;
    r->loops = loop_reference_room(r->loops, &r->cap_loops, r->n_loops + 1, sizeof *r->loops);
    r->n_loops++;
    struct loop loop = {.parent = parent,
                        .name = HP_NO_ID,
                        .depth = parent == HP_NO_ID ? 1 : r->loops[parent].depth + 1,
                        .nodes = nodes,
                        .n_nodes = n};
    for (size_t i = 0; i < n; i++) {
        r->nodes[nodes[i]].loop = id;
        r->nodes[nodes[i]].header = is_header(g, nodes[i]);
        if (!r->nodes[nodes[i]].header)
            continue;
        loop.n_headers++;
        if (loop.name == HP_NO_ID || r->nodes[nodes[i]].order < r->nodes[loop.name].order)
            loop.name = nodes[i];
    }
    r->loops[id] = loop;
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = g->in_at[nodes[i]]; k < g->in_at[nodes[i] + 1]; k++) {
            struct edge *e = &r->edges[g->in[k]];
            e->back |= r->nodes[nodes[i]].header && g->set[e->from] == g->set[nodes[i]];
        }
    find_loops(g, nodes, n, id);
}

/* The component of a node in its set: the nodes that it reaches and that reach it. It becomes a set
 * of its own. */
static uint32_t *component(struct graph *g, uint32_t node, size_t *n)
{
    size_t n_after = reach(g, node, true, g->queue, g->seen);
    size_t n_before = reach(g, node, false, g->back_queue, g->reaching);
    uint32_t *nodes = calloc(n_after + 1, sizeof *nodes);
    if (!nodes)
        abort();
    *n = 0;
    for (size_t i = 0; i < n_after; i++) {
        if (g->reaching[g->queue[i]])
            nodes[(*n)++] = g->queue[i];
        g->seen[g->queue[i]] = false;
    }
    for (size_t i = 0; i < n_before; i++)
        g->reaching[g->back_queue[i]] = false;
    uint32_t set = g->n_sets++;
    for (size_t i = 0; i < *n; i++)
        g->set[nodes[i]] = set;
    return nodes;
}

/* The loops among `nodes`, which are a set. */
static void find_loops(struct graph *g, const uint32_t *nodes, size_t n, uint32_t parent)
{
    uint32_t set = n ? g->set[nodes[0]] : 0;
    struct component {
        uint32_t *nodes;
        size_t n;
    } *found = calloc(n + 1, sizeof *found);
    size_t n_found = 0;
    if (!found)
        abort();
    for (size_t i = 0; i < n; i++) {
        if (g->set[nodes[i]] != set)
            continue; /* of a component already found */
        struct component *c = &found[n_found];
        c->nodes = component(g, nodes[i], &c->n);
        if (c->n > 1 || has_self_edge(g, nodes[i]))
            n_found++;
        else
            free(c->nodes);
    }
    for (size_t i = 0; i < n_found; i++)
        make_loop(g, found[i].nodes, found[i].n, parent);
    free(found);
}

static int compare_functions(const void *a, const void *b)
{
    const struct node *x = &ordered_nodes[*(const uint32_t *)a];
    const struct node *y = &ordered_nodes[*(const uint32_t *)b];
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void loop_reference_find(struct loop_reference *r)
{
    struct graph g;
    size_t n;
    graph_init(&g, r);
    find_roots(&g);
    uint32_t *list = in_order(r, &n);
    qsort(list, n, sizeof *list, compare_functions);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && r->nodes[list[end]].function == r->nodes[list[i]].function; end++)
            g.set[list[end]] = g.n_sets;
        g.n_sets++;
        find_loops(&g, list + i, end - i, HP_NO_ID);
    }
    free(list);
    graph_fini(&g);
}

bool loop_reference_in(const struct loop_reference *r, uint32_t node, uint32_t loop)
{
    for (uint32_t l = r->nodes[node].loop; l != HP_NO_ID; l = r->loops[l].parent)
        if (l == loop)
            return true;
    return false;
}
