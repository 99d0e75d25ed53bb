// SPDX-License-Identifier: MIT
/*
 * rule=density (docs/hotspots.md, "Density"): replaces the detection counter of a detector.
 * Branches are sampled at random, ever more rarely; the buffer keeps the most frequent of them; a
 * map of addresses estimates how much code there is. A candidate is executed at least `density`
 * times as often as the mean of that code.
 */
#ifndef HP_PROFILER_HOTSPOT_DENSITY_H
#define HP_PROFILER_HOTSPOT_DENSITY_H

#include "base/map64.h"
#include "hotpath/hotspot.h"
#include "profiler/hotspot/monitor.h"

struct hp_hotspots;
struct hp_spot_process;

struct hp_density {
    uint8_t *map; /* by bit: whether it is set */
    uint32_t mask, share_mask;
    uint32_t set;
    uint64_t marked; /* estimate: distinct addresses marked, in 1/256 */
    uint64_t random;
    uint64_t left;    /* the owner's branches up to and including the next sample; at least 1 */
    uint32_t doubled; /* log2 of the period */
    uint64_t samples; /* since the buffer was empty, aged like it */
    uint64_t insns;   /* in the blocks that they end, aged likewise */
};

/* With another rule nothing is allocated. */
enum hp_err hp_density_init(struct hp_density *density, const struct hp_hotspot_config *config);
void hp_density_fini(struct hp_density *density);

/* Whether retiring a branch at this address would leave the map unchanged. */
static inline bool hp_density_knows(const struct hp_density *density, uint64_t address)
{
    uint64_t hash = hp_hash64(address);
    return hash & density->share_mask || density->map[(hash >> 32) & density->mask];
}

/* The samples that a branch needs to be a candidate now. UINT64_MAX: more than can be counted. */
uint64_t hp_density_threshold(const struct hp_hotspots *h);

/* The owner retires the next `n` branches, none of which is sampled. */
static inline void hp_density_pass(struct hp_density *density, uint64_t n)
{
    density->left -= n;
}

/* Everything that a retired branch does, except counting it. */
void hp_density_retire(struct hp_hotspots *h, struct hp_spot_process *process,
                       const struct hp_branch *branch, enum hp_monitor_level level);

#endif
