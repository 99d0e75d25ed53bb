// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Values ----------------------------------------------------------------------------------- */

static double scale_of(char letter, double thousand)
{
    switch (letter) {
    case 'k':
    case 'K': return thousand;
    case 'm':
    case 'M': return thousand * thousand;
    case 'g':
    case 'G': return thousand * thousand * thousand;
    case 't':
    case 'T': return thousand * thousand * thousand * thousand;
    default: return 1;
    }
}

/* A number with a letter behind it that stands for a power of `thousand`. */
static bool parse_scaled(const char *text, double thousand, uint64_t *value)
{
    char *end;
    bool plain = *text != 0;
    for (const char *c = text; *c; c++)
        plain = plain && isdigit((unsigned char)*c);
    if (plain && strlen(text) < 20) {
        *value = strtoull(text, NULL, 10);
        return true;
    }
    double number = strtod(text, &end);
    double scale = scale_of(*end, thousand);
    if (scale > 1)
        end++;
    bool decimal = isdigit((unsigned char)text[0]) && !strpbrk(text, "xX");
    if (end == text || *end || !decimal || !(number * scale < 1.8e19))
        return false;
    *value = (uint64_t)(number * scale + 0.5); /* 1.001k is 1000.9999... here */
    return true;
}

enum hp_err hp_parse_count(const char *text, uint64_t *value)
{
    if (parse_scaled(text, 1000, value))
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "'%s' is not a number (examples: 1000, 10k, 2.5M, 1G)", text);
}

enum hp_err hp_parse_size(const char *text, uint64_t *value)
{
    if (parse_scaled(text, 1024, value))
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "'%s' is not a size (examples: 65536, 64k, 256M, 1G)", text);
}

enum hp_err hp_parse_percent(const char *text, double *value)
{
    size_t n = strspn(text, "0123456789.");
    char *end;
    double number = strtod(text, &end);
    bool rest = strcmp(text + n, "") == 0 || strcmp(text + n, "%") == 0;
    if (n == 0 || n > 20 || end != text + n || !rest)
        return hp_fail(HP_ERR_INVALID, "'%s' is not a percentage (examples: 1%%, 0.5%%)", text);
    *value = number;
    return HP_OK;
}

static enum hp_err add_text(const char *name, struct hp_texts *texts, const char *argument)
{
    if (texts->n == HP_TEXTS_MAX)
        return hp_fail(HP_ERR_INVALID, "--%s is given more than %d times", name, HP_TEXTS_MAX);
    texts->items[texts->n++] = argument;
    return HP_OK;
}

static enum hp_err set_number(const struct hp_option *option, uint64_t *value, const char *argument)
{
    char reason[256];
    enum hp_err err = option->kind == HP_OPT_SIZE ? hp_parse_size(argument, value)
                                                  : hp_parse_count(argument, value);
    if (err == HP_OK)
        return HP_OK;
    snprintf(reason, sizeof reason, "%s", hp_error_text());
    return hp_fail(err, "--%s: %s", option->name, reason);
}

static enum hp_err set_value(const struct hp_option *option, void *value, const char *argument)
{
    switch (option->kind) {
    case HP_OPT_FLAG: *(bool *)value = true; return HP_OK;
    case HP_OPT_TEXT: *(const char **)value = argument; return HP_OK;
    case HP_OPT_TEXTS: return add_text(option->name, value, argument);
    case HP_OPT_COUNT:
    case HP_OPT_SIZE: return set_number(option, value, argument);
    }
    return HP_ERR_INTERNAL;
}

/* --- Parsing ---------------------------------------------------------------------------------- */

/* By name or, where that is NULL, by letter; `*at` is where its value is. */
static const struct hp_option *find(const struct hp_command *command, const char *name,
                                    size_t length, char letter, size_t *at)
{
    for (const struct hp_option_group *group = command->options; group && group->rows; group++)
        for (const struct hp_option *o = group->rows; o->name; o++)
            if (name ? strlen(o->name) == length && memcmp(o->name, name, length) == 0
                     : o->letter && o->letter == letter) {
                *at = group->at + o->at;
                return o;
            }
    return NULL;
}

const char *hp_command_title(const struct hp_command *command, char *text, size_t size)
{
    snprintf(text, size, "hotpath %s%s%s", command->group ? command->group : "",
             command->group ? " " : "", command->name);
    return text;
}

/* Parses argv[*i], which starts with a dash, and moves *i over what it uses. */
static enum hp_err parse_option(const struct hp_command *command, char *values, int argc,
                                char **argv, int *i)
{
    const char *word = argv[*i], *argument = NULL;
    const struct hp_option *option;
    char title[64];
    size_t at;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find(command, word + 2, length, 0, &at);
        if (word[2 + length])
            argument = word + 3 + length;
    } else {
        option = find(command, NULL, 0, word[1], &at);
        if (option && word[2])
            argument = word + 2;
    }
    if (!option)
        return hp_fail(HP_ERR_INVALID, "unknown option %s (%s --help lists them)", word,
                       hp_command_title(command, title, sizeof title));
    bool takes = option->kind != HP_OPT_FLAG;
    if (!takes && argument)
        return hp_fail(HP_ERR_INVALID, "option --%s takes no argument", option->name);
    if (takes && !argument) {
        if (*i + 1 >= argc)
            return hp_fail(HP_ERR_INVALID, "option --%s needs %s", option->name, option->argument);
        argument = argv[++*i];
    }
    return set_value(option, values + at, argument);
}

enum hp_err hp_options_parse(const struct hp_command *command, void *values, int argc, char **argv,
                             int *n_words, enum hp_asked *asked)
{
    int words = 0, i = 1;
    *asked = HP_ASKED_NOTHING;
    for (; i < argc; i++) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            i++;
            if (command->behind_dashes)
                *(int *)((char *)values + command->behind_dashes) = argc - i;
            break;
        }
        bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        if (help || strcmp(word, "--list-options") == 0) {
            *asked = help ? HP_ASKED_HELP : HP_ASKED_NAMES;
            return HP_OK;
        }
        if (word[0] != '-' || !word[1]) {
            if (command->stop_at_word)
                break;
            argv[1 + words++] = word;
            continue;
        }
        HP_TRY(parse_option(command, values, argc, argv, &i));
    }
    for (; i < argc; i++)
        argv[1 + words++] = argv[i];
    argv[1 + words] = NULL;
    *n_words = words;
    return HP_OK;
}
