// SPDX-License-Identifier: MIT
/* Sums and products that stay at the largest value instead of wrapping around. */
#ifndef HP_BASE_SUMS_H
#define HP_BASE_SUMS_H

#include <stdint.h>

static inline uint64_t hp_saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t hp_saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Adds to a sum, saturating. */
static inline void hp_add_up(uint64_t *sum, uint64_t value)
{
    *sum = hp_saturating_add(*sum, value);
}

/* The fraction `part` / `whole` (not 0) of an amount, rounded down. */
static inline uint64_t hp_part_of(uint64_t amount, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)amount * part / whole);
}

#endif
