// SPDX-License-Identifier: MIT
/*
 * Addresses on their way through a cursor (memory mode).
 *
 * Words and addresses arrive in separate batches. What has no partner yet *waits* here. The
 * addresses of code that the cursor has taken are *held* until its block is delivered, in order of
 * execution: those of the blocks in the cursor's buffer, then those of its partial block.
 * Interrupted code keeps its addresses below those of the signal handler: held addresses are a
 * stack, and `base` is where the current ones begin.
 */
#ifndef HP_STREAM_PAIRING_H
#define HP_STREAM_PAIRING_H

#include "hotpath/stream.h"

struct hp_pairing {
    uint32_t *words; /* waiting: from first_word to n_words */
    size_t first_word, n_words, cap_words;
    uint32_t payload;  /* words of the last event in them still to come */
    uint64_t *waiting; /* addresses: from first to n */
    size_t first, n, cap;

    uint64_t *held;
    size_t n_held, cap_held;
    size_t base;
    /* at[i]: where the addresses of the i-th block in the buffer begin, from `base`; those of the
     * partial block begin after the last block's. at[0] is 0. */
    uint32_t at[HP_BATCH_MAX + 2];
    bool over;     /* the engine has announced that there are no more addresses */
    bool mismatch; /* code turned out to have other operands than when its addresses were taken */
};

enum hp_err hp_pairing_new(struct hp_pairing **pairing);
void hp_pairing_free(struct hp_pairing *pairing);

/* Append to what waits. Padding is left out: it must not come between a segment and the word that
 * says how far it ran. */
enum hp_err hp_pairing_add_words(struct hp_pairing *pairing, const uint32_t *words, size_t n);
enum hp_err hp_pairing_add_addresses(struct hp_pairing *pairing, const uint64_t *addresses,
                                     size_t n);

/* Whether more waits than an engine can be ahead with one of the two. */
bool hp_pairing_is_too_long(const struct hp_pairing *pairing);

/* Makes room for `n` more held addresses; hp_pairing_take() needs it. */
enum hp_err hp_pairing_reserve(struct hp_pairing *pairing, size_t n);

static inline size_t hp_pairing_n_waiting(const struct hp_pairing *pairing)
{
    return pairing->n - pairing->first;
}

/* Moves the next `n` waiting addresses to the held ones, or drops them. There must be that many. */
void hp_pairing_take(struct hp_pairing *pairing, size_t n);
void hp_pairing_skip(struct hp_pairing *pairing, size_t n);

/* The number of held addresses of the current code. */
static inline uint32_t hp_pairing_n_held(const struct hp_pairing *pairing)
{
    return (uint32_t)(pairing->n_held - pairing->base);
}

/* All but the last of `count` blocks have been delivered. */
void hp_pairing_deliver(struct hp_pairing *pairing, size_t count);

/* Drops the held addresses of the current code. */
void hp_pairing_clear(struct hp_pairing *pairing);

/* Drops held addresses, positions `from` to `to` in `held`, below the current code's. */
void hp_pairing_remove(struct hp_pairing *pairing, size_t from, size_t to);

#endif
