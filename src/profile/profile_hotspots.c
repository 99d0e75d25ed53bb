// SPDX-License-Identifier: MIT
/*
 * The normal form of hot spots.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>

static int hotspot_key(const void *a, const void *b)
{
    const struct hp_photspot *x = a, *y = b;
    int order = hp_compare_u64(x->run, y->run);
    if (!order)
        order = hp_compare_text(x->detector, y->detector);
    if (!order)
        order = hp_compare_u64(x->number, y->number);
    if (!order)
        order = (x->pid > y->pid) - (x->pid < y->pid);
    if (!order)
        order = hp_compare_u64(x->at_branches, y->at_branches);
    return order ? order : hp_compare_u64(x->at_instructions, y->at_instructions);
}

static int hotspot_rest(const void *a, const void *b)
{
    const struct hp_photspot *x = a, *y = b;
    int order = hp_compare_u64(y->total, x->total);
    if (!order)
        order = hp_compare_u64(y->after, x->after);
    return order ? order : hp_compare_u64(y->insns, x->insns);
}

static int branch_key(const void *a, const void *b)
{
    const struct hp_photspot_branch *x = a, *y = b;
    int order = hp_compare_u64(x->hotspot, y->hotspot);
    if (!order)
        order = hp_compare_place(&x->branch, &y->branch);
    return order ? order : hp_compare_u64(x->flow, y->flow);
}

static int block_key(const void *a, const void *b)
{
    const struct hp_photspot_block *x = a, *y = b;
    int order = hp_compare_u64(x->hotspot, y->hotspot);
    return order ? order : hp_compare_u64(x->block, y->block);
}

static int slice_key(const void *a, const void *b)
{
    const struct hp_photspot_slice *x = a, *y = b;
    int order = hp_compare_u64(x->hotspot, y->hotspot);
    if (!order)
        order = hp_compare_u64(x->slice, y->slice);
    return order ? order : hp_compare_u64(x->width, y->width);
}

const struct hp_order hp_order_hotspot = {sizeof(struct hp_photspot), hotspot_key, hotspot_rest};
const struct hp_order hp_order_hotspot_branch = {sizeof(struct hp_photspot_branch), branch_key,
                                                 NULL};
const struct hp_order hp_order_hotspot_block = {sizeof(struct hp_photspot_block), block_key, NULL};
const struct hp_order hp_order_hotspot_slice = {sizeof(struct hp_photspot_slice), slice_key, NULL};

static uint32_t add_u32(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Detectors that tell directions or targets apart have several counters for a branch. */
static void order_branches(struct hp_profile *p, const uint32_t *map)
{
    struct hp_photspot_branch *branches = p->hotspot_branches;
    size_t n = p->n_hotspot_branches, kept = 0;
    for (size_t i = 0; i < n; i++)
        branches[i].hotspot = map[branches[i].hotspot];
    if (n)
        qsort(branches, n, sizeof *branches, branch_key);
    for (size_t i = 0; i < n; i++) {
        struct hp_photspot_branch branch = branches[i], *last = kept ? &branches[kept - 1] : NULL;
        if (last && branch_key(last, &branch) == 0) {
            last->executed = add_u32(last->executed, branch.executed);
            last->taken = add_u32(last->taken, branch.taken);
        } else {
            branches[kept++] = branch;
        }
    }
    p->n_hotspot_branches = kept;
}

static enum hp_err order_blocks(struct hp_profile *p, const uint32_t *map, const uint32_t *blocks)
{
    for (size_t i = 0; i < p->n_hotspot_blocks; i++) {
        p->hotspot_blocks[i].hotspot = map[p->hotspot_blocks[i].hotspot];
        p->hotspot_blocks[i].block = blocks[p->hotspot_blocks[i].block];
    }
    uint32_t *unused;
    HP_TRY(
        hp_order_apply(&hp_order_hotspot_block, p->hotspot_blocks, &p->n_hotspot_blocks, &unused));
    free(unused);
    return HP_OK;
}

static void order_slices(struct hp_profile *p, const uint32_t *map)
{
    struct hp_photspot_slice *slices = p->hotspot_slices;
    size_t n = p->n_hotspot_slices, kept = 0;
    for (size_t i = 0; i < n; i++)
        slices[i].hotspot = map[slices[i].hotspot];
    if (n)
        qsort(slices, n, sizeof *slices, slice_key);
    for (size_t i = 0; i < n; i++) {
        struct hp_photspot_slice slice = slices[i], *last = kept ? &slices[kept - 1] : NULL;
        if (slice.instructions == 0)
            continue;
        if (last && slice_key(last, &slice) == 0)
            last->instructions = hp_add_saturated(last->instructions, slice.instructions);
        else
            slices[kept++] = slice;
    }
    p->n_hotspot_slices = kept;
}

enum hp_err hp_hotspots_order(struct hp_profile *p, const uint32_t *blocks)
{
    uint32_t *map;
    HP_TRY(hp_order_apply(&hp_order_hotspot, p->hotspots, &p->n_hotspots, &map));
    enum hp_err err = order_blocks(p, map, blocks);
    if (err == HP_OK) {
        order_branches(p, map);
        order_slices(p, map);
    }
    free(map);
    return err;
}
