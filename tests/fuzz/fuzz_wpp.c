// SPDX-License-Identifier: MIT
/*
 * Whole program paths: any bytes, with checksums made right (but where the first byte's second bit
 * says otherwise), through every command that reads one.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FILE_HEADER  20
#define FRAME_HEADER 12

static void put_sum(uint8_t *bytes, size_t size)
{
    uint32_t sum = (uint32_t)crc32(0, bytes, (uInt)size);
    memcpy(bytes + size, &sum, sizeof sum);
}

/* Makes the checksums of all frames right as far as there are any. */
static void mend(uint8_t *file, size_t size)
{
    if (size < FILE_HEADER)
        return;
    put_sum(file, FILE_HEADER - 4);
    for (size_t at = FILE_HEADER; size - at >= FRAME_HEADER + 4;) {
        uint64_t n;
        memcpy(&n, file + at + 4, sizeof n);
        if (n > size - at - FRAME_HEADER - 4)
            return;
        put_sum(file + at, FRAME_HEADER + (size_t)n);
        at += FRAME_HEADER + (size_t)n + 4;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const commands[][6] = {
        {"info"},
        {"info", "--json"},
        {"hot"},
        {"hot", "--json", "--length", "3"},
        {"expand", "--count", "1000"},
        {"expand", "--count", "100", "--skip", "1000000000000"},
    };
    if (size == 0)
        return 0;
    uint8_t how = data[0], *file = malloc(size);
    FUZZ_ASSERT(file);
    memcpy(file, data + 1, size - 1);
    if (!(how & 2))
        mend(file, size - 1);
    const char *words[10] = {"wpp"};
    size_t n = 1;
    for (const char *const *word = commands[(how >> 2) % (sizeof commands / sizeof *commands)];
         *word; word++)
        words[n++] = *word;
    words[n] = fuzz_file("wpp", file, size - 1);
    free(file);
    fuzz_command(words);
    return 0;
}
