// SPDX-License-Identifier: MIT
/*
 * What the experiments with a machine share: path profilers that count its events.
 */
#ifndef HP_LAB_METRICS_H
#define HP_LAB_METRICS_H

#include "lab/measure.h"

/* The paper's machine ("vaswani"), and behind it path profilers for the metrics by their names, the
 * tables being those given. The bank is the session's. */
enum hp_err hp_lab_metrics_new(struct hp_session *session, const char *const *metrics,
                               size_t n_metrics, const struct hp_lab_table *tables, size_t n_tables,
                               uint64_t window, struct hp_profiler **bank);

/* The PPCR for Ball-Larus paths that count a metric. */
void hp_lab_ppcr(const char *metric, char *text, size_t size);

#endif
