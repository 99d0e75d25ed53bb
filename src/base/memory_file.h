// SPDX-License-Identifier: MIT
/*
 * Files in memory, which disappear with the last process that has them open.
 */
#ifndef HP_BASE_MEMORY_FILE_H
#define HP_BASE_MEMORY_FILE_H

/* An empty one, close-on-exec; `name` is for /proc. -1 and errno on failure. It can be sealed, and
 * is not executable: some systems forbid others. */
int hp_memory_file(const char *name);

#endif
