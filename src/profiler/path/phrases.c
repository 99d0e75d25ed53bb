// SPDX-License-Identifier: MIT
#include "profiler/path/phrases.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (1u << 21)
#define OFTEN     16

/* A pause follows if of so many phrases a missing one spares fewer paths. */
#define JUDGED      (1u << 15)
#define PAYS        60
#define FIRST_PAUSE (1u << 17)
#define MAX_PAUSE   (1u << 22)

void hp_phrases_init(struct hp_phrases *phrases)
{
    *phrases =
        (struct hp_phrases){.max_words = MAX_WORDS, .often = OFTEN, .next_pause = FIRST_PAUSE};
}

void hp_phrases_fini(struct hp_phrases *phrases)
{
    free(phrases->table);
    free(phrases->lists);
    *phrases = (struct hp_phrases){0};
}

void hp_phrases_clear(struct hp_phrases *phrases)
{
    if (phrases->table)
        memset(phrases->table, 0, sizeof *phrases->table << HP_PHRASE_BITS);
    phrases->n_words = 0;
}

void hp_phrases_judge(struct hp_phrases *phrases, size_t n, size_t n_missed, size_t n_spared)
{
    phrases->n_taken += n;
    phrases->n_missed += n_missed;
    phrases->n_spared += n_spared;
    if (phrases->n_taken < JUDGED)
        return;
    if (phrases->n_spared >= phrases->n_missed * PAYS) {
        phrases->next_pause = FIRST_PAUSE;
    } else {
        phrases->pause = phrases->next_pause;
        phrases->next_pause *= phrases->next_pause < MAX_PAUSE ? 2 : 1;
    }
    phrases->n_taken = phrases->n_missed = phrases->n_spared = 0;
}

bool hp_phrases_begin(struct hp_phrases *phrases)
{
    if (phrases->table)
        return true;
    size_t size = sizeof *phrases->table << HP_PHRASE_BITS;
    phrases->table = aligned_alloc(sizeof *phrases->table, size);
    if (!phrases->table)
        return false;
    memset(phrases->table, 0, size);
    return true;
}

uint32_t *hp_phrases_room(struct hp_phrases *phrases, struct hp_phrase *phrase, size_t n)
{
    if (n <= phrase->cap)
        return phrases->lists + phrase->list;
    if (phrases->n_words + n > phrases->max_words)
        hp_phrases_clear(phrases);
    if (hp_grow(&phrases->lists, &phrases->cap_words, phrases->n_words + n,
                sizeof *phrases->lists) != HP_OK)
        return NULL;
    phrase->list = (uint32_t)phrases->n_words;
    phrase->cap = (uint8_t)n;
    phrases->n_words += n;
    return phrases->lists + phrase->list;
}
