// SPDX-License-Identifier: MIT
/*
 * Growing an array: all dynamic arrays of hotpath grow this way.
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

#endif
