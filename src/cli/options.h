// SPDX-License-Identifier: MIT
/*
 * Command-line options: a command's options are one table, which feeds the parser, --help and
 * completion.
 */
#ifndef HP_CLI_OPTIONS_H
#define HP_CLI_OPTIONS_H

#include "hotpath/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hp_option_kind {
    HP_OPT_FLAG,  /* bool: becomes true */
    HP_OPT_TEXT,  /* const char * */
    HP_OPT_COUNT, /* uint64_t: 1000, 10k, 2.5M, 1G */
    HP_OPT_SIZE,  /* uint64_t, bytes: 65536, 64k, 2.5M, 1G */
    HP_OPT_TEXTS, /* struct hp_texts: may be given several times */
};

struct hp_option {
    const char *name; /* long, without the dashes; NULL ends the table */
    char letter;      /* short, or 0 */
    enum hp_option_kind kind;
    void *value;
    const char *argument; /* what --help calls it */
    const char *help;
};

/* A command, for the dispatcher, --help and the manual. */
struct hp_command {
    const char *name;
    const char *summary; /* one line */
    int (*run)(int argc, char **argv);
};

struct hp_usage {
    const char *command;  /* "hotpath run" */
    const char *synopsis; /* "[OPTIONS] -- PROGRAM [ARGUMENTS]" */
    const char *help;     /* paragraphs above the options */
    void (*lists)(void);  /* prints lists that are kept elsewhere, below those; NULL: none */
    const char *examples; /* last */
};

/*
 * Parses options up to "--" or, with `stop_at_word`, the first word that is not one; without it
 * options and words may be mixed. Words that are not options are moved to the front of argv[1...];
 * `*n_words` says how many. Prints help and sets `*exit_now` for --help. HP_ERR_INVALID: a wrong
 * option; the text says which and what to do.
 */
enum hp_err hp_options_parse(const struct hp_usage *usage, const struct hp_option *options,
                             bool stop_at_word, int argc, char **argv, int *n_words,
                             bool *exit_now);

/* Reads "1000", "10k", "2.5M", "3G" (powers of 1000). */
enum hp_err hp_parse_count(const char *text, uint64_t *value);

/* Reads "65536", "64k", "2.5M", "1G": bytes, in powers of 1024. */
enum hp_err hp_parse_size(const char *text, uint64_t *value);

/* Reads "1%", "0.5%", "2" as that many percent. */
enum hp_err hp_parse_percent(const char *text, double *value);

#endif
