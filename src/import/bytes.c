// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "import/reader.h"

/* A machine of the other byte order puts its bits into each byte from the other end, too. */
uint64_t hp_perf_flags(struct hp_perf_bytes *bytes)
{
    uint64_t value;
    hp_perf_take(bytes, &value, sizeof value);
    if (!bytes->swapped)
        return value;
    value = (value >> 1 & 0x5555555555555555u) | (value & 0x5555555555555555u) << 1;
    value = (value >> 2 & 0x3333333333333333u) | (value & 0x3333333333333333u) << 2;
    return (value >> 4 & 0x0f0f0f0f0f0f0f0fu) | (value & 0x0f0f0f0f0f0f0f0fu) << 4;
}

void hp_perf_skip(struct hp_perf_bytes *bytes, uint64_t n)
{
    bytes->bad |= n > hp_perf_left(bytes);
    bytes->at = n > hp_perf_left(bytes) ? bytes->end : bytes->at + n;
}

void hp_perf_text(struct hp_perf_bytes *bytes, size_t n, char *text, size_t size)
{
    if (n > hp_perf_left(bytes)) {
        n = hp_perf_left(bytes);
        bytes->bad = true;
    }
    size_t length = strnlen((const char *)bytes->at, n);
    if (length >= size)
        length = size - 1;
    memcpy(text, bytes->at, length);
    text[length] = '\0';
    bytes->at += n;
}

void hp_perf_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            *text = '?';
}

void hp_perf_build_id_text(const uint8_t *id, size_t size, char text[HP_PERF_BUILD_ID_TEXT])
{
    if (size > HP_PERF_BUILD_ID_SIZE)
        size = HP_PERF_BUILD_ID_SIZE;
    if (!size)
        for (size = HP_PERF_BUILD_ID_SIZE; size > 0 && !id[size - 1];)
            size--;
    text[0] = '\0';
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}
