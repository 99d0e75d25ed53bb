// SPDX-License-Identifier: MIT
/*
 * The monitor table: the branches of known hot spots, of all processes. Two levels: ranges of
 * addresses, which are searched first, and branches. Without ranges it is one table of branches.
 */
#ifndef HP_PROFILER_HOTSPOT_MONITOR_H
#define HP_PROFILER_HOTSPOT_MONITOR_H

#include "base/map64.h"
#include "hotpath/hotspot.h"

/* Where a branch was found. */
enum hp_monitor_level { HP_MONITOR_NOT, HP_MONITOR_BRANCH, HP_MONITOR_RANGE };

struct hp_monitor_entry {
    uint64_t address;
    uint32_t owner;
    bool used;
};

struct hp_monitor_range {
    uint64_t first, last; /* addresses of branches */
    uint32_t owner;
};

struct hp_monitor {
    struct hp_hotspot_config config;
    struct hp_monitor_entry *entries; /* if bounded: in sets */
    struct hp_monitor_range *ranges;
    size_t n_ranges, cap_ranges;
    uint64_t n_branches;
    uint64_t full; /* branches that did not fit */
};

/* The entries of a process in an unbounded table. */
struct hp_monitor_own {
    struct hp_map64 branches;
    uint32_t owner; /* unique among the current processes */
};

enum hp_err hp_monitor_init(struct hp_monitor *monitor, const struct hp_hotspot_config *config);
void hp_monitor_fini(struct hp_monitor *monitor);

enum hp_monitor_level hp_monitor_find(const struct hp_monitor *monitor,
                                      const struct hp_monitor_own *own, uint64_t address);

/* Adds the branches of a hot spot (docs: "Two levels"); sorts `addresses`. HP_ERR_NOMEM: some were
 * added. */
enum hp_err hp_monitor_add(struct hp_monitor *monitor, struct hp_monitor_own *own,
                           uint64_t *addresses, size_t n);

/* The process has ended. */
void hp_monitor_remove(struct hp_monitor *monitor, struct hp_monitor_own *own);

#endif
