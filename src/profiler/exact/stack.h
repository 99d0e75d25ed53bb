// SPDX-License-Identifier: MIT
/*
 * Pushing and popping frames of the shadow stack. What they mean is decided elsewhere (calls.c).
 */
#ifndef HP_PROFILER_EXACT_STACK_H
#define HP_PROFILER_EXACT_STACK_H

#include "profiler/exact/contexts.h"
#include "profiler/exact/loops.h"

/* For the steps of a call or return: out of line they cost a tenth of the speed. */
#define HP_STACK_INLINE static inline __attribute__((always_inline))

/* Makes room for one more frame, above the one left from the block `from` (calls.c). */
bool hp_stack_make_room(struct hp_exact_thread *thread, uint32_t from);

HP_STACK_INLINE struct hp_frame *hp_stack_top(struct hp_exact_thread *t)
{
    return t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
}

/* `caller`: of the call that enters it, or HP_CONTEXT_NO_CALL. `from`: the block from which the
 * frame at the top is left; HP_NO_ID: none. False: out of memory. */
HP_STACK_INLINE bool hp_stack_push(struct hp_exact_thread *t, enum hp_frame_kind kind,
                                   uint64_t expects, uint32_t function, uint32_t caller,
                                   uint32_t from, const bool loops)
{
    if (t->n_frames == t->cap_frames && !hp_stack_make_room(t, from))
        return false;
    struct hp_frame *frame = &t->frames[t->n_frames];
    uint32_t below = t->n_frames++ ? frame[-1].context : 0;
    frame->expects = expects;
    frame->entered = t->clock;
    frame->function = function;
    frame->kind = (uint8_t)kind;
    frame->indexed = false;
    hp_exact_contexts_enter(t, frame, below, kind == HP_FRAME_SIGNAL ? HP_CONTEXT_SIGNAL : function,
                            function == HP_NO_ID ? HP_CONTEXT_NO_CALL : caller);
    if (loops)
        hp_exact_loops_push(t, from);
    return true;
}

HP_STACK_INLINE void hp_stack_pop(struct hp_exact_thread *t, const bool loops)
{
    const struct hp_frame *frame = &t->frames[--t->n_frames];
    struct hp_context *context = &t->contexts[frame->context];
    uint64_t spent = t->clock - frame->entered;
    if (!hp_context_is_rest(context)) {
        context->inclusive += spent;
        context->calls++;
    }
    if (__builtin_expect(t->n_frames < t->n_active, 0))
        hp_exact_contexts_leave_active(t, frame, spent);
    if (loops)
        hp_exact_loops_pop(t, spent);
}

#endif
