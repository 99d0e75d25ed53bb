// SPDX-License-Identifier: MIT
/*
 * A detector of interprocedural forward paths only: it finds the same paths as hp_detector with the
 * PPCR "forward", but as ids of an index, and several times as fast.
 */
#ifndef HP_PROFILER_PREDICT_FORWARD_H
#define HP_PROFILER_PREDICT_FORWARD_H

#include "hotpath/predict.h"

struct hp_forward;
struct hp_forward_thread;

struct hp_forward_stats {
    uint64_t purges;  /* of unfinished paths, by a loss or a discontinuity */
    uint64_t flushes; /* the automaton grew too large and was restarted */
};

/* The part shared by the threads. Paths of up to `max_length` branches are added to `index`; the
 * sink gets those of a thread before each of the functions below returns. Keeps the pointers.
 * `max_nodes`: of the automaton; 0: the default. */
enum hp_err hp_forward_new(const struct hp_code *code, struct hp_index *index, uint32_t max_length,
                           struct hp_flow_sink *sink, size_t max_nodes,
                           struct hp_forward **forward);
/* Frees its threads too. */
void hp_forward_free(struct hp_forward *forward);
const struct hp_forward_stats *hp_forward_stats(const struct hp_forward *forward);
/* HP_ERR_NOMEM: out of memory, paths are missing. */
enum hp_err hp_forward_check(const struct hp_forward *forward);

/* Of a thread, as in struct hp_detector_stats. */
struct hp_forward_counts {
    uint64_t instructions, blocks, branches;
};
const struct hp_forward_counts *hp_forward_counts(const struct hp_forward_thread *thread);

enum hp_err hp_forward_thread_new(struct hp_forward *forward, struct hp_forward_thread **thread);

/* As in struct hp_profiler_ops. */
void hp_forward_batch(struct hp_forward_thread *thread, const struct hp_batch *batch);
void hp_forward_steps(struct hp_forward_thread *thread, const struct hp_steps *steps);
void hp_forward_event(struct hp_forward_thread *thread, const struct hp_event *event);

#endif
