// SPDX-License-Identifier: MIT
/*
 * Arrays of a profile whose elements begin with the index of what they belong to, and are sorted by it.
 */
#ifndef HP_REPORT_ITEMS_H
#define HP_REPORT_ITEMS_H

#include <stddef.h>
#include <stdint.h>

/* The elements that belong to `owner`, `*n` of them; NULL when there are none. `size`: of an element. */
const void *hp_items_of(const void *items, size_t n_items, size_t size, uint32_t owner, size_t *n);

#endif
