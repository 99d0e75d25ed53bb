// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Help ------------------------------------------------------------------------------------- */

static void print_option(const struct hp_option *option)
{
    char left[64];
    char letter[] = {'-', option->letter, ',', ' ', 0};
    snprintf(left, sizeof left, "  %s--%s%s%s", option->letter ? letter : "    ", option->name,
             option->argument ? " " : "", option->argument ? option->argument : "");
    if (strlen(left) > 25)
        printf("%s\n%-26s", left, "");
    else
        printf("%-26s", left);
    /* The help text, wrapped by hand in the tables at newlines. */
    for (const char *c = option->help; *c; c++)
        if (*c == '\n')
            printf("\n%-26s", "");
        else
            putchar(*c);
    putchar('\n');
}

static void print_help(const struct hp_usage *usage, const struct hp_option *options)
{
    printf("Usage: %s %s\n\n%s\n", usage->command, usage->synopsis, usage->help);
    printf("Options:\n");
    for (const struct hp_option *o = options; o->name; o++)
        print_option(o);
    printf("  -h, --help              show this\n");
    if (usage->lists)
        usage->lists();
    if (usage->examples)
        printf("\nExamples:\n%s", usage->examples);
}

/* For the shell's completion: the option names, one a line. */
static void print_names(const struct hp_option *options)
{
    for (const struct hp_option *o = options; o->name; o++)
        printf("--%s\n", o->name);
    printf("--help\n");
}

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

static enum hp_err add_text(const struct hp_option *option, const char *argument)
{
    struct hp_texts *texts = option->value;
    if (texts->n == HP_TEXTS_MAX)
        return hp_fail(HP_ERR_INVALID, "--%s is given more than %d times", option->name,
                       HP_TEXTS_MAX);
    texts->items[texts->n++] = argument;
    return HP_OK;
}

static enum hp_err set_value(const struct hp_option *option, const char *argument)
{
    switch (option->kind) {
    case HP_OPT_FLAG: *(bool *)option->value = true; return HP_OK;
    case HP_OPT_TEXT: *(const char **)option->value = argument; return HP_OK;
    case HP_OPT_TEXTS: return add_text(option, argument);
    case HP_OPT_COUNT:
    case HP_OPT_SIZE: {
        char reason[256];
        if ((option->kind == HP_OPT_SIZE ? hp_parse_size
                                         : hp_parse_count)(argument, option->value) == HP_OK) {
            if (option->kind == HP_OPT_SIZE && !*(uint64_t *)option->value)
                *(uint64_t *)option->value = 1; /* 0 is not said */
            return HP_OK;
        }
        snprintf(reason, sizeof reason, "%s", hp_error_text());
        return hp_fail(HP_ERR_INVALID, "--%s: %s", option->name, reason);
    }
    }
    return HP_ERR_INTERNAL;
}

/* --- Parsing ---------------------------------------------------------------------------------- */

static const struct hp_option *find(const struct hp_option *options, const char *name,
                                    size_t length)
{
    for (const struct hp_option *o = options; o->name; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const struct hp_option *find_letter(const struct hp_option *options, char letter)
{
    for (const struct hp_option *o = options; o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

/* Parses argv[*i], which starts with a dash, and moves *i over what it uses. */
static enum hp_err parse_option(const struct hp_usage *usage, const struct hp_option *options,
                                int argc, char **argv, int *i)
{
    const char *word = argv[*i], *argument = NULL;
    const struct hp_option *option;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find(options, word + 2, length);
        if (word[2 + length])
            argument = word + 3 + length;
    } else {
        option = find_letter(options, word[1]);
        if (option && word[2])
            argument = word + 2;
    }
    if (!option)
        return hp_fail(HP_ERR_INVALID, "unknown option %s (%s --help lists them)", word,
                       usage->command);
    bool takes = option->kind != HP_OPT_FLAG;
    if (!takes && argument)
        return hp_fail(HP_ERR_INVALID, "option --%s takes no argument", option->name);
    if (takes && !argument) {
        if (*i + 1 >= argc)
            return hp_fail(HP_ERR_INVALID, "option --%s needs %s", option->name, option->argument);
        argument = argv[++*i];
    }
    return set_value(option, argument);
}

enum hp_err hp_options_parse(const struct hp_usage *usage, const struct hp_option *options,
                             bool stop_at_word, int argc, char **argv, int *n_words, bool *exit_now)
{
    int words = 0, i = 1;
    *exit_now = false;
    for (; i < argc; i++) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            i++;
            break;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
            strcmp(word, "--list-options") == 0) {
            if (word[2] == 'l')
                print_names(options);
            else
                print_help(usage, options);
            *exit_now = true;
            return HP_OK;
        }
        if (word[0] != '-' || !word[1]) {
            if (stop_at_word)
                break;
            argv[1 + words++] = word;
            continue;
        }
        HP_TRY(parse_option(usage, options, argc, argv, &i));
    }
    for (; i < argc; i++)
        argv[1 + words++] = argv[i];
    argv[1 + words] = NULL;
    *n_words = words;
    return HP_OK;
}
