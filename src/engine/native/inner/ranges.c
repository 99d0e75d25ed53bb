// SPDX-License-Identifier: MIT
#include "engine/native/inner/ranges.h"

#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"

#include <linux/mman.h>
#include <string.h>

bool hp_grow(void *array, uint32_t *room, uint32_t used, uint32_t size)
{
    void *old, *more;
    if (used < *room)
        return true;
    memcpy(&old, array, sizeof old);
    uint32_t wanted = *room ? *room * 2 : 65536 / size;
    if (wanted <= *room || !(more = hp_pages((uint64_t)wanted * size)))
        return false;
    if (old) {
        memcpy(more, old, (uint64_t)used * size);
        hp_pages_give_back(old, (uint64_t)*room * size);
    }
    memcpy(array, &more, sizeof more);
    *room = wanted;
    return true;
}

/* --- Finding ---------------------------------------------------------------------------------- */

uint32_t hp_ranges_from(const struct hp_ranges *ranges, uint64_t address)
{
    uint32_t low = 0, high = ranges->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->items[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct hp_range *hp_ranges_at(const struct hp_ranges *ranges, uint64_t address)
{
    uint32_t i = hp_ranges_from(ranges, address);
    return i < ranges->n && ranges->items[i].low <= address ? &ranges->items[i] : NULL;
}

bool hp_ranges_touch(const struct hp_ranges *ranges, uint64_t low, uint64_t high)
{
    uint32_t i = hp_ranges_from(ranges, low);
    return i < ranges->n && ranges->items[i].low < high;
}

/* --- Changing --------------------------------------------------------------------------------- */

/* There is room before and after the items: programs map mostly downwards, the kernel lists
 * upwards. */
static bool make_room(struct hp_ranges *ranges)
{
    struct hp_range *all = ranges->items - ranges->front, *to = all;
    uint32_t room = ranges->room;
    if (ranges->n >= room / 2) {
        room = room ? room * 2 : 65536 / sizeof *to;
        if (room <= ranges->room || !(to = hp_pages((uint64_t)room * sizeof *to)))
            return false;
    }
    uint32_t front = (room - ranges->n) / 2;
    memmove(to + front, ranges->items, ranges->n * sizeof *to);
    if (to != all && ranges->room)
        hp_pages_give_back(all, (uint64_t)ranges->room * sizeof *all);
    *ranges = (struct hp_ranges){to + front, ranges->n, room, front};
    return true;
}

/* Moves the smaller part: the items before, or those after. */
static void delete (struct hp_ranges *ranges, uint32_t at, uint32_t n)
{
    uint32_t behind = ranges->n - at - n;
    if (at < behind) {
        memmove(ranges->items + n, ranges->items, at * sizeof *ranges->items);
        ranges->items += n;
        ranges->front += n;
    } else {
        memmove(ranges->items + at, ranges->items + at + n, behind * sizeof *ranges->items);
    }
    ranges->n -= n;
}

static bool insert(struct hp_ranges *ranges, uint32_t at, const struct hp_range *range)
{
    uint32_t behind = ranges->n - at;
    bool has_room = at < behind ? ranges->front > 0 : ranges->front + ranges->n < ranges->room;
    if (!has_room && !make_room(ranges))
        return false;
    if (at < behind) {
        memmove(ranges->items - 1, ranges->items, at * sizeof *ranges->items);
        ranges->items--;
        ranges->front--;
    } else {
        memmove(ranges->items + at + 1, ranges->items + at, behind * sizeof *ranges->items);
    }
    ranges->items[at] = *range;
    ranges->n++;
    return true;
}

/* Makes `address` a boundary. False when there is no memory: the range is then dropped. */
static bool split(struct hp_ranges *ranges, uint64_t address)
{
    uint32_t i = hp_ranges_from(ranges, address);
    if (i == ranges->n || ranges->items[i].low >= address)
        return true;
    struct hp_range upper = ranges->items[i];
    upper.offset += address - upper.low;
    upper.low = address;
    ranges->items[i].high = address;
    if (insert(ranges, i + 1, &upper))
        return true;
    delete (ranges, i, 1);
    return false;
}

static bool are_one(const struct hp_range *a, const struct hp_range *b)
{
    return a->high == b->low && a->prot == b->prot && a->shared == b->shared &&
           a->inode == b->inode && a->path == b->path && a->module == b->module &&
           (a->inode ? a->offset + (a->high - a->low) == b->offset && a->base == b->base
                     : !a->path || a->base == b->base);
}

/* Merges ranges that belong together among those that touch [low, high]. */
static void join(struct hp_ranges *ranges, uint64_t low, uint64_t high)
{
    uint32_t i = hp_ranges_from(ranges, low ? low - 1 : 0);
    while (i + 1 < ranges->n && ranges->items[i].low <= high)
        if (are_one(&ranges->items[i], &ranges->items[i + 1])) {
            ranges->items[i].high = ranges->items[i + 1].high;
            ranges->items[i].used |= ranges->items[i + 1].used;
            delete (ranges, i + 1, 1);
        } else {
            i++;
        }
}

void hp_ranges_remove(struct hp_ranges *ranges, uint64_t low, uint64_t high)
{
    if (low >= high || !hp_ranges_touch(ranges, low, high))
        return;
    split(ranges, low);
    split(ranges, high);
    uint32_t first = hp_ranges_from(ranges, low), end = first;
    while (end < ranges->n && ranges->items[end].low < high)
        end++;
    delete (ranges, first, end - first);
}

void hp_ranges_put(struct hp_ranges *ranges, const struct hp_range *range)
{
    hp_ranges_remove(ranges, range->low, range->high);
    if (insert(ranges, hp_ranges_from(ranges, range->low), range))
        join(ranges, range->low, range->high);
}

void hp_ranges_protect(struct hp_ranges *ranges, uint64_t low, uint64_t high, uint8_t prot)
{
    if (low >= high)
        return;
    split(ranges, low);
    split(ranges, high);
    uint64_t at = low;
    for (uint32_t i = hp_ranges_from(ranges, low); at < high; i++) {
        uint64_t next = i < ranges->n && ranges->items[i].low < high ? ranges->items[i].low : high;
        struct hp_range gap = {.low = at, .high = next, .base = at, .prot = prot};
        if (next > at && prot & PROT_EXEC && insert(ranges, i, &gap))
            i++;
        if (next == high)
            break;
        ranges->items[i].prot = prot;
        at = ranges->items[i].high;
    }
    join(ranges, low, high);
}

void hp_ranges_allow(struct hp_ranges *ranges, uint64_t low, uint64_t high, uint8_t prot)
{
    if (!hp_ranges_touch(ranges, low, high))
        return;
    split(ranges, low);
    split(ranges, high);
    for (uint32_t i = hp_ranges_from(ranges, low); i < ranges->n && ranges->items[i].low < high;
         i++)
        ranges->items[i].prot |= prot;
    join(ranges, low, high);
}
