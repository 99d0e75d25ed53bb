// SPDX-License-Identifier: MIT
/*
 * Prediction with removal: predicted paths are resident until a policy removes them, and can then
 * be predicted again. Measured by windows of the run, as a path that is hot in one phase may be
 * cold in the next. Time is counted in executions of paths.
 */
#ifndef HP_LAB_PREDICTION_RESIDENCY_H
#define HP_LAB_PREDICTION_RESIDENCY_H

#include "hotpath/predict.h"

/* When what is removed. */
enum hp_residency_policy {
    HP_RESIDENT_KEEP,  /* nothing, ever */
    HP_RESIDENT_EVERY, /* all paths, after every PERIOD windows */
    HP_RESIDENT_RISE,  /* all paths of before, when the rate of predictions rises sharply: below */
    HP_RESIDENT_IDLE,  /* after each window the paths that were not executed in it */
    HP_RESIDENT_POLICIES
};

#define HP_RESIDENT_PERIOD 16   /* windows */
#define HP_RESIDENT_BURST  64   /* predictions that are a new phase */
#define HP_RESIDENT_HOT    1000 /* more than one in so many executions of a window is hot in it */

/*
 * A sharp rise, as the native engine sees it: after a time without predictions, of a quarter of the
 * time since the last phase began or more, there are HP_RESIDENT_BURST predictions in less than
 * that time. These stay.
 */

struct hp_residency_stats {
    uint64_t flow, hot_flow;   /* executions; of these, of paths that are hot in their window */
    uint64_t hits, noise;      /* executions while resident: of paths hot, cold in their window */
    uint64_t profiled;         /* executions while not resident */
    uint64_t predictions;      /* with those that are made again */
    uint64_t removed, flushes; /* paths; times that all were */
    uint64_t windows;
    uint64_t resident, stale; /* summed over the ends of windows: paths; that were not hot in it */
};

struct hp_residency;

/* A model of `scheme`, which must need nothing but heads and path ids, with all policies, in
 * windows of so many executions. Paths have ids of `index`, which it keeps. */
HP_MUST_CHECK enum hp_err hp_residency_new(const struct hp_scheme_config *scheme, uint64_t window,
                                           const struct hp_index *index,
                                           struct hp_residency **residency);
void hp_residency_free(struct hp_residency *residency);

struct hp_flow_sink *hp_residency_sink(struct hp_residency *residency);

/* The last window is finished, however short. HP_ERR_NOMEM: memory ran out at some time. */
HP_MUST_CHECK enum hp_err hp_residency_finish(struct hp_residency *residency);

/* After that. */
const struct hp_residency_stats *hp_residency_stats(const struct hp_residency *residency,
                                                    enum hp_residency_policy policy);
/* Predictions in each window. */
const uint32_t *hp_residency_rate(const struct hp_residency *residency,
                                  enum hp_residency_policy policy);

#endif
