// SPDX-License-Identifier: MIT
/*
 * A set of lines with a replacement policy: the storage of every cache and TLB. It knows line
 * numbers (address / line size) only; its owner handles misses and evictions.
 */
#ifndef HP_MACHINE_CACHE_H
#define HP_MACHINE_CACHE_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stdint.h>

enum hp_replacement {
    HP_LRU,    /* least recently used */
    HP_PLRU,   /* a tree of bits, each pointing to the half not used last; at most 64 ways */
    HP_RANDOM, /* a random way; every cache has its own generator with the same seed */
    HP_REPLACEMENTS
};

/*
 * An entry is line << 2 | dirty << 1 | valid, so lines are below 2^62; 0 is an empty way. With
 * HP_LRU the ways of a set are in order of use, the latest first; otherwise, and where there are
 * many ways (HP_CACHE_WIDE), a line keeps its way, and empty ways are filled first, from way 0.
 */
#define HP_CACHE_VALID 1u
#define HP_CACHE_DIRTY 2u
#define HP_CACHE_WIDE  32 /* ways: too many to scan */

struct hp_cache {
    uint64_t *entries; /* sets * ways */
    uint64_t *trees;   /* HP_PLRU: one for each set, node n in bit n, the root is 1 */
    uint64_t set_mask;
    uint32_t ways;
    uint32_t random; /* state of the generator */
    enum hp_replacement replacement;
    bool simple; /* using the first way of a set changes only its dirty bit */
    /* Of a wide one: the way in which a line was seen last, by its low bits; and with HP_LRU, when
     * each entry was used last. */
    uint32_t *hints;
    uint64_t hint_mask;
    uint64_t *used, clock;
};

/* `sets` is a power of two; `ways` too for HP_PLRU, and at most 64. HP_ERR_NOMEM. */
enum hp_err hp_cache_init(struct hp_cache *cache, uint64_t sets, uint32_t ways,
                          enum hp_replacement replacement);
void hp_cache_fini(struct hp_cache *cache);

/* For hp_cache_touch(), when the line is not in the set's first way. */
bool hp_cache_search(struct hp_cache *cache, uint64_t line, bool dirty);

/* As hp_cache_touch(), but also false where that has to search beyond the set's first way. */
static inline bool hp_cache_touch_first(struct hp_cache *cache, uint64_t line, bool dirty)
{
    uint64_t *first = cache->entries + (line & cache->set_mask) * cache->ways;
    if ((*first | HP_CACHE_DIRTY) != (line << 2 | HP_CACHE_DIRTY | HP_CACHE_VALID) ||
        !cache->simple)
        return false;
    *first |= (uint64_t)dirty << 1;
    return true;
}

/* Uses a line, and marks it dirty if `dirty`; false: a miss, nothing was done. */
static inline bool hp_cache_touch(struct hp_cache *cache, uint64_t line, bool dirty)
{
    return hp_cache_touch_first(cache, line, dirty) || hp_cache_search(cache, line, dirty);
}

/* Inserts a line that is not there. Returns the evicted entry, 0 when none was. */
uint64_t hp_cache_insert(struct hp_cache *cache, uint64_t line, bool dirty);

#endif
