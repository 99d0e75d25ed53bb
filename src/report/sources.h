// SPDX-License-Identifier: MIT
/* The source text beside the counts: lines of the files that the debug information names, where
 * they can be read. All zero but for the settings is an empty collection. */
#ifndef HP_REPORT_SOURCES_H
#define HP_REPORT_SOURCES_H

#include "base/map64.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_source_file {
    const char *name;
    char *text;     /* NULL: could not be read */
    size_t *starts; /* of its lines; one more than there are */
    size_t n_lines;
    int64_t changed; /* when it was, in seconds; of one that could be read */
};

struct hp_sources {
    const char *directory; /* where relative names are looked up; "" or NULL: here */
    /* where files are looked for first, by their name and its ends ("src/a.c", "a.c"), or NULL */
    const char *path;
    int64_t time; /* seconds; files changed later are counted. 0: not known */
    /* only files that were not changed since are read: none when the time is not known */
    bool only_older;
    struct hp_map64 by_name; /* by the address of the name */
    struct hp_source_file *files;
    size_t n_files, capacity;
    size_t bytes;      /* read so far; there is a limit */
    const char *newer; /* the first file that was changed later */
    size_t n_newer;
};

/* Line `line` (from 1) of the file, `*length` bytes without the line end; NULL when it is not
 * there, whatever the reason: only regular files of a sane size are read. `file` must be the same
 * pointer for the same file. Valid until hp_sources_fini(). */
const char *hp_sources_line(struct hp_sources *sources, const char *file, uint32_t line,
                            size_t *length);
/* The file itself, read at the first call; NULL: no memory. Valid until the next call. */
const struct hp_source_file *hp_sources_file(struct hp_sources *sources, const char *file);
void hp_sources_fini(struct hp_sources *sources);

#endif
