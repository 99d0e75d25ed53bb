// SPDX-License-Identifier: MIT
/*
 * For the tests of the machine model: a cache written down naively.
 */
#ifndef HP_TEST_MACHINE_NAIVE_H
#define HP_TEST_MACHINE_NAIVE_H

#include "machine/cache.h"

#define NAIVE_SETS   64
#define NAIVE_RANDOM 2463534242u /* where the generator starts */

/* Ways with times of use for LRU; for the tree, every node as a number of its own. */
struct naive {
    uint64_t sets, ways;
    enum hp_replacement replacement;
    struct {
        bool valid, dirty;
        uint64_t line, used;
    } way[NAIVE_SETS][64];
    int tree[NAIVE_SETS]
            [64]; /* node n has children 2n and 2n + 1; 0: the left half is older, or 1 */
    uint64_t now;
    uint32_t random;
};

static inline int naive_find(struct naive *n, uint64_t line)
{
    uint64_t set = line % n->sets;
    for (uint64_t i = 0; i < n->ways; i++)
        if (n->way[set][i].valid && n->way[set][i].line == line)
            return (int)i;
    return -1;
}

/* The tree by halves: [low, high) of the ways under a node. */
static inline void naive_use(struct naive *n, uint64_t set, uint64_t way)
{
    uint64_t low = 0, high = n->ways, node = 1;
    n->way[set][way].used = ++n->now;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        bool right = way >= middle;
        n->tree[set][node] = right ? 0 : 1;
        node = 2 * node + right;
        if (right)
            low = middle;
        else
            high = middle;
    }
}

static inline uint64_t naive_victim(struct naive *n, uint64_t set)
{
    uint64_t oldest = 0;
    for (uint64_t i = 0; i < n->ways; i++)
        if (!n->way[set][i].valid)
            return i;
    switch (n->replacement) {
    case HP_LRU:
        for (uint64_t i = 1; i < n->ways; i++)
            if (n->way[set][i].used < n->way[set][oldest].used)
                oldest = i;
        return oldest;
    case HP_PLRU: {
        uint64_t low = 0, high = n->ways, node = 1;
        while (high - low > 1) {
            uint64_t middle = (low + high) / 2;
            int right = n->tree[set][node];
            node = 2 * node + (uint64_t)right;
            if (right)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
    default:
        n->random ^= n->random << 13;
        n->random ^= n->random >> 17;
        n->random ^= n->random << 5;
        return (uint64_t)((double)n->random / 4294967296.0 * (double)n->ways);
    }
}

/* Returns hit; on a miss brings the line in, `*evicted` as hp_cache_insert() says it. */
static inline bool naive_access(struct naive *n, uint64_t line, bool dirty, uint64_t *evicted)
{
    uint64_t set = line % n->sets;
    int found = naive_find(n, line);
    uint64_t way = found >= 0 ? (uint64_t)found : naive_victim(n, set);
    *evicted = 0;
    if (found < 0) {
        if (n->way[set][way].valid)
            *evicted = n->way[set][way].line * 4 + n->way[set][way].dirty * 2u + 1;
        n->way[set][way].valid = true;
        n->way[set][way].dirty = false;
        n->way[set][way].line = line;
    }
    n->way[set][way].dirty |= dirty;
    naive_use(n, set, way);
    return found >= 0;
}

#endif
