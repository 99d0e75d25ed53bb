// SPDX-License-Identifier: MIT
/* The page of a live view: a board as lines of text. */
#ifndef HP_CLI_TOP_PAGE_H
#define HP_CLI_TOP_PAGE_H

#include "base/names.h"
#include "live/board.h"
#include "text/strbuf.h"

/* What the lower part shows: all kinds, or one, 1 + an enum hp_board_kind. */
#define HP_TOP_VIEWS (1 + HP_BOARD_KINDS)
extern const struct hp_name hp_top_views[HP_TOP_VIEWS + 1];

struct hp_top_page {
    const struct hp_board *board;
    const char *command; /* any bytes */
    const char *engine;
    double elapsed;            /* seconds */
    unsigned view;             /* of hp_top_views */
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

#endif
