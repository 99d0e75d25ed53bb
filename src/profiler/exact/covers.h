// SPDX-License-Identifier: MIT
/*
 * Covers: where the lower activations of a function are, as a set of the blocks they were left
 * from. Sets are numbered; 0 is the empty one. In the end a cover tells in which loops its
 * activations were, whenever these were found.
 */
#ifndef HP_PROFILER_EXACT_COVERS_H
#define HP_PROFILER_EXACT_COVERS_H

#include "base/map64.h"

/* Different sets; beyond, sets are not extended any more: what is executed in recursion that
 * involved may count twice. */
#define HP_COVERS_MAX (1u << 16)

struct hp_cover {
    uint32_t first, n; /* into `sites`; sorted */
};

/* All zero: no set but the empty one. */
struct hp_covers {
    struct hp_cover *sets; /* sets[i - 1] is number i */
    uint32_t *sites;
    uint32_t *next; /* by index: an older set of the same hash, as number */
    size_t n, n_sites, cap_sets, cap_sites, cap_next;
    struct hp_map64 of;       /* hash of the sites -> the newest such set */
    struct hp_map64 extended; /* set << 32 | site -> set */
};

/* The number of the set with one more site; the same set when it is in there, or there is no room.
 */
uint32_t hp_covers_extend(struct hp_covers *covers, uint32_t cover, uint32_t site);

void hp_covers_fini(struct hp_covers *covers);

#endif
