// SPDX-License-Identifier: MIT
/* Signals, and everything that is not code. */
#include "stream/cursor_impl.h"

/* --- Signals ---------------------------------------------------------------------------------- */

enum hp_err hp_cursor_enter_signal(struct hp_cursor *c, uint32_t number, enum hp_signal_cause cause)
{
    hp_cursor_flush(c);
    if (c->n_contexts == HP_CURSOR_CONTEXTS)
        HP_TRY(hp_cursor_drop_first_context(c));
    struct hp_cursor_context *context = &c->contexts[c->n_contexts++];
    *context = (struct hp_cursor_context){.block = c->last,
                                          .partial = c->partial,
                                          .before = c->before,
                                          .joined = c->joined,
                                          .cause = cause};
    if (c->pairing) {
        context->held = c->pairing->base;
        context->split = c->pairing->at[c->count];
        c->pairing->base = c->pairing->n_held;
    }
    hp_cursor_set_last(c, HP_NO_ID);
    c->partial = HP_NO_ID;
    c->before = HP_NO_ID;
    c->stats.signals++;
    hp_cursor_emit(c, HP_EVENT_SIGNAL, number, true);
    return HP_OK;
}

enum hp_err hp_cursor_leave_signal(struct hp_cursor *c, enum hp_signal_cause *cause)
{
    c->sigreturn = false;
    HP_TRY(hp_cursor_drop_pending(c, true));
    if (!c->n_contexts) {
        c->stats.discontinuities++;
        hp_cursor_emit(c, HP_EVENT_DISCONTINUITY, 0, true);
        return HP_OK;
    }
    hp_cursor_emit(c, HP_EVENT_SIGRETURN, 0, true);
    const struct hp_cursor_context *context = &c->contexts[--c->n_contexts];
    hp_cursor_set_last(c, context->block);
    if (c->pairing) {
        c->pairing->base = context->held;
        c->pairing->at[c->count] = context->split;
    }
    c->partial = context->partial;
    c->before = context->before;
    c->joined = context->joined;
    c->head = 0;
    *cause = context->cause;
    return HP_OK;
}

bool hp_cursor_is_signal(const struct hp_cursor *c, uint64_t start)
{
    if (c->partial != HP_NO_ID) {
        const struct hp_node *node = &c->code->nodes[c->partial];
        bool iterates = node->last_is_rep && start == node->last;
        return start != node->end && !iterates;
    }
    if (c->last == HP_NO_ID)
        return false;
    const struct hp_block *last = &c->code->blocks[c->last];
    switch (last->flow) {
    case HP_FLOW_CALL_IND: return false;
    case HP_FLOW_JUMP_IND: {
        /* a call through a stub (PLT) is a call */
        uint32_t before = hp_cursor_before_last(c);
        return before == HP_NO_ID || (c->code->blocks[before].flow != HP_FLOW_CALL &&
                                      c->code->blocks[before].flow != HP_FLOW_CALL_IND);
    }
    case HP_FLOW_RETURN: return true;
    default: return start != c->code->hot[c->last].target && start != c->code->hot[c->last].fall;
    }
}

/* --- Counted paths ---------------------------------------------------------------------------- */

enum hp_err hp_cursor_lose_counting(struct hp_cursor *c)
{
    return c->counting ? hp_cursor_lose(c, HP_LOST_UNFINISHED) : HP_OK;
}

/* The block of a segment that is exactly one; HP_NO_ID: it is not. */
static enum hp_err whole_block(struct hp_cursor *c, uint32_t id, uint32_t *block)
{
    uint32_t route;
    if (id)
        HP_TRY(hp_cursor_find_route(c, id, &route));
    *block = hp_code_segment_block(c->code, id);
    return HP_OK;
}

static void emit_counting(struct hp_cursor *c, enum hp_event_kind kind, uint32_t prefix,
                          uint32_t block, uint64_t value)
{
    struct hp_event event = {
        .kind = kind, .value = value, .block = block, .exact = true, .prefix = prefix};
    c->sink->event(c->sink, &event);
}

/* The block is next; it is not retired here. */
static enum hp_err begin_counting(struct hp_cursor *c, uint32_t segment)
{
    uint32_t block = HP_NO_ID;
    HP_TRY(hp_cursor_lose_counting(c));
    if (c->may_count)
        HP_TRY(whole_block(c, segment, &block));
    if (block == HP_NO_ID)
        return hp_cursor_lose(c, HP_LOST_UNKNOWN);
    HP_TRY(hp_cursor_take_route(c, block));
    if (c->joined || c->last != block)
        return hp_cursor_lose(c, HP_LOST_UNKNOWN);
    hp_cursor_flush(c);
    hp_cursor_set_last(c, HP_NO_ID);
    c->before = HP_NO_ID;
    c->counting = true;
    emit_counting(c, HP_EVENT_COUNTING, 0, block, 0);
    return HP_OK;
}

static enum hp_err end_counting(struct hp_cursor *c, uint32_t prefix, uint32_t segment)
{
    uint32_t block = HP_NO_ID;
    if (c->counting)
        HP_TRY(whole_block(c, segment, &block));
    if (block == HP_NO_ID)
        return hp_cursor_lose(c, HP_LOST_UNKNOWN);
    c->counting = false;
    emit_counting(c, HP_EVENT_HANDED, prefix, block, 0);
    hp_cursor_set_last(c, block);
    c->joined = false;
    return HP_OK;
}

static enum hp_err take_frame(struct hp_cursor *c, uint32_t prefix, uint64_t return_to)
{
    if (!c->counting)
        return hp_cursor_lose(c, HP_LOST_UNKNOWN);
    emit_counting(c, HP_EVENT_FRAME, prefix, HP_NO_ID, return_to);
    return HP_OK;
}

/* --- System calls ----------------------------------------------------------------------------- */

/* The blocks so far stay in the buffer where the sink can tell which one it was. */
static void take_syscall(struct hp_cursor *c)
{
    struct hp_syscall call;
    if (!c->sink->syscall || !hp_syscall_read(c->event, &call))
        return;
    if (!c->by_steps)
        hp_cursor_flush(c);
    call.block = c->last;
    c->sink->syscall(c->sink, c->count ? c->count - 1 : 0, &call);
}

/* --- Events ----------------------------------------------------------------------------------- */

enum hp_err hp_cursor_end_stream(struct hp_cursor *c, enum hp_end_reason reason)
{
    if (c->ended)
        return HP_OK;
    if (reason == HP_END_DETACHED)
        c->counting = false;
    HP_TRY(hp_cursor_lose_counting(c));
    if (c->executing && reason == HP_END_KILLED)
        reason = HP_END_EXEC;
    HP_TRY(hp_cursor_drop_pending(c, reason != HP_END_KILLED));
    while (c->n_contexts)
        HP_TRY(hp_cursor_drop_last_context(c));
    c->ended = true;
    hp_cursor_emit(c, HP_EVENT_END, reason, true);
    return HP_OK;
}

enum hp_err hp_cursor_handle_event(struct hp_cursor *c)
{
    uint32_t arg = hp_word_arg(c->event[0]);
    uint64_t wide = c->event[1] | (uint64_t)c->event[2] << 32;
    enum hp_signal_cause cause = HP_CAUSE_OUTSIDE;
    switch ((enum hp_word_kind)hp_word_kind(c->event[0])) {
    case HP_WORD_END: return hp_cursor_end_stream(c, (enum hp_end_reason)arg);
    case HP_WORD_LOST:
        if (arg != HP_LOST_ADDRESSES) {
            HP_TRY(hp_cursor_lose_counting(c));
            return hp_cursor_lose(c, (enum hp_lost_reason)arg);
        }
        if (c->pairing) /* otherwise they are not wanted */
            c->pairing->over = true;
        return HP_OK;
    case HP_WORD_HANDLER:
        HP_TRY(hp_code_add_handler(c->code, wide));
        hp_code_set_handler_signal(c->code, wide, arg);
        return HP_OK;
    case HP_WORD_SIGNAL:
        HP_TRY(hp_cursor_lose_counting(c));
        if (c->sigreturn) /* it came before the interrupted code could resume */
            HP_TRY(hp_cursor_leave_signal(c, &cause));
        return hp_cursor_enter_signal(c, arg, cause);
    case HP_WORD_SIGRETURN:
        HP_TRY(hp_cursor_lose_counting(c));
        c->sigreturn = true;
        return HP_OK;
    case HP_WORD_CUT:
        HP_TRY(hp_cursor_lose_counting(c));
        hp_cursor_cut_traced(c, arg);
        return hp_cursor_cut_word(c, arg);
    case HP_WORD_FORK: hp_cursor_emit(c, HP_EVENT_FORK, c->event[1], true); return HP_OK;
    case HP_WORD_EXEC:
        c->executing = true;
        hp_cursor_emit(c, HP_EVENT_EXEC, c->event[1], arg == 1);
        return HP_OK;
    case HP_WORD_EXEC_FAILED:
        c->executing = false;
        hp_cursor_emit(c, HP_EVENT_EXEC_FAILED, 0, true);
        return HP_OK;
    case HP_WORD_MODULE: hp_cursor_emit(c, HP_EVENT_MODULE, c->event[1], arg == 1); return HP_OK;
    case HP_WORD_COUNTING: return begin_counting(c, c->event[1]);
    case HP_WORD_FRAME:
        return take_frame(c, c->event[1], c->event[2] | (uint64_t)c->event[3] << 32);
    case HP_WORD_HANDED: return end_counting(c, c->event[1], c->event[2]);
    case HP_WORD_SYSCALL: take_syscall(c); return HP_OK;
    case HP_WORD_PAD:
    case HP_WORD_PART:
    case HP_WORD_MOVED:
    case HP_WORD_KIND_COUNT_: break;
    }
    return HP_OK;
}
