// SPDX-License-Identifier: MIT
/*
 * Arrays: how they are made, and how they grow.
 */
#ifndef HP_BASE_GROW_H
#define HP_BASE_GROW_H

#include "hotpath/error.h"

#include <stddef.h>

/*
 * Makes room for at least `need` elements of `size` bytes in the array that `*(T **)array` points
 * to; `*capacity` becomes the number of elements there is room for. New room is zeroed. Grows by at
 * least a half. On HP_ERR_NOMEM the array is unchanged and still owned by the caller. Free it with
 * free().
 */
HP_MUST_CHECK enum hp_err hp_grow(void *array, size_t *capacity, size_t need, size_t size);

/* Makes `*(T **)array` point to a new array of `n` (also 0) zeroed elements of `size` bytes; NULL
 * on HP_ERR_NOMEM. Free it with free(). */
HP_MUST_CHECK enum hp_err hp_new(void *array, size_t n, size_t size);

#endif
