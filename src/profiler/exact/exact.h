// SPDX-License-Identifier: MIT
/*
 * The exact profiler: every block, edge and call counted, per thread, unbounded. The yardstick for
 * all models.
 *
 * Functions are entered by calls, and by jumps from another function (tail calls, stubs). Inclusive
 * counts come from a shadow stack of return addresses: a return goes to the nearest frame that
 * expects it; returns and jumps that expect nothing (longjmp, exceptions, coroutines) unwind to the
 * nearest frame of the function they land in, if there is one. A function's inclusive count covers
 * its outermost activation only, so recursion counts once. A signal handler's instructions are part
 * of what it interrupted.
 */
#ifndef HP_PROFILER_EXACT_H
#define HP_PROFILER_EXACT_H

#include "hotpath/profiler.h"
#include "symbols/functions.h"

/* Keeps `code` and `functions`. With `loops`, also every loop (docs/loops.md). */
enum hp_err hp_exact_new(struct hp_code *code, struct hp_functions *functions, bool loops,
                         struct hp_profiler **profiler);

/* --- For finish(), experiments and tests: after the last thread's HP_EVENT_END ----------------- */

/* A back edge: the branch that ends a node of the loop. */
struct hp_exact_back_edge {
    uint64_t branch; /* address; of a call: where the callee was called from */
    uint64_t target; /* of a header */
    uint64_t count;
};

/* A loop, all threads together. */
struct hp_exact_loop {
    uint32_t header;              /* block */
    uint32_t function;            /* id; HP_NO_ID unknown */
    uint32_t parent;              /* index; HP_NO_ID: none */
    uint32_t flags;               /* HP_LOOP_* of profile.h */
    uint32_t insns;               /* static */
    struct hp_ploop_count counts; /* item and thread mean nothing */
    uint64_t once;                /* executions of one iteration */
    const struct hp_exact_back_edge *back_edges;
    size_t n_back_edges;
    const uint32_t *nodes; /* blocks; those of nested loops too */
    size_t n_nodes;
};

/* All loops; parents before what is nested in them. They belong to the profiler. HP_ERR_INVALID: it was made without loops. */
enum hp_err hp_exact_loops(struct hp_profiler *profiler, const struct hp_exact_loop **loops,
                           size_t *n);

#endif
