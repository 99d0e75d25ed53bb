// SPDX-License-Identifier: MIT
/* The printers behind hp_report(), which checks for write errors at the end. */
#ifndef HP_REPORT_PRINT_H
#define HP_REPORT_PRINT_H

#include "report/tables.h"
#include "report/view.h"
#include "text/json.h"

enum hp_err hp_print_text(struct hp_tables *tables, const struct hp_report_options *options,
                          FILE *out);
/* JSON or CSV. */
enum hp_err hp_print_script(struct hp_tables *tables, const struct hp_report_options *options,
                            FILE *out);

/* The key of a view: its name, with "_" for "-". */
void hp_json_view_key(struct hp_json *json, const struct hp_view *view);

/* The members of the objects "run" and "summary", and the list "notes". */
void hp_json_run(struct hp_json *json, const struct hp_run *run);
void hp_json_summary(struct hp_json *json, const struct hp_summary *summary);
void hp_json_notes(struct hp_json *json, const struct hp_profile *profile);

/* Flushes; HP_ERR_IO when anything could not be written. */
enum hp_err hp_print_finish(FILE *out);

/* A CSV field, quoted where RFC 4180 asks for it; what is not UTF-8 becomes U+FFFD. */
void hp_csv_text(FILE *out, const char *text);

/* The first of what the default view shows besides the summary. */
const struct hp_view *hp_print_default(const struct hp_tables *tables);

/* Whether code was counted: a profile may have paths or predictions only. */
bool hp_print_is_counted(const struct hp_tables *tables);

/* Whether a view was asked for, of those that have to be. */
bool hp_print_is_there(const struct hp_tables *tables, const struct hp_view *view);

/* Whether a view is a table of which what is asked for can be asked. */
bool hp_print_is_asked(const struct hp_tables *tables, const struct hp_view *view);

/* How many rows of a view to print; 0: all. */
static inline size_t hp_print_limit(const struct hp_report_options *options,
                                    const struct hp_view *view)
{
    if (options->top != HP_REPORT_TOP_DEFAULT)
        return options->top;
    if (options->format != HP_REPORT_TEXT)
        return 0;
    return view->top == HP_VIEW_WHOLE ? 0 : view->top ? view->top : HP_REPORT_TEXT_TOP;
}

#endif
