// SPDX-License-Identifier: MIT
/*
 * How much of a run is executed within sets of blocks, including everything called from there. Sets
 * are bits of a mask: each block has those that it is in. An instruction counts for a set once,
 * however deep in calls from it. A signal handler is within the sets of the calls that it
 * interrupts.
 */
#ifndef HP_LAB_LOOPS_COVERAGE_H
#define HP_LAB_LOOPS_COVERAGE_H

#include "base/map64.h"
#include "hotpath/profiler.h"

/* Blocks by start address, from an earlier run of the same program. All of them must be there, also
 * those in no set: where one starts inside another, that one is divided. */
struct hp_lab_block_sets {
    struct hp_map64 masks; /* by address */
};

/* Adds a block, or adds sets to it; bits 30 and 31 are reserved. HP_ERR_NOMEM. */
enum hp_err hp_lab_block_sets_add(struct hp_lab_block_sets *sets, uint64_t address, uint32_t mask);
void hp_lab_block_sets_fini(struct hp_lab_block_sets *sets);

/* Keeps `code` and `sets`. */
enum hp_err hp_lab_coverage_new(struct hp_code *code, const struct hp_lab_block_sets *sets,
                                struct hp_profiler **coverage);

/* The percentage of all instructions that were executed within the set of that bit; after the run.
 * HP_ERR_NOMEM: memory ran out during the run. */
enum hp_err hp_lab_coverage_share(const struct hp_profiler *coverage, unsigned bit, double *share);

#endif
