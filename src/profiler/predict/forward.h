// SPDX-License-Identifier: MIT
/*
 * A detector of interprocedural forward paths and of nothing else: the paths that hp_detector finds with the PPCR "forward",
 * without their instructions and events, several times as fast. Forward paths need no stack, and what a run of blocks
 * adds to a path is known before it is executed.
 */
#ifndef HP_PROFILER_PREDICT_FORWARD_H
#define HP_PROFILER_PREDICT_FORWARD_H

#include "hotpath/path.h"

struct hp_forward;
struct hp_forward_thread;

struct hp_forward_stats {
    uint64_t paths;
    uint64_t splits; /* of them: ended by max_length */
    uint64_t purges; /* of unfinished paths, by a loss or a discontinuity */
};

/* What is common to the threads. The sink gets the paths of a thread before each of the functions below returns;
 * insns is 0 and events 1. Keeps the pointers. */
enum hp_err hp_forward_new(const struct hp_code *code, uint32_t max_length,
                           struct hp_path_sink *sink, struct hp_forward **forward);
/* Its threads too. */
void hp_forward_free(struct hp_forward *forward);
const struct hp_forward_stats *hp_forward_stats(const struct hp_forward *forward);
/* HP_ERR_NOMEM: memory ran out, and paths are missing. */
enum hp_err hp_forward_check(const struct hp_forward *forward);

enum hp_err hp_forward_thread_new(struct hp_forward *forward, struct hp_forward_thread **thread);

/* As in struct hp_profiler_ops. */
void hp_forward_batch(struct hp_forward_thread *thread, const struct hp_batch *batch);
void hp_forward_steps(struct hp_forward_thread *thread, const struct hp_steps *steps);
void hp_forward_event(struct hp_forward_thread *thread, const struct hp_event *event);

#endif
