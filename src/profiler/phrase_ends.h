// SPDX-License-Identifier: MIT
/*
 * Cuts a sequence of units into phrases, by its units alone: what repeats is cut at the same places
 * again. So whoever remembers what a phrase did finds most of them.
 */
#ifndef HP_PROFILER_PHRASE_ENDS_H
#define HP_PROFILER_PHRASE_ENDS_H

#include "hotpath/stream.h"

#define HP_PHRASE_MAX 7 /* units */

/* Where a phrase ends in a sequence of steps. */
struct hp_phrase_end {
    uint32_t end;  /* after it */
    uint32_t hash; /* of it, and of the unit before */
};

/* Cuts steps[0] ... steps[n - 1] into phrases, which follow steps[-1]; the last few may be in none.
 * Fills in `units` and `ends`, which have room for `n`; returns how many phrases there are. */
size_t hp_phrase_ends(const struct hp_step *steps, size_t n, uint32_t *units,
                      struct hp_phrase_end *ends);

/* By length: what counts of each unit, of a phrase and of the unit before. */
extern const uint32_t hp_phrase_masks[HP_PHRASE_MAX + 2][HP_PHRASE_MAX + 1];

#endif
