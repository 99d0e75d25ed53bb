// SPDX-License-Identifier: MIT
#include "cli/top/page.h"

#include "base/base.h"
#include "report/tables.h"
#include "text/number.h"
#include "text/short_name.h"
#include "text/table.h"
#include "text/utf8.h"

#define PLAIN_ROWS     10 /* of a kind, in a plain page */
#define PLAIN_ROWS_ALL 5
#define AROUND         22 /* columns in front of the history and behind it */
#define NARROWEST      20
#define COLUMNS_MAX    7
#define FLEXIBLE_LEAST 12 /* columns of the name, before others are left out for it */

const struct hp_name hp_top_views[HP_TOP_VIEWS + 1] = {
    {"all", "functions, paths and loops"},
    {"functions", NULL},
    {"paths", NULL},
    {"loops", NULL},
    {"hotspots", NULL},
};

/* --- Rows ------------------------------------------------------------------------------------- */

/* What a column has; behind LEFT, aligned left. */
enum what { NUMBER, SHARE, COUNT, TRIPS, SIZE, FOUND, LEFT, BAR, NAME, WHERE, BRANCHES };

struct column {
    const char *title; /* of a count, "/s" is added when it is of an interval */
    enum what what;
    size_t width;    /* 0: what is left */
    int dispensable; /* the lowest goes first where it is narrow; 0: never */
};

static const struct column columns[HP_BOARD_KINDS][COLUMNS_MAX + 1] = {
    [HP_BOARD_FUNCTIONS] = {{"share", SHARE, 6, 0},
                            {"", BAR, 10, 1},
                            {"calls", COUNT, 8, 3},
                            {"function", NAME, 0, 0},
                            {"where", WHERE, 22, 2}},
    [HP_BOARD_PATHS] = {{"share", SHARE, 6, 0},
                        {"", BAR, 6, 1},
                        {"times", COUNT, 8, 4},
                        {"path in", NAME, 0, 0},
                        {"from→to", WHERE, 20, 3},
                        {"branches", BRANCHES, 14, 2}},
    [HP_BOARD_LOOPS] = {{"share", SHARE, 6, 0},
                        {"", BAR, 6, 1},
                        {"iter.", COUNT, 8, 3},
                        {"trips", TRIPS, 7, 4},
                        {"loop in", NAME, 0, 0},
                        {"where", WHERE, 22, 2}},
    [HP_BOARD_HOTSPOTS] = {{"#", NUMBER, 3, 0},
                           {"share", SHARE, 6, 0},
                           {"", BAR, 6, 1},
                           {"blocks", SIZE, 6, 4},
                           {"found at", FOUND, 8, 3},
                           {"hottest in", NAME, 0, 0},
                           {"where", WHERE, 22, 2}},
};

static const char *const nothing[HP_BOARD_KINDS] = {
    [HP_BOARD_FUNCTIONS] = "nothing new from the program",
    [HP_BOARD_PATHS] = "no path was executed to its end",
    [HP_BOARD_LOOPS] = "no loop was executed",
    [HP_BOARD_HOTSPOTS] = "no hot spot was executed"};

static const char *heat(double share)
{
    return share >= 0.10 ? "\033[1;31m" : share >= 0.02 ? "\033[33m" : "\033[32m";
}

static void put_character(struct hp_strbuf *out, uint32_t code)
{
    char bytes[4];
    hp_strbuf_bytes(out, bytes, hp_utf8_encode(code, bytes));
}

static void put_spark(struct hp_strbuf *out, double level)
{
    unsigned eighths = level >= 1 ? 8 : level > 0 ? (unsigned)(level * 8 + 0.999) : 0;
    put_character(out, eighths == 0 ? ' ' : 0x2580 + (eighths < 8 ? eighths : 8)); /* ▁ ... █ */
}

static void put_bar(struct hp_strbuf *out, double share, size_t width)
{
    size_t eighths = (size_t)((share < 1 ? share : 1) * (double)width * 8 + 0.5);
    for (; eighths >= 8; eighths -= 8)
        put_character(out, 0x2588); /* █ */
    if (eighths)
        put_character(out, (uint32_t)(0x2590 - eighths)); /* ▏ ... ▉ */
}

static void put_name(const struct hp_board_row *row, struct hp_strbuf *out)
{
    const char *module = *row->path_of_module ? hp_base_name(row->path_of_module) : "(unknown)";
    hp_strbuf_clean(out, *row->name ? row->name : module);
    if (!*row->name && row->offset)
        hp_strbuf_format(out, "+%s", HP_HEX(row->offset));
}

static void put_where(const struct hp_board_row *row, struct hp_strbuf *out)
{
    if (!row->line) {
        hp_strbuf_clean(out, *row->name ? hp_base_name(row->path_of_module) : "");
        return;
    }
    hp_strbuf_clean(out, hp_base_name(row->file));
    hp_strbuf_format(out, ":%u", row->line);
    if (row->last_line)
        hp_strbuf_format(out, "→%u", row->last_line);
}

/* The first branch first. */
static void put_outcomes(const struct hp_path *path, size_t width, struct hp_strbuf *out)
{
    for (size_t i = 0; i < path->length && i < width; i++) {
        if (i + 1 == width && path->length > width)
            hp_strbuf_add(out, "…");
        else
            hp_strbuf_add(out, path->outcomes >> (path->length - 1 - i) & 1 ? ">" : ".");
    }
}

/* Which columns there is room for, and how wide they are: 0 for those that are left out. */
static void lay_out(const struct column *all, size_t width, size_t *widths)
{
    size_t flexible = 0, left = 0;
    for (int leave = 0; left < FLEXIBLE_LEAST && leave <= COLUMNS_MAX + 1; leave++) {
        size_t taken = 0;
        for (size_t i = 0; all[i].title; i++) {
            bool out = all[i].dispensable && all[i].dispensable <= leave;
            widths[i] = out ? 0 : all[i].width;
            taken += out ? 0 : all[i].width + 1;
            flexible = all[i].width ? flexible : i;
        }
        left = width > taken ? width - taken : 0;
        widths[flexible] = left ? left : 1;
    }
}

static void put_cell(struct hp_strbuf *out, const char *text, size_t width, enum what what)
{
    struct hp_strbuf cut HP_CLEANUP(hp_strbuf_fini) = {0};
    bool right = what < LEFT;
    if (what == NAME)
        hp_short_name(&cut, text, width);
    else
        hp_strbuf_cut(&cut, text, width, right ? HP_CUT_END : HP_CUT_MIDDLE);
    size_t used = hp_utf8_width(hp_strbuf_text(&cut));
    int blanks = used < width ? (int)(width - used) : 0;
    hp_strbuf_format(out, "%*s%s%*s", right ? blanks : 0, "", hp_strbuf_text(&cut),
                     right ? 0 : blanks, "");
}

static void put_count(const struct hp_top_page *page, uint64_t count, struct hp_strbuf *cell)
{
    if (page->wish.since)
        hp_strbuf_human(cell, count);
    else if (page->board->seconds > 0)
        hp_strbuf_human(cell, (uint64_t)((double)count / page->board->seconds));
}

/* The mean iterations; not known while an execution of the loop goes on all the time. */
static void put_trips(const struct hp_board_row *row, struct hp_strbuf *cell)
{
    double mean = row->times ? (double)row->count / (double)row->times : 0;
    if (!row->times)
        hp_strbuf_add(cell, "-");
    else if (mean < 1000)
        hp_strbuf_fixed(cell, mean, 1);
    else
        hp_strbuf_human(cell, (uint64_t)mean);
}

static void put_nested_name(const struct hp_board_row *row, struct hp_strbuf *cell)
{
    for (uint32_t i = 0; i < row->depth && i < 8; i++)
        hp_strbuf_add(cell, "·");
    put_name(row, cell);
}

static void put_value(const struct hp_top_page *page, const struct hp_board_row *row, double share,
                      enum what what, size_t width, struct hp_strbuf *cell)
{
    switch (what) {
    case NUMBER: hp_strbuf_uint(cell, row->id); break;
    case SHARE: hp_strbuf_percent(cell, share); break;
    case COUNT: put_count(page, row->count, cell); break;
    case TRIPS: put_trips(row, cell); break;
    case SIZE: hp_strbuf_human(cell, row->size); break;
    case FOUND: hp_strbuf_human(cell, row->count); break;
    case LEFT: break;
    case BAR: put_bar(cell, share, width); break;
    case NAME: put_nested_name(row, cell); break;
    case WHERE: put_where(row, cell); break;
    case BRANCHES: put_outcomes(&row->path, width, cell); break;
    }
}

/* A row; NULL: the titles. */
static void draw_row(const struct hp_top_page *page, enum hp_board_kind kind, const size_t *widths,
                     const struct hp_board_row *row, struct hp_strbuf *out)
{
    double share = row ? hp_number_share(row->weight, page->board->whole) : 0;
    const char *style = row ? heat(share) : "\033[7m", *between = "";
    share = share < 1 ? share : 1; /* a path may have begun before the interval */
    for (const struct column *c = columns[kind]; c->title; c++, widths++) {
        struct hp_strbuf cell HP_CLEANUP(hp_strbuf_fini) = {0};
        bool styled = page->color && (!row || c->what == SHARE || c->what == BAR);
        if (*widths == 0)
            continue;
        if (row)
            put_value(page, row, share, c->what, *widths, &cell);
        else
            hp_strbuf_format(&cell, "%s%s", c->title,
                             c->what == COUNT && !page->wish.since ? "/s" : "");
        hp_strbuf_add(out, between);
        between = " ";
        hp_strbuf_add(out, styled ? style : "");
        put_cell(out, hp_strbuf_text(&cell), *widths, c->what);
        hp_strbuf_add(out, hp_text_plain(styled));
    }
    while (!page->color && out->length && out->data[out->length - 1] == ' ')
        out->data[--out->length] = 0;
    hp_strbuf_add(out, "\n");
}

static bool is_profiled(const struct hp_board *b, enum hp_board_kind kind)
{
    return kind == HP_BOARD_FUNCTIONS || (kind == HP_BOARD_PATHS && b->paths) ||
           (kind == HP_BOARD_LOOPS && b->loops) || (kind == HP_BOARD_HOTSPOTS && b->hotspots);
}

static void draw_rows(const struct hp_top_page *page, enum hp_board_kind kind, size_t rows,
                      struct hp_strbuf *out)
{
    const struct hp_board_rows *list = &page->board->kinds[kind];
    size_t widths[COLUMNS_MAX + 1] = {0};
    if (rows == 0)
        return;
    lay_out(columns[kind], page->width, widths);
    draw_row(page, kind, widths, NULL, out);
    for (size_t i = 0; i < list->n && i < rows; i++)
        draw_row(page, kind, widths, &list->rows[i], out);
    if (list->n == 0) {
        bool looking = kind == HP_BOARD_PATHS && page->board->stale;
        const char *text = is_profiled(page->board, kind) ? nothing[kind] : "not profiled";
        hp_strbuf_cut(out, looking ? "looking ..." : text, page->width, HP_CUT_END);
        hp_strbuf_add(out, "\n");
    }
    for (size_t i = list->n ? list->n : 1; i < rows && !page->plain && page->view == 0; i++)
        hp_strbuf_add(out, "\n"); /* tables stay where they are */
}

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

struct line {
    struct hp_strbuf left, right; /* at its ends */
};

static void free_line(struct line *line)
{
    hp_strbuf_fini(&line->left);
    hp_strbuf_fini(&line->right);
}

typedef void fill_line(const struct hp_top_page *page, struct line *line);

static void fill_title(const struct hp_top_page *page, struct line *line)
{
    uint32_t threads = page->board->threads;
    hp_strbuf_add(&line->left, "hotpath top: ");
    hp_strbuf_clean(&line->left, page->command);
    put_seconds(&line->right, page->elapsed);
    hp_strbuf_format(&line->right, "  %u thread%s  %s", threads, threads == 1 ? "" : "s",
                     page->engine);
}

static void fill_totals(const struct hp_top_page *page, struct line *line)
{
    const struct hp_board *b = page->board;
    hp_strbuf_format(&line->left, "%s instructions  %s/s  %s branches/s", HP_HUMAN(b->instructions),
                     HP_HUMAN(bounded(b->instructions_rate)), HP_HUMAN(bounded(b->branches_rate)));
    if (b->waiting >= 0.005)
        hp_strbuf_format(&line->left, "  waits %s%%", HP_FIXED(100 * b->waiting, 0));
    hp_strbuf_add(&line->right, page->paused ? "PAUSED  " : "");
    if (page->wish.since)
        hp_strbuf_add(&line->right, "since the start");
    else
        hp_strbuf_format(&line->right, "the last %s s", HP_FIXED(b->seconds, 2));
}

static void fill_spot(const struct hp_top_page *page, struct line *line)
{
    const struct hp_board *b = page->board;
    if (b->waits) {
        hp_strbuf_add(&line->left, "waiting for the part of the run that was asked for");
    } else if (!b->hotspots) {
        hp_strbuf_add(&line->left, "hot spots are not profiled");
    } else if (b->spot.id == HP_BOARD_NO_SPOT) {
        hp_strbuf_add(&line->left, "no hot spot now");
    } else {
        hp_strbuf_format(&line->left, "hot spot %u: %s for ", b->spot.id,
                         HP_PERCENT(b->spot_share < 1 ? b->spot_share : 1));
        put_seconds(&line->left, b->looked - b->spot_since);
        hp_strbuf_add(&line->left, ", ");
        put_name(&b->spot, &line->left);
        hp_strbuf_add(&line->left, " ");
        put_where(&b->spot, &line->left);
    }
    if (b->hotspots && b->detector.running)
        hp_strbuf_add(&line->right, b->detector.looking ? "detector on" : "detector off");
}

/* Columns of the history. */
static size_t history_width(const struct hp_top_page *page)
{
    size_t width = page->width > AROUND + 8 ? page->width - AROUND : 8;
    return width < HP_BOARD_HISTORY ? width : HP_BOARD_HISTORY;
}

/* A hot spot is its last digit. */
static void fill_phases(const struct hp_top_page *page, struct line *line)
{
    hp_strbuf_add(&line->left, "phase  ");
    for (size_t i = history_width(page); i-- > 0;) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        if (moment && moment->hot_spot != HP_BOARD_NO_SPOT)
            hp_strbuf_uint(&line->left, moment->hot_spot % 10);
        else
            hp_strbuf_add(&line->left, moment ? "." : " ");
    }
    hp_strbuf_format(&line->right, "%s found", HP_GROUPED(page->board->detector.found));
}

static void fill_history(const struct hp_top_page *page, struct line *line)
{
    size_t n = history_width(page);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        most = moment && moment->rate > most ? moment->rate : most;
    }
    hp_strbuf_add(&line->left, "rate   ");
    for (size_t i = n; i-- > 0;) {
        const struct hp_board_moment *moment = hp_board_moment(page->board, i);
        put_spark(&line->left, moment && most > 0 ? moment->rate / most : 0);
    }
    hp_strbuf_format(&line->right, "max %s/s", HP_HUMAN(bounded(most)));
}

static void fill_keys(const struct hp_top_page *page, struct line *line)
{
    (void)page;
    hp_strbuf_add(&line->left, "0 all 1 functions 2 paths 3 loops 4 hot spots  t since  s sort");
    hp_strbuf_add(&line->right, "? help  q quit");
}

/* A line with something at both ends; what is too long on the left is cut. */
static void draw_line(const struct hp_top_page *page, fill_line *fill, const char *style,
                      struct hp_strbuf *out)
{
    struct line line HP_CLEANUP(free_line) = {0};
    fill(page, &line);
    const char *left = hp_strbuf_text(&line.left), *right = hp_strbuf_text(&line.right);
    size_t before = hp_utf8_width(left), after = hp_utf8_width(right);
    bool both = after > 0 && after + 2 <= page->width;
    size_t room = both ? page->width - after - 1 : page->width;
    hp_strbuf_add(out, page->color ? style : "");
    hp_strbuf_cut(out, left, room, HP_CUT_END);
    if (both)
        hp_strbuf_format(out, "%*s%s", (int)(room + 1 - (before < room ? before : room)), "",
                         right);
    hp_strbuf_add(out, hp_text_plain(page->color));
    hp_strbuf_add(out, "\n");
}

static fill_line *const head[] = {fill_title, fill_totals, fill_spot, fill_phases, fill_history};

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
        wish->kinds[i] = page->view ? (int)page->view == 1 + i : i != HP_BOARD_HOTSPOTS;
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
            draw_rows(page, (enum hp_board_kind)i, wish.rows, out);
}

void hp_top_page_draw(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_top_page fit = *page;
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t n = 0;
    fit.width = page->width < NARROWEST ? NARROWEST : page->width;
    for (size_t i = 0; i < head_lines(page); i++)
        draw_line(&fit, head[i], i == 0 ? "\033[1m" : "", &lines);
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
