// SPDX-License-Identifier: MIT
/*
 * Calling contexts: a tree that the shadow stack walks. A frame is in the context of its function
 * that is a child of the context of the frame below. What is known of calls and of what ran inside
 * functions follows from the tree in the end, so that a call or return touches a context or two and
 * nothing else.
 *
 * Which child it is must be found at every call. Programs call in patterns: from one place the same
 * functions again and again, one after the other. So each context knows which of its children was
 * entered last, and each child who came after it the last time; nearly always that one comes again.
 * Else a hash map knows.
 *
 * Here contexts differ also by the call that entered them: mostly the caller is the function of the
 * parent, but code without symbols may jump anywhere. In the profile they are joined by function.
 */
#ifndef HP_PROFILER_EXACT_CONTEXTS_H
#define HP_PROFILER_EXACT_CONTEXTS_H

#include "profiler/exact/exact_impl.h"

/* As a caller: it was not entered by a call. (HP_NO_ID: by one from nobody knows where.) */
#define HP_CONTEXT_NO_CALL (HP_NO_ID - 1)

/* As a function: contexts that are none of one. */
#define HP_CONTEXT_NOTHING (HP_NO_ID - 1) /* the first: below everything */
#define HP_CONTEXT_SIGNAL                                                                          \
    (HP_NO_ID - 2) /* what a signal interrupted is below, its handler above                        \
                    */
#define HP_CONTEXT_REST                                                                            \
    (HP_NO_ID - 3) /* a child for all that there is no room for: belongs to its parent */

/* 32 bytes: two a cache line. */
struct hp_context {
    uint64_t inclusive; /* instructions of its frames that have ended */
    uint64_t calls;     /* frames that have ended, and times it was entered again by a jump */
    uint32_t function, caller;
    uint32_t last;  /* the child that was entered last; 0: none yet */
    uint32_t after; /* the sibling that was entered after it, the last time */
};

/* What is seldom needed of one. */
struct hp_context_more {
    uint32_t parent;
    uint32_t call;    /* that enters it; HP_NO_ID: none */
    uint16_t depth;   /* contexts of functions up to it, from where its history began */
    uint16_t signals; /* contexts of signals up to it */
};

/* Signals in handlers that are told apart: handlers that are never returned from must not make the
 * tree deeper and deeper. */
#define HP_CONTEXT_SIGNALS 16

static inline bool hp_context_is_rest(const struct hp_context *context)
{
    return __builtin_expect(context->function == HP_CONTEXT_REST, 0);
}

/* Makes the first context. HP_ERR_NOMEM. */
enum hp_err hp_exact_contexts_start(struct hp_exact_thread *thread);

/* Sets the context of a frame for `function`, entered by a call from `caller`, above `parent`,
 * wherever it is. */
void hp_exact_contexts_find(struct hp_exact_thread *thread, struct hp_frame *frame, uint32_t parent,
                            uint32_t function, uint32_t caller);

/* The same, fast when it is the one that is expected. */
static inline __attribute__((always_inline)) void
hp_exact_contexts_enter(struct hp_exact_thread *t, struct hp_frame *frame, uint32_t parent,
                        uint32_t function, uint32_t caller)
{
    struct hp_context *all = t->contexts;
    uint32_t child = all[all[parent].last].after;
    if (__builtin_expect(all[child].function != function || all[child].caller != caller, 0)) {
        hp_exact_contexts_find(t, frame, parent, function, caller);
        return;
    }
    all[parent].last = child;
    frame->context = child;
}

/* The function of the top frame is entered by a jump from `caller` once more, in the same frame. */
void hp_exact_contexts_again(struct hp_exact_thread *thread, const struct hp_frame *frame,
                             uint32_t caller);

/* A frame in a rest, which spent so many instructions, ends. */
void hp_exact_contexts_leave_rest(struct hp_exact_thread *thread, const struct hp_frame *frame,
                                  uint64_t spent);

/* All frames have ended: adds up what that means for calls and functions. */
void hp_exact_contexts_seal(struct hp_exact_thread *thread);

/* Adds the contexts of a thread that is sealed to the profile, whose contexts (parent + 1) << 32 |
 * function are in `known`. */
enum hp_err hp_exact_contexts_finish(struct hp_exact_thread *thread, uint32_t index,
                                     struct hp_result *result, struct hp_map64 *known);

#endif
