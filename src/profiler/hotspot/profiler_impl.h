// SPDX-License-Identifier: MIT
/*
 * Inside the profiler of hot spots: counting (profiler.c), the fast loops (steps.c), regions and
 * their activity over time (regions.c), the result (result.c).
 *
 * Executions are counted by units, one increment per step, and by blocks where something may happen
 * inside a unit: a detection, a timer, a switch, the end of a slice. Counts of blocks are complete
 * only after hp_spots_flush().
 */
#ifndef HP_PROFILER_HOTSPOT_PROFILER_IMPL_H
#define HP_PROFILER_HOTSPOT_PROFILER_IMPL_H

#include "profiler/hotspot/detector.h"
#include "profiler/hotspot/pairs.h"
#include "profiler/hotspot/profiler.h"
#include "profiler/hotspot/windows.h"

#define HP_SPOTS_NOWHERE (~(uint64_t)0)

/* What a block does, computed once. */
struct hp_spots_block {
    uint64_t start;
    uint64_t last;  /* the branch */
    uint64_t fall;  /* where it goes when not taken; HP_SPOTS_NOWHERE: always taken */
    uint32_t place; /* of its set in the buffer, if chosen by the address alone */
    uint8_t flow;
    bool profiled;
    bool computed;
};
_Static_assert(sizeof(struct hp_spots_block) == 32, "two are a cache line");

/*
 * The effect of a unit on a process's monitor counter, computed when it is first run and again when
 * the monitor table has changed. The counter saturates at 0 and at a maximum. All steps of the unit
 * together are min(x + net, max + lowest) unless 0 is reached, and max(x + net, highest) unless the
 * maximum is reached: `lowest` and `highest` are the extremes of the sums of its last k steps, k >=
 * 0.
 */
struct hp_spots_unit {
    uint32_t count; /* executions since the last flush, but for */
    uint32_t times; /* those that were run ahead */
    uint64_t sizes; /* see hp_spots_sizes() */
    uint32_t insns; /* 0: not computed */
    int16_t net, lowest, highest;
    int16_t up, down;     /* sum of the steps up, of the steps down */
    uint8_t in_ranges;    /* profiled branches in the first level of the monitor table */
    bool has_pairs : 1;   /* as in its list */
    bool computed : 1;    /* as in its list */
    bool is_profiled : 1; /* its first block ends with a profiled branch */
};
_Static_assert(sizeof(struct hp_spots_unit) == 32, "two are a cache line");

/* A profiled branch of a unit. */
struct hp_spots_op {
    uint64_t address;
    uint64_t target; /* where it goes; of the last branch, whose target is open: where it falls
                        through to */
    uint32_t place;  /* as in struct hp_spots_block */
    uint8_t flow;
    bool taken;
};

/* The same: in which unit it is. */
struct hp_spots_use {
    uint32_t unit, before; /* the branch's use before this one; 0: none */
};

/* Three numbers in one, so that one addition sums all; for at most HP_STEPS_MAX units. */
static inline uint64_t hp_spots_sizes(uint32_t profiled, uint32_t branches, uint32_t blocks)
{
    return profiled | (uint64_t)branches << 20 | (uint64_t)blocks << 40;
}

static inline uint32_t hp_spots_profiled(uint64_t sizes)
{
    return (uint32_t)sizes & 0xfffff;
}

/* Instructions in a slice of the run. */
struct hp_spots_slice {
    uint32_t slice;
    uint64_t instructions;
};

/* A block of a region. */
struct hp_spots_member {
    uint32_t block, insns;
    uint64_t before; /* executions when the hot spot was detected */
};

/* A detected hot spot. */
struct hp_spots_found {
    uint32_t number;
    int32_t pid;
    uint64_t at_branches, at_instructions;
    struct hp_hotspot_branch *candidates;
    uint32_t *modules; /* of the candidates; once sealed */
    size_t n_candidates;
    struct hp_map64 branches; /* candidate's address -> 1 */
    struct hp_map64 longest; /* region=tight: candidate's address -> the longest block of the region
                                that ends there */
    struct hp_map64 member_of; /* block -> index */
    struct hp_spots_member *members;
    size_t n_members, cap_members;
    struct hp_spots_slice *slices;
    size_t n_slices, cap_slices;
    uint64_t seen; /* instructions in its region, when last added */
    uint64_t total, after;
    uint32_t next; /* index + 1 of the next of its process; 0: none */
};

/* A process, or with share=thread a thread. */
struct hp_spots_process {
    struct hp_spots *spots;
    int32_t pid;
    uint32_t number;                /* its number in the detector */
    uint32_t live;                  /* threads that have not ended */
    struct hp_spots_thread *thread; /* the running one */
    struct hp_hotspots *detector;
    struct hp_spot_process *state; /* in the detector; NULL before its first branch */
    struct hp_spots_unit *units;
    size_t n_units, cap_units;
    uint32_t *active; /* units with a count */
    size_t n_active, cap_active;
    uint64_t unflushed; /* units that were run since the last flush */
    uint64_t *counts;   /* executions by block */
    size_t n_counts, cap_counts;
    uint64_t *hot; /* by block: 1 + its executions before the first hot spot with it was detected;
                      0: in none */
    size_t cap_hot;
    struct hp_spot_pairs pairs;
    uint32_t found;             /* index + 1 of its latest; 0: none */
    struct hp_map64 candidates; /* of all its hot spots: address -> 1 */
    size_t known_blocks;        /* of the plan, when regions were last completed */
};

struct hp_spots_thread {
    struct hp_spots *spots;
    struct hp_spots_process *process; /* NULL: it has ended */
    struct hp_thread info;
    uint64_t instructions, blocks, branches;
};

/* What a thread ran ahead. */
struct hp_spots_part {
    struct hp_spots_thread *thread;
    size_t from; /* in the log */
    uint64_t blocks, branches;
};

/* What the end of a slice changes in a hot spot. */
struct hp_spots_kept {
    uint64_t seen, after;
    size_t n_slices;
    uint64_t in_last; /* instructions in the last of them */
};

/*
 * A process that owns the buffer runs ahead: what was executed since `from` in the log of windows
 * is counted as if nothing was detected. It is not certain yet, and can be undone: executions are
 * in `times` of units, and what has changed directly was this before.
 */
struct hp_spots_ahead {
    struct hp_spots_process *process;
    size_t from;
    uint64_t clock, refresh_left, reset_left, branches, profiled;
    int32_t counter;
    size_t n_pairs;
    size_t folded; /* up to there in the log executions were counted, because a slice ended, */
    uint64_t slice_end;
    uint32_t slice; /* before that */
    struct hp_spots_kept *kept;
    size_t cap_kept;
    struct hp_spots_part *parts;
    size_t n_parts, cap_parts;
    uint32_t *recent; /* units that were run ahead */
    size_t n_recent, cap_recent;
    struct hp_step *steps; /* that are run again */
    size_t cap_steps;
    bool again; /* they are being run */
};

struct hp_spots {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_hotspot_config asked, config; /* in `config` the shift is a number */
    struct hp_hotspots *detector;           /* of all; NULL with share=thread */
    hp_hotspot_found tell;                  /* NULL: nobody */
    void *tell_context;

    struct hp_spots_block *plan; /* by block */
    size_t n_plan, cap_plan;
    struct hp_spots_list *lists; /* by unit; of those that were run */
    size_t n_lists, cap_lists;
    struct hp_spots_op *ops;
    struct hp_spots_hit *hits;
    struct hp_spots_use *uses; /* of numbered branches */
    size_t n_ops, cap_ops, cap_hits, cap_uses;
    struct hp_spot_counts numbered;
    struct hp_spot_windows windows; /* of what is in `numbered` */
    struct hp_spots_ahead ahead;
    uint32_t *numbers; /* by block: of its branch; 0: not yet */
    size_t cap_numbers;
    uint32_t by_address; /* units that are run before a buffer comes to `numbered` */
    struct hp_map64 first_by_start, first_by_last; /* address -> block, of the first n_linked */
    size_t n_linked;
    uint32_t *next_by_start, *next_by_last; /* by block: 1 + the next; 0: none */
    size_t cap_by_start, cap_by_last;

    struct hp_spots_thread **threads;
    size_t n_threads, cap_threads;
    struct hp_spots_process **processes; /* that are not over */
    size_t n_processes, cap_processes;
    uint32_t next_number;

    struct hp_spots_found **found; /* in the order of detection */
    size_t n_found, cap_found;
    uint64_t not_kept;

    uint64_t clock; /* instructions */
    uint64_t width, slice_end;
    uint32_t slice;

    uint8_t *ran, *hot; /* by block, of ended processes: executed, in a hot spot */
    size_t cap_ran, cap_hot;
    struct hp_hotspot_stats stats; /* of freed detectors */
    struct hp_hotspot_stats all;
    struct hp_hotspot_summary summary;
    bool summarized;
    struct hp_step *buffer;
    bool out_of_memory;
};

/* --- steps.c ---------------------------------------------------------------------------------- */

/* Runs the units of the steps; of the last one, all blocks but the last. */
void hp_spots_run(struct hp_spots_process *process, const struct hp_steps *steps);

/* Runs units; `end` comes after them. */
void hp_spots_run_units(struct hp_spots_process *process, const struct hp_step *step,
                        const struct hp_step *end);

/* Makes counts of blocks complete, but for what was run ahead since a slice ended. */
void hp_spots_flush(struct hp_spots_process *process);

/* The same, because branches came to the monitor table: what units with them do to the counter will
 * be recomputed. */
void hp_spots_forget(struct hp_spots_process *process, const struct hp_hotspot_branch *branches,
                     size_t n);

/* --- ahead.c ---------------------------------------------------------------------------------- */

/* Whether the process is the one that runs ahead now. */
static inline bool hp_spots_is_ahead(const struct hp_spots_process *p)
{
    return p->spots->windows.numbered && p->spots->numbered.of == p->detector &&
           p->detector->owner == p->state;
}

/* The process will run at most so many units ahead. False: out of memory. */
bool hp_spots_go_ahead(struct hp_spots_process *process, size_t units);

/* Units with branches of these sizes were put down in the log, all in the present window. */
void hp_spots_ran_ahead(struct hp_spots_process *process, uint64_t sizes);

/* Runs the unit of a block, in which nothing happens but that a timer may be due after it. False:
 * out of memory. */
bool hp_spots_run_ahead(struct hp_spots_process *process, const struct hp_step *step);

/* The clock has reached the end of the slice. */
void hp_spots_pass_slice(struct hp_spots *spots);

/* Makes certain what was run ahead. If something may have been detected, it is run again, branch by
 * branch. */
void hp_spots_settle(struct hp_spots *spots);

/* Returns the buffer's contents to the detector, if they are not there. `cleared`: it will be
 * cleared, so they may be anything. */
void hp_spots_give_back(struct hp_spots *spots, bool cleared);

/* --- regions.c -------------------------------------------------------------------------------- */

/* The detector's handler; its context is the profiler. */
void hp_spots_on_detection(void *context, const struct hp_hotspot *hotspot);

/* The clock has reached the end of the slice; all executions are in counts of units. */
void hp_spots_end_slice(struct hp_spots *spots);

/* The process has ended: computes the results of its hot spots, and adds them to the summary. */
void hp_spots_seal(struct hp_spots_process *process);

/* Instructions executed in the region so far; counts must be complete. */
uint64_t hp_spots_executed(const struct hp_spots_process *process,
                           const struct hp_spots_found *found);

void hp_spots_found_free(struct hp_spots_found *found);

/* --- profiler.c ------------------------------------------------------------------------------- */

/* Ends what did not end properly. */
void hp_spots_end_all(struct hp_spots *spots);

/* --- result.c --------------------------------------------------------------------------------- */

/* Distinct instructions of the blocks. HP_ERR_NOMEM. */
enum hp_err hp_spots_distinct(struct hp_code *code, const uint32_t *ids, size_t n,
                              uint64_t *instructions);

enum hp_err hp_spots_finish(struct hp_profiler *profiler, struct hp_result *result);

#endif
