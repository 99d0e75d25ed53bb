// SPDX-License-Identifier: MIT
/*
 * The pipeline: from an engine's words to the profilers. One cursor a thread, all profilers behind
 * it, and in between the region that was asked for and, with a machine, one core a thread, which
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
    uint64_t detached_threads; /* that went on unobserved though their region was not over */
    bool region_reached;
};

struct hp_pipeline;

/* Keeps all pointers. `functions` is only needed for a region with `from`. */
enum hp_err hp_pipeline_new(struct hp_code *code, struct hp_segment_source *source,
                            struct hp_functions *functions, const struct hp_region *region,
                            struct hp_pipeline **pipeline);
void hp_pipeline_free(struct hp_pipeline *pipeline);

/* Before the first thread. The caller keeps owning the profiler. */
enum hp_err hp_pipeline_add(struct hp_pipeline *pipeline, struct hp_profiler *profiler);

/* The engine counts (HP_RECORD_COUNT): no order is known. Before the first thread.
 * HP_ERR_UNSUPPORTED: there is a region, or a profiler that needs the order. */
enum hp_err hp_pipeline_expect_counts(struct hp_pipeline *pipeline);

/* The engine delivers addresses (HP_RECORD_MEMORY): batches have them. Before the first thread. */
void hp_pipeline_expect_addresses(struct hp_pipeline *pipeline);

/* Batches have events, of a core of this machine; without addresses those of instructions and
 * branches only. Before the first thread; keeps `machine`. HP_ERR_UNSUPPORTED: the engine counts.
 * HP_ERR_NOMEM. */
enum hp_err hp_pipeline_set_machine(struct hp_pipeline *pipeline, const struct hp_machine *machine);

/* The machine is run in cycles, in these windows of the region, and profilers get timings. A batch
 * has no events then. Before the first thread, after hp_pipeline_set_machine(); keeps the program.
 */
void hp_pipeline_set_cycles(struct hp_pipeline *pipeline, const struct hp_cycles_setup *setup);

/* How much was run in the region, and how much of it was measured in cycles; over all threads. */
struct hp_runner_stats hp_pipeline_cycles_stats(const struct hp_pipeline *pipeline);

/* After the profilers have finished, before the profile is normal: says where in their threads its
 * windows begin, and how much the threads executed, where no profiler did. */
void hp_pipeline_place_windows(const struct hp_pipeline *pipeline, struct hp_profile *profile);

/* What to give to an engine. */
struct hp_consumer *hp_pipeline_consumer(struct hp_pipeline *pipeline);

/* Sums up; valid until the next call. */
const struct hp_pipeline_stats *hp_pipeline_stats(struct hp_pipeline *pipeline);

/* After the last word: what the cores did in the region, over all threads, `*n` names and values (0
 * without a machine, or a thread). Valid as long as the pipeline. HP_ERR_NOMEM. */
enum hp_err hp_pipeline_machine_stats(struct hp_pipeline *pipeline,
                                      const struct hp_core_stat **stats, size_t *n);

/* The programs that were executed and not observed, in order: string ids of the HP_EVENT_EXEC that
 * were not taken back. */
size_t hp_pipeline_execs(const struct hp_pipeline *pipeline, const uint32_t **ids);

#endif
