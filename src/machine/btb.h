// SPDX-License-Identifier: MIT
/*
 * The branch target buffer: the last target of each taken branch, by address; sets are in order of
 * use (LRU). The return address stack: a ring, so calls nested too deeply overwrite the oldest
 * entries, whose returns are mispredicted later.
 */
#ifndef HP_MACHINE_BTB_H
#define HP_MACHINE_BTB_H

#include "hotpath/error.h"

#include <stdint.h>

struct hp_btb_entry {
    uint64_t pc, target; /* target 0: empty */
};

struct hp_btb {
    struct hp_btb_entry *entries;
    uint64_t set_mask;
    uint32_t ways;
};

/* entries / ways is a power of two. HP_ERR_NOMEM. */
enum hp_err hp_btb_init(struct hp_btb *btb, uint64_t entries, uint64_t ways);
void hp_btb_fini(struct hp_btb *btb);

/* Returns the target stored for the branch, 0 when none, and replaces it by the one given. */
uint64_t hp_btb_use(struct hp_btb *btb, uint64_t pc, uint64_t target);

struct hp_ras {
    uint64_t *ring;
    uint32_t size, top; /* top: the latest */
};

/* size 0: no stack. HP_ERR_NOMEM. */
enum hp_err hp_ras_init(struct hp_ras *ras, uint64_t size);
void hp_ras_fini(struct hp_ras *ras);

static inline void hp_ras_push(struct hp_ras *ras, uint64_t address)
{
    if (ras->size == 0)
        return;
    ras->top = ras->top + 1 == ras->size ? 0 : ras->top + 1;
    ras->ring[ras->top] = address;
}

/* size > 0. */
static inline uint64_t hp_ras_pop(struct hp_ras *ras)
{
    uint64_t address = ras->ring[ras->top];
    ras->top = (ras->top ? ras->top : ras->size) - 1;
    return address;
}

/* On a wrong path: the entry `depth` below the latest; 0: none. */
static inline uint64_t hp_ras_peek(const struct hp_ras *ras, uint32_t depth)
{
    return depth < ras->size ? ras->ring[(ras->top + ras->size - depth) % ras->size] : 0;
}

#endif
