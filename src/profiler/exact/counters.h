// SPDX-License-Identifier: MIT
/*
 * Counters by key, for rare things: kept in order of first use.
 */
#ifndef HP_PROFILER_EXACT_COUNTERS_H
#define HP_PROFILER_EXACT_COUNTERS_H

#include "base/map64.h"

/* All zero: none. */
struct hp_counters {
    struct hp_map64 of; /* key -> index */
    uint64_t *keys, *counts;
    size_t n, cap_keys, cap_counts;
};

enum hp_err hp_counters_add(struct hp_counters *counters, uint64_t key, uint64_t count);

/* 0 for a key that was never added to. */
uint64_t hp_counters_get(const struct hp_counters *counters, uint64_t key);

void hp_counters_fini(struct hp_counters *counters);

#endif
