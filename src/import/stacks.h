// SPDX-License-Identifier: MIT
/*
 * From branch stacks to edges between blocks.
 *
 * Between two branches of a stack, control ran straight from the target of the older one to the
 * newer one. Such a *run* is a few blocks of the program's code, each of which falls through into
 * the next. The block that the oldest branch ends began somewhere unknown, unless the last stack of
 * the thread ended where this one begins.
 *
 * While stacks are taken, only hops are counted, by their addresses (hops.h). Code is looked at
 * once for each.
 */
#ifndef HP_IMPORT_STACKS_H
#define HP_IMPORT_STACKS_H

#include "base/map64.h"
#include "base/tally64.h"
#include "hotpath/profiler.h"
#include "hotpath/stream.h"
#include "import/hops.h"
#include "import/samples.h"
#include "import/spaces.h"

/* An address in a view. */
struct hp_import_spot {
    uint64_t address;
    uint32_t view;
    uint32_t block; /* that starts there; HP_NO_ID: not looked for, or none */
    bool looked_for;
};

/* Blocks that ran one after the other. */
struct hp_import_run {
    uint32_t first, n; /* of `blocks`; 0: there is no such straight run */
};

/* Recorded cycles. */
struct hp_import_cycles {
    uint64_t timed, cycles, squares; /* times that they are known, their sums */
    uint16_t min, max;
};

struct hp_import_hop {
    uint32_t run;      /* HP_NO_ID: none, what was before is not known */
    uint32_t from, to; /* spots; from HP_NO_ID: from outside */
    uint32_t thread;
    bool first, last; /* of a stretch that is in `ends` */
    uint32_t end;     /* of one that begins a stretch: a block that ends there, or HP_NO_ID */
    uint64_t count;   /* in 2^32, beside those of its slot; in the end all */
    uint64_t joined;  /* of these, between two stacks */
};

/* The first and the last hop of a stretch. */
struct hp_import_ends {
    uint32_t first, last;
};

/* Where a thread was when its last sample was taken. */
struct hp_import_tail {
    uint32_t view;
    uint32_t from, to; /* spots: the target of the newest branch, the instruction pointer */
};
#define HP_IMPORT_TAILS 16

struct hp_import_thread {
    struct hp_thread info;
    struct hp_import_hops *hops; /* by view that it was seen in */
    uint32_t *views;             /* which these are */
    size_t n_views, cap_hops, cap_views;
    struct hp_map64 hops_of;   /* view -> index */
    uint32_t now;              /* the index that was used last */
    struct hp_tally64 edges;   /* run << 32 | spot that followed (HP_NO_ID: not known) */
    struct hp_tally64 orphans; /* spot of a branch << 32 | spot of its target */
    struct hp_import_tail
        tails[HP_IMPORT_TAILS]; /* of stacks that may go on, the last one on top */
    uint32_t n_tails;
    bool whole; /* each stack began where one before ended */
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
    struct hp_import_hop *hops;
    size_t n_hops, cap_hops;
    struct hp_import_cycles *cycles; /* by hop, as far as there are any */
    size_t n_cycles, cap_cycles;
    struct hp_import_steps steps;
    struct hp_import_ends *ends; /* of stretches, each hop at least once as what it is in some */
    size_t n_ends, cap_ends;
    struct hp_map64 end_of; /* module and branch -> a block that ends there; see hp_stacks_walk() */
    uint32_t shown;         /* the sample whose stretch is being shown */
    struct hp_import_stack_counts counts;
};

/* Keeps the pointers. */
enum hp_err hp_stacks_new(struct hp_import_spaces *spaces, struct hp_code *code,
                          struct hp_import_stacks **stacks);
void hp_stacks_free(struct hp_import_stacks *stacks);

/* Takes the stack of a sample of a thread. HP_ERR_NOMEM. */
enum hp_err hp_stacks_add(struct hp_import_stacks *stacks, struct hp_import_thread *thread,
                          const struct hp_perf_sampled *sample);

/* Takes the order of a stack that was added while `steps.keep` was not set. HP_ERR_NOMEM,
 * HP_ERR_IO: it was not. */
enum hp_err hp_stacks_order(struct hp_import_stacks *stacks, struct hp_import_thread *thread,
                            const struct hp_perf_sampled *sample);

/* Adds up the counts of a thread, when all samples were taken. HP_ERR_NOMEM. */
enum hp_err hp_stacks_end(struct hp_import_stacks *stacks, struct hp_import_thread *thread);

/* The thread's edges, when it has ended; free(). HP_ERR_NOMEM. */
enum hp_err hp_stacks_edges(struct hp_import_stacks *stacks, struct hp_import_thread *thread,
                            struct hp_edge_count **edges, size_t *n);

/* The block that starts at a spot; HP_NO_ID: its code is not known. HP_ERR_NOMEM. */
enum hp_err hp_stacks_block_at(struct hp_import_stacks *stacks, uint32_t spot, uint32_t *block);

/* For a table of branches and the blocks that they end. */
static inline uint64_t hp_stacks_end_key(uint32_t module, uint64_t branch)
{
    return branch ^ hp_hash64(module);
}

/* Adds the cycles of runs to a profile that has the code, when the edges of all threads are known.
 * Nothing where none are known. HP_ERR_NOMEM. */
enum hp_err hp_stacks_cycles(struct hp_import_stacks *stacks, struct hp_profile *profile);

void hp_import_thread_fini(struct hp_import_thread *thread);

#endif
