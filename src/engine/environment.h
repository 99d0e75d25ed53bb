// SPDX-License-Identifier: MIT
/*
 * The environment of a run that is to be repeated elsewhere: the same variables everywhere, and so
 * many bytes that the program's stack is at the same place of a page, whatever is in them.
 *
 * Arguments and environment lie above the first frame, so their length decides where in a page, and
 * in a cache line, everything on the stack is; routines that look at alignment then execute other
 * instructions.
 */
#ifndef HP_ENGINE_ENVIRONMENT_H
#define HP_ENGINE_ENVIRONMENT_H

#include "hotpath/error.h"

#include <stddef.h>

#define HP_ENVIRONMENT_PAD "HOTPATH_PAD"

/*
 * `environment` and one or two more variables, HOTPATH_PAD and HOTPATH_PAD2, as long as it takes:
 * all the kernel puts above the first frame (arguments, environment, the name of the `file` it
 * executes, and pointers to them) is then a whole number of pages, but for what does not depend on
 * these. Points into `environment`; free() it alone.
 */
enum hp_err hp_environment_pad(char *const *environment, char *const *argv, const char *file,
                               char ***padded);

/*
 * A small environment: PATH and HOME as they are here, LC_ALL=C, TZ=UTC0; with room for `more`
 * variables. Free it with hp_environment_free().
 */
enum hp_err hp_environment_fixed(size_t more, char ***environment);
void hp_environment_free(char **environment);

/* Sets a variable of such an environment; the name has `length` bytes. There must be room. */
enum hp_err hp_environment_set(char **environment, const char *name, size_t length,
                               const char *value);

#endif
