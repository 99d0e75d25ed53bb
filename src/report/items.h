// SPDX-License-Identifier: MIT
/*
 * Arrays of a profile whose elements begin with the index of what they belong to, and are sorted by
 * it.
 */
#ifndef HP_REPORT_ITEMS_H
#define HP_REPORT_ITEMS_H

#include "profile/rows.h"

/* The elements that belong to `owner`, `*n` of them; NULL when there are none. `size`: of an
 * element. */
const void *hp_items_of(const void *items, size_t n_items, size_t size, uint32_t owner, size_t *n);

/* The same of a profile's rows. */
const void *hp_items(const struct hp_profile *profile, enum hp_row_kind kind, uint32_t owner,
                     size_t *n);

/* The line that the byte `offset` of a block comes from; NULL: it is not known. */
const struct hp_pline *hp_line_at(const struct hp_profile *profile, uint32_t block,
                                  uint32_t offset);

#endif
