// SPDX-License-Identifier: MIT
/*
 * Counts by 64-bit keys: a hash table whose counts are where the keys are, so that to count
 * something costs one cache line. No deletion.
 */
#ifndef HP_BASE_TALLY64_H
#define HP_BASE_TALLY64_H

#include "base/map64.h"

#include <stdbool.h>

#define HP_TALLY64_NONE UINT64_MAX /* no key */

struct hp_tally64_slot {
    uint64_t key; /* HP_TALLY64_NONE: the slot is empty */
    uint64_t count;
};

/* All zero is an empty one. */
struct hp_tally64 {
    struct hp_tally64_slot *slots;
    size_t n_slots; /* a power of two, or 0 */
    size_t used;
};

/* Where the search for `key` begins, if there are slots. */
static inline struct hp_tally64_slot *hp_tally64_home(const struct hp_tally64 *tally, uint64_t key)
{
    return &tally->slots[hp_hash64(key) & (tally->n_slots - 1)];
}

/* The count of `key`; NULL: it has none. Valid until a key is added or counted. */
static inline uint64_t *hp_tally64_get(const struct hp_tally64 *tally, uint64_t key)
{
    if (!tally->n_slots)
        return NULL;
    for (struct hp_tally64_slot *slot = hp_tally64_home(tally, key);;) {
        if (slot->key == key)
            return &slot->count;
        if (slot->key == HP_TALLY64_NONE)
            return NULL;
        if (++slot == tally->slots + tally->n_slots)
            slot = tally->slots;
    }
}

/* Adds one to the count of `key`, whose home is known; false: it has none. Of those that share a
 * home, the most frequent gets it: what is counted often is found at once. */
bool hp_tally64_count_far(struct hp_tally64 *tally, struct hp_tally64_slot *home, uint64_t key);
static inline bool hp_tally64_count(struct hp_tally64 *tally, struct hp_tally64_slot *home,
                                    uint64_t key)
{
    if (__builtin_expect(home->key != key, 0))
        return hp_tally64_count_far(tally, home, key);
    home->count++;
    return true;
}

/* The same, added with a count of 0 if it is missing; NULL: out of memory. */
uint64_t *hp_tally64_add(struct hp_tally64 *tally, uint64_t key);

/* Releases the memory; it is empty afterwards and can be used again. */
void hp_tally64_fini(struct hp_tally64 *tally);

#endif
