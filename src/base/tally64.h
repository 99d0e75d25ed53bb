// SPDX-License-Identifier: MIT
/*
 * Counts by 64-bit keys: a hash table whose counts are where the keys are, so that to count
 * something costs one cache line. No deletion.
 */
#ifndef HP_BASE_TALLY64_H
#define HP_BASE_TALLY64_H

#include "base/map64.h"

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

/* The count of `key`; NULL: it has none. Valid until a key is added. */
static inline uint64_t *hp_tally64_get(const struct hp_tally64 *tally, uint64_t key)
{
    if (!tally->n_slots)
        return NULL;
    size_t mask = tally->n_slots - 1;
    for (size_t i = hp_hash64(key) & mask;; i = (i + 1) & mask) {
        struct hp_tally64_slot *slot = &tally->slots[i];
        if (slot->key == key)
            return &slot->count;
        if (slot->key == HP_TALLY64_NONE)
            return NULL;
    }
}

/* The same, added with a count of 0 if it is missing; NULL: out of memory. */
uint64_t *hp_tally64_add(struct hp_tally64 *tally, uint64_t key);

/* Releases the memory; it is empty afterwards and can be used again. */
void hp_tally64_fini(struct hp_tally64 *tally);

#endif
