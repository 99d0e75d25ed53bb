// SPDX-License-Identifier: MIT
#include "stream/pairing.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* A native thread's rings hold a quarter of a million words and half a million addresses, and
 * addresses are published with words. A word may have hundreds of addresses, so these may be
 * further ahead. */
#define MOST_WORDS     ((size_t)16 << 20)
#define MOST_ADDRESSES ((size_t)256 << 20)

enum hp_err hp_pairing_new(struct hp_pairing **pairing)
{
    struct hp_pairing *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    enum hp_err err = hp_pairing_reserve(p, 1024); /* the array is never NULL */
    if (err == HP_OK)
        err = hp_grow(&p->words, &p->cap_words, 1024, sizeof *p->words);
    if (err != HP_OK) {
        hp_pairing_free(p);
        return err;
    }
    *pairing = p;
    return HP_OK;
}

void hp_pairing_free(struct hp_pairing *pairing)
{
    if (!pairing)
        return;
    free(pairing->words);
    free(pairing->waiting);
    free(pairing->held);
    free(pairing);
}

/* --- Waiting ---------------------------------------------------------------------------------- */

enum hp_err hp_pairing_add_words(struct hp_pairing *p, const uint32_t *words, size_t n)
{
    size_t left = p->n_words - p->first_word;
    if (p->first_word && left)
        memmove(p->words, p->words + p->first_word, left * sizeof *p->words);
    p->first_word = 0;
    p->n_words = left;
    HP_TRY(hp_grow(&p->words, &p->cap_words, left + n, sizeof *p->words));
    for (size_t i = 0; i < n; i++) {
        uint32_t word = words[i]; /* read once: the watched process can write there */
        if (p->payload) {
            p->payload--;
        } else if (word & HP_WORD_EVENT) {
            int payload = hp_word_payload(word);
            if (hp_word_kind(word) == HP_WORD_PAD)
                continue;
            p->payload = payload > 0 ? (uint32_t)payload : 0;
        }
        p->words[p->n_words++] = word;
    }
    return HP_OK;
}

enum hp_err hp_pairing_add_addresses(struct hp_pairing *p, const uint64_t *addresses, size_t n)
{
    size_t left = hp_pairing_n_waiting(p);
    if (p->first && left)
        memmove(p->waiting, p->waiting + p->first, left * sizeof *p->waiting);
    p->first = 0;
    p->n = left;
    HP_TRY(hp_grow(&p->waiting, &p->cap, left + n, sizeof *p->waiting));
    memcpy(p->waiting + left, addresses, n * sizeof *addresses);
    p->n += n;
    return HP_OK;
}

bool hp_pairing_is_too_long(const struct hp_pairing *p)
{
    return p->n_words - p->first_word > MOST_WORDS || hp_pairing_n_waiting(p) > MOST_ADDRESSES;
}

/* --- Held ------------------------------------------------------------------------------------- */

enum hp_err hp_pairing_reserve(struct hp_pairing *p, size_t n)
{
    if (p->cap_held - p->n_held >= n)
        return HP_OK;
    return hp_grow(&p->held, &p->cap_held, p->n_held + n, sizeof *p->held);
}

void hp_pairing_take(struct hp_pairing *p, size_t n)
{
    if (n)
        memcpy(p->held + p->n_held, p->waiting + p->first, n * sizeof *p->held);
    p->n_held += n;
    p->first += n;
}

void hp_pairing_skip(struct hp_pairing *p, size_t n)
{
    p->first += n;
}

void hp_pairing_deliver(struct hp_pairing *p, size_t count)
{
    uint32_t start = p->at[count - 1], left = hp_pairing_n_held(p) - start;
    memmove(p->held + p->base, p->held + p->base + start, left * sizeof *p->held);
    p->n_held = p->base + left;
    p->at[1] = p->at[count] - start;
}

void hp_pairing_clear(struct hp_pairing *p)
{
    p->n_held = p->base;
}

void hp_pairing_remove(struct hp_pairing *p, size_t from, size_t to)
{
    memmove(p->held + from, p->held + to, (p->n_held - to) * sizeof *p->held);
    p->n_held -= to - from;
    p->base -= to - from;
}
