// SPDX-License-Identifier: MIT
/*
 * Walking a forward path through the code map: which branches it is made of.
 */
#ifndef HP_PROFILER_PREDICT_WALK_H
#define HP_PROFILER_PREDICT_WALK_H

#include "base/map64.h"
#include "hotpath/predict.h"

struct hp_walk {
    struct hp_branch_source source; /* first */
    const struct hp_code *code;
    struct hp_map64 block_at; /* start -> the newest block there */
    uint32_t n_blocks;        /* that are in it */
};

/* Keeps `code`. */
void hp_walk_init(struct hp_walk *walk, const struct hp_code *code);
void hp_walk_fini(struct hp_walk *walk);

#endif
