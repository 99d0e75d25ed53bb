// SPDX-License-Identifier: MIT
/*
 * Loops while the program runs: what the exact profiler keeps for them in addition to its counts
 * (docs/loops.md).
 *
 * Nearly everything follows from counts in the end (loops_result.c). While the program runs, only
 * three things need attention:
 *  - the graph, at every new transfer (learning);
 *  - the iterations of each execution: a loop has a *record* of its current execution, which counts
 *    back edges to its headers and is closed when a header is reached otherwise. Exits need not be
 *    watched;
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

/* A block in a unit. */
struct hp_loop_member {
    uint32_t unit;
    uint32_t next;  /* of the same block: index + 1, 0: none */
    uint32_t watch; /* the watch bits of the unit when the block matters */
};

struct hp_exact_loops {
    struct hp_loop_graph graph;
    struct hp_loop_member *members;
    size_t n_members, cap_members;
    uint32_t *member_of; /* by block: index + 1 */
    size_t cap_member_of;
    size_t n_units; /* whose members are registered */

    struct hp_covers covers;
    struct hp_exact_loop_result *result;
};

/* --- Of a thread ------------------------------------------------------------------------------ */

/* The current execution of a loop, as far as known. */
struct hp_loop_record {
    uint64_t activation; /* 0: none */
    uint64_t n;          /* iterations so far */
    uint64_t since;      /* activations from this one on began when the loop was already known */
    uint32_t depth;      /* of the activation */
    uint32_t saved;      /* records of lower activations, as index + 1 */
};

struct hp_loop_saved {
    uint64_t activation, n;
    uint32_t depth;
    uint32_t next; /* index + 1 */
};

/* What loops need to know about a frame; same index. */
struct hp_loop_frame {
    uint64_t activation; /* unique */
    uint32_t site;       /* the block from which the frame below was left; HP_NO_ID: none */
    uint32_t function;   /* of the site, as the graph's index; HP_NO_ID: none */
    uint32_t previous;   /* the next lower frame with a site in that function, as index + 1 */
    uint32_t sites;      /* the cover of these and its own site; 0: not computed yet */
    uint32_t cover;      /* the sites of lower activations of the function that runs in it */
    uint32_t node;       /* of the stack up to it (phrases.h); 0: not known */
};

/* What followed from leaving a frame at a block. */
struct hp_loop_site {
    uint32_t to; /* where control first returned to; HP_NO_ID: never */
    uint32_t block;
    uint64_t count;
    uint64_t inclusive; /* instructions until the return */
};

/* A recently used counter. */
struct hp_covered_slot {
    uint64_t key;
    uint32_t index;
};
#define HP_COVERED_SLOTS 2048

/* What a leg of a run (legs.h) means for a loop. */
enum hp_leg_event_kind {
    HP_LEG_GOES_ON, /* `n` more iterations of its execution in the running activation */
    HP_LEG_STARTS,  /* an execution begins there, and has `n` iterations so far */
    HP_LEG_GONE,    /* an execution of `n` iterations, in an activation that has ended */
    HP_LEG_ENTERS,  /* before all others: the function `loop` of the graph must not be active */
};

struct hp_leg_event {
    uint32_t loop;
    uint16_t kind; /* enum hp_leg_event_kind */
    uint16_t n;
};

struct hp_leg {
    /* For this version of the loops: */
    uint32_t version;  /* 0: none */
    uint32_t function; /* the frame must be of it; HP_NO_ID: any */
    bool plain;        /* no excursions, and any frame will do */
    bool shown;        /* always, one by one */
    uint8_t n_events, n_entered;
    bool calls; /* it has excursions */
    bool more;  /* behind its last operation is one that changes the stack, then a leg */
    uint8_t n_ops;
    uint8_t first, end;      /* blocks of the run */
    struct hp_leg_event one; /* if it is plain, a copy of its first event: mostly all there is */
    uint32_t op, event;      /* its first ones */
    uint32_t context, cover; /* from and under which it was counted last; HP_NO_ID: never */
    uint32_t counter;        /* then: of the excursions */
    uint32_t unit;
};

struct hp_exact_loop_thread {
    struct hp_exact_loops *all;
    const struct hp_loop_arrival *arrivals; /* the graph's current tables */
    const struct hp_loop *loops;
    const uint64_t *exits;
    uint64_t now;     /* the activation at the top */
    uint64_t serial;  /* of the newest */
    uint32_t cover;   /* of the top */
    uint32_t current; /* the block that ran last, successor unknown; HP_NO_ID: none */
    uint32_t version; /* of the loops: changes with everything that legs depend on; not 0 */
    bool is_new;      /* the current transfer was not counted before */
    bool sealed;
    size_t n_marked;                /* of the graph's marked blocks, known to this thread's cells */
    struct hp_loop_record *records; /* by loop */
    struct hp_trips *trips; /* by loop; once the thread has ended, only the loops it executed */
    uint32_t *trip_loops;   /* then: their loops */
    size_t n_records, cap_records, cap_trips;
    struct hp_loop_saved *saved;
    size_t n_saved, cap_saved;
    uint32_t free_saved; /* index + 1 */
    struct hp_leg *legs;
    struct hp_leg_event *events;
    size_t n_legs, cap_legs, n_events, cap_events;
    size_t n_heads; /* cells that know whether their first block matters */
    struct hp_loop_frame *frames;
    size_t cap_frames;
    uint32_t
        *newest; /* by function of the graph: the highest frame with a site in it, as index + 1 */
    size_t cap_newest;
    struct hp_loop_site *sites; /* by block; once the thread has ended, only those that matter */
    size_t n_sites, cap_sites;

    struct hp_counters returns[2]; /* site << 32 | block, if not the site's `to`; [1]: unexpected */
    /* from << 32 | to. Returns that stayed in their frame; jumps that did not, although inside one
     * function. */
    struct hp_counters odd;
    struct hp_counters begins; /* block: histories that begin there without a transfer */
    struct hp_counters begun;  /* block: activations first observed there */
    struct hp_counters
        interrupted; /* block: activations in it, or called from it, when a history ended */
    struct hp_counters covered;       /* cover << 32 | unit: runs in frames with that cover */
    struct hp_counters covered_calls; /* cover << 32 | site: instructions */
    struct hp_covered_slot *slots; /* of both, one after the other, to avoid a search each time */

    struct hp_exact_phrases *phrases; /* phrases.h; NULL: none yet */
    struct hp_note *note;             /* what a phrase does is being noted; else NULL */
};

/* What a phrase adds: to a context, instructions and a call; to others so much. */
enum hp_phrase_adds {
    HP_ADDS_CONTEXT,
    HP_ADDS_SITE, /* instructions */
    HP_ADDS_SITE_COUNT,
    HP_ADDS_EXCURSION,
    HP_ADDS_COVERED,
    HP_ADDS_COVERED_CALL,
};

/* --- Notes (notes.c) -------------------------------------------------------------------------- */

/* Only while a note is taken: what happens now. */
void hp_exact_note_push(struct hp_exact_thread *thread);
void hp_exact_note_pop(struct hp_exact_thread *thread, uint64_t spent);
void hp_exact_note_events(struct hp_exact_thread *thread, const struct hp_leg_event *events,
                          uint32_t n);
void hp_exact_note_add(struct hp_exact_thread *thread, enum hp_phrase_adds to, uint32_t index,
                       uint64_t amount);
void hp_exact_note_bad(struct hp_exact_thread *thread); /* it does not always happen */

/* It is asked whether a block of so many instructions, which has just run, is all that ran in the
 * frame at the top. */
void hp_exact_note_stub(struct hp_exact_thread *thread, uint32_t insns);

static inline bool hp_exact_is_noting(const struct hp_exact_loop_thread *loops)
{
    return __builtin_expect(loops->note != NULL, 0);
}

enum hp_err hp_exact_loops_new(struct hp_exact *exact);
void hp_exact_loops_free(struct hp_exact *exact);
enum hp_err hp_exact_loops_start(struct hp_exact_thread *thread);
void hp_exact_loops_stop(struct hp_exact_thread *thread); /* frees */

/* Grows the tables for new blocks and units of the code map. */
bool hp_exact_loops_cover(struct hp_exact_thread *thread);

/* Before steps of the thread: learns what other threads found. `block` is where it continues (a
 * block that was cut short may continue as another one); HP_NO_ID: a history begins. */
void hp_exact_loops_resume(struct hp_exact_thread *thread, uint32_t block);

/* The thread has ended: closes all records and keeps what the result needs. */
void hp_exact_loops_seal(struct hp_exact_thread *thread);

/* Before the result is made: the graph, and how often activations were continued, of threads whose
 * edges were counted (loops_counted.c). */
enum hp_err hp_exact_loops_find(struct hp_exact *exact);

/* --- Transfers -------------------------------------------------------------------------------- */

/* What a transfer did to the shadow stack. */
enum hp_how {
    HP_HOW_STAYED, /* nothing */
    HP_HOW_CALLED, /* pushed a frame */
    HP_HOW_JUMPED, /* the same, by a jump */
    HP_HOW_AGAIN,  /* the same, but reused a frame */
    HP_HOW_BACK,   /* popped frames: continues in one that was left */
    HP_HOW_THROWN, /* the same, but at an unexpected place */
    HP_HOW_BEGUN,  /* replaced the lowest frame, about which nothing is known */
};

/* A new transfer that need not be shown to the stack. */
void hp_exact_loops_learn(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* The block runs: updates the loops of the headers in its chain. `from`: hp_loop_position() of the
 * node it came from by an edge, HP_LOOP_NOWHERE: no edge. */
void hp_exact_loops_arrive(struct hp_exact_thread *thread, uint64_t from, uint32_t to);
#define HP_LOOP_NOWHERE UINT64_MAX
#define HP_LOOP_NOBODY  UINT64_MAX       /* the activation when there is no frame */
#define HP_LOOP_ENDED   (UINT64_MAX - 1) /* of an execution: some activation that has ended */

/* What a leg means for a loop; mostly hp_exact_loops_apply() does it. */
void hp_exact_loops_event(struct hp_exact_thread *thread, const struct hp_leg_event *event);

static inline void hp_exact_loops_apply(struct hp_exact_thread *thread,
                                        const struct hp_leg_event *event, uint32_t n)
{
    struct hp_exact_loop_thread *l = thread->loops;
    if (hp_exact_is_noting(l))
        hp_exact_note_events(thread, event, n);
    for (; n; n--, event++) {
        struct hp_loop_record *record = &l->records[event->loop];
        bool gone = event->kind == HP_LEG_GONE;
        if (record->activation != (gone ? HP_LOOP_ENDED : l->now) || (gone && record->saved)) {
            hp_exact_loops_event(thread, event);
        } else if (event->kind == HP_LEG_GOES_ON) {
            record->n += event->n;
        } else {
            if (hp_trips_add(&l->trips[event->loop], record->n) != HP_OK)
                thread->exact->out_of_memory = true;
            record->n = event->n;
        }
    }
}

/* The same; mostly nothing, or one more iteration. */
static inline void hp_exact_loops_run(struct hp_exact_thread *thread,
                                      const struct hp_exact_loop_thread *l, uint64_t from,
                                      uint32_t to)
{
    const struct hp_loop_arrival *a = &l->arrivals[to];
    if (a->loop && !a->more) {
        struct hp_loop_record *record = &l->records[a->loop - 1];
        if (record->activation == l->now && !hp_exact_is_noting(l) &&
            hp_loop_spans(&l->loops[a->loop - 1], from)) {
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

/* Sets the top frame's cover, which depends on the function that runs in it. */
void hp_exact_loops_set_cover(struct hp_exact_thread *thread, uint32_t block);

/* A transfer that was shown to the stack and did not change it. */
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

/* A call that pushed a frame. */
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

/* A jump that pushed a frame. */
void hp_exact_loops_jump(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* A jump to the entry of a function that was left by jumps: its frame is reused for another
 * activation. */
void hp_exact_loops_again(struct hp_exact_thread *thread, uint32_t from, uint32_t to);

/* Frames were popped: continues in one that was left. */
void hp_exact_loops_come_back(struct hp_exact_thread *thread, uint32_t from, uint32_t to,
                              bool thrown);

/* A return came back to where the frame was left. */
static inline void hp_exact_loops_count_site(struct hp_exact_thread *thread, uint32_t site)
{
    thread->loops->sites[site].count++;
    if (hp_exact_is_noting(thread->loops))
        hp_exact_note_add(thread, HP_ADDS_SITE_COUNT, site, 1);
}

static inline void hp_exact_loops_back(struct hp_exact_thread *thread, uint32_t from, uint32_t to,
                                       bool thrown)
{
    struct hp_exact_loop_thread *l = thread->loops;
    uint32_t site = l->frames[thread->n_frames].site; /* of the frame popped last */
    if (site == HP_NO_ID || l->sites[site].to != to || thrown ||
        thread->exact->spots[from].flow != HP_FLOW_RETURN) {
        hp_exact_loops_come_back(thread, from, to, thrown);
        return;
    }
    l->is_new = false;
    hp_exact_loops_count_site(thread, site);
    if (hp_exact_loops_matter(l, to))
        hp_exact_loops_run(thread, l, l->exits[site], to);
}

/* A history, or an activation about which nothing is known, begins with the block. */
void hp_exact_loops_begin(struct hp_exact_thread *thread, uint32_t block, bool by_transfer);

/* --- Frames ----------------------------------------------------------------------------------- */

bool hp_exact_loops_grow_frames(struct hp_exact_thread *thread);

/* The frame at the top was just pushed, from the block `site`, of the graph's `function` (HP_NO_ID:
 * none). */
static inline void hp_exact_loops_push_from(struct hp_exact_thread *thread, uint32_t site,
                                            uint32_t function)
{
    struct hp_exact_loop_thread *l = thread->loops;
    size_t top = thread->n_frames - 1;
    if (top >= l->cap_frames && !hp_exact_loops_grow_frames(thread))
        return;
    struct hp_loop_frame *frame = &l->frames[top];
    l->now = ++l->serial;
    l->cover = 0;
    *frame = (struct hp_loop_frame){.activation = l->now, .site = site, .function = function};
    if (hp_exact_is_noting(l))
        hp_exact_note_push(thread);
    if (site == HP_NO_ID)
        return;
    frame->previous = l->newest[function];
    l->newest[function] = (uint32_t)(top + 1);
}

static inline void hp_exact_loops_push(struct hp_exact_thread *thread, uint32_t site)
{
    uint32_t function = site == HP_NO_ID ? HP_NO_ID : (uint32_t)(thread->loops->exits[site] >> 32);
    hp_exact_loops_push_from(thread, site, function);
}

void hp_exact_loops_covered_call(struct hp_exact_thread *thread, uint32_t site, uint64_t spent);

/* The frame above the top was just popped after `spent` instructions. */
static inline void hp_exact_loops_pop(struct hp_exact_thread *thread, uint64_t spent)
{
    struct hp_exact_loop_thread *l = thread->loops;
    const struct hp_loop_frame *frame = &l->frames[thread->n_frames];
    l->now = thread->n_frames ? frame[-1].activation : HP_LOOP_NOBODY;
    l->cover = thread->n_frames ? frame[-1].cover : 0;
    if (frame->site != HP_NO_ID) {
        l->newest[frame->function] = frame->previous;
        l->sites[frame->site].inclusive += spent;
        if (l->cover)
            hp_exact_loops_covered_call(thread, frame->site, spent);
    }
    if (hp_exact_is_noting(l))
        hp_exact_note_pop(thread, spent);
}

void hp_exact_loops_covered_new(struct hp_exact_thread *thread, uint64_t key);

/* The top frame, which has a cover, ran the unit. */
static inline void hp_exact_loops_covered(struct hp_exact_thread *thread, uint32_t unit)
{
    struct hp_exact_loop_thread *l = thread->loops;
    uint64_t key = (uint64_t)l->cover << 32 | unit;
    const struct hp_covered_slot *slot = &l->slots[(unit ^ l->cover * 37) % HP_COVERED_SLOTS];
    if (slot->key == key && !hp_exact_is_noting(l))
        l->covered.counts[slot->index]++;
    else
        hp_exact_loops_covered_new(thread, key);
}

/* The history ends, and everything on the stack with it. */
void hp_exact_loops_interrupt(struct hp_exact_thread *thread);

/* --- The result ------------------------------------------------------------------------------- */

struct hp_exact_loop_result {
    struct hp_exact_loop *loops; /* parents first */
    size_t n;
    uint32_t *of;    /* loop of the graph -> loop; HP_NO_ID: no longer a loop */
    uint32_t *nodes; /* of all functions, by position */
    struct hp_exact_back_edge *back_edges;
    struct hp_ploop_count *counts; /* item: loop; thread: index into the profiler's */
    size_t n_counts, cap_counts;
    struct hp_trips *trips; /* by loop, all threads together */
    bool *unknown; /* by loop: only the number of executions is known, not each execution */
};

/* Computes the result, once; all threads have been sealed (loops_count.c). */
enum hp_err hp_exact_loops_count(struct hp_exact *exact);
void hp_exact_loops_result_free(struct hp_exact_loop_result *result);

/* Adds the loops to the profile, which has the code and the threads (loops_result.c). */
enum hp_err hp_exact_loops_finish(struct hp_exact *exact, struct hp_result *result);

#endif
