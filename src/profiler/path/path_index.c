// SPDX-License-Identifier: MIT
#include "profiler/path/path_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024

static void place_in(struct hp_path_slot *slots, size_t mask, uint32_t place, uint64_t hash)
{
    size_t i = hash & mask;
    while (slots[i].place)
        i = (i + 1) & mask;
    slots[i] = (struct hp_path_slot){.tag = (uint32_t)(hash >> 32), .place = place + 1};
}

static enum hp_err grow(struct hp_path_index *index, const struct hp_path_count *paths)
{
    size_t n = index->slots ? (index->mask + 1) * 2 : FIRST_SLOTS;
    struct hp_path_slot *slots = calloc(n, sizeof *slots);
    if (!slots)
        return hp_fail_nomem();
    for (size_t i = 0; index->slots && i <= index->mask; i++) {
        uint32_t place = index->slots[i].place;
        if (place)
            place_in(slots, n - 1, place - 1, hp_path_hash(&paths[place - 1].path));
    }
    free(index->slots);
    index->slots = slots;
    index->mask = n - 1;
    return HP_OK;
}

enum hp_err hp_path_index_add(struct hp_path_index *index, const struct hp_path_count *paths,
                              uint32_t place, uint64_t hash)
{
    if (!index->slots || index->used * 4 > index->mask)
        HP_TRY(grow(index, paths));
    place_in(index->slots, index->mask, place, hash);
    index->used++;
    return HP_OK;
}

void hp_path_index_clear(struct hp_path_index *index)
{
    if (index->slots)
        memset(index->slots, 0, (index->mask + 1) * sizeof *index->slots);
    index->used = 0;
}

void hp_path_index_fini(struct hp_path_index *index)
{
    free(index->slots);
    *index = (struct hp_path_index){0};
}
