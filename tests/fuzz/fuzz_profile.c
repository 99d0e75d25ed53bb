// SPDX-License-Identifier: MIT
/*
 * Profiles: the file of a small one with bytes changed anywhere. The input: what to do with it;
 * then changes: 3 bytes where, a byte how many, the bytes; the last change may cut the file off.
 */
#include "profile_use.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    unsigned what = (unsigned)fuzz_uint(&in, 2);
    size_t length;
    const uint8_t *base = profile_base(&length);
    uint8_t *file = malloc(length);
    FUZZ_ASSERT(file);
    memcpy(file, base, length);
    while (fuzz_more(&in)) {
        size_t at = (size_t)fuzz_uint(&in, 3), n;
        const uint8_t *bytes = fuzz_bytes(&in, 255, &n);
        if (at >= 0xffff00 && !fuzz_more(&in))
            length = length * (at & 0xff) / 256;
        else
            at %= length;
        if (at < length)
            memcpy(file + at, bytes, n < length - at ? n : length - at);
    }
    profile_use(fuzz_file("profile", file, length), what);
    free(file);
    return 0;
}
