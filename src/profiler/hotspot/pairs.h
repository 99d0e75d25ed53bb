// SPDX-License-Identifier: MIT
/*
 * Where computed branches went: each pair of branch and target once, in order of first occurrence.
 */
#ifndef HP_PROFILER_HOTSPOT_PAIRS_H
#define HP_PROFILER_HOTSPOT_PAIRS_H

#include "base/map64.h"

#define HP_SPOT_RECENT 256

struct hp_spot_pair {
    uint64_t branch, target;
    uint32_t before; /* index + 1 of the branch's previous pair; 0: none */
};

/* All zero: an empty set. */
struct hp_spot_pairs {
    struct hp_spot_pair *pairs;
    size_t n, cap;
    struct hp_map64 latest; /* branch -> its latest pair */
    uint32_t *places;       /* hash table: index + 1; 0: empty */
    size_t mask;
    struct hp_spot_pair recent[HP_SPOT_RECENT]; /* known to be in the set */
};

/* Adds the pair unless it is in the set. HP_ERR_NOMEM. */
enum hp_err hp_spot_pairs_add(struct hp_spot_pairs *pairs, uint64_t branch, uint64_t target);
/* Leaves the first `n`. HP_ERR_NOMEM: the set is not to be used any more. */
enum hp_err hp_spot_pairs_cut(struct hp_spot_pairs *pairs, size_t n);
void hp_spot_pairs_fini(struct hp_spot_pairs *pairs);

/* The slot of a recent pair. */
static inline struct hp_spot_pair *hp_spot_pairs_recent(struct hp_spot_pairs *pairs,
                                                        uint64_t branch, uint64_t target)
{
    return &pairs->recent[hp_hash64(branch ^ target << 7) % HP_SPOT_RECENT];
}

#endif
