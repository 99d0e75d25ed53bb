// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command of a group that argv[1] names. */
static int run_one_of(const struct hp_command *group, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        hp_help_command(group);
        return argc > 1 ? 0 : HP_STATUS_FAILED;
    }
    for (const struct hp_command *const *c = group->commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return hp_command_execute(*c, argc - 1, argv + 1);
    return hp_cli_fail(hp_fail(HP_ERR_INVALID,
                               "unknown command '%s %s' (hotpath %s --help lists them)",
                               group->name, name, group->name));
}

static enum hp_err check_words(const struct hp_command *command, int n)
{
    bool many = command->most && n > command->most;
    if (!command->wrong || (n >= command->least && !many))
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "%s; try: %s",
                   many && command->least < command->most ? "too many arguments" : command->wrong,
                   command->instead);
}

static enum hp_err run(const struct hp_command *command, void *values, int n, char **words,
                       int *status)
{
    HP_TRY(check_words(command, n));
    return command->run(values, n, words, status);
}

int hp_command_execute(const struct hp_command *command, int argc, char **argv)
{
    int n, status = 0;
    enum hp_asked asked;
    if (command->commands)
        return run_one_of(command, argc, argv);
    void *values = calloc(1, command->size ? command->size : 1);
    if (!values)
        return hp_cli_fail(hp_fail_nomem());
    if (command->defaults)
        memcpy(values, command->defaults, command->size);
    enum hp_err err = hp_options_parse(command, values, argc, argv, &n, &asked);
    if (err == HP_OK && asked == HP_ASKED_HELP)
        hp_help_command(command);
    else if (err == HP_OK && asked == HP_ASKED_NAMES)
        hp_help_names(command);
    else if (err == HP_OK)
        err = run(command, values, n, argv + 1, &status);
    free(values);
    if (err == HP_OK)
        return status;
    int failed = hp_cli_fail(err);
    return status == 0 && !(err == HP_ERR_UNOBSERVED && command->unobserved) ? failed : status;
}
