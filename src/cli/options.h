// SPDX-License-Identifier: MIT
/*
 * Commands and their options. A command is one row; its options are rows, too. The parser, --help,
 * the manual pages and the completion of shells follow from them.
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

/* What an argument may be, for completion. */
enum hp_word_list {
    HP_WORDS_ANY,
    HP_WORDS_FILES,
    HP_WORDS_DIRECTORIES,
    HP_WORDS_VIEWS,
    HP_WORDS_FORMATS,
    HP_WORDS_PROFILERS,
    HP_WORDS_MACHINES,
    HP_WORDS_ENGINES,
    HP_WORDS_RECORDS,
};

struct hp_option {
    const char *name; /* long, without the dashes; NULL ends the table */
    char letter;      /* short, or 0 */
    enum hp_option_kind kind;
    size_t at;            /* of the value, in the struct that the group is about */
    const char *argument; /* what --help calls it */
    const char *help;     /* lines of at most 54 columns */
    enum hp_word_list words;
};

/* Options that belong together, and where the struct that they are about is in the command's. */
struct hp_option_group {
    const struct hp_option *rows; /* NULL ends the list */
    size_t at;
};

struct hp_command {
    const char *name;
    const char *group;    /* "trace" of `hotpath trace record`; NULL: none */
    const char *summary;  /* one line */
    const char *synopsis; /* "[OPTIONS] -- PROGRAM [ARGUMENTS]" */
    const char *help;     /* paragraphs above the options */
    const struct hp_option_group *options;
    enum hp_word_list lists; /* printed below them; HP_WORDS_ANY: nothing */
    const char *examples;    /* last; NULL: none */
    size_t behind_dashes;    /* in its values, an int: words behind "--"; 0: not wanted */
    bool stop_at_word;       /* options end at the first word: it is a program */
    bool unobserved;         /* a program that ran unobserved is no failure */
    int least, most;         /* words; most 0: any number */
    const char *wrong;       /* said when there are fewer, or more; NULL: run() sees to it */
    const char *instead;     /* "hotpath run -- PROGRAM ARGUMENTS" */
    size_t size;             /* of its values */
    const void *defaults;    /* of these; NULL: all zero */
    /* `words` ends with NULL. `*status`, 0 before, is what to exit with when all is well. */
    enum hp_err (*run)(void *values, int n, char **words, int *status);
    const struct hp_command *const *commands; /* of a group, ended by NULL; else NULL */
};

/* What a command line asks for instead of the command. */
enum hp_asked {
    HP_ASKED_NOTHING,
    HP_ASKED_HELP,  /* --help */
    HP_ASKED_NAMES, /* --list-options: their names, a line each, for scripts */
};

/* Parses, does what is asked for, prints what failed. argv[0] is the command's name. Returns the
 * exit status. */
int hp_command_execute(const struct hp_command *command, int argc, char **argv);

/*
 * Parses options up to "--" or, where the command says so, the first word that is not one; else
 * options and words may be mixed. Words that are not options are moved to the front of argv[1...];
 * `*n_words` says how many. `*asked` says whether --help is among them; nothing else is done then.
 * HP_ERR_INVALID: a wrong option; the text says which and what to do.
 */
enum hp_err hp_options_parse(const struct hp_command *command, void *values, int argc, char **argv,
                             int *n_words, enum hp_asked *asked);

/* "hotpath trace record" */
const char *hp_command_title(const struct hp_command *command, char *text, size_t size);

/* Reads "1000", "10k", "2.5M", "3G" (powers of 1000). */
enum hp_err hp_parse_count(const char *text, uint64_t *value);

/* Reads "65536", "64k", "2.5M", "1G": bytes, in powers of 1024. */
enum hp_err hp_parse_size(const char *text, uint64_t *value);

/* Reads "1%", "0.5%", "2" as that many percent. */
enum hp_err hp_parse_percent(const char *text, double *value);

#endif
