// SPDX-License-Identifier: MIT
/*
 * Where computed branches went: each pair of branch and target once, in the order in which they
 * were first seen.
 */
#ifndef HP_PROFILER_HOTSPOT_PAIRS_H
#define HP_PROFILER_HOTSPOT_PAIRS_H

#include "base/map64.h"

#define HP_SPOT_RECENT 256

struct hp_spot_pair {
    uint64_t branch, target;
    uint32_t before; /* one more than the index of the branch's pair before; 0: none */
};

/* All zero is an empty set. */
struct hp_spot_pairs {
    struct hp_spot_pair *pairs;
    size_t n, cap;
    struct hp_map64 latest; /* branch -> its latest pair */
    uint32_t *places;       /* hash table: one more than an index; 0: empty */
    size_t mask;
    struct hp_spot_pair recent[HP_SPOT_RECENT]; /* known to be there */
};

/* Adds the pair unless it is there. HP_ERR_NOMEM. */
enum hp_err hp_spot_pairs_add(struct hp_spot_pairs *pairs, uint64_t branch, uint64_t target);
void hp_spot_pairs_fini(struct hp_spot_pairs *pairs);

/* Where a recent pair would be. */
static inline struct hp_spot_pair *hp_spot_pairs_recent(struct hp_spot_pairs *pairs,
                                                        uint64_t branch, uint64_t target)
{
    return &pairs->recent[hp_hash64(branch ^ target << 7) % HP_SPOT_RECENT];
}

#endif
