// SPDX-License-Identifier: MIT
/*
 * What the formats for viewers share: what can be asked of them, and names as they can bear them.
 */
#ifndef HP_EXPORT_NAMES_H
#define HP_EXPORT_NAMES_H

#include "export/export.h"
#include "report/tables.h"

/* HP_ERR_INVALID: something is asked for that a format for viewers has no use for. They are about
 * the whole program, and exact. */
enum hp_err hp_views_check(const struct hp_export_request *request, const char *format);

/* All instructions that the threads executed. */
uint64_t hp_views_total(const struct hp_profile *profile);

/* The name of a function as reports have it; "[unknown]" for HP_PROFILE_NONE, and for one without.
 */
const char *hp_views_name(const struct hp_tables *tables, uint32_t function);

/* Appends a name that is valid UTF-8, of one line, without control characters, not empty, and
 * without `separator` (0: none), which becomes ':'. */
void hp_views_clean(struct hp_strbuf *text, const char *name, char separator);

/* Appends the command of the run, its words separated by spaces, clean. */
void hp_views_command(const struct hp_profile *profile, struct hp_strbuf *text);

#endif
