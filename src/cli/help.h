// SPDX-License-Identifier: MIT
/*
 * What is printed from the rows of commands and options, and from the tables of what they name:
 * --help, `hotpath help`, the OPTIONS of manual pages, completion.
 */
#ifndef HP_CLI_HELP_H
#define HP_CLI_HELP_H

#include "cli/options.h"

/* `hotpath --help` */
void hp_help(void);

/* `hotpath COMMAND --help` */
void hp_help_command(const struct hp_command *command);

/* The names of its options, a line each. */
void hp_help_names(const struct hp_command *command);

#endif
