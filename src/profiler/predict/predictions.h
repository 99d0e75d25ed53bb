// SPDX-License-Identifier: MIT
/*
 * The profiler of predictions: schemes on the forward paths of all threads, and how well each would
 * have predicted the hot ones. Counters and predictions are per program, not per thread: threads
 * run the same code.
 */
#ifndef HP_PROFILER_PREDICT_PREDICTIONS_H
#define HP_PROFILER_PREDICT_PREDICTIONS_H

#include "hotpath/predict.h"
#include "hotpath/profiler.h"
#include "profiler/predict/forward.h"

/* Keeps `code`. finish() adds one struct hp_pprediction for each scheme, in order. HP_ERR_INVALID:
 * see hp_judge_new(). */
enum hp_err hp_predictions_new(struct hp_code *code, const struct hp_judge_config *config,
                               struct hp_profiler **profiler);

/* For experiments and tests. */
const struct hp_judge *hp_predictions_judge(const struct hp_profiler *profiler);
const struct hp_forward_stats *hp_predictions_stats(const struct hp_profiler *profiler);

#endif
