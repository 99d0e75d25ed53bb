// SPDX-License-Identifier: MIT
/*
 * The cursor: from words to blocks. cursor.c takes words, cursor_addresses.c words with addresses,
 * cursor_events.c events, cursor_blocks.c everything that does not simply follow; cursor_buffer.c
 * delivers; cursor_traces.c counts executions of traces.
 *
 * The fast loop (fast_loop) handles nearly every word: a whole block, or a run of blocks, that
 * follows from the previous one. Everything else goes word by word through hp_cursor_take_word():
 *
 *  - An open segment starts or continues a *partial* block; it is joined with what runs next until
 *    it ends. A REP instruction that an engine shows once per iteration is folded into one.
 *  - A block that was cut short (a fault, an atomic operation redone by the translator, code that
 *    modified itself) shows as a successor inside the block itself: its first part becomes a
 *    partial block again. For blocks that could also have branched there, see runs_again().
 *  - A signal pushes the current state (*context*) and starts a new one; the signal return pops it,
 *    and the code continues as if uninterrupted. Engines that cannot announce signals announce
 *    handlers: reaching one other than by a branch that leads there is a signal.
 *  - Anything else that does not follow is reported as a discontinuity, never as a branch.
 *
 * With addresses, words wait until they can be processed completely (hp_cursor_pair_words), and a
 * block's addresses are taken with its code: see pairing.h.
 *
 * Invariant between calls: the buffered blocks ran in order, each following from the previous one;
 * the successor of the last block is not known; `partial` is the block the thread is inside, after
 * that last one.
 */
#ifndef HP_STREAM_CURSOR_IMPL_H
#define HP_STREAM_CURSOR_IMPL_H

#include "hotpath/stream.h"
#include "stream/code_impl.h"
#include "stream/pairing.h"

#define HP_CURSOR_CONTEXTS 64 /* nested signals; handlers left by longjmp leave theirs in place */

/* What a signal interrupted. */
struct hp_cursor_context {
    uint32_t block;   /* retired, successor not known; HP_NO_ID */
    uint32_t partial; /* node; HP_NO_ID */
    uint32_t before;  /* the block before `block`; HP_NO_ID */
    bool joined;      /* `block` ran in pieces */
    enum hp_signal_cause cause;
    size_t held;    /* where its addresses are held */
    uint32_t split; /* how many of them belong to `block` */
};

struct hp_cursor {
    struct hp_code *code;
    struct hp_segment_source *source;
    struct hp_sink *sink;
    struct hp_cursor_stats stats;

    /* The buffer: blocks and outcomes, or steps for a sink that takes them. */
    bool by_steps;
    size_t room; /* of them */
    union {
        struct {
            uint32_t blocks[HP_BATCH_MAX + 1 + HP_CHAIN_NEAR]; /* the fast loop overshoots */
            uint8_t taken[HP_BATCH_MAX + 1 + HP_CHAIN_NEAR];
        };
        struct hp_step steps[HP_STEPS_MAX + 1];
    };
    size_t count;      /* of them */
    uint64_t n_blocks; /* in them, except the first */
    uint32_t last;     /* the last block; HP_NO_ID: the buffer is empty */
    uint32_t before;   /* the block before the first in the buffer, already delivered; HP_NO_ID */
    uint32_t partial;  /* node; HP_NO_ID */
    bool joined;       /* the last block ran in pieces */
    int32_t head; /* instructions of the partial or joined block before the last segment; negative:
                     that many of the segment's are in the block before */

    struct hp_pairing *pairing; /* NULL: there are no addresses */
    uint32_t limit; /* executed instructions of the current route, if a cut is announced */

    struct hp_cursor_context contexts[HP_CURSOR_CONTEXTS];
    size_t n_contexts;
    bool sigreturn; /* the next block is where the interrupted code resumes */
    bool executing; /* it called exec, and nothing shows that it failed */
    bool ended;
    bool may_count; /* the engine may count paths */
    bool counting;  /* it does; nothing is pending then */

    uint32_t event[HP_EVENT_WORDS]; /* an event word and the payload received so far */
    int have, want;
    uint32_t last_word; /* the last that was a segment; 0: none, or it was cut */
};

/* --- cursor_buffer.c -------------------------------------------------------------------------- */

/* Leaves only `block` in the buffer; HP_NO_ID: empties it. */
void hp_cursor_set_last(struct hp_cursor *c, uint32_t block);

/* The block before the last; HP_NO_ID: not known. */
uint32_t hp_cursor_before_last(const struct hp_cursor *c);

/* Appends a block that follows from the last one, or starts anew. */
void hp_cursor_append(struct hp_cursor *c, uint32_t block);

/* Delivers the buffer; the last block stays as the first of the next batch. */
void hp_cursor_flush(struct hp_cursor *c);
void hp_cursor_emit(struct hp_cursor *c, enum hp_event_kind kind, uint64_t value, bool exact);

/* Gives up on a successor: the partial block, if any, ends where it is, and the last block becomes
 * a tail. */
enum hp_err hp_cursor_drop_pending(struct hp_cursor *c, bool exact);

/* Drops the innermost context, when nothing is pending; the outermost, to make room. */
enum hp_err hp_cursor_drop_last_context(struct hp_cursor *c);
enum hp_err hp_cursor_drop_first_context(struct hp_cursor *c);

enum hp_err hp_cursor_lose(struct hp_cursor *c, enum hp_lost_reason reason);

/* --- cursor_events.c -------------------------------------------------------------------------- */

/* `cause`: why the code is interrupted. If another signal comes before interrupted code could
 * resume, the first cause stays: it says where the code will resume. */
enum hp_err hp_cursor_enter_signal(struct hp_cursor *c, uint32_t number,
                                   enum hp_signal_cause cause);

/* The handler has ended: returns to the interrupted code. `*cause`: why it was interrupted. */
enum hp_err hp_cursor_leave_signal(struct hp_cursor *c, enum hp_signal_cause *cause);

/* Whether reaching the handler at `start` is a signal, or the program's own branch. */
bool hp_cursor_is_signal(const struct hp_cursor *c, uint64_t start);

/* The engine counts and should have handed over before what comes now. */
enum hp_err hp_cursor_lose_counting(struct hp_cursor *c);

/* Handles the event in c->event. */
enum hp_err hp_cursor_handle_event(struct hp_cursor *c);
enum hp_err hp_cursor_end_stream(struct hp_cursor *c, enum hp_end_reason reason);

/* --- cursor_blocks.c -------------------------------------------------------------------------- */

static inline bool hp_cursor_follows(const struct hp_cursor *c, uint64_t start)
{
    const struct hp_hot *last = &c->code->hot[c->last];
    return start == last->fall || start == last->target || last->anywhere;
}

/* The code of a route runs next: anything may have happened before it. */
enum hp_err hp_cursor_take_route(struct hp_cursor *c, uint32_t route);

/* The same, if it follows from what is pending. */
enum hp_err hp_cursor_accept(struct hp_cursor *c, uint32_t route);

/* Only the first `insns` instructions of the last block of the previous segment ran: with what ran
 * of it before that segment they become a partial block again. */
enum hp_err hp_cursor_cut_word(struct hp_cursor *c, uint32_t insns);

/* --- cursor.c --------------------------------------------------------------------------------- */

/* Takes any word; a word that is a known segment. */
enum hp_err hp_cursor_take_word(struct hp_cursor *c, uint32_t word);
enum hp_err hp_cursor_take_segment(struct hp_cursor *c, uint32_t id);

/* The route of a segment, loaded from the source if necessary; HP_ROUTE_UNKNOWN: none. */
enum hp_err hp_cursor_find_route(struct hp_cursor *c, uint32_t id, uint32_t *route);

/* Takes words without addresses. */
enum hp_err hp_cursor_feed_words(struct hp_cursor *c, const uint32_t *words, size_t n);

/* --- cursor_traces.c -------------------------------------------------------------------------- */

/* Adds up what the fast loop took: a sum of hp_chain.traced, and how many of them were whole. */
void hp_cursor_add_traced(struct hp_cursor *c, uint64_t traced, uint64_t whole);

/* A word with this segment was taken otherwise. It may be an execution of a trace. */
void hp_cursor_count_traced(struct hp_cursor *c, uint32_t id);

/* Of the last block of the last word's segment, only so many instructions ran. */
void hp_cursor_cut_traced(struct hp_cursor *c, uint32_t insns);

/* --- cursor_addresses.c ----------------------------------------------------------------------- */

/* Takes waiting words as far as their addresses are there. `ended`: nothing more will come. */
enum hp_err hp_cursor_pair_words(struct hp_cursor *c, bool ended);

/* --- For loops that take many words at once --------------------------------------------------- */

#define HP_CURSOR_AHEAD 8 /* words whose chains are fetched before they are needed */

/* With this many blocks in the buffer there is still room for the longest run. */
#define HP_CURSOR_ROOM (HP_BATCH_MAX + 1 - HP_RUN_MAX)

/* The successors of the last block, in the form of a chain that ends with it. */
static inline struct hp_chain hp_cursor_chain_of_last(const struct hp_cursor *c)
{
    const struct hp_hot *last = &c->code->hot[c->last];
    return (struct hp_chain){.fall = last->fall,
                             .target = last->target,
                             .strict = last->anywhere ? 0 : -1,
                             .blocks = {c->last},
                             .weight = HP_CHAIN_BLOCK + (int64_t)last->insns};
}

#endif
