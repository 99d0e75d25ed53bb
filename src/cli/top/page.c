// SPDX-License-Identifier: MIT
#include "cli/top/page.h"

#include "base/base.h"
#include "text/number.h"
#include "text/utf8.h"

#define PLAIN_ROWS     10 /* of a kind, in a plain page */
#define PLAIN_ROWS_ALL 5
#define AROUND         22 /* columns in front of the history and behind it */
#define NARROWEST      20

const struct hp_name hp_top_views[] = {
    {"all", "functions, paths and loops"},
    {"functions", NULL},
    {"paths", NULL},
    {"loops", NULL},
    {"hotspots", NULL},
    {0},
};

/* --- Lines ------------------------------------------------------------------------------------ */

static void put_seconds(struct hp_strbuf *out, double seconds)
{
    unsigned long whole = seconds > 0 ? (unsigned long)seconds : 0;
    if (whole < 100)
        hp_strbuf_format(out, "%s s", HP_FIXED(seconds > 0 ? seconds : 0, 1));
    else if (whole < 6000)
        hp_strbuf_format(out, "%lu:%02lu", whole / 60, whole % 60);
    else
        hp_strbuf_format(out, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
}

static uint64_t bounded(double rate)
{
    return rate > 0 && rate < 1e18 ? (uint64_t)rate : 0;
}

/* What is at the left and at the right end of a line. */
typedef void fill_line(const struct hp_top_page *page, struct hp_strbuf *left,
                       struct hp_strbuf *right);

static void fill_title(const struct hp_top_page *page, struct hp_strbuf *left,
                       struct hp_strbuf *right)
{
    uint32_t threads = page->board->threads;
    hp_strbuf_add(left, "hotpath top: ");
    hp_strbuf_clean(left, page->command);
    put_seconds(right, page->elapsed);
    hp_strbuf_format(right, "  %u thread%s  %s", threads, threads == 1 ? "" : "s", page->engine);
}

static void fill_totals(const struct hp_top_page *page, struct hp_strbuf *left,
                        struct hp_strbuf *right)
{
    const struct hp_board *b = page->board;
    hp_strbuf_format(left, "%s instructions  %s/s  %s branches/s", HP_HUMAN(b->instructions),
                     HP_HUMAN(bounded(b->instructions_rate)), HP_HUMAN(bounded(b->branches_rate)));
    hp_strbuf_add(right, page->paused ? "PAUSED  " : "");
    if (page->wish.since)
        hp_strbuf_add(right, "since the start");
    else
        hp_strbuf_format(right, "the last %s s", HP_FIXED(b->seconds, 2));
}

static void fill_spot(const struct hp_top_page *page, struct hp_strbuf *left,
                      struct hp_strbuf *right)
{
    const struct hp_board *b = page->board;
    if (b->waits) {
        hp_strbuf_add(left, "waiting for the part of the run that was asked for");
    } else if (!b->hotspots) {
        hp_strbuf_add(left, "hot spots are not profiled");
    } else if (b->spot.id == HP_BOARD_NO_SPOT) {
        hp_strbuf_add(left, "no hot spot now");
    } else {
        hp_strbuf_format(left, "hot spot %u: %s for ", b->spot.id,
                         HP_PERCENT(b->spot_share < 1 ? b->spot_share : 1));
        put_seconds(left, b->looked - b->spot_since);
        hp_strbuf_add(left, ", ");
        hp_top_put_name(&b->spot, left);
        hp_strbuf_add(left, " ");
        hp_top_put_where(&b->spot, left);
    }
    if (b->hotspots && b->detector.running)
        hp_strbuf_add(right, b->detector.looking ? "detector on" : "detector off");
}

/* Columns of the history. */
static size_t history_width(const struct hp_top_page *page)
{
    size_t width = page->width > AROUND + 8 ? page->width - AROUND : 8;
    return width < HP_BOARD_HISTORY ? width : HP_BOARD_HISTORY;
}

/* A hot spot is its last digit. */
static void fill_phases(const struct hp_top_page *page, struct hp_strbuf *left,
                        struct hp_strbuf *right)
{
    hp_strbuf_add(left, "phase  ");
    for (size_t i = history_width(page); i-- > 0;) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        if (moment && moment->hot_spot != HP_BOARD_NO_SPOT)
            hp_strbuf_uint(left, moment->hot_spot % 10);
        else
            hp_strbuf_add(left, moment ? "." : " ");
    }
    hp_strbuf_format(right, "%s found", HP_GROUPED(page->board->detector.found));
}

static void fill_history(const struct hp_top_page *page, struct hp_strbuf *left,
                         struct hp_strbuf *right)
{
    size_t n = history_width(page);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        most = moment && moment->rate > most ? moment->rate : most;
    }
    hp_strbuf_add(left, "rate   ");
    for (size_t i = n; i-- > 0;) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        hp_top_put_spark(left, moment && most > 0 ? moment->rate / most : 0);
    }
    hp_strbuf_format(right, "max %s/s", HP_HUMAN(bounded(most)));
}

static void fill_keys(const struct hp_top_page *page, struct hp_strbuf *left,
                      struct hp_strbuf *right)
{
    (void)page;
    hp_strbuf_add(left, "0 all 1 functions 2 paths 3 loops 4 hot spots  t since  s sort");
    hp_strbuf_add(right, "? help  q quit");
}

/* A line with something at both ends; what is too long on the left is cut. */
static void draw_line(const struct hp_top_page *page, fill_line *fill, const char *style,
                      struct hp_strbuf *out)
{
    struct hp_strbuf left HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_strbuf right HP_CLEANUP(hp_strbuf_fini) = {0};
    fill(page, &left, &right);
    size_t before = hp_utf8_width(hp_strbuf_text(&left));
    size_t after = hp_utf8_width(hp_strbuf_text(&right));
    bool both = after > 0 && after + 2 <= page->width;
    size_t room = both ? page->width - after - 1 : page->width;
    hp_top_style(out, page->color, style);
    hp_strbuf_cut(out, hp_strbuf_text(&left), room, HP_CUT_END);
    if (both)
        hp_strbuf_format(out, "%*s%s", (int)(room + 1 - (before < room ? before : room)), "",
                         hp_strbuf_text(&right));
    hp_top_style(out, page->color, "");
    hp_strbuf_add(out, "\n");
}

static const struct {
    fill_line *fill;
    const char *style;
} head[] = {
    {fill_title, "\033[1m"}, {fill_totals, ""},  {fill_spot, ""},
    {fill_phases, ""},       {fill_history, ""},
};

/* Plain pages have no history. */
static size_t head_lines(const struct hp_top_page *page)
{
    return page->plain ? 3 : 5;
}

/* --- The page --------------------------------------------------------------------------------- */

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

static void draw_help(const struct hp_top_page *page, struct hp_strbuf *out)
{
    for (size_t i = 0; i < sizeof help / sizeof *help && head_lines(page) + i + 1 < page->height;
         i++) {
        hp_strbuf_cut(out, help[i], page->width, HP_CUT_END);
        hp_strbuf_add(out, "\n");
    }
}

void hp_top_page_wish(const struct hp_top_page *page, struct hp_board_wish *wish)
{
    size_t n = 0, taken = head_lines(page) + 1;
    for (int i = 0; i < HP_BOARD_KINDS; i++) {
        wish->kinds[i] = page->view == HP_TOP_ALL ? i != HP_BOARD_HOTSPOTS
                                                  : (int)page->view == HP_TOP_FUNCTIONS + i;
        n += wish->kinds[i];
    }
    taken += n; /* the titles */
    if (page->plain)
        wish->rows = n > 1 ? PLAIN_ROWS_ALL : PLAIN_ROWS;
    else
        wish->rows = page->height > taken ? (page->height - taken) / n : 0;
}

static void draw_kinds(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_board_wish wish;
    hp_top_page_wish(page, &wish);
    for (int i = 0; i < HP_BOARD_KINDS; i++)
        if (wish.kinds[i])
            hp_top_draw_rows(page, (enum hp_board_kind)i, wish.rows, out);
}

void hp_top_page_draw(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_top_page fit = *page;
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t n = 0;
    fit.width = page->width < NARROWEST ? NARROWEST : page->width;
    for (size_t i = 0; i < head_lines(page); i++)
        draw_line(&fit, head[i].fill, head[i].style, &lines);
    (page->help ? draw_help : draw_kinds)(&fit, &lines);
    hp_strbuf_add(out, hp_strbuf_text(&lines));
    if (page->plain)
        return;
    for (const char *c = hp_strbuf_text(&lines); *c; c++)
        n += *c == '\n';
    for (; n + 1 < page->height; n++)
        hp_strbuf_add(out, "\n");
    draw_line(&fit, fill_keys, "\033[2m", out);
}
