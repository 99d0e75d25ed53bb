// SPDX-License-Identifier: MIT
/*
 * Inside a path detector: the stack and its operations, one transfer at a time (detector.c), and
 * the loop over whole units (detector_steps.c).
 *
 * Invariants between calls:
 *  1. entries[low] ... entries[n - 1] are the stack, the top last. What is below a marker's `base`
 *     was interrupted by a signal.
 *  2. Unless `fresh`, there is an entry above the newest marker.
 *  3. Every retired instruction is in exactly one place: an entry, `pending`, a marker's `pending`,
 *     a path handed over or waiting to be, or stats.unfinished_insns.
 */
#ifndef HP_PROFILER_PATH_DETECTOR_IMPL_H
#define HP_PROFILER_PATH_DETECTOR_IMPL_H

#include "hotpath/path.h"
#include "profiler/path/memo.h"
#include "profiler/path/plan.h"
#include "profiler/path/prefixes.h"

/* An unfinished path. */
struct hp_path_entry {
    uint64_t start;
    uint64_t outcomes;
    uint64_t insns;
    uint64_t return_to; /* the return address of the call that pushed it; 0: not pushed by a call */
    uint64_t targets;   /* hash */
    uint64_t events;    /* not saturated */
    uint32_t block;
    uint32_t extension; /* backward branches, or calls, that it grew through */
    uint32_t length;
    uint16_t n_targets;
    bool piece; /* where it began is not known */
};

struct hp_path_pending {
    uint64_t insns, events;
};

/* A signal. */
struct hp_path_marker {
    size_t base; /* entries below were interrupted */
    struct hp_path_pending pending;
    bool fresh;
};

/* Costs: they are wherever instructions are (invariant 3). */
struct hp_path_counter {
    struct hp_path_costs *entries; /* of entries[i] */
    struct hp_path_costs *markers; /* of markers[i].pending */
    size_t cap_entries, cap_markers;
    struct hp_path_costs pending;
    struct hp_path_costs unfinished;
};

/* When a path is finished, there must be room left for the targets of any other path. */
#define HP_DETECTOR_TARGETS 4096

/* Entries of the stack: calls that never return must not use up all memory. */
#define HP_DETECTOR_MAX_SPILL (1u << 20)

struct hp_detector {
    struct hp_ppcr ppcr;
    uint64_t counter_max;
    struct hp_frame_source *frames;
    struct hp_path_sink *sink;
    struct hp_detector_stats stats;
    bool out_of_memory;

    struct hp_path_entry *entries;
    uint32_t *nodes; /* by entry: the node of a path that waits for a call; 0: unknown */
    size_t low, n, cap, cap_nodes;
    uint64_t (*lists)[HP_PATH_MAX_LENGTH]; /* by_address: the targets of entries[i] */
    size_t cap_lists;
    struct hp_path_counter *counter; /* NULL: costs are not counted */
    struct hp_path_marker *markers;
    size_t n_markers, cap_markers;
    struct hp_path_pending pending;
    bool fresh;
    bool only_whole; /* pieces are not handed over */

    struct hp_path_plan *plan;   /* NULL: not needed yet */
    struct hp_path_plan *shared; /* another owner's plan, to use; NULL: its own */
    struct hp_path_memo *memo;   /* the plan's; NULL: paths get no numbers */
    uint64_t generation;         /* of the memo, when `nodes` was valid */

    size_t n_paths;
    struct hp_path paths[HP_PATHS_MAX]; /* finished */
    size_t n_targets;
    uint64_t targets[HP_DETECTOR_TARGETS]; /* of those */
    size_t n_numbers;                      /* finished: there are none of these, or no paths */
    uint32_t numbers[HP_PATHS_MAX];
    uint64_t hand_overs;
};

/* As hp_detector_new(), with the control register and functions of a plan that is shared with
 * others and outlives the detector. */
enum hp_err hp_detector_new_shared(struct hp_path_plan *plan, struct hp_path_sink *sink,
                                   struct hp_detector **detector);

/* Hands over the finished paths. */
void hp_detector_hand_over(struct hp_detector *d);

/* The same as retiring all blocks of steps[0] ... steps[n], but the last, from what the memo knows.
 * Not with `by_address`. */
void hp_detector_by_memo(struct hp_detector *d, const struct hp_steps *steps);

/* The first entry above the newest marker. */
size_t hp_detector_floor(const struct hp_detector *d);

/* A transfer that is a branch. */
struct hp_path_transfer {
    uint64_t last;     /* address of the branch */
    uint64_t end;      /* the address after it */
    uint64_t direct;   /* its target when taken; 0: any */
    uint64_t target;   /* where it went */
    uint32_t from, to; /* blocks; HP_NO_ID */
    uint8_t flow, taken;
};

static inline bool hp_path_is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

/* Its class. */
enum hp_class hp_detector_class(const struct hp_ppcr *ppcr, const struct hp_path_transfer *x);

/* Applies it; the instructions of its block are in `pending`. */
void hp_detector_transfer(struct hp_detector *d, const struct hp_path_transfer *x);

/* The branch that ends the block; `taken` as in a batch. */
static inline struct hp_path_transfer hp_path_transfer_of(const struct hp_block *table,
                                                          uint32_t from, uint32_t to, bool taken)
{
    return (struct hp_path_transfer){.last = table[from].last,
                                     .end = table[from].end,
                                     .direct = table[from].target,
                                     .target = table[to].start,
                                     .from = from,
                                     .to = to,
                                     .flow = table[from].flow,
                                     .taken = taken};
}

/* Whether an indirect jump may be a longjmp: from one function into the middle of another. */
bool hp_detector_may_land(const struct hp_detector *d, const struct hp_path_transfer *x);

/* A block was retired, and `to` is next: applies everything that follows. `events`: of the metric,
 * in the block. */
void hp_detector_retire(struct hp_detector *d, const struct hp_block *table, uint32_t from,
                        uint32_t to, bool taken, uint32_t events);

/* --- Costs ------------------------------------------------------------------------------------ */

/* From now on paths come with what they cost: one at a time, from hp_detector_retire() and
 * hp_detector_event() alone. Before the first block. HP_ERR_NOMEM. */
enum hp_err hp_detector_count_costs(struct hp_detector *d);

/* What the block cost that is retired next; adds up. */
void hp_detector_add_costs(struct hp_detector *d, const struct hp_path_costs *costs);

/* What all that is in no path cost: as stats.unfinished_insns. Also of what the caller adds. */
struct hp_path_costs *hp_detector_unfinished_costs(struct hp_detector *d);

static inline void hp_path_costs_add(struct hp_path_costs *to, const struct hp_path_costs *costs)
{
    for (int i = 0; i < HP_PATH_COSTS; i++)
        to->of[i] += costs->of[i];
}

/* Moves them: `from` is zero then. */
static inline void hp_path_costs_move(struct hp_path_costs *to, struct hp_path_costs *from)
{
    hp_path_costs_add(to, from);
    *from = (struct hp_path_costs){0};
}

/* Starts the path of a thread, or of a signal handler. */
void hp_detector_begin(struct hp_detector *d, uint64_t start, uint32_t block);

/* --- An engine that counts paths (docs/counted-paths.md) -------------------------------------- */

/* The path at the top, which has just started at `block`, is the engine's from here on. If it has
 * not just started, it is discarded, and another one starts there. */
void hp_detector_lend(struct hp_detector *d, uint64_t start, uint32_t block);

/*
 * The engine gives back what it has: for each of its frames, the oldest first, hp_detector_frame()
 * with the path that waits for a call there (hp_path_prefixes_call()) and the return address of
 * that call; then hp_detector_take_back() with the path in the top frame. The first of these paths
 * is the one that was lent. Between hp_detector_lend() and the last of these calls there may be
 * events, which then apply to the stack without the engine's frames, and no transfers.
 */
void hp_detector_frame(struct hp_detector *d, const struct hp_path_prefix *path,
                       uint64_t return_to);
void hp_detector_take_back(struct hp_detector *d, const struct hp_path_prefix *path);

/* The engine executed a path `times` times: for the sink and the totals of a detector, whether it
 * is still there or not. */
void hp_detector_counted(struct hp_detector_stats *stats, struct hp_path_sink *sink,
                         const struct hp_path_counted *path, uint64_t times);

#endif
