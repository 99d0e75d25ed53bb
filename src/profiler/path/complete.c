// SPDX-License-Identifier: MIT
/*
 * The complete profile: every distinct path with its counts. For programs with many paths it is far
 * larger than the caches, so a batch is looked up in three passes that prefetch: slots, then paths,
 * then the counts.
 */
#include "profiler/path/path_index.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 4096 /* paths that need no prefetch: they fit the second-level cache */
#define CHUNK 64   /* paths per pass: what is prefetched for them stays in the first-level cache */

/* A group of paths. */
struct group {
    uint64_t times;    /* executions that are not in hp_complete.times yet */
    uint32_t first, n; /* of its places; n == 0: they are not known */
};

struct hp_complete {
    struct hp_path_sink sink; /* first */
    uint64_t max_paths;
    struct hp_path_count *paths;
    size_t n, cap;
    struct hp_path_index index;
    uint64_t *targets; /* of all paths */
    size_t n_targets, cap_targets;
    struct hp_path_count lost;
    /* Paths that come with numbers of `source`. */
    uint64_t source;
    uint32_t *places; /* by number: in `paths`, plus 1; 0: unknown */
    size_t cap_places;
    uint64_t *times; /* by place: executions that are not in `paths` yet */
    size_t cap_times;
    struct group *groups; /* by number */
    size_t cap_groups;
    uint32_t *group_places;
    size_t n_group_places, cap_group_places;
};

static void count(struct hp_path_count *sum, const struct hp_path *path)
{
    uint64_t times = (uint64_t)path->more + 1;
    sum->count += times;
    sum->insns += times * path->insns;
    sum->events += times * path->events;
}

/* Adds a new path; HP_NO_ID: no room. */
static uint32_t add_path(struct hp_complete *c, const struct hp_path *path, uint64_t hash,
                         const uint64_t *targets)
{
    if (c->n >= c->max_paths || hp_grow(&c->paths, &c->cap, c->n + 1, sizeof *c->paths) != HP_OK ||
        hp_grow(&c->targets, &c->cap_targets, c->n_targets + path->n_targets, sizeof *c->targets) !=
            HP_OK ||
        hp_path_index_add(&c->index, c->paths, (uint32_t)c->n, hash) != HP_OK)
        return HP_NO_ID;
    struct hp_path_count *new = &c->paths[c->n];
    *new = (struct hp_path_count){.path = *path};
    new->path.more = 0;
    new->path.first_target = (uint32_t)c->n_targets;
    if (path->n_targets)
        memcpy(c->targets + c->n_targets, targets + path->first_target,
               path->n_targets * sizeof *targets);
    c->n_targets += path->n_targets;
    return (uint32_t)c->n++;
}

static __attribute__((noinline)) void find_and_count(struct hp_complete *c,
                                                     const struct hp_path *path, uint64_t hash,
                                                     const uint64_t *targets)
{
    uint32_t place = hp_path_index_find(&c->index, c->paths, path, hash);
    if (place == HP_NO_ID)
        place = add_path(c, path, hash, targets);
    count(place == HP_NO_ID ? &c->lost : &c->paths[place], path);
}

/* A path that is probably at `place` - 1. */
static inline void count_at(struct hp_complete *c, uint32_t place, const struct hp_path *path,
                            uint64_t hash, const uint64_t *targets)
{
    if (place && hp_path_same(&c->paths[place - 1].path, path))
        count(&c->paths[place - 1], path);
    else
        find_and_count(c, path, hash, targets);
}

static void take_small(struct hp_complete *c, const struct hp_path *paths, size_t n,
                       const uint64_t *targets)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hp_path_hash(&paths[i]);
        uint32_t place = c->index.slots ? c->index.slots[hash & c->index.mask].place : 0;
        count_at(c, place, &paths[i], hash, targets);
    }
}

/* At most CHUNK of them. */
static void take(struct hp_complete *c, const struct hp_path *paths, size_t n,
                 const uint64_t *targets)
{
    uint64_t hashes[CHUNK];
    uint32_t places[CHUNK];
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hp_path_hash(&paths[i]);
        __builtin_prefetch(&c->index.slots[hashes[i] & c->index.mask]);
    }
    for (size_t i = 0; i < n; i++) {
        places[i] = c->index.slots[hashes[i] & c->index.mask].place;
        if (places[i]) {
            __builtin_prefetch(&c->paths[places[i] - 1], 1);
            __builtin_prefetch(&c->paths[places[i] - 1].events, 1);
        }
    }
    for (size_t i = 0; i < n; i++)
        count_at(c, places[i], &paths[i], hashes[i], targets);
}

static void on_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct hp_complete *c = (struct hp_complete *)sink;
    if (c->n < SMALL) {
        take_small(c, paths->paths, paths->n, paths->targets);
        return;
    }
    for (size_t at = 0; at < paths->n; at += CHUNK) {
        size_t rest = paths->n - at;
        take(c, paths->paths + at, rest < CHUNK ? rest : CHUNK, paths->targets);
    }
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Adds executions up that were counted by group. */
static void settle_groups(struct hp_complete *c)
{
    for (size_t i = 0; i < c->cap_groups; i++) {
        struct group *group = &c->groups[i];
        for (uint32_t k = 0; group->times && k < group->n; k++)
            c->times[c->group_places[group->first + k]] += group->times;
        group->times = 0;
    }
}

/* Adds executions up that were counted by number. */
static void settle(struct hp_complete *c)
{
    settle_groups(c);
    for (size_t i = 0; i < c->n && i < c->cap_times; i++) {
        struct hp_path_count *sum = &c->paths[i];
        sum->count += c->times[i];
        sum->insns += c->times[i] * sum->path.insns;
        sum->events += c->times[i] * sum->path.events;
        c->times[i] = 0;
    }
}

static void forget_numbers(struct hp_complete *c)
{
    settle_groups(c);
    if (c->places)
        memset(c->places, 0, c->cap_places * sizeof *c->places);
    if (c->groups)
        memset(c->groups, 0, c->cap_groups * sizeof *c->groups);
    c->n_group_places = 0;
}

/* A path whose place is not known. */
static __attribute__((noinline)) void count_known(struct hp_complete *c, uint32_t number,
                                                  const struct hp_path *path)
{
    uint64_t hash = hp_path_hash(path);
    find_and_count(c, path, hash, NULL);
    uint32_t place = hp_path_index_find(&c->index, c->paths, path, hash);
    if (place != HP_NO_ID && c->paths[place].path.insns == path->insns &&
        c->paths[place].path.events == path->events &&
        hp_grow(&c->times, &c->cap_times, c->n, sizeof *c->times) == HP_OK)
        c->places[number] = place + 1;
}

static inline void count_number(struct hp_complete *c, const struct hp_known_paths *known,
                                uint32_t number)
{
    uint32_t place = c->places[number];
    if (__builtin_expect(place, 1))
        c->times[place - 1]++;
    else
        count_known(c, number, &known->known[number].path);
}

/* A group whose places are not known: if all its paths have one, they are from now on. */
static __attribute__((noinline)) void
count_group(struct hp_complete *c, const struct hp_known_paths *known, uint32_t number)
{
    const struct hp_path_group *from = &known->groups[number];
    const uint32_t *list = known->lists + from->first;
    bool placed = hp_grow(&c->group_places, &c->cap_group_places, c->n_group_places + from->n,
                          sizeof *c->group_places) == HP_OK;
    for (uint32_t i = 0; i < from->n; i++) {
        count_number(c, known, list[i]);
        placed = placed && c->places[list[i]];
        if (placed)
            c->group_places[c->n_group_places + i] = c->places[list[i]] - 1;
    }
    if (!placed)
        return;
    c->groups[number] = (struct group){.first = (uint32_t)c->n_group_places, .n = from->n};
    c->n_group_places += from->n;
}

/* Has room for all numbers. */
static bool know(struct hp_complete *c, const struct hp_known_paths *known)
{
    if (c->source != known->source)
        forget_numbers(c);
    c->source = known->source;
    return hp_grow(&c->places, &c->cap_places, known->n_known, sizeof *c->places) == HP_OK &&
           hp_grow(&c->groups, &c->cap_groups, known->n_groups, sizeof *c->groups) == HP_OK;
}

static void count_path(struct hp_complete *c, const struct hp_path *path)
{
    find_and_count(c, path, hp_path_hash(path), NULL);
}

static void count_without_room(struct hp_complete *c, const struct hp_known_paths *known)
{
    for (size_t i = 0; i < known->n; i++) {
        uint32_t number = known->numbers[i];
        if (!(number & HP_PATH_GROUP)) {
            count_path(c, &known->known[number].path);
            continue;
        }
        const struct hp_path_group *group = &known->groups[number & ~HP_PATH_GROUP];
        for (uint32_t k = 0; k < group->n; k++)
            count_path(c, &known->known[known->lists[group->first + k]].path);
    }
}

static void on_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    struct hp_complete *c = (struct hp_complete *)sink;
    if (!know(c, known)) {
        count_without_room(c, known);
        return;
    }
    for (size_t i = 0; i < known->n; i++) {
        uint32_t number = known->numbers[i];
        if (!(number & HP_PATH_GROUP))
            count_number(c, known, number);
        else if (__builtin_expect(c->groups[number & ~HP_PATH_GROUP].n, 1))
            c->groups[number & ~HP_PATH_GROUP].times++;
        else
            count_group(c, known, number & ~HP_PATH_GROUP);
    }
}

/* ---------------------------------------------------------------------------------------------- */

enum hp_err hp_complete_new(uint64_t max_paths, struct hp_complete **complete)
{
    if (max_paths > HP_PATH_INDEX_MAX)
        return hp_fail(HP_ERR_INVALID, "paths: a bound of %llu paths: %u are possible",
                       (unsigned long long)max_paths, HP_PATH_INDEX_MAX);
    struct hp_complete *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->sink.paths = on_paths;
    c->sink.known = on_known;
    c->sink.groups = true;
    c->max_paths = max_paths ? max_paths : HP_COMPLETE_DEFAULT;
    *complete = c;
    return HP_OK;
}

void hp_complete_free(struct hp_complete *c)
{
    if (!c)
        return;
    hp_path_index_fini(&c->index);
    free(c->paths);
    free(c->targets);
    free(c->places);
    free(c->times);
    free(c->groups);
    free(c->group_places);
    free(c);
}

struct hp_path_sink *hp_complete_sink(struct hp_complete *complete)
{
    return &complete->sink;
}

const struct hp_path_count *hp_complete_paths(struct hp_complete *complete, size_t *n)
{
    settle(complete);
    *n = complete->n;
    return complete->paths;
}

const uint64_t *hp_complete_targets(const struct hp_complete *complete)
{
    return complete->targets;
}

struct hp_path_count hp_complete_lost(const struct hp_complete *complete)
{
    return complete->lost;
}

void hp_complete_forget_numbers(struct hp_complete *c)
{
    settle(c);
    free(c->places);
    free(c->times);
    free(c->groups);
    free(c->group_places);
    c->places = c->group_places = NULL;
    c->times = NULL;
    c->groups = NULL;
    c->cap_places = c->cap_times = c->cap_groups = 0;
    c->n_group_places = c->cap_group_places = 0;
}

void hp_complete_clear(struct hp_complete *c)
{
    hp_path_index_clear(&c->index);
    c->n = 0;
    c->n_targets = 0;
    c->lost = (struct hp_path_count){0};
    forget_numbers(c);
    if (c->times)
        memset(c->times, 0, c->cap_times * sizeof *c->times);
}
