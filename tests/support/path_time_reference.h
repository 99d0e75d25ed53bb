// SPDX-License-Identifier: MIT
/*
 * The slow reference of the cycles of paths: docs/paths.md, "Cycles". It keeps the whole run of a
 * thread, its blocks, events and timings. At the end every cycle is given to an execution of an
 * instruction by the rules; a block has those of its instructions. Then paths are found once for
 * each half of each cause: with the cycles of blocks as events of a metric, which paths add up. It
 * is for tests: it aborts when memory runs out.
 */
#ifndef HP_TESTS_PATH_TIME_REFERENCE_H
#define HP_TESTS_PATH_TIME_REFERENCE_H

#include "hotpath/cycles.h"
#include "hotpath/path.h"
#include "profiler/windows.h"

/* Executions of a path that were measured. */
struct reference_time {
    struct hp_path path;
    uint64_t count, insns;
    uint64_t parts[HP_CAUSES];
};

struct reference_times {
    struct reference_time *times; /* in order of the paths' identities */
    size_t n, cap;
    uint64_t parts; /* of all measured cycles */
};

struct path_time_reference;

/* `frames` may be NULL. */
struct path_time_reference *path_time_reference_new(const struct hp_ppcr *ppcr,
                                                    struct hp_frame_source *frames,
                                                    const struct hp_windows *windows,
                                                    uint64_t front_stages);
void path_time_reference_batch(struct path_time_reference *r, const struct hp_batch *batch);
void path_time_reference_event(struct path_time_reference *r, const struct hp_event *event);
void path_time_reference_timings(struct path_time_reference *r, const struct hp_timing *timings,
                                 size_t n);
/* Whether the instruction at `position` of the thread begins a block that is run in cycles; and
 * measured. */
bool path_time_reference_is_run(const struct path_time_reference *r, uint64_t position,
                                bool *measured);

/* Adds the paths of the thread, which has ended, to `times`, and frees it. */
void path_time_reference_finish(struct path_time_reference *r, const struct hp_block *table,
                                struct reference_times *times);

#endif
