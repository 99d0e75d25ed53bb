// SPDX-License-Identifier: MIT
/*
 * What a run that is to be repeated elsewhere depends on besides the program.
 */
#ifndef HP_CLI_CI_ENVIRONMENT_H
#define HP_CLI_CI_ENVIRONMENT_H

#include "cli/options.h"

/*
 * A small environment, with the same names everywhere: PATH and HOME as they are, LC_ALL=C,
 * TZ=UTC0, and what `more` says, "NAME=VALUE" or "NAME" (as it is here; HP_ERR_INVALID: it is not
 * set). Free it with the function below.
 */
enum hp_err hp_ci_environment(const struct hp_texts *more, char ***environment);
void hp_ci_environment_free(char **environment);

/* The level of the processor's instructions, by which libraries choose their routines: "x86-64-v3";
 * "" where there is none. */
const char *hp_ci_cpu(void);

#endif
