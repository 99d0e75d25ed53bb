// SPDX-License-Identifier: MIT
/*
 * The compression of words: a sequence of 32-bit words becomes a much shorter sequence of bytes
 * that a general compressor shrinks further. Format: docs/trace-format.md.
 *
 * What a program runs next is mostly what it ran the last time it was in the same situation. So the
 * coder keeps a pointer into the words already coded. It writes only for how many words the program
 * continued as it did there (a *run*), and then which word came instead: one of the last few
 * surprises after the same word (a *choice*), or any other (a *literal*). After a surprise the
 * pointer moves to the previous position after a surprise where the last words were the same.
 *
 * Per word there is only a copy or a comparison; everything else happens per surprise, once in 12
 * (bzip2) to 500 (sqlite3) words. Contexts are stored only at surprises because they are looked up
 * only there. Storing them all would cost a hash and a store per word, and predicts hardly better
 * (gzip) or much worse (lua).
 */
#ifndef HP_STREAM_WORD_CODEC_H
#define HP_STREAM_WORD_CODEC_H

#include "hotpath/error.h"

#include <stddef.h>
#include <stdint.h>

/* A coder's tables (512 KB). Each sequence is independent, so one coder serves any number. */
struct hp_word_codec;

#define HP_WORD_CODEC_MAX (8u << 20) /* words in one sequence, at most */

/* hp_word_decode() may write this many words beyond the requested `n`. */
#define HP_WORD_CODEC_SLACK 16

enum hp_err hp_word_codec_new(struct hp_word_codec **codec);
void hp_word_codec_free(struct hp_word_codec *codec);

/* The largest number of bytes that hp_word_decode() accepts for `n` words; hp_word_encode() never
 * produces more. */
size_t hp_word_code_bound(size_t n);

/*
 * Codes `n` words (any values). `*bytes` belongs to the coder and is valid until the next call with
 * it. HP_ERR_INVALID: more than HP_WORD_CODEC_MAX. HP_ERR_NOMEM.
 */
enum hp_err hp_word_encode(struct hp_word_codec *codec, const uint32_t *words, size_t n,
                           const uint8_t **bytes, size_t *size);

/*
 * The inverse: exactly `n` words into `words`, which has room for n + HP_WORD_CODEC_SLACK.
 * HP_ERR_FORMAT: the bytes are not the code of n words (any bytes are safe). HP_ERR_INVALID: more
 * than HP_WORD_CODEC_MAX.
 */
enum hp_err hp_word_decode(struct hp_word_codec *codec, const uint8_t *bytes, size_t size,
                           uint32_t *words, size_t n);

#endif
