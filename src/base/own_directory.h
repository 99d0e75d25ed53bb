// SPDX-License-Identifier: MIT
/*
 * Where the running command is: what belongs to it is found from there, in a build tree and
 * installed.
 */
#ifndef HP_BASE_OWN_DIRECTORY_H
#define HP_BASE_OWN_DIRECTORY_H

#include <stddef.h>

/* The directory of the running command, without a slash at the end; "" when it is not known. */
void hp_own_directory(char *directory, size_t size);

#endif
