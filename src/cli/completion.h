// SPDX-License-Identifier: MIT
/*
 * Completion for shells, written from the rows of commands and options.
 */
#ifndef HP_CLI_COMPLETION_H
#define HP_CLI_COMPLETION_H

#include "hotpath/error.h"

#include <stdio.h>

/* For "bash", "zsh" or "fish". HP_ERR_INVALID: another shell. */
enum hp_err hp_completion_print(const char *shell, FILE *out);

#endif
