// SPDX-License-Identifier: MIT
/*
 * Samples of a run with the way that led to each: random instructions, all over the run, and the
 * blocks before them. The length of the run is not known in advance: sampling starts dense, and
 * when there are too many, every other one is dropped and the interval doubled.
 */
#ifndef HP_LAB_SAMPLING_PATH_SAMPLES_H
#define HP_LAB_SAMPLING_PATH_SAMPLES_H

#include "hotpath/profiler.h"
#include "hotpath/reconstruct.h"

struct hp_lab_path_sample {
    size_t at;      /* its blocks: see below */
    uint32_t n;     /* how many; the last one contains the sample */
    uint32_t insn;  /* index of the instruction in that block */
    uint32_t other; /* block of the instruction `distance` before it */
    uint32_t other_insn;
    uint32_t distance;
    uint32_t next; /* the block that came after, if the sample ends its block; else HP_NO_ID */
};

/* A profiler. */
struct hp_lab_path_samples {
    struct hp_profiler profiler; /* first */
    struct hp_lab_path_sample *samples;
    size_t n;
    uint32_t *blocks;
    size_t n_blocks;
    uint64_t seed; /* of the random numbers: may be set before the run */
    /* private */
    size_t limit, cap_samples, cap_blocks;
    uint32_t bits, window;
    uint64_t interval;
    struct hp_lab_path_thread **threads;
    size_t n_threads, cap_threads;
    enum hp_err err;
};

/* Takes at least `wanted` samples of a run that is long enough; fewer than twice as many. Blocks
 * reach back to the `bits`-th conditional branch before the sample, or as far as known. Distances
 * are uniform in 1 ... window; a sample with nothing that far before it is left out. */
enum hp_err hp_lab_path_samples_new(size_t wanted, uint32_t bits, uint32_t window,
                                    struct hp_lab_path_samples **samples);

/* Directions of the conditional branches before a sample, the latest in bit 0; returns how many, at
 * most `bits`. */
uint32_t hp_lab_path_history(const struct hp_lab_path_samples *samples, const struct hp_code *code,
                             const struct hp_lab_path_sample *sample, uint32_t *history);

/* All of them, as a profiler in hardware would have them: without their way. Freed with free().
 * HP_ERR_NOMEM. */
enum hp_err hp_lab_path_observations(const struct hp_lab_path_samples *samples,
                                     struct hp_code *code,
                                     struct hp_path_observation **observations);

/* The address of instruction `insn` of a block. HP_ERR_NOMEM. */
enum hp_err hp_lab_path_address(struct hp_code *code, uint32_t block, uint32_t insn,
                                uint64_t *address);

#endif
