// SPDX-License-Identifier: MIT
/* Reading a whole file. */
#ifndef HP_BASE_INFILE_H
#define HP_BASE_INFILE_H

#include "hotpath/error.h"

#include <stddef.h>

/* The next `size` bytes, terminated with 0; `*text` is for free(), NULL on failure. HP_ERR_IO:
 * there are fewer, or they cannot be read; `path` is for the error text. */
HP_MUST_CHECK enum hp_err hp_infile_read(int fd, const char *path, size_t size, char **text);

#endif
