// SPDX-License-Identifier: MIT
/*
 * Numbered texts: in the order in which they came, each once. They are told apart by their address,
 * as those are that are kept once.
 */
#ifndef HP_BASE_TEXTS_H
#define HP_BASE_TEXTS_H

#include "base/map64.h"

/* All zero: there are none. They belong to others, and outlive this. */
struct hp_text_set {
    const char **texts;
    size_t n, capacity;
    struct hp_map64 numbers;
};

/* HP_MAP64_NONE: it is not there. */
static inline uint32_t hp_text_set_find(const struct hp_text_set *texts, const char *text)
{
    return hp_map64_get(&texts->numbers, (uintptr_t)text);
}

/* Where it is not there yet. */
enum hp_err hp_text_set_add(struct hp_text_set *texts, const char *text);

/* Sorts them, and numbers them in this order; equal ones become one. */
enum hp_err hp_text_set_sort(struct hp_text_set *texts);

void hp_text_set_fini(struct hp_text_set *texts);

#endif
