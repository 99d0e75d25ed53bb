// SPDX-License-Identifier: MIT
#include "profiler/hotspot/monitor.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define WORTH_A_RANGE 3 /* branches: a range is two addresses */

enum hp_err hp_monitor_init(struct hp_monitor *monitor, const struct hp_hotspot_config *config)
{
    *monitor = (struct hp_monitor){.config = *config};
    if (config->monitor_entries) {
        monitor->entries = calloc(config->monitor_entries, sizeof *monitor->entries);
        if (!monitor->entries)
            return hp_fail_nomem();
    }
    return HP_OK;
}

void hp_monitor_fini(struct hp_monitor *monitor)
{
    free(monitor->entries);
    free(monitor->ranges);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static struct hp_monitor_entry *find_set(const struct hp_monitor *monitor, uint64_t address)
{
    const struct hp_hotspot_config *config = &monitor->config;
    uint64_t sets = config->monitor_entries / config->monitor_ways;
    return &monitor->entries[((address >> config->shift) & (sets - 1)) * config->monitor_ways];
}

static bool is_branch(const struct hp_monitor *monitor, const struct hp_monitor_own *own,
                      uint64_t address)
{
    if (!monitor->entries)
        return hp_map64_get(&own->branches, address) != HP_MAP64_NONE;
    const struct hp_monitor_entry *set = find_set(monitor, address);
    for (uint32_t i = 0; i < monitor->config.monitor_ways; i++)
        if (set[i].used && set[i].address == address && set[i].owner == own->owner)
            return true;
    return false;
}

enum hp_monitor_level hp_monitor_find(const struct hp_monitor *monitor,
                                      const struct hp_monitor_own *own, uint64_t address)
{
    for (size_t i = 0; i < monitor->n_ranges; i++) {
        const struct hp_monitor_range *range = &monitor->ranges[i];
        if (address >= range->first && address <= range->last && range->owner == own->owner)
            return HP_MONITOR_RANGE;
    }
    return is_branch(monitor, own, address) ? HP_MONITOR_BRANCH : HP_MONITOR_NOT;
}

/* --- Adding ----------------------------------------------------------------------------------- */

static enum hp_err add_branch(struct hp_monitor *monitor, struct hp_monitor_own *own,
                              uint64_t address)
{
    if (!monitor->entries) {
        HP_TRY(hp_map64_put(&own->branches, address, 1));
        monitor->n_branches++;
        return HP_OK;
    }
    struct hp_monitor_entry *set = find_set(monitor, address);
    for (uint32_t i = 0; i < monitor->config.monitor_ways; i++) {
        if (set[i].used)
            continue;
        set[i] = (struct hp_monitor_entry){address, own->owner, true};
        monitor->n_branches++;
        return HP_OK;
    }
    monitor->full++;
    return HP_OK;
}

/* Neighbours that are close enough together. */
struct cluster {
    size_t first, n; /* of the sorted addresses */
};

/* Largest first. */
static int by_size(const void *a, const void *b)
{
    const struct cluster *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Extends a range of the process that overlaps the cluster or is close to it. */
static bool extend_range(struct hp_monitor *monitor, const struct hp_monitor_own *own,
                         uint64_t first, uint64_t last)
{
    uint64_t gap = monitor->config.range_gap;
    for (size_t i = 0; i < monitor->n_ranges; i++) {
        struct hp_monitor_range *range = &monitor->ranges[i];
        bool near = first <= range->last ? last >= range->first || range->first - last <= gap
                                         : first - range->last <= gap;
        if (range->owner != own->owner || !near)
            continue;
        range->first = range->first < first ? range->first : first;
        range->last = range->last > last ? range->last : last;
        return true;
    }
    return false;
}

static enum hp_err add_cluster(struct hp_monitor *monitor, struct hp_monitor_own *own,
                               const uint64_t *addresses, size_t n)
{
    uint64_t first = addresses[0], last = addresses[n - 1];
    if (extend_range(monitor, own, first, last))
        return HP_OK;
    if (n >= WORTH_A_RANGE && monitor->n_ranges < monitor->config.ranges) {
        HP_TRY(hp_grow(&monitor->ranges, &monitor->cap_ranges, monitor->n_ranges + 1,
                       sizeof *monitor->ranges));
        monitor->ranges[monitor->n_ranges++] = (struct hp_monitor_range){first, last, own->owner};
        return HP_OK;
    }
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_branch(monitor, own, addresses[i]));
    return HP_OK;
}

static enum hp_err add_clusters(struct hp_monitor *monitor, struct hp_monitor_own *own,
                                const uint64_t *addresses, size_t n)
{
    struct cluster *clusters = calloc(n, sizeof *clusters);
    size_t count = 0;
    enum hp_err err = HP_OK;
    if (!clusters)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++) {
        if (i && addresses[i] - addresses[i - 1] <= monitor->config.range_gap)
            clusters[count - 1].n++;
        else
            clusters[count++] = (struct cluster){i, 1};
    }
    qsort(clusters, count, sizeof *clusters, by_size);
    for (size_t i = 0; i < count && err == HP_OK; i++)
        err = add_cluster(monitor, own, addresses + clusters[i].first, clusters[i].n);
    free(clusters);
    return err;
}

enum hp_err hp_monitor_add(struct hp_monitor *monitor, struct hp_monitor_own *own,
                           uint64_t *addresses, size_t n)
{
    size_t new = 0;
    if (n)
        qsort(addresses, n, sizeof *addresses, by_address);
    for (size_t i = 0; i < n; i++)
        if ((!new || addresses[i] != addresses[new - 1]) &&
            hp_monitor_find(monitor, own, addresses[i]) == HP_MONITOR_NOT)
            addresses[new ++] = addresses[i];
    if (new == 0)
        return HP_OK;
    if (monitor->config.ranges)
        return add_clusters(monitor, own, addresses, new);
    for (size_t i = 0; i < new; i++)
        HP_TRY(add_branch(monitor, own, addresses[i]));
    return HP_OK;
}

void hp_monitor_remove(struct hp_monitor *monitor, struct hp_monitor_own *own)
{
    size_t kept = 0;
    for (uint32_t i = 0; monitor->entries && i < monitor->config.monitor_entries; i++)
        if (monitor->entries[i].used && monitor->entries[i].owner == own->owner) {
            monitor->entries[i].used = false;
            monitor->n_branches--;
        }
    for (size_t i = 0; i < monitor->n_ranges; i++)
        if (monitor->ranges[i].owner != own->owner)
            monitor->ranges[kept++] = monitor->ranges[i];
    monitor->n_ranges = kept;
    monitor->n_branches -= own->branches.used;
    hp_map64_fini(&own->branches);
}
