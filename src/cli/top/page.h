// SPDX-License-Identifier: MIT
/* The page of a live view: a board as lines of text. */
#ifndef HP_CLI_TOP_PAGE_H
#define HP_CLI_TOP_PAGE_H

#include "base/names.h"
#include "cli/top/state.h"
#include "report/sources.h"
#include "text/strbuf.h"

/* What the lower part shows of the program: all kinds, or one. */
extern const struct hp_name hp_top_views[HP_TOP_VIEWS + 1];

struct hp_top_page {
    struct hp_board *board; /* rows that are drawn are located */
    struct hp_top_state *state;
    struct hp_sources *sources; /* of the program; NULL: no source is shown */
    const char *command;        /* any bytes */
    const char *engine;
    double elapsed;                   /* seconds */
    const struct hp_top_filter *kept; /* what is filtered by, or NULL */
    bool plain;           /* one page below the other: without history, keys, a chosen row */
    size_t width, height; /* height 0: no limit */
    bool color;
};

/* How many rows of each part such a page has room for. */
void hp_top_page_room(const struct hp_top_page *page, size_t room[HP_TOP_TABLES]);

/* Appends the lines, each ended by a newline, none wider than the page, no more than its height.
 * Names cannot contain anything that moves the cursor. */
void hp_top_page_draw(const struct hp_top_page *page, struct hp_strbuf *out);

#endif
