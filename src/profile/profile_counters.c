// SPDX-License-Identifier: MIT
/*
 * Counters in order. They are the largest arrays of a profile, so they are sorted where they are; by
 * counting, as their keys are indices.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>
#include <string.h>

#define HEAD sizeof(struct hp_counter_head)

_Static_assert(sizeof(struct hp_pcount) == HEAD + 8 && offsetof(struct hp_pcount, count) == HEAD,
               "a counter is a head and numbers");
_Static_assert(sizeof(struct hp_pfunction_count) == HEAD + 24, "a counter is a head and numbers");
_Static_assert(sizeof(struct hp_pcall_count) == HEAD + 16, "a counter is a head and numbers");
_Static_assert(sizeof(struct hp_ppath_count) == HEAD + 24, "a counter is a head and numbers");
_Static_assert(sizeof(struct hp_ploop_count) == HEAD + 80, "a counter is a head and numbers");

#define LARGEST sizeof(struct hp_ploop_count) /* the largest */

static struct hp_counter_head head(const char *counter)
{
    struct hp_counter_head h;
    memcpy(&h, counter, sizeof h);
    return h;
}

static int order_heads(struct hp_counter_head a, struct hp_counter_head b)
{
    if (a.item != b.item)
        return a.item < b.item ? -1 : 1;
    return (a.thread > b.thread) - (a.thread < b.thread);
}

static bool is_zero(const char *counter, size_t size)
{
    uint64_t value, all = 0;
    for (size_t at = HEAD; at < size; at += sizeof value) {
        memcpy(&value, counter + at, sizeof value);
        all |= value;
    }
    return all == 0;
}

static void add(char *sum, const char *counter, size_t size)
{
    uint64_t a, b;
    for (size_t at = HEAD; at < size; at += sizeof a) {
        memcpy(&a, sum + at, sizeof a);
        memcpy(&b, counter + at, sizeof b);
        a = hp_add_saturated(a, b);
        memcpy(sum + at, &a, sizeof a);
    }
}

static bool heads_sorted(const char *counters, size_t n, size_t size)
{
    for (size_t i = 1; i < n; i++)
        if (order_heads(head(counters + (i - 1) * size), head(counters + i * size)) > 0)
            return false;
    return true;
}

/* Puts the counters of each item together, where they are. `next` and `ends` have room for each item, and one more. */
static void gather_items(char *counters, size_t n, size_t size, size_t items, size_t *next,
                         size_t *ends)
{
    char moved[LARGEST];
    memset(ends, 0, (items + 1) * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[head(counters + i * size).item]++;
    for (size_t i = 0, start = 0; i < items; i++) {
        next[i] = start;
        start += ends[i];
        ends[i] = start;
    }
    for (size_t i = 0; i < items; i++)
        while (next[i] < ends[i]) {
            char *here = counters + next[i] * size;
            uint32_t item = head(here).item;
            char *there = counters + next[item]++ * size;
            if (here == there)
                continue;
            memcpy(moved, there, size);
            memcpy(there, here, size);
            memcpy(here, moved, size);
        }
}

static int by_thread(const void *a, const void *b)
{
    return order_heads(head(a), head(b));
}

static void sort(char *counters, size_t n, size_t size, size_t items, size_t *room)
{
    if (heads_sorted(counters, n, size))
        return;
    size_t *ends = room + items + 1;
    gather_items(counters, n, size, items, room, ends);
    for (size_t i = 0; i < items; i++) {
        size_t start = i ? ends[i - 1] : 0;
        qsort(counters + start * size, ends[i] - start, size, by_thread);
    }
}

size_t *hp_counters_room(size_t items)
{
    size_t *room = malloc(2 * (items + 1) * sizeof *room);
    if (!room)
        (void)hp_fail_nomem();
    return room;
}

void hp_counters_order_in(void *counters, size_t *n, size_t size, const uint32_t *map, size_t items,
                          hp_counter_join join, size_t *room)
{
    char *all = counters;
    for (size_t i = 0; i < *n; i++) {
        struct hp_counter_head h = head(all + i * size);
        h.item = map[h.item];
        memcpy(all + i * size, &h, sizeof h);
    }
    sort(all, *n, size, items, room);
    char *last = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        const char *counter = all + i * size;
        if (is_zero(counter, size))
            continue;
        if (last && order_heads(head(last), head(counter)) == 0) {
            if (join)
                join(last, counter);
            else
                add(last, counter, size);
            continue;
        }
        last = all + kept++ * size;
        memmove(last, counter, size);
    }
    *n = kept;
}

enum hp_err hp_counters_order(void *counters, size_t *n, size_t size, const uint32_t *map,
                              size_t items, hp_counter_join join)
{
    size_t *room = hp_counters_room(items);
    if (!room)
        return HP_ERR_NOMEM;
    hp_counters_order_in(counters, n, size, map, items, join, room);
    free(room);
    return HP_OK;
}

bool hp_counters_normal(const void *counters, size_t n, size_t size)
{
    const char *all = counters;
    for (size_t i = 0; i < n; i++)
        if (is_zero(all + i * size, size) ||
            (i > 0 && order_heads(head(all + (i - 1) * size), head(all + i * size)) >= 0))
            return false;
    return true;
}
