// SPDX-License-Identifier: MIT
/*
 * The stream: what was executed, in the same form for every engine.
 *
 * Words. A thread's execution is a sequence of 32-bit words.
 *
 *   0                     never written: an empty slot
 *   1 ... 0x3ffffff       a segment of the code map was run to its end: all its blocks, in order
 *   0x80000000 and above  an event: bits 24-30 are its kind, bits 0-23 its argument; the payload,
 *                         a fixed number of words for each kind, follows
 *
 * Addresses. An engine may also deliver the addresses of data: for every executed instruction, in
 * order, one 64-bit address for each memory operand in hp_insn.mems, in that order
 * (docs/stream.md).
 *
 * A cursor (one for each thread) turns words into batches of blocks and events. Profilers never see
 * words.
 */
#ifndef HOTPATH_STREAM_H
#define HOTPATH_STREAM_H

#include "hotpath/code.h"
#include "hotpath/error.h"
#include "hotpath/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Words ------------------------------------------------------------------------------------ */

#define HP_WORD_EVENT 0x80000000u

/* Kinds of event words: argument and payload. A 64-bit payload is two words, low half first. */
enum hp_word_kind {
    HP_WORD_PAD,     /* padding at the end of a chunk. no payload */
    HP_WORD_END,     /* the thread ended. arg: enum hp_end_reason */
    HP_WORD_LOST,    /* words are missing. arg: enum hp_lost_reason; 64-bit: how many, 0 unknown */
    HP_WORD_HANDLER, /* a signal handler is installed. arg: signal; 64-bit: its address */
    HP_WORD_SIGNAL, /* a signal is delivered here: the code before it ran to its end, or HP_WORD_CUT
                       said how far it got. arg: its number, 0 unknown */
    HP_WORD_SIGRETURN, /* the handler is left by a signal return: comes just before the segment that
                          resumes the interrupted code */
    HP_WORD_CUT, /* only the first `arg` instructions of the previous segment's last block were run;
                    the rest follows, if at all, as a segment that starts there */
    HP_WORD_FORK, /* the process forked here. 32-bit: pid of the child, 0 unknown */
    HP_WORD_EXEC, /* the process asked to run another program. arg: 1 it will be observed; 32-bit:
                     string id of its path, optionally followed by a newline and why it is not
                     observed */
    HP_WORD_EXEC_FAILED, /* the exec before failed; the thread continues */
    HP_WORD_MODULE,   /* code of a module was found, or found to be gone. arg: 1 loaded, 0 unloaded;
                         32-bit: the engine's own number for it */
    HP_WORD_PART,     /* count mode: only `arg` instructions of the segment's last block were run.
                         32-bit: the segment */
    HP_WORD_COUNTING, /* from here on the engine counts paths (docs/counted-paths.md). 32-bit: the
                         segment of the block that runs next */
    HP_WORD_FRAME,    /* it ends counting: a frame, the oldest first. 32-bit: prefix of the path at
                         the call that left it; 64-bit: return address of that call */
    HP_WORD_HANDED,   /* it has ended counting: words follow. 32-bit: prefix of the path in the top
                         frame; 32-bit: the segment of its last block, which ran to its end */
    HP_WORD_MOVED,    /* count mode: the thread arrived at one address and went on at another, with
                         nothing run between. 64-bit: the first, 0: nowhere; 64-bit: the second */
    HP_WORD_SYSCALL,  /* a system call is over. arg: hp_call_word(); 32-bit: its number; 64-bit: its
                         nanoseconds; 32-bit: the segment that it ended, 0 unknown */
    HP_WORD_KIND_COUNT_
};

enum hp_end_reason {
    HP_END_EXIT,     /* the thread or process exited */
    HP_END_KILLED,   /* the process ended without notice: killed, or a fatal signal */
    HP_END_EXEC,     /* the process became another program */
    HP_END_DETACHED, /* the thread continues unobserved */
    HP_END_SIGNAL,   /* ended by a signal, exactly where the words end */
};

enum hp_lost_reason {
    HP_LOST_NONE,
    HP_LOST_CODE_FULL,  /* no room left for new code in the code map */
    HP_LOST_UNKNOWN,    /* a word named an undefined segment */
    HP_LOST_DETACHED,   /* hotpath stopped reading */
    HP_LOST_RECORD,     /* the record in the trace is damaged or missing */
    HP_LOST_ADDRESSES,  /* addresses can no longer be matched with instructions: from here on the
                           thread's batches have none */
    HP_LOST_ABORTED,    /* the kernel aborted a restartable sequence: how far it ran is unknown */
    HP_LOST_UNFINISHED, /* a thread stopped counting paths without a word: those under way */
    HP_LOST_REASON_COUNT_
};

/* A sentence for people; never NULL. */
const char *hp_lost_reason_text(enum hp_lost_reason reason);

static inline uint32_t hp_word_event(enum hp_word_kind kind, uint32_t arg)
{
    return HP_WORD_EVENT | (uint32_t)kind << 24 | (arg & 0xffffff);
}

static inline unsigned hp_word_kind(uint32_t word)
{
    return (word >> 24) & 0x7f;
}

static inline uint32_t hp_word_arg(uint32_t word)
{
    return word & 0xffffff;
}

/* How a system call ended: the argument of HP_WORD_SYSCALL. */
enum hp_call_end {
    HP_CALL_RETURNED,
    HP_CALL_UNTIMED,         /* it has returned, or never does; its time is not known */
    HP_CALL_REPEATED,        /* a signal came: it will be made again, and counts then */
    HP_CALL_CUT_OFF,         /* it had not returned when the thread ended, or was left alone */
    HP_CALL_CUT_OFF_UNTIMED, /* likewise; its time is not known */
    HP_CALL_END_COUNT_
};
#define HP_CALL_ERRORS 4096u /* the kernel's are below; 0: none */

static inline uint32_t hp_call_word(enum hp_call_end end, uint32_t error)
{
    return hp_word_event(HP_WORD_SYSCALL, (uint32_t)end * HP_CALL_ERRORS | error);
}

/* The error in what a call returned. */
static inline uint32_t hp_call_error(int64_t result)
{
    return result < 0 && result > -(int64_t)HP_CALL_ERRORS ? (uint32_t)-result : 0;
}

/* Number of payload words after an event word; -1 for a kind that does not exist. */
int hp_word_payload(uint32_t word);

/*
 * Count mode. What arrives at an address also leaves it: so not every way out of a segment needs a
 * counter. The flow is conserved at *nodes*; an address belongs to one of them. Several addresses
 * may share a node. No address has node 0.
 */
#define HP_FLOW_NODES (1u << 20)
static inline uint32_t hp_flow_node(uint64_t address)
{
    return 1 + (uint32_t)((address * 0x9e3779b97f4a7c15u >> 32) % (HP_FLOW_NODES - 1));
}

/* A way out of a segment that is not counted: it follows from the others, as all of these together
 * are a forest of the nodes that they lead from and to. */
struct hp_derived {
    uint32_t segment;
    uint32_t direction; /* 1 through the target of its branch, 0 by falling through */
    uint32_t from, to;  /* nodes */
};

/* --- Threads ---------------------------------------------------------------------------------- */

struct hp_thread {
    uint32_t id; /* 0, 1, ... in the order in which they were made; there may be gaps */
    int32_t pid;
    int32_t tid;
    int32_t parent; /* pid of the process that forked this one; 0 for the first */
};

/* --- What profilers see ----------------------------------------------------------------------- */

#define HP_BATCH_MAX 4096

/*
 * A run of retired blocks of one thread. blocks[i + 1] was run right after blocks[i] for every i <
 * n. So there are n + 1 ids and n control transfers with a known outcome. blocks[n] comes again as
 * blocks[0] of the thread's next batch, or in an HP_EVENT_TAIL. If it was cut short, it comes as
 * another block with the same start; if nothing of it was run, it may not come again before a loss
 * or a discontinuity; before an HP_EVENT_COUNTING it does not come again. taken[i] is 0 when
 * blocks[i] fell through to its end, else 1. It is always 1 for unconditional transfers, and 0 for
 * a block split by length and for a system call that continues with the next instruction.
 */
struct hp_batch {
    const struct hp_code *code;
    const struct hp_block *table; /* == hp_code_blocks(code) */
    const uint32_t *blocks;
    const uint8_t *taken;
    size_t n;
    /* Where the engine delivers addresses: those of blocks[i], i < n, are addresses[address_at[i]]
     * up to addresses[address_at[i + 1]]: one for every memory operand (hp_insn.mems) of its
     * instructions (hp_code_insns()), in order. NULL otherwise. */
    const uint64_t *addresses;
    const uint32_t *address_at; /* n + 1 */
    /* With a machine model: what blocks[i] caused, i < n. NULL otherwise. */
    const struct hp_events *events;
};

/* `n` blocks of a batch from the `first` on: a batch of its own. */
static inline struct hp_batch hp_batch_part(const struct hp_batch *batch, size_t first, size_t n)
{
    struct hp_batch part = *batch;
    part.blocks += first;
    part.taken += first;
    part.n = n;
    if (part.address_at)
        part.address_at += first;
    if (part.events)
        part.events += first;
    return part;
}

/*
 * The same, by units (code.h) instead of blocks: a run that an engine reports with one word is one
 * step. All blocks of steps[i + 1] were run right after those of steps[i] for every i < n. steps[0]
 * is always the unit of one block. Like blocks[0] of a batch, it was retired before and its
 * successor is known now. The last block of steps[n] comes again in the same way.
 */
#define HP_STEPS_MAX HP_BATCH_MAX

struct hp_step {
    uint32_t unit;
    uint32_t first; /* the unit's first block */
};

struct hp_steps {
    const struct hp_code *code;
    const struct hp_step *steps;
    size_t n; /* at most HP_STEPS_MAX */
};

/* How often one block followed another, where the order is unknown. to == HP_NO_ID: `from` was
 * retired and its successor is unknown. */
struct hp_edge_count {
    uint32_t from, to; /* blocks */
    uint64_t count;
};

/* A retired control transfer of a batch. */
struct hp_branch {
    uint64_t address; /* of the branch instruction */
    uint64_t target;  /* where control went: its target, or the address after it */
    uint32_t insns;   /* instructions of the block that it ends, itself included */
    uint8_t flow;     /* enum hp_flow */
    uint8_t taken;
    /* For path detectors; 0: unknown (no code map). */
    uint64_t start;  /* of the block that it ends */
    uint64_t end;    /* the address after it: where it falls through to, or a call returns to */
    uint64_t direct; /* where a direct branch leads when it is taken; else 0 */
};

/* The i-th transfer of a batch, i < n, as a branch; false when it is not one (a system call, a
 * trap, a split block). */
static inline bool hp_batch_branch(const struct hp_batch *batch, size_t i, struct hp_branch *branch)
{
    const struct hp_block *block = &batch->table[batch->blocks[i]];
    branch->address = block->last;
    branch->target = batch->table[batch->blocks[i + 1]].start;
    branch->insns = block->insns;
    branch->flow = block->flow;
    branch->taken = batch->taken[i];
    branch->start = block->start;
    branch->end = block->end;
    branch->direct = block->target;
    return block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
           block->flow != HP_FLOW_TRAP;
}

enum hp_event_kind {
    HP_EVENT_SIGNAL, /* a handler starts: what follows is the handler's, nested to any depth, until
                        the matching HP_EVENT_SIGRETURN. value: signal number or 0 */
    HP_EVENT_SIGRETURN, /* the interrupted code continues: the next batch starts where the thread
                           was at the matching HP_EVENT_SIGNAL */
    HP_EVENT_TAIL, /* `block` was retired but its successor is unknown: the end of the thread, a
                      loss, or code abandoned by a signal handler. `insns` of its instructions were
                      retired; `exact` says whether that number is certain */
    HP_EVENT_LOST, /* something is missing here: forget the history. value: enum hp_lost_reason */
    HP_EVENT_DISCONTINUITY, /* the next block does not follow from the one in the preceding
                               HP_EVENT_TAIL (an unannounced transfer): forget the history */
    HP_EVENT_FORK,          /* value: pid of the child or 0 */
    HP_EVENT_EXEC,          /* value: string id; exact when the new program will be observed */
    HP_EVENT_EXEC_FAILED,
    HP_EVENT_MODULE, /* value: the engine's number for it; loaded when exact, else unloaded */
    HP_EVENT_END,    /* the last thing of a thread. value: enum hp_end_reason */
    /* From an engine that counts paths only. */
    HP_EVENT_COUNTING, /* what runs next, from `block` on, is counted by the engine */
    HP_EVENT_FRAME,  /* a frame that it made, the oldest first. prefix: of the path at the call that
                        left it; value: return address of that call */
    HP_EVENT_HANDED, /* batches follow, from `block` on: the last one of `prefix`, which is that of
                        the path in the top frame */
    HP_EVENT_KIND_COUNT_
};

const char *hp_event_name(enum hp_event_kind kind);

struct hp_event {
    enum hp_event_kind kind;
    uint64_t value;
    uint32_t block; /* HP_EVENT_TAIL, HP_EVENT_COUNTING, HP_EVENT_HANDED only */
    uint32_t insns; /* HP_EVENT_TAIL only */
    bool exact;
    uint32_t prefix; /* HP_EVENT_FRAME, HP_EVENT_HANDED only */
    /* HP_EVENT_TAIL only: as in a batch, for this block; NULL: none. A branch that ends it is not
     * predicted: its outcome is unknown. */
    const uint64_t *addresses;
    size_t n_addresses;
    const struct hp_events *events;
};

/* A system call that is over. Its time is that from the call to its return, also where the thread
 * had to wait for a processor. */
struct hp_syscall {
    uint32_t number; /* as the architecture numbers them */
    uint32_t error;  /* 0: none */
    uint64_t ns;     /* 0 where that is not known */
    uint32_t block;  /* that ends with it; HP_NO_ID: not known */
    bool counts;     /* false: it will be made again after a signal, and counts then; its time is
                        part of it */
    bool timed, returned;
};

/* What HP_WORD_SYSCALL and its payload say, but for the block; false: nothing that is known. */
bool hp_syscall_read(const uint32_t *words, struct hp_syscall *call);

/* Receives the output of a cursor. Called in the thread that feeds the cursor. A sink with `steps`
 * receives them instead of batches; NULL: it wants batches. */
struct hp_sink {
    void (*batch)(struct hp_sink *sink, const struct hp_batch *batch);
    void (*steps)(struct hp_sink *sink, const struct hp_steps *steps);
    void (*event)(struct hp_sink *sink, const struct hp_event *event);
    /* The call that ended steps[at] of the next steps, or blocks[0] of the next batch; where an
     * event comes first, what ran last. Before that is delivered. NULL: not wanted. */
    void (*syscall)(struct hp_sink *sink, size_t at, const struct hp_syscall *call);
};

/* --- The cursor ------------------------------------------------------------------------------- */

/* Called when a word names a segment that is not in the code map yet. Defines it with
 * hp_code_add_segment() and returns HP_OK, or fails (the cursor then reports a loss). */
struct hp_segment_source {
    enum hp_err (*load)(struct hp_segment_source *source, uint32_t id);
};

struct hp_cursor_stats {
    uint64_t words;          /* fed */
    uint64_t blocks;         /* delivered, tails included */
    uint64_t instructions;   /* in them */
    uint64_t rep_iterations; /* of REP instructions beyond the first, where reported */
    uint64_t signals;
    uint64_t discontinuities;
    uint64_t losses;
    uint64_t cuts;              /* tails whose instruction count is uncertain */
    uint64_t trace_entries;     /* executions of traces: see enum hp_in_trace */
    uint64_t trace_completions; /* of these, whole ones */
    uint64_t trace_insns;       /* instructions in them */
};

struct hp_cursor;

/* `source` may be NULL: then unknown segments are losses. The cursor keeps the pointers. */
HP_MUST_CHECK enum hp_err hp_cursor_new(struct hp_code *code, struct hp_segment_source *source,
                                        struct hp_sink *sink, struct hp_cursor **cursor);
void hp_cursor_free(struct hp_cursor *cursor);

/*
 * Feeds `n` words. Delivers what they complete before it returns, and keeps the rest. Any words are
 * allowed: invalid ones become HP_EVENT_LOST. Fails only with HP_ERR_NOMEM.
 */
HP_MUST_CHECK enum hp_err hp_cursor_feed(struct hp_cursor *cursor, const uint32_t *words, size_t n);

/*
 * Announces, before the first word, that the thread's addresses will be fed too (docs/stream.md);
 * batches and tails then have them. A word is processed once its addresses have been fed, and the
 * next word, which may say that not all of it was run. The sink receives batches, never steps.
 * HP_ERR_NOMEM.
 */
HP_MUST_CHECK enum hp_err hp_cursor_expect_addresses(struct hp_cursor *cursor);

/* Announces, before the first word, that the engine may count paths: without this, its words for
 * that are a loss. */
void hp_cursor_expect_counting(struct hp_cursor *cursor);

/* Feeds `n` addresses; like hp_cursor_feed(). Those that no word ever needs are ignored. */
HP_MUST_CHECK enum hp_err hp_cursor_feed_addresses(struct hp_cursor *cursor,
                                                   const uint64_t *addresses, size_t n);

/* Ends the stream: delivers what is pending as tails, then HP_EVENT_END, unless the words did. */
HP_MUST_CHECK enum hp_err hp_cursor_end(struct hp_cursor *cursor, enum hp_end_reason reason);

const struct hp_cursor_stats *hp_cursor_stats(const struct hp_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif
