// SPDX-License-Identifier: MIT
/*
 * A table on a terminal: columns aligned, and cut to fit where the width is limited.
 *
 * Every row is filled in twice, once to be measured and once to be printed, so that a table of
 * millions of rows needs the memory of one. Cells hold clean UTF-8 (hp_strbuf_clean()).
 */
#ifndef HP_TEXT_TABLE_H
#define HP_TEXT_TABLE_H

#include "text/strbuf.h"

#include <stdio.h>

#define HP_TEXT_COLUMNS 10

struct hp_text;
struct hp_row;

struct hp_column {
    const char *title; /* NULL ends the list */
    bool right;        /* aligned right */
    bool flexible;     /* may be cut */
    enum hp_cut cut;
    size_t most; /* where the width is limited, no wider than this. 0: as wide as it gets */
    bool heat;   /* coloured by the row's heat */
    bool bold;
    bool hidden; /* not shown; its cells are filled all the same */

    /* For reports, what it shows: a field of the view, NULL: the one called as the title; it is
     * hidden where the field is not known. */
    const char *field;
    bool share;    /* the number as a share of all instructions */
    bool plain;    /* the digits of the number, as of an id */
    bool ratio;    /* a fraction is no share: with one decimal below 1000 */
    bool not_zero; /* nothing for 0 */
    /* Instead, what this function puts; with `by_thread` also of a thread's row. */
    void (*put)(const struct hp_text *text, const struct hp_row *row, struct hp_strbuf *cell);
    bool by_thread;
};

struct hp_text_rows {
    const struct hp_column *columns; /* at most HP_TEXT_COLUMNS */
    FILE *out;
    bool color;
    int width;     /* of the terminal; <= 0: no limit */
    size_t indent; /* 0: as usual */
    size_t n;
    /* Fills the (empty) cells of row `i` and returns its heat; called twice. */
    double (*fill)(void *context, size_t i, struct hp_strbuf *cells);
    /* Print what stands above and below a row. May be NULL. */
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
