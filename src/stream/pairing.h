// SPDX-License-Identifier: MIT
/*
 * Addresses on their way through a cursor (memory mode).
 *
 * Words and addresses arrive in batches of their own: what has no partner yet *waits* here. The
 * addresses of code that the cursor has taken are *held* until its block is delivered, in the order
 * in which they were run: those of the blocks in the cursor's buffer, then those of its partial
 * block. What a signal interrupted keeps its own below those of the handler: held addresses are a
 * stack, and `base` is where the present ones begin.
 */
#ifndef HP_STREAM_PAIRING_H
#define HP_STREAM_PAIRING_H

#include "hotpath/stream.h"

struct hp_pairing {
    uint32_t *words; /* waiting: from first_word to n_words */
    size_t first_word, n_words, cap_words;
    uint32_t payload;  /* words of the last event in them that are still to come */
    uint64_t *waiting; /* addresses: from first to n */
    size_t first, n, cap;

    uint64_t *held;
    size_t n_held, cap_held;
    size_t base;
    /* at[i]: where those of the i-th block in the buffer begin, from `base`; behind the last
     * block's those of the partial block begin. at[0] is 0. */
    uint32_t at[HP_BATCH_MAX + 2];
    bool over;     /* the engine says that there are no more addresses */
    bool mismatch; /* code was found to have other operands than when its addresses were taken */
};

enum hp_err hp_pairing_new(struct hp_pairing **pairing);
void hp_pairing_free(struct hp_pairing *pairing);

/* Put what arrives behind what waits. Padding is left out: it must not come between a segment and
 * the word that says how far it was run. */
enum hp_err hp_pairing_add_words(struct hp_pairing *pairing, const uint32_t *words, size_t n);
enum hp_err hp_pairing_add_addresses(struct hp_pairing *pairing, const uint64_t *addresses,
                                     size_t n);

/* Whether more waits than an engine can be ahead with one of the two. */
bool hp_pairing_is_too_long(const struct hp_pairing *pairing);

/* Room for `n` more held addresses; hp_pairing_take() needs it. */
enum hp_err hp_pairing_reserve(struct hp_pairing *pairing, size_t n);

static inline size_t hp_pairing_n_waiting(const struct hp_pairing *pairing)
{
    return pairing->n - pairing->first;
}

/* The next `n` that wait are held, or forgotten. There must be as many. */
void hp_pairing_take(struct hp_pairing *pairing, size_t n);
void hp_pairing_skip(struct hp_pairing *pairing, size_t n);

/* How many are held of what runs at present. */
static inline uint32_t hp_pairing_n_held(const struct hp_pairing *pairing)
{
    return (uint32_t)(pairing->n_held - pairing->base);
}

/* All but the last of `count` blocks have been delivered. */
void hp_pairing_deliver(struct hp_pairing *pairing, size_t count);

/* Forgets what is held of what runs at present. */
void hp_pairing_clear(struct hp_pairing *pairing);

/* Forgets what is held from `from` to `to`, positions in `held`, below what runs at present. */
void hp_pairing_remove(struct hp_pairing *pairing, size_t from, size_t to);

#endif
