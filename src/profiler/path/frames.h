// SPDX-License-Identifier: MIT
/*
 * Functions by their symbols, for path detectors, cached per block. Functions found by calls are
 * not used: whether and when they are found depends on the other profilers of the run.
 */
#ifndef HP_PROFILER_PATH_FRAMES_H
#define HP_PROFILER_PATH_FRAMES_H

#include "engine/live.h"
#include "hotpath/path.h"
#include "symbols/functions.h"

struct hp_path_frames {
    struct hp_frame_source source; /* first */
    const struct hp_code *code;
    struct hp_functions *functions; /* NULL: none known */
    struct hp_path_spot *spots;     /* by block */
    size_t cap_spots;
    bool out_of_memory;            /* some functions are missing */
    struct hp_range_source ranges; /* the same functions, for an engine that counts paths */
    struct hp_arena_range *list;   /* of the latest module */
    size_t cap_list;
};

/* Keeps the pointers. */
void hp_path_frames_init(struct hp_path_frames *frames, const struct hp_code *code,
                         struct hp_functions *functions);
void hp_path_frames_fini(struct hp_path_frames *frames);

#endif
