// SPDX-License-Identifier: MIT
/*
 * A hash map from 64-bit keys to 32-bit values: open addressing, linear probing, no deletion. Used
 * wherever two ids or an address are mapped to an index.
 */
#ifndef HP_BASE_MAP64_H
#define HP_BASE_MAP64_H

#include "hotpath/error.h"

#include <stddef.h>
#include <stdint.h>

#define HP_MAP64_NONE UINT32_MAX

struct hp_map64_slot {
    uint64_t key;
    uint32_t value; /* HP_MAP64_NONE: the slot is empty */
};

/* All zero is an empty map. */
struct hp_map64 {
    struct hp_map64_slot *slots;
    size_t mask; /* number of slots - 1 */
    size_t used;
};

static inline uint64_t hp_hash64(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
}

/* The value of `key`, or HP_MAP64_NONE. */
static inline uint32_t hp_map64_get(const struct hp_map64 *map, uint64_t key)
{
    if (!map->slots)
        return HP_MAP64_NONE;
    for (size_t i = hp_hash64(key) & map->mask;; i = (i + 1) & map->mask) {
        const struct hp_map64_slot *slot = &map->slots[i];
        if (slot->value == HP_MAP64_NONE || slot->key == key)
            return slot->value;
    }
}

/* Fetches the place of `key`, which is needed soon, into the cache. A macro: the compiler drops
 * calls of functions that do nothing else. */
#define hp_map64_fetch(map, key)                                                                   \
    __builtin_prefetch((map)->slots ? &(map)->slots[hp_hash64(key) & (map)->mask] : NULL, 1)

/* Sets the value of `key`; `value` is not HP_MAP64_NONE. On HP_ERR_NOMEM the map is unchanged; an
 * existing key needs no memory. */
HP_MUST_CHECK enum hp_err hp_map64_put(struct hp_map64 *map, uint64_t key, uint32_t value);

/* The same where failure does no harm: for existing keys, and for maps that are only caches. */
static inline void hp_map64_keep(struct hp_map64 *map, uint64_t key, uint32_t value)
{
    if (hp_map64_put(map, key, value) != HP_OK)
        return;
}

/* Releases the memory; the map is empty afterwards and can be used again. */
void hp_map64_fini(struct hp_map64 *map);

#endif
