// SPDX-License-Identifier: MIT
/* What the formats for viewers share. They are about the whole program, and exact. */
#ifndef HP_EXPORT_VIEWS_H
#define HP_EXPORT_VIEWS_H

#include "base/lists.h"
#include "export/export.h"
#include "report/tables.h"

/* HP_ERR_INVALID: something is asked for that these formats have no use for. */
enum hp_err hp_views_check(const struct hp_export_request *request, const char *format);

/* The name of a function as reports have it; "[unknown]" where there is none. */
const char *hp_views_name(const struct hp_tables *tables, uint32_t function);

/* Appends a name that is valid UTF-8, of one line, without control characters, not empty, and
 * without `separator` (0: none), which becomes ':'. */
void hp_views_clean(struct hp_strbuf *text, const char *name, char separator);

/* Appends the command of the run, its words separated by spaces, clean. */
void hp_views_command(const struct hp_profile *profile, struct hp_strbuf *text);

/* Makes the tables (hp_tables_fini()). HP_ERR_INVALID: the profile has no contexts, or none that a
 * run can have; or something is asked for that cannot be told by context. */
enum hp_err hp_stacks_init(struct hp_tables *tables, const struct hp_export_request *request,
                           const char *format);

/* The functions of a context, innermost first (HP_PROFILE_NONE: not known); returns how many. */
size_t hp_stacks_functions(const struct hp_profile *profile, uint32_t context,
                           uint32_t functions[HP_CONTEXT_DEPTH]);

/* What was written, when it was so many instructions. */
struct hp_export_written hp_stacks_written(const struct hp_tables *tables, uint64_t instructions);

#endif
