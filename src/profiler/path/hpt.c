// SPDX-License-Identifier: MIT
/*
 * The hot path table: section 4 of the paper. A set-associative table of path descriptors with an accumulator each. A path that is
 * there adds its events; one that is not takes the place of the least frequently (or least recently) used of its set.
 *
 * Deviations: descriptors are compared whole, also the block and the hash of indirect targets that our paths have.
 */
#include "hotpath/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES  (1u << 24)
#define ADDRESS_BITS 47 /* of a user's address on x86-64 */
#define MAX_TEXT     128

struct entry {
    struct hp_path path;
    uint64_t count; /* accumulator */
    uint64_t used;  /* the path before which it was used last */
};

struct hp_hpt {
    struct hp_path_sink sink; /* first */
    struct hp_hpt_config config;
    struct hp_hpt_stats stats;
    uint32_t set_mask;
    uint64_t max;          /* of an accumulator */
    uint32_t *filled;      /* ways of a set that are in use: the first ones */
    uint32_t *tags;        /* by entry: half of the hash of its path */
    struct entry *entries; /* sets one after the other */
};

/* --- Configuration ---------------------------------------------------------------------------- */

static bool is_power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

enum hp_err hp_hpt_check(const struct hp_hpt_config *config)
{
    if (!is_power_of_two(config->entries) || config->entries > MAX_ENTRIES)
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: %u entries: a power of two up to %u is possible",
                       config->entries, MAX_ENTRIES);
    if (!is_power_of_two(config->ways))
        return hp_fail(HP_ERR_INVALID, "hot path table: %u ways: not a power of two", config->ways);
    if (config->ways > config->entries)
        return hp_fail(HP_ERR_INVALID, "hot path table: %u ways are more than %u entries",
                       config->ways, config->entries);
    if ((unsigned)config->index > HP_HPT_ADDRESS)
        return hp_fail(HP_ERR_INVALID, "hot path table: no index has the number %d", config->index);
    if ((unsigned)config->policy > HP_HPT_LRU)
        return hp_fail(HP_ERR_INVALID, "hot path table: no policy has the number %d",
                       config->policy);
    if (config->accumulator_bits < 8 || config->accumulator_bits > 64)
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: accumulators of %u bits: 8 to 64 are possible",
                       config->accumulator_bits);
    if (config->address_bits < 1 || config->address_bits > 64)
        return hp_fail(HP_ERR_INVALID, "hot path table: addresses of %u bits: 1 to 64 are possible",
                       config->address_bits);
    if (config->max_length < 1 || config->max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "hot path table: paths of %u branches: 1 to %d are possible",
                       config->max_length, HP_PATH_MAX_LENGTH);
    return HP_OK;
}

static enum hp_err parse_option(const char *part, struct hp_hpt_config *config)
{
    char *end;
    if (strcmp(part, "index=xor") == 0)
        config->index = HP_HPT_XOR;
    else if (strcmp(part, "index=address") == 0)
        config->index = HP_HPT_ADDRESS;
    else if (strcmp(part, "policy=lfu") == 0)
        config->policy = HP_HPT_LFU;
    else if (strcmp(part, "policy=lru") == 0)
        config->policy = HP_HPT_LRU;
    else if (strncmp(part, "bits=", 5) == 0 && part[5] >= '0' && part[5] <= '9') {
        unsigned long bits = strtoul(part + 5, &end, 10);
        if (*end || bits > 64)
            return hp_fail(HP_ERR_INVALID, "hot path table: '%s': 8 to 64 bits are possible", part);
        config->accumulator_bits = (uint32_t)bits;
    } else
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: '%s' is none of index=xor, index=address, policy=lfu, "
                       "policy=lru, bits=N",
                       part);
    return HP_OK;
}

/* "512x4" */
static enum hp_err parse_size(const char *part, struct hp_hpt_config *config)
{
    unsigned long entries, ways;
    char *x, *end;
    if (strcmp(part, "vaswani") == 0)
        return HP_OK;
    entries = strtoul(part, &x, 10);
    if (part[0] < '0' || part[0] > '9' || x[0] != 'x' || x[1] < '0' || x[1] > '9')
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: '%s' is neither a preset (vaswani) nor ENTRIESxWAYS", part);
    ways = strtoul(x + 1, &end, 10);
    if (*end || entries > UINT32_MAX || ways > UINT32_MAX)
        return hp_fail(HP_ERR_INVALID, "hot path table: '%s' is no size such as 512x4", part);
    config->entries = (uint32_t)entries;
    config->ways = (uint32_t)ways;
    return HP_OK;
}

enum hp_err hp_hpt_parse(const char *text, struct hp_hpt_config *config)
{
    char copy[MAX_TEXT], *rest = copy, *part;
    struct hp_hpt_config new = {.entries = 512,
                                .ways = 4,
                                .accumulator_bits = 32,
                                .address_bits = ADDRESS_BITS,
                                .max_length = 32};
    if (strlen(text) >= sizeof copy)
        return hp_fail(HP_ERR_INVALID, "hot path table: a description of more than %d letters",
                       MAX_TEXT - 1);
    strcpy(copy, text);
    HP_TRY(parse_size(strsep(&rest, ","), &new));
    while ((part = strsep(&rest, ",")))
        HP_TRY(parse_option(part, &new));
    HP_TRY(hp_hpt_check(&new));
    *config = new;
    return HP_OK;
}

void hp_hpt_format(const struct hp_hpt_config *config, char *text, size_t size)
{
    char bits[16] = "";
    if (config->accumulator_bits != 32)
        snprintf(bits, sizeof bits, ",bits=%u", config->accumulator_bits);
    snprintf(text, size, "%ux%u%s%s%s", config->entries, config->ways,
             config->index == HP_HPT_ADDRESS ? ",index=address" : "",
             config->policy == HP_HPT_LRU ? ",policy=lru" : "", bits);
}

/* How many bits it takes to tell `n` things apart. */
static uint32_t bits_for(uint32_t n)
{
    uint32_t bits = 0;
    while (UINT64_C(1) << bits < n)
        bits++;
    return bits;
}

/* A descriptor and its accumulator; LRU ranks each entry in its set. An accumulator of 0 is an empty entry. */
uint64_t hp_hpt_bytes(const struct hp_hpt_config *config)
{
    uint64_t bits = config->address_bits + bits_for(config->max_length + 1) + config->max_length +
                    config->accumulator_bits;
    if (config->policy == HP_HPT_LRU)
        bits += bits_for(config->ways);
    return (config->entries * bits + 7) / 8;
}

/* --- The table -------------------------------------------------------------------------------- */

/* Code is aligned to four bytes on many machines: the lowest two bits of an address say little. */
static uint32_t set_of(const struct hp_hpt *t, const struct hp_path *path)
{
    uint64_t x = path->start >> 2;
    if (t->config.index == HP_HPT_XOR)
        x ^= path->outcomes ^ path->length;
    return (uint32_t)x & t->set_mask;
}

static uint64_t add(const struct hp_hpt *t, uint64_t count, uint64_t events)
{
    return events > t->max - count ? t->max : count + events;
}

/* The way of a full set that makes room: the first of the least. */
static uint32_t victim(const struct hp_hpt *t, const struct entry *set)
{
    uint32_t least = 0;
    for (uint32_t w = 1; w < t->config.ways; w++)
        if (t->config.policy == HP_HPT_LRU ? set[w].used < set[least].used
                                           : set[w].count < set[least].count)
            least = w;
    return least;
}

/* `ways` is t->config.ways; where it is a constant, this is faster. */
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
    bool full = t->filled[set] == ways;
    uint32_t way = full ? victim(t, entries) : t->filled[set]++;
    t->stats.replacements += full;
    tags[way] = tag;
    entries[way] =
        (struct entry){.path = *path, .count = add(t, 0, path->events), .used = t->stats.paths};
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
    t->max = UINT64_MAX >> (64 - config->accumulator_bits);
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
