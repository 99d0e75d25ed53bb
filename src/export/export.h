// SPDX-License-Identifier: MIT
/*
 * Exports: what hotpath found, for the tools people already use. One table of formats, each with what it is made of.
 */
#ifndef HP_EXPORT_EXPORT_H
#define HP_EXPORT_EXPORT_H

#include "export/log.h"

/* What a format is made of. */
enum hp_export_source {
    HP_EXPORT_TIMINGS, /* what became of every instruction of a part of a run, on a machine in cycles */
};

struct hp_export_format {
    const char *name;
    const char *summary; /* one line: what it is, and what reads it */
    enum hp_export_source source;
    const struct hp_log_format *log; /* of HP_EXPORT_TIMINGS */
};

/* All of them. */
const struct hp_export_format *hp_export_formats(size_t *n);

/* HP_ERR_INVALID: there is none of that name (NULL: none was given); the text lists them. */
enum hp_err hp_export_find(const char *name, const struct hp_export_format **format);

#endif
