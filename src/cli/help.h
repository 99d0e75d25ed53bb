// SPDX-License-Identifier: MIT
/*
 * What is printed from the rows of commands and options, and from the tables of what they name:
 * --help, `hotpath help`, the OPTIONS of manual pages, completion.
 */
#ifndef HP_CLI_HELP_H
#define HP_CLI_HELP_H

#include "base/names.h"
#include "cli/options.h"
#include "text/strbuf.h"

/* `hotpath --help` */
void hp_help(void);

/* `hotpath COMMAND --help` */
void hp_help_command(const struct hp_command *command);

/* Adds the help of an option, with the words of the list that its argument names. */
void hp_option_help(const struct hp_option *option, struct hp_strbuf *text);

/* A list of what an argument may be, made from the table that owns it. */
struct hp_words {
    const char *argument;                 /* of the options that take one; NULL ends the lists */
    const char *topic;                    /* "views", of `hotpath help views`; NULL: none */
    const struct hp_name *names;          /* one of these is the list: names, */
    const struct hp_model_family *family; /* the presets of a family, */
    void (*put)(struct hp_strbuf *lines); /* what this adds */
};

extern const struct hp_words hp_word_lists[];

/* Of an argument, or of a topic; NULL: there is none. */
const struct hp_words *hp_words_find(const char *name);

/* Adds a line each, "WORD<tab>HELP". */
void hp_words_put(const struct hp_words *words, struct hp_strbuf *lines);
void hp_word_put(struct hp_strbuf *lines, const char *word, const char *help);

/* Likewise the commands of a group; NULL: those of none. */
void hp_commands_put(const char *group, struct hp_strbuf *lines);

/* Prints the script of a shell, one of hp_shells. HP_ERR_INVALID: another. */
extern const struct hp_name hp_shells[];
enum hp_err hp_completion_script(const char *shell);

/* For these scripts: what may stand in place of the last word of a command line (behind "hotpath"),
 * as hp_words_put(), and "//files", "//directories" or "//commands" where these may be, too. */
void hp_completion_print(char **words, int n);

#endif
