// SPDX-License-Identifier: MIT
/* What the parts of unfolding share: see unfold.c. */
#ifndef HP_PROFILE_UNFOLD_IMPL_H
#define HP_PROFILE_UNFOLD_IMPL_H

#include "base/map64.h"
#include "profile/profile_impl.h"

#include <stdlib.h>

/* A function inlined into another, or into the one that has the code, over all places where that
 * is so; or (`parent` HP_PROFILE_NONE) the latter itself. */
struct hp_unfold_node {
    uint32_t function; /* that is shown */
    uint32_t parent;
    uint32_t owner; /* the function that has the code */
    uint32_t next;  /* of that one; HP_PROFILE_NONE: the last */
};

/* What a node comes to in a thread. */
struct hp_unfold_cell {
    uint32_t node, thread;
    uint64_t self, entries;
    uint64_t self_left, entries_left; /* that no context has yet */
};

/* Calls of a function from a node. */
struct hp_unfold_site {
    uint32_t caller, callee; /* functions; `caller` has the code */
    uint32_t node;
    uint64_t count; /* of all threads */
};

/* What becomes of a function, or a pair of functions, in a thread. */
struct hp_unfold_change {
    uint32_t item, thread;
    uint64_t less, more; /* self */
    uint64_t calls;
    uint64_t inclusive;
};

struct hp_unfold_changes {
    struct hp_map64 by_key; /* item << 32 | thread */
    struct hp_unfold_change *changes;
    size_t n, capacity;
};

struct hp_unfold {
    struct hp_profile *p;
    size_t n_functions; /* that have code */
    struct hp_unfold_node *nodes;
    size_t n_nodes, cap_nodes;
    uint32_t *roots; /* by function: its node; HP_PROFILE_NONE: nothing was inlined into it */
    uint32_t *first; /* by function: its first node but the root */
    struct hp_map64 cell_at; /* node << 32 | thread */
    struct hp_unfold_cell *cells;
    size_t n_cells, cap_cells;
    struct hp_unfold_site *sites; /* by caller, callee, most calls first */
    size_t n_sites, cap_sites;
    struct hp_unfold_changes site_counts; /* by site */
    struct hp_unfold_changes functions, calls;
    struct hp_map64 pairs; /* caller << 32 | callee: call */
};

/* Nodes, cells and sites, from the code that was executed. */
enum hp_err hp_unfold_code(struct hp_unfold *u);

/* NULL: there is none. */
struct hp_unfold_cell *hp_unfold_find_cell(const struct hp_unfold *u, uint32_t node,
                                           uint32_t thread);

/* The sites of a pair, `*n` of them; NULL: none is known. */
const struct hp_unfold_site *hp_unfold_sites(const struct hp_unfold *u, uint32_t caller,
                                             uint32_t callee, size_t *n);

static inline void hp_unfold_changes_fini(struct hp_unfold_changes *changes)
{
    hp_map64_fini(&changes->by_key);
    free(changes->changes);
}

/* The part of what was called from the first sites of a pair, `n` of them, in a thread, that the
 * last of these has: a weight, and that of all. */
void hp_unfold_weigh(const struct hp_unfold *u, const struct hp_unfold_site *sites, size_t n,
                     uint32_t thread, uint64_t *weight, uint64_t *all);

enum hp_err hp_unfold_change(struct hp_unfold_changes *changes, uint32_t item, uint32_t thread,
                             struct hp_unfold_change **change);

/* The profile's row of a pair of functions, added when there is none. */
enum hp_err hp_unfold_pair(struct hp_unfold *u, uint32_t caller, uint32_t callee, uint32_t *call);

/* Contexts, and from them what is inclusive of inlined functions. */
enum hp_err hp_unfold_contexts(struct hp_unfold *u);

/* Takes the part `weight` of what is left of an amount, for which so much weight is left: the last
 * one gets the rest. */
static inline uint64_t hp_unfold_take(uint64_t *left, uint64_t weight, uint64_t weight_left)
{
    uint64_t part = weight_left ? hp_part_of(*left, weight, weight_left) : 0;
    *left -= part;
    return part;
}

#endif
