// SPDX-License-Identifier: MIT
/*
 * Calling contexts: are they sound, and their normal form.
 *
 * A tree in a file may have any shape, so it is walked without recursion, and one that is deeper
 * than any that is recorded is refused: who reads a profile may walk up and down it freely.
 *
 * The normal form goes by depth: first those without a parent, by function, then the children of
 * the first of these, by function, and so on. So it is enough to look at neighbours to see that
 * contexts are in order: their (parent, function) grows, and so parents come first and no two
 * children of one parent have the same function.
 */
#include "profile/profile_impl.h"

#include <stdlib.h>

/* --- Depth ------------------------------------------------------------------------------------ */

/* Walks up from `start` to where the depth is known, and enters it on the way. */
static bool measure_depth(const struct hp_profile *p, uint32_t start, uint8_t *depths)
{
    unsigned depth = 0;
    uint32_t at = start;
    for (; at != HP_PROFILE_NONE && !depths[at]; at = p->contexts[at].parent)
        if (++depth > HP_CONTEXT_DEPTH)
            return false; /* or a circle */
    depth += at == HP_PROFILE_NONE ? 0 : depths[at];
    if (depth > HP_CONTEXT_DEPTH)
        return false;
    for (uint32_t i = start; i != at; i = p->contexts[i].parent)
        depths[i] = (uint8_t)depth--;
    return true;
}

/* The depth of each context, from 1 (malloc'd). */
static enum hp_err measure_depths(const struct hp_profile *p, uint8_t **depths, uint32_t *culprit)
{
    _Static_assert(HP_CONTEXT_DEPTH <= UINT8_MAX, "a depth must fit");
    *depths = calloc(p->n_contexts + 1, 1);
    if (!*depths)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_contexts; i++)
        if (!measure_depth(p, i, *depths)) {
            free(*depths);
            *culprit = i;
            return hp_fail(HP_ERR_INVALID, "context %u is in itself, or more than %d deep", i,
                           HP_CONTEXT_DEPTH);
        }
    return HP_OK;
}

/* --- Checks ----------------------------------------------------------------------------------- */

enum hp_err hp_contexts_check_depth(const struct hp_profile *p, uint32_t *culprit)
{
    uint8_t *depths;
    if (p->n_contexts == 0)
        return HP_OK;
    HP_TRY(measure_depths(p, &depths, culprit));
    free(depths);
    return HP_OK;
}

/* HP_PROFILE_NONE comes first as a parent, and last as a function. */
static uint64_t context_key(uint32_t parent, uint32_t function)
{
    return (uint64_t)(uint32_t)(parent + 1) << 32 | function;
}

bool hp_contexts_in_order(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_contexts; i++) {
        const struct hp_pcontext *c = &p->contexts[i];
        if (c->parent != HP_PROFILE_NONE && c->parent >= i)
            return false;
        if (i > 0 &&
            context_key(c[-1].parent, c[-1].function) >= context_key(c->parent, c->function))
            return false;
    }
    return true;
}

/* --- Order ------------------------------------------------------------------------------------ */

struct sorted {
    uint64_t key;
    uint32_t old;
};

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    return hp_compare_u64(x->key, y->key);
}

/* starts[d]: where in `by_depth` the contexts of depth d + 1 begin. */
static void sort_by_depth(const uint8_t *depths, size_t n, size_t *starts, struct sorted *by_depth)
{
    for (size_t i = 0; i < n; i++)
        starts[depths[i]]++;
    for (size_t d = 1; d <= HP_CONTEXT_DEPTH; d++)
        starts[d] += starts[d - 1];
    for (uint32_t i = 0; i < n; i++)
        by_depth[starts[depths[i] - 1]++].old = i;
    memmove(starts + 1, starts, HP_CONTEXT_DEPTH * sizeof *starts);
    starts[0] = 0;
}

/* One depth after the other: the new indices of the parents are known then. */
static void join_contexts(const struct hp_profile *p, const size_t *starts, struct sorted *sorted,
                          struct hp_pcontext *joined, size_t *n_joined, uint32_t *map)
{
    for (size_t d = 0; d < HP_CONTEXT_DEPTH; d++) {
        struct sorted *level = sorted + starts[d];
        size_t n = starts[d + 1] - starts[d];
        for (size_t i = 0; i < n; i++) {
            const struct hp_pcontext *c = &p->contexts[level[i].old];
            uint32_t parent = c->parent == HP_PROFILE_NONE ? c->parent : map[c->parent];
            level[i].key = context_key(parent, c->function);
        }
        if (n)
            qsort(level, n, sizeof *level, compare_sorted);
        for (size_t i = 0; i < n; i++) {
            if (i == 0 || level[i - 1].key != level[i].key)
                joined[(*n_joined)++] = (struct hp_pcontext){(uint32_t)(level[i].key >> 32) - 1,
                                                             (uint32_t)level[i].key};
            map[level[i].old] = (uint32_t)(*n_joined - 1);
        }
    }
}

static enum hp_err order_contexts(struct hp_profile *p, uint32_t *map)
{
    size_t n = p->n_contexts, n_joined = 0, starts[HP_CONTEXT_DEPTH + 1] = {0};
    uint8_t *depths;
    uint32_t culprit;
    HP_TRY(measure_depths(p, &depths, &culprit));
    struct sorted *sorted = malloc(n * sizeof *sorted);
    struct hp_pcontext *joined = malloc(n * sizeof *joined);
    enum hp_err err = sorted && joined ? HP_OK : hp_fail_nomem();
    if (err == HP_OK) {
        sort_by_depth(depths, n, starts, sorted);
        join_contexts(p, starts, sorted, joined, &n_joined, map);
        memcpy(p->contexts, joined, n_joined * sizeof *joined);
        p->n_contexts = n_joined;
    }
    free(joined);
    free(sorted);
    free(depths);
    return err;
}

enum hp_err hp_contexts_order(struct hp_profile *p, uint32_t **map)
{
    *map = malloc((p->n_contexts + 1) * sizeof **map);
    if (!*map)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_contexts; i++)
        (*map)[i] = i;
    return hp_contexts_in_order(p) ? HP_OK : order_contexts(p, *map);
}
