// SPDX-License-Identifier: MIT
/*
 * The cycles of paths, on a machine in cycles: docs/paths.md, "Cycles".
 *
 * A path is finished when its branches have retired in the stream; where their cycles went is known
 * later. So a second detector of the same control register follows behind. A *timer* (one for each
 * thread) keeps the thread's blocks and events in a queue until the timings of their instructions
 * have come. The cycles are attributed as those of instructions are (cycles/attribute.h), but to
 * each execution of a block by itself: to a row of a small ring, which is final when nothing more
 * can be attributed to the block's last instruction.
 */
#ifndef HP_PROFILER_PATH_TIMED_H
#define HP_PROFILER_PATH_TIMED_H

#include "hotpath/cycles.h"
#include "profiler/path/detector_impl.h"
#include "profiler/path/path_index.h"
#include "profiler/windows.h"

/* The machine that is simulated in cycles. */
struct hp_paths_cycles {
    const struct hp_machine *machine; /* NULL: it is not */
    struct hp_windows windows;
};

/* Costs by enum hp_cause, in HP_CYCLE_PARTS. Every measured cycle is in one of the last three, or
 * in a path. */
struct hp_timed_paths {
    struct hp_path_index index;
    struct hp_path_count *paths; /* only executions of which every instruction was measured */
    struct hp_path_costs *costs; /* of each */
    size_t n, cap_paths, cap_costs;
    uint64_t max;                    /* distinct paths */
    uint64_t executions;             /* also of paths for which there was no room */
    struct hp_path_costs all;        /* of all paths */
    struct hp_path_costs lost;       /* of paths for which there was no room */
    struct hp_path_costs unfinished; /* in no path: begun, or interrupted, where nothing was
                                        measured; not finished */
    uint64_t attributed;             /* by the attributors of the threads that have ended */
    bool out_of_memory;
};

void hp_timed_paths_init(struct hp_timed_paths *timed, uint64_t max_paths);
void hp_timed_paths_fini(struct hp_timed_paths *timed);

/* The place of a path, or HP_NO_ID. */
uint32_t hp_timed_paths_find(const struct hp_timed_paths *timed, const struct hp_path *path);

struct hp_path_timer;

/* Keeps all pointers. `only_whole`: threads are stretches between discontinuities. */
enum hp_err hp_path_timer_new(const struct hp_ppcr *ppcr, struct hp_frame_source *frames,
                              const struct hp_code *code, const struct hp_paths_cycles *cycles,
                              bool only_whole, struct hp_timed_paths *timed,
                              struct hp_path_timer **timer);
void hp_path_timer_free(struct hp_path_timer *timer);

/* As in struct hp_profiler_ops; timings come behind the batches that they belong to. After
 * HP_EVENT_END everything is in hp_timed_paths. */
void hp_path_timer_batch(struct hp_path_timer *timer, const struct hp_batch *batch);
void hp_path_timer_event(struct hp_path_timer *timer, const struct hp_event *event);
void hp_path_timer_timings(struct hp_path_timer *timer, const struct hp_timing *timings, size_t n);

#endif
