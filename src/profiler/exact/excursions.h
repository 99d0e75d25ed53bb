// SPDX-License-Identifier: MIT
/*
 * Excursions: calls that return within the same run of blocks. Such a call does the same every
 * time: it pushes and pops the same frames, and leaves the stack as it was. So its transfers are
 * shown to the stack once for each context that it starts from. From then on it is only counted;
 * what it adds to the contexts of its frames is added up in the end.
 *
 * Where a frame has no context of its own (HP_CONTEXT_REST), its transfers are shown every time.
 *
 * The counter of an excursion that began elsewhere than the last time must be searched, in tables
 * that do not fit in a cache. So such excursions wait, and are counted many at a time.
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

/* Whether excursions from the top frame may wait: what they enter gets contexts of its own. */
static inline bool hp_excursions_may_wait(const struct hp_exact_thread *thread)
{
    const struct hp_exact *exact = thread->exact;
    return thread->n_active == 0 && thread->n_frames + HP_RUN_MAX < HP_CONTEXT_DEPTH &&
           exact->n_own_contexts + (size_t)HP_WAITING_MAX * HP_RUN_MAX < exact->most_contexts;
}

/* Counts those that wait. */
void hp_excursions_count(struct hp_exact_thread *thread);

static inline void hp_excursions_wait(struct hp_exact_thread *thread, uint64_t key,
                                      uint32_t context, uint32_t op, uint32_t n_ops)
{
    struct hp_excursions *e = &thread->excursions;
    hp_map64_fetch(&e->of, key);
    e->waiting[e->n_waiting++] = (struct hp_waiting){key, context, op, (uint8_t)n_ops};
    if (e->n_waiting == HP_WAITING_MAX)
        hp_excursions_count(thread);
}

/* Adds what was counted to the contexts. No more is counted. */
void hp_excursions_settle(struct hp_exact_thread *thread);

void hp_excursions_fini(struct hp_excursions *excursions);

#endif
