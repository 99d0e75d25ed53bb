// SPDX-License-Identifier: MIT
/*
 * Strings that live as long as their owner, each stored once.
 */
#ifndef HP_BASE_STRINGS_H
#define HP_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_strings_slot {
    uint64_t hash;
    const char *text; /* NULL: free */
};

struct hp_strings_chunk;

/* All zero is an empty set. */
struct hp_strings {
    struct hp_strings_chunk *chunks;
    struct hp_strings_slot *slots;
    size_t mask, used;
};

/* A lasting copy of the first `length` bytes of `text` (without NUL), the same pointer for the same
 * text; NULL: memory ran out. */
const char *hp_strings_add(struct hp_strings *strings, const char *text, size_t length);

/* The same for a printf() format. */
const char *hp_strings_format(struct hp_strings *strings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hp_strings_fini(struct hp_strings *strings);

#endif
