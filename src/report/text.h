// SPDX-License-Identifier: MIT
/* Views for people: what printing them needs and has in common. */
#ifndef HP_REPORT_TEXT_H
#define HP_REPORT_TEXT_H

#include "report/cells.h"
#include "report/print.h"
#include "report/sources.h"
#include "report/view.h"
#include "text/number.h"
#include "text/table.h"

struct hp_text {
    struct hp_tables *tables;
    const struct hp_report_options *options;
    struct hp_sources *sources;
    FILE *out;
    void *context; /* of the view */
    bool printed;  /* something stands above */
};

/* The table of a view: `columns` (NULL: the view's), each row followed by its parts by thread; what
 * is not known has no column. `below` as in struct hp_text_rows, but by row; called behind the
 * parts. May be NULL. */
enum hp_err hp_print_rows(const struct hp_text *text, const struct hp_view *view,
                          const struct hp_column *columns, const struct hp_rows *rows,
                          enum hp_err (*below)(const struct hp_text *text,
                                               const struct hp_row *row));

/* The same of the first `limit` rows (0: all), and how many more there are. */
enum hp_err hp_print_list(const struct hp_text *text, const struct hp_view *view,
                          struct hp_rows *rows, size_t limit);

/* The same of each list in turn, as `print` prints it, with a blank line between them. */
enum hp_err hp_print_lists(const struct hp_text *text, const struct hp_view *view,
                           struct hp_rows *rows, size_t limit,
                           enum hp_err (*print)(const struct hp_text *text, struct hp_rows *list));

/* One line of a text, cut to the width of the terminal; HP_ERR_NOMEM when it could not be made.
 * Empties the text. */
enum hp_err hp_print_line(struct hp_strbuf *text, const struct hp_report_options *options,
                          FILE *out);

/* A sentence, broken at blanks where the width is limited, each line indented by `indent`. Empties
 * the text. */
enum hp_err hp_print_wrapped(struct hp_strbuf *text, size_t indent,
                             const struct hp_report_options *options, FILE *out);

/* "… and 12 more", where rows were left out. */
void hp_print_more(FILE *out, size_t more);

#endif
