// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include "base/settings.h"
#include "cli/cli.h"
#include "cli/completion.h"
#include "cli/words.h"
#include "profiler/models.h"

#include <stdio.h>
#include <string.h>

/* --- Commands --------------------------------------------------------------------------------- */

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
    for (const char *c = option->help; *c; c++)
        if (*c == '\n')
            printf("\n%-26s", "");
        else
            putchar(*c);
    putchar('\n');
}

static void print_commands(const struct hp_command *const *commands)
{
    printf("Commands:\n");
    for (; *commands; commands++)
        printf("  %-9s %s\n", (*commands)->name, (*commands)->summary);
}

void hp_help(void)
{
    printf("hotpath " HP_VERSION
           ": profiles any Linux program, unmodified, without performance counters.\n\n"
           "Usage: hotpath COMMAND [OPTIONS] ...\n\n");
    print_commands(hp_commands);
    printf("\nStart with:\n"
           "  hotpath run -- gzip -9c FILE > /dev/null\n\n"
           "'hotpath COMMAND --help' explains a command.\n");
}

void hp_help_command(const struct hp_command *command)
{
    char title[64];
    printf("Usage: %s %s\n\n%s\n", hp_command_title(command, title, sizeof title),
           command->synopsis, command->help);
    if (command->commands) {
        print_commands(command->commands);
        printf("\n'hotpath %s COMMAND --help' explains a command.\n", command->name);
        return;
    }
    printf("Options:\n");
    for (const struct hp_option_group *group = command->options; group && group->rows; group++)
        for (const struct hp_option *o = group->rows; o->name; o++)
            print_option(o);
    printf("  -h, --help              show this\n");
    if (command->lists) {
        printf("\n%s:\n", hp_words_title(command->lists));
        hp_words_print(command->lists, HP_WORDS_WITH_HELP, stdout);
    }
    if (command->examples)
        printf("\nExamples:\n%s", command->examples);
}

void hp_help_names(const struct hp_command *command)
{
    for (const struct hp_option_group *group = command->options; group && group->rows; group++)
        for (const struct hp_option *o = group->rows; o->name; o++)
            printf("--%s\n", o->name);
    printf("--help\n");
}

/* --- Manual pages ----------------------------------------------------------------------------- */

static void print_troff(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '-')
            printf("\\-");
        else if (*c == '\n')
            putchar(c[1] ? '\n' : ' ');
        else if (*c == '\\')
            printf("\\e");
        else if (*c == '\'' && (c == text || c[-1] == '\n'))
            printf("\\(aq");
        else
            putchar(*c);
}

/* The options as a manual page has them. */
static void print_man(const struct hp_command *command)
{
    for (const struct hp_option_group *group = command->options; group && group->rows; group++)
        for (const struct hp_option *o = group->rows; o->name; o++) {
            printf(".TP\n.B ");
            if (o->letter)
                printf("\\-%c\\fR, \\fB", o->letter);
            printf("\\-\\-");
            print_troff(o->name);
            if (o->argument) {
                printf(" \\fI");
                print_troff(o->argument);
                printf("\\fR");
            }
            putchar('\n');
            print_troff(o->help);
            putchar('\n');
        }
    printf(".TP\n.B \\-h\\fR, \\fB\\-\\-help\nshow the options\n");
}

/* --- Models ----------------------------------------------------------------------------------- */

static void print_model(const struct hp_model *model)
{
    char values[256];
    if (model->help)
        printf("  %s: %s\n", model->name, model->help);
    for (unsigned i = 0; i < model->n_presets; i++)
        printf("    %-20s %s\n", model->presets[i].name,
               model->presets[i].help ? model->presets[i].help : "");
    for (unsigned i = 0; i < model->n_keys; i++) {
        const struct hp_setting *key = &model->keys[i];
        hp_setting_values(key, values, sizeof values);
        printf("      %s%-18s %s%s%s%s\n", ",", key->key, key->help ? key->help : "",
               *values ? " (" : "", values, *values ? ")" : "");
    }
}

static void print_models(void)
{
    printf("Models, their presets and keys: a text is \"PRESET,KEY=VALUE,...\".\n");
    for (unsigned i = 0; i < hp_n_model_families; i++) {
        const struct hp_model_family *family = hp_model_families[i];
        printf("\n%s: %s\n", family->option, family->help);
        for (unsigned m = 0; m < family->n_models; m++)
            print_model(family->models[m]);
    }
}

/* --- hotpath help ----------------------------------------------------------------------------- */

static const struct hp_command *find(const char *name, const char *sub)
{
    for (const struct hp_command *const *c = hp_commands; *c; c++) {
        if (strcmp((*c)->name, name) != 0)
            continue;
        for (const struct hp_command *const *s = (*c)->commands; sub && s && *s; s++)
            if (strcmp((*s)->name, sub) == 0)
                return *s;
        return sub ? NULL : *c;
    }
    return NULL;
}

static void print_topics(void)
{
    hp_help();
    printf("'hotpath help TOPIC' lists: models");
    for (int list = HP_WORDS_ANY + 1; list <= HP_WORDS_LAST; list++)
        if (hp_words_topic((enum hp_word_list)list))
            printf(", %s", hp_words_topic((enum hp_word_list)list));
    printf(".\n");
}

struct request {
    const char *shell;
    bool man;
};

static const struct hp_option rows[] = {
    {"man", 0, HP_OPT_FLAG, offsetof(struct request, man), NULL,
     "print a command's options as its manual page has them", 0},
    {"completion", 0, HP_OPT_TEXT, offsetof(struct request, shell), "SHELL",
     "print the completion for bash, zsh or fish", 0},
    {0},
};

static const struct hp_option_group options[] = {{rows, 0}, {0}};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    const struct request *r = values;
    (void)status;
    if (r->shell)
        return hp_completion_print(r->shell, stdout);
    if (n == 0) {
        print_topics();
        return HP_OK;
    }
    const struct hp_command *command = find(words[0], words[1]);
    enum hp_word_list list = hp_words_from_topic(words[0]);
    if (command && r->man)
        print_man(command);
    else if (command)
        hp_help_command(command);
    else if (n == 1 && strcmp(words[0], "models") == 0)
        print_models();
    else if (n == 1 && list)
        hp_words_print(list, HP_WORDS_WITH_HELP, stdout);
    else
        return hp_fail(HP_ERR_INVALID, "there is no help on '%s' (hotpath help lists topics)",
                       words[0]);
    return HP_OK;
}

const struct hp_command hp_command_help = {
    .name = "help",
    .summary = "explain a command, or list what there is of something",
    .synopsis = "[OPTIONS] [COMMAND | TOPIC]",
    .help = "Explains a COMMAND as its --help does, or lists what TOPIC is about: profilers,\n"
            "views, formats, machines, models. Without either: what there is.\n",
    .options = options,
    .least = 0,
    .most = 2,
    .wrong = "help takes a command or a topic",
    .instead = "hotpath help",
    .size = sizeof(struct request),
    .run = run_command,
};
