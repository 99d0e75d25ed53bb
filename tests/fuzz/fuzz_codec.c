// SPDX-License-Identifier: MIT
/* The coded words and addresses of a trace, without the frames around them: any bytes are decoded;
 * any words and addresses come back. */
#include "stream/address_codec.h"
#include "stream/word_codec.h"
#include "support.h"

#include <string.h>

#define N_MAX 3000

static struct hp_word_codec *words_codec;
static struct hp_address_codec *addresses_codec;
static uint32_t words[N_MAX + HP_WORD_CODEC_SLACK], back[N_MAX + HP_WORD_CODEC_SLACK];
static uint64_t addresses[N_MAX], addresses_back[N_MAX];
static uint16_t places[N_MAX];

static void code_words(struct fuzz_in *in)
{
    size_t n = 0, size;
    const uint8_t *bytes;
    unsigned width = 1 + (unsigned)fuzz_uint(in, 1) % 4;
    while (fuzz_more(in) && n < N_MAX)
        words[n++] = (uint32_t)fuzz_uint(in, width);
    FUZZ_ASSERT(hp_word_encode(words_codec, words, n, &bytes, &size) == HP_OK);
    FUZZ_ASSERT(size <= hp_word_code_bound(n));
    FUZZ_ASSERT(hp_word_decode(words_codec, bytes, size, back, n) == HP_OK);
    FUZZ_ASSERT(memcmp(words, back, n * sizeof *words) == 0);
}

static void code_addresses(struct fuzz_in *in)
{
    size_t n = 0, size;
    const uint8_t *bytes;
    unsigned width = 1 + (unsigned)fuzz_uint(in, 1) % 8;
    for (; fuzz_more(in) && n < N_MAX; n++) {
        places[n] = (uint16_t)fuzz_uint(in, 1 + (width & 1));
        addresses[n] = fuzz_uint(in, width);
    }
    FUZZ_ASSERT(hp_address_encode(addresses_codec, places, addresses, n, &bytes, &size) == HP_OK);
    FUZZ_ASSERT(size <= hp_address_code_bound(n));
    FUZZ_ASSERT(hp_address_decode(addresses_codec, bytes, size, places, addresses_back, n) ==
                HP_OK);
    FUZZ_ASSERT(memcmp(addresses, addresses_back, n * sizeof *addresses) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    uint8_t kind = (uint8_t)fuzz_uint(&in, 1);
    if (!words_codec) {
        FUZZ_ASSERT(hp_word_codec_new(&words_codec) == HP_OK);
        FUZZ_ASSERT(hp_address_codec_new(&addresses_codec) == HP_OK);
    }
    if (kind % 4 == 0) {
        code_words(&in);
    } else if (kind % 4 == 1) {
        code_addresses(&in);
    } else if (kind % 4 == 2) {
        size_t n = (size_t)fuzz_uint(&in, 2) % N_MAX;
        hp_word_decode(words_codec, in.at, (size_t)(in.end - in.at), words, n);
    } else {
        size_t n = (size_t)fuzz_uint(&in, 2) % N_MAX;
        for (size_t i = 0; i < n; i++)
            places[i] = (uint16_t)(i % 7);
        hp_address_decode(addresses_codec, in.at, (size_t)(in.end - in.at), places, addresses, n);
    }
    return 0;
}
