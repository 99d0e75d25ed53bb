// SPDX-License-Identifier: MIT
/*
 * The flow of control in a run: which block followed which, how often, function by function; and
 * the general paths.
 */
#ifndef HP_LAB_FLOW_H
#define HP_LAB_FLOW_H

#include "base/map64.h"
#include "hotpath/general.h"
#include "session/session_impl.h"
#include "symbols/functions.h"

/* A profiler. */
struct hp_lab_flow {
    struct hp_profiler profiler; /* first */
    struct hp_edge_count *edges; /* in order of first execution */
    size_t n_edges, cap_edges;
    struct hp_map64 by_ends; /* from << 32 | to */
    uint32_t *recent;        /* of a block: its last edge; most branches repeat it */
    size_t cap_recent;
    uint32_t k;
    struct hp_lab_flow_thread **threads; /* private */
    size_t n_threads, cap_threads;
    enum hp_err err;
};

/* `k`: as for hp_general_new(), within functions; 0: no general paths. */
enum hp_err hp_lab_flow_new(uint32_t k, struct hp_lab_flow **flow);

/* The sum over all threads. */
struct hp_general_stats hp_lab_flow_general(const struct hp_lab_flow *flow);

/* After the run: by functions. The blocks of function `f` are blocks[first_block[f]] up to
 * blocks[first_block[f + 1]]; likewise the edges that touch it, so an edge between two functions is
 * there twice. */
struct hp_lab_survey {
    struct hp_session *session;
    const struct hp_lab_flow *flow;
    uint32_t *function; /* of each block; HP_NO_ID: not executed */
    uint32_t n_blocks, n_functions;
    uint32_t *blocks;
    struct hp_edge_count *edges;
    size_t *first_block, *first_edge;
};

/* HP_ERR_NOMEM, also if memory ran out during the run. */
enum hp_err hp_lab_survey(struct hp_session *session, const struct hp_lab_flow *flow,
                          struct hp_lab_survey *survey);
void hp_lab_survey_fini(struct hp_lab_survey *survey);

static inline bool hp_lab_is_call(const struct hp_block *block)
{
    return block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND;
}

#endif
