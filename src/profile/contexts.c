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
#include "base/base.h"
#include "base/keyed.h"
#include "profile/profile_impl.h"

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

/* The depth of each context, from 1 (malloc'd, also on failure). */
static enum hp_err measure_depths(const struct hp_profile *p, uint8_t **depths, uint32_t *culprit)
{
    _Static_assert(HP_CONTEXT_DEPTH <= UINT8_MAX, "a depth must fit");
    HP_TRY(hp_new(depths, p->n_contexts + 1, 1));
    for (*culprit = 0; *culprit < p->n_contexts; ++*culprit)
        if (!measure_depth(p, *culprit, *depths))
            return hp_fail(HP_ERR_INVALID, "context %u is in itself, or more than %d deep",
                           *culprit, HP_CONTEXT_DEPTH);
    return HP_OK;
}

enum hp_err hp_contexts_check_depth(const struct hp_profile *p, uint32_t *culprit)
{
    uint8_t *depths HP_CLEANUP(hp_free) = NULL;
    return measure_depths(p, &depths, culprit);
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

struct work {
    const struct hp_pcontext *old;
    const uint8_t *depths;
    struct hp_keyed *sorted, *room;
    size_t n;
};

/* One depth after the other: the new indices of the parents are known then. */
static size_t join_contexts(const struct work *w, struct hp_pcontext *joined, uint32_t *map)
{
    struct hp_keyed *sorted = w->sorted;
    size_t n_joined = 0;
    for (size_t at = 0, end; at < w->n; at = end) {
        uint8_t depth = w->depths[sorted[at].index];
        for (end = at; end < w->n && w->depths[sorted[end].index] == depth; end++) {
            const struct hp_pcontext *c = &w->old[sorted[end].index];
            sorted[end].key = context_key(hp_renumbered(map, c->parent), c->function);
        }
        hp_keyed_sort(sorted + at, w->room, end - at);
        for (size_t i = at; i < end; i++) {
            uint64_t key = sorted[i].key;
            if (i == at || sorted[i - 1].key != key)
                joined[n_joined++] = (struct hp_pcontext){(uint32_t)(key >> 32) - 1, (uint32_t)key};
            map[sorted[i].index] = (uint32_t)(n_joined - 1);
        }
    }
    return n_joined;
}

enum hp_err hp_contexts_order(struct hp_profile *p, uint32_t **map)
{
    size_t n = p->n_contexts;
    uint32_t culprit;
    uint8_t *depths HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_map_new(n, map));
    if (hp_contexts_in_order(p))
        return HP_OK;
    HP_TRY(measure_depths(p, &depths, &culprit));
    struct hp_keyed *sorted HP_CLEANUP(hp_free) = malloc(n * sizeof *sorted);
    struct hp_keyed *room HP_CLEANUP(hp_free) = malloc(n * sizeof *room);
    struct hp_pcontext *old HP_CLEANUP(hp_free) = malloc(n * sizeof *old);
    if (!sorted || !room || !old)
        return hp_fail_nomem();
    memcpy(old, p->contexts, n * sizeof *old);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct hp_keyed){depths[i], i};
    hp_keyed_sort(sorted, room, n);
    p->n_contexts = join_contexts(&(struct work){old, depths, sorted, room, n}, p->contexts, *map);
    return HP_OK;
}
