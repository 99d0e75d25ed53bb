// SPDX-License-Identifier: MIT
#include "base/map64.h"

#include <stdlib.h>

static void insert(struct hp_map64_slot *slots, size_t mask, uint64_t key, uint32_t value,
                   size_t *used)
{
    size_t i = hp_hash64(key) & mask;
    while (slots[i].value != HP_MAP64_NONE && slots[i].key != key)
        i = (i + 1) & mask;
    if (slots[i].value == HP_MAP64_NONE)
        (*used)++;
    slots[i] = (struct hp_map64_slot){.key = key, .value = value};
}

static enum hp_err rehash(struct hp_map64 *map, size_t count)
{
    struct hp_map64_slot *slots = malloc(count * sizeof *slots);
    if (!slots)
        return hp_fail_nomem();
    for (size_t i = 0; i < count; i++)
        slots[i].value = HP_MAP64_NONE;
    size_t used = 0;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].value != HP_MAP64_NONE)
            insert(slots, count - 1, map->slots[i].key, map->slots[i].value, &used);
    free(map->slots);
    *map = (struct hp_map64){.slots = slots, .mask = count - 1, .used = used};
    return HP_OK;
}

/* The slot of a key; NULL: the map does not have it. */
static struct hp_map64_slot *find(const struct hp_map64 *map, uint64_t key)
{
    size_t i = hp_hash64(key) & map->mask;
    while (map->slots[i].value != HP_MAP64_NONE && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    return map->slots[i].value != HP_MAP64_NONE ? &map->slots[i] : NULL;
}

enum hp_err hp_map64_put(struct hp_map64 *map, uint64_t key, uint32_t value)
{
    struct hp_map64_slot *known = map->used * 2 > map->mask && map->slots ? find(map, key) : NULL;
    if (known) {
        known->value = value;
        return HP_OK;
    }
    if (!map->slots)
        HP_TRY(rehash(map, 64));
    else if (map->used * 2 > map->mask)
        HP_TRY(rehash(map, (map->mask + 1) * 2));
    insert(map->slots, map->mask, key, value, &map->used);
    return HP_OK;
}

void hp_map64_fini(struct hp_map64 *map)
{
    free(map->slots);
    *map = (struct hp_map64){0};
}
