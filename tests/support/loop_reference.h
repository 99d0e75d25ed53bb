// SPDX-License-Identifier: MIT
/*
 * The slow reference of exact loops, a direct implementation of the rules of docs/loops.md and
 * docs/exact.md. It keeps the whole stream. At the end it walks it twice with a shadow stack: first
 * for the graph of every function, in which it then finds the loops; then for every execution,
 * iteration by iteration. It shares nothing with the profiler it is compared with. It is for tests:
 * it aborts when memory runs out.
 */
#ifndef HP_TESTS_LOOP_REFERENCE_H
#define HP_TESTS_LOOP_REFERENCE_H

#include "hotpath/profile.h"
#include "hotpath/stream.h"
#include "symbols/functions.h"

struct loop_trips {
    uint64_t value, count;
};

/* A loop, all threads together. */
struct loop_result {
    uint32_t header; /* block */
    uint32_t function;
    uint32_t parent; /* index; HP_NO_ID: none */
    uint32_t flags;  /* HP_LOOP_* */
    uint32_t insns;
    struct hp_ploop_count counts;
    const struct loop_trips *trips; /* by value: all */
    size_t n_trips;
    const uint32_t *nodes;
    size_t n_nodes;
    uint64_t histories;   /* that began in it, not at a header */
    bool overlapping;     /* two activations of a thread had executions of it at the same time */
    uint64_t unexplained; /* times something was in it without having entered it: the rules do not
                             cover that */
    bool shared;          /* activations of other functions ran it, too */
    bool strayed; /* its function was run by activations of others: the shadow stack was lost */
    bool late;    /* its graph was different for a time: a longjmp, or where a history began */
};

struct loop_reference;

/*
 * Keeps the pointers. `functions` are two equal sets for the same code: each walk needs its own,
 * because entering a function may create it.
 */
struct loop_reference *loop_reference_new(struct hp_code *code, struct hp_functions *functions[2]);
void loop_reference_free(struct loop_reference *r);

/* What was executed, in the order of delivery. Threads are 0, 1, ... The batch is n + 1 blocks as
 * in hp_batch. */
void loop_reference_batch(struct loop_reference *r, uint32_t thread, const uint32_t *blocks,
                          size_t n);
void loop_reference_event(struct loop_reference *r, uint32_t thread, const struct hp_event *event);

/* After the last thread's end: all loops, parents before nested ones. They belong to `r`. */
const struct loop_result *loop_reference_loops(struct loop_reference *r, size_t *n);

/* The block that names the loop `block` is in, and so on outwards: the index of the innermost loop
 * of a block, HP_NO_ID for none. */
uint32_t loop_reference_innermost(const struct loop_reference *r, uint32_t block);

#endif
