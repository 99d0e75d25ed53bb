// SPDX-License-Identifier: MIT
/*
 * The columns of the live view: what is drawn, what rows are sorted by, and what expressions of its
 * filter may name, which are called as in the report (docs/report.md).
 */
#ifndef HP_CLI_TOP_COLUMNS_H
#define HP_CLI_TOP_COLUMNS_H

#include "live/board.h"
#include "report/query/filter.h"

#include <stdbool.h>

/* What a column has; behind LEFT, aligned left; behind HIDDEN, for expressions only. */
enum hp_top_what {
    HP_TOP_NUMBER,
    HP_TOP_SHARE,
    HP_TOP_COUNT,
    HP_TOP_TRIPS,
    HP_TOP_SIZE,
    HP_TOP_FOUND,
    HP_TOP_OF_IT, /* share of the function that was picked */
    HP_TOP_LEFT,
    HP_TOP_BAR,
    HP_TOP_NAME,
    HP_TOP_WHERE,
    HP_TOP_BRANCHES,
    HP_TOP_SOURCE,
    HP_TOP_HIDDEN,
    HP_TOP_WEIGHT,
    HP_TOP_TIMES,
    HP_TOP_DEPTH,
    HP_TOP_LENGTH,
    HP_TOP_MODULE,
    HP_TOP_FILE,
    HP_TOP_LINE,
};

#define HP_TOP_COLUMNS_MAX 14

struct hp_top_column {
    const char *title; /* of a count, "/s" is added when it is of an interval; NULL: ends them */
    const char *field; /* NULL: it is none of its own */
    enum hp_top_what what;
    size_t width;    /* 0: what is left */
    int dispensable; /* the lowest goes first where it is narrow; 0: never */
};

extern const struct hp_top_column hp_top_columns[HP_BOARD_KINDS][HP_TOP_COLUMNS_MAX + 1];

/* Parts of the view. */
extern const char *const hp_top_parts[HP_BOARD_KINDS];

/* Whether a count of the kind is of an interval, and shown by the second. */
bool hp_top_is_rate(const struct hp_board *board, enum hp_board_kind kind, bool since);

/* The value of a column, as it is shown. May look up source lines. */
struct hp_cell hp_top_cell(struct hp_board *board, enum hp_board_kind kind, bool since,
                           struct hp_board_row *row, enum hp_top_what what);

/* Where rows of a kind can be sorted: by columns that are shown and have a field. */
bool hp_top_can_sort(enum hp_board_kind kind, unsigned column);

/* Puts the rows of a kind into the order of a column: numbers the largest first, texts from A to Z;
 * with `reverse` the other way round. */
void hp_top_sort(struct hp_board *board, enum hp_board_kind kind, bool since, unsigned column,
                 bool reverse);

#endif
