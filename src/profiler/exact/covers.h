// SPDX-License-Identifier: MIT
/*
 * Covers: where the lower activations of a function are, as a set of the blocks they were left
 * from. Sets are numbered; 0 is the empty one. In the end a cover tells in which loops its
 * activations were, even loops found later.
 */
#ifndef HP_PROFILER_EXACT_COVERS_H
#define HP_PROFILER_EXACT_COVERS_H

#include "base/map64.h"

/* Distinct sets. At the limit sets are no longer extended: what runs in recursion that involved may
 * count twice. */
#define HP_COVERS_MAX (1u << 16)

struct hp_cover {
    uint32_t first, n; /* into `sites`; sorted */
};

/* All zero: only the empty set. */
struct hp_covers {
    struct hp_cover *sets; /* sets[i - 1] is number i */
    uint32_t *sites;
    uint32_t *next; /* by index: an older set with the same hash, as number */
    size_t n, n_sites, cap_sets, cap_sites, cap_next;
    struct hp_map64 of;       /* hash of the sites -> the newest set with it */
    struct hp_map64 extended; /* set << 32 | site -> set */
};

/* The number of the set with one more site; the same set when it contains the site, or there is no
 * room. */
uint32_t hp_covers_extend(struct hp_covers *covers, uint32_t cover, uint32_t site);

void hp_covers_fini(struct hp_covers *covers);

#endif
