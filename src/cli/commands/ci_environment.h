// SPDX-License-Identifier: MIT
/*
 * What a run that is to be repeated elsewhere depends on besides the program.
 */
#ifndef HP_CLI_CI_ENVIRONMENT_H
#define HP_CLI_CI_ENVIRONMENT_H

#include "cli/options.h"

/*
 * hp_environment_fixed() and what `more` says, "NAME=VALUE" or "NAME" (as it is here;
 * HP_ERR_INVALID: it is not set). Free it with hp_environment_free(), also when this fails.
 */
enum hp_err hp_ci_environment(const struct hp_texts *more, char ***environment);

/* The level of the processor's instructions, by which libraries choose their routines: "x86-64-v3";
 * "" where there is none. */
const char *hp_ci_cpu(void);

#endif
