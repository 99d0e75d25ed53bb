// SPDX-License-Identifier: MIT
/*
 * The iteration counts of a loop's executions, in one thread (docs/loops.md, rule 7).
 */
#ifndef HP_PROFILER_LOOP_TRIPS_H
#define HP_PROFILER_LOOP_TRIPS_H

#include "base/map64.h"

#include <stdbool.h>

#define HP_TRIPS_SMALL   64   /* values below are always counted one by one */
#define HP_TRIPS_LARGE   1024 /* distinct larger ones that are */
#define HP_TRIPS_BUCKETS 64

/* Values from HP_TRIPS_SMALL on. */
struct hp_trips_large {
    uint64_t buckets[HP_TRIPS_BUCKETS];
    struct hp_map64 of; /* value -> counter */
    uint64_t *values, *counts;
    size_t n, cap_values, cap_counts;
};

/* All zero: no execution yet. Right after hp_trips_settle(). */
struct hp_trips {
    uint64_t last;
    uint64_t change;  /* from the next to last to the last, modulo 2^64 */
    uint64_t repeats; /* executions like the last two, not counted yet */
    uint64_t executions, iterations;
    uint64_t min, max;
    uint64_t same, stride;
    uint64_t begin[2]; /* the first two */
    uint64_t *small;   /* by value */
    uint32_t n_small;  /* a power of two, or 0 */
    struct hp_trips_large *large;
};

/* hp_trips_add() for any execution. */
enum hp_err hp_trips_add_any(struct hp_trips *trips, uint64_t n);

/* An execution ended after `n` iterations. HP_ERR_NOMEM: it is not counted. */
static inline enum hp_err hp_trips_add(struct hp_trips *trips, uint64_t n)
{
    if (n != trips->last || trips->change || trips->executions < 2)
        return hp_trips_add_any(trips, n);
    trips->repeats++;
    return HP_OK;
}

/* Counts the repeats: before anything is read, or merged. HP_ERR_NOMEM: they are not counted. */
enum hp_err hp_trips_settle(struct hp_trips *trips);

/* There were `executions` of one iteration each before all others. Afterwards only merging makes
 * sense. */
enum hp_err hp_trips_precede(struct hp_trips *trips, uint64_t executions);

/* Adds those of another thread: predictability and counts add up, the order no longer matters. */
enum hp_err hp_trips_merge(struct hp_trips *trips, const struct hp_trips *other);

void hp_trips_fini(struct hp_trips *trips);

/* How many had from 2^k to 2^(k+1) - 1 iterations. */
uint64_t hp_trips_bucket(const struct hp_trips *trips, unsigned k);

struct hp_trips_value {
    uint64_t value, count;
};

/* The most frequent values, at most `most`, ties by the smaller value; returns how many. */
size_t hp_trips_values(const struct hp_trips *trips, struct hp_trips_value *values, size_t most);

#endif
