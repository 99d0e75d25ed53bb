// SPDX-License-Identifier: MIT
/*
 * A binary heap in an array: no element is before its parent, so the first one is before all
 * others. `before` says which of two that is. Everything is inline, so that it costs no calls.
 */
#ifndef HP_BASE_HEAP_H
#define HP_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Puts a copy of `item` into a heap of `n` elements of `size` bytes, with room for one more. */
static inline __attribute__((always_inline)) void
hp_heap_put(void *heap, size_t n, size_t size, const void *item,
            bool (*before)(const void *a, const void *b))
{
    char *items = heap;
    for (size_t parent; n && before(item, items + (parent = (n - 1) / 2) * size); n = parent)
        memcpy(items + n * size, items + parent * size, size);
    memcpy(items + n * size, item, size);
}

/* Takes the first of `n` elements, whose copy is in `first`; the other n - 1 are a heap again. */
static inline __attribute__((always_inline)) void
hp_heap_take(void *heap, size_t n, size_t size, void *first,
             bool (*before)(const void *a, const void *b))
{
    char *items = heap, *last = items + --n * size;
    size_t at = 0;
    memcpy(first, items, size);
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(items + (child + 1) * size, items + child * size))
            child++;
        if (!before(items + child * size, last))
            break;
        memcpy(items + at * size, items + child * size, size);
    }
    memmove(items + at * size, last, size);
}

#endif
