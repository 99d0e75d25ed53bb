// SPDX-License-Identifier: MIT
#include "machine/cache.h"

#include <stdlib.h>
#include <string.h>

#define SEED     2463534242u
#define FEW_WAYS 8

enum hp_err hp_cache_init(struct hp_cache *cache, uint64_t sets, uint32_t ways,
                          enum hp_replacement replacement)
{
    *cache = (struct hp_cache){
        .set_mask = sets - 1, .ways = ways, .random = SEED, .replacement = replacement};
    cache->entries = calloc(sets * ways, sizeof *cache->entries);
    if (replacement == HP_PLRU)
        cache->trees = calloc(sets, sizeof *cache->trees);
    if (!cache->entries || (replacement == HP_PLRU && !cache->trees)) {
        hp_cache_fini(cache);
        return hp_fail_nomem();
    }
    return HP_OK;
}

void hp_cache_fini(struct hp_cache *cache)
{
    free(cache->entries);
    free(cache->trees);
    *cache = (struct hp_cache){0};
}

/* --- Policies --------------------------------------------------------------------------------- */

/* Lets every node above the way point to the other half. */
static void tree_use(uint64_t *tree, uint32_t ways, uint32_t way)
{
    for (uint32_t node = way + ways; node > 1; node >>= 1) {
        uint64_t parent = (uint64_t)1 << (node >> 1);
        *tree = node & 1 ? *tree & ~parent : *tree | parent;
    }
}

static uint32_t tree_victim(uint64_t tree, uint32_t ways)
{
    uint32_t node = 1;
    while (node < ways)
        node = node << 1 | (tree >> node & 1);
    return node - ways;
}

/* Marsaglia's xorshift: three shifts, every number but 0 once in 2^32 - 1. */
static uint32_t random_victim(struct hp_cache *cache)
{
    uint32_t x = cache->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    cache->random = x;
    return (uint32_t)((uint64_t)x * cache->ways >> 32);
}

/* The ways before it move back by one: mostly few, for which a call does not pay. */
static void move_to_front(uint64_t *set, uint32_t way, uint64_t entry)
{
    if (way > FEW_WAYS)
        memmove(set + 1, set, way * sizeof *set);
    else
        for (; way > 0; way--)
            set[way] = set[way - 1];
    *set = entry;
}

/* --- Lines ------------------------------------------------------------------------------------ */

bool hp_cache_search(struct hp_cache *cache, uint64_t line, bool dirty)
{
    uint64_t index = line & cache->set_mask;
    uint64_t *set = cache->entries + index * cache->ways;
    uint64_t wanted = line << 2 | HP_CACHE_DIRTY | HP_CACHE_VALID;
    for (uint32_t way = 0; way < cache->ways; way++) {
        if ((set[way] | HP_CACHE_DIRTY) != wanted)
            continue;
        set[way] |= (uint64_t)dirty << 1;
        if (cache->replacement == HP_LRU)
            move_to_front(set, way, set[way]);
        else if (cache->replacement == HP_PLRU)
            tree_use(&cache->trees[index], cache->ways, way);
        return true;
    }
    return false;
}

uint64_t hp_cache_insert(struct hp_cache *cache, uint64_t line, bool dirty)
{
    uint64_t index = line & cache->set_mask;
    uint64_t *set = cache->entries + index * cache->ways;
    uint64_t entry = line << 2 | (uint64_t)dirty << 1 | HP_CACHE_VALID;
    uint32_t way = 0;
    if (cache->replacement == HP_LRU) {
        uint64_t last = set[cache->ways - 1];
        move_to_front(set, cache->ways - 1, entry);
        return last;
    }
    while (way < cache->ways && set[way])
        way++;
    if (way == cache->ways)
        way = cache->replacement == HP_PLRU ? tree_victim(cache->trees[index], cache->ways)
                                            : random_victim(cache);
    uint64_t old = set[way];
    set[way] = entry;
    if (cache->replacement == HP_PLRU)
        tree_use(&cache->trees[index], cache->ways, way);
    return old;
}
