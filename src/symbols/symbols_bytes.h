// SPDX-License-Identifier: MIT
/*
 * Reading debug information byte by byte, from files that may be damaged.
 */
#ifndef HP_SYMBOLS_SYMBOLS_BYTES_H
#define HP_SYMBOLS_SYMBOLS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads forward; past the end it returns zeros and is `bad`. */
struct hp_bytes {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t hp_bytes_fixed(struct hp_bytes *b, size_t n)
{
    uint64_t value = 0;
    if ((size_t)(b->end - b->at) < n) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)b->at[i] << (8 * i);
    b->at += n;
    return value;
}

static inline uint8_t hp_bytes_byte(struct hp_bytes *b)
{
    if (b->at == b->end) {
        b->bad = true;
        return 0;
    }
    return *b->at++;
}

/* Only the first 64 bits are kept. */
static inline uint64_t hp_bytes_leb(struct hp_bytes *b, bool is_signed)
{
    if (b->at < b->end && *b->at < 0x40) /* the common case: one byte, without a sign */
        return *b->at++;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = hp_bytes_byte(b);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= UINT64_MAX << shift;
    return value;
}

static inline void hp_bytes_skip(struct hp_bytes *b, uint64_t n)
{
    if (n > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        n = (uint64_t)(b->end - b->at);
    }
    b->at += n;
}

#endif
