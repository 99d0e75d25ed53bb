// SPDX-License-Identifier: MIT
/*
 * The parts of a hp_reconstruct.
 */
#ifndef HP_PROFILER_SAMPLE_RECONSTRUCT_OWN_H
#define HP_PROFILER_SAMPLE_RECONSTRUCT_OWN_H

#include "profiler/sample/reconstruct_impl.h"

/* A cached answer. */
struct hp_reconstruct_kept {
    struct hp_walk_query query;
    bool there;
    struct hp_reconstruct_answer answer;
};

struct hp_reconstruct {
    struct hp_place_graph graph;
    struct hp_backward_walk walk;
    struct hp_reconstruct_kept *cache; /* direct mapped */
    uint32_t mask;
    struct hp_reconstruct_stats stats;
    struct hp_reconstruct_paths paths; /* of hp_reconstruct_sample() */
};

static inline bool hp_reconstruct_greedy(unsigned scheme)
{
    return scheme == HP_RECONSTRUCT_COUNTS || scheme == HP_RECONSTRUCT_EDGES;
}

/* Resolves the addresses; place HP_NO_ID: there is no such instruction. */
enum hp_err hp_reconstruct_prepare(struct hp_reconstruct *reconstruct,
                                   const struct hp_reconstruct_query *query,
                                   struct hp_walk_query *prepared);

#endif
