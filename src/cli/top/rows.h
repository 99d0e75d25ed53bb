// SPDX-License-Identifier: MIT
/*
 * The tables of a live view's page.
 */
#ifndef HP_CLI_TOP_ROWS_H
#define HP_CLI_TOP_ROWS_H

#include "cli/top/page.h"

/* A terminal code, or with "" the end of all; nothing without `color`. */
void hp_top_style(struct hp_strbuf *out, bool color, const char *code);

/* One column of a curve; `level` from 0 to 1. */
void hp_top_put_spark(struct hp_strbuf *out, double level);

/* The function of a row, or the place in its module. */
void hp_top_put_name(const struct hp_board_row *row, struct hp_strbuf *out);

/* "file.c:12", of a path "file.c:12→15"; the module where no source is known. */
void hp_top_put_where(const struct hp_board_row *row, struct hp_strbuf *out);

/* A title and at most `rows` rows of a kind. */
void hp_top_draw_rows(const struct hp_top_page *page, enum hp_board_kind kind, size_t rows,
                      struct hp_strbuf *out);

#endif
