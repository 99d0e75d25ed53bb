// SPDX-License-Identifier: MIT
#include "profiler/path/numbers.h"

#include "base/grow.h"
#include "base/map64.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * HP_PATH_GROUPS_MAX)

void hp_path_numbers_init(struct hp_path_numbers *numbers)
{
    static atomic_uint_least64_t sources;
    *numbers = (struct hp_path_numbers){.source = atomic_fetch_add(&sources, 1) + 1,
                                        .max = HP_PATH_NUMBERS_MAX,
                                        .max_groups = HP_PATH_GROUPS_MAX};
}

void hp_path_numbers_fini(struct hp_path_numbers *numbers)
{
    hp_path_index_fini(&numbers->index);
    free(numbers->known);
    free(numbers->groups);
    free(numbers->lists);
    free(numbers->slots);
    *numbers = (struct hp_path_numbers){0};
}

static uint32_t add(struct hp_path_numbers *numbers, const struct hp_path *path, uint64_t hash)
{
    size_t n = numbers->n;
    if (n >= numbers->max ||
        hp_grow(&numbers->known, &numbers->cap, n + 1, sizeof *numbers->known) != HP_OK ||
        hp_path_index_add(&numbers->index, numbers->known, (uint32_t)n, hash) != HP_OK)
        return HP_NO_ID;
    numbers->known[n].path = *path;
    numbers->n++;
    return (uint32_t)n;
}

uint32_t hp_path_numbers_get(struct hp_path_numbers *numbers, const struct hp_path *path)
{
    uint64_t hash = hp_path_hash(path);
    uint32_t number = hp_path_index_find(&numbers->index, numbers->known, path, hash);
    if (number == HP_NO_ID)
        return add(numbers, path, hash);
    const struct hp_path *known = &numbers->known[number].path;
    return known->insns == path->insns && known->events == path->events ? number : HP_NO_ID;
}

/* --- Groups ----------------------------------------------------------------------------------- */

/* Where the group is, or belongs. */
static uint32_t *slot_of(const struct hp_path_numbers *numbers, const uint32_t *list, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = hp_hash64(hash ^ list[i]);
    for (size_t i = hash & (SLOTS - 1);; i = (i + 1) & (SLOTS - 1)) {
        uint32_t *slot = &numbers->slots[i];
        if (!*slot)
            return slot;
        const struct hp_path_group *group = &numbers->groups[*slot - 1];
        if (group->n == n && memcmp(numbers->lists + group->first, list, n * sizeof *list) == 0)
            return slot;
    }
}

uint32_t hp_path_numbers_group(struct hp_path_numbers *numbers, const uint32_t *list, size_t n)
{
    if (!numbers->slots && !(numbers->slots = calloc(SLOTS, sizeof *numbers->slots)))
        return 0;
    uint32_t *slot = slot_of(numbers, list, n);
    if (*slot)
        return HP_PATH_GROUP | (*slot - 1);
    size_t group = numbers->n_groups, first = numbers->n_lists;
    if (group >= numbers->max_groups ||
        hp_grow(&numbers->groups, &numbers->cap_groups, group + 1, sizeof *numbers->groups) !=
            HP_OK ||
        hp_grow(&numbers->lists, &numbers->cap_lists, first + n, sizeof *numbers->lists) != HP_OK)
        return 0;
    numbers->groups[group] = (struct hp_path_group){.first = (uint32_t)first, .n = (uint32_t)n};
    memcpy(numbers->lists + first, list, n * sizeof *list);
    numbers->n_lists += n;
    numbers->n_groups++;
    *slot = (uint32_t)group + 1;
    return HP_PATH_GROUP | (uint32_t)group;
}

/* --- Delivery --------------------------------------------------------------------------------- */

/* Numbers of paths only, at most HP_PATHS_MAX. */
static void deliver(struct hp_path_sink *sink, const struct hp_known_paths *known,
                    const uint32_t *numbers, size_t n)
{
    if (sink->known) {
        struct hp_known_paths part = *known;
        part.numbers = numbers;
        part.n = n;
        sink->known(sink, &part);
        return;
    }
    struct hp_path paths[HP_PATHS_MAX]; /* written before they are read */
    for (size_t i = 0; i < n; i++)
        paths[i] = known->known[numbers[i]].path;
    sink->paths(sink, &(struct hp_paths){.paths = paths, .n = n});
}

void hp_path_sink_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    if (sink->known && sink->groups) {
        sink->known(sink, known);
        return;
    }
    uint32_t numbers[HP_PATHS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < known->n; i++) {
        const uint32_t *list = &known->numbers[i];
        size_t more = 1;
        if (*list & HP_PATH_GROUP) {
            const struct hp_path_group *group = &known->groups[*list & ~HP_PATH_GROUP];
            list = known->lists + group->first;
            more = group->n;
        }
        if (n + more > HP_PATHS_MAX) {
            deliver(sink, known, numbers, n);
            n = 0;
        }
        memcpy(numbers + n, list, more * sizeof *list);
        n += more;
    }
    deliver(sink, known, numbers, n);
}
