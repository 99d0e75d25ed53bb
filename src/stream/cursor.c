// SPDX-License-Identifier: MIT
/*
 * The cursor: from words to blocks.
 *
 * The fast loop (fast_words) handles what nearly every word is: a whole block, or a run of blocks,
 * that follows from the one before. Everything else, a word at a time, goes through slow_word():
 *
 *  - An open segment starts or continues a *partial* block; it is joined with what runs next until
 *    it ends. A REP instruction that an engine shows once an iteration is folded into one.
 *  - A block that was cut short (a fault, an atomic operation redone by the translator, code that
 *    modified itself) shows as a successor inside the block itself: its first part becomes a
 * partial block again. Where the block might as well have gone there by itself, see runs_again().
 *  - A signal pushes what was going on (*context*) and starts afresh; the signal return pops it,
 *    and the code goes on as if nothing had been between. Engines that cannot announce signals
 *    announce handlers: arriving at one other than by a branch that leads there is a signal.
 *  - Anything else that does not follow is reported as a discontinuity, never as a branch.
 *
 * With addresses, words wait until they can be processed for good (pair_words), and a block's
 * addresses are taken with its code: see pairing.h.
 *
 * Invariant between calls: what is buffered was run in order, each following from the one before;
 * the successor of the last block is not known; `partial` is what the thread is in the middle of
 * behind that last one.
 */
#include "base/grow.h"
#include "hotpath/stream.h"
#include "stream/code_impl.h"
#include "stream/pairing.h"

#include <stdlib.h>
#include <string.h>

#define NONE         HP_NO_ID
#define MAX_CONTEXTS 64 /* nested signals; handlers left by longjmp leave theirs behind */

/* What a signal interrupted. */
struct context {
    uint32_t block;   /* retired, successor not known; NONE */
    uint32_t partial; /* node; NONE */
    uint32_t before;  /* the block before `block`; NONE */
    bool joined;      /* `block` was run in pieces */
    enum hp_signal_cause cause;
    size_t held;    /* where its addresses are held */
    uint32_t split; /* how many of them are those of `block` */
};

struct hp_cursor {
    struct hp_code *code;
    struct hp_segment_source *source;
    struct hp_sink *sink;
    struct hp_cursor_stats stats;

    /* The buffer: blocks and outcomes, or for a sink that takes them, steps. */
    bool by_steps;
    size_t room; /* of them */
    union {
        struct {
            uint32_t blocks[HP_BATCH_MAX + 1 + HP_CHAIN_NEAR]; /* the fast loop writes too many */
            uint8_t taken[HP_BATCH_MAX + 1 + HP_CHAIN_NEAR];
        };
        struct hp_step steps[HP_STEPS_MAX + 1];
    };
    size_t count;      /* of them */
    uint64_t n_blocks; /* in them, but the first */
    uint32_t last;     /* the last block; NONE: the buffer is empty */
    uint32_t before;   /* the block before the first in the buffer, delivered already; NONE */
    uint32_t partial;  /* node; NONE */
    bool joined;       /* the last block was run in pieces */
    int32_t head; /* instructions of the partial or joined block before the last segment; negative:
                     as many of that segment are in the block before */

    struct hp_pairing *pairing; /* NULL: there are no addresses */
    uint32_t limit; /* instructions of the route at hand that were run, where a cut is announced */

    struct context contexts[MAX_CONTEXTS];
    size_t n_contexts;
    bool sigreturn; /* the next block is where the interrupted code goes on */
    bool executing; /* it asked to become another program, and nothing says that it did not */
    bool ended;

    uint32_t event[3]; /* an event word and its payload, as far as it has arrived */
    int have, want;
};

enum hp_err hp_cursor_new(struct hp_code *code, struct hp_segment_source *source,
                          struct hp_sink *sink, struct hp_cursor **cursor)
{
    struct hp_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->code = code;
    c->source = source;
    c->sink = sink;
    c->by_steps = sink->steps != NULL;
    c->room = (c->by_steps ? HP_STEPS_MAX : HP_BATCH_MAX) + 1;
    c->last = NONE;
    c->partial = NONE;
    c->before = NONE;
    c->limit = UINT32_MAX;
    *cursor = c;
    return HP_OK;
}

void hp_cursor_free(struct hp_cursor *cursor)
{
    if (cursor)
        hp_pairing_free(cursor->pairing);
    free(cursor);
}

enum hp_err hp_cursor_expect_addresses(struct hp_cursor *cursor)
{
    if (cursor->pairing)
        return HP_OK;
    cursor->by_steps = false;
    cursor->room = HP_BATCH_MAX + 1;
    return hp_pairing_new(&cursor->pairing);
}

const struct hp_cursor_stats *hp_cursor_stats(const struct hp_cursor *cursor)
{
    return &cursor->stats;
}

/* --- Delivering ------------------------------------------------------------------------------- */

/* Leaves only `block` in the buffer; NONE: nothing. */
static void set_last(struct hp_cursor *c, uint32_t block)
{
    c->last = block;
    c->count = block != NONE;
    c->n_blocks = 0;
    if (c->count && c->by_steps)
        c->steps[0] = (struct hp_step){.unit = c->code->unit_of[block], .first = block};
    else if (c->count)
        c->blocks[0] = block;
}

static uint32_t last_of_unit(const struct hp_code *code, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(code, unit, &n);
    return blocks[n - 1];
}

/* The block before the last; NONE: not known. */
static uint32_t before_last(const struct hp_cursor *c)
{
    if (c->count < 2)
        return c->before;
    if (!c->by_steps)
        return c->blocks[c->count - 2];
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(c->code, c->steps[c->count - 1].unit, &n);
    return n > 1 ? blocks[n - 2] : last_of_unit(c->code, c->steps[c->count - 2].unit);
}

static void deliver(struct hp_cursor *c)
{
    if (c->by_steps) {
        struct hp_steps steps = {.code = c->code, .steps = c->steps, .n = c->count - 1};
        c->sink->steps(c->sink, &steps);
        return;
    }
    struct hp_batch batch = {
        .code = c->code,
        .table = c->code->blocks,
        .blocks = c->blocks,
        .taken = c->taken,
        .n = c->count - 1,
    };
    if (c->pairing && !c->pairing->mismatch) {
        batch.addresses = c->pairing->held + c->pairing->base;
        batch.address_at = c->pairing->at;
    }
    c->sink->batch(c->sink, &batch);
}

/* Delivers what is buffered; the last block stays as the first of the next batch. */
static void flush(struct hp_cursor *c)
{
    if (c->count < 2)
        return;
    c->stats.blocks += c->n_blocks;
    deliver(c);
    if (c->pairing)
        hp_pairing_deliver(c->pairing, c->count);
    c->before = before_last(c);
    set_last(c, c->last);
}

static void emit(struct hp_cursor *c, enum hp_event_kind kind, uint64_t value, bool exact)
{
    struct hp_event event = {.kind = kind, .value = value, .block = NONE, .exact = exact};
    flush(c);
    c->sink->event(c->sink, &event);
}

/* Its addresses are held at `at`. */
static void emit_tail(struct hp_cursor *c, uint32_t block, bool exact, size_t at, size_t n)
{
    struct hp_event event = {.kind = HP_EVENT_TAIL,
                             .block = block,
                             .insns = c->code->blocks[block].insns,
                             .exact = exact};
    if (c->pairing && !c->pairing->mismatch) {
        event.addresses = c->pairing->held + at;
        event.n_addresses = n;
    }
    c->stats.blocks++;
    c->stats.instructions += event.insns;
    if (!exact)
        c->stats.cuts++;
    c->sink->event(c->sink, &event);
}

/* The last block has all addresses that are held behind the block before. */
static void end_addresses(struct hp_cursor *c)
{
    c->pairing->at[c->count] = hp_pairing_n_held(c->pairing);
}

/* Appends a block that follows from the last one, or starts afresh. */
static void append(struct hp_cursor *c, uint32_t block)
{
    if (c->last == NONE) {
        set_last(c, block);
        if (c->pairing)
            end_addresses(c);
        return;
    }
    const struct hp_hot *from = &c->code->hot[c->last];
    c->stats.instructions += from->insns;
    if (c->by_steps) {
        c->steps[c->count++] = (struct hp_step){.unit = c->code->unit_of[block], .first = block};
    } else {
        c->taken[c->count - 1] = c->code->hot[block].start != from->fall;
        c->blocks[c->count++] = block;
    }
    c->last = block;
    c->n_blocks++;
    if (c->pairing)
        end_addresses(c);
    if (c->count == c->room)
        flush(c);
}

/* Gives up on what follows: the partial block, if there is one, ends where it is, and the last
 * block becomes a tail. */
static enum hp_err drop_pending(struct hp_cursor *c, bool exact)
{
    uint32_t block;
    if (c->partial != NONE && c->code->nodes[c->partial].insns > 0) {
        HP_TRY(hp_code_close_node(c->code, c->partial, &block));
        append(c, block);
    }
    c->partial = NONE;
    flush(c);
    if (c->last != NONE)
        emit_tail(c, c->last, exact || c->code->blocks[c->last].flow == HP_FLOW_SYSCALL,
                  c->pairing ? c->pairing->base : 0, c->pairing ? c->pairing->at[1] : 0);
    set_last(c, NONE);
    c->before = NONE;
    if (c->pairing)
        hp_pairing_clear(c->pairing);
    return HP_OK;
}

/* Gives up a context that nothing will return to; its addresses end at `end`. */
static enum hp_err drop_context(struct hp_cursor *c, const struct context *context, size_t end)
{
    bool exact = context->cause == HP_CAUSE_OUTSIDE;
    size_t split = context->held + context->split;
    if (context->block != NONE)
        emit_tail(c, context->block,
                  exact || context->partial != NONE ||
                      c->code->blocks[context->block].flow == HP_FLOW_SYSCALL,
                  context->held, context->split);
    uint32_t block;
    if (context->partial != NONE && c->code->nodes[context->partial].insns > 0) {
        HP_TRY(hp_code_close_node(c->code, context->partial, &block));
        emit_tail(c, block, exact, split, end - split);
    }
    return HP_OK;
}

/* The same for the innermost of them, when nothing is pending. */
static enum hp_err drop_last_context(struct hp_cursor *c)
{
    const struct context *context = &c->contexts[--c->n_contexts];
    HP_TRY(drop_context(c, context, c->pairing ? c->pairing->base : 0));
    if (c->pairing) {
        c->pairing->base = context->held;
        hp_pairing_clear(c->pairing);
    }
    return HP_OK;
}

/* The same for the outermost, to make room for another. */
static enum hp_err drop_first_context(struct hp_cursor *c)
{
    size_t end = c->contexts[1].held;
    HP_TRY(drop_context(c, &c->contexts[0], end));
    memmove(&c->contexts[0], &c->contexts[1], (MAX_CONTEXTS - 1) * sizeof *c->contexts);
    c->n_contexts--;
    if (c->pairing)
        hp_pairing_remove(c->pairing, 0, end);
    for (size_t i = 0; i < c->n_contexts; i++)
        c->contexts[i].held -= end;
    return HP_OK;
}

static enum hp_err lose(struct hp_cursor *c, enum hp_lost_reason reason)
{
    c->stats.losses++;
    HP_TRY(drop_pending(c, false));
    while (c->n_contexts)
        HP_TRY(drop_last_context(c));
    c->sigreturn = false;
    emit(c, HP_EVENT_LOST, reason, true);
    return HP_OK;
}

/* --- Signals ---------------------------------------------------------------------------------- */

/* `cause`: why the code is interrupted. When another signal comes before interrupted code could go
 * on, the cause of the first stays: it says where the code will go on. */
static enum hp_err enter_signal(struct hp_cursor *c, uint32_t number, enum hp_signal_cause cause)
{
    flush(c);
    if (c->n_contexts == MAX_CONTEXTS)
        HP_TRY(drop_first_context(c));
    struct context *context = &c->contexts[c->n_contexts++];
    *context = (struct context){.block = c->last,
                                .partial = c->partial,
                                .before = c->before,
                                .joined = c->joined,
                                .cause = cause};
    if (c->pairing) {
        context->held = c->pairing->base;
        context->split = c->pairing->at[c->count];
        c->pairing->base = c->pairing->n_held;
    }
    set_last(c, NONE);
    c->partial = NONE;
    c->before = NONE;
    c->stats.signals++;
    emit(c, HP_EVENT_SIGNAL, number, true);
    return HP_OK;
}

/* The handler is over: back to what was interrupted; says why it was. */
static enum hp_err leave_signal(struct hp_cursor *c, enum hp_signal_cause *cause)
{
    c->sigreturn = false;
    HP_TRY(drop_pending(c, true));
    if (!c->n_contexts) {
        c->stats.discontinuities++;
        emit(c, HP_EVENT_DISCONTINUITY, 0, true);
        return HP_OK;
    }
    emit(c, HP_EVENT_SIGRETURN, 0, true);
    const struct context *context = &c->contexts[--c->n_contexts];
    set_last(c, context->block);
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

/* Whether arriving at the handler at `start` is a signal, or the program going there by itself. */
static bool is_signal(const struct hp_cursor *c, uint64_t start)
{
    if (c->partial != NONE) {
        const struct hp_node *node = &c->code->nodes[c->partial];
        bool iterates = node->last_is_rep && start == node->last;
        return start != node->end && !iterates;
    }
    if (c->last == NONE)
        return false;
    const struct hp_block *last = &c->code->blocks[c->last];
    switch (last->flow) {
    case HP_FLOW_CALL_IND: return false;
    case HP_FLOW_JUMP_IND: {
        /* a call through a stub (PLT) is a call */
        uint32_t before = before_last(c);
        return before == NONE || (c->code->blocks[before].flow != HP_FLOW_CALL &&
                                  c->code->blocks[before].flow != HP_FLOW_CALL_IND);
    }
    case HP_FLOW_RETURN: return true;
    default: return start != c->code->hot[c->last].target && start != c->code->hot[c->last].fall;
    }
}

/* --- Blocks, slowly --------------------------------------------------------------------------- */

static bool follows(const struct hp_cursor *c, uint64_t start)
{
    const struct hp_hot *last = &c->code->hot[c->last];
    return start == last->fall || start == last->target || last->anywhere;
}

static uint64_t route_start(const struct hp_code *code, uint32_t route)
{
    return route & HP_ROUTE_NODE ? code->nodes[route & ~HP_ROUTE_NODE].start
                                 : code->blocks[route].start;
}

/* Takes the addresses of the code of `route`: they wait, and there is room. */
static enum hp_err take_addresses(struct hp_cursor *c, uint32_t route)
{
    uint32_t n;
    if (!c->pairing)
        return HP_OK;
    HP_TRY(hp_code_mems(c->code, route, c->limit, &n));
    hp_pairing_take(c->pairing, n);
    return HP_OK;
}

/* The partial block has become shorter: so do its addresses. */
static enum hp_err trim_addresses(struct hp_cursor *c)
{
    uint32_t n;
    if (!c->pairing)
        return HP_OK;
    HP_TRY(hp_code_mems(c->code, c->partial | HP_ROUTE_NODE, UINT32_MAX, &n));
    size_t end = c->pairing->base + c->pairing->at[c->count] + n;
    if (end > c->pairing->n_held)
        c->pairing->mismatch = true;
    else
        c->pairing->n_held = end;
    return HP_OK;
}

/* Code that follows what is pending, or with nothing pending starts afresh; its addresses have been
 * taken. */
static void place(struct hp_cursor *c, uint32_t route)
{
    if (route & HP_ROUTE_NODE) {
        c->partial = route & ~HP_ROUTE_NODE;
        c->head = 0;
    } else {
        append(c, route);
        c->joined = false;
    }
}

static enum hp_err accept(struct hp_cursor *c, uint32_t route)
{
    HP_TRY(take_addresses(c, route));
    place(c, route);
    return HP_OK;
}

/* One more iteration of the REP instruction that the partial block ends with: it has the addresses
 * of the first. */
static enum hp_err fold(struct hp_cursor *c, uint32_t route)
{
    uint32_t n;
    c->stats.rep_iterations++;
    c->head = (int32_t)c->code->nodes[c->partial].insns - 1;
    if (!c->pairing)
        return HP_OK;
    HP_TRY(hp_code_mems(c->code, route, c->limit, &n));
    hp_pairing_skip(c->pairing, n);
    return HP_OK;
}

/* What the partial block and the code of `route` have become runs next. They must have as many
 * operands together as each of them had: what does not decode might not. */
static enum hp_err place_join(struct hp_cursor *c, const struct hp_join *join)
{
    uint32_t n = 0, rest = 0, start = 0;
    if (c->pairing) {
        start = c->pairing->at[c->count];
        if (join->block != NONE)
            HP_TRY(hp_code_mems(c->code, join->block, UINT32_MAX, &n));
        HP_TRY(hp_code_mems(c->code, join->rest, UINT32_MAX, &rest));
        uint32_t have = hp_pairing_n_held(c->pairing) - start;
        bool fits = c->limit == UINT32_MAX ? have == n + rest : have >= n;
        c->pairing->mismatch |= !fits;
    }
    if (join->block != NONE) {
        append(c, join->block);
        if (c->pairing && !c->pairing->mismatch)
            c->pairing->at[c->count] = c->pairing->at[c->count - 1] + n;
    }
    place(c, join->rest);
    return HP_OK;
}

/* Continues the partial block with the code of `route`, if that is where it goes on. */
static enum hp_err continue_partial(struct hp_cursor *c, uint32_t route, bool *done)
{
    const struct hp_node *node = &c->code->nodes[c->partial];
    uint64_t start = route_start(c->code, route);
    *done = true;
    if (node->last_is_rep && start == node->last && route & HP_ROUTE_NODE &&
        c->code->nodes[route & ~HP_ROUTE_NODE].insns == 1)
        return fold(c, route);
    if (start != node->end) {
        *done = false;
        return HP_OK;
    }
    struct hp_join join;
    int32_t head = (int32_t)node->insns;
    HP_TRY(hp_code_join(c->code, c->partial, route, &join));
    HP_TRY(take_addresses(c, route));
    c->partial = NONE;
    if (join.block != NONE)
        head -= (int32_t)c->code->blocks[join.block].insns;
    HP_TRY(place_join(c, &join));
    c->joined = true;
    c->head = head;
    return HP_OK;
}

/* The partial block was cut short if `start` is one of its instructions. */
static enum hp_err cut_partial(struct hp_cursor *c, uint64_t start, bool *done)
{
    const struct hp_node *node = &c->code->nodes[c->partial];
    *done = false;
    if (node->insns == 0 || start < node->start || start > node->last)
        return HP_OK;
    uint32_t block, prefix;
    HP_TRY(hp_code_close_node(c->code, c->partial, &block));
    enum hp_err err = hp_code_prefix(c->code, block, start, &prefix);
    if (err == HP_ERR_INVALID)
        return HP_OK;
    HP_TRY(err);
    c->partial = prefix;
    *done = true;
    return trim_addresses(c);
}

/* The last block was cut short if `start` is one of its later instructions: then its first part
 * becomes the partial block. */
static enum hp_err cut_last(struct hp_cursor *c, uint64_t start, bool *done)
{
    const struct hp_block *last = &c->code->blocks[c->last];
    *done = false;
    if (start < last->start || start > last->last)
        return HP_OK;
    uint32_t node;
    enum hp_err err = hp_code_prefix(c->code, c->last, start, &node);
    if (err == HP_ERR_INVALID)
        return HP_OK;
    HP_TRY(err);
    flush(c); /* then only the cut block is left */
    set_last(c, NONE);
    c->partial = node;
    *done = true;
    return trim_addresses(c);
}

/*
 * Whether code inside the last block is run again because the block was cut short there, although
 * the block could have gone there by itself: it ends with an indirect transfer, or is a loop. That
 * is so after a signal that an instruction caused; and when the translator made a piece of that one
 * instruction, which the block was not made of, to redo it alone.
 */
static bool runs_again(const struct hp_cursor *c, uint32_t route, enum hp_signal_cause cause)
{
    if (cause == HP_CAUSE_FAULT)
        return true;
    if (cause == HP_CAUSE_EITHER)
        return c->code->hot[c->last].anywhere;
    return route & HP_ROUTE_NODE && c->code->nodes[route & ~HP_ROUTE_NODE].insns == 1 && !c->joined;
}

static enum hp_err discontinuity(struct hp_cursor *c)
{
    HP_TRY(drop_pending(c, false));
    c->stats.discontinuities++;
    emit(c, HP_EVENT_DISCONTINUITY, 0, true);
    return HP_OK;
}

/* What runs next, whatever it is. */
static enum hp_err slow_route(struct hp_cursor *c, uint32_t route)
{
    enum hp_signal_cause cause = HP_CAUSE_OUTSIDE;
    if (c->sigreturn)
        HP_TRY(leave_signal(c, &cause));
    uint64_t start = route_start(c->code, route);
    if (hp_code_is_handler(c->code, start) && is_signal(c, start))
        HP_TRY(enter_signal(
            c, 0, cause != HP_CAUSE_OUTSIDE ? cause : hp_code_handler_cause(c->code, start)));
    bool done = false, goes_on = true;
    if (c->partial != NONE) {
        HP_TRY(continue_partial(c, route, &done));
        if (done)
            return HP_OK;
        HP_TRY(cut_partial(c, start, &done));
        goes_on = false;
    } else if (c->last != NONE) {
        goes_on = follows(c, start);
        if (!goes_on || runs_again(c, route, cause))
            HP_TRY(cut_last(c, start, &done));
    }
    if (done)
        return continue_partial(c, route, &done);
    if (!goes_on)
        HP_TRY(discontinuity(c));
    return accept(c, route);
}

/* --- Events ----------------------------------------------------------------------------------- */

/* Only the first `insns` instructions of the last block of the segment before were run: together
 * with what was run of it before that segment they are a partial block again. */
static enum hp_err cut_word(struct hp_cursor *c, uint32_t insns)
{
    uint32_t node, block;
    int64_t keep = (int64_t)insns + (c->partial != NONE || c->joined ? c->head : 0);
    insns = keep > 0 ? (uint32_t)keep : 0;
    if (c->partial != NONE) {
        if (insns >= c->code->nodes[c->partial].insns)
            return HP_OK;
        HP_TRY(hp_code_close_node(c->code, c->partial, &block));
        HP_TRY(hp_code_prefix_insns(c->code, block, insns, &c->partial));
        return trim_addresses(c);
    }
    if (c->last == NONE)
        return HP_OK;
    block = c->last;
    if (insns >= c->code->blocks[block].insns)
        return HP_OK;
    HP_TRY(hp_code_prefix_insns(c->code, block, insns, &node));
    flush(c);
    set_last(c, NONE);
    c->partial = node;
    c->head = 0;
    return trim_addresses(c);
}

static enum hp_err end_stream(struct hp_cursor *c, enum hp_end_reason reason)
{
    if (c->ended)
        return HP_OK;
    if (c->executing && reason == HP_END_KILLED)
        reason = HP_END_EXEC;
    HP_TRY(drop_pending(c, reason != HP_END_KILLED));
    while (c->n_contexts)
        HP_TRY(drop_last_context(c));
    c->ended = true;
    emit(c, HP_EVENT_END, reason, true);
    return HP_OK;
}

static enum hp_err handle_event(struct hp_cursor *c)
{
    uint32_t arg = hp_word_arg(c->event[0]);
    uint64_t wide = c->event[1] | (uint64_t)c->event[2] << 32;
    enum hp_signal_cause cause = HP_CAUSE_OUTSIDE;
    switch ((enum hp_word_kind)hp_word_kind(c->event[0])) {
    case HP_WORD_END: return end_stream(c, (enum hp_end_reason)arg);
    case HP_WORD_LOST:
        if (arg != HP_LOST_ADDRESSES)
            return lose(c, (enum hp_lost_reason)arg);
        if (c->pairing) /* else nobody asked for them */
            c->pairing->over = true;
        return HP_OK;
    case HP_WORD_HANDLER:
        HP_TRY(hp_code_add_handler(c->code, wide));
        hp_code_set_handler_signal(c->code, wide, arg);
        return HP_OK;
    case HP_WORD_SIGNAL:
        if (c->sigreturn) /* it came before the interrupted code could go on */
            HP_TRY(leave_signal(c, &cause));
        return enter_signal(c, arg, cause);
    case HP_WORD_SIGRETURN: c->sigreturn = true; return HP_OK;
    case HP_WORD_CUT: return cut_word(c, arg);
    case HP_WORD_FORK: emit(c, HP_EVENT_FORK, c->event[1], true); return HP_OK;
    case HP_WORD_EXEC:
        c->executing = true;
        emit(c, HP_EVENT_EXEC, c->event[1], arg == 1);
        return HP_OK;
    case HP_WORD_EXEC_FAILED:
        c->executing = false;
        emit(c, HP_EVENT_EXEC_FAILED, 0, true);
        return HP_OK;
    case HP_WORD_MODULE: emit(c, HP_EVENT_MODULE, c->event[1], arg == 1); return HP_OK;
    case HP_WORD_PAD:
    case HP_WORD_PART:
    case HP_WORD_KIND_COUNT_: break;
    }
    return HP_OK;
}

/* --- Feeding ---------------------------------------------------------------------------------- */

/* What a word stands for: the first block as anything that runs next, the others follow from it. */
static enum hp_err slow_segment(struct hp_cursor *c, uint32_t id)
{
    uint32_t route = c->code->route[id];
    size_t n = hp_weight_blocks(c->code->chains[id].weight);
    if (n == 0 || !c->code->segs[id].parent)
        return slow_route(c, route);
    const uint32_t limit = c->limit; /* of its own code, which comes last */
    size_t inner = route & HP_ROUTE_NODE ? n : n - 1;
    c->limit = UINT32_MAX;
    HP_TRY(slow_route(c, hp_chain_blocks(c->code, &c->code->chains[id])[0]));
    for (size_t i = 1; i < inner; i++)
        HP_TRY(accept(c, hp_chain_blocks(c->code, &c->code->chains[id])[i]));
    c->limit = limit;
    return accept(c, route);
}

/* The route of a segment, asking the source for it if need be; HP_ROUTE_UNKNOWN when it has
 * none. */
static enum hp_err find_route(struct hp_cursor *c, uint32_t id, uint32_t *route)
{
    struct hp_code *code = c->code;
    if (id >= code->segment_limit || code->route[id] == HP_ROUTE_UNKNOWN) {
        enum hp_err err = c->source ? c->source->load(c->source, id) : HP_ERR_NOTFOUND;
        if (err == HP_ERR_NOMEM)
            return err;
    }
    *route = id < code->segment_limit ? code->route[id] : HP_ROUTE_UNKNOWN;
    return HP_OK;
}

static enum hp_err slow_word(struct hp_cursor *c, uint32_t word)
{
    if (c->have < c->want) {
        c->event[c->have++] = word;
        return c->have == c->want ? handle_event(c) : HP_OK;
    }
    if (word & HP_WORD_EVENT) {
        int payload = hp_word_payload(word);
        if (payload < 0)
            return lose(c, HP_LOST_UNKNOWN);
        c->event[0] = word;
        c->have = 1;
        c->want = payload + 1;
        return payload ? HP_OK : handle_event(c);
    }
    uint32_t route = HP_ROUTE_UNKNOWN;
    if (word)
        HP_TRY(find_route(c, word, &route));
    if (route == HP_ROUTE_UNKNOWN)
        return lose(c, HP_LOST_UNKNOWN);
    return slow_segment(c, word);
}

/* The blocks of a long run, beyond those that are near, to `count` on in the buffer. */
static __attribute__((noinline)) void copy_far(struct hp_cursor *c, const struct hp_chain *chain,
                                               size_t count)
{
    const size_t near = HP_CHAIN_NEAR, at = c->code->units[chain->unit].at;
    const size_t far = c->code->units[chain->unit].n - near;
    memcpy(c->blocks + count + near, c->code->chain_blocks + at + near, far * sizeof *c->blocks);
    memcpy(c->taken + count + near - 1, c->code->chain_taken + at + near - 1, far);
}

/* What the last block leads to, in the form of a chain that ends with it. */
static struct hp_chain chain_of_last(const struct hp_cursor *c)
{
    const struct hp_hot *last = &c->code->hot[c->last];
    return (struct hp_chain){.fall = last->fall,
                             .target = last->target,
                             .strict = last->anywhere ? 0 : UINT64_MAX,
                             .blocks = {c->last},
                             .weight = HP_CHAIN_BLOCK + (int64_t)last->insns};
}

/* With this many blocks in the buffer there is still room for the longest run. */
#define BLOCKS_ROOM (HP_BATCH_MAX + 1 - HP_RUN_MAX)

/*
 * Takes words as long as they are runs of whole blocks that follow from one another and the buffer
 * has room; returns how many it took. This is where the time goes: one cache line a word, and no
 * branch on how many blocks a run has unless they are many.
 */
static inline __attribute__((always_inline)) size_t
fast_loop(struct hp_cursor *c, const uint32_t *words, size_t n, const bool by_steps)
{
    const struct hp_chain *chains = c->code->chains;
    const uint32_t limit = c->code->segment_limit;
    const struct hp_chain first = chain_of_last(c), *from = &first;
    int64_t weight = 0;
    size_t count = c->count, room = c->room - count;
    const uint32_t *at = words, *end = words + (n < room ? n : room);
    for (; at < end && (by_steps || count <= BLOCKS_ROOM); at++) {
        uint32_t word = *at; /* once: the watched process can write there */
        if (__builtin_expect(word >= limit, 0))
            break;
        const struct hp_chain *to = &chains[word];
        uint64_t start = to->start;
        bool taken = start != from->fall;
        if (__builtin_expect(taken & (((start ^ from->target) & from->strict) != 0), 0))
            break;
        int64_t own = to->weight;
        if (__builtin_expect(own <= 0, 0))
            break;
        if (by_steps) {
            memcpy(&c->steps[count++], &to->unit, sizeof *c->steps);
        } else {
            uint32_t outcomes = to->taken | taken;
            memcpy(c->taken + count - 1, &outcomes, sizeof outcomes);
            memcpy(c->blocks + count, to->blocks, sizeof to->blocks);
            size_t blocks = (uint64_t)own / HP_CHAIN_BLOCK;
            if (__builtin_expect(blocks > HP_CHAIN_NEAR, 0))
                copy_far(c, to, count);
            count += blocks;
        }
        weight += own;
        from = to;
    }
    c->count = count;
    c->n_blocks += hp_weight_blocks(weight);
    c->joined &= at == words;
    /* Those of the last block count when something follows it. */
    c->stats.instructions += hp_weight_insns(weight) + c->code->hot[c->last].insns;
    c->last = hp_chain_blocks(c->code, from)[hp_weight_blocks(from->weight) - 1];
    c->stats.instructions -= c->code->hot[c->last].insns;
    if (count > (by_steps ? HP_STEPS_MAX : BLOCKS_ROOM))
        flush(c);
    return (size_t)(at - words);
}

/* Not inlined: the loops want all registers. */
static __attribute__((noinline)) size_t fast_blocks(struct hp_cursor *c, const uint32_t *words,
                                                    size_t n)
{
    return fast_loop(c, words, n, false);
}

static __attribute__((noinline)) size_t fast_steps(struct hp_cursor *c, const uint32_t *words,
                                                   size_t n)
{
    return fast_loop(c, words, n, true);
}

static size_t fast_words(struct hp_cursor *c, const uint32_t *words, size_t n)
{
    if (c->last == NONE || c->partial != NONE || c->sigreturn || c->have < c->want)
        return 0;
    return c->by_steps ? fast_steps(c, words, n) : fast_blocks(c, words, n);
}

static enum hp_err feed(struct hp_cursor *c, const uint32_t *words, size_t n)
{
    size_t i = 0;
    while (i < n && !c->ended) {
        i += fast_words(c, words + i, n - i);
        if (i < n && !c->ended)
            HP_TRY(slow_word(c, words[i++]));
    }
    flush(c);
    return HP_OK;
}

/* --- Feeding with addresses ------------------------------------------------------------------- */

/* Nobody knows any more which addresses belong to what: the words that wait go on without. */
static enum hp_err lose_addresses(struct hp_cursor *c)
{
    HP_TRY(lose(c, HP_LOST_ADDRESSES));
    struct hp_pairing *p = c->pairing;
    c->pairing = NULL;
    c->limit = UINT32_MAX;
    enum hp_err err = feed(c, p->words + p->first_word, p->n_words - p->first_word);
    hp_pairing_free(p);
    return err;
}

/* As the fast loop does: takes a run of whole blocks, with `n` addresses, that follows from the
 * last one. */
static bool pair_run(struct hp_cursor *c, uint32_t id, uint32_t n)
{
    struct hp_pairing *p = c->pairing;
    const struct hp_chain *chain = &c->code->chains[id];
    if (c->last == NONE || c->partial != NONE || c->sigreturn || c->limit != UINT32_MAX ||
        chain->weight <= 0 || !follows(c, chain->start))
        return false;
    const uint32_t *blocks = hp_chain_blocks(c->code, chain);
    const uint32_t *counts =
        c->code->block_mems.counts; /* they have been counted for the segment's */
    size_t n_blocks = hp_weight_blocks(chain->weight);
    hp_pairing_take(p, n);
    for (size_t i = 0; i < n_blocks; i++) {
        append(c, blocks[i]);
        p->at[c->count] = p->at[c->count - 1] + counts[blocks[i]] - 1;
    }
    c->joined = false;
    return true;
}

/* How many addresses the next segment that waits has. `*found` is false when nobody knows it. */
static enum hp_err count_needed(struct hp_cursor *c, uint32_t id, uint32_t *need, bool *found)
{
    const struct hp_mems *known = &c->code->segment_mems;
    uint32_t route = HP_ROUTE_UNKNOWN;
    *found = true;
    if (c->limit == UINT32_MAX && id < known->cap && known->counts[id]) {
        *need = known->counts[id] - 1;
        return HP_OK;
    }
    if (id)
        HP_TRY(find_route(c, id, &route));
    *found = route != HP_ROUTE_UNKNOWN;
    return *found ? hp_code_segment_mems(c->code, id, c->limit, need) : HP_OK;
}

/* The next word that waits is a segment: takes it when all addresses of it are there. `ended`:
 * nothing more will come. */
static enum hp_err pair_segment(struct hp_cursor *c, bool ended, bool *done)
{
    struct hp_pairing *p = c->pairing;
    uint32_t id = p->words[p->first_word], need;
    bool is_last = p->first_word + 1 == p->n_words, found;
    uint32_t next = is_last ? 0 : p->words[p->first_word + 1];
    bool is_cut = next & HP_WORD_EVENT && hp_word_kind(next) == HP_WORD_CUT;
    *done = false;
    if (is_last && !ended)
        return HP_OK;
    c->limit = is_cut ? hp_word_arg(next) : UINT32_MAX;
    HP_TRY(count_needed(c, id, &need, &found));
    if (!found) {
        HP_TRY(slow_word(c, id));
        p->first_word++;
        return lose_addresses(c);
    }
    if (need > hp_pairing_n_waiting(p))
        return ended ? lose_addresses(c) : HP_OK;
    HP_TRY(hp_pairing_reserve(p, need));
    if (!pair_run(c, id, need))
        HP_TRY(slow_segment(c, id));
    p->first_word++;
    *done = true;
    return HP_OK;
}

/* Takes what waits as far as words and addresses go together. */
static enum hp_err pair_words(struct hp_cursor *c, bool ended)
{
    bool done = true;
    while (done && c->pairing && !c->ended && c->pairing->first_word < c->pairing->n_words) {
        struct hp_pairing *p = c->pairing;
        uint32_t word = p->words[p->first_word];
        bool inside = c->have < c->want;
        if (inside || word & HP_WORD_EVENT) {
            p->first_word++;
            HP_TRY(slow_word(c, word));
            p->mismatch |= !inside && hp_word_payload(word) < 0;
        } else {
            HP_TRY(pair_segment(c, ended, &done));
        }
        if (c->pairing && (p->mismatch || p->over) && !c->ended)
            HP_TRY(lose_addresses(c));
    }
    if (c->pairing && !c->ended && !ended && hp_pairing_is_too_long(c->pairing))
        HP_TRY(lose_addresses(c));
    flush(c);
    return HP_OK;
}

enum hp_err hp_cursor_feed(struct hp_cursor *c, const uint32_t *words, size_t n)
{
    c->stats.words += n;
    if (!c->pairing)
        return feed(c, words, n);
    if (c->ended)
        return HP_OK;
    HP_TRY(hp_pairing_add_words(c->pairing, words, n));
    return pair_words(c, false);
}

enum hp_err hp_cursor_feed_addresses(struct hp_cursor *c, const uint64_t *addresses, size_t n)
{
    if (!c->pairing || c->ended || n == 0)
        return HP_OK;
    HP_TRY(hp_pairing_add_addresses(c->pairing, addresses, n));
    return pair_words(c, false);
}

enum hp_err hp_cursor_end(struct hp_cursor *c, enum hp_end_reason reason)
{
    if (c->pairing)
        HP_TRY(pair_words(c, true));
    return end_stream(c, reason);
}
