// SPDX-License-Identifier: MIT
/*
 * Counters in order. They are the largest arrays of a profile, and sorted by counting: O(n), as their
 * keys are indices.
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

/* A stable distribution of `from` to `to` by item, or by thread; `starts` has room for each of
 * the `values` of the key, and one more. */
static void distribute(const char *from, char *to, size_t n, size_t size, bool by_item,
                       size_t *starts, size_t values)
{
    memset(starts, 0, (values + 1) * sizeof *starts);
    for (size_t i = 0; i < n; i++) {
        struct hp_counter_head h = head(from + i * size);
        starts[(by_item ? h.item : h.thread) + 1]++;
    }
    for (size_t i = 1; i <= values; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < n; i++) {
        struct hp_counter_head h = head(from + i * size);
        memcpy(to + starts[by_item ? h.item : h.thread]++ * size, from + i * size, size);
    }
}

static enum hp_err sort(char *counters, size_t n, size_t size, size_t items, size_t threads)
{
    if (heads_sorted(counters, n, size))
        return HP_OK;
    size_t values = items > threads ? items : threads;
    char *other = malloc(n * size);
    size_t *starts = malloc((values + 1) * sizeof *starts);
    if (!other || !starts) {
        free(other);
        free(starts);
        return hp_fail_nomem();
    }
    distribute(counters, other, n, size, false, starts, threads);
    distribute(other, counters, n, size, true, starts, items);
    free(other);
    free(starts);
    return HP_OK;
}

enum hp_err hp_counters_order(void *counters, size_t *n, size_t size, const uint32_t *map,
                              size_t items, size_t threads, hp_counter_join join)
{
    char *all = counters;
    for (size_t i = 0; i < *n; i++) {
        struct hp_counter_head h = head(all + i * size);
        h.item = map[h.item];
        memcpy(all + i * size, &h, sizeof h);
    }
    HP_TRY(sort(all, *n, size, items, threads));
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
