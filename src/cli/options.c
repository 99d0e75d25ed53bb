// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include "base/base.h"

#include <ctype.h>

/* 1 where it stands for nothing. */
static double scale_of(char letter, double thousand)
{
    static const char letters[] = "kKmMgGtT";
    const char *found = letter ? strchr(letters, letter) : NULL;
    double scale = 1;
    for (ptrdiff_t i = found ? (found - letters) / 2 : -1; i >= 0; i--)
        scale *= thousand;
    return scale;
}

/* A number with a letter behind it that stands for a power of `thousand`. */
static enum hp_err parse_scaled(const char *text, double thousand, const char *what,
                                uint64_t *value)
{
    char *end;
    bool plain = *text != 0;
    for (const char *c = text; *c; c++)
        plain = plain && isdigit((unsigned char)*c);
    if (plain && strlen(text) < 20) {
        *value = strtoull(text, NULL, 10);
        return HP_OK;
    }
    double number = strtod(text, &end);
    double scale = scale_of(*end, thousand);
    if (scale > 1)
        end++;
    bool decimal = isdigit((unsigned char)text[0]) && !strpbrk(text, "xX");
    if (end == text || *end || !decimal || !(number * scale < 1.8e19))
        return hp_fail(HP_ERR_INVALID, "'%s' is not a %s", text, what);
    *value = (uint64_t)(number * scale + 0.5); /* 1.001k is 1000.9999... here */
    return HP_OK;
}

enum hp_err hp_parse_count(const char *text, uint64_t *value)
{
    return parse_scaled(text, 1000, "number (examples: 1000, 10k, 2.5M, 1G)", value);
}

enum hp_err hp_parse_size(const char *text, uint64_t *value)
{
    return parse_scaled(text, 1024, "size (examples: 65536, 64k, 256M, 1G)", value);
}

bool hp_parse_time(const char *text, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
    size_t n = strspn(text, "0123456789.");
    char *end;
    double number = strtod(text, &end);
    if (n == 0 || n > 20 || end != text + n)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && number > 0) {
            *seconds = number * units[i].seconds;
            return true;
        }
    return false;
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

static enum hp_err set_value(const struct hp_option *option, void *value, const char *argument)
{
    struct hp_texts *texts = value;
    switch (option->kind) {
    case HP_OPT_FLAG: *(bool *)value = true; return HP_OK;
    case HP_OPT_TEXT: *(const char **)value = argument; return HP_OK;
    case HP_OPT_COUNT: return hp_parse_count(argument, value);
    case HP_OPT_SIZE: return hp_parse_size(argument, value);
    case HP_OPT_TEXTS:
        if (texts->n == HP_TEXTS_MAX)
            return hp_fail(HP_ERR_INVALID, "given more than %d times", HP_TEXTS_MAX);
        texts->items[texts->n++] = argument;
        return HP_OK;
    }
    return HP_ERR_INTERNAL;
}

const struct hp_option *hp_command_option(const struct hp_command *command, size_t i)
{
    for (const struct hp_option *const *table = command->options; *table; table++)
        for (const struct hp_option *o = *table; o->name; o++)
            if (i-- == 0)
                return o;
    return NULL;
}

const struct hp_option *hp_option_find(const struct hp_command *command, const char *word,
                                       const char **argument)
{
    if (word[0] != '-' || !word[1])
        return NULL;
    bool is_long = word[1] == '-';
    const char *name = is_long ? word + 2 : word + 1;
    size_t length = is_long ? strcspn(name, "=") : 1;
    const struct hp_option *o;
    *argument = !name[length] ? NULL : is_long ? name + length + 1 : name + 1;
    for (size_t i = 0; (o = hp_command_option(command, i)); i++)
        if (is_long ? strlen(o->name) == length && memcmp(o->name, name, length) == 0
                    : o->letter == *name)
            return o;
    return NULL;
}

/* Parses argv[*i], which starts with a dash, and moves *i over what it uses. */
static enum hp_err parse_option(struct hp_invocation *call, int argc, char **argv, int *i)
{
    const char *argument;
    const struct hp_option *option = hp_option_find(call->command, argv[*i], &argument);
    if (!option)
        return hp_fail(HP_ERR_INVALID, "unknown option %s (hotpath %s --help lists them)", argv[*i],
                       call->command->name);
    bool takes = option->kind != HP_OPT_FLAG;
    if (!takes && argument)
        return hp_fail(HP_ERR_INVALID, "option --%s takes no argument", option->name);
    if (takes && !argument) {
        if (*i + 1 >= argc)
            return hp_fail(HP_ERR_INVALID, "option --%s needs %s", option->name, option->argument);
        argument = argv[++*i];
    }
    enum hp_err err = set_value(option, (char *)call->values + option->at, argument);
    return err == HP_OK ? err : hp_fail(err, "--%s: %s", option->name, hp_error_text());
}

enum hp_err hp_options_parse(struct hp_invocation *call, int argc, char **argv)
{
    int words = 0, i = 1;
    for (; i < argc; i++) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            call->behind = argc - ++i;
            break;
        }
        call->help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        if (call->help)
            return HP_OK;
        if (word[0] == '-' && word[1])
            HP_TRY(parse_option(call, argc, argv, &i));
        else if (hp_command_runs(call->command))
            break;
        else
            argv[1 + words++] = word;
    }
    for (; i < argc; i++)
        argv[1 + words++] = argv[i];
    argv[1 + words] = NULL;
    call->words = argv + 1;
    call->n = words;
    return HP_OK;
}
