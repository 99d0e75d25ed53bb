// SPDX-License-Identifier: MIT
/*
 * From branch stacks to edges between blocks.
 *
 * Between two branches of a stack, control ran straight from the target of the older one to the
 * newer one. Such a *run* is a few blocks of the program's code, each of which falls through into
 * the next. The block that the oldest branch ends began somewhere unknown, unless the last stack of
 * the thread ended where this one begins.
 */
#ifndef HP_IMPORT_STACKS_H
#define HP_IMPORT_STACKS_H

#include "base/map64.h"
#include "base/tally64.h"
#include "hotpath/profiler.h"
#include "hotpath/stream.h"
#include "import/samples.h"
#include "import/spaces.h"
#include "import/stretches.h"

/* An address in a view. */
struct hp_import_spot {
    uint64_t address;
    uint32_t view;
    uint32_t block; /* that starts there; HP_NO_ID: not looked for, or none */
    bool looked_for;
};

/* Blocks that ran one after the other. */
struct hp_import_run {
    uint32_t first, n;                         /* of `blocks`; 0: there is no such straight run */
    uint64_t timed, cycles, squares, min, max; /* times that its cycles are known */
    uint64_t untimed;
};

/* Where a thread was when its last sample was taken. */
struct hp_import_tail {
    uint32_t from, to; /* spots: the target of the newest branch, the instruction pointer */
};
#define HP_IMPORT_TAILS 16

struct hp_import_thread {
    struct hp_thread info;
    struct hp_tally64 edges;   /* run << 32 | spot that followed (HP_NO_ID: not known) */
    struct hp_tally64 orphans; /* spot of a branch << 32 | spot of its target */
    struct hp_import_tail
        tails[HP_IMPORT_TAILS]; /* of stacks that may go on, the last one on top */
    uint32_t n_tails;
    bool whole;    /* each stack began where one before ended */
    uint64_t self; /* periods of its samples */
};

struct hp_import_stack_counts {
    uint64_t stacks, branches; /* with a branch of user code */
    uint64_t mispredicted, predicted;
    uint64_t wrong_path; /* branches of wrong paths, left out */
    uint64_t runs, gaps; /* between branches; of these that are not in code that is known */
    uint64_t impossible; /* of these, that do not fit the code */
    uint64_t kernel;     /* branches in the kernel, left out */
    uint64_t joined;     /* stacks that begin where the last one ended */
    uint64_t timed;      /* runs in stacks whose cycles are known */
};

struct hp_import_stacks {
    struct hp_import_spaces *spaces;
    struct hp_code *code;
    struct hp_decoder *decoder;
    struct hp_import_spot *spots;
    size_t n_spots, cap_spots;
    struct hp_map64 *spot_of; /* by view: address -> spot */
    size_t n_views;
    struct hp_import_run *runs;
    size_t n_runs, cap_runs;
    struct hp_map64 run_of; /* from spot << 32 | to spot */
    uint32_t *blocks;
    size_t n_blocks, cap_blocks;
    uint32_t n_segments;
    struct hp_import_stretches stretches;
    struct hp_map64 end_of; /* module and branch -> a block that ends there; see hp_stacks_walk() */
    size_t n_ends;          /* runs that it is of */
    uint32_t shown;         /* the sample whose stretch is being shown */
    struct hp_import_stack_counts counts;
};

/* Keeps the pointers. */
enum hp_err hp_stacks_new(struct hp_import_spaces *spaces, struct hp_code *code,
                          struct hp_import_stacks **stacks);
void hp_stacks_free(struct hp_import_stacks *stacks);

/* Takes the stack of a sample of a thread. HP_ERR_NOMEM. */
enum hp_err hp_stacks_add(struct hp_import_stacks *stacks, struct hp_import_thread *thread,
                          struct hp_perf_sampled *sample);

/* The thread's edges, when it has ended; free(). HP_ERR_NOMEM. */
enum hp_err hp_stacks_edges(struct hp_import_stacks *stacks, struct hp_import_thread *thread,
                            struct hp_edge_count **edges, size_t *n);

/* Finds the blocks at the ends of all stretches, which the code map does not have yet: before
 * anything else looks at it. HP_ERR_NOMEM. */
enum hp_err hp_stacks_settle(struct hp_import_stacks *stacks);

/* Spells out a stretch. Its first block is one that ends with the oldest branch, if one is known;
 * where that began is not. HP_ERR_NOMEM. */
enum hp_err hp_stacks_walk(struct hp_import_stacks *stacks, const struct hp_import_stretch *stretch,
                           struct hp_import_walk *walk);

/* Of blocks that end with the same branch, always the same one. After hp_stacks_settle(). */
uint32_t hp_stacks_same_end(const struct hp_import_stacks *stacks, uint32_t block);

/* Adds the cycles of runs to a profile that has the code. Nothing where none are known.
 * HP_ERR_NOMEM. */
enum hp_err hp_stacks_cycles(const struct hp_import_stacks *stacks, struct hp_profile *profile);

/* Shows all stretches to a profiler, each between two discontinuities. HP_ERR_NOMEM. */
enum hp_err hp_stacks_show(struct hp_import_stacks *stacks, const struct hp_import_thread *threads,
                           size_t n, struct hp_profiler *profiler);

void hp_import_thread_fini(struct hp_import_thread *thread);

#endif
