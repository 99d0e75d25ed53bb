// SPDX-License-Identifier: MIT
/*
 * Loops of threads whose edges were counted, not recorded in order (docs/loops.md, "Counted").
 *
 * Executions, iterations and instructions of a loop follow from counts of edges. What the order
 * would tell, and is found here instead:
 *  - a history begins in a block that control left more often than it arrived;
 *  - a return continues in the activation that made the call before the address it leads to. More
 *    returns than calls are activations that began elsewhere: those of a forked child;
 *  - a jump into the middle of another function comes back from a part that was moved out of it, if
 *    that function jumps to the one it comes from.
 *
 * Samples of a run have no histories, and their calls and returns do not belong together.
 */
#include "base/bisect.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "profiler/exact/loops.h"

#include <stdlib.h>

/* The work on all threads. */
struct finding {
    struct hp_exact *exact;
    struct hp_loop_graph *graph;
    uint32_t *calls; /* blocks that call, by the place behind them; of one place, by id */
    size_t n_calls;
    struct hp_map64 jumps; /* functions of the graph, from << 32 | to -> index into `leaves` */
    struct hp_exact_edge *leaves; /* the most frequent jump between these functions */
    size_t n_leaves, cap_leaves;
    int64_t *open; /* by block: the thread's departures less its arrivals; then, by call, how often
                    * it did not return */
    struct hp_exact_thread **threads; /* whose edges were counted */
    size_t n_threads;
};

static bool is_call(uint8_t flow)
{
    return flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b, void *exact)
{
    const struct hp_stack_block *spots = ((struct hp_exact *)exact)->spots;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return HP_COMPARE(spots[x].module, spots[y].module) ?: HP_COMPARE(spots[x].end, spots[y].end)
               ?: HP_COMPARE(x, y);
}

static enum hp_err list_calls(struct finding *f)
{
    const struct hp_exact *exact = f->exact;
    f->calls = malloc((exact->n_spots + 1) * sizeof *f->calls);
    if (!f->calls)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < exact->n_spots; i++)
        if (is_call(exact->spots[i].flow) && f->graph->nodes[i].function != HP_NO_ID)
            f->calls[f->n_calls++] = i;
    qsort_r(f->calls, f->n_calls, sizeof *f->calls, by_place, f->exact);
    return HP_OK;
}

/* The last call in the list that ends there; HP_NO_ID: none. Of different code at one place it is
 * the code that was seen last. */
static uint32_t call_that_ends(const struct finding *f, uint32_t module, uint64_t end)
{
    const struct hp_stack_block *spots = f->exact->spots;
    size_t behind =
        HP_BISECT(i, 0, f->n_calls,
                  spots[f->calls[i]].module < module ||
                      (spots[f->calls[i]].module == module && spots[f->calls[i]].end <= end));
    uint32_t call = behind ? f->calls[behind - 1] : HP_NO_ID;
    return behind && spots[call].module == module && spots[call].end == end ? call : HP_NO_ID;
}

/* The call that a return to the block comes back from. */
static uint32_t call_before(const struct finding *f, uint32_t block)
{
    return call_that_ends(f, f->exact->spots[block].module, f->exact->spots[block].start);
}

/* The one call that stands for all blocks with the same call. */
static uint32_t last_call(const struct finding *f, uint32_t block)
{
    return call_that_ends(f, f->exact->spots[block].module, f->exact->spots[block].end);
}

/* --- Jumps between functions ------------------------------------------------------------------ */

static uint32_t function_left(const struct finding *f, uint32_t block)
{
    return f->graph->nodes[f->graph->nodes[block].last].function;
}

static uint64_t between(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

static bool is_direct_jump(const struct finding *f, uint32_t block)
{
    uint8_t flow = f->exact->spots[block].flow;
    return flow == HP_FLOW_JUMP || flow == HP_FLOW_COND || flow == HP_FLOW_NONE;
}

static enum hp_err note_jump(struct finding *f, const struct hp_exact_edge *edge)
{
    uint32_t from = function_left(f, edge->from), to = f->graph->nodes[edge->to].function;
    if (!is_direct_jump(f, edge->from) || from == to)
        return HP_OK;
    uint32_t i = hp_map64_get(&f->jumps, between(from, to));
    if (i != HP_MAP64_NONE) {
        if (f->leaves[i].count < edge->count)
            f->leaves[i] = *edge;
        return HP_OK;
    }
    HP_TRY(hp_grow(&f->leaves, &f->cap_leaves, f->n_leaves + 1, sizeof *f->leaves));
    f->leaves[f->n_leaves] = *edge;
    return hp_map64_put(&f->jumps, between(from, to), (uint32_t)f->n_leaves++);
}

static enum hp_err list_jumps(struct finding *f)
{
    for (size_t k = 0; k < f->n_threads; k++)
        for (size_t i = 0; i < f->threads[k]->n_edges; i++) {
            const struct hp_exact_edge *edge = &f->threads[k]->edges[i];
            if (edge->to != HP_NO_ID && edge->count)
                HP_TRY(note_jump(f, edge));
        }
    return HP_OK;
}

/* The block of a function from which a jump into the middle of it comes back; HP_NO_ID: none. */
static uint32_t left_before(const struct finding *f, const struct hp_exact_edge *edge)
{
    uint64_t key = between(f->graph->nodes[edge->to].function, function_left(f, edge->from));
    uint32_t i = hp_map64_get(&f->jumps, key);
    return i == HP_MAP64_NONE ? HP_NO_ID : f->leaves[i].from;
}

/* --- Beginnings ------------------------------------------------------------------------------- */

/* Blocks that control left more often than it arrived. */
static enum hp_err find_begins(struct finding *f, struct hp_exact_thread *t)
{
    for (size_t i = 0; i < t->n_edges; i++) {
        f->open[t->edges[i].from] += (int64_t)t->edges[i].count;
        if (t->edges[i].to != HP_NO_ID)
            f->open[t->edges[i].to] -= (int64_t)t->edges[i].count;
    }
    for (size_t i = 0; i < t->n_edges; i++) {
        uint32_t block = t->edges[i].from;
        if (f->open[block] > 0 && !f->exact->sampled) {
            HP_TRY(hp_counters_add(&t->loops->begins, block, (uint64_t)f->open[block]));
            HP_TRY(hp_counters_add(&t->loops->begun, block, (uint64_t)f->open[block]));
        }
        f->open[block] = 0;
    }
    for (size_t i = 0; i < t->n_edges; i++)
        if (t->edges[i].to != HP_NO_ID)
            f->open[t->edges[i].to] = 0;
    return HP_OK;
}

static void run(struct finding *f, uint32_t block)
{
    hp_loop_graph_run(f->graph, block, HP_NO_ID);
}

/* Where histories begin comes first. */
static enum hp_err run_blocks(struct finding *f)
{
    for (size_t k = 0; k < f->n_threads; k++) {
        struct hp_exact_thread *t = f->threads[k];
        HP_TRY(find_begins(f, t));
        for (size_t i = 0; i < t->loops->begins.n; i++)
            run(f, (uint32_t)t->loops->begins.keys[i]);
    }
    for (size_t k = 0; k < f->n_threads; k++)
        for (size_t i = 0; i < f->threads[k]->n_edges; i++) {
            const struct hp_exact_edge *edge = &f->threads[k]->edges[i];
            if (edge->count)
                run(f, edge->from);
            if (edge->count && edge->to != HP_NO_ID)
                run(f, edge->to);
        }
    return HP_OK;
}

/* --- Edges ------------------------------------------------------------------------------------ */

/* The call of a function that most activations were left from and did not come back to. */
static uint32_t most_open(const struct finding *f, uint32_t function)
{
    uint32_t found = HP_NO_ID;
    for (size_t i = 0; i < f->n_calls; i++)
        if (f->open[f->calls[i]] > (found == HP_NO_ID ? 0 : f->open[found]) &&
            function_left(f, f->calls[i]) == function)
            found = f->calls[i];
    return found;
}

/* An activation continues in the block, which was left at `site`. */
static enum hp_err come_back(struct finding *f, struct hp_exact_thread *t, uint32_t site,
                             const struct hp_exact_edge *edge, bool thrown)
{
    uint64_t n = edge->count;
    if (site == HP_NO_ID)
        return HP_OK;
    if (is_call(f->exact->spots[site].flow) && !f->exact->sampled) {
        uint64_t open = f->open[site] > 0 ? (uint64_t)f->open[site] : 0;
        n = open < n ? open : n;
        f->open[site] -= (int64_t)n;
    }
    if (n < edge->count)
        HP_TRY(hp_counters_add(&t->loops->begun, edge->to, edge->count - n));
    if (n == 0)
        return HP_OK;
    hp_loop_graph_edge(f->graph, site, edge->to, thrown);
    return hp_counters_add(&t->loops->returns[thrown], (uint64_t)site << 32 | edge->to, n);
}

static enum hp_err add_jump(struct finding *f, struct hp_exact_thread *t,
                            const struct hp_exact_edge *edge)
{
    uint32_t from = function_left(f, edge->from), to = f->graph->nodes[edge->to].function;
    if (from == to) {
        hp_loop_graph_edge(f->graph, edge->from, edge->to, false);
        return HP_OK;
    }
    bool enters = hp_functions_is_entry(f->exact->functions, edge->to);
    uint32_t site = enters ? HP_NO_ID : left_before(f, edge);
    if (site != HP_NO_ID)
        return come_back(f, t, site, edge, false);
    if (!enters && !is_direct_jump(f, edge->from)) /* longjmp() */
        return come_back(f, t, most_open(f, to), edge, true);
    hp_loop_graph_root(f->graph, edge->to);
    return HP_OK;
}

/* A return to where no call is before: of an exception, or used as a jump. */
static enum hp_err add_throw(struct finding *f, struct hp_exact_thread *t,
                             const struct hp_exact_edge *edge)
{
    uint32_t to = f->graph->nodes[edge->to].function, site = most_open(f, to);
    if (site != HP_NO_ID || function_left(f, edge->from) != to)
        return come_back(f, t, site, edge, true);
    hp_loop_graph_edge(f->graph, edge->from, edge->to, false);
    return hp_counters_add(&t->loops->odd, (uint64_t)edge->from << 32 | edge->to, edge->count);
}

enum kind { CALLS, RETURNS, THROWS, JUMPS };

static enum kind kind_of(const struct finding *f, const struct hp_exact_edge *edge)
{
    const struct hp_stack_block *from = &f->exact->spots[edge->from],
                                *to = &f->exact->spots[edge->to];
    if (is_call(from->flow) && to->start != from->end)
        return CALLS;
    if (from->flow != HP_FLOW_RETURN || (from->may_not_go && to->start == from->end))
        return JUMPS;
    return call_before(f, edge->to) == HP_NO_ID ? THROWS : RETURNS;
}

static enum hp_err add_edge(struct finding *f, struct hp_exact_thread *t,
                            const struct hp_exact_edge *edge, enum kind kind)
{
    switch (kind) {
    case CALLS:
        hp_loop_graph_root(f->graph, edge->to);
        f->open[last_call(f, edge->from)] += (int64_t)edge->count;
        return HP_OK;
    case RETURNS: return come_back(f, t, call_before(f, edge->to), edge, false);
    case THROWS: return add_throw(f, t, edge);
    default: return add_jump(f, t, edge);
    }
}

/* All calls first, then what returns from them; what is left comes back in other ways. */
static enum hp_err add_edges(struct finding *f, struct hp_exact_thread *t)
{
    for (enum kind kind = CALLS; kind <= JUMPS; kind++)
        for (size_t i = 0; i < t->n_edges; i++) {
            const struct hp_exact_edge *edge = &t->edges[i];
            if (edge->to != HP_NO_ID && edge->count && kind_of(f, edge) == kind)
                HP_TRY(add_edge(f, t, edge, kind));
        }
    for (size_t i = 0; i < f->n_calls; i++)
        f->open[f->calls[i]] = 0;
    return HP_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err find_all(struct finding *f)
{
    hp_loop_graph_cover(f->graph);
    f->open = calloc(f->exact->n_spots + 1, sizeof *f->open);
    if (!f->open)
        return hp_fail_nomem();
    HP_TRY(run_blocks(f));
    HP_TRY(list_calls(f));
    HP_TRY(list_jumps(f));
    for (size_t k = 0; k < f->n_threads; k++)
        HP_TRY(add_edges(f, f->threads[k]));
    return HP_OK;
}

enum hp_err hp_exact_loops_find(struct hp_exact *exact)
{
    struct finding f = {.exact = exact, .graph = &exact->loops->graph};
    f.threads = malloc((exact->n_threads + 1) * sizeof *f.threads);
    if (!f.threads)
        return hp_fail_nomem();
    for (size_t i = 0; i < exact->n_threads; i++)
        if (exact->threads[i]->unordered)
            f.threads[f.n_threads++] = exact->threads[i];
    enum hp_err err = f.n_threads ? find_all(&f) : HP_OK;
    free(f.threads);
    free(f.calls);
    free(f.leaves);
    free(f.open);
    hp_map64_fini(&f.jumps);
    return err;
}
