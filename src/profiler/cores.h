// SPDX-License-Identifier: MIT
/*
 * The cores of a run: one a thread, all of the same machine, and what they did together.
 */
#ifndef HP_PROFILER_CORES_H
#define HP_PROFILER_CORES_H

#include "hotpath/machine.h"

struct hp_cores {
    const struct hp_machine *machine;
    struct hp_events *events;   /* of the batch at hand */
    struct hp_core_stat *stats; /* sums, as of the cores that were added; n of them */
    size_t n, cap;
};

/* Keeps `machine`. All zero is an empty one, without a machine. */
enum hp_err hp_cores_init(struct hp_cores *cores, const struct hp_machine *machine);
void hp_cores_fini(struct hp_cores *cores);

/* Runs the batch, of at most HP_BATCH_MAX blocks, on a core and gives it its events: valid until
 * the next one. HP_ERR_NOMEM. */
enum hp_err hp_cores_run(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                         struct hp_batch *batch);

/* The same for one block, of which it is not known what came after it. */
enum hp_err hp_cores_run_tail(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                              const struct hp_event *tail, const struct hp_events **events);

/* Adds what a core has done up to now to the sums, or takes it away from them. HP_ERR_NOMEM. */
enum hp_err hp_cores_add(struct hp_cores *cores, struct hp_core *core);
enum hp_err hp_cores_subtract(struct hp_cores *cores, struct hp_core *core);

/* Sets the sums to 0. */
void hp_cores_clear(struct hp_cores *cores);

#endif
