// SPDX-License-Identifier: MIT
/* The page of a live view: a board as lines of text. */
#ifndef HP_CLI_TOP_PAGE_H
#define HP_CLI_TOP_PAGE_H

#include "base/names.h"
#include "live/board.h"
#include "text/strbuf.h"

enum hp_top_view { /* what the lower part shows: all kinds, or one */
                   HP_TOP_ALL,
                   HP_TOP_FUNCTIONS,
                   HP_TOP_PATHS,
                   HP_TOP_LOOPS,
                   HP_TOP_HOTSPOTS
};
#define HP_TOP_VIEWS 5

extern const struct hp_name hp_top_views[];

struct hp_top_page {
    const struct hp_board *board;
    const char *command; /* any bytes */
    const char *engine;
    double elapsed; /* seconds */
    enum hp_top_view view;
    struct hp_board_wish wish; /* what the board was asked for */
    bool paused, help;
    bool plain;           /* one page below the other: without history and keys */
    size_t width, height; /* height 0: no limit */
    bool color;
};

/* How many rows of a kind such a page has room for, and which kinds it shows: what to wish for. */
void hp_top_page_wish(const struct hp_top_page *page, struct hp_board_wish *wish);

/* Appends the lines, each ended by a newline, none wider than the page, no more than its height.
 * Names cannot contain anything that moves the cursor. */
void hp_top_page_draw(const struct hp_top_page *page, struct hp_strbuf *out);

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
