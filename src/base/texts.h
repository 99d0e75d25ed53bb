// SPDX-License-Identifier: MIT
/*
 * Numbered texts: in the order in which they came, each once. They are told apart by their address,
 * as those are that are kept once.
 */
#ifndef HP_BASE_TEXTS_H
#define HP_BASE_TEXTS_H

#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>

/* All zero: there are none. They belong to others, and outlive this. */
struct hp_texts {
    const char **texts;
    size_t n, capacity;
    struct hp_map64 numbers;
};

/* HP_MAP64_NONE: it is not there. */
static inline uint32_t hp_texts_find(const struct hp_texts *texts, const char *text)
{
    return hp_map64_get(&texts->numbers, (uintptr_t)text);
}

/* Where it is not there yet. */
static inline enum hp_err hp_texts_add(struct hp_texts *texts, const char *text)
{
    if (hp_texts_find(texts, text) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&texts->texts, &texts->capacity, texts->n + 1, sizeof *texts->texts));
    HP_TRY(hp_map64_put(&texts->numbers, (uintptr_t)text, (uint32_t)texts->n));
    texts->texts[texts->n++] = text;
    return HP_OK;
}

static inline void hp_texts_fini(struct hp_texts *texts)
{
    free(texts->texts);
    hp_map64_fini(&texts->numbers);
}

#endif
