// SPDX-License-Identifier: MIT
/*
 * Samples by path. The path register of each retired sample and the graph of the executed code
 * determine the way that led to it within its routine: the likeliest of those that agree with the
 * history (hotpath/reconstruct.h; how often that is right: the experiment sampling-paths).
 */
#ifndef HP_PROFILER_SAMPLE_SEGMENTS_H
#define HP_PROFILER_SAMPLE_SEGMENTS_H

#include "base/map64.h"
#include "hotpath/reconstruct.h"
#include "hotpath/sample.h"
#include "profiler/result.h"

#define HP_SEGMENT_BITS 8    /* of history used: at most this many branches per path */
#define HP_SEGMENTS_TOP 1000 /* paths in the profile: those with the most cycles */

/* A sample that tells of edges. */
struct hp_segment_seen {
    struct hp_path_observation sample; /* without `next` */
    uint64_t address;                  /* as in struct hp_timing */
    bool taken;
};

/* Samples with one program counter and one history. */
struct hp_segment_key {
    uint64_t pc;
    uint32_t history;
    uint64_t samples;
    uint64_t cycles; /* from fetch to retire ready */
};

/* The two latest edges of a block, found without a search. */
struct hp_segment_ways {
    uint32_t to[2]; /* block, plus 1; 0: none */
    uint32_t place[2];
};

/* All zero: empty. */
struct hp_segments {
    struct hp_map64 edge_places, key_places;
    struct hp_segment_ways *ways; /* by the block they lead from */
    size_t cap_ways;
    struct hp_edge_count *edges; /* of everything that was executed */
    size_t n_edges, cap_edges;
    struct hp_segment_key *keys;
    size_t n_keys, cap_keys;
    bool alone;    /* edges are estimated from samples (`seen`), not counted; set by the owner */
    uint32_t bits; /* ... of history that samples have; likewise */
    struct hp_segment_seen *seen;
    size_t n_seen, cap_seen;
    struct hp_thread
        thread; /* the thread that gets them in the profile: the first one; set by the owner */
};

void hp_segments_fini(struct hp_segments *segments);

/* HP_ERR_NOMEM. `earlier`: the other one of its pair, `distance` before it; NULL: there is none. */
enum hp_err hp_segments_batch(struct hp_segments *segments, const struct hp_batch *batch);
enum hp_err hp_segments_sample(struct hp_segments *segments, const struct hp_sample *sample,
                               const struct hp_sample *earlier, uint64_t distance);

/*
 * Adds paths of the kind `kind` to the profile: for each, `count` is its samples, `insns` the
 * instructions and `events` the cycles that they represent at an interval (of single samples) and
 * scale. Stats say how many samples had no path.
 */
enum hp_err hp_segments_finish(struct hp_segments *segments, struct hp_result *result,
                               const char *kind, double interval);

#endif
