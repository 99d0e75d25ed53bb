// SPDX-License-Identifier: MIT
/*
 * The order of two numbers for qsort(): less than, equal to or greater than 0. Several keys are
 * joined with "?:"; the first that differs decides:
 *
 *     return HP_COMPARE(b->count, a->count) ?: HP_COMPARE(a->address, b->address);
 */
#ifndef HP_BASE_COMPARE_H
#define HP_BASE_COMPARE_H

#include <stdlib.h>

#define HP_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* qsort() that may be given NULL, when there is nothing to sort. */
static inline void hp_sort(void *array, size_t n, size_t size,
                           int (*compare)(const void *a, const void *b))
{
    if (n)
        qsort(array, n, size, compare);
}

#endif
