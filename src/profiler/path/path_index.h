// SPDX-License-Identifier: MIT
/*
 * From a path to its place in an array of struct hp_path_count: open addressing by half of the
 * hash, so that nearly every lookup reads one slot and one path.
 */
#ifndef HP_PROFILER_PATH_PATH_INDEX_H
#define HP_PROFILER_PATH_PATH_INDEX_H

#include "hotpath/path.h"

struct hp_path_slot {
    uint32_t tag;   /* upper half of the path's hash */
    uint32_t place; /* in the array, plus 1; 0: the slot is empty */
};

/* All zero is an empty one. */
struct hp_path_index {
    struct hp_path_slot *slots;
    size_t mask; /* number of slots - 1 */
    size_t used;
};

#define HP_PATH_INDEX_MAX 0xfffffff0u /* paths */

/* The place of a path, or HP_NO_ID. */
static inline uint32_t hp_path_index_find(const struct hp_path_index *index,
                                          const struct hp_path_count *paths,
                                          const struct hp_path *path, uint64_t hash)
{
    if (!index->slots)
        return HP_NO_ID;
    for (size_t i = hash & index->mask;; i = (i + 1) & index->mask) {
        const struct hp_path_slot *slot = &index->slots[i];
        if (!slot->place)
            return HP_NO_ID;
        if (slot->tag == hash >> 32 && hp_path_same(&paths[slot->place - 1].path, path))
            return slot->place - 1;
    }
}

/* Adds `place`, whose path is not in the index yet; paths[place] is not read. HP_ERR_NOMEM:
 * unchanged. */
enum hp_err hp_path_index_add(struct hp_path_index *index, const struct hp_path_count *paths,
                              uint32_t place, uint64_t hash);

/* Empties it; keeps the memory. */
void hp_path_index_clear(struct hp_path_index *index);
void hp_path_index_fini(struct hp_path_index *index);

#endif
