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

const struct hp_pline *hp_line_at(const struct hp_profile *p, uint32_t block, uint32_t offset)
{
    size_t low = 0, high = p->n_lines; /* sorted by block, then start */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct hp_pline *line = &p->lines[middle];
        if (line->block < block || (line->block == block && line->from <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || p->lines[low - 1].block != block || p->lines[low - 1].to <= offset)
        return NULL;
    return &p->lines[low - 1];
}
