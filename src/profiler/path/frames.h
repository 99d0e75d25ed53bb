// SPDX-License-Identifier: MIT
/*
 * Functions by their symbols, as path detectors ask for them, remembered for each block. Functions
 * that were found by calls do not count: who finds them, and when, depends on which other profilers
 * run.
 */
#ifndef HP_PROFILER_PATH_FRAMES_H
#define HP_PROFILER_PATH_FRAMES_H

#include "hotpath/path.h"
#include "symbols/functions.h"

struct hp_path_frames {
    struct hp_frame_source source; /* first */
    const struct hp_code *code;
    struct hp_functions *functions; /* NULL: nobody knows any */
    struct hp_path_spot *spots;     /* by block */
    size_t cap_spots;
    bool out_of_memory; /* some functions are missing */
};

/* Keeps the pointers. */
void hp_path_frames_init(struct hp_path_frames *frames, const struct hp_code *code,
                         struct hp_functions *functions);
void hp_path_frames_fini(struct hp_path_frames *frames);

#endif
