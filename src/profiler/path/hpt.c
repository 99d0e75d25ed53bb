// SPDX-License-Identifier: MIT
/*
 * The hot path table: section 4 of the paper. A set-associative table of path descriptors with an accumulator each. A path that is
 * there adds its events; one that is not takes the place of the least frequently (or least recently) used of its set.
 *
 * Deviations: descriptors are compared whole, also the block and the hash of indirect targets that our paths have. More than
 * the paper has: the policy of random admission, floating accumulators and packed entries (docs/better.md).
 */
#include "profiler/path/hpt_admission.h"

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
    uint32_t set_mask, set_bits;
    uint64_t max;          /* of an accumulator */
    uint64_t random;       /* state of the generator */
    uint32_t *filled;      /* ways of a set that are in use: the first ones */
    uint32_t *tags;        /* by entry: half of the hash of its path */
    struct entry *entries; /* sets one after the other */
};

/* --- Configuration ---------------------------------------------------------------------------- */

/* By enum hp_hpt_index and enum hp_hpt_policy. */
static const char *const indexes[] = {"xor", "address", "fold"};
static const char *const policies[] = {"lfu", "lru", "rap"};

static const struct hp_hpt_config vaswani = {.entries = 512,
                                             .ways = 4,
                                             .accumulator_bits = 32,
                                             .address_bits = ADDRESS_BITS,
                                             .max_length = 32};

/* The bits that packed entries and short accumulators save are spent on more entries. */
static const struct hp_hpt_config random_admission = {.entries = 608,
                                                      .ways = 19,
                                                      .index = HP_HPT_FOLD,
                                                      .policy = HP_HPT_RANDOM_ADMISSION,
                                                      .accumulator_bits = 23,
                                                      .exponent_bits = 4,
                                                      .packed = true,
                                                      .address_bits = ADDRESS_BITS,
                                                      .max_length = 32};

static bool is_power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

enum hp_err hp_hpt_check(const struct hp_hpt_config *config)
{
    if (config->entries == 0 || config->entries > MAX_ENTRIES)
        return hp_fail(HP_ERR_INVALID, "hot path table: %u entries: 1 to %u are possible",
                       config->entries, MAX_ENTRIES);
    if (config->ways == 0)
        return hp_fail(HP_ERR_INVALID, "hot path table: 0 ways: there must be one at least");
    if (config->ways > config->entries)
        return hp_fail(HP_ERR_INVALID, "hot path table: %u ways are more than %u entries",
                       config->ways, config->entries);
    if (config->entries % config->ways || !is_power_of_two(config->entries / config->ways))
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: %u entries of %u ways: the number of sets is not a power "
                       "of two",
                       config->entries, config->ways);
    if ((unsigned)config->index > HP_HPT_FOLD)
        return hp_fail(HP_ERR_INVALID, "hot path table: no index has the number %d", config->index);
    if ((unsigned)config->policy > HP_HPT_RANDOM_ADMISSION)
        return hp_fail(HP_ERR_INVALID, "hot path table: no policy has the number %d",
                       config->policy);
    if (config->accumulator_bits < 8 || config->accumulator_bits > 64)
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: accumulators of %u bits: 8 to 64 are possible",
                       config->accumulator_bits);
    if (config->exponent_bits &&
        (config->exponent_bits > 5 || config->exponent_bits + 4 > config->accumulator_bits ||
         config->accumulator_bits - config->exponent_bits + (1u << config->exponent_bits) > 64))
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: accumulators of %u bits, %u of them the exponent: up to 5 "
                       "bits of it, 4 bits beside it and counts below 2^63 are possible",
                       config->accumulator_bits, config->exponent_bits);
    if (config->address_bits < 1 || config->address_bits > 64)
        return hp_fail(HP_ERR_INVALID, "hot path table: addresses of %u bits: 1 to 64 are possible",
                       config->address_bits);
    if (config->max_length < 1 || config->max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "hot path table: paths of %u branches: 1 to %d are possible",
                       config->max_length, HP_PATH_MAX_LENGTH);
    return HP_OK;
}

/* "bits=23": a number behind the `name` of an option. */
static bool parse_number(const char *part, const char *name, uint32_t *number)
{
    size_t n = strlen(name);
    char *end;
    if (strncmp(part, name, n) != 0 || part[n] < '0' || part[n] > '9')
        return false;
    unsigned long value = strtoul(part + n, &end, 10);
    *number = value > 1000 ? 1000 : (uint32_t)value;
    return !*end;
}

static enum hp_err parse_option(const char *part, struct hp_hpt_config *config)
{
    for (unsigned i = 0; i < sizeof indexes / sizeof indexes[0]; i++)
        if (strncmp(part, "index=", 6) == 0 && strcmp(part + 6, indexes[i]) == 0) {
            config->index = (enum hp_hpt_index)i;
            return HP_OK;
        }
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0]; i++)
        if (strncmp(part, "policy=", 7) == 0 && strcmp(part + 7, policies[i]) == 0) {
            config->policy = (enum hp_hpt_policy)i;
            return HP_OK;
        }
    if (parse_number(part, "bits=", &config->accumulator_bits) ||
        parse_number(part, "exponent=", &config->exponent_bits))
        return HP_OK;
    if (strcmp(part, "packed") != 0)
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: '%s' is none of index=xor|address|fold, "
                       "policy=lfu|lru|rap, bits=N, exponent=N, packed",
                       part);
    config->packed = true;
    return HP_OK;
}

/* "512x4" */
static enum hp_err parse_size(const char *part, struct hp_hpt_config *config)
{
    unsigned long entries, ways;
    char *x, *end;
    *config = vaswani;
    if (strcmp(part, "vaswani") == 0)
        return HP_OK;
    if (strcmp(part, "random-admission") == 0) {
        *config = random_admission;
        return HP_OK;
    }
    entries = strtoul(part, &x, 10);
    if (part[0] < '0' || part[0] > '9' || x[0] != 'x' || x[1] < '0' || x[1] > '9')
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: '%s' is neither a preset (vaswani, random-admission) nor "
                       "ENTRIESxWAYS",
                       part);
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
    struct hp_hpt_config new;
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

static bool same_config(const struct hp_hpt_config *a, const struct hp_hpt_config *b)
{
    return a->entries == b->entries && a->ways == b->ways && a->index == b->index &&
           a->policy == b->policy && a->accumulator_bits == b->accumulator_bits &&
           a->exponent_bits == b->exponent_bits && a->packed == b->packed;
}

void hp_hpt_format(const struct hp_hpt_config *config, char *text, size_t size)
{
    char index[32] = "", policy[32] = "", bits[32] = "", exponent[32] = "";
    if (same_config(config, &random_admission)) {
        snprintf(text, size, "random-admission");
        return;
    }
    if (config->index != HP_HPT_XOR)
        snprintf(index, sizeof index, ",index=%s", indexes[config->index]);
    if (config->policy != HP_HPT_LFU)
        snprintf(policy, sizeof policy, ",policy=%s", policies[config->policy]);
    if (config->accumulator_bits != 32)
        snprintf(bits, sizeof bits, ",bits=%u", config->accumulator_bits);
    if (config->exponent_bits)
        snprintf(exponent, sizeof exponent, ",exponent=%u", config->exponent_bits);
    snprintf(text, size, "%ux%u%s%s%s%s%s", config->entries, config->ways, index, policy, bits,
             exponent, config->packed ? ",packed" : "");
}

/* How many bits it takes to tell `n` things apart. */
static uint32_t bits_for(uint32_t n)
{
    uint32_t bits = 0;
    while (UINT64_C(1) << bits < n)
        bits++;
    return bits;
}

/*
 * A descriptor and its accumulator; LRU ranks each entry in its set. An accumulator of 0 is an empty entry. Whatever the index,
 * it is an exclusive or of low bits of the start address with other bits of the descriptor: so these low bits need not be
 * kept where the set is known (packed).
 */
uint64_t hp_hpt_bytes(const struct hp_hpt_config *config)
{
    uint32_t set_bits = bits_for(config->entries / config->ways);
    uint64_t bits = config->address_bits + bits_for(config->max_length + 1) + config->max_length +
                    config->accumulator_bits;
    if (config->packed)
        bits = config->address_bits - (set_bits < config->address_bits ? set_bits : 0) +
               config->max_length + 1 + config->accumulator_bits;
    if (config->policy == HP_HPT_LRU)
        bits += bits_for(config->ways);
    bits *= config->entries;
    if (config->policy == HP_HPT_RANDOM_ADMISSION || config->exponent_bits)
        bits += HP_HPT_RANDOM_BITS;
    return (bits + 7) / 8;
}

/* --- The table -------------------------------------------------------------------------------- */

/* The exclusive or of all groups of so many bits (not 0): below, of two groups, of four, ... */
static uint64_t fold(uint64_t x, uint32_t bits)
{
    for (; bits < 64; bits *= 2)
        x ^= x >> bits;
    return x;
}

/* Code is aligned to four bytes on many machines: the lowest two bits of an address say little. */
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

/* The way of a full set that makes room, if any does: the first of the least. */
static uint32_t victim(const struct hp_hpt *t, const struct entry *set)
{
    uint32_t least = 0;
    for (uint32_t w = 1; w < t->config.ways; w++)
        if (t->config.policy == HP_HPT_LRU ? set[w].used < set[least].used
                                           : set[w].count < set[least].count)
            least = w;
    return least;
}

/* A path that is not in its set. By random admission it goes on from the count of the one that it replaces. */
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
    t->set_bits = bits_for(sets);
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
