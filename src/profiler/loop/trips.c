// SPDX-License-Identifier: MIT
#include "profiler/loop/trips.h"

#include "base/grow.h"

#include <stdlib.h>

static enum hp_err grow_small(struct hp_trips *t, uint64_t n)
{
    size_t capacity = t->n_small;
    size_t need = 4;
    while (need <= n)
        need *= 2;
    /* Exactly a power of two: most loops have few different values, and stay small. */
    uint64_t *small = calloc(need, sizeof *small);
    if (!small)
        return hp_fail_nomem();
    for (size_t i = 0; i < capacity; i++)
        small[i] = t->small[i];
    free(t->small);
    t->small = small;
    t->n_small = (uint32_t)need;
    return HP_OK;
}

static unsigned bucket_of(uint64_t n)
{
    return n ? 63u - (unsigned)__builtin_clzll(n) : 0;
}

static enum hp_err count_large(struct hp_trips *t, uint64_t n, uint64_t count, size_t most)
{
    if (!t->large && !(t->large = calloc(1, sizeof *t->large)))
        return hp_fail_nomem();
    struct hp_trips_large *large = t->large;
    uint32_t i = hp_map64_get(&large->of, n);
    if (i == HP_MAP64_NONE && large->n < most) {
        HP_TRY(hp_grow(&large->values, &large->cap_values, large->n + 1, sizeof *large->values));
        HP_TRY(hp_grow(&large->counts, &large->cap_counts, large->n + 1, sizeof *large->counts));
        HP_TRY(hp_map64_put(&large->of, n, (uint32_t)large->n));
        i = (uint32_t)large->n++;
        large->values[i] = n;
    }
    if (i != HP_MAP64_NONE)
        large->counts[i] += count;
    large->buckets[bucket_of(n)] += count;
    return HP_OK;
}

static enum hp_err count(struct hp_trips *t, uint64_t n, uint64_t times)
{
    if (n >= HP_TRIPS_SMALL)
        return count_large(t, n, times, HP_TRIPS_LARGE);
    if (n >= t->n_small)
        HP_TRY(grow_small(t, n));
    t->small[n] += times;
    return HP_OK;
}

enum hp_err hp_trips_settle(struct hp_trips *t)
{
    uint64_t repeats = t->repeats;
    t->repeats = 0;
    if (repeats == 0)
        return HP_OK;
    HP_TRY(count(t, t->last, repeats));
    t->executions += repeats;
    t->iterations += repeats * t->last;
    t->same += repeats;
    t->stride += repeats;
    return HP_OK;
}

static enum hp_err count_one(struct hp_trips *t, uint64_t n)
{
    if (n >= t->n_small)
        return count(t, n, 1);
    t->small[n]++;
    return HP_OK;
}

enum hp_err hp_trips_add_any(struct hp_trips *t, uint64_t n)
{
    if (t->repeats)
        HP_TRY(hp_trips_settle(t));
    HP_TRY(count_one(t, n));
    if (t->executions == 0) {
        t->min = t->max = t->begin[0] = n;
    } else {
        uint64_t change = n - t->last;
        if (t->executions == 1)
            t->begin[1] = n;
        else
            t->stride += change == t->change;
        t->same += change == 0;
        t->change = change;
        t->min = n < t->min ? n : t->min;
        t->max = n > t->max ? n : t->max;
    }
    t->last = n;
    t->executions++;
    t->iterations += n;
    return HP_OK;
}

enum hp_err hp_trips_precede(struct hp_trips *t, uint64_t executions)
{
    if (executions == 0)
        return HP_OK;
    HP_TRY(count(t, 1, executions));
    t->same += executions - 1;
    t->stride += executions > 2 ? executions - 2 : 0;
    if (t->executions) {
        t->same += t->begin[0] == 1;
        t->stride += executions > 1 && t->begin[0] == 1;
    }
    if (t->executions > 1)
        t->stride += t->begin[1] - t->begin[0] == t->begin[0] - 1;
    t->min = 1;
    t->max = t->max > 1 ? t->max : 1;
    t->executions += executions;
    t->iterations += executions;
    return HP_OK;
}

enum hp_err hp_trips_merge(struct hp_trips *t, const struct hp_trips *other)
{
    if (other->executions == 0)
        return HP_OK;
    for (uint32_t i = 0; i < other->n_small; i++)
        if (other->small[i])
            HP_TRY(count(t, i, other->small[i]));
    if (other->large) {
        const struct hp_trips_large *large = other->large;
        uint64_t known[HP_TRIPS_BUCKETS] = {0};
        for (size_t i = 0; i < large->n; i++) {
            HP_TRY(count_large(t, large->values[i], large->counts[i], SIZE_MAX));
            known[bucket_of(large->values[i])] += large->counts[i];
        }
        /* values that were not counted one by one */
        if (!t->large && !(t->large = calloc(1, sizeof *t->large)))
            return hp_fail_nomem();
        for (unsigned k = 0; k < HP_TRIPS_BUCKETS; k++)
            t->large->buckets[k] += large->buckets[k] - known[k];
    }
    t->min = t->executions == 0 || other->min < t->min ? other->min : t->min;
    t->max = other->max > t->max ? other->max : t->max;
    t->executions += other->executions;
    t->iterations += other->iterations;
    t->same += other->same;
    t->stride += other->stride;
    return HP_OK;
}

void hp_trips_fini(struct hp_trips *t)
{
    if (t->large) {
        hp_map64_fini(&t->large->of);
        free(t->large->values);
        free(t->large->counts);
        free(t->large);
    }
    free(t->small);
    *t = (struct hp_trips){0};
}

uint64_t hp_trips_bucket(const struct hp_trips *t, unsigned k)
{
    if (1ull << k >= HP_TRIPS_SMALL)
        return t->large ? t->large->buckets[k] : 0;
    uint64_t n = 0;
    for (uint64_t value = 1ull << k; value < 2ull << k && value < t->n_small; value++)
        n += t->small[value];
    return n;
}

/* Inserts a value into the sorted list if it belongs there. */
static void rank(struct hp_trips_value *values, size_t *n, size_t most, uint64_t value,
                 uint64_t count)
{
    size_t i = *n;
    while (i > 0 && (values[i - 1].count < count ||
                     (values[i - 1].count == count && values[i - 1].value > value)))
        i--;
    if (i == most)
        return;
    *n += *n < most;
    for (size_t j = *n - 1; j > i; j--)
        values[j] = values[j - 1];
    values[i] = (struct hp_trips_value){value, count};
}

size_t hp_trips_values(const struct hp_trips *t, struct hp_trips_value *values, size_t most)
{
    size_t n = 0;
    for (uint32_t i = 0; i < t->n_small; i++)
        if (t->small[i])
            rank(values, &n, most, i, t->small[i]);
    for (size_t i = 0; t->large && i < t->large->n; i++)
        rank(values, &n, most, t->large->values[i], t->large->counts[i]);
    return n;
}
