// SPDX-License-Identifier: MIT
#include "profiler/hotspot/density.h"

#include "profiler/hotspot/detector.h"

#include <stdlib.h>

#define SEED UINT64_C(88172645463325252)
#define BLOCK                                                                                      \
    5 /* instructions of a block whose length is unknown: the mean of blocks of static code */
#define LEAST_COUNT  4  /* the least that is significant */
#define AGE          4  /* counts are divided by this */
#define MOST_DOUBLED 24 /* times */
#define PARTS        256

enum hp_err hp_density_init(struct hp_density *d, const struct hp_hotspot_config *config)
{
    *d = (struct hp_density){.random = SEED, .left = 1};
    if (config->rule != HP_RULE_DENSITY)
        return HP_OK;
    d->mask = (1u << config->map_bits) - 1;
    d->share_mask = (1u << config->map_share) - 1;
    d->map = calloc((size_t)d->mask + 1, 1);
    return d->map ? HP_OK : hp_fail_nomem();
}

void hp_density_fini(struct hp_density *d)
{
    free(d->map);
}

/* A shift register (Marsaglia). */
static uint64_t next_random(struct hp_density *d)
{
    uint64_t r = d->random;
    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    return d->random = r;
}

/* --- The size of the code --------------------------------------------------------------------- */

/* With `set` of m bits set, another one takes m / (m - set) different addresses on average. */
static void mark(struct hp_density *d, uint64_t address)
{
    if (hp_density_knows(d, address))
        return;
    uint64_t size = (uint64_t)d->mask + 1;
    d->map[(hp_hash64(address) >> 32) & d->mask] = 1;
    d->marked += size * PARTS / (size - d->set);
    d->set++;
}

/* density * (instructions sampled / static instructions) * (1 + patience / time), rounded up; time
 * is in instructions: branches * instructions / samples. */
uint64_t hp_density_threshold(const struct hp_hotspots *h)
{
    const struct hp_density *d = &h->density;
    const struct hp_hotspot_config *config = &h->config;
    uint64_t code = ((d->marked << config->map_share) / PARTS + 1) * BLOCK;
    uint64_t patience = config->patience * UINT64_C(1000000);
    unsigned __int128 late = (unsigned __int128)patience * d->samples / (h->stats.branches + 1);
    unsigned __int128 above = config->density * (d->insns + late);
    uint64_t below = code * 10;
    unsigned __int128 threshold = (above + below - 1) / below;
    if (threshold > h->counter_max)
        return UINT64_MAX;
    return threshold > LEAST_COUNT ? (uint64_t)threshold : LEAST_COUNT;
}

/* --- The buffer ------------------------------------------------------------------------------- */

/* An empty way, or the one with the smallest count: the first of equals. */
static struct hp_spot_entry *find_least(const struct hp_hotspots *h, struct hp_spot_entry *set)
{
    struct hp_spot_entry *least = &set[0];
    for (uint32_t i = 1; i < h->config.ways; i++)
        if (set[i].executed < least->executed)
            least = &set[i];
    return least;
}

/* Random admission: a new branch replaces the least one with a probability of about 1 in its count,
 * and continues from that count. */
static bool is_admitted(struct hp_density *d, uint32_t least)
{
    uint32_t chance = 1u << (31 - __builtin_clz(least + 1));
    return least == 0 || (next_random(d) >> 32 & (chance - 1)) == 0;
}

static void record(struct hp_hotspots *h, const struct hp_branch *branch)
{
    uint64_t part = hp_hotspots_part(h, branch->target, branch->taken);
    struct hp_spot_entry *set = hp_hotspots_set(h, branch->address, part);
    struct hp_spot_entry *entry = hp_hotspots_find(h, set, branch->address, part);
    h->stats.profiled++;
    if (entry) {
        h->stats.hits++;
    } else {
        h->stats.misses++;
        entry = find_least(h, set);
        if (!is_admitted(&h->density, entry->executed)) {
            h->stats.rejected++;
            return;
        }
        entry->address = branch->address;
        entry->taken = branch->taken ? entry->executed : 0; /* right on average */
        h->flows[entry - h->entries] = branch->flow;
        if (h->parts)
            h->parts[entry - h->entries] = part;
    }
    if (entry->executed < h->counter_max) {
        entry->executed++;
        entry->taken += branch->taken;
    }
}

/* --- Time ------------------------------------------------------------------------------------- */

/* Drops entries that are known now: they need no more counting. */
static void drop_known(struct hp_hotspots *h, const struct hp_spot_process *p, uint64_t threshold)
{
    for (uint32_t i = 0; i < h->config.entries; i++) {
        struct hp_spot_entry *entry = &h->entries[i];
        if (entry->executed &&
            (entry->executed >= threshold || hp_monitor_find(&h->monitor, &p->own, entry->address)))
            *entry = (struct hp_spot_entry){0};
    }
}

/* Detects a hot spot if enough of the samples are dense. */
static void look(struct hp_hotspots *h, struct hp_spot_process *p)
{
    uint64_t threshold = hp_density_threshold(h), sum = 0;
    h->stats.refreshes++;
    for (uint32_t i = 0; i < h->config.entries; i++)
        if (h->entries[i].executed >= threshold)
            sum += h->entries[i].executed;
    if (sum == 0 || sum * 1024 < h->config.gain * h->density.samples)
        return;
    hp_hotspots_detect(h, p, (uint32_t)threshold);
    drop_known(h, p, threshold);
}

/* Shrinks the counts, as if branches had been sampled half as often from the start and half of the
 * samples forgotten. From now on they are sampled half as often. */
static void age(struct hp_hotspots *h)
{
    struct hp_density *d = &h->density;
    for (uint32_t i = 0; i < h->config.entries; i++) {
        h->entries[i].executed /= AGE;
        h->entries[i].taken /= AGE;
    }
    d->samples /= AGE;
    d->insns /= AGE;
    d->doubled += d->doubled < MOST_DOUBLED;
    h->stats.resets++;
    h->reset_left = h->config.reset - h->config.reset / AGE;
    for (size_t i = 0; i < h->n_processes; i++)
        if (h->processes[i]->on && h->processes[i] != h->owner) {
            hp_hotspots_pass_on(h);
            return;
        }
}

/* The number of branches until the next sample is odd, between 1 and twice the period: on average
 * the period. */
static void wait(struct hp_density *d)
{
    d->left = 1 + (next_random(d) >> 32 & (((uint64_t)2 << d->doubled) - 2));
}

void hp_density_retire(struct hp_hotspots *h, struct hp_spot_process *p,
                       const struct hp_branch *branch, enum hp_monitor_level level)
{
    struct hp_density *d = &h->density;
    mark(d, branch->address);
    hp_hotspots_watch(h, p, level);
    if (h->owner != p || h->failed || --d->left)
        return;
    wait(d);
    d->samples++;
    d->insns += branch->insns ? branch->insns : BLOCK;
    if (p->on && level == HP_MONITOR_NOT)
        record(h, branch);
    h->refresh_left--;
    h->reset_left--;
    if (h->refresh_left == 0) {
        h->refresh_left = h->config.refresh;
        look(h, p);
    }
    if (h->reset_left == 0)
        age(h);
}
