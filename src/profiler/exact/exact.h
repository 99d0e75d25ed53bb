// SPDX-License-Identifier: MIT
/*
 * The exact profiler: counts every block, edge and call, per thread, unbounded. All models are
 * measured against it.
 *
 * Functions are entered by calls, and by jumps from another function (tail calls, stubs). Inclusive
 * counts come from a shadow stack of return addresses. A return goes to the nearest frame that
 * expects it. Unexpected returns and jumps (longjmp, exceptions, coroutines) unwind to the nearest
 * frame of the function they land in, if there is one. A function's inclusive count covers its
 * outermost activation only, so recursion counts once. A signal handler's instructions belong to
 * what it interrupted.
 */
#ifndef HP_PROFILER_EXACT_H
#define HP_PROFILER_EXACT_H

#include "base/tally64.h"
#include "hotpath/profiler.h"
#include "symbols/functions.h"

/* Keeps `code` and `functions`. With `loops`, also every loop (docs/loops.md). */
enum hp_err hp_exact_new(struct hp_code *code, struct hp_functions *functions, bool loops,
                         struct hp_profiler **profiler);

/* How many calling contexts the profile gets, of all threads, the heaviest:
 * hp_exact_contexts_room() unless this is said. While the program runs there may be more, again by
 * memory. */
void hp_exact_limit_contexts(struct hp_profiler *profiler, uint64_t kept);

/* The edges are those of samples of the run: control leaves a block more often than it came because
 * a sample began there, not a thread; and there may be more returns than calls. Before the first
 * thread. */
void hp_exact_expect_samples(struct hp_profiler *profiler);

/* How many contexts fit into a profile on this machine: some for every megabyte of memory. */
uint64_t hp_exact_contexts_room(void);

/* --- For finish(), experiments and tests: after the last thread's HP_EVENT_END ---------------- */

/* A back edge: the branch that ends a node of the loop. */
struct hp_exact_back_edge {
    uint64_t branch; /* address; of a call: its call site */
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
    struct hp_ploop_count counts; /* item and thread are unused */
    uint64_t once;                /* executions of one iteration */
    const struct hp_exact_back_edge *back_edges;
    size_t n_back_edges;
    const uint32_t *nodes; /* blocks; those of nested loops too */
    size_t n_nodes;
};

/* All loops, parents before nested ones. They belong to the profiler. HP_ERR_INVALID: it was made
 * without loops. */
enum hp_err hp_exact_loops(struct hp_profiler *profiler, const struct hp_exact_loop **loops,
                           size_t *n);

/* The node that comes behind a block, or behind a node, in its chain (docs/loops.md, rule 1);
 * HP_NO_ID: none. After hp_exact_loops(). */
uint32_t hp_exact_loops_next(const struct hp_profiler *profiler, uint32_t block);

/* --- While the program runs (peek.c): between batches, in the thread that delivers them ------- */

struct hp_exact_sums {
    uint64_t *blocks; /* executions, by block */
    uint64_t *calls;  /* by function id: times it was entered */
    uint64_t *trips;  /* by id of a loop: finished executions, as far as noticed */
    size_t n_blocks, n_calls, n_trips;
    size_t cap_blocks, cap_calls, cap_trips;
};

/* The counts so far, all threads together. All zero at first; the same struct is reused for every
 * call. */
struct hp_exact_peek {
    struct hp_exact_sums now;
    struct hp_exact_sums ended; /* of ended threads, which are added once */
    bool *is_ended;             /* by thread */
    size_t cap_is_ended;
};

/* Changes no result. Its time grows with the units of the running threads.
 * HP_ERR_NOMEM. */
enum hp_err hp_exact_peek(const struct hp_profiler *profiler, struct hp_exact_peek *peek);
void hp_exact_peek_fini(struct hp_exact_peek *peek);

/* The calls of one function so far, all threads together. All zero at first; the same struct is
 * reused. The first two are by function id; the last element, at `n`, is of what is not known. */
struct hp_exact_peek_calls {
    uint64_t *callers; /* times it was entered from there */
    uint64_t *callees; /* times it entered that */
    size_t n, cap_callers, cap_callees;
    bool *is_stub;           /* by function: of the procedure linkage table */
    uint64_t *most;          /* by function: of a stub, the calls of its target */
    uint32_t *target;        /* what it led to most often */
    struct hp_tally64 stubs; /* calls of and by stubs: caller << 32 | callee */
    size_t n_asked, cap_is_stub, cap_most, cap_target;
};

/* With `fold`, calls through a stub are of who called it, and of what it led to. Changes no
 * result. Its time grows with the calls and contexts of the threads. HP_ERR_NOMEM. */
enum hp_err hp_exact_peek_calls(const struct hp_profiler *profiler, uint32_t function, bool fold,
                                struct hp_exact_peek_calls *calls);
void hp_exact_peek_calls_fini(struct hp_exact_peek_calls *calls);

/* A loop as currently known. */
struct hp_exact_peek_loop {
    uint32_t id;         /* see hp_exact_sums.trips; stable as long as the header is */
    uint32_t header;     /* block */
    uint32_t function;   /* id; HP_NO_ID unknown */
    uint32_t depth;      /* 0: in no other */
    uint64_t iterations; /* arrivals at a header */
    uint64_t self;       /* instructions in it, including nested loops, without what it calls */
};

/* The loops, given the executions of the first `n` blocks: `*n_loops` in the array `*loops` of
 * capacity `*cap`, which grows by hp_grow(); parents come before nested loops. HP_ERR_INVALID: it
 * was made without loops. HP_ERR_NOMEM. */
enum hp_err hp_exact_peek_loops(const struct hp_profiler *profiler, const uint64_t *blocks,
                                size_t n, struct hp_exact_peek_loop **loops, size_t *cap,
                                size_t *n_loops);

#endif
