// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "cli/cli.h"
#include "cli/help.h"

static const struct hp_command group_trace = {
    .name = "trace",
    .summary = "record, inspect, check and replay the raw stream",
    .synopsis = "COMMAND [OPTIONS] ...",
    .help = "A trace is everything a program executed, in order: about a bit a branch. Replaying "
            "it gives the same profile as watching the program, to the last count, as often as you "
            "like.\n",
};

static const struct hp_command group_wpp = {
    .name = "wpp",
    .summary = "inspect and expand a whole program path",
    .synopsis = "COMMAND [OPTIONS] FILE",
    .help = "A whole program path is every path that a program executed, in order, as a grammar: "
            "small, and expanded to exactly that sequence again.\n",
};

const struct hp_command *const hp_commands[] = {
    &hp_command_run,
    &hp_command_record,
    &hp_command_top,
    &hp_command_report,
    &hp_command_export,
    &hp_command_annotate,
    &hp_command_html,
    &hp_command_import,
    &hp_command_compare,
    &hp_command_diff,
    &hp_command_ci,
    &hp_command_merge,
    &group_trace,
    &hp_command_trace_record,
    &hp_command_trace_info,
    &hp_command_trace_check,
    &hp_command_trace_dump,
    &hp_command_trace_replay,
    &group_wpp,
    &hp_command_wpp_info,
    &hp_command_wpp_expand,
    &hp_command_wpp_hot,
    &hp_command_lab,
    &hp_command_stop,
    &hp_command_help,
    NULL,
};

const char *hp_command_name(const struct hp_command *command, const char *group)
{
    const char *blank = strchr(command->name, ' ');
    if (!group || !blank)
        return group || blank ? NULL : command->name;
    size_t n = (size_t)(blank - command->name);
    return strlen(group) == n && memcmp(group, command->name, n) == 0 ? blank + 1 : NULL;
}

const struct hp_command *hp_command_find(const char *group, const char *name)
{
    for (const struct hp_command *const *c = hp_commands; *c; c++) {
        const char *own = hp_command_name(*c, group);
        if (own && strcmp(own, name) == 0)
            return *c;
    }
    return NULL;
}

bool hp_command_runs(const struct hp_command *command)
{
    return strstr(command->synopsis, "[--] PROGRAM");
}

/* The command of a group that argv[1] names. */
static int run_one_of(const struct hp_command *group, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        hp_help_command(group);
        return argc > 1 ? 0 : HP_STATUS_FAILED;
    }
    const struct hp_command *command = hp_command_find(group->name, name);
    if (command)
        return hp_command_execute(command, argc - 1, argv + 1);
    return hp_cli_fail(hp_fail(HP_ERR_INVALID,
                               "unknown command '%s %s' (hotpath %s --help lists them)",
                               group->name, name, group->name));
}

enum hp_err hp_fail_usage(const struct hp_invocation *call, const char *wrong)
{
    return hp_fail(HP_ERR_INVALID, "%s; usage: hotpath %s %s", wrong, call->command->name,
                   call->command->synopsis);
}

/* Are there as many words as the synopsis says? A choice, "(A | B)", the command checks itself. */
static enum hp_err check_words(const struct hp_invocation *call)
{
    const char *synopsis = call->command->synopsis;
    bool any = strstr(synopsis, "...") || hp_command_runs(call->command);
    int needed = 0, most = 0;
    for (const char *word = synopsis; *word && *word != '('; word += strspn(word, " ")) {
        if (*word == '-') /* an option, and its argument */
            word += strcspn(word, " ") + 1;
        else if (*word != '[')
            needed++;
        most += *word != '[' || (word[1] != 'O' && word[1] != '-');
        if (needed > call->n) {
            char wrong[64];
            snprintf(wrong, sizeof wrong, "no %.*s given", (int)strcspn(word, " ."), word);
            return hp_fail_usage(call, wrong);
        }
        word += strcspn(word, " ");
    }
    bool chosen = strchr(synopsis, '(');
    return chosen || any || call->n <= most ? HP_OK : hp_fail_usage(call, "too many arguments");
}

static enum hp_err run(struct hp_invocation *call, int argc, char **argv)
{
    HP_TRY(hp_options_parse(call, argc, argv));
    if (call->help) {
        hp_help_command(call->command);
        return HP_OK;
    }
    HP_TRY(check_words(call));
    return call->command->run(call);
}

int hp_command_execute(const struct hp_command *command, int argc, char **argv)
{
    if (!command->run)
        return run_one_of(command, argc, argv);
    void *values HP_CLEANUP(hp_free) = calloc(1, command->values.size + 1);
    if (!values)
        return hp_cli_fail(hp_fail_nomem());
    if (command->values.defaults)
        memcpy(values, command->values.defaults, command->values.size);
    struct hp_invocation call = {.command = command, .values = values};
    enum hp_err err = run(&call, argc, argv);
    if (err == HP_OK)
        return call.status;
    int failed = hp_cli_fail(err);
    bool as_program = call.status || (err == HP_ERR_UNOBSERVED && command->unobserved);
    return as_program ? call.status : failed;
}
