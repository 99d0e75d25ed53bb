// SPDX-License-Identifier: MIT
/*
 * After Kamble and Ghose (ISLPED 1997) and Kadayif et al. (vEC, PASTE 2001), reduced to the effects
 * of size, line and associativity. Reading a set switches a row of
 *
 *     W = ways (8 line + tag + status)
 *
 * cells, each on a bit line as long as the array is high: rows + 4.8 (the constant stands for
 * precharging and sensing). Arrays are not built higher than ROWS_MAX; a cache with more sets has
 * several, one of which is switched. The line then travels half the side of the whole cache, which
 * is the square root of its cells. So
 *
 *     E = W (rows + 4.8) + 8 line sqrt(W sets) / 2
 */
#include "machine/power.h"

#include <math.h>

#define ADDRESS_BITS 48
#define STATUS_BITS  2 /* valid, dirty */
#define ROWS_MAX     1024.0
#define SENSE        4.8
#define COST_MAX     (1u << 16)

double hp_power_access(const struct hp_cache_config *cache)
{
    double bits = 8.0 * (double)cache->line;
    double sets = (double)(cache->size / cache->line / cache->ways);
    double tag = ADDRESS_BITS - log2(sets * (double)cache->line) + STATUS_BITS;
    double row = (double)cache->ways * (bits + tag);
    return row * (fmin(sets, ROWS_MAX) + SENSE) + bits * sqrt(row * sets) / 2;
}

uint32_t hp_power_cost(const struct hp_cache_config *cache, const struct hp_cache_config *l1i)
{
    double cost = floor(HP_POWER_ONE * hp_power_access(cache) / hp_power_access(l1i) + 0.5);
    return (uint32_t)fmin(fmax(cost, 1), COST_MAX);
}
