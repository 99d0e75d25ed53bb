// SPDX-License-Identifier: MIT
/*
 * Executions of loops that lie within stretches, one by one, on the loops that the edges of the
 * whole recording make (docs/loops.md). One that is seen from begin to end has so many iterations;
 * of one that the stretch cuts, or of which it is not sure where it began or ended, at least so
 * many. Only natural loops: of others the iterations depend on the order in which they were found.
 */
#ifndef HP_IMPORT_TRIPS_H
#define HP_IMPORT_TRIPS_H

#include "base/tally64.h"
#include "import/shown.h"
#include "profiler/exact/exact.h"

/* An execution that is going on. */
struct hp_import_execution {
    uint32_t loop, n; /* iterations so far */
    bool begun;       /* its begin was seen */
};

/* An activation of a function. */
struct hp_import_activation {
    uint64_t return_to; /* 0: not known */
    uint32_t at;        /* the node that ran last; HP_NO_ID: none */
    bool known;         /* from its first block on */
    size_t executions;  /* the first of its own */
};

struct hp_import_trips {
    const struct hp_code *code;
    struct hp_functions *functions;
    struct hp_profiler *exact;
    const struct hp_exact_loop *loops;
    size_t n_loops;
    uint32_t *inner,
        *heads; /* by block: the innermost loop that it is in; that it is the header of */
    size_t n_blocks;
    struct hp_import_execution *executions;
    struct hp_import_activation *activations;
    size_t n_executions, cap_executions, n_activations, cap_activations;
    struct hp_tally64 seen;     /* hp_trips_key() */
    struct hp_shown iterations; /* by loop */
    uint32_t sample;
};

/* Keeps the pointers. The exact profiler has finished. HP_ERR_NOMEM. */
enum hp_err hp_import_trips_init(struct hp_import_trips *trips, const struct hp_code *code,
                                 struct hp_functions *functions, struct hp_profiler *exact);
void hp_import_trips_fini(struct hp_import_trips *trips);

/* A stretch of a sample; samples come one after the other. HP_ERR_NOMEM. */
enum hp_err hp_import_trips_add(struct hp_import_trips *trips, const struct hp_import_walk *walk,
                                uint32_t sample);

static inline uint64_t hp_trips_key(uint32_t loop, bool whole, uint32_t iterations)
{
    return (uint64_t)loop << 33 | (uint64_t)whole << 32 | iterations;
}

#endif
