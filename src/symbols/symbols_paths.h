// SPDX-License-Identifier: MIT
/*
 * Paths of source files among the kept strings.
 */
#ifndef HP_SYMBOLS_SYMBOLS_PATHS_H
#define HP_SYMBOLS_SYMBOLS_PATHS_H

#include "base/strings.h"

/*
 * A lasting copy of the path `directory`/`name` (or `name` alone when it is absolute or `directory`
 * is ""), with "//", "/./" and "/name/../" taken out without looking at the file system. NULL when
 * memory ran out.
 */
const char *hp_strings_add_path(struct hp_strings *strings, const char *directory,
                                const char *name);

#endif
