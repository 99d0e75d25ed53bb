// SPDX-License-Identifier: MIT
/*
 * Sorting many things by numbers: not the things are moved, but their numbers.
 */
#ifndef HP_BASE_KEYED_H
#define HP_BASE_KEYED_H

#include <stddef.h>
#include <stdint.h>

struct hp_keyed {
    uint64_t key;
    uint32_t index; /* of what has this key */
};

/* Sorts by key; what has the same key stays in order. `room` is for as many. */
void hp_keyed_sort(struct hp_keyed *items, struct hp_keyed *room, size_t n);

#endif
