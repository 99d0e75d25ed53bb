// SPDX-License-Identifier: MIT
/*
 * The profiler of hot spots: a detector over all threads and processes of the run (or one per
 * thread), the regions of its hot spots, how much was executed in them, and when. finish() adds the
 * struct hp_photspot rows and those that belong to them, and stats ("hotspots DETECTOR").
 */
#ifndef HP_PROFILER_HOTSPOT_PROFILER_H
#define HP_PROFILER_HOTSPOT_PROFILER_H

#include "hotpath/hotspot.h"
#include "hotpath/profiler.h"
#include "symbols/functions.h"

#define HP_HOTSPOT_SLICES 512 /* at most; more than half of that in a run long enough */

/* Keeps `code` and `functions`. */
enum hp_err hp_hotspot_profiler_new(struct hp_code *code, struct hp_functions *functions,
                                    const struct hp_hotspot_config *config,
                                    struct hp_profiler **profiler);

/* Calls `found` for each block of a hot spot's region, when that is detected and later: its start.
 * `number` as in the profile. Before the run. */
typedef void (*hp_hotspot_found)(void *context, uint32_t number, uint64_t start);
void hp_hotspot_profiler_tell(struct hp_profiler *profiler, hp_hotspot_found found, void *context);

/* The slides' table, for experiments and tests: after the last thread's HP_EVENT_END. Instructions
 * of all processes. */
struct hp_hotspot_summary {
    uint64_t hotspots;
    uint64_t insns;          /* static, in any hot spot */
    uint64_t executed;       /* static, executed at all */
    uint64_t instructions;   /* executed by the run */
    uint64_t total;          /* executed in any hot spot's region, whole run */
    uint64_t after;          /* executed in a hot spot's region after that was detected */
    uint64_t first_branches; /* until the first detection; 0: none */
    uint64_t branches;       /* of the run; like first_branches, only profiled kinds */
};
/* HP_ERR_NOMEM: out of memory, now or during the run. */
enum hp_err hp_hotspot_summary(struct hp_profiler *profiler, struct hp_hotspot_summary *summary);
/* Complete after the last thread's HP_EVENT_END. */
const struct hp_hotspot_stats *hp_hotspot_profiler_stats(const struct hp_profiler *profiler);

/* --- While the program runs (peek.c): between batches, when no other thread has one ----------- */

struct hp_hotspot_peek {
    uint32_t number;   /* as in the profile */
    uint32_t blocks;   /* of its region */
    uint32_t hottest;  /* block of the region, by `weights` and instructions; HP_NO_ID: all weights
                          are 0 */
    uint64_t executed; /* instructions in its region, since the start of the run */
    uint64_t at_instructions;
};

struct hp_hotspot_state {
    uint64_t found;   /* hot spots */
    uint32_t running; /* processes that are not over */
    uint32_t looking; /* of these, the ones for which the detector is on */
};

/* The hot spots found so far, in order of detection, in the array `*peeks` of capacity `*cap`,
 * which grows by hp_grow(). `weights`: of the first `n_weights` blocks. Later results do not depend
 * on this. HP_ERR_NOMEM. */
enum hp_err hp_hotspot_peek(struct hp_profiler *profiler, const uint64_t *weights, size_t n_weights,
                            struct hp_hotspot_peek **peeks, size_t *cap,
                            struct hp_hotspot_state *state);

#endif
