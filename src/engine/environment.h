// SPDX-License-Identifier: MIT
/*
 * An environment that puts a program's stack at the same place of a page, whatever is in it.
 *
 * Arguments and environment lie above the first frame, so their length decides where in a page, and
 * in a cache line, everything on the stack is; routines that look at alignment then execute other
 * instructions.
 */
#ifndef HP_ENGINE_ENVIRONMENT_H
#define HP_ENGINE_ENVIRONMENT_H

#include "hotpath/error.h"

#define HP_ENVIRONMENT_PAD "HOTPATH_PAD"

/*
 * `environment` and one or two more variables, HOTPATH_PAD and HOTPATH_PAD2, as long as it takes:
 * all the kernel puts above the first frame (arguments, environment, the name of the `file` it
 * executes, and pointers to them) is then a whole number of pages, but for what does not depend on
 * these. Points into `environment`; free() it alone.
 */
enum hp_err hp_environment_pad(char *const *environment, char *const *argv, const char *file,
                               char ***padded);

#endif
