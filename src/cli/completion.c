// SPDX-License-Identifier: MIT
#include "cli/completion.h"

#include "cli/cli.h"
#include "cli/words.h"

#include <string.h>

typedef void each_command(const struct hp_command *command, FILE *out);

static void for_each(each_command *act, FILE *out)
{
    for (const struct hp_command *const *c = hp_commands; *c; c++) {
        act(*c, out);
        for (const struct hp_command *const *s = (*c)->commands; s && *s; s++)
            act(*s, out);
    }
}

static void print_names(const struct hp_command *const *commands, FILE *out)
{
    for (bool first = true; *commands; commands++, first = false)
        fprintf(out, "%s%s", first ? "" : " ", (*commands)->name);
}

/* "run", "trace-record" */
static void print_key(const struct hp_command *command, FILE *out)
{
    fprintf(out, "%s%s%s", command->group ? command->group : "", command->group ? "-" : "",
            command->name);
}

/* The first line of a help text, without what a shell would read. */
static void print_help(const char *help, FILE *out)
{
    for (; *help && *help != '\n'; help++)
        fputc(strchr("'[]:\\\"$`", *help) ? ' ' : *help, out);
}

/* --- bash ------------------------------------------------------------------------------------- */

static void bash_command(const struct hp_command *command, FILE *out)
{
    fprintf(out, "    ");
    print_key(command, out);
    fprintf(out, ") options=\"");
    if (command->commands)
        print_names(command->commands, out);
    for (const struct hp_option_group *g = command->options; g && g->rows; g++)
        for (const struct hp_option *o = g->rows; o->name; o++)
            fprintf(out, "--%s ", o->name);
    fprintf(out, "%s--help\" ;;\n", command->commands ? " " : "");
}

static void bash_arguments(const struct hp_command *command, FILE *out)
{
    for (const struct hp_option_group *g = command->options; g && g->rows; g++)
        for (const struct hp_option *o = g->rows; o->name; o++) {
            if (o->kind == HP_OPT_FLAG)
                continue;
            fprintf(out, "    ");
            print_key(command, out);
            fprintf(out, ":--%s", o->name);
            if (o->letter) {
                fprintf(out, " | ");
                print_key(command, out);
                fprintf(out, ":-%c", o->letter);
            }
            fprintf(out, ") what=\"");
            hp_words_print(o->words, HP_WORDS_BARE, out);
            fprintf(out, "\" kind=%s ;;\n",
                    o->words == HP_WORDS_DIRECTORIES                              ? "-d"
                    : o->words == HP_WORDS_FILES || o->words == HP_WORDS_MACHINES ? "-f"
                                                                                  : "");
        }
}

static void print_bash(FILE *out)
{
    fprintf(out, "# Completion for hotpath, in bash: written by 'hotpath help --completion bash'.\n"
                 "_hotpath()\n{\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
                 "    local key=${COMP_WORDS[1]} options= what=none kind= i\n"
                 "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"");
    print_names(hp_commands, out);
    fprintf(out, " --help --version\" -- \"$word\")\n        return\n    fi\n"
                 "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                 "        if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
                 "            mapfile -t COMPREPLY < <(compgen -c -f -- \"$word\")\n"
                 "            return\n        fi\n    done\n"
                 "    case $key in\n");
    for (const struct hp_command *const *c = hp_commands; *c; c++)
        if ((*c)->commands)
            fprintf(out, "    %s) [ \"$COMP_CWORD\" -gt 2 ] && key=%s-${COMP_WORDS[2]} ;;\n",
                    (*c)->name, (*c)->name);
    fprintf(out, "    esac\n    case $key in\n");
    for_each(bash_command, out);
    fprintf(out, "    esac\n    case $key:$previous in\n");
    for_each(bash_arguments, out);
    fprintf(out, "    report:*) [[ $word != -* ]] && what=\"");
    hp_words_print(HP_WORDS_VIEWS, HP_WORDS_BARE, out);
    fprintf(out, "\" kind=-f ;;\n    help:*) what=\"models profilers views formats machines ");
    print_names(hp_commands, out);
    fprintf(out,
            "\" ;;\n    trace:* | wpp:*) what=$options ;;\n"
            "    lab:*) [[ $word != -* ]] && what=\"list $(hotpath lab list 2> /dev/null | awk "
            "'/^[A-Z]/ { on = /^Exp/ } /^  / && on { print $1 }')\" ;;\n"
            "    esac\n"
            "    if [ \"$what\" != none ]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$what\" $kind -- \"$word\")\n"
            "    elif [[ $word == -* ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
            "    else\n"
            "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi\n}\n"
            "complete -o filenames -F _hotpath hotpath\n");
}

/* --- zsh -------------------------------------------------------------------------------------- */

static void zsh_command(const struct hp_command *command, FILE *out)
{
    fprintf(out, "    ");
    print_key(command, out);
    fprintf(out, ")\n        _arguments -s");
    for (const struct hp_option_group *g = command->options; g && g->rows; g++)
        for (const struct hp_option *o = g->rows; o->name; o++) {
            fprintf(out, " \\\n            '%s--%s%s[", o->kind == HP_OPT_TEXTS ? "*" : "", o->name,
                    o->kind == HP_OPT_FLAG ? "" : "=");
            print_help(o->help, out);
            fprintf(out, "]");
            if (o->kind != HP_OPT_FLAG) {
                fprintf(out, ":");
                print_help(o->argument, out);
                fprintf(out, ":");
                if (o->words >= HP_WORDS_VIEWS) {
                    fprintf(out, "(");
                    hp_words_print(o->words, HP_WORDS_BARE, out);
                    fprintf(out, ")");
                } else if (o->words == HP_WORDS_FILES || o->words == HP_WORDS_DIRECTORIES) {
                    fprintf(out, "_files%s", o->words == HP_WORDS_DIRECTORIES ? " -/" : "");
                }
            }
            fprintf(out, "'");
        }
    if (command->commands) {
        fprintf(out, " '1:command:(");
        print_names(command->commands, out);
        fprintf(out, ")'");
    }
    fprintf(out, " '--help[show the options]' '*:file:_files' ;;\n");
}

static void print_zsh(FILE *out)
{
    fprintf(out, "#compdef hotpath\n"
                 "# Completion for hotpath, in zsh: written by 'hotpath help --completion zsh'.\n"
                 "_hotpath()\n{\n    local key=$words[2]\n"
                 "    if ((CURRENT == 2)); then\n        local -a commands=(\n");
    for (const struct hp_command *const *c = hp_commands; *c; c++) {
        fprintf(out, "            '%s:", (*c)->name);
        print_help((*c)->summary, out);
        fprintf(out, "'\n");
    }
    fprintf(out, "        )\n        _describe command commands\n        return\n    fi\n"
                 "    shift words\n    ((CURRENT--))\n");
    for (const struct hp_command *const *c = hp_commands; *c; c++)
        if ((*c)->commands)
            fprintf(
                out,
                "    if [[ $key == %s ]] && ((CURRENT > 2)); then\n"
                "        key=%s-$words[2]\n        shift words\n        ((CURRENT--))\n    fi\n",
                (*c)->name, (*c)->name);
    fprintf(out, "    case $key in\n");
    for_each(zsh_command, out);
    fprintf(out, "    esac\n}\n_hotpath \"$@\"\n");
}

/* --- fish ------------------------------------------------------------------------------------- */

/* When a command, or a command of a group, is being typed. */
static void print_condition(const struct hp_command *command, FILE *out)
{
    if (command->group)
        fprintf(out, " -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s'",
                command->group, command->name);
    else
        fprintf(out, " -n '__fish_seen_subcommand_from %s'", command->name);
}

static void fish_option(const struct hp_command *command, const struct hp_option *o, FILE *out)
{
    fprintf(out, "complete -c hotpath");
    print_condition(command, out);
    fprintf(out, " -l %s", o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    if (o->words >= HP_WORDS_VIEWS) {
        fprintf(out, " -xa '");
        hp_words_print(o->words, HP_WORDS_BARE, out);
        fprintf(out, "'");
    } else if (o->kind != HP_OPT_FLAG) {
        fprintf(out, " -r");
    }
    fprintf(out, " -d '");
    print_help(o->help, out);
    fprintf(out, "'\n");
}

static void fish_command(const struct hp_command *command, FILE *out)
{
    fprintf(out, "complete -c hotpath");
    if (command->group)
        fprintf(out, " -n '__fish_seen_subcommand_from %s'", command->group);
    else
        fprintf(out, " -n __fish_use_subcommand");
    fprintf(out, " -fa %s -d '", command->name);
    print_help(command->summary, out);
    fprintf(out, "'\n");
    for (const struct hp_option_group *g = command->options; g && g->rows; g++)
        for (const struct hp_option *o = g->rows; o->name; o++)
            fish_option(command, o, out);
}

static void print_fish(FILE *out)
{
    fprintf(out,
            "# Completion for hotpath, in fish: written by 'hotpath help --completion fish'.\n");
    for_each(fish_command, out);
}

enum hp_err hp_completion_print(const char *shell, FILE *out)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else if (strcmp(shell, "fish") == 0)
        print_fish(out);
    else
        return hp_fail(HP_ERR_INVALID,
                       "there is no completion for '%s'; there is one for: bash, "
                       "zsh, fish",
                       shell);
    return HP_OK;
}
