// SPDX-License-Identifier: MIT
#include "machine/cache.h"

#include <stdlib.h>
#include <string.h>

#define SEED      2463534242u
#define FEW_WAYS  8
#define MAX_HINTS (1u << 20)

/* Slots for hints: several for each line, so that few lines share one. */
static uint64_t count_hints(uint64_t entries)
{
    uint64_t n = 64;
    while (n < 8 * entries && n < MAX_HINTS)
        n <<= 1;
    return n;
}

static bool make_tables(struct hp_cache *cache, uint64_t sets)
{
    uint64_t entries = sets * cache->ways;
    bool wide = cache->ways >= HP_CACHE_WIDE, lru = cache->replacement == HP_LRU;
    cache->simple = cache->replacement == HP_RANDOM || (lru && !wide);
    cache->entries = calloc(entries, sizeof *cache->entries);
    bool made = cache->entries;
    if (cache->replacement == HP_PLRU)
        made &= (cache->trees = calloc(sets, sizeof *cache->trees)) != NULL;
    if (wide) {
        cache->hint_mask = count_hints(entries) - 1;
        made &= (cache->hints = calloc(cache->hint_mask + 1, sizeof *cache->hints)) != NULL;
    }
    if (wide && lru)
        made &= (cache->used = calloc(entries, sizeof *cache->used)) != NULL;
    return made;
}

enum hp_err hp_cache_init(struct hp_cache *cache, uint64_t sets, uint32_t ways,
                          enum hp_replacement replacement)
{
    *cache = (struct hp_cache){
        .set_mask = sets - 1, .ways = ways, .random = SEED, .replacement = replacement};
    if (make_tables(cache, sets))
        return HP_OK;
    hp_cache_fini(cache);
    return hp_fail_nomem();
}

void hp_cache_fini(struct hp_cache *cache)
{
    free(cache->entries);
    free(cache->trees);
    free(cache->hints);
    free(cache->used);
    *cache = (struct hp_cache){0};
}

/* --- Policies --------------------------------------------------------------------------------- */

/* Makes every node above the way point to the other half. */
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

/* Marsaglia's xorshift: its period of 2^32 - 1 has every number but 0 once. */
static uint32_t random_victim(struct hp_cache *cache)
{
    uint32_t x = cache->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    cache->random = x;
    return (uint32_t)((uint64_t)x * cache->ways >> 32);
}

/* The ways before it move back by one. For few of them a loop is faster than memmove(). */
static void move_to_front(uint64_t *set, uint32_t way, uint64_t entry)
{
    if (way > FEW_WAYS)
        memmove(set + 1, set, way * sizeof *set);
    else
        for (; way > 0; way--)
            set[way] = set[way - 1];
    *set = entry;
}

/* The least recently used way; empty ones were never used. */
static uint32_t oldest(const uint64_t *used, uint32_t ways)
{
    uint32_t way = 0;
    for (uint32_t i = 1; i < ways; i++)
        if (used[i] < used[way])
            way = i;
    return way;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* The way that has the line, or `ways`. */
static uint32_t find(struct hp_cache *cache, const uint64_t *set, uint64_t line)
{
    uint64_t wanted = line << 2 | HP_CACHE_DIRTY | HP_CACHE_VALID;
    uint32_t *hint = cache->hints ? &cache->hints[line & cache->hint_mask] : NULL;
    uint32_t way = 0;
    if (hint && (set[*hint] | HP_CACHE_DIRTY) == wanted)
        return *hint;
    while (way < cache->ways && (set[way] | HP_CACHE_DIRTY) != wanted)
        way++;
    if (hint && way < cache->ways)
        *hint = way;
    return way;
}

/* Updates the policy's state when a line that keeps its way is used. */
static void use(struct hp_cache *cache, uint64_t index, uint32_t way)
{
    if (cache->replacement == HP_LRU)
        cache->used[index * cache->ways + way] = ++cache->clock;
    else if (cache->replacement == HP_PLRU)
        tree_use(&cache->trees[index], cache->ways, way);
}

static bool in_order(const struct hp_cache *cache)
{
    return cache->replacement == HP_LRU && cache->simple;
}

bool hp_cache_search(struct hp_cache *cache, uint64_t line, bool dirty)
{
    uint64_t index = line & cache->set_mask;
    uint64_t *set = cache->entries + index * cache->ways;
    uint32_t way = find(cache, set, line);
    if (way == cache->ways)
        return false;
    set[way] |= (uint64_t)dirty << 1;
    if (in_order(cache))
        move_to_front(set, way, set[way]);
    else
        use(cache, index, way);
    return true;
}

/* For a line that keeps its way. */
static uint32_t choose(struct hp_cache *cache, const uint64_t *set, uint64_t index)
{
    uint32_t way = 0;
    if (cache->replacement == HP_LRU)
        return oldest(cache->used + index * cache->ways, cache->ways);
    while (way < cache->ways && set[way])
        way++;
    if (way < cache->ways)
        return way;
    return cache->replacement == HP_PLRU ? tree_victim(cache->trees[index], cache->ways)
                                         : random_victim(cache);
}

uint64_t hp_cache_insert(struct hp_cache *cache, uint64_t line, bool dirty)
{
    uint64_t index = line & cache->set_mask;
    uint64_t *set = cache->entries + index * cache->ways;
    uint64_t entry = line << 2 | (uint64_t)dirty << 1 | HP_CACHE_VALID;
    if (in_order(cache)) {
        uint64_t last = set[cache->ways - 1];
        move_to_front(set, cache->ways - 1, entry);
        return last;
    }
    uint32_t way = choose(cache, set, index);
    uint64_t old = set[way];
    set[way] = entry;
    use(cache, index, way);
    if (cache->hints)
        cache->hints[line & cache->hint_mask] = way;
    return old;
}
