// SPDX-License-Identifier: MIT
/*
 * The slow pipe: a core in cycles, a direct implementation of the rules of docs/pipeline.md. In
 * every cycle it scans every instruction in flight; no cycle is skipped, no uop is woken up,
 * resources in use are counted whenever needed. It takes the static code from an hp_program and
 * uses the caches and predictors of a core. It shares nothing else with the fast pipe.
 *
 * It is fed like the fast one, but runs only when drained. Everything that was ever fetched stays
 * in memory. When memory runs out, or a rule is violated, it reports that and aborts.
 */
#ifndef HP_TEST_PIPE_REFERENCE_H
#define HP_TEST_PIPE_REFERENCE_H

#include "hotpath/pipe.h"

struct pipe_reference;

/* Keeps the program and the core. `queue`: of a profiler for branches, < 0: none. */
struct pipe_reference *pipe_reference_new(struct hp_program *program, struct hp_core *core,
                                          int queue, bool no_wrong_path);
void pipe_reference_free(struct pipe_reference *reference);

/* As hp_pipe_batch(), hp_pipe_tail(), hp_pipe_break(), hp_pipe_measure(), hp_pipe_drain(). */
void pipe_reference_batch(struct pipe_reference *reference, const struct hp_batch *batch,
                          const uint16_t *costs);
void pipe_reference_tail(struct pipe_reference *reference, const struct hp_event *tail);
void pipe_reference_break(struct pipe_reference *reference);
void pipe_reference_interrupt(struct pipe_reference *reference, uint32_t cycles);
void pipe_reference_measure(struct pipe_reference *reference, bool measured);
void pipe_reference_drain(struct pipe_reference *reference);

/* What was fetched so far, in the order of fetch; valid until something is fed. */
const struct hp_timing *pipe_reference_timings(const struct pipe_reference *reference, size_t *n);
const struct hp_pipe_stats *pipe_reference_stats(const struct pipe_reference *reference);

#endif
