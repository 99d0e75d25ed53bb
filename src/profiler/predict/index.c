// SPDX-License-Identifier: MIT
/*
 * The index of paths: open addressing over small slots, the paths themselves in an array in order
 * of appearance.
 *
 * A batch is looked up in three passes that overlap memory accesses: hash and prefetch the slot;
 * read the slot and prefetch the path; compare. Only the last pass changes anything.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "hotpath/predict.h"

#include <stdlib.h>
#include <string.h>

#define LINE        64
#define FIRST_SLOTS 1024
#define FIRST_PATHS 512

_Static_assert(sizeof(struct hp_indexed_path) == LINE, "a path is a cache line");

/* id + 1, 0: free; and the upper half of the hash. */
struct slot {
    uint32_t id, tag;
};

struct hp_index {
    struct slot *slots;
    size_t mask;                   /* slots - 1 */
    struct hp_indexed_path *paths; /* each in its own cache line */
    size_t n_paths, cap_paths;
    uint64_t max_paths, mark;
    uint64_t *targets;
    size_t n_targets, cap_targets;
    struct hp_map64 head_at; /* start -> head */
    uint32_t n_heads;
    bool out_of_memory;
};

enum hp_err hp_index_new(uint64_t max_paths, uint64_t mark, struct hp_index **index)
{
    struct hp_index *x = calloc(1, sizeof *x);
    if (!x)
        return hp_fail_nomem();
    x->max_paths = max_paths ? max_paths : HP_INDEX_DEFAULT;
    if (x->max_paths > HP_NO_ID - 1)
        x->max_paths = HP_NO_ID - 1;
    x->mark = mark;
    x->slots = calloc(FIRST_SLOTS, sizeof *x->slots);
    x->mask = FIRST_SLOTS - 1;
    if (!x->slots) {
        free(x);
        return hp_fail_nomem();
    }
    *index = x;
    return HP_OK;
}

void hp_index_free(struct hp_index *index)
{
    if (!index)
        return;
    free(index->slots);
    free(index->paths);
    free(index->targets);
    hp_map64_fini(&index->head_at);
    free(index);
}

struct hp_indexed_path *hp_index_paths(const struct hp_index *index)
{
    return index->paths;
}

const uint64_t *hp_index_targets(const struct hp_index *index)
{
    return index->targets;
}

size_t hp_index_n_paths(const struct hp_index *index)
{
    return index->n_paths;
}

size_t hp_index_n_heads(const struct hp_index *index)
{
    return index->n_heads;
}

enum hp_err hp_index_check(const struct hp_index *index)
{
    return index->out_of_memory ? hp_fail_nomem() : HP_OK;
}

/* --- Looking up ------------------------------------------------------------------------------- */

static bool same(const struct hp_indexed_path *a, const struct hp_path *b)
{
    return a->start == b->start && a->outcomes == b->outcomes && a->targets == b->targets &&
           a->length == b->length && a->block == b->block;
}

static uint32_t find(const struct hp_index *x, const struct hp_path *path, uint64_t hash)
{
    for (size_t i = hash & x->mask;; i = (i + 1) & x->mask) {
        struct slot slot = x->slots[i];
        if (!slot.id)
            return HP_NO_ID;
        if (slot.tag == (uint32_t)(hash >> 32) && same(&x->paths[slot.id - 1], path))
            return slot.id - 1;
    }
}

uint32_t hp_index_find(const struct hp_index *index, const struct hp_path *path)
{
    return find(index, path, hp_path_hash(path));
}

uint32_t hp_index_find_head(const struct hp_index *index, uint64_t start)
{
    return hp_map64_get(&index->head_at, start);
}

/* --- Adding ----------------------------------------------------------------------------------- */

static void put_slot(struct slot *slots, size_t mask, uint64_t hash, uint32_t id)
{
    size_t i = hash & mask;
    while (slots[i].id)
        i = (i + 1) & mask;
    slots[i] = (struct slot){.id = id + 1, .tag = (uint32_t)(hash >> 32)};
}

static bool grow_slots(struct hp_index *x)
{
    size_t n = (x->mask + 1) * 2;
    struct slot *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < x->n_paths; i++) {
        const struct hp_indexed_path *p = &x->paths[i];
        struct hp_path path = {.start = p->start,
                               .outcomes = p->outcomes,
                               .targets = p->targets,
                               .block = p->block,
                               .length = p->length};
        put_slot(slots, n - 1, hp_path_hash(&path), (uint32_t)i);
    }
    free(x->slots);
    x->slots = slots;
    x->mask = n - 1;
    return true;
}

/* Not hp_grow(): a path must not span two cache lines. */
static bool grow_paths(struct hp_index *x)
{
    size_t cap = x->cap_paths ? x->cap_paths * 2 : FIRST_PATHS;
    void *paths;
    if (posix_memalign(&paths, LINE, cap * sizeof *x->paths) != 0)
        return false;
    if (x->n_paths)
        memcpy(paths, x->paths, x->n_paths * sizeof *x->paths);
    free(x->paths);
    x->paths = paths;
    x->cap_paths = cap;
    return true;
}

static bool make_room(struct hp_index *x, size_t n_targets)
{
    if (x->n_paths == x->cap_paths && !grow_paths(x))
        return false;
    if (x->n_paths + 1 > (x->mask + 1) / 2 && !grow_slots(x))
        return false;
    return hp_grow(&x->targets, &x->cap_targets, x->n_targets + n_targets, sizeof *x->targets) ==
               HP_OK &&
           x->n_targets + n_targets < UINT32_MAX;
}

uint32_t hp_index_head(struct hp_index *index, uint64_t start)
{
    uint32_t head = hp_map64_get(&index->head_at, start);
    if (head != HP_MAP64_NONE)
        return head;
    if (index->n_heads == HP_MAP64_NONE - 1 ||
        hp_map64_put(&index->head_at, start, index->n_heads) != HP_OK) {
        index->out_of_memory = true;
        return HP_NO_ID;
    }
    return index->n_heads++;
}

static __attribute__((noinline)) uint32_t add(struct hp_index *x, const struct hp_path *path,
                                              const uint64_t *targets, uint64_t hash)
{
    if (x->n_paths >= x->max_paths)
        return HP_NO_ID;
    uint32_t head = HP_NO_ID;
    if (!make_room(x, path->n_targets) || (head = hp_index_head(x, path->start)) == HP_NO_ID) {
        x->out_of_memory = true;
        return HP_NO_ID;
    }
    uint32_t id = (uint32_t)x->n_paths++;
    x->paths[id] = (struct hp_indexed_path){.start = path->start,
                                            .outcomes = path->outcomes,
                                            .targets = path->targets,
                                            .mark = x->mark,
                                            .block = path->block,
                                            .head = head,
                                            .first_target = (uint32_t)x->n_targets,
                                            .length = path->length,
                                            .n_targets = path->n_targets};
    if (path->n_targets)
        memcpy(x->targets + x->n_targets, targets, path->n_targets * sizeof *targets);
    x->n_targets += path->n_targets;
    put_slot(x->slots, x->mask, hash, id);
    return id;
}

uint32_t hp_index_intern(struct hp_index *index, const struct hp_path *path,
                         const uint64_t *targets)
{
    uint64_t hash = hp_path_hash(path);
    uint32_t id = find(index, path, hash);
    return id != HP_NO_ID ? id : add(index, path, targets, hash);
}

/* --- Batches ---------------------------------------------------------------------------------- */

/* The first path with the same tag, most likely the right one: an id, or HP_NO_ID. */
static uint32_t candidate(const struct hp_index *x, uint64_t hash)
{
    for (size_t i = hash & x->mask;; i = (i + 1) & x->mask) {
        struct slot slot = x->slots[i];
        if (!slot.id || slot.tag == (uint32_t)(hash >> 32))
            return slot.id - 1;
    }
}

static void add_some(struct hp_index *x, const struct hp_path *paths, size_t n,
                     const uint64_t *targets, uint32_t *ids)
{
    uint64_t hashes[HP_PATHS_MAX];
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hp_path_hash(&paths[i]);
        __builtin_prefetch(&x->slots[hashes[i] & x->mask]);
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = candidate(x, hashes[i]);
        if (ids[i] != HP_NO_ID)
            __builtin_prefetch(&x->paths[ids[i]], 1);
    }
    for (size_t i = 0; i < n; i++) {
        if (__builtin_expect(ids[i] != HP_NO_ID && same(&x->paths[ids[i]], &paths[i]), 1))
            continue;
        ids[i] = find(x, &paths[i], hashes[i]);
        if (ids[i] == HP_NO_ID)
            ids[i] = add(x, &paths[i], targets + paths[i].first_target, hashes[i]);
    }
}

void hp_index_add(struct hp_index *index, const struct hp_paths *paths, uint32_t *ids)
{
    for (size_t i = 0; i < paths->n; i += HP_PATHS_MAX) {
        size_t n = paths->n - i < HP_PATHS_MAX ? paths->n - i : HP_PATHS_MAX;
        add_some(index, paths->paths + i, n, paths->targets, ids + i);
    }
}
