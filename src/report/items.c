// SPDX-License-Identifier: MIT
#include "report/items.h"
#include "base/base.h"

static uint32_t owner_of(const char *item)
{
    uint32_t owner;
    memcpy(&owner, item, sizeof owner);
    return owner;
}

const void *hp_items_of(const void *items, size_t n_items, size_t size, uint32_t owner, size_t *n)
{
    const char *all = items;
    size_t low = HP_BISECT(i, 0, n_items, owner_of(all + i * size) < owner);
    for (*n = 0; low + *n < n_items && owner_of(all + (low + *n) * size) == owner;)
        ++*n;
    return *n ? all + low * size : NULL;
}

const void *hp_items(const struct hp_profile *p, enum hp_row_kind kind, uint32_t owner, size_t *n)
{
    size_t all = *n = hp_profile_n_rows(p, kind);
    if (all == 0)
        return NULL;
    return hp_items_of(hp_profile_row(p, kind, 0), all, hp_row_formats[kind].size, owner, n);
}

const struct hp_pline *hp_line_at(const struct hp_profile *p, uint32_t block, uint32_t offset)
{
    size_t low = HP_BISECT(i, 0, p->n_lines, /* sorted by block, then start */
                           p->lines[i].block < block ||
                               (p->lines[i].block == block && p->lines[i].from <= offset));
    if (low == 0 || p->lines[low - 1].block != block || p->lines[low - 1].to <= offset)
        return NULL;
    return &p->lines[low - 1];
}
