// SPDX-License-Identifier: MIT
/*
 * The observed part of a run, and how far the run has come.
 */
#ifndef HP_PROFILER_REGION_H
#define HP_PROFILER_REGION_H

#include "base/map64.h"
#include "symbols/functions.h"

/*
 * Which part of the run the profilers see: from the first entry of the function `from` (NULL: from
 * the start), after `after` more instructions, for `length` instructions (0: to the end). The clock
 * is the sum over the threads in the order in which their words are read: exact for one thread.
 * Blocks are not divided: a region starts with the first block that begins at or after its start,
 * and ends before the first that begins at or after its end, so adjacent regions add up.
 */
struct hp_region {
    const char *from;
    uint64_t after;
    uint64_t length;
};

enum hp_region_state {
    HP_REGION_WAIT_FROM,  /* waiting for the function */
    HP_REGION_WAIT_AFTER, /* skipping instructions */
    HP_REGION_OPEN,
    HP_REGION_DONE,
};

struct hp_region_progress {
    struct hp_region region;
    struct hp_functions *functions;
    enum hp_region_state state;
    uint64_t counted;         /* instructions since the start, or since region.from was entered */
    struct hp_map64 not_from; /* functions known not to be region.from */
};

/* Keeps the pointers. `functions` is only needed for a region with `from`. */
void hp_region_begin(struct hp_region_progress *progress, const struct hp_region *region,
                     struct hp_functions *functions);
void hp_region_fini(struct hp_region_progress *progress);

/* Whether the block is the entry of the function region.from. */
bool hp_region_is_named(struct hp_region_progress *progress, uint32_t block);

/* Whether the present state ends where `block` begins. Lengths count from the requested beginning
 * of the region, not from its first block, so that adjacent regions do not overlap. */
static inline bool hp_region_is_boundary(struct hp_region_progress *p, uint32_t block)
{
    const struct hp_region *region = &p->region;
    switch (p->state) {
    case HP_REGION_WAIT_FROM: return hp_region_is_named(p, block);
    case HP_REGION_WAIT_AFTER: return p->counted >= region->after;
    case HP_REGION_OPEN: return region->length && p->counted - region->after >= region->length;
    case HP_REGION_DONE: break;
    }
    return false;
}

/* Enters the next state. */
void hp_region_next(struct hp_region_progress *progress);

#endif
