// SPDX-License-Identifier: MIT
/*
 * The pipeline: from an engine's words to the profilers. Each thread has a cursor, followed by all
 * profilers. In between are the requested region and, with a machine, one core per thread, which
 * sees everything from the start of the run.
 */
#ifndef HP_PROFILER_PIPELINE_H
#define HP_PROFILER_PIPELINE_H

#include "engine/engine.h"
#include "hotpath/machine.h"
#include "hotpath/profiler.h"
#include "profiler/region.h"
#include "profiler/runner.h"

struct hp_pipeline_stats {
    struct hp_cursor_stats cursor; /* over all threads */
    uint32_t threads;
    uint32_t running; /* of these, that have not ended */
    uint64_t losses_by_reason[HP_LOST_REASON_COUNT_];
    uint64_t detached_threads; /* that continued unobserved before their region was over */
    bool region_reached;
};

struct hp_pipeline;

/* Keeps all pointers. `functions` is only needed for a region with `from`. */
enum hp_err hp_pipeline_new(struct hp_code *code, struct hp_segment_source *source,
                            struct hp_functions *functions, const struct hp_region *region,
                            struct hp_pipeline **pipeline);
void hp_pipeline_free(struct hp_pipeline *pipeline);

/* Before the first thread. The caller keeps ownership of the profiler. */
enum hp_err hp_pipeline_add(struct hp_pipeline *pipeline, struct hp_profiler *profiler);

/* The profiler, which was added, is independent (hp_profiler_ops): nobody else uses what it does
 * not own. Before the first thread. */
void hp_pipeline_set_independent(struct hp_pipeline *pipeline, const struct hp_profiler *profiler);

/* The engine counts (HP_RECORD_COUNT): the order is unknown. Before the first thread.
 * HP_ERR_UNSUPPORTED: there is a region, or a profiler that needs the order. */
enum hp_err hp_pipeline_expect_counts(struct hp_pipeline *pipeline);

/* The engine may count paths (HP_RECORD_PATHS). Before the first thread. HP_ERR_UNSUPPORTED: there
 * is a region, a machine, or a profiler that cannot use that. */
enum hp_err hp_pipeline_expect_paths(struct hp_pipeline *pipeline);

/* The engine delivers addresses (HP_RECORD_MEMORY): batches have them. Before the first thread. */
void hp_pipeline_expect_addresses(struct hp_pipeline *pipeline);

/* Batches have events, from a core of this machine; without addresses only those of instructions
 * and branches. Before the first thread; keeps `machine`. HP_ERR_UNSUPPORTED: the engine counts.
 * HP_ERR_NOMEM. */
enum hp_err hp_pipeline_set_machine(struct hp_pipeline *pipeline, const struct hp_machine *machine);

/* Simulates the machine in cycles, in these windows of the region; profilers get timings, and
 * batches have no events. Before the first thread, after hp_pipeline_set_machine(); keeps the
 * program. */
void hp_pipeline_set_cycles(struct hp_pipeline *pipeline, const struct hp_cycles_setup *setup);

/* The instructions run in the region, and those measured in cycles; over all threads. */
struct hp_runner_stats hp_pipeline_cycles_stats(const struct hp_pipeline *pipeline);

/* After the profilers have finished, before the profile is normalized: adds where in their threads
 * the windows begin, and how much the threads executed, where no profiler did. */
void hp_pipeline_place_windows(const struct hp_pipeline *pipeline, struct hp_profile *profile);

/* Lanes (lanes.h) may not be behind: what profilers find has an effect outside of them at once.
 * Before the first thread. */
void hp_pipeline_keep_in_step(struct hp_pipeline *pipeline);

/* For who looks at profilers while they count: on return they have all that was delivered, and none
 * is at work. */
void hp_pipeline_settle(struct hp_pipeline *pipeline);

/* The sink to give to an engine. */
struct hp_consumer *hp_pipeline_consumer(struct hp_pipeline *pipeline);

/* Computes the sums; valid until the next call. */
const struct hp_pipeline_stats *hp_pipeline_stats(struct hp_pipeline *pipeline);

/* After the last word: the cores' counters in the region, over all threads, `*n` names and values
 * (0 without a machine or a thread). Valid as long as the pipeline. HP_ERR_NOMEM. */
enum hp_err hp_pipeline_machine_stats(struct hp_pipeline *pipeline,
                                      const struct hp_core_stat **stats, size_t *n);

/* The programs that were executed but not observed, in order: string ids of each HP_EVENT_EXEC that
 * was not taken back. */
size_t hp_pipeline_execs(const struct hp_pipeline *pipeline, const uint32_t **ids);

#endif
