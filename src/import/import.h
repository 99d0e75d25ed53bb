// SPDX-License-Identifier: MIT
/*
 * Recordings of other profilers, as profiles: docs/import.md.
 */
#ifndef HP_IMPORT_IMPORT_H
#define HP_IMPORT_IMPORT_H

#include "hotpath/code.h"
#include "hotpath/profile.h"
#include "hotpath/session.h"

struct hp_import_request {
    const char *path;         /* "-": standard input */
    const char *event;        /* of several, the one to read; NULL: the first with branch stacks, or
                                 with samples */
    const char *const *files; /* in place of those that were recorded, by their names */
    size_t n_files;
    enum hp_line_detail lines;
    const struct hp_session_settings *settings; /* which profilers; NULL: as if nothing was said */
    const char *trace; /* keep a complete recording in this trace; NULL: no */
    /* Says what the user must know: one line. */
    void (*say)(void *context, const char *text);
    void *context;
};

/*
 * Reads a perf.data file into a normal profile; with `trace` into that, and `*profile` is NULL.
 * HP_ERR_IO, HP_ERR_FORMAT: it cannot be read, or is none. HP_ERR_INVALID: there is nothing in it
 * that a profile can be made of, or no such event; the text says why. HP_ERR_NOMEM.
 */
HP_MUST_CHECK enum hp_err hp_import_perf(const struct hp_import_request *request,
                                         struct hp_profile **profile);

#endif
