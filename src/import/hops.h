// SPDX-License-Identifier: MIT
/*
 * Hops: control came to an address, ran straight to a branch, and that led elsewhere. A stack is a
 * row of hops, each of which is looked up once, by its three addresses; what else there is to know
 * of it is found out when it is first seen, and when all samples have been read.
 */
#ifndef HP_IMPORT_HOPS_H
#define HP_IMPORT_HOPS_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How an id is kept beside its counts and among steps. */
#define HP_HOP_BEGINS (UINT32_C(1) << 31) /* it is where a stretch begins */
#define HP_HOP_FIRST  (UINT32_C(1) << 30) /* of a stack; steps only */
#define HP_HOP_ID     (HP_HOP_FIRST - 1)

#define HP_HOP_FROM_NOWHERE UINT64_MAX /* in the place of an address that is not known */

struct hp_import_hop_slot {
    uint64_t before, from, to;
    uint32_t count; /* modulo 2^32 */
    uint32_t hop;   /* id and HP_HOP_BEGINS; UINT32_MAX: the slot is empty */
};

/* Those of a thread in a view. All zero is an empty table. */
struct hp_import_hops {
    struct hp_import_hop_slot *slots;
    size_t n_slots, used; /* a power of two, at most half of them used */
    unsigned shift;       /* of a hash, to a slot */
};

/* Where the search for a hop begins. There are slots. */
static inline struct hp_import_hop_slot *hp_hops_home(const struct hp_import_hops *hops,
                                                      uint64_t before, uint64_t from, uint64_t to)
{
    uint64_t hash = (from * UINT64_C(0x9e3779b97f4a7c15)) ^ (to * UINT64_C(0xc2b2ae3d27d4eb4f));
    return &hops->slots[(hash + before * UINT64_C(0xd6e8feb86659fd93)) >> hops->shift];
}

static inline bool hp_hops_is(const struct hp_import_hop_slot *slot, uint64_t before, uint64_t from,
                              uint64_t to)
{
    return ((slot->before ^ before) | (slot->from ^ from) | (slot->to ^ to)) == 0;
}

/* The slot of a hop, or the empty one where it belongs. Of those that share a home, the most
 * frequent gets it. */
struct hp_import_hop_slot *hp_hops_slot(const struct hp_import_hops *hops, uint64_t before,
                                        uint64_t from, uint64_t to);

/* Makes sure that one more hop has room; slots may move. HP_ERR_NOMEM. */
enum hp_err hp_hops_room(struct hp_import_hops *hops);

void hp_hops_fini(struct hp_import_hops *hops);

/* The hops of all samples, in their order. */
struct hp_import_steps {
    uint32_t **chunks;
    size_t n_chunks, cap_chunks;
    uint32_t *at, *end; /* where the next one is put */
    bool keep;          /* else there are never more than those of a stack */
};

/* Makes sure that `n` steps, few enough for a chunk, have room behind `at`. HP_ERR_NOMEM. */
enum hp_err hp_steps_room(struct hp_import_steps *steps, size_t n);

void hp_steps_fini(struct hp_import_steps *steps);

/* What a stack shows of the order of execution. A stretch begins with a branch, or where control
 * came from outside, and goes on as long as each run between branches is known. So a stack is a
 * stretch, or several. */
struct hp_import_stretch {
    const uint32_t *hops; /* steps; the first one is the beginning */
    size_t n;
    uint32_t sample; /* counted from 1 */
    /* To find the next one. */
    size_t chunk;
    const uint32_t *next;
};

/* The next stretch, of all zero the first one; false: there are no more. */
bool hp_steps_next(const struct hp_import_steps *steps, struct hp_import_stretch *stretch);

#endif
