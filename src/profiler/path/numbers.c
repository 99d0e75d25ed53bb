// SPDX-License-Identifier: MIT
#include "profiler/path/numbers.h"

#include "base/grow.h"

#include <stdatomic.h>
#include <stdlib.h>

void hp_path_numbers_init(struct hp_path_numbers *numbers)
{
    static atomic_uint_least64_t sources;
    *numbers = (struct hp_path_numbers){.source = atomic_fetch_add(&sources, 1) + 1,
                                        .max = HP_PATH_NUMBERS_MAX};
}

void hp_path_numbers_fini(struct hp_path_numbers *numbers)
{
    hp_path_index_fini(&numbers->index);
    free(numbers->known);
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

void hp_path_sink_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    if (sink->known) {
        sink->known(sink, known);
        return;
    }
    struct hp_path paths[HP_PATHS_MAX]; /* written before they are read */
    for (size_t i = 0; i < known->n; i++)
        paths[i] = known->known[known->numbers[i]].path;
    sink->paths(sink, &(struct hp_paths){.paths = paths, .n = known->n});
}
