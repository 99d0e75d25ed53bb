// SPDX-License-Identifier: MIT
/*
 * Strings that live as long as their owner, each kept once.
 */
#ifndef HP_SYMBOLS_SYMBOLS_STRINGS_H
#define HP_SYMBOLS_SYMBOLS_STRINGS_H

#include "base/map64.h"

/* All zero is an empty set. */
struct hp_strings {
    char **texts;
    size_t n, capacity;
    struct hp_map64 index; /* hash of a text, or the next free one after it: where it is */
};

/* A lasting copy of the first `length` bytes of `text`; NULL when memory ran out. */
const char *hp_strings_add(struct hp_strings *strings, const char *text, size_t length);
void hp_strings_fini(struct hp_strings *strings);

/*
 * A lasting copy of the path `directory`/`name` (or `name` alone when it is absolute or `directory`
 * is ""), with "//", "/./" and "/name/../" taken out without looking at the file system. NULL when
 * memory ran out.
 */
const char *hp_strings_add_path(struct hp_strings *strings, const char *directory,
                                const char *name);

#endif
