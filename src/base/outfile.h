// SPDX-License-Identifier: MIT
/*
 * Files that appear whole or not at all: written aside, then named. If the file system supports it,
 * the file has no name until then, and nothing is left when hotpath is killed. An existing path
 * that is not a file (a terminal, a pipe, /dev/null) is written to directly; a symbolic link is
 * followed.
 */
#ifndef HP_BASE_OUTFILE_H
#define HP_BASE_OUTFILE_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stdio.h>

struct hp_outfile {
    FILE *file;    /* write here */
    char *path;    /* where it will appear */
    char *aside;   /* where it is now; NULL: without a name, or already in place */
    bool nameless; /* without a name */
};

/* Creates the file, in the directory of `path`, with the permissions of a new file. */
HP_MUST_CHECK enum hp_err hp_outfile_open(struct hp_outfile *out, const char *path);

/* Flushes and names it. On failure nothing is left of it. Either way `out` is empty afterwards. */
HP_MUST_CHECK enum hp_err hp_outfile_commit(struct hp_outfile *out);

/* Removes what was written; does nothing to an empty `out`. */
void hp_outfile_abort(struct hp_outfile *out);

#endif
