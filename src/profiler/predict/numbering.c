// SPDX-License-Identifier: MIT
/*
 * The increments are computed by potentials instead of cycles: every vertex gets a number p such
 * that value + p(from) - p(to) is 0 for every edge of the spanning tree; for a chord, that
 * expression is its increment. Along a path all p cancel except the first and the last, which are
 * equal as the tree contains an (imaginary) edge from the exit to the entry.
 */
#include "hotpath/numbering.h"

#include "base/bisect.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PATHS  (UINT64_C(1) << 63)
#define ITERATIONS 10 /* of a loop, estimated */
#define ESTIMATE   1e6
#define MOST       1e15

/* Needed only while numbering. */
struct work {
    const struct hp_graph *graph;
    struct hp_numbering *out;
    uint32_t *starts; /* n + 1: edges of the graph that leave a vertex, */
    uint32_t *sorted; /* in their order */
    uint8_t *state;   /* of a vertex: 1 on the stack, 2 done */
    uint32_t *stack;  /* vertices */
    uint32_t *next;   /* of a vertex: the next edge to visit */
    uint32_t *order;  /* vertices, each after its successors */
    uint32_t n_order;
    uint32_t *enter, *leave; /* dummies of a vertex */
    double *flow;            /* estimated executions of a vertex */
};

/* --- Back edges ------------------------------------------------------------------------------- */

static enum hp_err check_graph(const struct hp_graph *graph)
{
    if (graph->entry >= graph->n || graph->exit >= graph->n || graph->entry == graph->exit)
        return hp_fail(HP_ERR_INVALID, "numbering: the graph has no entry or no exit");
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct hp_graph_edge *edge = &graph->edges[i];
        if (edge->from >= graph->n || edge->to >= graph->n || edge->to == graph->entry ||
            edge->from == graph->exit)
            return hp_fail(HP_ERR_INVALID, "numbering: an edge from %u to %u in a graph of %u",
                           edge->from, edge->to, graph->n);
    }
    return HP_OK;
}

static void sort_edges(struct work *w)
{
    const struct hp_graph *graph = w->graph;
    for (uint32_t i = 0; i < graph->n_edges; i++)
        w->starts[graph->edges[i].from + 1]++;
    for (uint32_t v = 0; v < graph->n; v++) {
        w->starts[v + 1] += w->starts[v];
        w->next[v] = w->starts[v];
    }
    for (uint32_t i = 0; i < graph->n_edges; i++)
        w->sorted[w->next[graph->edges[i].from]++] = i;
    memcpy(w->next, w->starts, graph->n * sizeof *w->next);
}

/* Depth first from the entry. An edge to a vertex on the stack is a back edge; the rest has no
 * cycles, whether or not the loops have a single entry. */
static void find_back_edges(struct work *w)
{
    uint32_t depth = 0;
    w->stack[depth++] = w->graph->entry;
    w->state[w->graph->entry] = 1;
    while (depth) {
        uint32_t v = w->stack[depth - 1];
        if (w->next[v] == w->starts[v + 1]) {
            w->state[v] = 2;
            w->order[w->n_order++] = v;
            depth--;
            continue;
        }
        uint32_t i = w->sorted[w->next[v]++], to = w->graph->edges[i].to;
        w->out->edges[i].kind = w->state[to] == 1 ? HP_EDGE_BACK : HP_EDGE_REAL;
        if (w->state[to])
            continue;
        w->state[to] = 1;
        w->stack[depth++] = to;
    }
}

static uint32_t dummy(struct work *w, uint32_t *of, uint32_t from, uint32_t to,
                      enum hp_numbered_kind kind, uint64_t weight)
{
    if (*of == HP_NO_EDGE) {
        *of = w->out->n_edges++;
        w->out->edges[*of] = (struct hp_numbered_edge){.from = from,
                                                       .to = to,
                                                       .kind = (uint8_t)kind,
                                                       .enter = HP_NO_EDGE,
                                                       .leave = HP_NO_EDGE};
    }
    w->out->edges[*of].weight += weight;
    return *of;
}

static void add_dummies(struct work *w)
{
    for (uint32_t i = 0; i < w->graph->n_edges; i++) {
        struct hp_numbered_edge *edge = &w->out->edges[i];
        if (edge->kind != HP_EDGE_BACK)
            continue;
        edge->enter =
            dummy(w, &w->enter[edge->to], w->graph->entry, edge->to, HP_EDGE_ENTER, edge->weight);
        edge->leave = dummy(w, &w->leave[edge->from], edge->from, w->graph->exit, HP_EDGE_LEAVE,
                            edge->weight);
    }
}

/* --- Values ----------------------------------------------------------------------------------- */

static bool is_counted(const struct hp_numbered_edge *edge)
{
    return edge->kind != HP_EDGE_BACK && edge->kind != HP_EDGE_UNREACHABLE;
}

/* The edges that leave each vertex, dummies last. */
static void list_edges(struct hp_numbering *out)
{
    for (uint32_t i = 0; i < out->n_edges; i++)
        if (is_counted(&out->edges[i]))
            out->first[out->edges[i].from + 1]++;
    for (uint32_t v = 0; v < out->n; v++)
        out->first[v + 1] += out->first[v];
    for (uint32_t i = out->n_edges; i-- > 0;)
        if (is_counted(&out->edges[i]))
            out->out[--out->first[out->edges[i].from + 1]] = i;
    /* Now the edges of v begin at first[v + 1]. */
    uint32_t total = 0;
    for (uint32_t i = 0; i < out->n_edges; i++)
        total += is_counted(&out->edges[i]);
    memmove(out->first, out->first + 1, out->n * sizeof *out->first);
    out->first[out->n] = total;
}

static enum hp_err assign_values(struct work *w)
{
    struct hp_numbering *out = w->out;
    out->paths_from[out->exit] = 1;
    for (uint32_t k = 0; k < w->n_order; k++) {
        uint32_t v = w->order[k];
        uint64_t paths = 0;
        if (v == out->exit)
            continue;
        for (uint32_t i = out->first[v]; i < out->first[v + 1]; i++) {
            struct hp_numbered_edge *edge = &out->edges[out->out[i]];
            edge->value = paths;
            if (__builtin_add_overflow(paths, out->paths_from[edge->to], &paths) ||
                paths > MAX_PATHS)
                return hp_fail(HP_ERR_UNSUPPORTED,
                               "numbering: a function of %u blocks has more than 2^63 paths",
                               out->n - 2);
        }
        if (!paths)
            return hp_fail(HP_ERR_INVALID, "numbering: nothing leads on from vertex %u", v);
        out->paths_from[v] = paths;
    }
    out->paths = out->paths_from[out->entry];
    return HP_OK;
}

/* --- The spanning tree ------------------------------------------------------------------------ */

/* Estimated executions: a branch goes either way, a loop's head is executed ten times as often as
 * it is entered. */
static void estimate(struct work *w)
{
    struct hp_numbering *out = w->out;
    w->flow[out->entry] = ESTIMATE;
    for (uint32_t k = w->n_order; k-- > 0;) {
        uint32_t v = w->order[k];
        if (w->enter[v] != HP_NO_EDGE) {
            w->flow[v] = w->flow[v] * ITERATIONS < MOST ? w->flow[v] * ITERATIONS : MOST;
            out->edges[w->enter[v]].weight =
                (uint64_t)(w->flow[v] * (ITERATIONS - 1) / ITERATIONS) + 1;
        }
        uint32_t ways = 0;
        for (uint32_t i = out->first[v]; i < out->first[v + 1]; i++)
            ways += out->edges[out->out[i]].kind != HP_EDGE_ENTER;
        for (uint32_t i = out->first[v]; i < out->first[v + 1]; i++) {
            struct hp_numbered_edge *edge = &out->edges[out->out[i]];
            if (edge->kind == HP_EDGE_ENTER)
                continue;
            edge->weight = (uint64_t)(w->flow[v] / ways);
            w->flow[edge->to] += w->flow[v] / ways;
        }
    }
}

static uint32_t root(uint32_t *parents, uint32_t v)
{
    while (parents[v] != v)
        v = parents[v] = parents[parents[v]];
    return v;
}

static int heaviest_first(const void *a, const void *b, void *context)
{
    const struct hp_numbered_edge *edges = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (edges[i].weight != edges[k].weight)
        return edges[i].weight < edges[k].weight ? 1 : -1;
    return (i > k) - (i < k);
}

/* Kruskal's algorithm. The imaginary edge from exit to entry is in the tree. `order` has room for
 * the edges. */
static void grow_tree(struct hp_numbering *out, uint32_t *parents, uint32_t *order)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < out->n; v++)
        parents[v] = v;
    parents[out->exit] = out->entry;
    for (uint32_t i = 0; i < out->n_edges; i++)
        if (is_counted(&out->edges[i]))
            order[n++] = i;
    qsort_r(order, n, sizeof *order, heaviest_first, out->edges);
    for (uint32_t i = 0; i < n; i++) {
        struct hp_numbered_edge *edge = &out->edges[order[i]];
        uint32_t a = root(parents, edge->from), b = root(parents, edge->to);
        edge->chord = a == b;
        parents[a] = b;
    }
}

/* Computes the potentials, from the entry along the tree, in both directions; then the increments.
 * Arithmetic is modulo 2^64, like the sums. */
static enum hp_err assign_increments(struct hp_numbering *out)
{
    uint64_t *potential = calloc(out->n, sizeof *potential);
    uint32_t *links = calloc((size_t)out->n_edges * 2 + 1, sizeof *links);
    uint32_t *starts = calloc((size_t)out->n + 2, sizeof *starts);
    uint32_t *stack = calloc(out->n, sizeof *stack);
    bool *known = calloc(out->n, sizeof *known);
    bool ok = potential && links && starts && stack && known;
    for (uint32_t i = 0; ok && i < out->n_edges; i++)
        if (is_counted(&out->edges[i]) && !out->edges[i].chord) {
            starts[out->edges[i].from + 2]++;
            starts[out->edges[i].to + 2]++;
        }
    for (uint32_t v = 0; ok && v < out->n; v++)
        starts[v + 2] += starts[v + 1];
    for (uint32_t i = 0; ok && i < out->n_edges; i++)
        if (is_counted(&out->edges[i]) && !out->edges[i].chord) {
            links[starts[out->edges[i].from + 1]++] = i;
            links[starts[out->edges[i].to + 1]++] = i;
        }
    uint32_t depth = 0;
    if (ok) {
        stack[depth++] = out->entry;
        stack[depth++] = out->exit;
        known[out->entry] = known[out->exit] = true;
    }
    while (depth) {
        uint32_t v = stack[--depth];
        for (uint32_t i = starts[v]; i < starts[v + 1]; i++) {
            const struct hp_numbered_edge *edge = &out->edges[links[i]];
            uint32_t other = edge->from == v ? edge->to : edge->from;
            if (known[other])
                continue;
            known[other] = true;
            potential[other] =
                edge->from == v ? potential[v] + edge->value : potential[v] - edge->value;
            stack[depth++] = other;
        }
    }
    for (uint32_t i = 0; ok && i < out->n_edges; i++) {
        struct hp_numbered_edge *edge = &out->edges[i];
        if (is_counted(edge) && edge->chord)
            edge->increment = (int64_t)(edge->value + potential[edge->from] - potential[edge->to]);
    }
    free(potential);
    free(links);
    free(starts);
    free(stack);
    free(known);
    return ok ? HP_OK : hp_fail_nomem();
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum hp_err allocate(struct work *w, struct hp_numbering *out)
{
    const struct hp_graph *graph = w->graph;
    size_t n = graph->n, edges = (size_t)graph->n_edges + 2 * n;
    out->n = graph->n;
    out->entry = graph->entry;
    out->exit = graph->exit;
    out->n_edges = graph->n_edges;
    out->edges = calloc(edges, sizeof *out->edges);
    out->paths_from = calloc(n, sizeof *out->paths_from);
    out->first = calloc(n + 2, sizeof *out->first);
    out->out = calloc(edges, sizeof *out->out);
    w->starts = calloc(n + 1, sizeof *w->starts);
    w->sorted = calloc(edges, sizeof *w->sorted);
    w->state = calloc(n, 1);
    w->stack = calloc(n, sizeof *w->stack);
    w->next = calloc(n, sizeof *w->next);
    w->order = calloc(n, sizeof *w->order);
    w->enter = malloc(n * sizeof *w->enter);
    w->leave = malloc(n * sizeof *w->leave);
    w->flow = calloc(n, sizeof *w->flow);
    if (!out->edges || !out->paths_from || !out->first || !out->out || !w->starts || !w->sorted ||
        !w->state || !w->stack || !w->next || !w->order || !w->enter || !w->leave || !w->flow)
        return hp_fail_nomem();
    memset(w->enter, 0xff, n * sizeof *w->enter);
    memset(w->leave, 0xff, n * sizeof *w->leave);
    for (uint32_t i = 0; i < graph->n_edges; i++)
        out->edges[i] = (struct hp_numbered_edge){.from = graph->edges[i].from,
                                                  .to = graph->edges[i].to,
                                                  .kind = HP_EDGE_UNREACHABLE,
                                                  .weight = graph->edges[i].count,
                                                  .enter = HP_NO_EDGE,
                                                  .leave = HP_NO_EDGE};
    return HP_OK;
}

static enum hp_err number(struct work *w, bool counted)
{
    sort_edges(w);
    find_back_edges(w);
    add_dummies(w);
    list_edges(w->out);
    HP_TRY(assign_values(w));
    if (!counted)
        estimate(w);
    grow_tree(w->out, w->stack, w->sorted);
    return assign_increments(w->out);
}

enum hp_err hp_numbering_new(const struct hp_graph *graph, bool counted,
                             struct hp_numbering **numbering)
{
    HP_TRY(check_graph(graph));
    struct hp_numbering *out = calloc(1, sizeof *out);
    if (!out)
        return hp_fail_nomem();
    struct work w = {.graph = graph, .out = out};
    enum hp_err err = allocate(&w, out);
    if (err == HP_OK)
        err = number(&w, counted);
    free(w.starts);
    free(w.sorted);
    free(w.state);
    free(w.stack);
    free(w.next);
    free(w.order);
    free(w.enter);
    free(w.leave);
    free(w.flow);
    if (err == HP_OK)
        *numbering = out;
    else
        hp_numbering_free(out);
    return err;
}

void hp_numbering_free(struct hp_numbering *numbering)
{
    if (!numbering)
        return;
    free(numbering->edges);
    free(numbering->paths_from);
    free(numbering->first);
    free(numbering->out);
    free(numbering);
}

/* --- Paths and numbers ------------------------------------------------------------------------ */

uint32_t hp_numbering_path(const struct hp_numbering *numbering, uint64_t number, uint32_t *edges)
{
    if (number >= numbering->paths)
        return 0;
    uint32_t n = 0;
    for (uint32_t v = numbering->entry; v != numbering->exit;) {
        /* The last edge whose value does not exceed the rest. */
        size_t above = HP_BISECT(i, numbering->first[v] + 1, numbering->first[v + 1],
                                 numbering->edges[numbering->out[i]].value <= number);
        edges[n++] = numbering->out[above - 1];
        const struct hp_numbered_edge *edge = &numbering->edges[edges[n - 1]];
        number -= edge->value;
        v = edge->to;
    }
    return n;
}

enum hp_err hp_numbering_number(const struct hp_numbering *numbering, const uint32_t *edges,
                                uint32_t n, uint64_t *number)
{
    uint32_t v = numbering->entry;
    *number = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (edges[i] >= numbering->n_edges || !is_counted(&numbering->edges[edges[i]]) ||
            numbering->edges[edges[i]].from != v)
            return hp_fail(HP_ERR_INVALID, "numbering: edge %u does not leave vertex %u", edges[i],
                           v);
        *number += numbering->edges[edges[i]].value;
        v = numbering->edges[edges[i]].to;
    }
    if (v != numbering->exit)
        return hp_fail(HP_ERR_INVALID, "numbering: a path that ends in vertex %u", v);
    return HP_OK;
}

uint64_t hp_numbering_chord_sum(const struct hp_numbering *numbering, const uint32_t *edges,
                                uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (uint64_t)numbering->edges[edges[i]].increment;
    return sum;
}
