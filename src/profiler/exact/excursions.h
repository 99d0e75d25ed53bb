// SPDX-License-Identifier: MIT
/*
 * Excursions: calls that return within the same run of blocks. Such a call does the same every
 * time: it pushes and pops the same frames, and leaves the stack as it was. So its transfers are
 * shown to the stack once for each context that it starts from. From then on it is only counted;
 * what it adds to the contexts of its frames is added up in the end.
 *
 * Where a frame has no context of its own (HP_CONTEXT_REST), its transfers are shown every time.
 */
#ifndef HP_PROFILER_EXACT_EXCURSIONS_H
#define HP_PROFILER_EXACT_EXCURSIONS_H

#include "profiler/exact/exact_impl.h"

/* At most so many are counted in a thread; the others are shown. */
#define HP_EXCURSIONS_MAX (1u << 18)

/* As the index of an excursion: it is always shown. */
#define HP_EXCURSION_SHOWN (HP_NO_ID - 1)

/* Finds the excursions among the operations of a run: sets their `length`. */
void hp_excursions_find(struct hp_exact_op *ops, uint32_t n);

/* The key of the excursion with the first operation `op` from `context`. */
static inline uint64_t hp_excursion_key(uint32_t op, uint32_t context)
{
    return (uint64_t)context << 32 | op;
}

/* The index of an excursion; HP_EXCURSION_SHOWN; HP_NO_ID: it was not seen before. */
static inline uint32_t hp_excursions_get(const struct hp_excursions *excursions, uint64_t key)
{
    return hp_map64_get(&excursions->of, key);
}

/* It is shown for the first time: its frames, `n` in the order in which they were entered, had
 * these contexts. */
void hp_excursions_add(struct hp_exact_thread *thread, uint64_t key, const struct hp_visit *visits,
                       uint32_t n);

/* Adds what was counted to the contexts. No more is counted. */
void hp_excursions_settle(struct hp_exact_thread *thread);

void hp_excursions_fini(struct hp_excursions *excursions);

#endif
