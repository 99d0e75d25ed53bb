// SPDX-License-Identifier: MIT
/*
 * The cost of an access to each cache, relative to the L1 instruction cache, in sixteenths
 * (docs/machine.md, "Power").
 */
#ifndef HP_MACHINE_POWER_H
#define HP_MACHINE_POWER_H

#include "machine/machine.h"

#define HP_POWER_ONE 16u /* an L1I access */

/* The energy of an access, in units of switching one cell's worth of bit line. */
double hp_power_access(const struct hp_cache_config *cache);

/* The same relative to `l1i`; between 1 and 2^16 sixteenths. */
uint32_t hp_power_cost(const struct hp_cache_config *cache, const struct hp_cache_config *l1i);

/*
 * The cycle model: what the n-th access in a cycle adds to the cost of the n - 1 before, for a
 * cache with `ports`. Together, n accesses cost as much as one up to n = ports, and n / ports as
 * much beyond.
 */
static inline uint32_t hp_power_nth(uint32_t cost, uint32_t ports, uint32_t n)
{
    if (n == 1)
        return cost;
    if (n <= ports)
        return 0;
    return (uint32_t)((uint64_t)cost * n / ports - (uint64_t)cost * (n - 1) / ports);
}

#endif
