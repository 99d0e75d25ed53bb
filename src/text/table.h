// SPDX-License-Identifier: MIT
/*
 * A table on a terminal: columns aligned, and cut to fit if the width is limited.
 *
 * Every row is filled in twice, once to measure and once to print, so that a table of millions of
 * rows needs the memory of one. Cells hold clean UTF-8 (hp_strbuf_clean()).
 */
#ifndef HP_TEXT_TABLE_H
#define HP_TEXT_TABLE_H

#include "text/strbuf.h"

#include <stdio.h>

#define HP_TEXT_COLUMNS 12

struct hp_text;
struct hp_row;

struct hp_column {
    const char *title; /* NULL ends the list */
    bool right;        /* aligned right */
    bool flexible;     /* may be cut */
    bool telling;      /* says more than the rest: gets half as much room again, as names do */
    enum hp_cut cut;
    size_t most; /* maximum width if the table's is limited. 0: none */
    bool heat;   /* coloured by the row's heat */
    bool bold;
    bool hidden; /* not shown; its cells are still filled */

    /* For reports, what it shows: a field of the view, NULL: the one named like the title; the
     * column is hidden if the field is unknown. */
    const char *field;
    bool share;    /* the number as a share of all instructions */
    bool plain;    /* only the digits of the number, as for an id */
    bool ratio;    /* a fraction, not a share: one decimal below 1000 */
    bool not_zero; /* blank for 0 */
    /* Instead, the output of this function; with `by_thread` also for a thread's row. */
    void (*put)(const struct hp_text *text, const struct hp_row *row, struct hp_strbuf *cell);
    bool by_thread;
};

struct hp_text_rows {
    const struct hp_column *columns; /* at most HP_TEXT_COLUMNS */
    FILE *out;
    bool color;
    int width;       /* of the terminal; <= 0: no limit */
    bool full_names; /* names of functions are not cut */
    size_t indent;   /* 0: default */
    size_t n;
    /* Fills the (empty) cells of row `i` and returns its heat; called twice. */
    double (*fill)(void *context, size_t i, struct hp_strbuf *cells);
    /* Print what comes above and below a row. May be NULL. */
    enum hp_err (*above)(void *context, size_t i);
    enum hp_err (*below)(void *context, size_t i);
    void *context;
};

/* Prints titles, unless all are "", and rows. */
enum hp_err hp_text_rows_print(const struct hp_text_rows *rows);

/* Terminal codes, "" when `color` is not set. */
const char *hp_text_bold(bool color);
const char *hp_text_warn(bool color);
const char *hp_text_plain(bool color);

#endif
