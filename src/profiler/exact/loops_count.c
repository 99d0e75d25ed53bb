// SPDX-License-Identifier: MIT
/*
 * All loops in the end: each thread's counts applied to the final graph.
 */
#include "base/grow.h"
#include "profiler/exact/loops.h"

#include <stdlib.h>
#include <string.h>

/* The work on one thread. */
struct counting {
    struct hp_exact *exact;
    const struct hp_loop_graph *graph;
    struct hp_exact_loop_result *result;
    struct hp_exact_thread *thread;
    size_t n_blocks;
    uint32_t *own;                 /* by node: instructions */
    uint64_t *arrived;             /* by block, then by node: arrivals of control */
    uint64_t *retired;             /* the same: departures, when instructions count */
    uint64_t *calls;               /* by loop: instructions of callees */
    uint32_t *marks;               /* by loop: the last cover that contained it */
    struct hp_trips *trips;        /* by loop of the graph */
    struct hp_ploop_count *counts; /* by loop */
    struct hp_counters back;       /* node << 32 | header, all threads together */
};

void hp_exact_loops_result_free(struct hp_exact_loop_result *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n && r->trips; i++)
        hp_trips_fini(&r->trips[i]);
    free(r->loops);
    free(r->of);
    free(r->nodes);
    free(r->back_edges);
    free(r->counts);
    free(r->trips);
    free(r->unknown);
    free(r);
}

/* --- The loops -------------------------------------------------------------------------------- */

/* The nodes of a function, by position. */
static void order_nodes(const struct hp_loop_graph *g, const struct hp_loop_function *f,
                        uint32_t *nodes)
{
    for (size_t i = 0; i < f->n_nodes; i++)
        nodes[g->nodes[f->nodes[i]].position] = f->nodes[i];
}

static void add_function(struct counting *c, const struct hp_loop_function *f, uint32_t *nodes)
{
    struct hp_exact_loop_result *r = c->result;
    order_nodes(c->graph, f, nodes);
    for (size_t i = 0; i < f->n_loops; i++) {
        const struct hp_loop *loop = &c->graph->loops[f->loops[i]];
        struct hp_exact_loop *out = &r->loops[r->n];
        r->of[f->loops[i]] = (uint32_t)r->n++;
        *out = (struct hp_exact_loop){.header = loop->header,
                                      .function = f->id,
                                      .parent =
                                          loop->parent == HP_NO_ID ? HP_NO_ID : r->of[loop->parent],
                                      .flags = loop->irreducible ? HP_LOOP_IRREDUCIBLE : 0,
                                      .nodes = nodes + loop->low,
                                      .n_nodes = loop->high - loop->low};
        for (size_t k = 0; k < out->n_nodes; k++)
            out->insns += c->own[out->nodes[k]];
    }
}

static enum hp_err list_loops(struct counting *c)
{
    const struct hp_loop_graph *g = c->graph;
    struct hp_exact_loop_result *r = c->result;
    r->loops = calloc(g->n_loops + 1, sizeof *r->loops);
    r->of = calloc(g->n_loops + 1, sizeof *r->of);
    r->nodes = calloc(c->n_blocks + 1, sizeof *r->nodes);
    if (!r->loops || !r->of || !r->nodes)
        return hp_fail_nomem();
    memset(r->of, 0xff, g->n_loops * sizeof *r->of);
    uint32_t *nodes = r->nodes;
    for (size_t i = 0; i < g->n_functions; i++) {
        add_function(c, &g->functions[i], nodes);
        nodes += g->functions[i].n_nodes;
    }
    r->trips = calloc(r->n + 1, sizeof *r->trips);
    r->unknown = calloc(r->n + 1, sizeof *r->unknown);
    return r->trips && r->unknown ? HP_OK : hp_fail_nomem();
}

/* --- By node ---------------------------------------------------------------------------------- */

/* The loop of the result with this header; HP_NO_ID: none. */
static uint32_t headed_by(const struct counting *c, uint32_t node)
{
    uint32_t loop = c->graph->arrivals[node].loop;
    return loop == 0 || loop == HP_LOOP_UNSEEN ? HP_NO_ID : c->result->of[loop - 1];
}

/* The innermost loop that contains it. */
static uint32_t innermost(const struct counting *c, uint32_t node)
{
    uint32_t loop = c->graph->nodes[node].inner;
    return loop == HP_NO_ID ? HP_NO_ID : c->result->of[loop];
}

static bool is_in(const struct counting *c, uint32_t loop, uint32_t node)
{
    const struct hp_loop_graph *g = c->graph;
    return hp_loop_has(g, &g->loops[g->arrivals[c->result->loops[loop].header].loop - 1], node);
}

static uint32_t last_of(const struct counting *c, uint32_t block)
{
    return c->graph->nodes[block].last;
}

/* From blocks to nodes: running a block runs its chain. */
static void spread(const struct counting *c, uint64_t *counts, uint64_t *scratch)
{
    memcpy(scratch, counts, c->n_blocks * sizeof *counts);
    for (uint32_t i = 0; i < c->n_blocks; i++)
        for (uint32_t n = c->graph->nodes[i].next; n != HP_NO_ID && scratch[i];
             n = c->graph->nodes[n].next)
            counts[n] += scratch[i];
}

static enum hp_err count_nodes(struct counting *c)
{
    const struct hp_exact_thread *t = c->thread;
    uint64_t *scratch = malloc((c->n_blocks + 1) * sizeof *scratch);
    if (!scratch)
        return hp_fail_nomem();
    memset(c->arrived, 0, c->n_blocks * sizeof *c->arrived);
    memset(c->retired, 0, c->n_blocks * sizeof *c->retired);
    for (size_t i = 0; i < t->n_edges; i++) {
        c->retired[t->edges[i].from] += t->edges[i].count;
        if (t->edges[i].to != HP_NO_ID)
            c->arrived[t->edges[i].to] += t->edges[i].count;
    }
    for (size_t i = 0; i < t->loops->begins.n; i++)
        c->arrived[t->loops->begins.keys[i]] += t->loops->begins.counts[i];
    spread(c, c->arrived, scratch);
    spread(c, c->retired, scratch);
    free(scratch);
    for (uint32_t i = 0; i < c->n_blocks; i++) {
        uint32_t loop = headed_by(c, i), inner = innermost(c, i);
        if (loop != HP_NO_ID)
            c->counts[loop].iterations += c->arrived[i];
        if (inner != HP_NO_ID)
            c->counts[inner].self += c->own[i] * c->retired[i];
    }
    return HP_OK;
}

/* --- Back edges ------------------------------------------------------------------------------- */

/* Control took an edge between two nodes. */
static enum hp_err add_back(struct counting *c, uint32_t from, uint32_t to, uint64_t count)
{
    uint32_t loop = headed_by(c, to);
    if (count == 0 || loop == HP_NO_ID || !is_in(c, loop, from))
        return HP_OK;
    c->counts[loop].back_edges += count;
    return hp_counters_add(&c->back, (uint64_t)from << 32 | to, count);
}

/* How often a transfer neither pushed nor popped a frame. */
static uint64_t stayed(const struct counting *c, const struct hp_exact_edge *edge)
{
    const struct hp_stack_block *from = &c->exact->spots[edge->from],
                                *to = &c->exact->spots[edge->to];
    uint64_t key = (uint64_t)edge->from << 32 | edge->to;
    switch (from->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: return to->start == from->end ? edge->count : 0;
    case HP_FLOW_RETURN:
        return to->start == from->end && from->may_not_go
                   ? edge->count
                   : hp_counters_get(&c->thread->loops->odd, key);
    default: return edge->count - hp_counters_get(&c->thread->loops->odd, key);
    }
}

static enum hp_err count_returns(struct counting *c, bool thrown)
{
    const struct hp_counters *returns = &c->thread->loops->returns[thrown];
    for (size_t i = 0; i < returns->n; i++) {
        uint32_t site = (uint32_t)(returns->keys[i] >> 32), to = (uint32_t)returns->keys[i];
        if (!thrown || !hp_loop_graph_leaves_out(c->graph, to))
            HP_TRY(add_back(c, last_of(c, site), to, returns->counts[i]));
    }
    return HP_OK;
}

static enum hp_err count_back_edges(struct counting *c)
{
    const struct hp_exact_thread *t = c->thread;
    for (uint32_t i = 0; i < c->n_blocks; i++)
        if (c->graph->nodes[i].next != HP_NO_ID && c->arrived[i])
            HP_TRY(add_back(c, i, c->graph->nodes[i].next, c->arrived[i]));
    for (size_t i = 0; i < t->n_edges; i++)
        if (t->edges[i].to != HP_NO_ID)
            HP_TRY(
                add_back(c, last_of(c, t->edges[i].from), t->edges[i].to, stayed(c, &t->edges[i])));
    for (size_t i = 0; i < t->loops->n_sites; i++) {
        const struct hp_loop_site *site = &t->loops->sites[i];
        if (site->to != HP_NO_ID)
            HP_TRY(add_back(c, last_of(c, site->block), site->to, site->count));
    }
    HP_TRY(count_returns(c, false));
    return count_returns(c, true);
}

/* --- The rest --------------------------------------------------------------------------------- */

/* Histories that begin inside a loop. */
static void count_begun(struct counting *c)
{
    const struct hp_counters *begun = &c->thread->loops->begun;
    for (size_t i = 0; i < begun->n; i++) {
        uint32_t block = (uint32_t)begun->keys[i], heads = headed_by(c, block);
        for (uint32_t loop = innermost(c, block); loop != HP_NO_ID;
             loop = c->result->loops[loop].parent)
            if (loop != heads)
                c->counts[loop].iterations += begun->counts[i];
    }
}

/* Adds the counts of inner loops to those around them. */
static void add_up(struct counting *c)
{
    for (size_t i = c->result->n; i-- > 0;) {
        uint32_t parent = c->result->loops[i].parent;
        c->counts[i].inclusive = c->counts[i].self + c->calls[i];
        if (parent == HP_NO_ID)
            continue;
        c->counts[parent].self += c->counts[i].self;
        c->counts[parent].interrupted += c->counts[i].interrupted;
        c->calls[parent] += c->calls[i];
    }
}

static void count_calls(struct counting *c)
{
    const struct hp_exact_loop_thread *l = c->thread->loops;
    memset(c->calls, 0, c->result->n * sizeof *c->calls);
    for (size_t i = 0; i < l->n_sites; i++) {
        uint32_t loop = innermost(c, last_of(c, l->sites[i].block));
        if (loop != HP_NO_ID)
            c->calls[loop] += l->sites[i].inclusive;
    }
    for (size_t i = 0; i < l->interrupted.n; i++) {
        uint32_t loop = innermost(c, last_of(c, (uint32_t)l->interrupted.keys[i]));
        if (loop != HP_NO_ID)
            c->counts[loop].interrupted += l->interrupted.counts[i];
    }
}

/* Marks the loops that contain the activations of a cover. */
static void mark_covered(struct counting *c, uint32_t cover)
{
    const struct hp_covers *covers = &c->exact->loops->covers;
    const struct hp_cover *set = &covers->sets[cover - 1];
    for (uint32_t i = 0; i < set->n; i++)
        for (uint32_t loop = innermost(c, last_of(c, covers->sites[set->first + i]));
             loop != HP_NO_ID && c->marks[loop] != cover; loop = c->result->loops[loop].parent)
            c->marks[loop] = cover;
}

/* Subtracts the `insns` of a node from the marked loops that contain it. */
static void uncount(struct counting *c, uint32_t cover, uint32_t node, uint64_t insns)
{
    for (uint32_t loop = innermost(c, node); loop != HP_NO_ID; loop = c->result->loops[loop].parent)
        if (c->marks[loop] == cover)
            c->counts[loop].inclusive -= insns;
}

static void uncount_unit(struct counting *c, uint32_t cover, uint32_t unit, uint64_t count)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(c->exact->code, unit, &n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t node = blocks[i]; node != HP_NO_ID; node = c->graph->nodes[node].next)
            uncount(c, cover, node, c->own[node] * count);
}

/* The entries of a tally, ordered by the upper halves of their keys. */
static enum hp_err by_cover(const struct counting *c, const struct hp_counters *tally,
                            uint32_t **order)
{
    size_t *at = calloc(c->exact->loops->covers.n + 2, sizeof *at);
    *order = malloc((tally->n + 1) * sizeof **order);
    if (at && *order) {
        for (size_t i = 0; i < tally->n; i++)
            at[(tally->keys[i] >> 32) + 1]++;
        for (size_t i = 1; i <= c->exact->loops->covers.n; i++)
            at[i] += at[i - 1];
        for (uint32_t i = 0; i < tally->n; i++)
            (*order)[at[tally->keys[i] >> 32]++] = i;
    }
    enum hp_err err = at && *order ? HP_OK : hp_fail_nomem();
    free(at);
    return err;
}

static enum hp_err uncount_all(struct counting *c, const struct hp_counters *tally, bool calls)
{
    uint32_t *order, marked = 0;
    enum hp_err err = by_cover(c, tally, &order);
    memset(c->marks, 0, c->result->n * sizeof *c->marks);
    for (size_t i = 0; err == HP_OK && i < tally->n; i++) {
        uint64_t key = tally->keys[order[i]], count = tally->counts[order[i]];
        uint32_t cover = (uint32_t)(key >> 32), what = (uint32_t)key;
        if (cover != marked)
            mark_covered(c, cover);
        marked = cover;
        if (calls)
            uncount(c, cover, last_of(c, what), count);
        else
            uncount_unit(c, cover, what, count);
    }
    free(order);
    return err;
}

/* What ran in a loop while a lower activation was in it counts once. */
static enum hp_err uncount_covered(struct counting *c)
{
    HP_TRY(uncount_all(c, &c->thread->loops->covered, false));
    HP_TRY(uncount_all(c, &c->thread->loops->covered_calls, true));
    /* Where control entered functions in unknown ways, the nesting is unknown: limits the
     * counts. */
    for (size_t i = 0; i < c->result->n; i++) {
        struct hp_ploop_count *count = &c->counts[i];
        if (count->inclusive > c->thread->clock)
            count->inclusive = c->thread->clock;
        if (count->inclusive < count->self)
            count->inclusive = count->self;
    }
    return HP_OK;
}

/* Trips of loops that have become part of others go to the loop of their header. */
static enum hp_err join_trips(struct counting *c)
{
    for (uint32_t i = 0; i < c->graph->n_loops; i++) {
        const struct hp_loop *loop = &c->graph->loops[i];
        if (loop->alive || c->trips[i].executions == 0)
            continue;
        uint32_t now = c->graph->arrivals[loop->header].loop;
        if (now && now != HP_LOOP_UNSEEN)
            HP_TRY(hp_trips_merge(&c->trips[now - 1], &c->trips[i]));
        hp_trips_fini(&c->trips[i]);
    }
    return HP_OK;
}

static bool is_irregular(const struct counting *c, uint32_t loop)
{
    while (loop != HP_NO_ID && !(c->result->loops[loop].flags & HP_LOOP_IRREDUCIBLE))
        loop = c->result->loops[loop].parent;
    return loop != HP_NO_ID;
}

/* Whether the executions distinguished while the program ran are those of the final graph. While an
 * irreducible loop is being found the loops change, so they may differ: the sums tell. */
static bool fits(const struct counting *c, uint32_t loop, const struct hp_ploop_count *count,
                 const struct hp_trips *trips)
{
    if (trips->executions != count->executions || trips->max > count->iterations)
        return false;
    return trips->iterations == count->iterations || !is_irregular(c, loop);
}

static enum hp_err count_trips(struct counting *c)
{
    HP_TRY(join_trips(c));
    for (uint32_t i = 0; i < c->result->n; i++) {
        struct hp_ploop_count *count = &c->counts[i];
        uint32_t id = c->graph->arrivals[c->result->loops[i].header].loop - 1;
        struct hp_trips *trips = &c->trips[id];
        count->executions =
            count->iterations > count->back_edges ? count->iterations - count->back_edges : 0;
        if (count->interrupted > count->executions) /* control got in without a start */
            count->interrupted = count->executions;
        enum hp_err err = HP_OK;
        if (c->thread->unordered)
            c->result->unknown[i] = true;
        else if (count->executions > trips->executions)
            err = hp_trips_precede(trips, count->executions - trips->executions);
        c->result->unknown[i] |= !fits(c, i, count, trips);
        count->min = trips->min;
        count->max = trips->max;
        count->same = trips->same;
        count->stride = trips->stride;
        if (err == HP_OK)
            err = hp_trips_merge(&c->result->trips[i], trips);
        HP_TRY(err);
    }
    return HP_OK;
}

/* Clears what is derived from single executions where these are unknown. */
static void leave_unknown(struct hp_exact_loop_result *r)
{
    for (size_t i = 0; i < r->n_counts; i++) {
        struct hp_ploop_count *count = &r->counts[i];
        if (r->unknown[count->item])
            count->min = count->max = count->same = count->stride = 0;
    }
    for (size_t i = 0; i < r->n; i++) {
        struct hp_ploop_count *sum = &r->loops[i].counts;
        if (!r->unknown[i])
            continue;
        sum->min = sum->max = sum->same = sum->stride = 0;
        hp_trips_fini(&r->trips[i]);
    }
}

/* --- Threads ---------------------------------------------------------------------------------- */

static void sum_up(struct hp_ploop_count *sum, const struct hp_ploop_count *add)
{
    if (add->executions && (sum->executions == 0 || add->min < sum->min))
        sum->min = add->min;
    sum->max = add->max > sum->max ? add->max : sum->max;
    sum->executions += add->executions;
    sum->iterations += add->iterations;
    sum->back_edges += add->back_edges;
    sum->self += add->self;
    sum->inclusive += add->inclusive;
    sum->same += add->same;
    sum->stride += add->stride;
    sum->interrupted += add->interrupted;
}

static enum hp_err keep_counts(struct counting *c, uint32_t thread)
{
    struct hp_exact_loop_result *r = c->result;
    for (uint32_t i = 0; i < r->n; i++) {
        struct hp_ploop_count *count = &c->counts[i];
        if (!(count->iterations | count->self))
            continue;
        count->item = i;
        count->thread = thread;
        sum_up(&r->loops[i].counts, count);
        HP_TRY(hp_grow(&r->counts, &r->cap_counts, r->n_counts + 1, sizeof *r->counts));
        r->counts[r->n_counts++] = *count;
    }
    return HP_OK;
}

/* Moves the trips of a thread to those of their loops. */
static void take_trips(struct counting *c)
{
    struct hp_exact_loop_thread *l = c->thread->loops;
    for (size_t i = 0; i < l->n_records; i++)
        c->trips[l->trip_loops[i]] = l->trips[i];
    l->n_records = 0;
}

static void drop_trips(struct counting *c)
{
    for (size_t i = 0; c->trips && i < c->graph->n_loops; i++)
        hp_trips_fini(&c->trips[i]);
}

static enum hp_err count_thread(struct counting *c, uint32_t thread)
{
    drop_trips(c);
    c->thread = c->exact->threads[thread];
    take_trips(c);
    memset(c->counts, 0, c->result->n * sizeof *c->counts);
    HP_TRY(count_nodes(c));
    HP_TRY(count_back_edges(c));
    count_begun(c);
    count_calls(c);
    add_up(c);
    HP_TRY(uncount_covered(c));
    HP_TRY(count_trips(c));
    return keep_counts(c, thread);
}

/* --- The list of back edges ------------------------------------------------------------------- */

/* The address of the instruction that leaves a node: its branch, or the last one before the next
 * node of its chain. */
static enum hp_err branch_of(const struct counting *c, uint32_t node, uint64_t *address)
{
    const struct hp_insn *insns;
    *address = hp_code_block(c->exact->code, node)->last;
    if (c->graph->nodes[node].next == HP_NO_ID || c->own[node] == 0)
        return HP_OK;
    HP_TRY(hp_code_insns(c->exact->code, node, &insns));
    *address = insns[c->own[node] - 1].address;
    return HP_OK;
}

struct listed {
    uint32_t loop;
    struct hp_exact_back_edge edge;
};

static int by_loop(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->loop != y->loop)
        return x->loop < y->loop ? -1 : 1;
    if (x->edge.branch != y->edge.branch)
        return x->edge.branch < y->edge.branch ? -1 : 1;
    return x->edge.target < y->edge.target ? -1 : x->edge.target > y->edge.target;
}

static enum hp_err fill_back_edges(struct counting *c, struct listed *list)
{
    struct hp_exact_loop_result *r = c->result;
    for (size_t i = 0; i < c->back.n; i++) {
        uint32_t from = (uint32_t)(c->back.keys[i] >> 32), to = (uint32_t)c->back.keys[i];
        list[i] = (struct listed){.loop = headed_by(c, to),
                                  .edge = {.target = hp_code_block(c->exact->code, to)->start,
                                           .count = c->back.counts[i]}};
        HP_TRY(branch_of(c, from, &list[i].edge.branch));
    }
    qsort(list, c->back.n, sizeof *list, by_loop);
    for (size_t i = 0; i < c->back.n; i++) {
        struct hp_exact_loop *loop = &r->loops[list[i].loop];
        r->back_edges[i] = list[i].edge;
        if (loop->n_back_edges++ == 0)
            loop->back_edges = &r->back_edges[i];
    }
    return HP_OK;
}

static enum hp_err list_back_edges(struct counting *c)
{
    c->result->back_edges = calloc(c->back.n + 1, sizeof *c->result->back_edges);
    struct listed *list = calloc(c->back.n + 1, sizeof *list);
    enum hp_err err = c->result->back_edges && list ? fill_back_edges(c, list) : hp_fail_nomem();
    free(list);
    return err;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err count_all(struct counting *c)
{
    c->own = calloc(c->n_blocks + 1, sizeof *c->own);
    c->arrived = calloc(c->n_blocks + 1, sizeof *c->arrived);
    c->retired = calloc(c->n_blocks + 1, sizeof *c->retired);
    if (!c->own || !c->arrived || !c->retired)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < c->n_blocks; i++)
        c->own[i] = hp_loop_graph_own(c->graph, i);
    HP_TRY(list_loops(c));
    c->calls = calloc(c->result->n + 1, sizeof *c->calls);
    c->counts = calloc(c->result->n + 1, sizeof *c->counts);
    c->marks = calloc(c->result->n + 1, sizeof *c->marks);
    c->trips = calloc(c->graph->n_loops + 1, sizeof *c->trips);
    if (!c->calls || !c->counts || !c->marks || !c->trips)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < c->exact->n_threads; i++)
        HP_TRY(count_thread(c, i));
    leave_unknown(c->result);
    return list_back_edges(c);
}

enum hp_err hp_exact_loops_count(struct hp_exact *exact)
{
    struct hp_exact_loops *all = exact->loops;
    if (all->result)
        return HP_OK;
    HP_TRY(hp_exact_loops_find(exact));
    struct counting c = {.exact = exact, .graph = &all->graph, .n_blocks = all->graph.n_nodes};
    hp_loop_graph_settle(&all->graph);
    if (exact->out_of_memory || all->graph.out_of_memory)
        return hp_fail(HP_ERR_NOMEM, "out of memory while counting; the profile would be wrong");
    c.result = calloc(1, sizeof *c.result);
    enum hp_err err = c.result ? count_all(&c) : hp_fail_nomem();
    free(c.own);
    free(c.arrived);
    free(c.retired);
    free(c.calls);
    free(c.counts);
    free(c.marks);
    drop_trips(&c);
    free(c.trips);
    hp_counters_fini(&c.back);
    if (err == HP_OK)
        all->result = c.result;
    else
        hp_exact_loops_result_free(c.result);
    return err;
}
