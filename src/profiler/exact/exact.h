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

/* --- For finish(), experiments and tests: after the last thread's HP_EVENT_END / -------------- */

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

/* All loops; parents before what is nested in them. They belong to the profiler. HP_ERR_INVALID: it
 * was made without loops. */
enum hp_err hp_exact_loops(struct hp_profiler *profiler, const struct hp_exact_loop **loops,
                           size_t *n);

/* --- While the program runs (peek.c): between batches, in the thread that delivers them / ----- */

struct hp_exact_sums {
    uint64_t *blocks; /* executions, by block */
    uint64_t *calls;  /* by function id: times it was entered */
    uint64_t *trips;  /* by id of a loop: executions that are over, as far as that was noticed */
    size_t n_blocks, n_calls, n_trips;
    size_t cap_blocks, cap_calls, cap_trips;
};

/* What was counted so far, all threads together. All zero at first; the same one is filled again
 * and again. */
struct hp_exact_peek {
    struct hp_exact_sums now;
    struct hp_exact_sums ended; /* of threads that have: they are added up once */
    bool *is_ended;             /* by thread */
    size_t cap_is_ended;
};

/* Changes nothing in the profiler. Takes as long as there are units in the threads that run.
 * HP_ERR_NOMEM. */
enum hp_err hp_exact_peek(const struct hp_profiler *profiler, struct hp_exact_peek *peek);
void hp_exact_peek_fini(struct hp_exact_peek *peek);

/* A loop as it is known now. */
struct hp_exact_peek_loop {
    uint32_t id;         /* see hp_exact_sums.trips; it stays the same as long as the header is */
    uint32_t header;     /* block */
    uint32_t function;   /* id; HP_NO_ID unknown */
    uint32_t depth;      /* 0: in no other */
    uint64_t iterations; /* times control came to a header */
    uint64_t self;       /* instructions in it, those of nested loops too, not of what it calls */
};

/* What `blocks`, executions of the first `n` blocks, mean for the loops: `*n_loops` in the array
 * `*loops` of capacity `*cap`, which grows by hp_grow(); what is nested comes after what it is in.
 * HP_ERR_INVALID: it was made without loops. HP_ERR_NOMEM. */
enum hp_err hp_exact_peek_loops(const struct hp_profiler *profiler, const uint64_t *blocks,
                                size_t n, struct hp_exact_peek_loop **loops, size_t *cap,
                                size_t *n_loops);

#endif
