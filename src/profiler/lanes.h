// SPDX-License-Identifier: MIT
/*
 * Lanes: threads that bring batches to independent profilers (hp_profiler_ops.independent), beside
 * the one that makes the batches, their owner.
 *
 * The owner is some batches ahead at most. Each profiler gets every batch in order, and in one
 * thread at a time, so results do not depend on the lanes. A thread that has nothing to do takes
 * the next batch of the profiler that is furthest behind; so does the owner when it has to wait.
 */
#ifndef HP_PROFILER_LANES_H
#define HP_PROFILER_LANES_H

#include "hotpath/profiler.h"

#define HP_LANES_DEPTH 8 /* batches that wait, or are at work, at most */

/* What profilers get: a batch, or steps if that is NULL. */
struct hp_delivery {
    const struct hp_batch *batch;
    const struct hp_steps *steps;
    void *const *states; /* by profiler */
};

struct hp_lanes;

/* To profilers[i] for i < n, where independent[i]: with one thread for each at most, and together
 * with the owner no more than `threads`. Keeps the profilers. HP_ERR_UNSUPPORTED: there would be no
 * thread, or none could be started. No signal is ever delivered to them. */
HP_MUST_CHECK enum hp_err hp_lanes_new(struct hp_profiler *const *profilers,
                                       const bool *independent, size_t n, unsigned threads,
                                       struct hp_lanes **lanes);

/* What has not been delivered never is. */
void hp_lanes_free(struct hp_lanes *lanes);

/* Delivers a copy, sooner or later, to all profilers. The states must stay. Addresses and events of
 * a batch are not copied: with these hp_lanes_settle() must follow. */
void hp_lanes_push(struct hp_lanes *lanes, const struct hp_delivery *delivery);

/* On return everything has been delivered, and no profiler is at work. */
void hp_lanes_settle(struct hp_lanes *lanes);

/* How many threads may be used: as many as there are processors, or as HOTPATH_THREADS in the
 * environment says, if those are fewer. */
unsigned hp_lanes_threads(void);

#endif
