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

struct hp_option {
    const char *name; /* long, without the dashes; NULL ends the table */
    char letter;      /* short, or 0 */
    enum hp_option_kind kind;
    size_t at;            /* of the value, in the command's values */
    const char *argument; /* what --help calls it: FILE, DIR, a list of help.h, or any other */
    const char *help;     /* "{}" stands for the words of that list */
};

/* The kind of an option, and where its value is in the values of the command, a struct request. */
#define HP_FLAG(member)  HP_OPT_FLAG, offsetof(struct request, member)
#define HP_TEXT(member)  HP_OPT_TEXT, offsetof(struct request, member)
#define HP_COUNT(member) HP_OPT_COUNT, offsetof(struct request, member)
#define HP_TEXTS(member) HP_OPT_TEXTS, offsetof(struct request, member)

/* The values of such a command, with defaults for some members. */
#define HP_VALUES(...) sizeof(struct request), (&(const struct request){__VA_ARGS__})

/* A command line, parsed. */
struct hp_invocation {
    const struct hp_command *command;
    void *values; /* of the options */
    char **words; /* what is no option; ended by NULL */
    int n;
    int behind; /* of these words, those behind "--" */
    int status; /* what to exit with when all is well */
    bool help;  /* --help is asked for, instead of the command */
};

struct hp_command {
    const char *name;     /* "run", "trace record"; of a group of commands "trace" */
    const char *summary;  /* one line */
    const char *synopsis; /* "[OPTIONS] FILE [VIEW]": also says how many words there may be */
    const char *help;     /* paragraphs above the options, each one line */
    const char *examples; /* NULL: none */
    const struct hp_option *options[7]; /* tables, ended by NULL */
    const char *list;                   /* of help.h, printed below them; NULL: none */
    const char *words;                  /* likewise: what a word may be; NULL: a file */
    bool unobserved;                    /* a program that ran unobserved is no failure */
    struct {
        size_t size;
        const void *defaults;                       /* NULL: all zero */
    } values;                                       /* of the options */
    enum hp_err (*run)(struct hp_invocation *call); /* NULL: it is a group of commands */
};

/* Those of a group follow it; ended by NULL. */
extern const struct hp_command *const hp_commands[];

/* The command of a group, or with NULL of none. NULL: there is none of that name. */
const struct hp_command *hp_command_find(const char *group, const char *name);

/* Its name in a group, or with NULL in none; NULL: it is of another. */
const char *hp_command_name(const struct hp_command *command, const char *group);

/* Whether it runs a program: its options end at the first word. */
bool hp_command_runs(const struct hp_command *command);

/* Its options, from 0; NULL: there are no more. */
const struct hp_option *hp_command_option(const struct hp_command *command, size_t i);

/* The option that a word of the command line names, "--name", "--name=ARGUMENT", "-n" or
 * "-nARGUMENT", and its argument, NULL where it is none of the word. NULL: there is none. */
const struct hp_option *hp_option_find(const struct hp_command *command, const char *word,
                                       const char **argument);

/* Parses, runs, prints what failed; argv[0] is the command's name. Returns the exit status. */
int hp_command_execute(const struct hp_command *command, int argc, char **argv);

/* HP_ERR_INVALID: what is wrong with the words, and how the command is used. */
enum hp_err hp_fail_usage(const struct hp_invocation *call, const char *wrong);

/*
 * Parses options up to "--" or, where the command says so, the first word that is not one; else
 * options and words may be mixed. Words are moved to the front of argv[1...]. When --help is among
 * them, nothing else is done. `command` and `values` of the call are set.
 * HP_ERR_INVALID: a wrong option; the text says which and what to do.
 */
enum hp_err hp_options_parse(struct hp_invocation *call, int argc, char **argv);

/* Reads "1000", "10k", "2.5M", "3G" (powers of 1000). */
enum hp_err hp_parse_count(const char *text, uint64_t *value);

/* Reads "65536", "64k", "2.5M", "1G": bytes, in powers of 1024. */
enum hp_err hp_parse_size(const char *text, uint64_t *value);

/* Reads "500ms", "30s", "5m" or "5min", "1h" as seconds, more than 0. Whether it is a time. */
bool hp_parse_time(const char *text, double *seconds);

/* Reads "1%", "0.5%", "2" as that many percent. */
enum hp_err hp_parse_percent(const char *text, double *value);

#endif
