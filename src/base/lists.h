// SPDX-License-Identifier: MIT
/*
 * Lists of things by owner: both are indices, UINT32_MAX is none. Filled from the last thing to the
 * first, each list is in the order of its things:
 *
 *     struct hp_lists lists = {0};
 *     HP_TRY(hp_lists_init(&lists, n_owners, n));
 *     for (uint32_t i = n; i-- > 0;)
 *         hp_lists_prepend(&lists, owner_of(i), i);
 *     for (uint32_t i = hp_lists_first(&lists, owner); i != UINT32_MAX; i = lists.next[i])
 */
#ifndef HP_BASE_LISTS_H
#define HP_BASE_LISTS_H

#include "hotpath/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The position of something in an array of `n` plus one more, which is for none. */
static inline size_t hp_slot(uint32_t index, size_t n)
{
    return index == UINT32_MAX ? n : index;
}

struct hp_lists {
    size_t n_owners;
    uint32_t *first; /* by owner; the last one for things without an owner */
    uint32_t *next;  /* by thing; in the same allocation */
};

static inline enum hp_err hp_lists_init(struct hp_lists *lists, size_t n_owners, size_t n)
{
    lists->n_owners = n_owners;
    lists->first = malloc((n_owners + 1 + n) * sizeof *lists->first);
    if (!lists->first)
        return hp_fail_nomem();
    memset(lists->first, 0xff, (n_owners + 1) * sizeof *lists->first);
    lists->next = lists->first + n_owners + 1;
    return HP_OK;
}

static inline void hp_lists_fini(struct hp_lists *lists)
{
    free(lists->first);
}

static inline uint32_t hp_lists_first(const struct hp_lists *lists, uint32_t owner)
{
    return lists->first[hp_slot(owner, lists->n_owners)];
}

static inline void hp_lists_prepend(struct hp_lists *lists, uint32_t owner, uint32_t thing)
{
    uint32_t *first = &lists->first[hp_slot(owner, lists->n_owners)];
    lists->next[thing] = *first;
    *first = thing;
}

#endif
