// SPDX-License-Identifier: MIT
/*
 * A digest as lines of words: the section of a baseline.
 */
#ifndef HP_DIFF_BASELINE_TEXT_H
#define HP_DIFF_BASELINE_TEXT_H

#include "diff/baseline.h"
#include "text/strbuf.h"

/* Appends what is worth keeping of a digest. */
void hp_baseline_format(struct hp_strbuf *text, const struct hp_digest *digest);

/* Reads such lines. HP_ERR_FORMAT: the text says which line is wrong. */
enum hp_err hp_baseline_parse(const struct hp_baseline_section *section, struct hp_digest **digest);

/* Any text as a word, and back. HP_ERR_FORMAT: a '%' without two hexadecimal digits, or what a word
 * cannot be. */
void hp_word_write(struct hp_strbuf *text, const char *word);
enum hp_err hp_word_read(struct hp_strings *strings, const char *word, size_t length,
                         const char **text);

#endif
