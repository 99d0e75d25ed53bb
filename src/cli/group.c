// SPDX-License-Identifier: MIT
#include "cli/group.h"

#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void print_help(const struct hp_group *group)
{
    printf("Usage: hotpath %s COMMAND [OPTIONS] %s\n\n%s\nCommands:\n", group->name, group->words,
           group->help);
    for (const struct hp_command *c = group->commands; c->name; c++)
        printf("  %-9s %s\n", c->name, c->summary);
    printf("\n'hotpath %s COMMAND --help' explains a command.\n", group->name);
}

int hp_group_run(const struct hp_group *group, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(group);
        return argc > 1 ? 0 : HP_STATUS_FAILED;
    }
    for (const struct hp_command *c = group->commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c->run(argc - 1, argv + 1);
    return hp_cli_fail(hp_fail(HP_ERR_INVALID,
                               "unknown command '%s %s' (hotpath %s --help lists them)",
                               group->name, name, group->name));
}
