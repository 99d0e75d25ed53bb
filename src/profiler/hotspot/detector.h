// SPDX-License-Identifier: MIT
/*
 * Inside a hot spot detector (hotpath/hotspot.h), for the profiler, which does the same by units
 * and leaves rare cases to hp_hotspots_retire().
 *
 * Invariants:
 *   1. `owner` is NULL or a process that is on (rule=density: that is not over); while a process is
 *      on, there is one.
 *   2. `detect` is from 1 to `detect_max`; the `left` of a timer at least 1.
 *   3. Unused entries have executed == 0.
 */
#ifndef HP_PROFILER_HOTSPOT_DETECTOR_H
#define HP_PROFILER_HOTSPOT_DETECTOR_H

#include "base/map64.h"
#include "hotpath/hotspot.h"
#include "profiler/hotspot/density.h"
#include "profiler/hotspot/monitor.h"

/* In the branch behavior buffer. It is a candidate when `executed` has reached the threshold. */
struct hp_spot_entry {
    uint64_t address;
    uint32_t executed, taken;
};

struct hp_spot_process {
    struct hp_monitor_own own;
    uint32_t number; /* the caller's */
    int32_t counter; /* of the monitor */
    bool on;
};

struct hp_hotspots {
    struct hp_hotspot_config config; /* its shift is a number */
    hp_hotspot_handler handler;
    void *context;

    struct hp_spot_entry *entries;
    uint64_t *parts; /* direction or target, depending on the index; NULL: by address alone */
    uint8_t *flows;
    uint32_t set_mask; /* sets - 1 */
    uint32_t counter_max;
    int32_t detect, detect_max;
    int32_t monitor_max;
    uint64_t refresh_left, reset_left; /* branches; near UINT64_MAX: never */

    struct hp_spot_process *
        *processes; /* those that are not over, in order of their first branches */
    size_t n_processes, cap_processes;
    struct hp_map64 process_of; /* caller's number -> index */
    struct hp_spot_process *latest;
    struct hp_spot_process *owner; /* of the buffer */
    uint32_t next_owner;           /* number for the monitor table */
    struct hp_monitor monitor;

    struct hp_density density;

    struct hp_hotspot_stats stats;
    struct hp_hotspot_branch *candidates; /* room for all entries */
    uint64_t *addresses;
    bool failed; /* out of memory */
};

/* Whether branches of this kind are profiled. */
static inline bool hp_hotspots_profiles(const struct hp_hotspot_config *config, uint8_t flow)
{
    switch (flow) {
    case HP_FLOW_COND:
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN: return true;
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL: return !config->conditional_indirect;
    default: return false;
    }
}

/* The process with this number; created when new. NULL: out of memory, which is recorded. */
struct hp_spot_process *hp_hotspots_process(struct hp_hotspots *hotspots, uint32_t number);

/* The part of a branch, besides its address, that distinguishes entries. */
static inline uint64_t hp_hotspots_part(const struct hp_hotspots *h, uint64_t target, bool taken)
{
    return h->config.index == HP_INDEX_TARGET ? target
                                              : h->config.index == HP_INDEX_DIRECTION && taken;
}

/* The first entry of the set of a branch. */
static inline struct hp_spot_entry *hp_hotspots_set(const struct hp_hotspots *h, uint64_t address,
                                                    uint64_t part)
{
    uint64_t mixed = address >> h->config.shift;
    mixed ^= h->config.index == HP_INDEX_TARGET ? part >> h->config.shift : part;
    return &h->entries[(mixed & h->set_mask) * h->config.ways];
}

/* A branch without an entry: gives it one if possible, and counts the miss. Returns whether it is a
 * candidate. */
bool hp_hotspots_miss(struct hp_hotspots *h, struct hp_spot_entry *set, uint64_t address,
                      uint64_t part, uint8_t flow, bool taken);

/* Empties the buffer and restarts counting. */
void hp_hotspots_clear(struct hp_hotspots *h);

/* Passes the buffer to the next process that is on, round robin. It is cleared even if it stays. */
void hp_hotspots_pass_on(struct hp_hotspots *h);

/* Rule 1. */
void hp_hotspots_watch(struct hp_hotspots *h, struct hp_spot_process *process,
                       enum hp_monitor_level level);

/* Rule 5, without the clearing; candidates are entries executed at least `candidate` times. */
void hp_hotspots_detect(struct hp_hotspots *h, struct hp_spot_process *process, uint32_t candidate);

/* The branch's entry, or NULL. */
struct hp_spot_entry *hp_hotspots_find(const struct hp_hotspots *h, struct hp_spot_entry *set,
                                       uint64_t address, uint64_t part);

/* Everything that a retired branch of a profiled kind does. */
void hp_hotspots_retire(struct hp_hotspots *h, struct hp_spot_process *process,
                        const struct hp_branch *branch, enum hp_monitor_level level);

#endif
