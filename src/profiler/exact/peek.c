// SPDX-License-Identifier: MIT
/*
 * The counts of a program that is still running: what result.c computes from sealed threads in the
 * end, computed from the current tables.
 */
#include "base/grow.h"
#include "profiler/exact/contexts.h"
#include "profiler/exact/phrases.h"

#include <stdlib.h>
#include <string.h>

/* --- Sums ------------------------------------------------------------------------------------- */

static enum hp_err grow_one(uint64_t **values, size_t *cap, size_t *n, size_t need)
{
    HP_TRY(hp_grow(values, cap, need + 1, sizeof **values));
    *n = need > *n ? need : *n;
    return HP_OK;
}

/* Room for everything so far; new entries are 0. */
static enum hp_err grow_sums(const struct hp_exact *exact, struct hp_exact_sums *sums)
{
    size_t n_loops = exact->loops ? exact->loops->graph.n_loops : 0;
    HP_TRY(
        grow_one(&sums->blocks, &sums->cap_blocks, &sums->n_blocks, hp_code_n_blocks(exact->code)));
    HP_TRY(grow_one(&sums->calls, &sums->cap_calls, &sums->n_calls,
                    hp_functions_count(exact->functions)));
    return grow_one(&sums->trips, &sums->cap_trips, &sums->n_trips, n_loops);
}

static void free_sums(struct hp_exact_sums *sums)
{
    free(sums->blocks);
    free(sums->calls);
    free(sums->trips);
}

static void add_unit(const struct hp_exact *exact, struct hp_exact_sums *sums, uint32_t unit,
                     uint64_t count)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(exact->code, unit, &n);
    for (uint32_t i = 0; i < n; i++)
        sums->blocks[blocks[i]] += count;
}

/* The blocks of a running thread. */
static void add_cells(const struct hp_exact_thread *t, struct hp_exact_sums *sums)
{
    for (uint32_t i = 0; i < t->n_cells; i++) {
        uint64_t count = t->cells[i].count[0] + t->cells[i].count[1];
        if (count)
            add_unit(t->exact, sums, i, count);
    }
    for (size_t i = 0; i < t->extra.n_slots; i++) {
        const struct hp_tally64_slot *slot = &t->extra.slots[i];
        if (slot->key != HP_TALLY64_NONE && slot->count)
            add_unit(t->exact, sums, (uint32_t)(slot->key >> 32), slot->count);
    }
    for (size_t i = 0; i < t->tails.n_slots; i++) {
        const struct hp_tally64_slot *slot = &t->tails.slots[i];
        if (slot->key != HP_TALLY64_NONE)
            sums->blocks[slot->key] += slot->count;
    }
}

/* Where calls are counted: all by what is entered, or those of one function by the other one. */
struct sink {
    uint64_t *entered; /* by function; NULL: */
    uint32_t function;
    struct hp_exact_peek_calls *calls;
};

/* Without memory the stub stays what it is. */
static void add_stub(struct hp_exact_peek_calls *calls, uint64_t key, uint64_t count)
{
    uint64_t *sum = hp_tally64_add(&calls->stubs, key);
    if (sum)
        *sum += count;
}

static void add_calls(const struct hp_exact_thread *t, const struct sink *to, uint32_t call,
                      uint64_t count)
{
    if (call == HP_NO_ID || t->calls[call].callee == HP_NO_ID)
        return;
    uint32_t caller = t->calls[call].caller, callee = t->calls[call].callee;
    if (to->entered) {
        to->entered[callee] += count;
        return;
    }
    struct hp_exact_peek_calls *calls = to->calls;
    if (callee == to->function)
        calls->callers[caller < calls->n ? caller : calls->n] += count;
    if (caller == to->function)
        calls->callees[callee < calls->n ? callee : calls->n] += count;
    if (caller < calls->n && callee < calls->n && calls->is_stub[caller] != calls->is_stub[callee])
        add_stub(calls, (uint64_t)caller << 32 | callee, count);
}

static void add_excursions(const struct hp_exact_thread *t, const struct sink *to)
{
    const struct hp_excursions *e = &t->excursions;
    for (size_t i = 0; i < e->n; i++)
        for (uint32_t k = e->first[i]; k < e->first[i + 1]; k++)
            add_calls(t, to, t->context_more[e->visits[k].context].call, e->counts[i]);
}

/* While a thread runs, contexts count calls when their frames end; those on the stack have not. */
static void add_contexts(const struct hp_exact_thread *t, const struct sink *to)
{
    add_excursions(t, to);
    for (size_t i = 1; i < t->n_contexts; i++)
        add_calls(t, to, t->context_more[i].call, t->contexts[i].calls);
    for (size_t i = 0; i < t->n_frames; i++)
        add_calls(t, to, t->context_more[t->frames[i].context].call, 1);
}

static void add_thread_calls(const struct hp_exact_thread *t, const struct sink *to)
{
    for (uint32_t i = 0; i < t->n_calls; i++)
        add_calls(t, to, i, t->calls[i].count);
    if (!t->sealed)
        add_contexts(t, to);
}

static void add_thread(const struct hp_exact_thread *t, struct hp_exact_sums *sums)
{
    for (size_t i = 0; i < t->n_edges; i++) /* of a sealed thread */
        sums->blocks[t->edges[i].from] += t->edges[i].count;
    add_cells(t, sums);
    add_thread_calls(t, &(struct sink){.entered = sums->calls});
    for (size_t i = 0; t->loops && i < t->loops->n_records; i++)
        sums->trips[t->loops->trip_loops ? t->loops->trip_loops[i] : i] +=
            t->loops->trips[i].executions + t->loops->trips[i].repeats;
}

/* Adds up what is counted by phrase. */
static void settle_phrases(const struct hp_exact *exact)
{
    for (size_t i = 0; exact->loops && i < exact->n_threads; i++)
        if (!exact->threads[i]->sealed)
            hp_exact_phrases_settle(exact->threads[i]);
}

static void copy_sums(struct hp_exact_sums *to, const struct hp_exact_sums *from)
{
    memcpy(to->blocks, from->blocks, to->n_blocks * sizeof *to->blocks);
    memcpy(to->calls, from->calls, to->n_calls * sizeof *to->calls);
    memcpy(to->trips, from->trips, to->n_trips * sizeof *to->trips);
}

enum hp_err hp_exact_peek(const struct hp_profiler *profiler, struct hp_exact_peek *peek)
{
    const struct hp_exact *exact = (const struct hp_exact *)profiler;
    HP_TRY(grow_sums(exact, &peek->now));
    HP_TRY(grow_sums(exact, &peek->ended));
    HP_TRY(hp_grow(&peek->is_ended, &peek->cap_is_ended, exact->n_threads + 1,
                   sizeof *peek->is_ended));
    for (size_t i = 0; i < exact->n_threads; i++)
        if (exact->threads[i]->sealed && !peek->is_ended[i]) {
            peek->is_ended[i] = true;
            add_thread(exact->threads[i], &peek->ended);
        }
    copy_sums(&peek->now, &peek->ended);
    settle_phrases(exact);
    for (size_t i = 0; i < exact->n_threads; i++)
        if (!peek->is_ended[i])
            add_thread(exact->threads[i], &peek->now);
    return HP_OK;
}

void hp_exact_peek_fini(struct hp_exact_peek *peek)
{
    free_sums(&peek->now);
    free_sums(&peek->ended);
    free(peek->is_ended);
    *peek = (struct hp_exact_peek){0};
}

/* --- Calls ------------------------------------------------------------------------------------ */

static bool is_stub(const struct hp_function *function)
{
    const char *name = function->symbol ? function->symbol->linkage : "";
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, "@plt") == 0;
}

static enum hp_err begin_calls(const struct hp_exact *exact, bool fold,
                               struct hp_exact_peek_calls *calls)
{
    size_t n = hp_functions_count(exact->functions);
    HP_TRY(hp_grow(&calls->callers, &calls->cap_callers, n + 1, sizeof *calls->callers));
    HP_TRY(hp_grow(&calls->callees, &calls->cap_callees, n + 1, sizeof *calls->callees));
    HP_TRY(hp_grow(&calls->is_stub, &calls->cap_is_stub, n + 1, sizeof *calls->is_stub));
    HP_TRY(hp_grow(&calls->most, &calls->cap_most, n + 1, sizeof *calls->most));
    HP_TRY(hp_grow(&calls->target, &calls->cap_target, n + 1, sizeof *calls->target));
    for (; fold && calls->n_asked < n; calls->n_asked++)
        calls->is_stub[calls->n_asked] =
            is_stub(hp_functions_get(exact->functions, (uint32_t)calls->n_asked));
    memset(calls->callers, 0, (n + 1) * sizeof *calls->callers);
    memset(calls->callees, 0, (n + 1) * sizeof *calls->callees);
    memset(calls->most, 0, (n + 1) * sizeof *calls->most);
    hp_tally64_fini(&calls->stubs);
    calls->n = n;
    return HP_OK;
}

/* A call of a stub: where that led to the function, it is one of the function. */
static void fold_caller(struct hp_exact_peek_calls *calls, uint32_t caller, uint32_t stub,
                        uint64_t count)
{
    uint64_t through = calls->callers[stub] < count ? calls->callers[stub] : count;
    calls->callers[stub] -= through;
    calls->callers[caller] += through;
}

/* What it calls through a stub is what that leads to: most often, for the resolver is one, too. */
static void fold_calls(struct hp_exact_peek_calls *calls)
{
    for (size_t i = 0; i < calls->stubs.n_slots; i++) {
        const struct hp_tally64_slot *slot = &calls->stubs.slots[i];
        uint32_t caller = (uint32_t)(slot->key >> 32), callee = (uint32_t)slot->key;
        if (slot->key == HP_TALLY64_NONE)
            continue;
        if (calls->is_stub[callee]) {
            fold_caller(calls, caller, callee, slot->count);
        } else if (slot->count > calls->most[caller]) {
            calls->most[caller] = slot->count;
            calls->target[caller] = callee;
        }
    }
    for (size_t i = 0; i < calls->n; i++)
        if (calls->callees[i] && calls->is_stub[i] && calls->most[i]) {
            calls->callees[calls->target[i]] += calls->callees[i];
            calls->callees[i] = 0;
        }
}

enum hp_err hp_exact_peek_calls(const struct hp_profiler *profiler, uint32_t function, bool fold,
                                struct hp_exact_peek_calls *calls)
{
    const struct hp_exact *exact = (const struct hp_exact *)profiler;
    HP_TRY(begin_calls(exact, fold, calls));
    settle_phrases(exact);
    for (size_t i = 0; i < exact->n_threads; i++)
        add_thread_calls(exact->threads[i], &(struct sink){.function = function, .calls = calls});
    fold_calls(calls);
    return HP_OK;
}

void hp_exact_peek_calls_fini(struct hp_exact_peek_calls *calls)
{
    free(calls->callers);
    free(calls->callees);
    free(calls->is_stub);
    free(calls->most);
    free(calls->target);
    hp_tally64_fini(&calls->stubs);
    *calls = (struct hp_exact_peek_calls){0};
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* Lists the loops, with each one's position in the list. */
static enum hp_err list_loops(const struct hp_loop_graph *g, struct hp_exact_peek_loop **loops,
                              size_t *cap, size_t *n, uint32_t *place)
{
    *n = 0;
    for (size_t i = 0; i < g->n_functions; i++) {
        const struct hp_loop_function *f = &g->functions[i];
        HP_TRY(hp_grow(loops, cap, *n + f->n_loops + 1, sizeof **loops));
        for (size_t k = 0; k < f->n_loops; k++) {
            const struct hp_loop *loop = &g->loops[f->loops[k]];
            bool nested = loop->parent != HP_NO_ID && place[loop->parent] != HP_NO_ID;
            place[f->loops[k]] = (uint32_t)*n;
            (*loops)[(*n)++] = (struct hp_exact_peek_loop){
                .id = f->loops[k],
                .header = loop->header,
                .function = f->id,
                .depth = nested ? (*loops)[place[loop->parent]].depth + 1 : 0};
        }
    }
    return HP_OK;
}

/* Running a block runs the nodes of its chain. */
static void count_block(const struct hp_loop_graph *g, uint32_t block, uint64_t count,
                        const uint32_t *place, struct hp_exact_peek_loop *loops)
{
    for (uint32_t node = block; node != HP_NO_ID; node = g->nodes[node].next) {
        uint32_t heads = g->arrivals[node].loop, inner = g->nodes[node].inner;
        if (heads && heads != HP_LOOP_UNSEEN && place[heads - 1] != HP_NO_ID)
            loops[place[heads - 1]].iterations += count;
        if (inner != HP_NO_ID && place[inner] != HP_NO_ID)
            loops[place[inner]].self += count * hp_loop_graph_own(g, node);
    }
}

enum hp_err hp_exact_peek_loops(const struct hp_profiler *profiler, const uint64_t *blocks,
                                size_t n, struct hp_exact_peek_loop **loops, size_t *cap,
                                size_t *n_loops)
{
    const struct hp_exact *exact = (const struct hp_exact *)profiler;
    if (!exact->loops)
        return hp_fail(HP_ERR_INVALID, "loops were not wanted of this run");
    const struct hp_loop_graph *g = &exact->loops->graph;
    uint32_t *place = malloc((g->n_loops + 1) * sizeof *place);
    if (!place)
        return hp_fail_nomem();
    memset(place, 0xff, (g->n_loops + 1) * sizeof *place);
    enum hp_err err = list_loops(g, loops, cap, n_loops, place);
    for (uint32_t i = 0; err == HP_OK && i < n && i < g->n_nodes; i++)
        if (blocks[i])
            count_block(g, i, blocks[i], place, *loops);
    for (size_t i = err == HP_OK ? *n_loops : 0; i-- > 0;) {
        uint32_t parent = g->loops[(*loops)[i].id].parent;
        if (parent != HP_NO_ID && place[parent] != HP_NO_ID)
            (*loops)[place[parent]].self += (*loops)[i].self;
    }
    free(place);
    return err;
}
