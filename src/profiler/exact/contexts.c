// SPDX-License-Identifier: MIT
#include "profiler/exact/contexts.h"

#include "base/grow.h"
#include "profiler/result.h"

#include <stdlib.h>

enum hp_err hp_exact_contexts_start(struct hp_exact_thread *t)
{
    HP_TRY(hp_grow(&t->contexts, &t->cap_contexts, 1, sizeof *t->contexts));
    t->contexts[0].function = HP_CONTEXT_NOTHING;
    t->n_contexts = 1;
    return HP_OK;
}

/* --- While the program runs ------------------------------------------------------------------- */

/* How many contexts of functions there are from this one down to where its history began. */
static unsigned depth_of(const struct hp_exact_thread *t, uint32_t context)
{
    unsigned depth = 0;
    for (; t->contexts[context].function != HP_CONTEXT_NOTHING &&
           t->contexts[context].function != HP_CONTEXT_SIGNAL;
         context = t->contexts[context].parent)
        depth++;
    return depth;
}

static uint32_t add_context(struct hp_exact_thread *t, uint64_t key, uint32_t parent,
                            uint32_t function)
{
    uint32_t index = (uint32_t)t->n_contexts;
    if (hp_grow(&t->contexts, &t->cap_contexts, t->n_contexts + 1, sizeof *t->contexts) != HP_OK ||
        hp_map64_put(&t->context_of, key, index) != HP_OK) {
        t->exact->out_of_memory = true;
        return parent;
    }
    t->contexts[t->n_contexts++] =
        (struct hp_context){.function = function, .parent = parent, .after = index};
    t->n_own_contexts += function < HP_CONTEXT_REST || function == HP_NO_ID;
    return index;
}

/* The child is not there yet: makes it, or finds where it belongs instead. */
static uint32_t new_context(struct hp_exact_thread *t, uint32_t parent, uint32_t function)
{
    uint64_t rest = (uint64_t)parent << 32 | HP_CONTEXT_REST;
    if (function != HP_CONTEXT_SIGNAL) {
        uint32_t index = hp_map64_get(&t->context_of, rest);
        unsigned depth = depth_of(t, parent); /* where a history begins there must be room */
        bool full = depth > 0 && t->n_own_contexts >= t->exact->most_contexts;
        if (full || depth >= HP_CONTEXT_DEPTH)
            return index != HP_MAP64_NONE ? index : add_context(t, rest, parent, HP_CONTEXT_REST);
    }
    return add_context(t, (uint64_t)parent << 32 | function, parent, function);
}

uint32_t hp_exact_contexts_find(struct hp_exact_thread *t, uint32_t parent, uint32_t function)
{
    if (t->contexts[parent].function == HP_CONTEXT_REST) {
        if (function != HP_CONTEXT_SIGNAL)
            return parent;
        parent = t->contexts[parent].parent; /* a handler has contexts of its own */
    }
    uint32_t child = hp_map64_get(&t->context_of, (uint64_t)parent << 32 | function);
    if (child == HP_MAP64_NONE)
        child = new_context(t, parent, function);
    if (child == parent)
        return child;
    if (t->contexts[parent].last)
        t->contexts[t->contexts[parent].last].after = child;
    t->contexts[parent].last = child;
    return child;
}

/* --- The result ------------------------------------------------------------------------------- */

/* Makes `inclusive` the instructions of the context alone: without those of its children, which come later, but for a rest. */
static void leave_own(struct hp_exact_thread *t)
{
    for (size_t i = 1; i < t->n_contexts; i++)
        if (t->contexts[i].function != HP_CONTEXT_REST)
            t->contexts[t->contexts[i].parent].inclusive -= t->contexts[i].inclusive;
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

/* `indices`: of those before it in the profile; HP_PROFILE_NONE: none, as of what is only a boundary. */
static enum hp_err add_context_count(const struct hp_context *context, uint32_t thread,
                                     struct hp_result *result, struct hp_map64 *known,
                                     const uint32_t *indices, uint32_t *index)
{
    uint32_t parent = indices[context->parent], function = HP_PROFILE_NONE;
    bool boundary = context->function == HP_CONTEXT_SIGNAL;
    *index = HP_PROFILE_NONE;
    if (boundary && !context->inclusive)
        return HP_OK;
    if (boundary)
        parent = HP_PROFILE_NONE;
    else
        HP_TRY(hp_result_function(result, context->function, &function));
    uint32_t item;
    struct hp_pcontext_count *out;
    HP_TRY(known_context(result->profile, known, parent, function, &item));
    HP_TRY(hp_profile_add_context_count(result->profile, &out));
    *out = (struct hp_pcontext_count){
        .item = item, .thread = thread, .self = context->inclusive, .calls = context->calls};
    if (!boundary)
        *index = item;
    return HP_OK;
}

enum hp_err hp_exact_contexts_finish(struct hp_exact_thread *t, uint32_t thread,
                                     struct hp_result *result, struct hp_map64 *known)
{
    uint64_t cut = 0;
    enum hp_err err = HP_OK;
    uint32_t *indices = malloc(t->n_contexts * sizeof *indices);
    if (!indices)
        return hp_fail_nomem();
    leave_own(t);
    indices[0] = HP_PROFILE_NONE;
    for (size_t i = 1; i < t->n_contexts && err == HP_OK; i++) {
        const struct hp_context *context = &t->contexts[i];
        indices[i] = HP_PROFILE_NONE;
        if (context->function == HP_CONTEXT_REST)
            cut += context->calls;
        else
            err = add_context_count(context, thread, result, known, indices, &indices[i]);
    }
    free(indices);
    if (err == HP_OK && cut)
        err = hp_profile_note(result->profile, cut, "contexts",
                              "calls were more than %d deep, or in more than %d contexts of a "
                              "thread: what ran in them belongs to the context of the caller",
                              HP_CONTEXT_DEPTH, HP_CONTEXTS_MAX);
    return err;
}
