// SPDX-License-Identifier: MIT
/*
 * The exact profiler's tables, shared by counting (exact.c), the shadow stack (calls.c) and the
 * result.
 */
#ifndef HP_PROFILER_EXACT_IMPL_H
#define HP_PROFILER_EXACT_IMPL_H

#include "base/map64.h"
#include "base/tally64.h"
#include "profiler/exact/exact.h"
#include "profiler/exact/search.h"

/*
 * The counts of a unit (a block, or a run of blocks): how often each successor block followed it.
 * Nearly all units have at most two successors; less frequent ones are in `extra`. 32 bytes, so
 * that a unit costs one cache line. A run's inner transfers happen as often as it is left; they are
 * added in the end.
 */
struct hp_exact_cell {
    uint32_t next[2]; /* block ids; HP_NO_ID: free */
    uint64_t count[2];
    uint32_t insns;
    uint32_t watch; /* what to show the shadow stack */
};

/*
 * `watch`, lowest two bits: what the transfers of the unit's last block may mean for the shadow
 * stack. It is kept here because it decides what happens next. HP_WATCH_INNER: inner transfers of a
 * run matter too. The bits between are a position: of a run, the first of its `ops`, or, with
 * loops, of its legs. HP_WATCH_NEW: these must still be worked out. HP_WATCH_HEAD: with loops,
 * running the unit's first block may mean something for them.
 */
enum { HP_WATCH_NOT, HP_WATCH_JUMP, HP_WATCH_CALL, HP_WATCH_RETURN };
#define HP_WATCH_LAST  3u
#define HP_WATCH_INNER 0x80000000u
#define HP_WATCH_NEW   0x40000000u
#define HP_WATCH_HEAD  0x20000000u
#define HP_WATCH_MAX   0x07fffffeu /* of a position */

static inline uint32_t hp_watch_place(uint32_t watch)
{
    return watch >> 2 & 0x07ffffffu;
}

/* What an inner transfer of a run does to the shadow stack (ops.h). */
enum hp_op_does {
    HP_DOES_SHOW,    /* depends on the stack: it is shown the transfer */
    HP_DOES_CALL,    /* a call of `function` */
    HP_DOES_RETURN,  /* a return, if the top frame expects it */
    HP_DOES_STAY,    /* a jump inside `function`, if that is running */
    HP_DOES_TAIL,    /* a jump that enters `function`, if no jump has led from there to here */
    HP_DOES_NOTHING, /* kept with loops only */
    HP_DOES_FOLLOW,  /* with loops: not shown to the stack */
};

/* An inner transfer of a run that concerns the shadow stack, or loops, `insns` instructions after
 * the run's start. */
struct hp_exact_op {
    uint64_t expects; /* of a call: where it returns to; of a return: where it leads */
    uint32_t insns;
    uint32_t from, to; /* blocks */
    uint32_t function;
    uint32_t caller;  /* of what is entered; HP_NO_ID: the running function */
    uint32_t context; /* from which the excursion began, or a frame was pushed, last; HP_NO_ID */
    union {
        uint32_t excursion; /* its index (excursions.h) from there */
        uint32_t pushed;    /* the context of that frame */
    };
    uint32_t left, entered; /* with loops: the graph's functions of `from` and `to` */
    uint8_t length;         /* of the excursion that begins here, in operations; 0: none does */
    uint8_t at;             /* `from` is the run's block of this index */
    uint8_t does;           /* enum hp_op_does */
    bool more : 1;          /* the next one belongs to the same run */
    bool known : 1;         /* with loops: `left`, `entered` and `matters` are right */
    bool matters : 1;       /* with loops: running `to` may mean something for them */
};

/* A frame of an excursion (excursions.h), and what is executed until it ends. */
struct hp_visit {
    uint32_t context;
    uint32_t insns;
};

/* An excursion, or with loops a leg with excursions or under a cover, that has been and is not
 * counted yet. */
struct hp_waiting {
    uint64_t key;
    uint32_t context; /* from which it began */
    uint32_t op;      /* its first operation */
    uint8_t n_ops;
};
#define HP_WAITING_MAX 128

/* All zero: none. */
struct hp_excursions {
    struct hp_map64 of; /* hp_excursion_key(), or, with loops, hp_leg_key() -> index */
    uint64_t *counts;   /* by index */
    uint32_t *first;    /* likewise, into `visits`; the next one's is the end */
    struct hp_visit *visits;
    size_t n, n_visits, cap_counts, cap_first, cap_visits;
    struct hp_waiting waiting[HP_WAITING_MAX];
    size_t n_waiting;
};

/*
 * What the shadow stack needs to know about a block, together, so that a call or return costs one
 * cache line per block. By block id, for all threads. `function` and `entry` are valid once
 * `asked`.
 */
struct hp_stack_block {
    uint64_t start, end;
    uint32_t function; /* HP_NO_ID: unknown */
    uint32_t module;
    uint32_t unit;
    uint8_t flow;        /* enum hp_flow */
    bool may_not_go : 1; /* the transfer at its end is conditional */
    bool asked : 1;
    bool entry : 1; /* it is the first block of its function */
    bool odd : 1;   /* with loops: a jump from here pushed or popped a frame inside one function */
    bool returned_to; /* a return led here */
};

/* A run whose operations rely on what is not known about a block. */
struct hp_reliance {
    uint32_t unit;
    uint32_t next; /* of the same block: index + 1, 0: none */
};

/* A block with a direct jump that is in a run. */
struct hp_member {
    uint32_t unit;
    uint32_t next;  /* of the same block: index + 1, 0: none */
    uint32_t watch; /* the watch bits of the run for it */
};

/* An activation of a function. */
struct hp_frame {
    uint64_t expects;  /* the address it returns to, 0: none; of a tail call, its caller's */
    uint64_t entered;  /* the thread's clock when it was entered */
    uint32_t function; /* HP_NO_ID: unknown */
    uint32_t context;  /* index into contexts */
    uint32_t call;     /* of an active frame: index into calls; HP_NO_ID: none */
    uint8_t kind;      /* enum hp_frame_kind */
    bool indexed;      /* search.h */
};

/* Frames of a thread. At the limit all end, as at a gap: calls that never return must not use up
 * all memory. */
#define HP_FRAMES_MAX ((size_t)1 << 22)

enum hp_frame_kind {
    HP_FRAME_CALL,
    HP_FRAME_TAIL,   /* entered by a jump: returns with the frame below */
    HP_FRAME_BASE,   /* where the thread, or a signal handler, started */
    HP_FRAME_SIGNAL, /* a boundary: what a signal interrupted is below */
};

struct hp_call {
    uint32_t caller, callee; /* functions */
    uint64_t count;
    uint64_t inclusive;
    uint32_t active; /* active frames with this call */
};

struct hp_activity {
    uint64_t inclusive;
    uint32_t active;   /* active frames with this function */
    uint32_t function; /* once the thread has ended */
};

/* How often a block was followed by another; to HP_NO_ID: by an unknown one. */
struct hp_exact_edge {
    uint32_t from, to;
    uint64_t count;
};

/* System calls of a thread (syscalls.h). */
struct hp_exact_syscalls {
    struct hp_map64 of; /* context << 32 | block -> the first of these, chained */
    struct hp_exact_syscall *all;
    size_t n, cap;
    struct hp_exact_pending *pending; /* that come with the next steps */
    size_t n_pending, cap_pending;
};

struct hp_exact_thread {
    struct hp_exact *exact;
    struct hp_thread info;
    struct hp_exact_edge *edges; /* all counts, once the thread has ended */
    size_t n_edges;
    struct hp_exact_cell *cells; /* by unit; NULL once the thread has ended */
    size_t n_cells, cap_cells;
    struct hp_exact_op *ops;
    size_t n_ops, cap_ops;
    struct hp_excursions excursions;
    struct hp_tally64 extra; /* by unit << 32 | successor */
    struct hp_tally64 tails; /* by block: retired without a successor */

    uint64_t clock;     /* instructions retired */
    uint64_t uncertain; /* blocks counted in full that may have been cut */
    bool fresh;         /* the next block starts a new history */
    bool unordered;     /* no history at all: no shadow stack, only `edges` */
    bool sealed;        /* the thread has ended */
    struct hp_frame *frames;
    size_t n_frames, cap_frames;
    size_t n_active; /* frames, from the bottom, whose functions and calls are counted as active */
    struct hp_frame_search search;
    uint64_t overflows;      /* how often there were too many of them */
    struct hp_map64 call_of; /* caller << 32 | callee -> call */
    struct hp_call *calls;
    size_t n_calls, cap_calls;
    struct hp_activity
        *activities; /* by function id; once the thread has ended, only those that ran */
    size_t n_activities, cap_activities;
    struct hp_context *contexts; /* contexts.h; a parent comes before its children */
    struct hp_context_more *context_more;
    size_t cap_context_more;
    struct hp_map64 context_of; /* -> context */
    size_t n_contexts, cap_contexts;
    struct hp_exact_syscalls syscalls;
    struct hp_exact_loop_thread *loops; /* loops.h; NULL: not requested */
};

struct hp_exact {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_stack_block *spots; /* by block id */
    size_t n_spots, cap_spots;
    uint32_t
        *homes; /* by block: the function in whose frame a call first returned there; HP_NO_ID */
    size_t cap_homes;
    uint32_t *lasts; /* by unit: its last block */
    size_t n_lasts, cap_lasts;
    struct hp_member *members;
    size_t n_members, cap_members;
    uint32_t *member_of; /* by block id: the first of its members, index + 1 */
    size_t cap_member_of;
    struct hp_reliance *reliances;
    size_t n_reliances, cap_reliances;
    uint32_t *reliance_of; /* by block id: the first of them, index + 1 */
    size_t cap_reliance_of;
    uint64_t learned;       /* how often something became known about a block */
    uint64_t watched;       /* how often a direct jump was found to leave its function */
    struct hp_step *buffer; /* for batches, of HP_BATCH_MAX + 1 */
    struct hp_exact_thread **threads;
    size_t n_threads, cap_threads;
    struct hp_exact_loops *loops; /* loops.h; NULL: not requested */
    size_t n_own_contexts;        /* of all threads, those of functions */
    size_t most_contexts;         /* of these while the program runs; by memory */
    size_t kept_contexts;         /* and in the profile */
    size_t most_frames;           /* per thread: HP_FRAMES_MAX */
    uint64_t searched;            /* search steps for frames and contexts, for tests */
    bool sampled;                 /* hp_exact_expect_samples() */
    bool out_of_memory;
};

#define HP_STUB_INSNS 5 /* the longest PLT entry: AArch64's with a landing pad */

/* --- The shadow stack (calls.c) --------------------------------------------------------------- */

/* Whether the transfers of a block must be shown to the stack: calls, returns, computed jumps.
 * Direct jumps are watched once one of them has left its function. */
uint32_t hp_exact_always_watch(const struct hp_block *block);
bool hp_exact_leaves_function(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* Counts that steps[i + 1] followed steps[i] for every i < n, and updates the stack. */
void hp_exact_count(struct hp_exact_thread *thread, const struct hp_step *steps, size_t n);

/* With loops: the same, but the last step is another time's first. */
void hp_exact_count_some(struct hp_exact_thread *thread, const struct hp_step *steps, size_t n);

/* Counts calls where only edges are known: by their end points, without a stack. */
void hp_exact_count_calls(struct hp_exact_thread *thread, const struct hp_edge_count *edges,
                          size_t n);

/* The index of the call from `caller` to `callee`, added if new; HP_NO_ID: out of memory. */
uint32_t hp_exact_find_call(struct hp_exact_thread *thread, uint32_t caller, uint32_t callee);

/* The function of a block by its symbol, or the one entered there; else HP_NO_ID. */
uint32_t hp_exact_function_of(struct hp_exact_thread *thread, uint32_t block);

/* A new history starts with `block`. */
void hp_exact_begin(struct hp_exact_thread *thread, uint32_t block);

void hp_exact_enter_signal(struct hp_exact_thread *thread);
void hp_exact_leave_signal(struct hp_exact_thread *thread);

/* Everything on the stack ends now, with the history. */
void hp_exact_unwind(struct hp_exact_thread *thread);

/* --- Counting (exact.c) ----------------------------------------------------------------------- */

/* Counts that the block `to` followed the unit `from`, when `to` is not in the cell's `next`, or
 * not yet. */
void hp_exact_count_edge(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* Counts that the block `to` followed the unit `from` so often, which it did before. */
void hp_exact_add_to_edge(struct hp_exact_thread *thread, uint32_t from, uint32_t to,
                          uint64_t count);

/* Notes that the block `to` can follow the block `from`, and checks whether that leaves a
 * function. */
void hp_exact_note_edge(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* --- The end of a thread (exact.c) ------------------------------------------------------------ */

/* Turns the tables into `edges` and frees them: a program may have thousands of threads and
 * processes. */
void hp_exact_seal(struct hp_exact_thread *thread);

/* The thread is in the result: frees what nothing else needs. */
void hp_exact_forget(struct hp_exact_thread *thread);

/* --- The result (result.c) -------------------------------------------------------------------- */

/* All threads have ended: seals them, in order of creation. */
enum hp_err hp_exact_settle(struct hp_exact *exact);

enum hp_err hp_exact_finish(struct hp_profiler *profiler, struct hp_result *result);

#endif
