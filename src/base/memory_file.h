// SPDX-License-Identifier: MIT
/*
 * Files in memory, which are gone with the last process that has them open.
 */
#ifndef HP_BASE_MEMORY_FILE_H
#define HP_BASE_MEMORY_FILE_H

/* An empty one, closed on exec; `name` is for /proc. -1 and errno when there is none. It can be
 * sealed, and holds nothing that is executed: there are systems that forbid others. */
int hp_memory_file(const char *name);

#endif
