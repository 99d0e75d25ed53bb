// SPDX-License-Identifier: MIT
/*
 * A command that is a group of commands: `hotpath trace record`.
 */
#ifndef HP_CLI_GROUP_H
#define HP_CLI_GROUP_H

#include "cli/options.h"

struct hp_group {
    const char *name;
    const char *words;                 /* what its commands take, for --help */
    const char *help;                  /* a paragraph */
    const struct hp_command *commands; /* ended by a NULL name */
};

/* Runs the command that argv[1] names, or prints help; returns the exit status. */
int hp_group_run(const struct hp_group *group, int argc, char **argv);

#endif
