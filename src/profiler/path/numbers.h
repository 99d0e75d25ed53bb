// SPDX-License-Identifier: MIT
/*
 * Numbers of paths: each distinct path gets one when it is first executed. What knows a path by its
 * number needs no hash of it and compares nothing.
 */
#ifndef HP_PROFILER_PATH_NUMBERS_H
#define HP_PROFILER_PATH_NUMBERS_H

#include "profiler/path/path_index.h"

struct hp_path_numbers {
    uint64_t source;             /* see struct hp_known_paths */
    struct hp_path_count *known; /* only `path` is used */
    size_t n, max, cap;
    struct hp_path_index index;
};

#define HP_PATH_NUMBERS_MAX (1u << 21) /* unless `max` is changed */

void hp_path_numbers_init(struct hp_path_numbers *numbers);
void hp_path_numbers_fini(struct hp_path_numbers *numbers);

/* The number of a path without targets. HP_NO_ID: it has none, because there are too many, or
 * because an execution of it had other instructions or events. */
uint32_t hp_path_numbers_get(struct hp_path_numbers *numbers, const struct hp_path *path);

/* Gives executions to a sink, as paths if it knows no numbers. */
void hp_path_sink_known(struct hp_path_sink *sink, const struct hp_known_paths *known);

#endif
