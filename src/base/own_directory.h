// SPDX-License-Identifier: MIT
/*
 * The directory of the running command: its parts are found from there, in a build tree and
 * installed.
 */
#ifndef HP_BASE_OWN_DIRECTORY_H
#define HP_BASE_OWN_DIRECTORY_H

#include <stddef.h>

/* The directory of the running command, without a trailing slash; "": unknown. */
void hp_own_directory(char *directory, size_t size);

#endif
