// SPDX-License-Identifier: MIT
/*
 * Legs: with loops, a run of blocks is divided into the parts that it spends in one frame. A leg
 * leaves the stack as it was: its operations stay in the frame, or are excursions from it. What it
 * means for loops is always the same while the loops are: so many iterations more of this loop, an
 * execution of that loop in a function that was called. It is worked out once for each version of
 * the loops, and then applied.
 *
 * What else a leg adds (to contexts, to the blocks from which calls were made, under a cover) is
 * always the same from one context and under one cover. So it is counted, like an excursion, and
 * added up in the end.
 *
 * Where that does not hold (recursion inside a leg, or into a function that it calls), the
 * operations are shown one by one, every time.
 */
#ifndef HP_PROFILER_EXACT_LEGS_H
#define HP_PROFILER_EXACT_LEGS_H

#include "profiler/exact/loops.h"

/* Divides the `n` operations of a run into legs, and stores both. `last`: what to watch at its
 * end. */
void hp_legs_keep(struct hp_exact_thread *thread, uint32_t unit, struct hp_exact_op *ops,
                  uint32_t n, uint32_t last);

/* Works out what a leg means for the loops of now. */
void hp_legs_work_out(struct hp_exact_thread *thread, struct hp_leg *leg);

/* The key of its counter. False: there can be none. */
bool hp_leg_key(uint32_t leg, uint32_t context, uint32_t cover, uint64_t *key);
#define HP_LEG_ANYWHERE ((1u << 20) - 1) /* as the context of a leg without excursions */

/* The leg with that key was run, and has no counter: adds it to sites and covers. */
void hp_legs_add(struct hp_exact_thread *thread, uint64_t key);

/* The leg was run last from and under what its key says; its counter. */
void hp_legs_remember(struct hp_exact_thread *thread, uint64_t key, uint32_t counter);

/* Adds what was counted to sites and covers; contexts: hp_excursions_settle(). */
void hp_legs_settle(struct hp_exact_thread *thread);

#endif
