// SPDX-License-Identifier: MIT
/* Stretches of stacks, spelt out in blocks: when the edges of all threads are known. */
#ifndef HP_IMPORT_STRETCHES_H
#define HP_IMPORT_STRETCHES_H

#include "hotpath/profiler.h"
#include "import/stacks.h"

/* A stretch, spelt out: n + 1 blocks and n transfers, as in a batch. All zero at first; the same
 * struct is reused. */
struct hp_import_walk {
    uint32_t *blocks;
    uint8_t *taken;
    size_t n, cap_blocks, cap_taken;
};

void hp_import_walk_fini(struct hp_import_walk *walk);

/* Finds the blocks at the ends of all stretches, which the code map does not have yet: before
 * anything else looks at it. HP_ERR_NOMEM. */
enum hp_err hp_stretches_settle(struct hp_import_stacks *stacks);

/* Spells out a stretch. Its first block is one that ends with the oldest branch, if one is known;
 * where that began is not. HP_ERR_NOMEM. */
enum hp_err hp_stretches_walk(const struct hp_import_stacks *stacks,
                              const struct hp_import_stretch *stretch, struct hp_import_walk *walk);

/* Of blocks that end with the same branch, always the same one. */
uint32_t hp_stretches_same_end(const struct hp_import_stacks *stacks, uint32_t block);

/* Shows all stretches to a profiler, each between two discontinuities. HP_ERR_NOMEM. */
enum hp_err hp_stretches_show(struct hp_import_stacks *stacks,
                              const struct hp_import_thread *threads, size_t n,
                              struct hp_profiler *profiler);

#endif
