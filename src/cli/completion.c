// SPDX-License-Identifier: MIT
/*
 * Completion for shells. Their scripts only ask `hotpath help --complete`, which knows the rows of
 * commands and options.
 */
#include "base/base.h"
#include "cli/help.h"

#define HEAD "# Completion for hotpath: written by 'hotpath help --completion'.\n"

const struct hp_name hp_shells[] = {{"bash", NULL}, {"zsh", NULL}, {"fish", NULL}, {0}};

static const char *const scripts[] = {
    HEAD "_hotpath()\n{\n"
         "    local lines kind=\n"
         "    lines=$(hotpath help --complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" \\\n"
         "        2> /dev/null | cut -f 1)\n"
         "    case $lines in\n"
         "    *//files) kind=-f ;;\n"
         "    *//directories) kind=-d ;;\n"
         "    *//commands) kind='-c -f' ;;\n"
         "    esac\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"${lines%//*}\" $kind -- \\\n"
         "        \"${COMP_WORDS[COMP_CWORD]}\")\n"
         "}\n"
         "complete -o filenames -F _hotpath hotpath\n",
    "#compdef hotpath\n" HEAD "_hotpath()\n{\n"
    "    local line\n"
    "    local -a found\n"
    "    for line in \"${(@f)$(hotpath help --complete -- \"${(@)words[2,CURRENT]}\" \\\n"
    "        2> /dev/null)}\"; do\n"
    "        case $line in\n"
    "        //files) _files ;;\n"
    "        //directories) _files -/ ;;\n"
    "        //commands) _command_names -e; _files ;;\n"
    "        ?*) found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    ((${#found})) && _describe hotpath found\n"
    "}\n"
    "_hotpath \"$@\"\n",
    HEAD "function __hotpath_complete\n"
         "    set -l words (commandline -opc) (commandline -ct)\n"
         "    for line in (hotpath help --complete -- $words[2..-1] 2> /dev/null)\n"
         "        switch $line\n"
         "            case //files\n"
         "                __fish_complete_path (commandline -ct)\n"
         "            case //directories\n"
         "                __fish_complete_directories (commandline -ct)\n"
         "            case //commands\n"
         "                __fish_complete_subcommand\n"
         "            case '*'\n"
         "                echo $line\n"
         "        end\n"
         "    end\n"
         "end\n"
         "complete -c hotpath -f -a '(__hotpath_complete)'\n",
};

enum hp_err hp_completion_script(const char *shell)
{
    unsigned i;
    HP_TRY(hp_name_find(hp_shells, "completion for", shell, &i));
    fputs(scripts[i], stdout);
    return HP_OK;
}

static void put_options(const struct hp_command *command, struct hp_strbuf *lines)
{
    const struct hp_option *o;
    for (size_t i = 0; (o = hp_command_option(command, i)); i++) {
        hp_strbuf_format(lines, "--%s\t", o->name);
        hp_option_help(o, lines);
        hp_strbuf_add(lines, "\n");
    }
    hp_word_put(lines, "--help", "show the options");
}

/* What an argument of that name may be. */
static void put_argument(const char *argument, struct hp_strbuf *lines)
{
    const struct hp_words *words = hp_words_find(argument);
    if (words)
        hp_words_put(words, lines);
    if (strcmp(argument, "FILE") == 0 || strcmp(argument, "MACHINE") == 0)
        hp_strbuf_add(lines, "//files\n");
    else if (strcmp(argument, "DIR") == 0)
        hp_strbuf_add(lines, "//directories\n");
}

/* For the last word of a command. */
static void put_words(const struct hp_command *command, char **words, int n,
                      struct hp_strbuf *lines)
{
    const struct hp_option *option = NULL; /* whose argument is next */
    const char *argument;
    bool in_program = false;
    for (int i = 0; i + 1 < n; i++) {
        bool is_argument = option;
        option = is_argument ? NULL : hp_option_find(command, words[i], &argument);
        if (option && (option->kind == HP_OPT_FLAG || argument))
            option = NULL;
        if (!is_argument &&
            (strcmp(words[i], "--") == 0 || (hp_command_runs(command) && words[i][0] != '-')))
            in_program = true;
    }
    if (in_program)
        hp_strbuf_add(lines, "//commands\n");
    else if (option)
        put_argument(option->argument, lines);
    else if (words[n - 1][0] == '-')
        put_options(command, lines);
    else {
        put_argument(command->words ? command->words : "", lines);
        if (!command->words || strstr(command->synopsis, "FILE"))
            hp_strbuf_add(lines, hp_command_runs(command) ? "//commands\n" : "//files\n");
    }
}

void hp_completion_print(char **words, int n)
{
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    const struct hp_command *command = n > 1 ? hp_command_find(NULL, words[0]) : NULL;
    int used = 1;
    if (command && !command->run && n > 2)
        command = hp_command_find(words[0], words[used++]);
    if (n <= 1)
        hp_strbuf_add(&lines, "--help\tshow the commands\n--version\t\n");
    if (n <= 1 || (command && !command->run))
        hp_commands_put(command ? command->name : NULL, &lines);
    else if (command)
        put_words(command, words + used, n - used, &lines);
    fputs(hp_strbuf_text(&lines), stdout);
}
