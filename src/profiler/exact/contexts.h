// SPDX-License-Identifier: MIT
/*
 * Calling contexts: a tree that the shadow stack walks. A frame's context is that of its function,
 * a child of the context of the frame below. Calls and inclusive counts are derived from the tree
 * in the end, so that a call or return touches only one or two contexts.
 *
 * The child must be found at every call. Programs call in patterns: a function calls the same
 * functions in the same order again and again. So each context knows its last entered child, and
 * each child a sibling that was entered after it. That sibling is tried first, then the last child
 * itself (one function called in a loop), then the sibling after that sibling (a call left out).
 * Otherwise a hash map is used.
 *
 * Contexts here also differ by the call that entered them. Mostly the caller is the function of the
 * parent, but code without symbols may jump anywhere. In the profile they are merged by function.
 */
#ifndef HP_PROFILER_EXACT_CONTEXTS_H
#define HP_PROFILER_EXACT_CONTEXTS_H

#include "profiler/exact/exact_impl.h"

/* As a caller: not entered by a call. (HP_NO_ID: by a call from an unknown place.) */
#define HP_CONTEXT_NO_CALL (HP_NO_ID - 1)

/* As a function: contexts that belong to no function. */
#define HP_CONTEXT_NOTHING (HP_NO_ID - 1) /* the root */
#define HP_CONTEXT_SIGNAL                                                                          \
    (HP_NO_ID - 2) /* what a signal interrupted is below, its handler above                        \
                    */
#define HP_CONTEXT_REST                                                                            \
    (HP_NO_ID - 3) /* a child for everything that does not fit: part of its parent */

/* 32 bytes: two per cache line. */
struct hp_context {
    uint64_t inclusive; /* instructions of its finished frames */
    uint64_t calls;     /* finished frames, and times it was entered again by a jump */
    uint32_t function, caller;
    uint32_t last;  /* the last entered child; 0: none yet */
    uint32_t after; /* a sibling that was entered after it */
};

/* The rarely used part. */
struct hp_context_more {
    uint32_t parent;
    uint32_t call;    /* the call that enters it; HP_NO_ID: none */
    uint16_t depth;   /* contexts of functions up to it, since its history began */
    uint16_t signals; /* contexts of signals up to it */
};

/* Nested signals that are distinguished: handlers that never return must not deepen the tree
 * forever. */
#define HP_CONTEXT_SIGNALS 16

static inline bool hp_context_is_rest(const struct hp_context *context)
{
    return __builtin_expect(context->function == HP_CONTEXT_REST, 0);
}

/* Makes the first context. HP_ERR_NOMEM. */
enum hp_err hp_exact_contexts_start(struct hp_exact_thread *thread);

/* Sets the context of a frame for `function`, entered by a call from `caller`, above `parent`. */
void hp_exact_contexts_find(struct hp_exact_thread *thread, struct hp_frame *frame, uint32_t parent,
                            uint32_t function, uint32_t caller);

/* The same, without a frame: only where there is room for contexts. */
uint32_t hp_exact_contexts_child(struct hp_exact_thread *thread, uint32_t parent, uint32_t function,
                                 uint32_t caller);

static inline bool hp_context_is_of(const struct hp_context *context, uint32_t function,
                                    uint32_t caller)
{
    return context->function == function && context->caller == caller;
}

/* The same, fast when it is the expected one. */
static inline __attribute__((always_inline)) void
hp_exact_contexts_enter(struct hp_exact_thread *t, struct hp_frame *frame, uint32_t parent,
                        uint32_t function, uint32_t caller)
{
    struct hp_context *all = t->contexts;
    uint32_t last = all[parent].last, child = all[last].after;
    if (__builtin_expect(hp_context_is_of(&all[child], function, caller), 1)) {
        all[parent].last = child;
        frame->context = child;
    } else if (last && hp_context_is_of(&all[last], function, caller)) {
        frame->context = last;
    } else {
        hp_exact_contexts_find(t, frame, parent, function, caller);
    }
}

/* A jump from `caller` enters the function of the top frame again, in the same frame. */
void hp_exact_contexts_again(struct hp_exact_thread *thread, const struct hp_frame *frame,
                             uint32_t caller);

/* A frame that is counted as active has ended after `spent` instructions: all frames in rests are,
 * and those below them. */
void hp_exact_contexts_leave_active(struct hp_exact_thread *thread, const struct hp_frame *frame,
                                    uint64_t spent);

/* All frames have ended: sums up calls and functions. */
void hp_exact_contexts_seal(struct hp_exact_thread *thread);

/* Functions of a sealed thread have become others (hp_functions_final()): several may be one now.
 * Sums up calls and functions again, so that what runs above an activation of the same function
 * counts once. */
enum hp_err hp_exact_contexts_rename(struct hp_exact_thread *thread);

/* All threads are sealed: what a context must have spent to be one of the heaviest, which are kept
 * in the profile. HP_ERR_NOMEM. */
enum hp_err hp_exact_contexts_least(const struct hp_exact *exact, uint64_t *least);

/* Adds the contexts of a sealed thread to the profile, those with at least so much and the start of
 * each history, and its system calls. `known` has the profile's contexts, by (parent + 1) << 32 |
 * function. */
enum hp_err hp_exact_contexts_finish(struct hp_exact_thread *thread, uint64_t least, uint32_t index,
                                     struct hp_result *result, struct hp_map64 *known);

#endif
