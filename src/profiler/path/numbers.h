// SPDX-License-Identifier: MIT
/*
 * Numbers of paths: each distinct path gets one when it is first executed. What knows a path by its
 * number needs no hash of it and compares nothing. Groups of executions have numbers of their own.
 */
#ifndef HP_PROFILER_PATH_NUMBERS_H
#define HP_PROFILER_PATH_NUMBERS_H

#include "profiler/path/path_index.h"

struct hp_path_numbers {
    uint64_t source;             /* see struct hp_known_paths */
    struct hp_path_count *known; /* only `path` is used */
    size_t n, max, cap;
    struct hp_path_index index;
    struct hp_path_group *groups;
    uint32_t *lists; /* of groups */
    size_t n_groups, cap_groups, max_groups, n_lists, cap_lists;
    uint32_t *slots; /* by hash: a group, plus 1; 0: free */
};

#define HP_PATH_NUMBERS_MAX (1u << 21) /* unless `max` is changed */
#define HP_PATH_GROUPS_MAX  (1u << 16) /* unless `max_groups` is made less */

void hp_path_numbers_init(struct hp_path_numbers *numbers);
void hp_path_numbers_fini(struct hp_path_numbers *numbers);

/* The number of a path without targets. HP_NO_ID: it has none, because there are too many, or
 * because an execution of it had other instructions or events. */
uint32_t hp_path_numbers_get(struct hp_path_numbers *numbers, const struct hp_path *path);

/* The number of a group, plus HP_PATH_GROUP. 0: there is none, because there are too many. */
uint32_t hp_path_numbers_group(struct hp_path_numbers *numbers, const uint32_t *list, size_t n);

/* Gives executions to a sink, without groups if it takes none, as paths if it knows no numbers. */
void hp_path_sink_known(struct hp_path_sink *sink, const struct hp_known_paths *known);

#endif
