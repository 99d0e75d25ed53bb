// SPDX-License-Identifier: MIT
/*
 * Lists of what an argument may be, from the tables that own them.
 */
#ifndef HP_CLI_WORDS_H
#define HP_CLI_WORDS_H

#include "cli/options.h"

#include <stdio.h>

#define HP_WORDS_LAST HP_WORDS_RECORDS

enum hp_words_form {
    HP_WORDS_WITH_HELP, /* a line each: the word and what it means */
    HP_WORDS_BARE,      /* words with blanks between */
};

/* Nothing for what is not a list: HP_WORDS_ANY, HP_WORDS_FILES, HP_WORDS_DIRECTORIES. */
void hp_words_print(enum hp_word_list list, enum hp_words_form form, FILE *out);

/* "Views" */
const char *hp_words_title(enum hp_word_list list);

/* "views", for `hotpath help views`; NULL: it is no topic. */
const char *hp_words_topic(enum hp_word_list list);

/* The inverse; HP_WORDS_ANY: there is none. */
enum hp_word_list hp_words_from_topic(const char *topic);

#endif
