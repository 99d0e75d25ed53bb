// SPDX-License-Identifier: MIT
/*
 * Calling contexts: a tree that the shadow stack walks. A frame is in the context of its function that is a child of the context of the
 * frame below.
 *
 * Which child it is must be found at every call. Programs call in patterns: from one place the same functions again and again, one after
 * the other. So each context knows which of its children was entered last, and each child who came after it the last time; nearly always
 * that one comes again. Else a hash map knows.
 */
#ifndef HP_PROFILER_EXACT_CONTEXTS_H
#define HP_PROFILER_EXACT_CONTEXTS_H

#include "profiler/exact/exact_impl.h"

/* Contexts that are none of a function. */
enum {
    HP_CONTEXT_NOTHING = HP_NO_ID - 1, /* the first: below everything */
    HP_CONTEXT_SIGNAL = HP_NO_ID - 2,  /* what a signal interrupted is below, its handler above */
    HP_CONTEXT_REST =
        HP_NO_ID - 3, /* a child for all that there is no room for: belongs to its parent */
};

/* 32 bytes: two a cache line. */
struct hp_context {
    uint64_t inclusive; /* instructions of its frames that have ended */
    uint64_t calls;
    uint32_t function;
    uint32_t parent;
    uint32_t last;  /* the child that was entered last; 0: none yet */
    uint32_t after; /* the sibling that was entered after it, the last time */
};

/* Makes the first context. HP_ERR_NOMEM. */
enum hp_err hp_exact_contexts_start(struct hp_exact_thread *thread);

/* The child of `parent` for `function`, wherever it is; without memory `parent`. */
uint32_t hp_exact_contexts_find(struct hp_exact_thread *thread, uint32_t parent, uint32_t function);

/* The same, fast when it is the one that is expected. */
static inline __attribute__((always_inline)) uint32_t
hp_exact_contexts_enter(struct hp_exact_thread *t, uint32_t parent, uint32_t function)
{
    struct hp_context *all = t->contexts;
    uint32_t child = all[all[parent].last].after;
    if (__builtin_expect(all[child].function != function, 0))
        return hp_exact_contexts_find(t, parent, function);
    all[parent].last = child;
    return child;
}

/* The thread has ended: adds its contexts to the profile, whose contexts (parent + 1) << 32 | function are in `known`. */
enum hp_err hp_exact_contexts_finish(struct hp_exact_thread *thread, uint32_t index,
                                     struct hp_result *result, struct hp_map64 *known);

#endif
