// SPDX-License-Identifier: MIT
/*
 * The cores of a run: one per thread, all of the same machine, and their summed counters.
 *
 * Where there is a second processor, the two halves of a batch (machine/halves.h) run side by side:
 * the predictors in a lane. Both are done when a call returns, and results do not depend on it.
 */
#ifndef HP_PROFILER_CORES_H
#define HP_PROFILER_CORES_H

#include "hotpath/machine.h"
#include "profiler/lane.h"

struct hp_cores {
    const struct hp_machine *machine;
    struct hp_events *events;   /* of the current batch */
    struct hp_core_stat *stats; /* sums over the cores added so far; n of them */
    size_t n, cap;
    unsigned threads;     /* at most so many: of two, one is the lane's. Set by hp_cores_init() */
    struct hp_lane *lane; /* NULL: none yet, or `threads` is 1 */
    uint32_t *wrong;      /* mispredicted blocks of the current batch */
    struct hp_cores_branches *branches; /* what the lane runs */
    bool offered;                       /* it has been told, and not been waited for */
    /* Whether the lane pays is tried now and then: the machine may be busy. By whether it was used,
     * how long batches took, and how many blocks they had. */
    struct {
        uint64_t ns[2], blocks[2];
        unsigned batch; /* since the trial began */
        bool pays;
    } trial;
};

/* Keeps `machine`. All zero: empty, without a machine. Threads: as many as there are processors, or
 * as HOTPATH_THREADS in the environment says, if those are fewer. */
enum hp_err hp_cores_init(struct hp_cores *cores, const struct hp_machine *machine);
void hp_cores_fini(struct hp_cores *cores);

/* Runs the batch, of at most HP_BATCH_MAX blocks, on a core and attaches its events: valid until
 * the next call. HP_ERR_NOMEM. */
enum hp_err hp_cores_run(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                         struct hp_batch *batch);

/* The same without events: the batch only warms the core. */
enum hp_err hp_cores_warm(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                          const struct hp_batch *batch);

/* As hp_cores_run() for one block whose successor is unknown. */
enum hp_err hp_cores_run_tail(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                              const struct hp_event *tail, const struct hp_events **events);

/* Adds a core's counters so far to the sums, or subtracts them. HP_ERR_NOMEM. */
enum hp_err hp_cores_add(struct hp_cores *cores, struct hp_core *core);
enum hp_err hp_cores_subtract(struct hp_cores *cores, struct hp_core *core);

/* Sets the sums to 0. */
void hp_cores_clear(struct hp_cores *cores);

#endif
