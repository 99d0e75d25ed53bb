// SPDX-License-Identifier: MIT
/*
 * The hot spot detector (docs/hotspots.md): branch behavior buffer, detection counter, monitor
 * table.
 *
 * An emulator, a JIT or a simulator embeds one: it calls hp_hotspots_branch() for every retired
 * branch, and the handler is called for every hot spot detected. The profiler behind `hotpath run
 * --profile hotspots` feeds the same detector from the stream, faster, and also finds regions.
 */
#ifndef HOTPATH_HOTSPOT_H
#define HOTPATH_HOTSPOT_H

#include "hotpath/error.h"
#include "hotpath/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hp_hotspot_index { HP_INDEX_ADDRESS, HP_INDEX_DIRECTION, HP_INDEX_TARGET };
/* What detects a hot spot: the detection counter reaches zero, or branches are dense (docs:
 * "Density"). */
enum hp_hotspot_rule { HP_RULE_COUNTER, HP_RULE_DENSITY };

#define HP_HOTSPOT_SHIFT_ARCH UINT32_MAX /* see `shift` */

struct hp_hotspot_config {
    uint32_t entries, ways;                 /* of the buffer: 2048, 2 */
    uint32_t counter_bits;                  /* 9 */
    uint32_t candidate;                     /* threshold: 16 */
    uint32_t refresh, reset;                /* timers, branches: 4096, 65535 */
    uint32_t detect_bits;                   /* of the detection counter: 13 */
    uint32_t down, up;                      /* 1, 2 */
    uint32_t monitor_bits;                  /* of the monitor counter: 12 */
    uint32_t monitor_down, monitor_up;      /* 1, 1 */
    uint32_t monitor_entries, monitor_ways; /* of the monitor table; 0: as many as needed */
    uint32_t ranges;                        /* of the first level, address ranges; 0: one level */
    uint32_t range_gap;                     /* bytes between neighbours in a range, at most: 64 */
    uint32_t address_bits;                  /* of a code address, for the size: 32 */
    /* Of addresses, when a set is chosen. HP_HOTSPOT_SHIFT_ARCH: suits the code's architecture; 0
     * where that is unknown. */
    uint32_t shift;
    enum hp_hotspot_index index;
    bool monitor;              /* false: none, hot spots are detected repeatedly */
    bool conditional_indirect; /* only conditional and computed branches are profiled */
    bool per_thread; /* share=thread; profiler only: a detector on its own has no threads */
    bool tight;      /* region=tight; profiler only */
    /* rule=density */
    enum hp_hotspot_rule rule;
    uint32_t density;  /* of a candidate, in tenths of the mean over all code that was executed */
    uint32_t patience; /* how long it must stay denser than that: millions of instructions */
    uint32_t gain;     /* least share of all candidates together, in 1/1024 */
    uint32_t map_bits, map_share; /* the map of addresses: log2 of its bits, and of how many
                                     addresses one is marked */
};

/* Reads a preset ("merten": the slides'; "dense": ours) and changes to it:
 * "merten,entries=1024,ways=4,candidate=8,only=conditional-indirect,index=target,monitor=off,...";
 * all of them are in docs/hotspots.md. HP_ERR_INVALID: one line. */
HP_MUST_CHECK enum hp_err hp_hotspot_config_parse(const char *text,
                                                  struct hp_hotspot_config *config);
/* Checks the settings. HP_ERR_INVALID: one line. */
HP_MUST_CHECK enum hp_err hp_hotspot_config_check(const struct hp_hotspot_config *config);
/* A text that hp_hotspot_config_parse() reads: a preset and differences from it; cut to `size`. */
void hp_hotspot_config_format(const struct hp_hotspot_config *config, char *text, size_t size);
/* Bits of the buffer, the counters and timers. `monitor` (may be NULL): bits of a monitor table,
 * which has `monitored` entries where it is unbounded. */
uint64_t hp_hotspot_config_bits(const struct hp_hotspot_config *config, uint64_t monitored,
                                uint64_t *monitor);

/* A candidate branch at the time its hot spot was detected. */
struct hp_hotspot_branch {
    uint64_t address;
    uint64_t target; /* index=target: where it went; else 0 */
    uint32_t executed, taken;
    uint8_t flow; /* enum hp_flow */
};

struct hp_hotspot {
    uint32_t number;   /* 0, 1, ... in the order of detection */
    uint32_t process;  /* whose: as given to hp_hotspots_branch() */
    uint64_t branches; /* retired when it was detected, of all processes, the last one included;
                          profiled kinds */
    const struct hp_hotspot_branch *candidates;
    size_t n_candidates;
};

/* Called on detection, after the candidates entered the monitor table. The hot spot is valid during
 * the call. Candidates are in the order of their sets. The handler must not call the detector. */
typedef void (*hp_hotspot_handler)(void *context, const struct hp_hotspot *hotspot);

struct hp_hotspot_stats {
    uint64_t branches;     /* retired, profiled kinds */
    uint64_t profiled;     /* seen by the buffer: it was on, and owned by their process */
    uint64_t hits, misses; /* in the buffer */
    uint64_t rejected;     /* of the misses: the set was full of candidates */
    uint64_t refreshes, resets, detections;
    uint64_t monitored;        /* peak number of branches in the monitor table */
    uint64_t monitored_ranges; /* and of ranges in its first level */
    uint64_t monitor_full;     /* branches that found no place in it */
    uint64_t monitor_hits[2];  /* branches found: in the table of branches; in the ranges, which are
                                  searched first */
    uint64_t switched_on, switched_off;
    uint64_t passed_on; /* the buffer went from one process to another */
};

struct hp_hotspots;

/* `handler` may be NULL. HP_ERR_INVALID as hp_hotspot_config_check(), HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_hotspots_new(const struct hp_hotspot_config *config,
                                          hp_hotspot_handler handler, void *context,
                                          struct hp_hotspots **hotspots);
void hp_hotspots_free(struct hp_hotspots *hotspots);
/* `process`: any number; branches of several may interleave. Of the branch: address, target, flow,
 * taken; with rule=density also insns. */
void hp_hotspots_branch(struct hp_hotspots *hotspots, uint32_t process,
                        const struct hp_branch *branch);
/* The process ended: it releases the buffer, and its branches leave the monitor table. */
void hp_hotspots_end(struct hp_hotspots *hotspots, uint32_t process);
const struct hp_hotspot_stats *hp_hotspots_stats(const struct hp_hotspots *hotspots);
/* HP_ERR_NOMEM: memory ran out; nothing has been detected since. */
HP_MUST_CHECK enum hp_err hp_hotspots_check(const struct hp_hotspots *hotspots);

#ifdef __cplusplus
}
#endif
#endif
