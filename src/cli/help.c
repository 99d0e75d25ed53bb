// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include "base/base.h"
#include "base/settings.h"
#include "cli/cli.h"
#include "export/export.h"
#include "profiler/models.h"

#include <ctype.h>
#include <stdarg.h>

#define WIDTH     80
#define HELP_FROM 26 /* the column of options' help */

/* --- Texts ------------------------------------------------------------------------------------ */

/* Prints a text in lines of at most WIDTH columns, from the column `indent` on, where the cursor
 * is. Where it has line ends of its own, that is 0. */
static void print_wrapped(const char *text, int indent)
{
    int column = indent;
    for (; *text; text += *text != 0) {
        int n = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + n > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += printf("%s%.*s", column > indent ? " " : "", n, text);
        text += n;
        if (*text == '\n') {
            putchar('\n');
            column = 0;
        }
    }
}

void hp_option_help(const struct hp_option *option, struct hp_strbuf *text)
{
    const char *at = strstr(option->help, "{}");
    if (!at) {
        hp_strbuf_add(text, option->help);
        return;
    }
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_words_put(hp_words_find(option->argument), &lines);
    hp_strbuf_bytes(text, option->help, (size_t)(at - option->help));
    for (const char *line = hp_strbuf_text(&lines); *line; line = strchr(line, '\n') + 1) {
        hp_strbuf_bytes(text, line, strcspn(line, "\t"));
        hp_strbuf_add(text, strchr(line, '\n')[1] ? ", " : "");
    }
    hp_strbuf_add(text, at + 2);
}

/* --- Commands --------------------------------------------------------------------------------- */

static void print_option(const struct hp_option *option)
{
    struct hp_strbuf left HP_CLEANUP(hp_strbuf_fini) = {0}, help HP_CLEANUP(hp_strbuf_fini) = {0};
    char letter[] = {'-', option->letter, ',', ' ', 0};
    hp_strbuf_format(&left, "  %s--%s%s%s", option->letter ? letter : "    ", option->name,
                     option->argument ? " " : "", option->argument ? option->argument : "");
    if (left.length > HELP_FROM - 2)
        printf("%s\n%*s", hp_strbuf_text(&left), HELP_FROM, "");
    else
        printf("%-*s", HELP_FROM, hp_strbuf_text(&left));
    hp_option_help(option, &help);
    print_wrapped(hp_strbuf_text(&help), HELP_FROM);
    putchar('\n');
}

/* Lines of a word and its help, which begins `width` columns behind that. */
static void print_words(const struct hp_strbuf *lines, int width)
{
    for (const char *line = hp_strbuf_text(lines); *line;) {
        struct hp_strbuf help HP_CLEANUP(hp_strbuf_fini) = {0};
        int n = (int)strcspn(line, "\t"), rest = (int)strcspn(line + n, "\n");
        hp_strbuf_bytes(&help, line + n + 1, (size_t)rest - 1);
        printf("  %-*.*s%s", width, n, line, n <= width ? " " : "\n");
        printf("%*s", n <= width ? 0 : width + 3, "");
        print_wrapped(hp_strbuf_text(&help), width + 3);
        putchar('\n');
        line += n + rest + 1;
    }
}

static void print_commands(const char *group)
{
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_commands_put(group, &lines);
    printf("Commands:\n");
    print_words(&lines, 9);
}

static void print_list(const struct hp_words *words)
{
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_words_put(words, &lines);
    print_words(&lines, 15);
}

void hp_help(void)
{
    printf("hotpath " HP_VERSION
           ": profiles any Linux program, unmodified, without performance counters.\n\n"
           "Usage: hotpath COMMAND [OPTIONS] ...\n\n");
    print_commands(NULL);
    printf("\nStart with:\n"
           "  hotpath run -- gzip -9c FILE > /dev/null\n\n"
           "'hotpath COMMAND --help' explains a command.\n");
}

void hp_help_command(const struct hp_command *command)
{
    const struct hp_option *option;
    printf("Usage: hotpath %s %s\n\n", command->name, command->synopsis);
    print_wrapped(command->help, 0);
    putchar('\n');
    if (!command->run) {
        print_commands(command->name);
        printf("\n'hotpath %s COMMAND --help' explains a command.\n", command->name);
        return;
    }
    printf("Options:\n");
    for (size_t i = 0; (option = hp_command_option(command, i)); i++)
        print_option(option);
    printf("  -h, --help              show this\n");
    if (command->list) {
        const struct hp_words *words = hp_words_find(command->list);
        printf("\n%c%s:\n", toupper((unsigned char)words->topic[0]), words->topic + 1);
        print_list(words);
    }
    if (command->examples)
        printf("\nExamples:\n%s", command->examples);
}

/* --- Manual pages ----------------------------------------------------------------------------- */

/* As text of a manual page; a line of it begins here. */
static void print_troff(const char *text)
{
    if (*text == '\'' || *text == '.')
        printf("\\&");
    for (; *text; text++)
        if (*text == '-' || *text == '\\')
            printf(*text == '-' ? "\\-" : "\\e");
        else
            putchar(*text);
}

/* The options as a manual page has them. */
static void print_man(const struct hp_command *command)
{
    const struct hp_option *o;
    for (size_t i = 0; (o = hp_command_option(command, i)); i++) {
        struct hp_strbuf help HP_CLEANUP(hp_strbuf_fini) = {0};
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
        hp_option_help(o, &help);
        print_troff(hp_strbuf_text(&help));
        putchar('\n');
    }
    printf(".TP\n.B \\-h\\fR, \\fB\\-\\-help\nshow the options\n");
}

/* --- Models ----------------------------------------------------------------------------------- */

/* What a name means, behind it; lines go on at column `indent`. */
__attribute__((format(printf, 2, 3))) static void print_meaning(int indent, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_wrapped(text, indent);
    putchar('\n');
}

static void print_model(const struct hp_model *model)
{
    char values[256];
    if (model->help) {
        int n = printf("  %s: ", model->name);
        print_meaning(n, "%s", model->help);
    }
    for (unsigned i = 0; i < model->n_presets; i++) {
        printf("    %-20s ", model->presets[i].name);
        print_meaning(25, "%s", model->presets[i].help ? model->presets[i].help : "");
    }
    for (unsigned i = 0; i < model->n_keys; i++) {
        const struct hp_setting *key = &model->keys[i];
        hp_setting_values(key, values, sizeof values);
        printf("      ,%-18s ", key->key);
        print_meaning(26, "%s%s%s%s", key->help ? key->help : "", *values ? " (" : "", values,
                      *values ? ")" : "");
    }
}

static void print_family(const struct hp_model_family *family)
{
    int n = printf("\n%s: ", family->option);
    print_meaning(n - 1, "%s", family->help);
    for (unsigned m = 0; m < family->n_models; m++)
        print_model(family->models[m]);
}

static void print_models(void)
{
    printf("Models, their presets and keys: a text is \"PRESET,KEY=VALUE,...\".\n");
    for (unsigned i = 0; i < hp_n_model_families; i++)
        print_family(hp_model_families[i]);
    for (const struct hp_export_format *const *format = hp_export_formats; *format; format++)
        if ((*format)->settings)
            print_family((*format)->settings);
}

/* --- hotpath help ----------------------------------------------------------------------------- */

static void print_topics(void)
{
    hp_help();
    printf("'hotpath help TOPIC' lists: models");
    for (const struct hp_words *words = hp_word_lists; words->argument; words++)
        if (words->topic)
            printf(", %s", words->topic);
    printf(".\n");
}

struct request {
    const char *shell;
    bool man, complete;
};

static const struct hp_option rows[] = {
    {"man", 0, HP_FLAG(man), NULL,
     "print a command's options, or a list, as manual pages have them"},
    {"completion", 0, HP_TEXT(shell), "SHELL", "print the completion for a shell: {}"},
    {"complete", 0, HP_FLAG(complete), NULL,
     "print what may stand in place of the last word of a command line, for the completion"},
    {0},
};

/* A list, as a manual page has it. */
static void print_man_words(const struct hp_words *words)
{
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    char *rest, *word;
    hp_words_put(words, &lines);
    for (rest = lines.data; rest && (word = strsep(&rest, "\t")) && rest;) {
        printf(".TP\n.B ");
        print_troff(word);
        putchar('\n');
        print_troff(strsep(&rest, "\n"));
        putchar('\n');
    }
}

static enum hp_err explain(const char *name, const char *sub, bool man)
{
    const struct hp_command *command =
        sub ? hp_command_find(name, sub) : hp_command_find(NULL, name);
    const struct hp_words *words = hp_words_find(name);
    if (command)
        (man ? print_man : hp_help_command)(command);
    else if (!sub && strcmp(name, "models") == 0)
        print_models();
    else if (!sub && words && words->topic)
        (man ? print_man_words : print_list)(words);
    else
        return hp_fail(HP_ERR_INVALID, "there is no help on '%s' (hotpath help lists topics)",
                       name);
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    const struct request *r = call->values;
    if (r->shell)
        return hp_completion_script(r->shell);
    if (!r->complete && call->n > 2)
        return hp_fail_usage(call, "too many arguments");
    if (!r->complete && call->n)
        return explain(call->words[0], call->words[1], r->man);
    if (r->complete)
        hp_completion_print(call->words, call->n);
    else
        print_topics();
    return HP_OK;
}

const struct hp_command hp_command_help = {
    .name = "help",
    .summary = "explain a command, or list what there is of something",
    .synopsis = "[OPTIONS] [COMMAND|TOPIC]...",
    .help = "Explains a COMMAND as its --help does, or lists what TOPIC is about: profilers, "
            "views, formats, machines, models. Without either: what there is.\n",
    .options = {rows},
    .words = "TOPIC",
    .values = {sizeof(struct request), NULL},
    .run = run,
};
