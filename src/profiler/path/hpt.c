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
#include "base/grow.h"
#include "profiler/path/hpt_admission.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* A path that comes with a number: what need not be computed again. */
struct numbered {
    uint32_t entry; /* where it was last; it still is if it is the owner */
    uint32_t set, tag, events;
};

/* The entry of a set that a path takes which has none, until its count is more than its limit. */
struct victim {
    uint32_t entry;
    uint32_t owner; /* in place of owners[entry] */
    uint64_t count; /* in place of counts[entry] */
    uint64_t limit;
};

/* A group of paths. */
struct group {
    uint32_t first, n; /* in `lists` */
    uint32_t hits;     /* executions that are not in hp_hpt.hits yet */
    uint32_t changes;  /* how many there were when it was looked at last */
    uint32_t n_others; /* of its paths have OTHER: their positions in it are others[first] ... */
};

struct hp_hpt {
    struct hp_path_sink sink; /* first */
    struct hp_hpt_config config;
    struct hp_hpt_stats stats;
    uint32_t set_mask, set_bits;
    uint64_t max;         /* of an accumulator */
    uint64_t random;      /* state of the generator */
    uint32_t *filled;     /* used ways of a set: the first ones */
    uint32_t n_filled;    /* of all sets */
    uint32_t n_strangers; /* entries in use that are nobody's */
    /* By entry, sets one after the other. */
    uint32_t *owners;       /* the number of its path; NOBODY: unknown, or the entry is empty */
    uint64_t *counts;       /* accumulators */
    uint64_t *used;         /* number of the execution at its last use */
    struct victim *victims; /* by set, if `has_victims` */
    bool has_victims;
    /* Nobody's only: see path_of(). */
    uint32_t *tags; /* half of the hash of its path */
    struct hp_path *paths;
    /* Paths by number. */
    uint64_t source;
    struct numbered *numbered;
    struct hp_path *known;
    uint32_t *hits; /* if `has_victims`: executions that are not in `counts` yet; or OTHER and
                       anything */
    size_t n_numbered, cap_numbered, cap_known, cap_hits;
    uint32_t n_hits;     /* no path has more of them; OTHER is far from that */
    bool without_events; /* there is one without */
    /* Groups of them. */
    struct group *groups;
    uint32_t *lists;
    uint8_t *others;
    uint32_t *touched; /* groups with hits */
    size_t n_groups, cap_groups, n_lists, cap_lists, cap_others, n_touched, cap_touched;
    uint32_t changes; /* how often a path got or lost OTHER */
};

/* --- The table -------------------------------------------------------------------------------- */

/* The exclusive or of all groups of `bits` bits (not 0), in the lowest ones. */
static uint64_t fold(uint64_t x, uint32_t bits)
{
    for (; bits < 64; bits *= 2)
        x ^= x >> bits;
    return x;
}

static uint32_t set_of(const struct hp_hpt *t, const struct hp_path *path)
{
    if (t->config.index == HP_HPT_FOLD) {
        uint64_t outcomes = path->outcomes ^ (path->length < 64 ? UINT64_C(1) << path->length : 0);
        return t->set_bits ? (uint32_t)fold(path->start ^ outcomes, t->set_bits) & t->set_mask : 0;
    }
    uint64_t x = path->start >> t->config.shift;
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
static uint32_t victim(const struct hp_hpt *t, size_t base)
{
    const uint64_t *by = (t->config.policy == HP_HPT_LRU ? t->used : t->counts) + base;
    uint32_t least = 0;
    for (uint32_t w = 1; w < t->config.ways; w++)
        if (by[w] < by[least])
            least = w;
    return least;
}

static const struct hp_path *path_of(const struct hp_hpt *t, size_t entry)
{
    uint32_t owner = t->owners[entry];
    return owner == NOBODY ? &t->paths[entry] : &t->known[owner];
}

/* Executions by number: see take_numbers_lfu(). */
#define OTHER 0x80000000u

/* The hits of groups are those of their paths. */
static void settle_groups(struct hp_hpt *t)
{
    for (size_t i = 0; i < t->n_touched; i++) {
        struct group *group = &t->groups[t->touched[i]];
        for (uint32_t k = 0; k < group->n; k++)
            t->hits[t->lists[group->first + k]] += group->hits;
        group->hits = 0;
    }
    t->n_touched = 0;
}

/* Makes owners and counts of a set what they are. */
static void settle_set(struct hp_hpt *t, uint32_t set)
{
    const struct victim *v = &t->victims[set];
    const size_t base = (size_t)set * t->config.ways;
    t->owners[v->entry] = v->owner;
    t->counts[v->entry] = v->count;
    for (size_t e = base; e < base + t->filled[set]; e++) {
        uint32_t owner = t->owners[e];
        t->numbered[owner].entry = (uint32_t)e;
        if (e == v->entry)
            continue;
        uint64_t sum = t->counts[e] + (uint64_t)t->hits[owner] * t->numbered[owner].events;
        t->counts[e] = sum < t->max ? sum : t->max;
        t->hits[owner] = 0;
    }
}

/* From here on owners and counts are what they are. */
static void settle(struct hp_hpt *t)
{
    settle_groups(t);
    for (uint32_t set = 0; t->has_victims && set <= t->set_mask; set++)
        settle_set(t, set);
    t->has_victims = false;
}

/* The entry of the path; NOBODY: it has none. */
static uint32_t find(const struct hp_hpt *t, uint32_t set, uint32_t tag, const struct hp_path *path)
{
    size_t base = (size_t)set * t->config.ways;
    for (size_t e = base; e < base + t->filled[set]; e++) {
        uint32_t owner = t->owners[e];
        if ((owner == NOBODY ? t->tags[e] : t->numbered[owner].tag) == tag &&
            hp_path_same(path_of(t, e), path))
            return (uint32_t)e;
    }
    return NOBODY;
}

/* Gives an entry of the set to a path that has none, with its first count: the entry, which is
 * nobody's. With random admission it continues from the count of the one that it replaces, or is
 * not admitted: NOBODY. */
static uint32_t admit(struct hp_hpt *t, uint32_t set, uint32_t events)
{
    size_t base = (size_t)set * t->config.ways;
    bool full = t->filled[set] == t->config.ways;
    size_t entry = base + (full ? victim(t, base) : t->filled[set]);
    uint64_t count = 0;
    if (t->config.policy == HP_HPT_RANDOM_ADMISSION) {
        if (events == 0)
            return NOBODY;
        if (full && !hp_hpt_admits(hp_hpt_draw(&t->random), t->counts[entry], events))
            return NOBODY;
        count = full ? t->counts[entry] : 0;
    }
    t->filled[set] += !full;
    t->n_filled += !full;
    t->stats.replacements += full;
    t->n_strangers += !full || t->owners[entry] != NOBODY;
    t->owners[entry] = NOBODY;
    t->counts[entry] = add(t, count, events);
    return (uint32_t)entry;
}

static void take(struct hp_hpt *t, const struct hp_path *path)
{
    uint32_t set = set_of(t, path), tag = (uint32_t)(hp_path_hash(path) >> 32);
    uint32_t entry = find(t, set, tag, path);
    t->stats.paths++;
    if (entry != NOBODY) {
        t->counts[entry] = add(t, t->counts[entry], path->events);
        t->stats.hits++;
    } else {
        t->stats.misses++;
        entry = admit(t, set, path->events);
        if (entry == NOBODY)
            return;
        t->tags[entry] = tag;
        t->paths[entry] = *path;
    }
    t->used[entry] = t->stats.paths;
}

static void on_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct hp_hpt *t = (struct hp_hpt *)sink;
    settle(t);
    for (size_t i = 0; i < paths->n; i++)
        take(t, &paths->paths[i]);
}

/* --- Paths by number -------------------------------------------------------------------------- */

/* From here on, entries are nobody's. */
static void forget_owners(struct hp_hpt *t)
{
    for (size_t e = 0; e < t->config.entries; e++) {
        uint32_t owner = t->owners[e];
        if (owner == NOBODY)
            continue;
        t->paths[e] = t->known[owner];
        t->tags[e] = t->numbered[owner].tag;
        t->owners[e] = NOBODY;
    }
    t->n_strangers = t->n_filled;
}

/* Covers all groups in use. */
static bool know_groups(struct hp_hpt *t, const struct hp_known_paths *known)
{
    if (hp_grow(&t->groups, &t->cap_groups, known->n_groups, sizeof *t->groups) != HP_OK ||
        hp_grow(&t->touched, &t->cap_touched, known->n_groups, sizeof *t->touched) != HP_OK ||
        hp_grow(&t->lists, &t->cap_lists, known->n_lists, sizeof *t->lists) != HP_OK ||
        hp_grow(&t->others, &t->cap_others, known->n_lists, sizeof *t->others) != HP_OK)
        return false;
    for (; t->n_groups < known->n_groups; t->n_groups++) {
        const struct hp_path_group *from = &known->groups[t->n_groups];
        t->groups[t->n_groups] =
            (struct group){.first = from->first, .n = from->n, .changes = t->changes - 1};
    }
    for (; t->n_lists < known->n_lists; t->n_lists++)
        t->lists[t->n_lists] = known->lists[t->n_lists];
    return true;
}

/* Covers all numbers in use. */
static bool know(struct hp_hpt *t, const struct hp_known_paths *known)
{
    if (t->source != known->source) {
        settle(t);
        forget_owners(t);
        t->source = known->source;
        t->n_numbered = t->n_groups = t->n_lists = 0;
    }
    if (!know_groups(t, known))
        return false;
    if (hp_grow(&t->numbered, &t->cap_numbered, known->n_known, sizeof *t->numbered) != HP_OK ||
        hp_grow(&t->known, &t->cap_known, known->n_known, sizeof *t->known) != HP_OK ||
        hp_grow(&t->hits, &t->cap_hits, known->n_known, sizeof *t->hits) != HP_OK)
        return false;
    for (size_t i = t->n_numbered; i < known->n_known; i++) {
        const struct hp_path *path = &known->known[i].path;
        t->known[i] = *path;
        t->without_events |= path->events == 0;
        t->hits[i] = OTHER;
        t->numbered[i] = (struct numbered){.set = set_of(t, path),
                                           .tag = (uint32_t)(hp_path_hash(path) >> 32),
                                           .events = path->events};
    }
    t->n_numbered = known->n_known;
    return true;
}

/* The path owns no entry. */
static __attribute__((noinline)) void take_other(struct hp_hpt *t, uint32_t number)
{
    struct numbered *n = &t->numbered[number];
    uint32_t entry = t->n_strangers ? find(t, n->set, n->tag, &t->known[number]) : NOBODY;
    if (entry != NOBODY) {
        t->counts[entry] = add(t, t->counts[entry], n->events);
        t->stats.hits++;
    } else {
        t->stats.misses++;
        entry = admit(t, n->set, n->events);
        if (entry == NOBODY)
            return;
    }
    t->used[entry] = t->stats.paths;
    t->owners[entry] = number;
    t->n_strangers--;
    n->entry = entry;
}

static void take_number(struct hp_hpt *t, uint32_t number)
{
    const struct numbered *path = &t->numbered[number];
    t->stats.paths++;
    if (t->owners[path->entry] != number) {
        take_other(t, number);
        return;
    }
    t->counts[path->entry] = add(t, t->counts[path->entry], path->events);
    t->used[path->entry] = t->stats.paths;
    t->stats.hits++;
}

/*
 * With `lfu` the others of a set only grow, so its victim stays the same until its own count is
 * more than that of another: its limit. Until then the executions of the others change nothing, and
 * are only counted, by number. All paths that own no entry, and those that own a victim, have
 * OTHER, and take the victim or add to it. This goes while there are no strangers and all paths
 * have events. An empty way has the smallest count, 0; all after it are empty.
 */
#define CHUNK     64
#define MOST_HITS (1u << 24) /* with so many they are added up */

/* Finds the victim of a set, whose owners and counts are what they are. */
static void find_victim(struct hp_hpt *t, uint32_t set)
{
    const size_t base = (size_t)set * t->config.ways;
    const uint32_t least = victim(t, base);
    uint64_t limit = t->max;
    for (uint32_t w = 0; w < t->config.ways; w++) {
        uint64_t count = t->counts[base + w] - (w < least); /* among equals it is the first */
        if (w != least && count < limit)
            limit = count;
        if (w < t->filled[set])
            t->hits[t->owners[base + w]] = w == least ? OTHER : 0;
    }
    t->victims[set] = (struct victim){.entry = (uint32_t)base + least,
                                      .owner = t->owners[base + least],
                                      .count = t->counts[base + least],
                                      .limit = least < t->filled[set] ? limit : 0};
}

static void find_victims(struct hp_hpt *t)
{
    for (size_t i = 0; i < t->n_numbered; i++)
        t->hits[i] = OTHER;
    t->changes++;
    for (uint32_t set = 0; set <= t->set_mask; set++)
        find_victim(t, set);
    t->n_hits = 0;
    t->has_victims = true;
}

/* The count of a victim is more than its limit. */
static __attribute__((noinline)) void pass_limit(struct hp_hpt *t, uint32_t set)
{
    settle_groups(t);
    settle_set(t, set);
    t->changes++;
    if (t->victims[set].entry - set * t->config.ways == t->filled[set]) {
        t->filled[set]++;
        t->n_filled++;
    }
    find_victim(t, set);
}

/* Counts executions, as if a path that owns an entry owned it until after the last one. Those of
 * OTHER paths are noted: how many. */
static size_t count_hits(struct hp_hpt *t, const uint32_t *numbers, size_t n, uint8_t *others)
{
    uint32_t *const hits = t->hits;
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t before = hits[numbers[i]];
        hits[numbers[i]] = before + 1;
        others[n_others] = (uint8_t)i;
        n_others += before / OTHER;
    }
    return n_others;
}

/* An execution of an OTHER path: the set whose limit was passed, or NOBODY. Whether the path is
 * there is hard to predict, so nothing depends on it but data. */
static inline uint32_t take_victim(struct hp_hpt *t, uint32_t number)
{
    const struct numbered *path = &t->numbered[number];
    struct victim *v = &t->victims[path->set];
    uint64_t missing = (uint64_t)(v->owner == number) - 1; /* all bits, or none */
    uint64_t count = (v->count & ~missing) + path->events;
    count = count < t->max ? count : t->max;
    v->count = count;
    v->owner = number;
    t->stats.misses += missing & 1;
    return __builtin_expect(count > v->limit, 0) ? path->set : NOBODY;
}

/* At most CHUNK executions; how many were taken. */
static size_t take_chunk(struct hp_hpt *t, const uint32_t *numbers, size_t n)
{
    uint8_t others[CHUNK];
    size_t n_others = count_hits(t, numbers, n, others);
    for (size_t k = 0; k < n_others; k++) {
        uint32_t set = take_victim(t, numbers[others[k]]);
        if (set == NOBODY)
            continue;
        size_t taken = others[k] + (size_t)1;
        for (size_t i = taken; i < n; i++)
            t->hits[numbers[i]]--;
        pass_limit(t, set);
        return taken;
    }
    return n;
}

static void take_chunks(struct hp_hpt *t, const uint32_t *numbers, size_t n)
{
    for (size_t i = 0; i < n;)
        i += take_chunk(t, numbers + i, n - i < CHUNK ? n - i : CHUNK);
}

/* Looks which paths of the group have OTHER. */
static __attribute__((noinline)) void look_at(struct hp_hpt *t, struct group *group)
{
    uint8_t *others = t->others + group->first;
    group->changes = t->changes;
    group->n_others = 0;
    for (uint32_t i = 0; i < group->n; i++)
        if (t->hits[t->lists[group->first + i]] & OTHER)
            others[group->n_others++] = (uint8_t)i;
}

/* The path at a position of the group passed the limit of its set; that group's hit is no longer
 * one, because what follows may have changed. */
static __attribute__((noinline)) void leave_group(struct hp_hpt *t, struct group *group,
                                                  uint32_t position, uint32_t set)
{
    const uint32_t *list = t->lists + group->first;
    group->hits--;
    for (uint32_t i = 0; i <= position; i++)
        t->hits[list[i]]++;
    pass_limit(t, set);
    take_chunks(t, list + position + 1, group->n - position - 1);
}

static inline void take_group(struct hp_hpt *t, uint32_t number)
{
    struct group *group = &t->groups[number];
    if (__builtin_expect(group->changes != t->changes, 0))
        look_at(t, group);
    if (__builtin_expect(group->hits++ == 0, 0))
        t->touched[t->n_touched++] = number;
    const uint32_t *list = t->lists + group->first;
    const uint8_t *others = t->others + group->first;
    for (uint32_t k = 0, n = group->n_others; k < n; k++) {
        uint32_t set = take_victim(t, list[others[k]]);
        if (set == NOBODY)
            continue;
        leave_group(t, group, others[k], set);
        return;
    }
}

static __attribute__((noinline)) void take_numbers_lfu(struct hp_hpt *t, const uint32_t *numbers,
                                                       size_t n)
{
    const uint32_t filled = t->n_filled;
    const uint64_t misses = t->stats.misses;
    uint64_t paths = n;
    if (t->n_hits > MOST_HITS)
        settle(t);
    if (!t->has_victims)
        find_victims(t);
    for (size_t i = 0; i < n;) {
        if (numbers[i] & HP_PATH_GROUP) {
            uint32_t group = numbers[i++] & ~HP_PATH_GROUP;
            paths += t->groups[group].n - 1;
            take_group(t, group);
            continue;
        }
        size_t end = i;
        while (end < n && !(numbers[end] & HP_PATH_GROUP))
            end++;
        take_chunks(t, numbers + i, end - i);
        i = end;
    }
    uint64_t missed = t->stats.misses - misses;
    t->n_hits += (uint32_t)paths;
    t->stats.paths += paths;
    t->stats.hits += paths - missed;
    t->stats.replacements += missed - (t->n_filled - filled);
}

/* The numbers of the paths that a number stands for. */
static const uint32_t *list_of(const struct hp_known_paths *known, const uint32_t *number,
                               uint32_t *n)
{
    *n = 1;
    if (!(*number & HP_PATH_GROUP))
        return number;
    const struct hp_path_group *group = &known->groups[*number & ~HP_PATH_GROUP];
    *n = group->n;
    return known->lists + group->first;
}

static void on_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    struct hp_hpt *t = (struct hp_hpt *)sink;
    const struct hp_hpt_config *c = &t->config;
    bool room = know(t, known);
    if (room && c->policy == HP_HPT_LFU && !c->exponent_bits && t->n_strangers == 0 &&
        !t->without_events && t->max < UINT64_MAX >> 1) {
        take_numbers_lfu(t, known->numbers, known->n);
        return;
    }
    settle(t);
    for (size_t i = 0; i < known->n; i++) {
        uint32_t n;
        const uint32_t *list = list_of(known, &known->numbers[i], &n);
        for (uint32_t k = 0; k < n; k++) {
            if (room)
                take_number(t, list[k]);
            else
                take(t, &known->known[list[k]].path);
        }
    }
}

enum hp_err hp_hpt_new(const struct hp_hpt_config *config, struct hp_hpt **hpt)
{
    HP_TRY(hp_hpt_check(config));
    struct hp_hpt *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    uint32_t sets = config->entries / config->ways;
    t->sink.paths = on_paths;
    t->sink.known = on_known;
    t->sink.groups = true;
    t->config = *config;
    t->set_mask = sets - 1;
    t->set_bits = hp_hpt_bits_for(sets);
    t->max = hp_hpt_most(config);
    t->random = HP_HPT_SEED;
    t->filled = calloc(sets, sizeof *t->filled);
    t->owners = calloc(config->entries, sizeof *t->owners);
    t->tags = calloc(config->entries, sizeof *t->tags);
    t->counts = calloc(config->entries, sizeof *t->counts);
    t->used = calloc(config->entries, sizeof *t->used);
    t->victims = calloc(sets, sizeof *t->victims);
    t->paths = calloc(config->entries, sizeof *t->paths);
    if (!t->filled || !t->owners || !t->tags || !t->counts || !t->used || !t->victims ||
        !t->paths) {
        hp_hpt_free(t);
        return hp_fail_nomem();
    }
    memset(t->owners, 0xff, config->entries * sizeof *t->owners);
    *hpt = t;
    return HP_OK;
}

void hp_hpt_free(struct hp_hpt *t)
{
    if (!t)
        return;
    free(t->filled);
    free(t->owners);
    free(t->tags);
    free(t->counts);
    free(t->used);
    free(t->victims);
    free(t->paths);
    free(t->numbered);
    free(t->known);
    free(t->hits);
    free(t->groups);
    free(t->lists);
    free(t->others);
    free(t->touched);
    free(t);
}

struct hp_path_sink *hp_hpt_sink(struct hp_hpt *hpt)
{
    return &hpt->sink;
}

size_t hp_hpt_paths(struct hp_hpt *t, struct hp_path_count *paths)
{
    size_t n = 0;
    settle(t);
    for (size_t set = 0; set <= t->set_mask; set++)
        for (size_t w = 0; w < t->filled[set]; w++) {
            size_t entry = set * t->config.ways + w;
            paths[n++] =
                (struct hp_path_count){.path = *path_of(t, entry), .count = t->counts[entry]};
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
    memset(t->owners, 0xff, t->config.entries * sizeof *t->owners);
    memset(t->counts, 0, t->config.entries * sizeof *t->counts);
    t->n_filled = t->n_strangers = 0;
    settle_groups(t);
    t->has_victims = false;
}
