// SPDX-License-Identifier: MIT
/*
 * Stretches: what a stack shows of the order of execution. A stretch begins with a branch, or where
 * control came from outside, and goes on as long as each run between branches is known. So a stack
 * is a stretch, or several.
 */
#ifndef HP_IMPORT_STRETCHES_H
#define HP_IMPORT_STRETCHES_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_import_stretch {
    uint32_t thread, sample;
    uint32_t from, to; /* spots: the oldest branch (HP_NO_ID: none), the newest one's target */
    uint32_t n;        /* runs between them */
    size_t first;      /* of `runs` */
};

struct hp_import_stretches {
    struct hp_import_stretch *all; /* in the order of the samples */
    size_t n, capacity;
    uint32_t *runs;
    size_t n_runs, cap_runs;
    bool open; /* the last one may go on */
};

/* Another one begins. HP_ERR_NOMEM. */
enum hp_err hp_stretches_begin(struct hp_import_stretches *stretches,
                               const struct hp_import_stretch *begin);

/* The last one, which is open, goes on: a run, and the branch at its end. HP_ERR_NOMEM. */
enum hp_err hp_stretches_extend(struct hp_import_stretches *stretches, uint32_t run, uint32_t to);

void hp_stretches_fini(struct hp_import_stretches *stretches);

/* A stretch, spelt out: n + 1 blocks and n transfers, as in a batch. All zero at first; the same
 * struct is reused. */
struct hp_import_walk {
    uint32_t *blocks;
    uint8_t *taken;
    size_t n, cap_blocks, cap_taken;
};

void hp_import_walk_fini(struct hp_import_walk *walk);

#endif
