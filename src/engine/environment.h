// SPDX-License-Identifier: MIT
/*
 * The environment of a reproducible run: the same variables everywhere, padded so that the
 * program's stack begins at the same offset in a page whatever their contents.
 *
 * Arguments and environment lie above the first frame. Their length decides the alignment of
 * everything on the stack, and routines that test alignment then execute different instructions.
 */
#ifndef HP_ENGINE_ENVIRONMENT_H
#define HP_ENGINE_ENVIRONMENT_H

#include "hotpath/error.h"

#include <stddef.h>

#define HP_ENVIRONMENT_PAD "HOTPATH_PAD"

/*
 * `environment` plus one or two variables, HOTPATH_PAD and HOTPATH_PAD2, of the length needed: what
 * the kernel puts above the first frame (arguments, environment, the name of the executed `file`,
 * and pointers to them) is then a whole number of pages, except for what does not depend on these.
 * The result points into `environment`; free() only the result itself.
 */
enum hp_err hp_environment_pad(char *const *environment, char *const *argv, const char *file,
                               char ***padded);

/*
 * A small environment: PATH and HOME from ours, LC_ALL=C, TZ=UTC0; with room for `more` variables.
 * Free it with hp_environment_free().
 */
enum hp_err hp_environment_fixed(size_t more, char ***environment);
void hp_environment_free(char **environment);

/* Sets a variable of such an environment; the name has `length` bytes. There must be room. */
enum hp_err hp_environment_set(char **environment, const char *name, size_t length,
                               const char *value);

#endif
