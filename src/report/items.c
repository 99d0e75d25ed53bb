// SPDX-License-Identifier: MIT
#include "report/items.h"

#include <string.h>

const void *hp_items_of(const void *items, size_t n_items, size_t size, uint32_t owner, size_t *n)
{
    const char *all = items;
    size_t low = 0, high = n_items;
    uint32_t of;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        memcpy(&of, all + middle * size, sizeof of);
        if (of < owner)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < n_items; ++*n) {
        memcpy(&of, all + (low + *n) * size, sizeof of);
        if (of != owner)
            break;
    }
    return *n ? all + low * size : NULL;
}
