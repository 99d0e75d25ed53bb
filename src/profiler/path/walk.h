// SPDX-License-Identifier: MIT
/*
 * From a path back to its blocks: walks the code map from the start block along the outcomes, with
 * the same control register that found the path.
 *
 * What the register does not record cannot be followed: after a transfer whose target or outcome is
 * neither in the code nor in the path the walk ends with HP_STEP_END. With the presets this happens
 * when extended-call follows a call through a pointer, and after conditional calls (ARM), as only
 * one of the two directions has an outcome in the path.
 */
#ifndef HP_PROFILER_PATH_WALK_H
#define HP_PROFILER_PATH_WALK_H

#include "hotpath/path.h"
#include "hotpath/profile.h"

#define HP_WALK_MAX 4096 /* blocks of a path; longer paths end there */

struct hp_walk_step {
    uint32_t block;
    uint8_t how; /* enum hp_step_how: how it was left; of the last one, how the path ended */
};

struct hp_walk;

/* For all paths found with `ppcr` in `code`; when the code map has grown, call hp_walk_cover()
 * before the next path. Keeps `code`. Where code changed, the latest blocks are used. */
enum hp_err hp_walk_new(const struct hp_code *code, const struct hp_ppcr *ppcr,
                        struct hp_walk **walk);
void hp_walk_free(struct hp_walk *walk);

/* Adds the new blocks. HP_ERR_NOMEM: not all of them. */
enum hp_err hp_walk_cover(struct hp_walk *walk);

/*
 * The blocks of a path, in order; returns how many, 0 when it has no start block. `targets`: its
 * indirect targets, path->n_targets of them (by_address only). `*steps` is valid until the next
 * call.
 */
size_t hp_walk_path(struct hp_walk *walk, const struct hp_path *path, const uint64_t *targets,
                    const struct hp_walk_step **steps);

/* The block that starts at an address, the latest if there were several; HP_NO_ID: none. */
uint32_t hp_walk_block_at(const struct hp_walk *walk, uint64_t address);

#endif
