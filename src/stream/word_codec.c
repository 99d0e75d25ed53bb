// SPDX-License-Identifier: MIT
/*
 * State, the same in coder and decoder after each surprise:
 *
 *   places[hash of the last CONTEXT words] = position of the word that followed, 0: none
 *   choices[hash of a word]                = the last CHOICES surprises after it, latest first
 *   follow                                 = position of the expected word, 0: nothing is expected
 *
 * The code is five streams, one after the other, so that similar bytes are together for the
 * compressor: a byte per run, the rest of long runs, a byte per choice, and the literals in byte
 * planes (as differences from the previous word: code runs mostly forward, and ids are given in
 * order of first execution).
 */
#include "stream/word_codec.h"

#include "base/grow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT     4
#define PLACE_BITS  16
#define CHOICE_BITS 14
#define CHOICES     4
#define LITERAL     CHOICES /* the choice byte of a literal */
#define LONG_RUN    255     /* the run byte of a run this long or longer */
#define HEADER      16      /* bytes: number of runs, long runs, choices, literals */

struct hp_word_codec {
    uint32_t places[1 << PLACE_BITS];
    uint32_t choices[1 << CHOICE_BITS][CHOICES];
    /* Encoder only: the streams. Room for the worst case, most of which is never touched. */
    size_t room; /* words */
    uint8_t *runs;
    uint32_t *longs;
    uint8_t *picks;
    uint32_t *literals;
    size_t n_runs, n_longs, n_picks, n_literals;
    uint8_t *code;
    size_t cap_code;
};

enum hp_err hp_word_codec_new(struct hp_word_codec **codec)
{
    *codec = calloc(1, sizeof **codec);
    return *codec ? HP_OK : hp_fail_nomem();
}

static void free_streams(struct hp_word_codec *codec)
{
    free(codec->runs);
    free(codec->longs);
    free(codec->picks);
    free(codec->literals);
}

void hp_word_codec_free(struct hp_word_codec *codec)
{
    if (!codec)
        return;
    free_streams(codec);
    free(codec->code);
    free(codec);
}

size_t hp_word_code_bound(size_t n)
{
    /* Every word a surprise: a run byte (of length 0), a choice byte, a literal. Long runs save
     * more than they take. */
    return HEADER + 6 * n + 8;
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

/* --- The model -------------------------------------------------------------------------------- */

static void reset(struct hp_word_codec *codec)
{
    memset(codec->places, 0, sizeof codec->places);
    memset(codec->choices, 0, sizeof codec->choices);
}

/* The last words before `end`; the products do not depend on each other. */
static inline uint32_t context_hash(const uint32_t *end)
{
    uint32_t hash = end[-1] * 0x9e3779b1u + end[-2] * 0x85ebca6bu + end[-3] * 0xc2b2ae35u +
                    end[-4] * 0x27d4eb2fu;
    return (hash ^ hash >> 15) * 0x2c1b3c6du >> (32 - PLACE_BITS);
}

/* Where to follow from position `at`, just after a surprise. Enters `at` itself. */
static inline uint32_t look_up(struct hp_word_codec *codec, const uint32_t *words, size_t at)
{
    if (at < CONTEXT)
        return 0;
    uint32_t *place = &codec->places[context_hash(words + at)];
    uint32_t follow = *place;
    *place = (uint32_t)at;
    return follow;
}

static inline uint32_t *choices_after(struct hp_word_codec *codec, uint32_t word)
{
    return codec->choices[word * 0x9e3779b1u >> (32 - CHOICE_BITS)];
}

/* The position of `word` in a list; CHOICES: not there. */
static inline unsigned find_choice(const uint32_t *list, uint32_t word)
{
    unsigned i = 0;
    while (i < CHOICES && list[i] != word)
        i++;
    return i;
}

/* The position that cannot be chosen: that of the expected word that did not come. */
static inline unsigned find_excluded(const uint32_t *list, const uint32_t *expected)
{
    return expected ? find_choice(list, *expected) : CHOICES;
}

/* Makes `word`, now at position `from` (LITERAL: nowhere), the latest. */
static inline void promote(uint32_t *list, unsigned from, uint32_t word)
{
    for (unsigned i = from < CHOICES ? from : CHOICES - 1; i > 0; i--)
        list[i] = list[i - 1];
    list[0] = word;
}

/* --- Encoding --------------------------------------------------------------------------------- */

/* How many words from `at` on equal those from `follow` on. */
static size_t match_length(const uint32_t *words, size_t n, size_t follow, size_t at)
{
    size_t start = at;
    for (; at + 2 <= n; at += 2, follow += 2) {
        uint64_t a, b;
        memcpy(&a, words + follow, sizeof a);
        memcpy(&b, words + at, sizeof b);
        if (a != b)
            break;
    }
    while (at < n && words[follow] == words[at])
        at++, follow++;
    return at - start;
}

static void put_run(struct hp_word_codec *codec, size_t length)
{
    codec->runs[codec->n_runs++] = (uint8_t)(length < LONG_RUN ? length : LONG_RUN);
    if (length >= LONG_RUN)
        codec->longs[codec->n_longs++] = (uint32_t)(length - LONG_RUN);
}

/* Codes `word`, which came after `before` instead of `*expected` (NULL: nothing was expected). */
static void put_surprise(struct hp_word_codec *codec, uint32_t before, const uint32_t *expected,
                         uint32_t word)
{
    uint32_t *list = choices_after(codec, before);
    unsigned at = find_choice(list, word);
    /* The expected word cannot be chosen: the choices after it move up. */
    unsigned pick = at < CHOICES && find_excluded(list, expected) < at ? at - 1 : at;
    promote(list, at, word);
    codec->picks[codec->n_picks++] = (uint8_t)pick;
    if (pick == LITERAL) {
        uint32_t delta = word - before;
        codec->literals[codec->n_literals++] = delta << 1 ^ (0u - (delta >> 31));
    }
}

/* Makes room for the streams of `n` words. A run and a surprise take at least a word together. */
static enum hp_err make_room(struct hp_word_codec *codec, size_t n)
{
    if (n <= codec->room)
        return HP_OK;
    free_streams(codec);
    codec->room = 0;
    codec->runs = malloc(n + 1);
    codec->longs = malloc((n / LONG_RUN + 1) * sizeof *codec->longs);
    codec->picks = malloc(n);
    codec->literals = malloc(n * sizeof *codec->literals);
    if (!codec->runs || !codec->longs || !codec->picks || !codec->literals)
        return hp_fail_nomem();
    codec->room = n;
    return HP_OK;
}

static enum hp_err assemble(struct hp_word_codec *codec, const uint8_t **bytes, size_t *size)
{
    size_t total =
        HEADER + codec->n_runs + 4 * codec->n_longs + codec->n_picks + 4 * codec->n_literals;
    HP_TRY(hp_grow(&codec->code, &codec->cap_code, total, 1));
    uint8_t *to = codec->code;
    put32(to, (uint32_t)codec->n_runs);
    put32(to + 4, (uint32_t)codec->n_longs);
    put32(to + 8, (uint32_t)codec->n_picks);
    put32(to + 12, (uint32_t)codec->n_literals);
    to += HEADER;
    if (codec->n_runs)
        memcpy(to, codec->runs, codec->n_runs);
    to += codec->n_runs;
    for (size_t i = 0; i < codec->n_longs; i++, to += 4)
        put32(to, codec->longs[i]);
    if (codec->n_picks)
        memcpy(to, codec->picks, codec->n_picks);
    to += codec->n_picks;
    for (int plane = 0; plane < 4; plane++)
        for (size_t i = 0; i < codec->n_literals; i++)
            *to++ = (uint8_t)(codec->literals[i] >> (8 * plane));
    *bytes = codec->code;
    *size = total;
    return HP_OK;
}

enum hp_err hp_word_encode(struct hp_word_codec *codec, const uint32_t *words, size_t n,
                           const uint8_t **bytes, size_t *size)
{
    if (n > HP_WORD_CODEC_MAX)
        return hp_fail(HP_ERR_INVALID, "%zu words are too many to code at once", n);
    HP_TRY(make_room(codec, n));
    reset(codec);
    codec->n_runs = codec->n_longs = codec->n_picks = codec->n_literals = 0;
    uint32_t follow = 0;
    for (size_t at = 0; at < n;) {
        const uint32_t *expected = NULL;
        if (follow) {
            size_t length = match_length(words, n, follow, at);
            put_run(codec, length);
            at += length;
            if (at == n)
                break;
            expected = &words[follow + length];
        }
        put_surprise(codec, at ? words[at - 1] : 0, expected, words[at]);
        at++;
        follow = look_up(codec, words, at);
    }
    return assemble(codec, bytes, size);
}

/* --- Decoding --------------------------------------------------------------------------------- */

struct streams {
    const uint8_t *run, *runs_end;
    const uint8_t *longs, *longs_end;
    const uint8_t *pick, *picks_end;
    const uint8_t *literal, *literals_end; /* of the first plane */
    size_t plane;                          /* bytes in a plane */
};

static enum hp_err split(const uint8_t *bytes, size_t size, struct streams *in)
{
    if (size < HEADER)
        return hp_fail(HP_ERR_FORMAT, "coded words: %zu bytes are too few", size);
    uint64_t runs = get32(bytes), longs = get32(bytes + 4), picks = get32(bytes + 8),
             literals = get32(bytes + 12);
    if (HEADER + runs + 4 * longs + picks + 4 * literals != size)
        return hp_fail(HP_ERR_FORMAT, "coded words: the streams do not add up to %zu bytes", size);
    in->run = bytes + HEADER;
    in->runs_end = in->longs = in->run + runs;
    in->longs_end = in->pick = in->longs + 4 * longs;
    in->picks_end = in->literal = in->pick + picks;
    in->literals_end = in->literal + literals;
    in->plane = (size_t)literals;
    return HP_OK;
}

/* The length of the next run; SIZE_MAX: the streams end. */
static inline size_t get_run(struct streams *in)
{
    if (in->run == in->runs_end)
        return SIZE_MAX;
    size_t length = *in->run++;
    if (length < LONG_RUN)
        return length;
    if (in->longs == in->longs_end)
        return SIZE_MAX;
    length += get32(in->longs);
    in->longs += 4;
    return length;
}

/* Copies a run; source and destination may overlap (the run then repeats itself). */
static inline void copy_run(uint32_t *words, size_t follow, size_t at, size_t length)
{
    const uint32_t *from = words + follow;
    uint32_t *to = words + at, *end = to + length;
    if (at - follow < 8) {
        while (to < end)
            *to++ = *from++;
        return;
    }
    for (; to < end; to += 8, from += 8)
        memcpy(to, from, 8 * sizeof *to);
}

/* The word that came after `before` instead of `*expected`; false: the streams are bad. */
static inline bool get_surprise(struct hp_word_codec *codec, struct streams *in, uint32_t before,
                                const uint32_t *expected, uint32_t *word)
{
    if (in->pick == in->picks_end)
        return false;
    unsigned pick = *in->pick++;
    uint32_t *list = choices_after(codec, before);
    if (pick < LITERAL) {
        unsigned at = pick + (find_excluded(list, expected) <= pick);
        if (at >= CHOICES)
            return false;
        *word = list[at];
        promote(list, at, *word);
        return true;
    }
    if (pick > LITERAL || in->literal == in->literals_end)
        return false;
    const uint8_t *byte = in->literal++;
    uint32_t zigzag = (uint32_t)byte[0] | (uint32_t)byte[in->plane] << 8 |
                      (uint32_t)byte[2 * in->plane] << 16 | (uint32_t)byte[3 * in->plane] << 24;
    *word = before + (zigzag >> 1 ^ (0u - (zigzag & 1)));
    promote(list, find_choice(list, *word), *word);
    return true;
}

enum hp_err hp_word_decode(struct hp_word_codec *codec, const uint8_t *bytes, size_t size,
                           uint32_t *words, size_t n)
{
    if (n > HP_WORD_CODEC_MAX)
        return hp_fail(HP_ERR_INVALID, "%zu words are too many to decode at once", n);
    struct streams in = {0};
    HP_TRY(split(bytes, size, &in));
    reset(codec);
    uint32_t follow = 0;
    for (size_t at = 0; at < n;) {
        const uint32_t *expected = NULL;
        if (follow) {
            size_t length = get_run(&in);
            if (length > n - at)
                return hp_fail(HP_ERR_FORMAT, "coded words: a bad run at word %zu of %zu", at, n);
            copy_run(words, follow, at, length);
            at += length;
            if (at == n)
                break;
            expected = &words[follow + length];
        }
        if (!get_surprise(codec, &in, at ? words[at - 1] : 0, expected, &words[at]))
            return hp_fail(HP_ERR_FORMAT, "coded words: a bad choice at word %zu of %zu", at, n);
        at++;
        follow = look_up(codec, words, at);
    }
    if (in.run != in.runs_end || in.longs != in.longs_end || in.pick != in.picks_end ||
        in.literal != in.literals_end)
        return hp_fail(HP_ERR_FORMAT, "coded words: more than %zu words", n);
    return HP_OK;
}
