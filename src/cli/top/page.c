// SPDX-License-Identifier: MIT
#include "cli/top/page.h"

#include "cli/top/rows.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

#define PLAIN_ROWS     10 /* of a kind, in a plain page */
#define PLAIN_ROWS_ALL 5
#define LABEL          7  /* columns in front of the history, */
#define AFTER          15 /* and behind it */
#define NARROWEST      20

static const char *const names[HP_TOP_VIEWS] = {[HP_TOP_ALL] = "all",
                                                [HP_TOP_FUNCTIONS] = "functions",
                                                [HP_TOP_PATHS] = "paths",
                                                [HP_TOP_LOOPS] = "loops",
                                                [HP_TOP_HOTSPOTS] = "hotspots"};

static const enum hp_board_kind kind_of[HP_TOP_VIEWS] = {[HP_TOP_FUNCTIONS] = HP_BOARD_FUNCTIONS,
                                                         [HP_TOP_PATHS] = HP_BOARD_PATHS,
                                                         [HP_TOP_LOOPS] = HP_BOARD_LOOPS,
                                                         [HP_TOP_HOTSPOTS] = HP_BOARD_HOTSPOTS};

enum hp_err hp_top_view_from_name(const char *name, enum hp_top_view *view)
{
    for (int i = 0; i < HP_TOP_VIEWS; i++)
        if (strcmp(names[i], name) == 0) {
            *view = (enum hp_top_view)i;
            return HP_OK;
        }
    return hp_fail(HP_ERR_INVALID,
                   "there is no view '%s'; there are: all, functions, paths, loops, hotspots",
                   name);
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* A line with something at both ends; what is too long on the left is cut. */
static void put_ends(const struct hp_top_page *page, const struct hp_strbuf *left,
                     const struct hp_strbuf *right, const char *style, struct hp_strbuf *out)
{
    size_t after = hp_utf8_width(hp_strbuf_text(right));
    if (after == 0 || after + 2 > page->width) {
        after = 0;
        right = NULL;
    }
    size_t room = page->width - after - (after ? 1 : 0);
    size_t before = hp_utf8_width(hp_strbuf_text(left));
    hp_top_style(out, page->color, style);
    hp_strbuf_cut(out, hp_strbuf_text(left), room, HP_CUT_END);
    for (size_t i = before < room ? before : room; right && i < page->width - after; i++)
        hp_strbuf_add(out, " ");
    if (right)
        hp_strbuf_add(out, hp_strbuf_text(right));
    hp_top_style(out, page->color, "");
    hp_strbuf_add(out, "\n");
}

static void put_seconds(struct hp_strbuf *out, double seconds)
{
    char text[48];
    unsigned long whole = seconds > 0 ? (unsigned long)seconds : 0;
    if (whole < 100)
        snprintf(text, sizeof text, "%.1f s", seconds > 0 ? seconds : 0);
    else if (whole < 6000)
        snprintf(text, sizeof text, "%lu:%02lu", whole / 60, whole % 60);
    else
        snprintf(text, sizeof text, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    hp_strbuf_add(out, text);
}

static void put_rate(struct hp_strbuf *out, double rate)
{
    hp_strbuf_human(out, rate > 0 && rate < 1e18 ? (uint64_t)rate : 0);
}

/* --- The head --------------------------------------------------------------------------------- */

static void draw_title(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_strbuf left = {0}, right = {0};
    hp_strbuf_add(&left, "hotpath top: ");
    hp_strbuf_clean(&left, page->command);
    put_seconds(&right, page->elapsed);
    hp_strbuf_add(&right, "  ");
    hp_strbuf_uint(&right, page->board->threads);
    hp_strbuf_add(&right, page->board->threads == 1 ? " thread  " : " threads  ");
    hp_strbuf_add(&right, page->engine);
    put_ends(page, &left, &right, "\033[1m", out);
    hp_strbuf_fini(&left);
    hp_strbuf_fini(&right);
}

static void draw_totals(const struct hp_top_page *page, struct hp_strbuf *out)
{
    const struct hp_board *b = page->board;
    struct hp_strbuf left = {0}, right = {0};
    hp_strbuf_human(&left, b->instructions);
    hp_strbuf_add(&left, " instructions  ");
    put_rate(&left, b->instructions_rate);
    hp_strbuf_add(&left, "/s  ");
    put_rate(&left, b->branches_rate);
    hp_strbuf_add(&left, " branches/s");
    if (page->paused)
        hp_strbuf_add(&right, "PAUSED  ");
    if (page->wish.since) {
        hp_strbuf_add(&right, "since the start");
    } else {
        hp_strbuf_add(&right, "the last ");
        hp_strbuf_fixed(&right, b->seconds, 2);
        hp_strbuf_add(&right, " s");
    }
    put_ends(page, &left, &right, "", out);
    hp_strbuf_fini(&left);
    hp_strbuf_fini(&right);
}

/* Columns of the history. */
static size_t history_width(const struct hp_top_page *page)
{
    size_t around = LABEL + AFTER;
    size_t width = page->width > around + 8 ? page->width - around : 8;
    return width < HP_BOARD_HISTORY ? width : HP_BOARD_HISTORY;
}

static void draw_history(const struct hp_top_page *page, struct hp_strbuf *out)
{
    size_t n = history_width(page);
    struct hp_strbuf left = {0}, right = {0};
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        most = moment && moment->rate > most ? moment->rate : most;
    }
    hp_strbuf_add(&left, "rate   ");
    for (size_t i = n; i-- > 0;) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        hp_top_put_spark(&left, moment && most > 0 ? moment->rate / most : 0);
    }
    hp_strbuf_add(&right, "max ");
    put_rate(&right, most);
    hp_strbuf_add(&right, "/s");
    put_ends(page, &left, &right, "", out);
    hp_strbuf_fini(&left);
    hp_strbuf_fini(&right);
}

/* A hot spot is its last digit. */
static void draw_phases(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_strbuf left = {0}, right = {0};
    hp_strbuf_add(&left, "phase  ");
    for (size_t i = history_width(page); i-- > 0;) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        char mark[2] = {' ', 0};
        if (moment)
            mark[0] =
                moment->hot_spot == HP_BOARD_NO_SPOT ? '.' : (char)('0' + moment->hot_spot % 10);
        hp_strbuf_add(&left, mark);
    }
    hp_strbuf_grouped(&right, page->board->detector.found);
    hp_strbuf_add(&right, " found");
    put_ends(page, &left, &right, "", out);
    hp_strbuf_fini(&left);
    hp_strbuf_fini(&right);
}

static void draw_spot(const struct hp_top_page *page, struct hp_strbuf *out)
{
    const struct hp_board *b = page->board;
    struct hp_strbuf left = {0}, right = {0};
    if (b->waits) {
        hp_strbuf_add(&left, "waiting for the part of the run that was asked for");
    } else if (!b->hotspots) {
        hp_strbuf_add(&left, "hot spots are not profiled");
    } else if (b->spot.id == HP_BOARD_NO_SPOT) {
        hp_strbuf_add(&left, "no hot spot now");
    } else {
        hp_strbuf_add(&left, "hot spot ");
        hp_strbuf_uint(&left, b->spot.id);
        hp_strbuf_add(&left, ": ");
        hp_strbuf_percent(&left, b->spot_share < 1 ? b->spot_share : 1);
        hp_strbuf_add(&left, " for ");
        put_seconds(&left, b->looked - b->spot_since);
        hp_strbuf_add(&left, ", ");
        hp_top_put_name(&b->spot, &left);
        hp_strbuf_add(&left, " ");
        hp_top_put_where(&b->spot, &left);
    }
    if (b->hotspots && b->detector.running)
        hp_strbuf_add(&right, b->detector.looking ? "detector on" : "detector off");
    put_ends(page, &left, &right, "", out);
    hp_strbuf_fini(&left);
    hp_strbuf_fini(&right);
}

/* --- The foot --------------------------------------------------------------------------------- */

static const char *const help[] = {
    "0 all   1 functions   2 paths   3 loops   4 hot spots   Tab the next",
    "t   shares of the last interval, or since the start (or since r)",
    "s   sort by share, or by how often",
    "p   or space: hold the view; the program goes on",
    "r   since the start begins now",
    "q   leave the view; the program goes on, its report comes at its end",
    "K   or Ctrl-C: interrupt the program",
    "?   this; any key goes back",
    "",
    "Shares are of executed instructions. Loops: with the loops inside, without",
    "what they call; trips: mean iterations of the executions that ended (- none).",
    "Paths: > a branch was taken, . it was not. Phase: the hot spot that took",
    "most, by its last digit.",
};

static void draw_help(const struct hp_top_page *page, size_t room, struct hp_strbuf *out)
{
    for (size_t i = 0; i < sizeof help / sizeof *help && i < room; i++) {
        hp_strbuf_cut(out, help[i], page->width, HP_CUT_END);
        hp_strbuf_add(out, "\n");
    }
}

static void draw_keys(const struct hp_top_page *page, size_t used, struct hp_strbuf *out)
{
    struct hp_strbuf left = {0}, right = {0};
    for (; used + 1 < page->height; used++)
        hp_strbuf_add(out, "\n");
    hp_strbuf_add(&left, "0 all 1 functions 2 paths 3 loops 4 hot spots  t since  s sort");
    hp_strbuf_add(&right, "? help  q quit");
    put_ends(page, &left, &right, "\033[2m", out);
    hp_strbuf_fini(&left);
    hp_strbuf_fini(&right);
}

/* --- The page --------------------------------------------------------------------------------- */

static size_t head_lines(const struct hp_top_page *page)
{
    return page->plain ? 3 : 5;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Room for rows of tables with their titles, between head and foot; of one kind out of `n`. */
static size_t rows_of_kind(const struct hp_top_page *page, size_t n)
{
    if (page->plain)
        return n > 1 ? PLAIN_ROWS_ALL : PLAIN_ROWS;
    size_t taken = head_lines(page) + 1 + n;
    return page->height > taken ? (page->height - taken) / n : 0;
}

static size_t kinds_shown(const struct hp_top_page *page, bool shown[HP_BOARD_KINDS])
{
    size_t n = 0;
    for (int i = 0; i < HP_BOARD_KINDS; i++) {
        shown[i] = page->view == HP_TOP_ALL ? i != HP_BOARD_HOTSPOTS
                                            : kind_of[page->view] == (enum hp_board_kind)i;
        n += shown[i];
    }
    return n;
}

void hp_top_page_wish(const struct hp_top_page *page, struct hp_board_wish *wish)
{
    size_t n = kinds_shown(page, wish->kinds);
    wish->rows = rows_of_kind(page, n);
}

static void draw_kinds(const struct hp_top_page *page, struct hp_strbuf *out)
{
    bool shown[HP_BOARD_KINDS];
    size_t rows = rows_of_kind(page, kinds_shown(page, shown));
    for (int i = 0; i < HP_BOARD_KINDS; i++)
        if (shown[i])
            hp_top_draw_rows(page, (enum hp_board_kind)i, rows, out);
}

void hp_top_page_draw(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_top_page fit = *page;
    struct hp_strbuf lines = {0};
    fit.width = page->width < NARROWEST ? NARROWEST : page->width;
    draw_title(&fit, &lines);
    draw_totals(&fit, &lines);
    draw_spot(&fit, &lines);
    if (!page->plain) {
        draw_phases(&fit, &lines);
        draw_history(&fit, &lines);
    }
    if (page->help)
        draw_help(&fit, page->height > head_lines(page) ? page->height - head_lines(page) - 1 : 0,
                  &lines);
    else
        draw_kinds(&fit, &lines);
    if (!page->plain)
        draw_keys(&fit, count_lines(hp_strbuf_text(&lines)), &lines);
    hp_strbuf_add(out, hp_strbuf_text(&lines));
    hp_strbuf_fini(&lines);
}
