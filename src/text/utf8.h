// SPDX-License-Identifier: MIT
/*
 * UTF-8, independent of the locale. Names of programs and symbols are foreign bytes: invalid UTF-8
 * reads as U+FFFD.
 */
#ifndef HP_TEXT_UTF8_H
#define HP_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define HP_UTF8_REPLACEMENT 0xfffdu

/* The code point at `*text`, which is not at its end; moves `*text` past it. In an ill-formed
 * sequence the longest prefix of a valid one, or else one byte, reads as HP_UTF8_REPLACEMENT. */
uint32_t hp_utf8_next(const char **text);

/* Writes a code point as 1 to 4 bytes, not terminated; returns how many. */
size_t hp_utf8_encode(uint32_t code, char bytes[4]);

/* How many bytes at `text` are printable ASCII: most names are only that, and need no decoding. */
static inline size_t hp_utf8_plain(const char *text)
{
    size_t n = 0;
    while ((unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7f)
        n++;
    return n;
}

/* Terminal columns of a code point: 0 for combining marks, 2 for wide characters, else 1. */
size_t hp_utf8_columns(uint32_t code);

/* Terminal columns of a text. */
size_t hp_utf8_width(const char *text);

#endif
