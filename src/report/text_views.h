// SPDX-License-Identifier: MIT
/*
 * The tables of the text report: which columns a view has, and what is in them.
 */
#ifndef HP_REPORT_TEXT_VIEWS_H
#define HP_REPORT_TEXT_VIEWS_H

#include "report/sources.h"
#include "report/tables.h"
#include "text/table.h"

/* What filling a row needs. */
struct hp_text_view_input {
    const struct hp_tables *tables;
    struct hp_sources *sources; /* lines */
    const double *taken;        /* edges: by edge, how often its branch is taken; < 0: always */
};

struct hp_text_view {
    enum hp_report_view view;
    const char *title;
    const char *empty; /* said when there is no row */
    const struct hp_column *columns;
    /* Fills the (empty) cells of a row, or of a part of it by thread. */
    void (*fill)(const struct hp_text_view_input *input, const struct hp_row *row,
                 struct hp_strbuf *cells);
    bool weighted; /* v[0] are instructions, so that its share of all is the row's heat */
};

/* Of the views that are in text_models.c. */
extern const struct hp_column hp_prediction_columns[];
extern const struct hp_column hp_machine_columns[];
void hp_fill_prediction(const struct hp_text_view_input *input, const struct hp_row *row,
                        struct hp_strbuf *cells);
void hp_fill_machine(const struct hp_text_view_input *input, const struct hp_row *row,
                     struct hp_strbuf *cells);

/* The description of a view that is a table, NULL for any other (paths are printed by hp_print_paths()). What is not known has no column. */
const struct hp_text_view *hp_text_view(const struct hp_tables *tables, enum hp_report_view view);

/* For each edge, the fraction of its branch's executions that were taken; -1 when the branch was
 * never seen falling through and is not conditional. Free with free(). */
enum hp_err hp_text_taken(const struct hp_tables *tables, const struct hp_rows *rows,
                          double **taken);

#endif
