// SPDX-License-Identifier: MIT
/*
 * Which rows of the live view are shown: an expression over their columns, as of `report --filter`,
 * or a part of the name of their function or module.
 */
#ifndef HP_CLI_TOP_FILTER_H
#define HP_CLI_TOP_FILTER_H

#include "cli/top/columns.h"

#define HP_TOP_FILTER_MAX 160 /* bytes of its text */

enum hp_top_filter_is {
    HP_TOP_FILTER_NONE,
    HP_TOP_FILTER_NAME,
    HP_TOP_FILTER_EXPRESSION, /* it is one, and its columns are those of some kind */
    HP_TOP_FILTER_UNFINISHED, /* it begins with a column, but is no expression yet */
};

/* All zero: every row passes. */
struct hp_top_filter {
    enum hp_top_filter_is is;
    char text[HP_TOP_FILTER_MAX];
    struct hp_filter by[HP_BOARD_KINDS];
    bool fits[HP_BOARD_KINDS]; /* the columns are those of the kind */
};

/* What a text is as a filter of these kinds. Makes it, in any case but that of an unfinished one,
 * which leaves the filter as it was. */
enum hp_top_filter_is hp_top_filter_set(struct hp_top_filter *filter, const char *text,
                                        const bool *kinds);
void hp_top_filter_fini(struct hp_top_filter *filter);

/* Rows of a kind without the columns of an expression do not pass. */
bool hp_top_filter_passes(const struct hp_top_filter *filter, struct hp_board *board,
                          enum hp_board_kind kind, bool since, struct hp_board_row *row);

#endif
