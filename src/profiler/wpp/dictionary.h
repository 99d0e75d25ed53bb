// SPDX-License-Identifier: MIT
/*
 * From paths to small numbers, in bounded memory. Paths are numbered in order of appearance. When
 * there is no room for another path all are dropped, and those that come again get new numbers.
 */
#ifndef HP_PROFILER_WPP_DICTIONARY_H
#define HP_PROFILER_WPP_DICTIONARY_H

#include "hotpath/path.h"

/* A path, and the instructions along it: a path that was cut short is a different one. */
struct hp_dictionary_entry {
    uint64_t start, outcomes, targets;
    uint32_t block, insns;
    uint32_t length; /* plus 1; 0: an empty slot */
    uint32_t id;
};

struct hp_dictionary {
    struct hp_dictionary_entry *entries;
    size_t mask, used; /* number of slots - 1 */
    size_t max_bytes;
    uint32_t next; /* id of the next new path */
    uint64_t forgotten;
};

enum hp_err hp_dictionary_init(struct hp_dictionary *dictionary, size_t max_bytes);
void hp_dictionary_fini(struct hp_dictionary *dictionary);

/* The id of the path; if new, the value of `next` before the call. */
uint32_t hp_dictionary_id(struct hp_dictionary *dictionary, const struct hp_path *path);

#endif
