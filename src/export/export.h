// SPDX-License-Identifier: MIT
/*
 * Exports: what hotpath found, for the tools people already use. A format is a file with its
 * struct hp_export_format and a line in formats.c.
 */
#ifndef HP_EXPORT_EXPORT_H
#define HP_EXPORT_EXPORT_H

#include "export/pipeline/log.h"
#include "export/traces/stream.h"
#include "hotpath/profile.h"

#include <stdio.h>

/* What a format is made of. */
enum hp_export_source {
    HP_EXPORT_TIMINGS, /* what became of every instruction of a part of a run, on a machine in
                          cycles */
    HP_EXPORT_PROFILE, /* a profile */
    HP_EXPORT_STREAM,  /* everything that is executed in a run, or a part of it */
};

/* What is wanted of a format that is made of a profile. What a format has no use for it refuses. */
struct hp_export_request {
    const char *module; /* the file that it is about, by path or by name; NULL: the program that was
                           started */
    const char *table;  /* take the counts from this hot path table, not the exact ones; NULL: the
                           exact ones */
    const char
        *metric; /* what is counted, where there is a choice: "instructions" (NULL), "cycles" */
};

/* What was written, and of how much. For formats that are about one file: of the executions in it.
 */
struct hp_export_written {
    const char *unit; /* "instructions", "branches", ... */
    uint64_t written;
    uint64_t total;    /* in the profile */
    char missing[256]; /* where the rest is: "in other modules", ...; "": there is none */
    char detail[256];  /* what else there is to know of it; "": nothing */
};

struct hp_export_format {
    const char *name;
    const char *summary; /* one line: what it is, and what reads it */
    enum hp_export_source source;
    const struct hp_log_format *log;       /* of HP_EXPORT_TIMINGS */
    const struct hp_stream_format *stream; /* of HP_EXPORT_STREAM */
    /* Of HP_EXPORT_PROFILE: writes a profile, which is normal. Names in it are any bytes, and may
     * be as long as they like. HP_ERR_INVALID: the profile has not got what the format is made of;
     * the text says how to record it. */
    enum hp_err (*write)(const struct hp_profile *profile, const struct hp_export_request *request,
                         FILE *out, struct hp_export_written *written);
};

/* All of them. */
const struct hp_export_format *const *hp_export_formats(size_t *n);

/* HP_ERR_INVALID: there is none of that name (NULL: none was given); the text lists them. */
enum hp_err hp_export_find(const char *name, const struct hp_export_format **format);

/* --- For formats ------------------------------------------------------------------------------ */

/* The module a request is about, as the profile's index: the one whose path, or whose name without
 * directories, is `name`; NULL: that of the program that was started. HP_ERR_INVALID: there is
 * none, or several; the text says which there are. */
enum hp_err hp_export_module(const struct hp_profile *profile, const char *name, uint32_t *module);

#endif
