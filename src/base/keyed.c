// SPDX-License-Identifier: MIT
/* A radix sort, from the lowest digit to the highest. Digits that are the same in all keys cost
 * nothing. */
#include "base/keyed.h"

#include <string.h>

#define BITS   11 /* of a digit */
#define VALUES (1u << BITS)
#define DIGITS ((64 + BITS - 1) / BITS)

static uint32_t digit(uint64_t key, unsigned i)
{
    return (uint32_t)(key >> i * BITS) & (VALUES - 1);
}

/* Moves the items to where their digit belongs. `counts`: how many have each value. */
static void spread(const struct hp_keyed *from, struct hp_keyed *to, size_t n, unsigned i,
                   size_t counts[VALUES])
{
    for (size_t value = 0, start = 0; value < VALUES; value++) {
        size_t count = counts[value];
        counts[value] = start;
        start += count;
    }
    for (size_t k = 0; k < n; k++)
        to[counts[digit(from[k].key, i)]++] = from[k];
}

void hp_keyed_sort(struct hp_keyed *items, struct hp_keyed *room, size_t n)
{
    struct hp_keyed *from = items, *to = room;
    uint64_t differ = 0;
    for (size_t k = 1; k < n; k++)
        differ |= items[k].key ^ items[0].key;
    for (unsigned i = 0; i < DIGITS; i++) {
        size_t counts[VALUES];
        if (!digit(differ, i))
            continue;
        memset(counts, 0, sizeof counts);
        for (size_t k = 0; k < n; k++)
            counts[digit(from[k].key, i)]++;
        spread(from, to, n, i, counts);
        struct hp_keyed *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
}
