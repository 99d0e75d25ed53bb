// SPDX-License-Identifier: MIT
/*
 * Paths counted in the cache: the engine's side of docs/counted-paths.md.
 *
 * A thread that counts runs *nodes*: segments that are translated by address and by the path that
 * leads there. A thread in words runs twins, whose exits lead to the gates: words are rare in this
 * mode, and every exit is a chance to count.
 *
 * The shadow stack of a thread has the *return places* of the calls that it is in: what a call
 * returns to is a node of its caller's path. Its entries are addresses of return places, which are
 * below 2 GiB. The first entry is one to which nothing returns.
 */
#ifndef HP_NATIVE_PATHS_H
#define HP_NATIVE_PATHS_H

#include "engine/native/inner/cache.h"
#include "engine/paths.h"

struct hp_return_place {
    uint64_t code;  /* where to continue: with rcx saved, and the place's address in rcx */
    uint64_t minus; /* the return address, negated */
    struct hp_path_node node;
    uint32_t segment; /* block of the call */
    uint32_t next;    /* in the table: number, 0: none */
};

bool hp_paths_start(void);
void hp_paths_thread(struct hp_self *self); /* a thread begins: in words */

/* Whether a fault at the address says that the shadow stack is full. */
bool hp_paths_is_full(const struct hp_self *self, uint64_t address);
/* What the call calls that the thread is making at the end of the piece. */
uint64_t hp_paths_called(const struct hp_self *self, const struct hp_cached_piece *piece);

/* The place where a call returns to `behind`, at this node of its caller's path. Its address; 0: no
 * room. */
uint32_t hp_place_for(const struct hp_path_node *node, uint32_t segment, uint64_t behind);

/* Segments are removed, or all are: places lead to the gate again. */
void hp_places_forget(const struct hp_seg *seg);
void hp_places_flushed(void);

/* A number for the function of an address, for which rule 7 of docs/paths.md is decided; 0: none.
 * UINT32_MAX: not known, so nothing may rely on it. `*is_start`: the function starts there. */
uint32_t hp_paths_function(struct hp_self *self, uint64_t address, bool *is_start);

/* The thread stops counting: hands its stack over to the reader. It has run the last block of the
 * prefix before self->node to its end. Nothing happens in words. */
void hp_paths_hand_over(struct hp_self *self);

/* How a thread leaves a segment. */
struct hp_left {
    struct hp_exit exit;
    struct hp_cached_piece piece; /* that ends there */
};

/* Reads it: while the thread counts as in the cache, which may be flushed later. */
struct hp_left hp_paths_left(uint32_t exit);

/* The thread goes to `to`: what to enter next, translated if necessary. With the lock held. */
uint32_t hp_paths_next(struct hp_self *self, const struct hp_left *left, uint64_t to,
                       const char **why);

/* Makes indirect transfers find the node, which starts a path. */
void hp_paths_land(struct hp_self *self, uint32_t segment);

/* A call has returned to a place that leads to the gate. With the lock held. */
uint32_t hp_paths_return(struct hp_self *self, const struct hp_left *left, const char **why);

/* The thread is at the end of the prefix's last block, or has run `cut` instructions of it. */
static inline void hp_paths_at(struct hp_self *self, uint32_t prefix, uint32_t segment,
                               uint32_t cut)
{
    self->prefix = prefix;
    self->prefix_segment = segment;
    self->prefix_cut = cut;
}

/* The thread is about to enter the node. */
void hp_paths_enter(struct hp_self *self, uint32_t segment);

/* The thread continues at `pc`, after a system call or something else that is not a branch. */
uint32_t hp_paths_go_on(struct hp_self *self, uint64_t pc, const char **why);

#endif
