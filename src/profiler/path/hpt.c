// SPDX-License-Identifier: MIT
/*
 * The hot path table: section 4 of the paper. A set-associative table of path descriptors with an
 * accumulator each. A path that hits adds its events; one that misses replaces the least frequently
 * (or least recently) used of its set.
 *
 * Deviations: whole descriptors are compared, including the block and the hash of indirect targets
 * that our paths have. Extensions of the paper: random admission, floating accumulators and packed
 * entries (docs/better.md).
 */
#include "profiler/path/hpt_admission.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct hp_path path;
    uint64_t count; /* accumulator */
    uint64_t used;  /* number of the path at its last use */
};

struct hp_hpt {
    struct hp_path_sink sink; /* first */
    struct hp_hpt_config config;
    struct hp_hpt_stats stats;
    uint32_t set_mask, set_bits;
    uint64_t max;          /* of an accumulator */
    uint64_t random;       /* state of the generator */
    uint32_t *filled;      /* used ways of a set: the first ones */
    uint32_t *tags;        /* by entry: half of the hash of its path */
    struct entry *entries; /* sets one after the other */
};

/* --- The table -------------------------------------------------------------------------------- */

/* The exclusive or of all groups of `bits` bits (not 0), in the lowest ones. */
static uint64_t fold(uint64_t x, uint32_t bits)
{
    for (; bits < 64; bits *= 2)
        x ^= x >> bits;
    return x;
}

/* Code is aligned to four bytes on many machines: the lowest two address bits carry little
 * information. */
static uint32_t set_of(const struct hp_hpt *t, const struct hp_path *path)
{
    if (t->config.index == HP_HPT_FOLD) {
        uint64_t outcomes = path->outcomes ^ (path->length < 64 ? UINT64_C(1) << path->length : 0);
        return t->set_bits ? (uint32_t)fold(path->start ^ outcomes, t->set_bits) & t->set_mask : 0;
    }
    uint64_t x = path->start >> 2;
    if (t->config.index == HP_HPT_XOR)
        x ^= path->outcomes ^ path->length;
    return (uint32_t)x & t->set_mask;
}

static uint64_t add(struct hp_hpt *t, uint64_t count, uint64_t events)
{
    uint64_t sum = events > t->max - count ? t->max : count + events;
    if (!t->config.exponent_bits)
        return sum;
    return hp_hpt_round(&t->config, sum, hp_hpt_draw(&t->random));
}

/* The way of a full set to replace: the first of the least. */
static uint32_t victim(const struct hp_hpt *t, const struct entry *set)
{
    uint32_t least = 0;
    for (uint32_t w = 1; w < t->config.ways; w++)
        if (t->config.policy == HP_HPT_LRU ? set[w].used < set[least].used
                                           : set[w].count < set[least].count)
            least = w;
    return least;
}

/* A miss. With random admission a path continues from the count of the one it replaces. */
static __attribute__((noinline)) void miss(struct hp_hpt *t, uint32_t set, uint32_t tag,
                                           const struct hp_path *path)
{
    size_t base = (size_t)set * t->config.ways;
    bool full = t->filled[set] == t->config.ways;
    uint32_t way = full ? victim(t, t->entries + base) : t->filled[set];
    struct entry *entry = &t->entries[base + way];
    uint64_t count = 0;
    if (t->config.policy == HP_HPT_RANDOM_ADMISSION) {
        if (path->events == 0)
            return;
        if (full && !hp_hpt_admits(hp_hpt_draw(&t->random), entry->count, path->events))
            return;
        count = full ? entry->count : 0;
    }
    t->filled[set] += !full;
    t->stats.replacements += full;
    t->tags[base + way] = tag;
    *entry =
        (struct entry){.path = *path, .count = add(t, count, path->events), .used = t->stats.paths};
}

/* `ways` is t->config.ways; faster when it is a constant. */
static inline __attribute__((always_inline)) void take(struct hp_hpt *t, const struct hp_path *path,
                                                       const uint32_t ways)
{
    uint32_t set = set_of(t, path), tag = (uint32_t)(hp_path_hash(path) >> 32);
    size_t base = (size_t)set * ways;
    struct entry *entries = t->entries + base;
    uint32_t *tags = t->tags + base;
    t->stats.paths++;
    for (uint32_t w = 0; w < t->filled[set]; w++) {
        if (tags[w] != tag || !hp_path_same(&entries[w].path, path))
            continue;
        entries[w].count = add(t, entries[w].count, path->events);
        entries[w].used = t->stats.paths;
        t->stats.hits++;
        return;
    }
    t->stats.misses++;
    miss(t, set, tag, path);
}

static void on_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct hp_hpt *t = (struct hp_hpt *)sink;
    if (t->config.ways == 4)
        for (size_t i = 0; i < paths->n; i++)
            take(t, &paths->paths[i], 4);
    else
        for (size_t i = 0; i < paths->n; i++)
            take(t, &paths->paths[i], t->config.ways);
}

enum hp_err hp_hpt_new(const struct hp_hpt_config *config, struct hp_hpt **hpt)
{
    HP_TRY(hp_hpt_check(config));
    struct hp_hpt *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    uint32_t sets = config->entries / config->ways;
    t->sink.paths = on_paths;
    t->config = *config;
    t->set_mask = sets - 1;
    t->set_bits = hp_hpt_bits_for(sets);
    t->max = hp_hpt_most(config);
    t->random = HP_HPT_SEED;
    t->filled = calloc(sets, sizeof *t->filled);
    t->tags = calloc(config->entries, sizeof *t->tags);
    t->entries = calloc(config->entries, sizeof *t->entries);
    if (!t->filled || !t->tags || !t->entries) {
        hp_hpt_free(t);
        return hp_fail_nomem();
    }
    *hpt = t;
    return HP_OK;
}

void hp_hpt_free(struct hp_hpt *t)
{
    if (!t)
        return;
    free(t->filled);
    free(t->tags);
    free(t->entries);
    free(t);
}

struct hp_path_sink *hp_hpt_sink(struct hp_hpt *hpt)
{
    return &hpt->sink;
}

size_t hp_hpt_paths(const struct hp_hpt *t, struct hp_path_count *paths)
{
    size_t n = 0;
    for (size_t set = 0; set <= t->set_mask; set++)
        for (size_t w = 0; w < t->filled[set]; w++) {
            const struct entry *entry = &t->entries[set * t->config.ways + w];
            paths[n++] = (struct hp_path_count){.path = entry->path, .count = entry->count};
        }
    return n;
}

const struct hp_hpt_stats *hp_hpt_stats(const struct hp_hpt *hpt)
{
    return &hpt->stats;
}

void hp_hpt_clear(struct hp_hpt *t)
{
    memset(t->filled, 0, ((size_t)t->set_mask + 1) * sizeof *t->filled);
}
