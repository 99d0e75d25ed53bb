// SPDX-License-Identifier: MIT
/*
 * From the exact profiler's tables to the profile.
 */
#include "profiler/result.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/keyed.h"
#include "base/sums.h"
#include "profiler/exact/contexts.h"
#include "profiler/exact/exact_impl.h"
#include "profiler/exact/loops.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define TRIM                                                                                       \
    128 /* threads: their freed memory is returned to the system, as the growing tables cannot     \
           reuse it */

#define SOON       8  /* edges whose blocks are fetched before they are needed */
#define RANK_SHIFT 44 /* of a module's rank, above an offset */

struct sums {
    uint64_t self, inclusive, entered;
};

struct touched {
    uint32_t *items;
    size_t n, cap;
};

struct result {
    struct hp_exact *exact;
    struct hp_result *out;
    struct hp_profile *profile;
    struct hp_map64 edge_of;    /* from << 32 | to -> edge, where threads share them */
    struct hp_map64 call_of;    /* caller << 32 | callee -> call */
    struct hp_map64 context_of; /* as hp_exact_contexts_finish() needs it */
    uint64_t least;             /* that a context must have spent to be kept */
    uint32_t thread;
    uint32_t *ranks;        /* by module: its place in the order of the normal form */
    struct hp_keyed *order; /* the thread's edges in that order; and as much room */
    size_t n_order, cap_order;
    /* The thread's counts, and which blocks and functions have any: a thread may have run very
     * little of the code. */
    uint64_t *counts; /* by block */
    size_t cap_counts;
    struct touched blocks;
    struct sums *sums; /* by the profile's function */
    size_t cap_sums;
    struct touched functions;
};

/* --- Edges in order --------------------------------------------------------------------------- */

/* Edges are added in the order of a profile's normal form: then it has nothing to sort. Whatever is
 * not in order here is put in order there. */

static int by_path(const void *a, const void *b, void *code)
{
    return strcmp(hp_code_module(code, *(const uint32_t *)a)->path,
                  hp_code_module(code, *(const uint32_t *)b)->path);
}

static enum hp_err rank_modules(struct result *r)
{
    struct hp_code *code = r->exact->code;
    uint32_t n = hp_code_n_modules(code);
    uint32_t *ids HP_CLEANUP(hp_free) = malloc((n + 1) * sizeof *ids);
    r->ranks = malloc((n + 1) * sizeof *r->ranks);
    if (!ids || !r->ranks)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < n; i++)
        ids[i] = i;
    qsort_r(ids, n, sizeof *ids, by_path, code);
    for (uint32_t i = 0; i < n; i++)
        r->ranks[ids[i]] = i && by_path(&ids[i - 1], &ids[i], code) == 0 ? r->ranks[ids[i - 1]] : i;
    return HP_OK;
}

static uint64_t place_key(const struct result *r, uint32_t module, uint64_t address)
{
    return (uint64_t)r->ranks[module] << RANK_SHIFT ^
           hp_result_place(r->out, module, address).offset;
}

/* The indices of the edges that have a count, by where they come from, and then where they lead. */
static enum hp_err sort_edges(struct result *r, const struct hp_exact_thread *t)
{
    const struct hp_block *blocks = hp_code_blocks(r->exact->code);
    HP_TRY(hp_grow(&r->order, &r->cap_order, 2 * t->n_edges, sizeof *r->order));
    struct hp_keyed *order = r->order, *room = order + t->n_edges;
    r->n_order = 0;
    for (size_t i = 0; i < t->n_edges; i++) {
        const struct hp_exact_edge *edge = &t->edges[i];
        const struct hp_exact_edge *soon = &t->edges[i + SOON < t->n_edges ? i + SOON : i];
        if (soon->to != HP_NO_ID)
            __builtin_prefetch(&blocks[soon->to]);
        if (edge->to == HP_NO_ID || blocks[edge->from].flow == HP_FLOW_NONE)
            continue; /* a tail; or the seam of a long block, which is not an edge */
        const struct hp_block *to = &blocks[edge->to];
        order[r->n_order++] =
            (struct hp_keyed){.key = place_key(r, to->module, to->start), .index = (uint32_t)i};
    }
    hp_keyed_sort(order, room, r->n_order);
    for (size_t i = 0; i < r->n_order; i++) {
        size_t soon = i + SOON < r->n_order ? i + SOON : i, later = i + 2 * SOON;
        __builtin_prefetch(&t->edges[order[later < r->n_order ? later : i].index]);
        __builtin_prefetch(&blocks[t->edges[order[soon].index].from]);
        const struct hp_block *from = &blocks[t->edges[order[i].index].from];
        order[i].key = place_key(r, from->module, from->last);
    }
    hp_keyed_sort(order, room, r->n_order);
    return HP_OK;
}

/* --- Edges ------------------------------------------------------------------------------------ */

static bool same_edge(const struct hp_pedge *a, const struct hp_pedge *b)
{
    return a->from.module == b->from.module && a->from.offset == b->from.offset &&
           a->to.module == b->to.module && a->to.offset == b->to.offset && a->flow == b->flow &&
           a->taken == b->taken;
}

/* The profile's edge. Threads share those that they have in common, and so do blocks that end with
 * the same branch, which come one after the other. */
static enum hp_err edge_index(struct result *r, uint32_t from, uint32_t to, uint32_t *index)
{
    bool shared = r->exact->n_threads > 1;
    *index = shared ? hp_map64_get(&r->edge_of, (uint64_t)from << 32 | to) : HP_MAP64_NONE;
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    struct hp_pedge *edge, made = hp_result_edge(r->out, from, to);
    *index = (uint32_t)r->profile->n_edges;
    if (!shared && *index && same_edge(&made, &r->profile->edges[*index - 1])) {
        --*index;
        return HP_OK;
    }
    HP_TRY(hp_profile_add_edge(r->profile, &edge));
    *edge = made;
    return shared ? hp_map64_put(&r->edge_of, (uint64_t)from << 32 | to, *index) : HP_OK;
}

static bool is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

static enum hp_err add_edge_count(struct result *r, uint32_t from, uint32_t to, uint64_t count)
{
    uint8_t flow = hp_code_block(r->exact->code, from)->flow;
    struct hp_pcount *out =
        r->profile->n_edge_counts ? &r->profile->edge_counts[r->profile->n_edge_counts - 1] : NULL;
    uint32_t edge;
    HP_TRY(edge_index(r, from, to, &edge));
    if (is_branch(flow))
        r->profile->threads[r->thread].branches += count;
    if (out && out->item == edge && out->thread == r->thread) {
        hp_add_up(&out->count, count);
        return HP_OK;
    }
    HP_TRY(hp_profile_add_edge_count(r->profile, &out));
    *out = (struct hp_pcount){.item = edge, .thread = r->thread, .count = count};
    return HP_OK;
}

static enum hp_err add_edges(struct result *r, const struct hp_exact_thread *t)
{
    const struct hp_block *blocks = hp_code_blocks(r->exact->code);
    HP_TRY(sort_edges(r, t));
    for (size_t i = 0; i < r->n_order; i++) {
        size_t soon = i + SOON < r->n_order ? i + SOON : i, later = i + 2 * SOON;
        __builtin_prefetch(&t->edges[r->order[later < r->n_order ? later : i].index]);
        const struct hp_exact_edge *edge = &t->edges[r->order[soon].index];
        __builtin_prefetch(&blocks[edge->from]);
        __builtin_prefetch(&blocks[edge->to]);
        edge = &t->edges[r->order[i].index];
        HP_TRY(add_edge_count(r, edge->from, edge->to, edge->count));
    }
    return HP_OK;
}

/* --- A thread --------------------------------------------------------------------------------- */

static enum hp_err touch(struct touched *touched, uint32_t item)
{
    HP_TRY(hp_grow(&touched->items, &touched->cap, touched->n + 1, sizeof *touched->items));
    touched->items[touched->n++] = item;
    return HP_OK;
}

static enum hp_err add_to_sums(struct result *r, uint32_t function, struct sums add)
{
    HP_TRY(hp_grow(&r->sums, &r->cap_sums, (size_t)function + 1, sizeof *r->sums));
    struct sums *sums = &r->sums[function];
    if (!(add.self || add.inclusive || add.entered))
        return HP_OK;
    if (!(sums->self || sums->inclusive || sums->entered))
        HP_TRY(touch(&r->functions, function));
    sums->self += add.self;
    sums->inclusive += add.inclusive;
    sums->entered += add.entered;
    return HP_OK;
}

static enum hp_err add_block_counts(struct result *r)
{
    for (size_t i = 0; i < r->blocks.n; i++) {
        uint32_t block = r->blocks.items[i];
        uint64_t count = r->counts[block];
        struct hp_pcount *out;
        HP_TRY(hp_profile_add_block_count(r->profile, &out));
        *out = (struct hp_pcount){.item = block, .thread = r->thread, .count = count};
        uint64_t weight = count * hp_code_block(r->exact->code, block)->insns;
        r->profile->threads[r->thread].instructions += weight;
        r->profile->threads[r->thread].blocks += count;
        HP_TRY(add_to_sums(r, r->profile->blocks[block].function, (struct sums){.self = weight}));
        r->counts[block] = 0;
    }
    r->blocks.n = 0;
    return HP_OK;
}

/* Edges, and the executions of each block, which follow from them. */
static enum hp_err add_counts(struct result *r, const struct hp_exact_thread *t)
{
    HP_TRY(
        hp_grow(&r->counts, &r->cap_counts, hp_code_n_blocks(r->exact->code), sizeof *r->counts));
    for (size_t i = 0; i < t->n_edges; i++) {
        const struct hp_exact_edge *edge = &t->edges[i];
        if (edge->count && !r->counts[edge->from])
            HP_TRY(touch(&r->blocks, edge->from));
        r->counts[edge->from] += edge->count;
    }
    HP_TRY(add_edges(r, t));
    return add_block_counts(r);
}

static enum hp_err call_index(struct result *r, uint32_t caller, uint32_t callee, uint32_t *index)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    struct hp_pcall *out;
    *index = hp_map64_get(&r->call_of, key);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    *index = (uint32_t)r->profile->n_calls;
    HP_TRY(hp_profile_add_call(r->profile, &out));
    *out = (struct hp_pcall){.caller = caller, .callee = callee};
    return hp_map64_put(&r->call_of, key, *index);
}

static enum hp_err add_calls(struct result *r, const struct hp_exact_thread *t)
{
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct hp_call *call = &t->calls[i];
        uint32_t caller, callee;
        HP_TRY(hp_result_function(r->out, call->caller, &caller));
        HP_TRY(hp_result_function(r->out, call->callee, &callee));
        HP_TRY(add_to_sums(r, callee, (struct sums){.entered = call->count}));
        struct hp_pcall_count *count;
        uint32_t index;
        HP_TRY(call_index(r, caller, callee, &index));
        HP_TRY(hp_profile_add_call_count(r->profile, &count));
        *count = (struct hp_pcall_count){
            .item = index, .thread = r->thread, .count = call->count, .inclusive = call->inclusive};
    }
    return HP_OK;
}

static enum hp_err add_activities(struct result *r, const struct hp_exact_thread *t)
{
    for (size_t i = 0; i < t->n_activities; i++) {
        uint32_t index = hp_result_known_function(r->out, t->activities[i].function);
        if (index != HP_PROFILE_NONE)
            HP_TRY(add_to_sums(r, index, (struct sums){.inclusive = t->activities[i].inclusive}));
    }
    return HP_OK;
}

static enum hp_err add_function_counts(struct result *r, bool unordered)
{
    for (size_t i = 0; i < r->functions.n; i++) {
        struct sums *sums = &r->sums[r->functions.items[i]];
        struct hp_pfunction_count *out;
        HP_TRY(hp_profile_add_function_count(r->profile, &out));
        /* Code that was never entered by an observed transfer has at least its own instructions;
         * without an order nothing is known. */
        *out = (struct hp_pfunction_count){.item = r->functions.items[i],
                                           .thread = r->thread,
                                           .self = sums->self,
                                           .inclusive = unordered ? 0
                                                        : sums->inclusive > sums->self
                                                            ? sums->inclusive
                                                            : sums->self,
                                           .calls = sums->entered};
        *sums = (struct sums){0};
    }
    r->functions.n = 0;
    return HP_OK;
}

static enum hp_err add_notes(struct result *r, const struct hp_exact_thread *t)
{
    if (t->unordered)
        HP_TRY(hp_profile_note(r->profile, 1, "counted",
                               "what was executed was counted, not recorded in order: inclusive "
                               "counts%s are not known",
                               t->loops ? " and how iterations are distributed" : ""));
    if (t->uncertain)
        HP_TRY(
            hp_profile_note(r->profile, t->uncertain, "cut",
                            "threads were stopped inside a block when their process ended; those "
                            "blocks are counted whole"));
    if (t->overflows)
        HP_TRY(hp_profile_note(r->profile, t->overflows, "depth",
                               "a thread had %zu calls that had not returned: they were taken to "
                               "be over",
                               r->exact->most_frames));
    return HP_OK;
}

static enum hp_err add_thread(struct result *r, struct hp_exact_thread *t)
{
    HP_TRY(hp_result_thread(r->out, &t->info, &r->thread));
    /* These counts are exact and replace earlier ones. */
    struct hp_pthread *thread = &r->profile->threads[r->thread];
    thread->instructions = thread->blocks = thread->branches = 0;
    if (hp_functions_renamed(r->exact->functions))
        HP_TRY(hp_exact_contexts_rename(t));
    HP_TRY(add_counts(r, t));
    HP_TRY(add_calls(r, t)); /* may add functions that have no block */
    HP_TRY(add_activities(r, t));
    HP_TRY(add_function_counts(r, t->unordered));
    HP_TRY(hp_exact_contexts_finish(t, r->least, r->thread, r->out, &r->context_of));
    return add_notes(r, t);
}

static int by_id(const void *a, const void *b)
{
    const struct hp_exact_thread *x = *(struct hp_exact_thread *const *)a;
    const struct hp_exact_thread *y = *(struct hp_exact_thread *const *)b;
    return x->info.id < y->info.id ? -1 : x->info.id > y->info.id;
}

enum hp_err hp_exact_settle(struct hp_exact *exact)
{
    if (exact->n_threads) /* in whatever order they started */
        qsort(exact->threads, exact->n_threads, sizeof *exact->threads, by_id);
    for (size_t i = 0; i < exact->n_threads; i++)
        hp_exact_seal(exact->threads[i]); /* those that did not end properly */
    return exact->out_of_memory
               ? hp_fail(HP_ERR_NOMEM, "out of memory while counting; the profile would be wrong")
               : HP_OK;
}

enum hp_err hp_exact_finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    HP_TRY(hp_exact_settle(exact));
    struct result r = {.exact = exact, .out = result, .profile = result->profile};
    HP_TRY(hp_exact_contexts_least(exact, &r.least));
    HP_TRY(hp_result_code(result));
    enum hp_err err = rank_modules(&r);
    for (size_t i = 0; err == HP_OK && i < exact->n_threads; i++) {
        err = add_thread(&r, exact->threads[i]);
        hp_exact_forget(exact->threads[i]);
        if (i % TRIM == TRIM - 1)
            malloc_trim(0);
    }
    hp_map64_fini(&r.edge_of);
    hp_map64_fini(&r.call_of);
    hp_map64_fini(&r.context_of);
    free(r.ranks);
    free(r.order);
    free(r.counts);
    free(r.blocks.items);
    free(r.sums);
    free(r.functions.items);
    if (err == HP_OK && exact->loops)
        err = hp_exact_loops_finish(exact, result);
    return err;
}
