// SPDX-License-Identifier: MIT
#include "profiler/exact/contexts.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "profiler/exact/syscalls.h"
#include "profiler/result.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_exact_contexts_start(struct hp_exact_thread *t)
{
    HP_TRY(hp_grow(&t->contexts, &t->cap_contexts, 1, sizeof *t->contexts));
    HP_TRY(hp_grow(&t->context_more, &t->cap_context_more, 1, sizeof *t->context_more));
    t->contexts[0].function = HP_CONTEXT_NOTHING;
    t->contexts[0].caller = HP_CONTEXT_NO_CALL;
    t->context_more[0] = (struct hp_context_more){.parent = HP_NO_ID, .call = HP_NO_ID};
    t->n_contexts = 1;
    return HP_OK;
}

/* --- Finding one ------------------------------------------------------------------------------ */

static uint32_t call_of(struct hp_exact_thread *t, uint32_t function, uint32_t caller)
{
    return caller == HP_CONTEXT_NO_CALL ? HP_NO_ID : hp_exact_find_call(t, caller, function);
}

/* Its key in the map: its function if no call enters it or, nearly always, one from its parent's
 * function; else its call. Functions and calls are far below 2^30. */
static uint64_t key_of(struct hp_exact_thread *t, uint32_t parent, uint32_t function,
                       uint32_t caller)
{
    uint64_t key = (uint64_t)parent << 32;
    if (caller == HP_CONTEXT_NO_CALL)
        return key | UINT32_C(2) << 30 | function;
    if (caller == t->contexts[parent].function)
        return key | UINT32_C(1) << 30 | function;
    return key | call_of(t, function, caller);
}

static uint32_t add_context(struct hp_exact_thread *t, uint32_t parent, uint32_t function,
                            uint32_t caller)
{
    uint32_t index = (uint32_t)t->n_contexts, call = call_of(t, function, caller);
    if (hp_grow(&t->contexts, &t->cap_contexts, t->n_contexts + 1, sizeof *t->contexts) != HP_OK ||
        hp_grow(&t->context_more, &t->cap_context_more, t->n_contexts + 1,
                sizeof *t->context_more) != HP_OK ||
        hp_map64_put(&t->context_of, key_of(t, parent, function, caller), index) != HP_OK) {
        t->exact->out_of_memory = true;
        return parent;
    }
    t->contexts[index] =
        (struct hp_context){.function = function, .caller = caller, .after = index};
    t->context_more[index] = (struct hp_context_more){
        .parent = parent,
        .call = call,
        .depth = (uint16_t)(function == HP_CONTEXT_SIGNAL ? 0 : t->context_more[parent].depth + 1),
        .signals = (uint16_t)(t->context_more[parent].signals + (function == HP_CONTEXT_SIGNAL))};
    t->n_contexts++;
    t->exact->n_own_contexts += function < HP_CONTEXT_REST || function == HP_NO_ID;
    return index;
}

/* Whether there is no room for a child. There must be room where a thread's history begins. */
static bool is_full(const struct hp_exact_thread *t, uint32_t parent, uint32_t function)
{
    const struct hp_context_more *more = &t->context_more[parent];
    if (function == HP_CONTEXT_SIGNAL && more->signals >= HP_CONTEXT_SIGNALS)
        return true;
    bool begins = more->depth == 0 && more->signals == 0;
    return (!begins && t->exact->n_own_contexts >= t->exact->most_contexts) ||
           (function != HP_CONTEXT_SIGNAL && more->depth >= HP_CONTEXT_DEPTH);
}

/* Creates the missing child, or finds the rest that replaces it. */
static uint32_t new_context(struct hp_exact_thread *t, uint32_t parent, uint32_t function,
                            uint32_t caller)
{
    if (!is_full(t, parent, function))
        return add_context(t, parent, function, caller);
    uint32_t rest =
        hp_map64_get(&t->context_of, key_of(t, parent, HP_CONTEXT_REST, HP_CONTEXT_NO_CALL));
    return rest != HP_MAP64_NONE ? rest
                                 : add_context(t, parent, HP_CONTEXT_REST, HP_CONTEXT_NO_CALL);
}

/* The child, if it is near the last one; 0: it is not. */
static uint32_t find_near(const struct hp_exact_thread *t, uint32_t last, uint32_t function,
                          uint32_t caller)
{
    const struct hp_context *all = t->contexts;
    const uint32_t near[] = {all[last].after, last, all[all[last].after].after};
    for (int i = 0; i < 3 && last; i++)
        if (hp_context_is_of(&all[near[i]], function, caller))
            return near[i];
    return 0;
}

static uint32_t find(struct hp_exact_thread *t, uint32_t parent, uint32_t function, uint32_t caller)
{
    if (hp_context_is_rest(&t->contexts[parent]))
        return parent;
    uint64_t key = key_of(t, parent, function, caller);
    hp_map64_fetch(&t->context_of, key);
    uint32_t last = t->contexts[parent].last, child = find_near(t, last, function, caller);
    if (!child)
        child = hp_map64_get(&t->context_of, key);
    if (child == HP_MAP64_NONE)
        child = new_context(t, parent, function, caller);
    if (child == parent)
        return child; /* out of memory */
    if (last && child != last)
        t->contexts[last].after = child;
    t->contexts[parent].last = child;
    return child;
}

/* --- Rests ------------------------------------------------------------------------------------ */

/*
 * Contexts do not distinguish the frames in a rest: what they spend counts for a function or call
 * when no other activation of it is on the stack. So activations are counted, of frames in a rest
 * and, when one is entered, of all below it that are not counted yet.
 */

/* Makes room to count activations of functions. */
static bool grow_activities(struct hp_exact_thread *t)
{
    if (hp_grow(&t->activities, &t->cap_activities, hp_functions_count(t->exact->functions),
                sizeof *t->activities) == HP_OK)
        return true;
    t->exact->out_of_memory = true;
    return false;
}

static void activate(struct hp_exact_thread *t, struct hp_frame *frame)
{
    if (!hp_context_is_rest(&t->contexts[frame->context]))
        frame->call = t->context_more[frame->context].call;
    if (frame->function != HP_NO_ID)
        t->activities[frame->function].active++;
    if (frame->call != HP_NO_ID)
        t->calls[frame->call].active++;
}

/* The frame at the top is in a rest. */
static void enter_rest(struct hp_exact_thread *t, const struct hp_frame *frame)
{
    if (grow_activities(t))
        while (t->n_active < t->n_frames)
            activate(t, &t->frames[t->n_active++]);
    if (frame->call == HP_NO_ID)
        return;
    t->contexts[frame->context].calls++;
    t->calls[frame->call].count++;
}

void hp_exact_contexts_leave_active(struct hp_exact_thread *t, const struct hp_frame *frame,
                                    uint64_t spent)
{
    bool rest = hp_context_is_rest(&t->contexts[frame->context]);
    struct hp_activity *activity = &t->activities[frame->function];
    struct hp_call *call = &t->calls[frame->call];
    const struct hp_frame *below = t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
    t->n_active = t->n_frames;
    if (rest && !(below && hp_context_is_rest(&t->contexts[below->context])))
        t->contexts[frame->context].inclusive += spent;
    if (frame->function != HP_NO_ID && --activity->active == 0 && rest)
        activity->inclusive += spent;
    if (frame->call != HP_NO_ID && --call->active == 0 && rest)
        call->inclusive += spent;
}

uint32_t hp_exact_contexts_child(struct hp_exact_thread *t, uint32_t parent, uint32_t function,
                                 uint32_t caller)
{
    return find(t, parent, function, caller);
}

void hp_exact_contexts_find(struct hp_exact_thread *t, struct hp_frame *frame, uint32_t parent,
                            uint32_t function, uint32_t caller)
{
    frame->context = find(t, parent, function, caller);
    if (!hp_context_is_rest(&t->contexts[frame->context]))
        return;
    frame->call = call_of(t, function, caller);
    enter_rest(t, frame);
}

/* Counts it as entered by this call, but leaves it in its context. */
void hp_exact_contexts_again(struct hp_exact_thread *t, const struct hp_frame *frame,
                             uint32_t caller)
{
    uint32_t at = frame->context;
    if (at == 0)
        return; /* there was no memory for it */
    if (!hp_context_is_rest(&t->contexts[at]))
        at = t->context_more[at].parent;
    at = find(t, at, frame->function, caller);
    t->contexts[at].calls++;
    if (!hp_context_is_rest(&t->contexts[at]))
        return;
    uint32_t call = hp_exact_find_call(t, caller, frame->function);
    if (call != HP_NO_ID)
        t->calls[call].count++;
}

/* --- The end of a thread ---------------------------------------------------------------------- */

/* Enters or leaves a context, and counts what is outermost: `times` 1. -1: undoes that. */
static void visit(struct hp_exact_thread *t, uint32_t i, bool begin, int times)
{
    const struct hp_context *context = &t->contexts[i];
    uint32_t call = t->context_more[i].call;
    if (call != HP_NO_ID && begin) {
        t->calls[call].count += (uint64_t)times * context->calls;
        if (t->calls[call].active++ == 0)
            t->calls[call].inclusive += (uint64_t)times * context->inclusive;
    } else if (call != HP_NO_ID) {
        t->calls[call].active--;
    }
    if (context->function >= HP_CONTEXT_REST)
        return;
    struct hp_activity *activity = &t->activities[context->function];
    if (begin && activity->active++ == 0)
        activity->inclusive += (uint64_t)times * context->inclusive;
    else if (!begin)
        activity->active--;
}

/* Walks the tree, children before siblings. `links`: each context's first child and next sibling;
 * 0: none. */
static void visit_all(struct hp_exact_thread *t, uint32_t (*links)[2], int times)
{
    for (size_t i = t->n_contexts; i-- > 1;) {
        uint32_t *first = &links[t->context_more[i].parent][0];
        links[i][1] = *first;
        *first = (uint32_t)i;
    }
    for (uint32_t at = links[0][0]; at;) {
        visit(t, at, true, times);
        if (links[at][0]) {
            at = links[at][0];
            continue;
        }
        visit(t, at, false, times);
        while (at && !links[at][1]) {
            at = t->context_more[at].parent;
            if (at)
                visit(t, at, false, times);
        }
        at = links[at][1];
    }
}

static enum hp_err walk(struct hp_exact_thread *t, int times)
{
    uint32_t(*links)[2] = calloc(t->n_contexts, sizeof *links);
    if (!links)
        return hp_fail_nomem();
    visit_all(t, links, times);
    free(links);
    return HP_OK;
}

/* Most threads run few of all functions. */
static void keep_activities(struct hp_exact_thread *t)
{
    struct hp_activity *all = t->activities;
    for (uint32_t i = 0; i < t->cap_activities; i++)
        if (all[i].inclusive) {
            all[t->n_activities] = all[i];
            all[t->n_activities++].function = i;
        }
    struct hp_activity *kept = realloc(all, (t->n_activities + 1) * sizeof *kept);
    t->activities = kept ? kept : all;
    t->cap_activities = 0; /* nothing is added from here on */
}

/* What runs above an activation of the same function or call counts in that one. */
void hp_exact_contexts_seal(struct hp_exact_thread *t)
{
    if (t->n_contexts <= 1 || !grow_activities(t))
        return;
    if (walk(t, 1) == HP_OK)
        keep_activities(t);
    else
        t->exact->out_of_memory = true;
}

/* --- Other names ------------------------------------------------------------------------------ */

/* By function id again, as before keep_activities(). */
static enum hp_err spread_activities(struct hp_exact_thread *t)
{
    struct hp_activity *kept = t->activities;
    size_t n = t->n_activities;
    t->activities = NULL;
    t->n_activities = 0;
    bool grown = grow_activities(t);
    for (size_t i = 0; i < n && grown; i++)
        t->activities[kept[i].function].inclusive = kept[i].inclusive;
    free(kept);
    return grown ? HP_OK : hp_fail_nomem();
}

static void rename_activities(struct hp_exact_thread *t)
{
    for (uint32_t i = 0; i < t->cap_activities; i++) {
        uint64_t inclusive = t->activities[i].inclusive;
        if (inclusive) {
            t->activities[i].inclusive = 0;
            t->activities[hp_functions_final(t->exact->functions, i)].inclusive += inclusive;
        }
    }
}

/* Calls between the same two functions become the first of them. `first`: by call. */
static enum hp_err rename_calls(struct hp_exact_thread *t, uint32_t *first)
{
    const struct hp_functions *functions = t->exact->functions;
    struct hp_map64 known = {0};
    enum hp_err err = HP_OK;
    for (uint32_t i = 0; i < t->n_calls && err == HP_OK; i++) {
        struct hp_call *call = &t->calls[i];
        call->caller = hp_functions_final(functions, call->caller);
        call->callee = hp_functions_final(functions, call->callee);
        uint64_t key = (uint64_t)call->caller << 32 | call->callee;
        first[i] = hp_map64_get(&known, key);
        if (first[i] == HP_MAP64_NONE) {
            first[i] = i;
            err = hp_map64_put(&known, key, i);
            continue;
        }
        t->calls[first[i]].count += call->count;
        t->calls[first[i]].inclusive += call->inclusive;
        call->count = call->inclusive = 0;
    }
    hp_map64_fini(&known);
    return err;
}

static enum hp_err rename_contexts(struct hp_exact_thread *t)
{
    uint32_t *first = malloc((t->n_calls + 1) * sizeof *first);
    enum hp_err err = first ? rename_calls(t, first) : hp_fail_nomem();
    for (size_t i = 0; i < t->n_contexts && err == HP_OK; i++) {
        uint32_t *function = &t->contexts[i].function, *call = &t->context_more[i].call;
        if (*function < HP_CONTEXT_REST)
            *function = hp_functions_final(t->exact->functions, *function);
        if (*call != HP_NO_ID)
            *call = first[*call];
    }
    free(first);
    return err;
}

/* In a rest, activations of functions that are one now may each have counted the same. */
static void limit_sums(struct hp_exact_thread *t)
{
    for (size_t i = 0; i < t->n_calls; i++)
        if (t->calls[i].inclusive > t->clock)
            t->calls[i].inclusive = t->clock;
    for (uint32_t i = 0; i < t->cap_activities; i++)
        if (t->activities[i].inclusive > t->clock)
            t->activities[i].inclusive = t->clock;
}

/* What counted in rests is not in the tree: it stays in the sums, and the tree is counted anew. */
enum hp_err hp_exact_contexts_rename(struct hp_exact_thread *t)
{
    if (t->n_contexts <= 1)
        return HP_OK;
    HP_TRY(spread_activities(t));
    HP_TRY(walk(t, -1));
    rename_activities(t);
    HP_TRY(rename_contexts(t));
    HP_TRY(walk(t, 1));
    limit_sums(t);
    keep_activities(t);
    return HP_OK;
}

/* --- The result ------------------------------------------------------------------------------- */

#define DIGIT 16 /* bits of a number that are looked at together */

/* Of the contexts of functions, in all threads, that spent `high << shift` to
 * `(high + 1 << shift) - 1`, counts how many have each next digit. */
static void count_digits(const struct hp_exact *exact, uint64_t high, unsigned shift,
                         size_t *counts)
{
    memset(counts, 0, (sizeof *counts) << DIGIT);
    for (size_t k = 0; k < exact->n_threads; k++) {
        const struct hp_exact_thread *t = exact->threads[k];
        for (size_t i = 1; i < t->n_contexts; i++) {
            const struct hp_context *c = &t->contexts[i];
            uint64_t digits = c->inclusive >> (shift - DIGIT);
            if (digits >> DIGIT == high &&
                (c->function < HP_CONTEXT_REST || c->function == HP_NO_ID))
                counts[digits & ((1u << DIGIT) - 1)]++;
        }
    }
}

/* The least number that no more contexts than are kept have reached: digit by digit, it is one more
 * than the largest that more have reached. */
enum hp_err hp_exact_contexts_least(const struct hp_exact *exact, uint64_t *least)
{
    size_t *counts HP_CLEANUP(hp_free) = NULL, above = 0;
    *least = 0;
    if (exact->n_own_contexts <= exact->kept_contexts)
        return HP_OK;
    HP_TRY(hp_new(&counts, (size_t)1 << DIGIT, sizeof *counts));
    for (unsigned shift = 64; shift; shift -= DIGIT) {
        uint64_t digit = 1u << DIGIT;
        count_digits(exact, *least, shift, counts);
        while (digit > 1 && above + counts[digit - 1] <= exact->kept_contexts)
            above += counts[--digit];
        *least = *least << DIGIT | (digit - 1);
    }
    *least += 1;
    return HP_OK;
}

/* Turns contexts that spent less, as did all their children, into rests. Signals and the start of a
 * history stay. */
static void drop_light(struct hp_exact_thread *t, uint64_t least)
{
    for (size_t i = 1; i < t->n_contexts; i++) {
        struct hp_context *context = &t->contexts[i];
        if (context->inclusive >= least || t->context_more[i].depth <= 1 ||
            context->function == HP_CONTEXT_REST)
            continue;
        context->function = HP_CONTEXT_REST;
        if (context->caller == HP_CONTEXT_NO_CALL)
            context->calls = 0;
    }
}

/* What is attributed to a context, but of others. */
struct rest {
    uint64_t instructions, calls;
};

/* Makes `inclusive` exclusive: subtracts the children, which come later in the array, except rests.
 * These are added up by the context that they count in. */
static void leave_own(struct hp_exact_thread *t, struct rest *rests)
{
    for (size_t i = 1; i < t->n_contexts; i++) {
        struct hp_context *context = &t->contexts[i];
        uint32_t parent = t->context_more[i].parent, from = parent;
        while (t->contexts[from].function == HP_CONTEXT_REST)
            from = t->context_more[from].parent;
        if (context->function != HP_CONTEXT_REST) {
            t->contexts[from].inclusive -= context->inclusive;
            rests[from].instructions -= from != parent ? context->inclusive : 0;
            continue;
        }
        rests[from].instructions += from == parent ? context->inclusive : 0;
        rests[from].calls += context->calls;
    }
}

/* The profile's index of a context. */
static enum hp_err known_context(struct hp_profile *profile, struct hp_map64 *known,
                                 uint32_t parent, uint32_t function, uint32_t *index)
{
    uint64_t key = (uint64_t)(uint32_t)(parent + 1) << 32 | function;
    *index = hp_map64_get(known, key);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    struct hp_pcontext *out;
    *index = (uint32_t)profile->n_contexts;
    HP_TRY(hp_profile_add_context(profile, &out));
    *out = (struct hp_pcontext){.parent = parent, .function = function};
    return hp_map64_put(known, key, *index);
}

/* `parent`, `*index`: in the profile; HP_PROFILE_NONE: none, as for a mere boundary. */
static enum hp_err add_context_count(const struct hp_context *context, const struct rest *rest,
                                     uint32_t thread, uint32_t parent, struct hp_result *result,
                                     struct hp_map64 *known, uint32_t *index)
{
    uint32_t function = HP_PROFILE_NONE;
    bool boundary = context->function == HP_CONTEXT_SIGNAL;
    *index = HP_PROFILE_NONE;
    if (boundary && !context->inclusive && !rest->calls)
        return HP_OK;
    if (boundary)
        parent = HP_PROFILE_NONE;
    else
        HP_TRY(hp_result_function(result, context->function, &function));
    uint32_t item;
    struct hp_pcontext_count *out;
    struct hp_pcontext_rest *more;
    HP_TRY(known_context(result->profile, known, parent, function, &item));
    HP_TRY(hp_profile_add_context_count(result->profile, &out));
    *out = (struct hp_pcontext_count){
        .item = item,
        .thread = thread,
        .self = context->inclusive,
        .calls = context->caller == HP_CONTEXT_NO_CALL ? 0 : context->calls};
    if (!boundary)
        *index = item;
    if (!rest->instructions && !rest->calls)
        return HP_OK;
    HP_TRY(hp_profile_add_context_rest(result->profile, &more));
    *more = (struct hp_pcontext_rest){item, thread, rest->instructions, rest->calls};
    return HP_OK;
}

enum hp_err hp_exact_contexts_finish(struct hp_exact_thread *t, uint64_t least, uint32_t thread,
                                     struct hp_result *result, struct hp_map64 *known)
{
    enum hp_err err = HP_OK;
    uint32_t *indices HP_CLEANUP(hp_free) = malloc(t->n_contexts * sizeof *indices);
    struct rest *rests HP_CLEANUP(hp_free) = calloc(t->n_contexts, sizeof *rests);
    if (!indices || !rests)
        return hp_fail_nomem();
    drop_light(t, least);
    leave_own(t, rests);
    indices[0] = HP_PROFILE_NONE;
    for (size_t i = 1; i < t->n_contexts && err == HP_OK; i++) {
        const struct hp_context *context = &t->contexts[i];
        indices[i] = HP_PROFILE_NONE;
        if (context->function != HP_CONTEXT_REST)
            err = add_context_count(context, &rests[i], thread, indices[t->context_more[i].parent],
                                    result, known, &indices[i]);
    }
    if (err == HP_OK)
        err = hp_exact_syscalls_finish(t, thread, indices, result->profile);
    return err;
}
