// SPDX-License-Identifier: MIT
/*
 * The stream: any words, addresses and counters, against a code map of any code. What comes out
 * keeps what is promised of it (stream.h), and the checker agrees. The input: architecture and
 * mode; segments; words.
 */
#include "profiler/check/check.h"
#include "profiler/pipeline.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENTS_MAX 40
#define WORDS_MAX    2000

static void add_segments(struct fuzz_in *in, struct hp_code *code)
{
    struct hp_module module = {"/bin/fuzz", "", 0x1000, 0x1000, 0x100000};
    uint32_t id = 0;
    uint64_t place = 0x1000;
    FUZZ_ASSERT(hp_code_add_module(code, &module, &id) == HP_OK);
    unsigned n = (unsigned)fuzz_uint(in, 1) % SEGMENTS_MAX;
    for (uint32_t i = 1; i <= n; i++) {
        uint8_t how = (uint8_t)fuzz_uint(in, 1);
        struct hp_segment segment = {.start = how & 1 ? fuzz_odd(in) : place,
                                     .parent = how & 2 ? i - 1 - (uint32_t)fuzz_uint(in, 1) % 4 : 0,
                                     .mode = how & 4 ? HP_MODE_THUMB : HP_MODE_DEFAULT,
                                     .module = how & 0x80 ? (uint32_t)fuzz_odd(in) : 0};
        size_t size;
        segment.bytes = fuzz_bytes(in, 200, &size);
        segment.size = (uint32_t)size;
        enum hp_err err = hp_code_add_segment(code, i, &segment);
        FUZZ_ASSERT(err == HP_OK || err == HP_ERR_FORMAT || err == HP_ERR_INVALID);
        place = segment.start + size;
    }
    for (uint32_t i = 0; i < hp_code_n_blocks(code); i++) {
        const struct hp_insn *insns;
        FUZZ_ASSERT(hp_code_insns(code, i, &insns) == HP_OK);
        const struct hp_block *block = hp_code_block(code, i);
        FUZZ_ASSERT(block->insns > 0 && block->end != block->start);
    }
}

static size_t make_words(struct fuzz_in *in, uint32_t *words)
{
    size_t n = 0;
    while (fuzz_more(in) && n < WORDS_MAX) {
        uint8_t kind = (uint8_t)fuzz_uint(in, 1);
        if (kind < 0x40)
            words[n++] = kind;
        else if (kind < 0x80)
            words[n++] = hp_word_event((enum hp_word_kind)(kind % HP_WORD_KIND_COUNT_),
                                       (uint32_t)fuzz_uint(in, 1));
        else if (kind < 0x90)
            words[n++] = (uint32_t)fuzz_odd(in);
        else if (kind < 0xa0)
            words[n++] = HP_WORD_EVENT | (uint32_t)fuzz_uint(in, 4);
        else /* the same again and again */
            for (unsigned i = 0; i < kind - 0x9fu && n > 2 && n < WORDS_MAX; i++, n++)
                words[n] = words[n - 2];
    }
    return n;
}

static void feed(struct hp_consumer *consumer, struct fuzz_in *in, unsigned mode)
{
    static uint32_t words[WORDS_MAX];
    static uint64_t addresses[WORDS_MAX];
    struct hp_count counts[8];
    const struct hp_thread thread = {.id = 0, .pid = 1, .tid = 1};
    enum hp_end_reason reason = (enum hp_end_reason)(fuzz_uint(in, 1) % (HP_END_SIGNAL + 1));
    size_t piece = 1 + (size_t)fuzz_uint(in, 1) * 4, lead = (size_t)fuzz_uint(in, 1);
    for (size_t i = 0; i < 8; i++)
        counts[i] = mode == 2 ? (struct hp_count){(uint32_t)fuzz_uint(in, 1) % 48,
                                                  (uint32_t)fuzz_uint(in, 1) & 1, fuzz_odd(in)}
                              : (struct hp_count){0};
    size_t n = make_words(in, words), n_addresses = mode == 1 ? n + lead : 0;
    for (size_t i = 0; i < n_addresses && i < WORDS_MAX; i++)
        addresses[i] = i * 8;
    FUZZ_ASSERT(consumer->thread(consumer, &thread) == HP_OK);
    for (size_t at = 0; at < n; at += piece) {
        FUZZ_ASSERT(consumer->words(consumer, 0, words + at, n - at < piece ? n - at : piece) ==
                    HP_OK);
        if (at < n_addresses)
            FUZZ_ASSERT(consumer->addresses(consumer, 0, addresses + at % 64,
                                            piece % 64 + lead % 8) == HP_OK);
    }
    if (mode == 2)
        FUZZ_ASSERT(consumer->counts(consumer, 0, counts, 8) == HP_OK);
    FUZZ_ASSERT(consumer->end(consumer, 0, reason) == HP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    uint8_t kind = (uint8_t)fuzz_uint(&in, 1);
    unsigned mode = kind / 8 % 3; /* stream, addresses, counts */
    struct hp_code *code;
    struct hp_pipeline *pipeline;
    struct hp_profiler *checker;
    struct hp_region everything = {0};
    FUZZ_ASSERT(hp_code_new((enum hp_arch)(1 + kind % 8 % (HP_ARCH_COUNT_ - 1)), &code) == HP_OK);
    add_segments(&in, code);
    FUZZ_ASSERT(hp_check_new(code, &checker) == HP_OK);
    FUZZ_ASSERT(hp_pipeline_new(code, NULL, NULL, &everything, &pipeline) == HP_OK);
    if (mode != 2)
        FUZZ_ASSERT(hp_pipeline_add(pipeline, checker) == HP_OK);
    if (mode == 1)
        hp_pipeline_expect_addresses(pipeline);
    if (mode == 2)
        FUZZ_ASSERT(hp_pipeline_expect_counts(pipeline) == HP_OK);
    feed(hp_pipeline_consumer(pipeline), &in, mode);
    if (hp_check_stats(checker)->violations)
        fuzz_wrong("%s", hp_check_stats(checker)->first);
    hp_pipeline_free(pipeline);
    checker->ops->free(checker);
    hp_code_free(code);
    return 0;
}
