// SPDX-License-Identifier: MIT
/*
 * Loops while the program runs: what the exact profiler keeps for them beside its counts
 * (docs/loops.md).
 *
 * Nearly everything follows from counts in the end (loops_result.c). While the program runs, only
 * three things need attention:
 *  - the graph, whenever a transfer is new (learning);
 *  - the iterations of each execution: a loop has a *record* of the execution that is going on,
 *    which counts back edges to its headers and is closed when a header is run otherwise. Exits
 *    need not be watched;
 *  - what runs while a lower activation of the same function is in a loop: it is in that loop
 *    already, and must not count again.
 */
#ifndef HP_PROFILER_EXACT_LOOPS_H
#define HP_PROFILER_EXACT_LOOPS_H

#include "profiler/exact/counters.h"
#include "profiler/exact/covers.h"
#include "profiler/exact/exact_impl.h"
#include "profiler/loop/graph.h"
#include "profiler/loop/trips.h"

/* --- Of all threads --------------------------------------------------------------------------- */

/* That a block is in a run, not its first. */
struct hp_loop_member {
    uint32_t unit;
    uint32_t next; /* of the same block: index + 1, 0: none */
};

struct hp_exact_loops {
    struct hp_loop_graph graph;
    struct hp_loop_member *members;
    size_t n_members, cap_members;
    uint32_t *member_of; /* by block: index + 1 */
    size_t cap_member_of;
    size_t n_units; /* whose members are there */

    struct hp_covers covers;
    struct hp_exact_loop_result *result;
};

/* --- Of a thread ------------------------------------------------------------------------------ */

/* The execution of a loop that is going on, as far as is known. */
struct hp_loop_record {
    uint64_t activation; /* 0: none */
    uint64_t n;          /* iterations so far */
    uint64_t since;      /* activations from this one on began when the loop was known */
    uint32_t depth;      /* of the activation */
    uint32_t saved;      /* those of lower activations, as index + 1 */
};

struct hp_loop_saved {
    uint64_t activation, n;
    uint32_t depth;
    uint32_t next; /* index + 1 */
};

/* What loops need to know of a frame; of the same index. */
struct hp_loop_frame {
    uint64_t activation; /* a number of its own */
    uint32_t site;       /* the block from which the frame below was left; HP_NO_ID: none */
    uint32_t function;   /* of the site, as the graph's index; HP_NO_ID: none */
    uint32_t previous;   /* the next lower frame with a site in that function, as index + 1 */
    uint32_t sites;      /* the cover of these and its own site; 0: not worked out yet */
    uint32_t cover;      /* where lower activations of the function that runs in it are */
};

/* What came of leaving a frame from a block. */
struct hp_loop_site {
    uint32_t to; /* where it was come back to first; HP_NO_ID: never */
    uint32_t block;
    uint64_t count;
    uint64_t inclusive; /* instructions until then */
};

/* A counter that was used lately. */
struct hp_covered_slot {
    uint64_t key;
    uint32_t index;
};
#define HP_COVERED_SLOTS 2048

struct hp_exact_loop_thread {
    struct hp_exact_loops *all;
    const struct hp_loop_arrival *arrivals; /* the graph's tables, where they are now */
    const struct hp_loop *loops;
    const uint64_t *exits;
    uint64_t now;    /* the activation at the top */
    uint64_t serial; /* of the newest */
    uint32_t cover;  /* of the top */
    uint32_t
        current; /* the block that was run last, whose successor is not known; HP_NO_ID: none */
    bool is_new; /* the transfer at hand was not counted before */
    bool sealed;
    size_t n_marked;                /* of the graph's, that this thread's cells know */
    struct hp_loop_record *records; /* by loop */
    struct hp_trips *trips; /* by loop; once the thread has ended, of the loops that it executed */
    uint32_t *trip_loops;   /* then: which these are */
    size_t n_records, cap_records, cap_trips;
    struct hp_loop_saved *saved;
    size_t n_saved, cap_saved;
    uint32_t free_saved; /* index + 1 */
    struct hp_loop_frame *frames;
    size_t cap_frames;
    uint32_t
        *newest; /* by function of the graph: the highest frame with a site in it, as index + 1 */
    size_t cap_newest;
    struct hp_loop_site *sites; /* by block; once the thread has ended, those that matter */
    size_t n_sites, cap_sites;

    struct hp_counters
        returns[2]; /* site << 32 | block, where that is not the site's `to`; [1]: unexpected */
    /* from << 32 | to. Of returns: that stayed in their frame; of jumps: that did not, although in
     * one function. */
    struct hp_counters odd;
    struct hp_counters begins; /* block: histories that begin there, by no transfer */
    struct hp_counters begun;  /* block: activations found going on there */
    struct hp_counters
        interrupted;            /* block: activations at, or called from, it when a history ended */
    struct hp_counters covered; /* cover << 32 | unit: runs in frames with that cover */
    struct hp_counters covered_calls; /* cover << 32 | site: instructions */
    struct hp_covered_slot *slots;    /* of `covered`, so that it need not be searched each time */
};

enum hp_err hp_exact_loops_new(struct hp_exact *exact);
void hp_exact_loops_free(struct hp_exact *exact);
enum hp_err hp_exact_loops_start(struct hp_exact_thread *thread);
void hp_exact_loops_stop(struct hp_exact_thread *thread); /* frees */

/* Tables for what is new in the code map. */
bool hp_exact_loops_cover(struct hp_exact_thread *thread);

/* Before steps of the thread: makes it know what others found. `block` is what goes on now,
 * HP_NO_ID: a history begins; a block that was cut short may go on as another. */
void hp_exact_loops_resume(struct hp_exact_thread *thread, uint32_t block);

/* The thread has ended: closes all records and keeps what the result needs. */
void hp_exact_loops_seal(struct hp_exact_thread *thread);

/* --- Transfers -------------------------------------------------------------------------------- */

/* What a transfer did to the shadow stack. */
enum hp_how {
    HP_HOW_STAYED, /* nothing */
    HP_HOW_CALLED, /* made a frame */
    HP_HOW_JUMPED, /* the same, by a jump */
    HP_HOW_AGAIN,  /* the same, and a frame is used again for it */
    HP_HOW_BACK,   /* ended frames: goes on in one that was left */
    HP_HOW_THROWN, /* the same, but not where it was expected to */
    HP_HOW_BEGUN,  /* replaced the lowest frame, of which nothing is known */
};

/* A transfer that is new and of which the stack need not be shown anything. */
void hp_exact_loops_learn(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* The block is run: what that means for headers in its chain. `from`: hp_loop_position() of the
 * node it came from by an edge, HP_LOOP_NOWHERE: by none. */
void hp_exact_loops_arrive(struct hp_exact_thread *thread, uint64_t from, uint32_t to);
#define HP_LOOP_NOWHERE UINT64_MAX
#define HP_LOOP_NOBODY  UINT64_MAX /* the activation when there is no frame */

/* The same; mostly it is nothing, or one more iteration. */
static inline void hp_exact_loops_run(struct hp_exact_thread *thread,
                                      const struct hp_exact_loop_thread *l, uint64_t from,
                                      uint32_t to)
{
    const struct hp_loop_arrival *a = &l->arrivals[to];
    if (a->loop && !a->more) {
        struct hp_loop_record *record = &l->records[a->loop - 1];
        if (record->activation == l->now && hp_loop_spans(&l->loops[a->loop - 1], from)) {
            record->n++;
            return;
        }
    }
    hp_exact_loops_arrive(thread, from, to);
}

static inline bool hp_exact_loops_matter(const struct hp_exact_loop_thread *l, uint32_t block)
{
    return l->arrivals[block].loop | l->arrivals[block].more;
}

/* A transfer that stayed in its frame and is not new. */
static inline void hp_exact_loops_follow(struct hp_exact_thread *thread, uint32_t from, uint32_t to)
{
    const struct hp_exact_loop_thread *l = thread->loops;
    if (hp_exact_loops_matter(l, to))
        hp_exact_loops_run(thread, l, l->exits[from], to);
}

/* Which function runs in the top frame decides about its cover. */
void hp_exact_loops_set_cover(struct hp_exact_thread *thread, uint32_t block);

/* A transfer that was shown to the stack and did nothing to it. */
void hp_exact_loops_stay_new(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

static inline void hp_exact_loops_stay(struct hp_exact_thread *thread, uint32_t from, uint32_t to)
{
    const struct hp_stack_block *spot = &thread->exact->spots[from];
    if (thread->loops->is_new || spot->odd ||
        (spot->flow == HP_FLOW_RETURN &&
         !(spot->may_not_go && spot->end == thread->exact->spots[to].start)))
        hp_exact_loops_stay_new(thread, from, to);
    if ((thread->loops->exits[from] ^ thread->loops->exits[to]) >> 32)
        hp_exact_loops_set_cover(thread, to);
    hp_exact_loops_follow(thread, from, to);
}

/* A call that made a frame. */
void hp_exact_loops_enter_new(struct hp_exact_thread *thread, uint32_t to);

static inline void hp_exact_loops_call(struct hp_exact_thread *thread, uint32_t to)
{
    struct hp_exact_loop_thread *l = thread->loops;
    l->is_new = false;
    if (!l->arrivals[to].root)
        hp_exact_loops_enter_new(thread, to);
    if (l->newest[l->exits[to] >> 32])
        hp_exact_loops_set_cover(thread, to);
    if (hp_exact_loops_matter(l, to))
        hp_exact_loops_run(thread, l, HP_LOOP_NOWHERE, to);
}

/* A jump that did. */
void hp_exact_loops_jump(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* A jump to the beginning of a function that was left by jumps: its frame is used again, for
 * another activation. */
void hp_exact_loops_again(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* Frames ended: it goes on in one that was left. */
void hp_exact_loops_come_back(struct hp_exact_thread *thread, uint32_t from, uint32_t to,
                              bool thrown);

static inline void hp_exact_loops_back(struct hp_exact_thread *thread, uint32_t from, uint32_t to,
                                       bool thrown)
{
    struct hp_exact_loop_thread *l = thread->loops;
    uint32_t site = l->frames[thread->n_frames].site; /* of what was popped last */
    if (site == HP_NO_ID || l->sites[site].to != to || thrown ||
        thread->exact->spots[from].flow != HP_FLOW_RETURN) {
        hp_exact_loops_come_back(thread, from, to, thrown);
        return;
    }
    l->is_new = false;
    l->sites[site].count++;
    if (hp_exact_loops_matter(l, to))
        hp_exact_loops_run(thread, l, l->exits[site], to);
}

/* A history, or an activation of which nothing is known, begins with the block. */
void hp_exact_loops_begin(struct hp_exact_thread *thread, uint32_t block, bool by_transfer);

/* --- Frames / --------------------------------------------------------------------------------- */

bool hp_exact_loops_grow_frames(struct hp_exact_thread *thread);

/* The frame at the top was just pushed, from the block `site` (HP_NO_ID: none). */
static inline void hp_exact_loops_push(struct hp_exact_thread *thread, uint32_t site)
{
    struct hp_exact_loop_thread *l = thread->loops;
    size_t top = thread->n_frames - 1;
    if (top >= l->cap_frames && !hp_exact_loops_grow_frames(thread))
        return;
    struct hp_loop_frame *frame = &l->frames[top];
    l->now = ++l->serial;
    l->cover = 0;
    *frame = (struct hp_loop_frame){.activation = l->now, .site = site, .function = HP_NO_ID};
    if (site == HP_NO_ID)
        return;
    frame->function = (uint32_t)(l->exits[site] >> 32);
    frame->previous = l->newest[frame->function];
    l->newest[frame->function] = (uint32_t)(top + 1);
}

void hp_exact_loops_covered_call(struct hp_exact_thread *thread, uint32_t site, uint64_t spent);

/* The frame above the top was just popped after `spent` instructions. */
static inline void hp_exact_loops_pop(struct hp_exact_thread *thread, uint64_t spent)
{
    struct hp_exact_loop_thread *l = thread->loops;
    const struct hp_loop_frame *frame = &l->frames[thread->n_frames];
    l->now = thread->n_frames ? frame[-1].activation : HP_LOOP_NOBODY;
    l->cover = thread->n_frames ? frame[-1].cover : 0;
    if (frame->site == HP_NO_ID)
        return;
    l->newest[frame->function] = frame->previous;
    l->sites[frame->site].inclusive += spent;
    if (l->cover)
        hp_exact_loops_covered_call(thread, frame->site, spent);
}

void hp_exact_loops_covered_new(struct hp_exact_thread *thread, uint64_t key);

/* The unit was run by the top frame, which has a cover. */
static inline void hp_exact_loops_covered(struct hp_exact_thread *thread, uint32_t unit)
{
    struct hp_exact_loop_thread *l = thread->loops;
    uint64_t key = (uint64_t)l->cover << 32 | unit;
    const struct hp_covered_slot *slot = &l->slots[(unit ^ l->cover * 37) % HP_COVERED_SLOTS];
    if (slot->key == key)
        l->covered.counts[slot->index]++;
    else
        hp_exact_loops_covered_new(thread, key);
}

/* All on the stack ends with the history. */
void hp_exact_loops_interrupt(struct hp_exact_thread *thread);

/* --- The result / ----------------------------------------------------------------------------- */

struct hp_exact_loop_result {
    struct hp_exact_loop *loops; /* parents first */
    size_t n;
    uint32_t *of;    /* loop of the graph -> loop; HP_NO_ID: it is none any more */
    uint32_t *nodes; /* of all functions, by position */
    struct hp_exact_back_edge *back_edges;
    struct hp_ploop_count *counts; /* item: loop; thread: index into the profiler's */
    size_t n_counts, cap_counts;
    struct hp_trips *trips; /* by loop, all threads together */
    bool *unknown; /* by loop: executions are not known one by one, only how many there were */
};

/* Works it out, once; all threads have been sealed (loops_count.c). */
enum hp_err hp_exact_loops_count(struct hp_exact *exact);
void hp_exact_loops_result_free(struct hp_exact_loop_result *result);

/* Adds the loops to the profile, which has the code and the threads (loops_result.c). */
enum hp_err hp_exact_loops_finish(struct hp_exact *exact, struct hp_result *result);

#endif
