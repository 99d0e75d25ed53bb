// SPDX-License-Identifier: MIT
#include "stream/word_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t random32(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) ^ (uint32_t)(seed >> 11);
}

static uint32_t below(uint32_t n)
{
    return random32() % n;
}

/* --- A slow reader of the format, word by word, straight from its description ----------------- */

struct reference {
    uint32_t places[65536];
    uint32_t choices[16384][4];
};

static uint32_t le32(const uint8_t *b)
{
    return b[0] + 256u * b[1] + 65536u * b[2] + 16777216u * b[3];
}

static uint32_t reference_context(const uint32_t *words, size_t at)
{
    static const uint32_t factors[4] = {0x9e3779b1u, 0x85ebca6bu, 0xc2b2ae35u, 0x27d4eb2fu};
    uint32_t sum = 0;
    for (size_t i = 0; i < 4; i++)
        sum += words[at - 1 - i] * factors[i];
    return ((sum ^ (sum >> 15)) * 0x2c1b3c6du) / 65536;
}

/* The word chosen by `pick` after `before`; the one that was expected does not count. */
static uint32_t reference_choose(uint32_t list[4], unsigned pick, bool follows, uint32_t expected)
{
    bool excluded = false;
    for (unsigned i = 0;; i++) {
        assert_true(i < 4);
        if (follows && !excluded && list[i] == expected) {
            excluded = true;
            continue;
        }
        if (pick-- == 0)
            return list[i];
    }
}

static void reference_promote(uint32_t list[4], uint32_t word)
{
    uint32_t old[4];
    memcpy(old, list, sizeof old);
    unsigned to = 0;
    bool removed = false;
    list[to++] = word;
    for (unsigned i = 0; i < 4 && to < 4; i++) {
        if (old[i] == word && !removed)
            removed = true;
        else
            list[to++] = old[i];
    }
}

static void reference_decode(const uint8_t *code, uint32_t *words, size_t n)
{
    struct reference *model = calloc(1, sizeof *model);
    size_t runs = le32(code), longs = le32(code + 4), picks = le32(code + 8);
    size_t literals = le32(code + 12), run = 0, lon = 0, pick = 0, lit = 0;
    const uint8_t *run_at = code + 16, *long_at = run_at + runs, *pick_at = long_at + 4 * longs;
    const uint8_t *literal_at = pick_at + picks;
    uint32_t follow = 0;
    size_t left = 0;
    bool in_run = false;
    for (size_t at = 0; at < n; at++) {
        if (follow && !in_run) {
            left = run_at[run++];
            if (left == 255)
                left += le32(long_at + 4 * lon++);
            in_run = true;
        }
        if (follow && left > 0) {
            words[at] = words[follow++];
            left--;
            continue;
        }
        uint32_t before = at ? words[at - 1] : 0;
        uint32_t *list = model->choices[(before * 0x9e3779b1u) / 262144];
        unsigned choice = pick_at[pick++];
        if (choice < 4) {
            words[at] = reference_choose(list, choice, follow != 0, words[follow]);
        } else {
            uint32_t zigzag = 0;
            for (size_t plane = 0; plane < 4; plane++)
                zigzag += (uint32_t)literal_at[plane * literals + lit] << (8 * plane);
            lit++;
            words[at] = zigzag % 2 ? before - zigzag / 2 - 1 : before + zigzag / 2;
        }
        reference_promote(list, words[at]);
        in_run = false;
        follow = 0;
        if (at + 1 >= 4) {
            uint32_t *place = &model->places[reference_context(words, at + 1)];
            follow = *place;
            *place = (uint32_t)at + 1;
        }
    }
    assert_int_equal(run, runs);
    assert_int_equal(lon, longs);
    assert_int_equal(pick, picks);
    assert_int_equal(lit, literals);
    free(model);
}

/* --- Round trips ------------------------------------------------------------------------------ */

/* Codes, decodes both ways, compares; returns the size of the code. */
static size_t round_trip(const uint32_t *words, size_t n)
{
    struct hp_word_codec *coder, *decoder;
    assert_int_equal(hp_word_codec_new(&coder), HP_OK);
    assert_int_equal(hp_word_codec_new(&decoder), HP_OK);
    const uint8_t *bytes;
    size_t size;
    assert_int_equal(hp_word_encode(coder, words, n, &bytes, &size), HP_OK);
    assert_true(size <= hp_word_code_bound(n));
    /* An exact copy lets the address sanitizer see a read beyond the end. */
    uint8_t *code = malloc(size);
    memcpy(code, bytes, size);
    uint32_t *back = malloc((n + HP_WORD_CODEC_SLACK) * sizeof *back);
    assert_int_equal(hp_word_decode(decoder, code, size, back, n), HP_OK);
    assert_memory_equal(back, words, n * sizeof *back);
    /* Twice with the same coder: nothing is left from before. */
    memset(back, 0xff, n * sizeof *back);
    assert_int_equal(hp_word_decode(decoder, code, size, back, n), HP_OK);
    assert_memory_equal(back, words, n * sizeof *back);
    memset(back, 0, n * sizeof *back);
    reference_decode(code, back, n);
    assert_memory_equal(back, words, n * sizeof *back);
    /* Any other number of words is an error, not a shorter or longer result. */
    if (n)
        assert_int_equal(hp_word_decode(decoder, code, size, back, n - 1), HP_ERR_FORMAT);
    assert_int_not_equal(hp_word_decode(decoder, code, size - 1, back, n), HP_OK);
    hp_word_codec_free(coder);
    hp_word_codec_free(decoder);
    free(back);
    free(code);
    return size;
}

static void no_words(void **state)
{
    (void)state;
    assert_int_equal(round_trip((uint32_t[]){0}, 0), 16);
}

static void few_words(void **state)
{
    (void)state;
    static const uint32_t words[] = {0, 0, 0, 0x7fffffff, 0x80000000, 0xffffffff, 1, 0, 0};
    for (size_t n = 1; n <= sizeof words / sizeof *words; n++)
        round_trip(words, n);
}

static void loops_of_any_length(void **state)
{
    (void)state;
    static uint32_t words[3000];
    for (uint32_t period = 1; period < 40; period++) {
        for (uint32_t i = 0; i < 3000; i++)
            words[i] = 100 + i % period * 7;
        round_trip(words, 3000);
    }
}

static void runs_around_the_long_limit(void **state)
{
    (void)state;
    static uint32_t words[20000];
    for (uint32_t run = 240; run < 270; run++) {
        /* A loop left by a surprise every `run` words. */
        for (uint32_t i = 0; i < 20000; i++)
            words[i] = i % run == 0 ? 1000 + i : 5 + i % run % 3;
        round_trip(words, 20000);
    }
}

static void random_words(void **state)
{
    (void)state;
    static uint32_t words[20000];
    for (uint32_t bits = 1; bits <= 32; bits++) {
        seed = bits;
        for (size_t i = 0; i < 20000; i++)
            words[i] = random32() >> (32 - bits);
        round_trip(words, 20000);
        assert_true(bits < 32 || round_trip(words, 20000) > 20000 * 4);
    }
}

/* A walk through a random graph whose nodes have 1 to 6 ways out. */
static void walk(uint32_t *words, size_t n, uint32_t nodes, uint32_t surprise)
{
    uint32_t(*next)[6] = calloc(nodes, sizeof *next);
    for (uint32_t i = 0; i < nodes; i++)
        for (int j = 0; j < 6; j++)
            next[i][j] = below(nodes);
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        words[i] = at + 1;
        at = next[at][below(100) < surprise ? below(1 + at % 6) : 0];
    }
    free(next);
}

static void walks_through_graphs(void **state)
{
    (void)state;
    static uint32_t words[50000];
    for (uint32_t i = 0; i < 12; i++) {
        seed = i;
        walk(words, 50000, 10u << i, i * 9);
        for (uint32_t j = below(50); j < 50000; j += 1 + below(2000))
            words[j] = random32(); /* events */
        round_trip(words, 50000);
    }
}

static void regular_code_takes_little(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    uint32_t *words = malloc(N * sizeof *words);
    for (uint32_t i = 0; i < N; i++)
        words[i] = 1 + i % 1000 % 37;
    assert_true(round_trip(words, N) < 8000); /* a surprise an outer iteration, at most */
    free(words);
}

static void two_way_branches_take_no_literals(void **state)
{
    (void)state;
    enum { N = 200000 };
    uint32_t *words = malloc(N * sizeof *words);
    seed = 5;
    for (size_t i = 0; i < N;) {
        uint32_t arm = below(2) * 100;
        for (uint32_t j = 0; j < 8 && i < N; j++)
            words[i++] = 1 + arm + j;
    }
    /* Half of the arms are a surprise, each two bytes: before compression 1 bit a word. */
    assert_true(round_trip(words, N) < N / 8 + N / 50);
    free(words);
}

static void too_many_words(void **state)
{
    (void)state;
    struct hp_word_codec *codec;
    assert_int_equal(hp_word_codec_new(&codec), HP_OK);
    const uint8_t *bytes;
    size_t size;
    uint32_t none;
    assert_int_equal(hp_word_encode(codec, &none, HP_WORD_CODEC_MAX + 1, &bytes, &size),
                     HP_ERR_INVALID);
    assert_int_equal(hp_word_decode(codec, NULL, 0, &none, HP_WORD_CODEC_MAX + 1), HP_ERR_INVALID);
    assert_int_equal(hp_word_decode(codec, NULL, 0, &none, 0), HP_ERR_FORMAT);
    hp_word_codec_free(codec);
}

/* --- Hostile input ---------------------------------------------------------------------------- */

static void any_bytes_are_safe(void **state)
{
    (void)state;
    enum { N = 3000 };
    static uint32_t words[N], back[N + HP_WORD_CODEC_SLACK];
    struct hp_word_codec *codec;
    assert_int_equal(hp_word_codec_new(&codec), HP_OK);
    seed = 1;
    walk(words, N, 50, 40);
    const uint8_t *bytes;
    size_t size, bad = 0;
    assert_int_equal(hp_word_encode(codec, words, N, &bytes, &size), HP_OK);
    uint8_t *good = malloc(size);
    memcpy(good, bytes, size);
    for (int i = 0; i < 4000; i++) {
        size_t length = i % 4 ? size : below((uint32_t)size + 1);
        uint8_t *code = malloc(length ? length : 1);
        memcpy(code, good, length);
        for (uint32_t j = below(8); length && j > 0; j--)
            code[below((uint32_t)length)] = (uint8_t)random32();
        if (length >= 16 && i % 4 == 0) { /* make the streams add up */
            uint32_t picks = (uint32_t)length - 16 - le32(code) % 8;
            memset(code, 0, 16);
            if (length > 24) {
                code[0] = (uint8_t)((length - 16 - picks) & 7);
                picks = (uint32_t)length - 16 - code[0];
            }
            for (int b = 0; b < 4; b++)
                code[8 + b] = (uint8_t)(picks >> (8 * b));
        }
        enum hp_err err = hp_word_decode(codec, code, length, back, N);
        assert_true(err == HP_OK || err == HP_ERR_FORMAT);
        bad += err == HP_ERR_FORMAT;
        free(code);
    }
    assert_true(bad > 2000);
    free(good);
    hp_word_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_words),
        cmocka_unit_test(few_words),
        cmocka_unit_test(loops_of_any_length),
        cmocka_unit_test(runs_around_the_long_limit),
        cmocka_unit_test(random_words),
        cmocka_unit_test(walks_through_graphs),
        cmocka_unit_test(regular_code_takes_little),
        cmocka_unit_test(two_way_branches_take_no_literals),
        cmocka_unit_test(too_many_words),
        cmocka_unit_test(any_bytes_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
