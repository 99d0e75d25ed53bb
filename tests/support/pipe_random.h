// SPDX-License-Identifier: MIT
/*
 * Random work for a pipe: a machine with small, unusual parts, code of real instructions of x86-64,
 * AArch64, RISC-V or ARM, and a walk through it with addresses from a small pool, so that loads and
 * stores overlap. All from one seed.
 */
#ifndef HP_TEST_PIPE_RANDOM_H
#define HP_TEST_PIPE_RANDOM_H

#include "pipe_feed.h"

/* Writes the text of a machine file. */
void pipe_random_machine(uint64_t *seed, char *text, size_t size);

#define RANDOM_BLOCKS 48

struct random_code {
    struct hp_code *code;
    uint32_t n;                     /* blocks to be walked */
    uint32_t ids[RANDOM_BLOCKS];    /* in the code map */
    uint32_t behind[RANDOM_BLOCKS]; /* index of the one that starts where it ends; HP_NO_ID: none */
    uint32_t target[RANDOM_BLOCKS]; /* of its transfer, if it is direct, likewise */
};

/* Free the code with hp_code_free(). */
void pipe_random_code(uint64_t *seed, struct random_code *code);

/* About `blocks` blocks, in batches, with tails, breaks, and stretches that are not measured.
 * `costs`: branches have costs for a profiler. */
void pipe_random_walk(uint64_t *seed, const struct random_code *code, size_t blocks, bool costs,
                      struct pipe_feed *feed);

static inline uint32_t pipe_random(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *seed ^ *seed >> 33;
    return (uint32_t)(x * 0xff51afd7ed558ccdu >> 32) % below;
}

#endif
