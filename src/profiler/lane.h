// SPDX-License-Identifier: MIT
/*
 * A lane: a second thread that does one job at a time, in parallel with its caller.
 */
#ifndef HP_PROFILER_LANE_H
#define HP_PROFILER_LANE_H

#include "hotpath/error.h"

struct hp_lane;

/* Starts the thread; no signal is ever delivered to it. HP_ERR_UNSUPPORTED: it cannot be started,
 * or there is no second processor. */
enum hp_err hp_lane_new(struct hp_lane **lane);

/* Not while a job is running. */
void hp_lane_free(struct hp_lane *lane);

/* Starts work(context) in the other thread. */
void hp_lane_begin(struct hp_lane *lane, void (*work)(void *context), void *context);

/* Waits until the job is done: once after each hp_lane_begin(). */
void hp_lane_wait(struct hp_lane *lane);

#endif
