// SPDX-License-Identifier: MIT
/*
 * The exact profiler: every block, edge and call counted, per thread, unbounded. The yardstick for
 * all models.
 *
 * Functions are entered by calls, and by jumps from another function (tail calls, stubs). Inclusive
 * counts come from a shadow stack of return addresses: a return goes to the nearest frame that
 * expects it; returns and jumps that expect nothing (longjmp, exceptions, coroutines) unwind to the
 * nearest frame of the function they land in, if there is one. A function's inclusive count covers
 * its outermost activation only, so recursion counts once. A signal handler's instructions are part
 * of what it interrupted.
 */
#ifndef HP_PROFILER_EXACT_H
#define HP_PROFILER_EXACT_H

#include "hotpath/profiler.h"
#include "symbols/functions.h"

/* Keeps `code` and `functions`. */
enum hp_err hp_exact_new(struct hp_code *code, struct hp_functions *functions,
                         struct hp_profiler **profiler);

#endif
