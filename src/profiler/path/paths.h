// SPDX-License-Identifier: MIT
/*
 * The path profiler: a detector for every thread, followed by the complete profile, hot path
 * tables, and windows.
 *
 * The complete profile is kept per thread. Hot path tables are shared by the threads, as in
 * hardware, in the order in which their batches come. With windows, every `window` instructions (of
 * all threads) a separate set of tables is compared with the complete profile of that window and
 * cleared: the dynamic profile.
 */
#ifndef HP_PROFILER_PATH_PATHS_H
#define HP_PROFILER_PATH_PATHS_H

#include "engine/live.h"
#include "hotpath/path.h"
#include "hotpath/profiler.h"
#include "profiler/path/timed.h"
#include "symbols/functions.h"

#define HP_PATHS_TABLES 32

struct hp_paths_config {
    struct hp_ppcr ppcr;
    uint64_t max_paths; /* see hp_complete_new() */
    struct hp_hpt_config tables[HP_PATHS_TABLES];
    size_t n_tables;
    uint64_t window; /* instructions; 0: no windows */
    bool pieces;     /* threads are stretches between discontinuities: hp_detector_only_whole();
                        batches only */
    struct hp_paths_cycles cycles; /* of paths, from the timings of a machine in cycles */
    /* Another receiver of a thread's paths; NULL: none. The sink must live until the thread's
     * HP_EVENT_END has been delivered and hp_profiler_ops.finish() was called. May return NULL. */
    struct hp_path_sink *(*extra)(void *context, const struct hp_thread *thread);
    void *context;
};

/* Keeps the pointers. */
enum hp_err hp_paths_new(struct hp_code *code, struct hp_functions *functions,
                         const struct hp_paths_config *config, struct hp_profiler **profiler);

/* The engine counts, and this is what it says about its paths. Before the first thread; keeps the
 * pointer. For complete profiles only: without tables, windows and other receivers.
 * HP_ERR_UNSUPPORTED: hp_path_can_count() does not hold. */
enum hp_err hp_paths_expect_counts(struct hp_profiler *profiler, struct hp_path_source *source);

/* Where its detectors see functions, for that engine. Valid as long as the profiler. */
struct hp_range_source *hp_paths_ranges(struct hp_profiler *profiler);

/* The results: for finish(), experiments and tests. Threads in order of their start. */
struct hp_paths_thread_view {
    const struct hp_thread *thread;
    struct hp_complete *complete;
    const struct hp_detector_stats *stats;
    bool running; /* it has not ended */
};
size_t hp_paths_threads(const struct hp_profiler *profiler);
struct hp_paths_thread_view hp_paths_thread(const struct hp_profiler *profiler, size_t i);
const struct hp_paths_config *hp_paths_config(const struct hp_profiler *profiler);
struct hp_hpt *hp_paths_table(const struct hp_profiler *profiler, size_t i);

/* While the program runs, between batches: brings the complete profiles up to date. Does not affect
 * the results. */
void hp_paths_catch_up(struct hp_profiler *profiler);

/* All threads together, unsorted. `*paths` is freed with free(). */
enum hp_err hp_paths_all(const struct hp_profiler *profiler, struct hp_path_count **paths,
                         size_t *n);

/* Finished windows: how many, and for table `i` the sum of their overlaps (percent; weight:
 * events), by hp_path_overlap(). */
struct hp_paths_windows {
    uint64_t n;
    double overlap[HP_PATHS_TABLES];
};
const struct hp_paths_windows *hp_paths_windows(const struct hp_profiler *profiler);

/* With `cycles`: where those of paths went. Complete when the threads have ended. */
const struct hp_timed_paths *hp_paths_timed(const struct hp_profiler *profiler);

/* How many of the heaviest paths have their blocks in the profile. By instructions, or by events
 * when the metric is one of the machine; as many by cycles, where these are known. */
#define HP_PATHS_STEPS 10000

/* Adds everything to the result's profile: every path with its counts, the steps of the heaviest
 * and of those in a hot path table, and the statistics and contents of the detectors and tables. */
enum hp_err hp_paths_result(const struct hp_profiler *profiler, struct hp_result *result);

#endif
