// SPDX-License-Identifier: MIT
/*
 * A filter in front of a profiler: it passes on a program from the first code of the program's own
 * file on, and hides the dynamic linker's work before that.
 */
#ifndef HP_LAB_LOOPS_SKIP_LINKER_H
#define HP_LAB_LOOPS_SKIP_LINKER_H

#include "hotpath/profiler.h"

/* Keeps `code`; takes ownership of `profiler`, also when it fails. `path`: the program's file;
 * copied. */
enum hp_err hp_lab_skip_linker_new(struct hp_code *code, const char *path,
                                   struct hp_profiler *profiler, struct hp_profiler **filter);

/* How many instructions the profiler did not see, not counting the last block before the program's
 * own. */
uint64_t hp_lab_skip_linker_hidden(const struct hp_profiler *filter);

#endif
