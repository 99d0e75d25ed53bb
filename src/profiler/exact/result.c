// SPDX-License-Identifier: MIT
/*
 * From the exact profiler's tables to the profile.
 */
#include "profiler/result.h"
#include "base/grow.h"
#include "profiler/exact/contexts.h"
#include "profiler/exact/exact_impl.h"
#include "profiler/exact/loops.h"

#include <stdlib.h>
#include <string.h>

struct result {
    struct hp_exact *exact;
    struct hp_result *out;
    struct hp_profile *profile;
    struct hp_map64 edge_of;    /* from << 32 | to -> edge */
    struct hp_map64 context_of; /* as hp_exact_contexts_finish() wants it */
    uint32_t thread;
    uint64_t *self;      /* of the thread, by profile's function */
    uint64_t *inclusive; /* of the thread, by function id */
    size_t cap_inclusive;
};

/* --- Edges ------------------------------------------------------------------------------------- */

static enum hp_err edge_index(struct result *r, uint32_t from, uint32_t to, uint32_t *index)
{
    const struct hp_code *code = r->exact->code;
    *index = hp_map64_get(&r->edge_of, (uint64_t)from << 32 | to);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    const struct hp_block *a = hp_code_block(code, from), *b = hp_code_block(code, to);
    *index = (uint32_t)r->profile->n_edges;
    struct hp_pedge *edge;
    HP_TRY(hp_profile_add_edge(r->profile, &edge));
    edge->from = hp_result_place(r->out, a->module, a->last);
    edge->to = hp_result_place(r->out, b->module, b->start);
    edge->flow = a->flow;
    bool may_fall = a->flow == HP_FLOW_COND || a->flow == HP_FLOW_SYSCALL ||
                    a->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB);
    edge->taken = !(may_fall && b->start == a->end);
    return hp_map64_put(&r->edge_of, (uint64_t)from << 32 | to, *index);
}

static bool is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

static enum hp_err add_edge_count(struct result *r, uint32_t from, uint32_t to, uint64_t count)
{
    uint8_t flow = hp_code_block(r->exact->code, from)->flow;
    struct hp_pcount *out;
    uint32_t edge;
    if (flow == HP_FLOW_NONE) /* the seam of a long block is not an edge */
        return HP_OK;
    HP_TRY(edge_index(r, from, to, &edge));
    HP_TRY(hp_profile_add_edge_count(r->profile, &out));
    *out = (struct hp_pcount){.item = edge, .thread = r->thread, .count = count};
    if (is_branch(flow))
        r->profile->threads[r->thread].branches += count;
    return HP_OK;
}

/* --- A thread --------------------------------------------------------------------------------- */

static enum hp_err add_block_counts(struct result *r, const uint64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!counts[i])
            continue;
        struct hp_pcount *out;
        HP_TRY(hp_profile_add_block_count(r->profile, &out));
        *out = (struct hp_pcount){.item = (uint32_t)i, .thread = r->thread, .count = counts[i]};
        uint64_t weight = counts[i] * hp_code_block(r->exact->code, (uint32_t)i)->insns;
        r->profile->threads[r->thread].instructions += weight;
        r->profile->threads[r->thread].blocks += counts[i];
        r->self[r->profile->blocks[i].function] += weight;
    }
    return HP_OK;
}

/* Edges, and from them how often each block was executed. */
static enum hp_err add_counts(struct result *r, const struct hp_exact_thread *t)
{
    size_t n = hp_code_n_blocks(r->exact->code);
    uint64_t *counts = calloc(n + 1, sizeof *counts);
    if (!counts)
        return hp_fail_nomem();
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < t->n_edges && err == HP_OK; i++) {
        const struct hp_exact_edge *edge = &t->edges[i];
        counts[edge->from] += edge->count;
        if (edge->to != HP_NO_ID)
            err = add_edge_count(r, edge->from, edge->to, edge->count);
    }
    if (err == HP_OK)
        err = add_block_counts(r, counts, n);
    free(counts);
    return err;
}

static enum hp_err add_calls(struct result *r, const struct hp_exact_thread *t, uint64_t *entered)
{
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct hp_call *call = &t->calls[i];
        uint32_t caller, callee;
        HP_TRY(hp_result_function(r->out, call->caller, &caller));
        HP_TRY(hp_result_function(r->out, call->callee, &callee));
        entered[callee] += call->count;
        struct hp_pcall *out;
        struct hp_pcall_count *count;
        uint32_t index = (uint32_t)r->profile->n_calls;
        HP_TRY(hp_profile_add_call(r->profile, &out));
        *out = (struct hp_pcall){.caller = caller, .callee = callee};
        HP_TRY(hp_profile_add_call_count(r->profile, &count));
        *count = (struct hp_pcall_count){
            .item = index, .thread = r->thread, .count = call->count, .inclusive = call->inclusive};
    }
    return HP_OK;
}

/* What functions took inclusively, by id. */
static enum hp_err spread_inclusive(struct result *r, const struct hp_exact_thread *t)
{
    size_t n = hp_functions_count(r->exact->functions);
    HP_TRY(hp_grow(&r->inclusive, &r->cap_inclusive, n + 1, sizeof *r->inclusive));
    memset(r->inclusive, 0, n * sizeof *r->inclusive);
    for (size_t i = 0; i < t->n_activities; i++)
        r->inclusive[t->activities[i].function] = t->activities[i].inclusive;
    return HP_OK;
}

static enum hp_err add_function_counts(struct result *r, const struct hp_exact_thread *t,
                                       const uint64_t *entered)
{
    HP_TRY(spread_inclusive(r, t));
    for (uint32_t id = 0; id < hp_functions_count(r->exact->functions); id++) {
        uint32_t index = hp_result_known_function(r->out, id);
        uint64_t inclusive = r->inclusive[id];
        if (index == HP_PROFILE_NONE || !(r->self[index] || inclusive || entered[index]))
            continue;
        struct hp_pfunction_count *out;
        HP_TRY(hp_profile_add_function_count(r->profile, &out));
        /* Code that was never entered by a transfer we saw is at least its own instructions; without
         * an order nothing is known. */
        *out =
            (struct hp_pfunction_count){.item = index,
                                        .thread = r->thread,
                                        .self = r->self[index],
                                        .inclusive = t->unordered                 ? 0
                                                     : inclusive > r->self[index] ? inclusive
                                                                                  : r->self[index],
                                        .calls = entered[index]};
    }
    return HP_OK;
}

static enum hp_err add_thread(struct result *r, struct hp_exact_thread *t)
{
    HP_TRY(hp_result_thread(r->out, &t->info, &r->thread));
    /* What is counted here is exact, whoever said something before. */
    struct hp_pthread *thread = &r->profile->threads[r->thread];
    thread->instructions = thread->blocks = thread->branches = 0;
    /* Calls may still bring functions that no block is in. */
    size_t n = r->profile->n_functions + t->n_calls * 2 + 1;
    r->self = calloc(n, sizeof *r->self);
    uint64_t *entered = calloc(n, sizeof *entered);
    enum hp_err err = r->self && entered ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        err = add_counts(r, t);
    if (err == HP_OK)
        err = add_calls(r, t, entered);
    if (err == HP_OK)
        err = add_function_counts(r, t, entered);
    if (err == HP_OK)
        err = hp_exact_contexts_finish(t, r->thread, r->out, &r->context_of);
    free(entered);
    free(r->self);
    r->self = NULL;
    if (err == HP_OK && t->unordered)
        err = hp_profile_note(r->profile, 1, "counted",
                              "what was executed was counted, not recorded in order: inclusive "
                              "counts are not known");
    if (err == HP_OK && t->uncertain)
        err = hp_profile_note(r->profile, t->uncertain, "cut",
                              "blocks may have been left before their end by a fatal signal; they "
                              "are counted whole");
    if (err == HP_OK && t->overflows)
        err = hp_profile_note(r->profile, t->overflows, "depth",
                              "a thread had %zu calls that had not returned: they were taken to be "
                              "over",
                              r->exact->most_frames);
    return err;
}

static int by_id(const void *a, const void *b)
{
    const struct hp_exact_thread *x = *(struct hp_exact_thread *const *)a;
    const struct hp_exact_thread *y = *(struct hp_exact_thread *const *)b;
    return x->info.id < y->info.id ? -1 : x->info.id > y->info.id;
}

enum hp_err hp_exact_settle(struct hp_exact *exact)
{
    if (exact->n_threads) /* whichever was heard of first */
        qsort(exact->threads, exact->n_threads, sizeof *exact->threads, by_id);
    for (size_t i = 0; i < exact->n_threads; i++)
        hp_exact_seal(exact->threads[i]); /* of those that did not end in order */
    return exact->out_of_memory
               ? hp_fail(HP_ERR_NOMEM, "out of memory while counting; the profile would be wrong")
               : HP_OK;
}

enum hp_err hp_exact_finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    HP_TRY(hp_exact_settle(exact));
    struct result r = {.exact = exact, .out = result, .profile = result->profile};
    HP_TRY(hp_result_code(result));
    enum hp_err err = HP_OK;
    for (size_t i = 0; err == HP_OK && i < exact->n_threads; i++)
        err = add_thread(&r, exact->threads[i]);
    hp_map64_fini(&r.edge_of);
    hp_map64_fini(&r.context_of);
    free(r.inclusive);
    if (err == HP_OK && exact->loops)
        err = hp_exact_loops_finish(exact, result);
    return err;
}
