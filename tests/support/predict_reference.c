// SPDX-License-Identifier: MIT
#include "predict_reference.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536

/* A list that grows. */
struct list {
    char *items;
    size_t n, room, size;
};

static void *list_add(struct list *list)
{
    if (list->n == list->room) {
        list->room = list->room ? list->room * 2 : 64;
        list->items = realloc(list->items, list->room * list->size);
        if (!list->items)
            abort();
    }
    return memset(list->items + list->n++ * list->size, 0, list->size);
}

static void *list_at(const struct list *list, size_t i)
{
    return list->items + i * list->size;
}

struct known_path {
    struct tested_path path;
    size_t next;      /* in the same bucket, + 1 */
    size_t predicted; /* after this many executions of any path; SIZE_MAX: never */
    uint64_t count;   /* path-profile's */
};

struct known_head {
    uint64_t start;
    size_t next;
    uint64_t count;
};

struct known_branch { /* and direction */
    struct hp_flow_branch branch;
    size_t next;
    uint64_t count;
    uint64_t follower; /* address of the next branch; 0: unknown */
};

struct predict_reference {
    struct hp_scheme_config config;
    uint32_t max_length;
    struct list paths, heads, branches, executions;
    size_t path_buckets[BUCKETS], head_buckets[BUCKETS], branch_buckets[BUCKETS];
    uint64_t operations, all_branches;
    struct tested_path predicted;
};

struct predict_reference *predict_reference_new(const struct hp_scheme_config *config,
                                                uint32_t max_length)
{
    struct predict_reference *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->config = *config;
    r->max_length = max_length;
    r->paths.size = sizeof(struct known_path);
    r->heads.size = sizeof(struct known_head);
    r->branches.size = sizeof(struct known_branch);
    r->executions.size = sizeof(size_t);
    return r;
}

void predict_reference_free(struct predict_reference *r)
{
    free(r->paths.items);
    free(r->heads.items);
    free(r->branches.items);
    free(r->executions.items);
    free(r);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static bool part_of_path(const struct hp_flow_branch *b)
{
    return b->indirect && b->taken && b->target > b->address;
}

static bool same_path(const struct tested_path *a, const struct tested_path *b)
{
    if (a->start != b->start || a->block != b->block || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct hp_flow_branch *x = &a->branches[i], *y = &b->branches[i];
        if (x->taken != y->taken || part_of_path(x) != part_of_path(y) ||
            (part_of_path(x) && x->target != y->target))
            return false;
    }
    return true;
}

static size_t bucket_of_path(const struct tested_path *path)
{
    uint64_t sum = path->start * 31 + path->n;
    for (uint32_t i = 0; i < path->n; i++)
        sum = sum * 33 + path->branches[i].taken +
              (part_of_path(&path->branches[i]) ? path->branches[i].target : 0);
    return (sum ^ sum >> 20) % BUCKETS;
}

static size_t find_path(struct predict_reference *r, const struct tested_path *path)
{
    size_t *bucket = &r->path_buckets[bucket_of_path(path)];
    for (size_t i = *bucket; i; i = ((struct known_path *)list_at(&r->paths, i - 1))->next)
        if (same_path(&((struct known_path *)list_at(&r->paths, i - 1))->path, path))
            return i - 1;
    struct known_path *new = list_add(&r->paths);
    *new = (struct known_path){.path = *path, .next = *bucket, .predicted = SIZE_MAX};
    return (*bucket = r->paths.n) - 1;
}

static struct known_head *find_head(struct predict_reference *r, uint64_t start)
{
    size_t *bucket = &r->head_buckets[(start ^ start >> 16) % BUCKETS];
    for (size_t i = *bucket; i; i = ((struct known_head *)list_at(&r->heads, i - 1))->next)
        if (((struct known_head *)list_at(&r->heads, i - 1))->start == start)
            return list_at(&r->heads, i - 1);
    struct known_head *new = list_add(&r->heads);
    *new = (struct known_head){.start = start, .next = *bucket};
    *bucket = r->heads.n;
    return new;
}

static struct known_branch *find_branch(struct predict_reference *r,
                                        const struct hp_flow_branch *branch)
{
    size_t *bucket = &r->branch_buckets[(branch->address ^ branch->address >> 16) % BUCKETS];
    for (size_t i = *bucket; i; i = ((struct known_branch *)list_at(&r->branches, i - 1))->next) {
        struct known_branch *known = list_at(&r->branches, i - 1);
        if (known->branch.address == branch->address && known->branch.target == branch->target &&
            known->branch.taken == branch->taken)
            return known;
    }
    struct known_branch *new = list_add(&r->branches);
    *new = (struct known_branch){.branch = *branch, .next = *bucket};
    *bucket = r->branches.n;
    return new;
}

/* --- Schemes ---------------------------------------------------------------------------------- */

/* The direction with the highest count. The buckets have the newest first, so the last of equals is
 * the oldest. */
static struct known_branch *likeliest(struct predict_reference *r, uint64_t address)
{
    struct known_branch *best = NULL;
    size_t i = r->branch_buckets[(address ^ address >> 16) % BUCKETS];
    while (i) {
        struct known_branch *known = list_at(&r->branches, i - 1);
        if (known->branch.address == address && (!best || known->count >= best->count))
            best = known;
        i = known->next;
    }
    return best;
}

static const struct tested_path *boa_follow(struct predict_reference *r,
                                            const struct tested_path *path)
{
    struct tested_path *made = &r->predicted;
    uint64_t address = path->branches[0].address;
    *made = (struct tested_path){.start = path->start, .block = path->block};
    for (;;) {
        struct known_branch *way = likeliest(r, address);
        made->branches[made->n++] = way->branch;
        if ((way->branch.taken && way->branch.target <= way->branch.address) ||
            made->n == r->max_length)
            break;
        if (!way->follower)
            return NULL;
        address = way->follower;
    }
    r->operations += made->n;
    struct known_path *known = list_at(&r->paths, find_path(r, made));
    if (known->predicted != SIZE_MAX)
        return NULL;
    known->predicted = r->executions.n;
    return made;
}

static const struct tested_path *run_boa(struct predict_reference *r,
                                         const struct tested_path *path)
{
    r->operations += 1 + path->n;
    for (uint32_t i = 0; i < path->n; i++) {
        struct hp_flow_branch branch = path->branches[i];
        if (branch.indirect && branch.taken && !part_of_path(&branch))
            branch.target = 0; /* backward is one direction, whatever the target */
        struct known_branch *known = find_branch(r, &branch);
        known->count++;
        if (!known->follower && i + 1 < path->n)
            known->follower = path->branches[i + 1].address;
    }
    struct known_head *head = find_head(r, path->start);
    if (++head->count <= r->config.delay)
        return NULL;
    head->count = 0;
    return path->n ? boa_follow(r, path) : NULL;
}

static bool run_net(struct predict_reference *r, const struct tested_path *path)
{
    struct known_head *head = find_head(r, path->start);
    head->count++;
    r->operations++;
    if (head->count <= r->config.delay)
        return false;
    if (!r->config.keep)
        head->count = 0;
    r->operations += path->n;
    return true;
}

static bool run_path_profile(struct predict_reference *r, size_t id)
{
    struct known_path *known = list_at(&r->paths, id);
    known->count++;
    r->operations += known->path.n + 1;
    return known->count > r->config.delay;
}

const struct tested_path *predict_reference_run(struct predict_reference *r,
                                                const struct tested_path *path)
{
    size_t id = find_path(r, path);
    size_t *execution = list_add(&r->executions);
    *execution = id;
    r->all_branches += path->n;
    if (((struct known_path *)list_at(&r->paths, id))->predicted != SIZE_MAX)
        return NULL;
    if (strcmp(r->config.name, "boa") == 0)
        return run_boa(r, path);
    bool now = strcmp(r->config.name, "net") == 0 ? run_net(r, path) : run_path_profile(r, id);
    if (!now)
        return NULL;
    struct known_path *known = list_at(&r->paths, id);
    known->predicted = r->executions.n;
    r->predicted = *path;
    return &r->predicted;
}

/* --- Measures --------------------------------------------------------------------------------- */

static uint64_t count_heads(const struct predict_reference *r)
{
    struct predict_reference *seen = predict_reference_new(&r->config, r->max_length);
    for (size_t i = 0; i < r->paths.n; i++)
        find_head(seen, ((struct known_path *)list_at(&r->paths, i))->path.start);
    uint64_t n = seen->heads.n;
    predict_reference_free(seen);
    return n;
}

static uint64_t count_counters(const struct predict_reference *r)
{
    if (strcmp(r->config.name, "path-profile") != 0)
        return r->heads.n + r->branches.n;
    uint64_t n = 0;
    for (size_t i = 0; i < r->paths.n; i++)
        n += ((struct known_path *)list_at(&r->paths, i))->count != 0;
    return n;
}

/* Of one path, run `count` times and `after` of them after it was predicted. */
static void measure_path(const struct predict_reference *r, const struct known_path *path,
                         uint64_t count, uint64_t after, bool hot, struct hp_prediction *m)
{
    m->paths += count != 0;
    m->hot_paths += hot;
    m->hot_flow += hot ? count : 0;
    m->profiled += count - after;
    if (path->predicted == SIZE_MAX)
        return;
    int64_t delay = (int64_t)r->config.delay;
    m->predicted++;
    m->predicted_hot += hot;
    m->never_ran += count == 0;
    m->hits += hot ? after : 0;
    m->missed += hot ? count - after : 0;
    m->noise += hot ? 0 : after;
    m->closed_hits += hot ? (int64_t)count - delay : 0;
    m->closed_missed += hot ? delay : 0;
    m->closed_noise += hot ? 0 : (int64_t)count - delay;
}

void predict_reference_measure(const struct predict_reference *r, uint32_t hot,
                               struct hp_prediction *measures)
{
    uint64_t *counts = calloc(r->paths.n + 1, sizeof *counts);
    uint64_t *after = calloc(r->paths.n + 1, sizeof *after);
    if (!counts || !after)
        abort();
    for (size_t i = 0; i < r->executions.n; i++) {
        size_t id = *(size_t *)list_at(&r->executions, i);
        counts[id]++;
        /* SIZE_MAX is never exceeded */
        after[id] += i >= ((struct known_path *)list_at(&r->paths, id))->predicted;
    }
    *measures = (struct hp_prediction){.flow = r->executions.n,
                                       .heads = count_heads(r),
                                       .branches = r->all_branches,
                                       .cost = {count_counters(r), r->operations}};
    for (size_t i = 0; i < r->paths.n; i++)
        measure_path(r, list_at(&r->paths, i), counts[i], after[i],
                     counts[i] * 1000000 > r->executions.n * hot, measures);
    free(counts);
    free(after);
}

struct hp_path tested_descriptor(const struct tested_path *path, uint64_t *targets)
{
    struct hp_path made = {
        .start = path->start, .block = path->block, .events = 1, .length = (uint8_t)path->n};
    for (uint32_t i = 0; i < path->n; i++) {
        made.outcomes = made.outcomes << 1 | path->branches[i].taken;
        if (part_of_path(&path->branches[i])) {
            targets[made.n_targets++] = path->branches[i].target;
            made.targets = hp_path_hash_target(made.targets, path->branches[i].target);
        }
    }
    return made;
}
