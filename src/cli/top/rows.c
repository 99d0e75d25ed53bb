// SPDX-License-Identifier: MIT
#include "cli/top/page.h"

#include "base/base.h"
#include "report/tables.h"
#include "text/number.h"
#include "text/utf8.h"

#define COLUMNS_MAX    7
#define FLEXIBLE_LEAST 12 /* columns of the name, before others are left out for it */

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

void hp_top_style(struct hp_strbuf *out, bool color, const char *code)
{
    if (color)
        hp_strbuf_add(out, *code ? code : "\033[0m");
}

static const char *heat(double share)
{
    return share >= 0.10 ? "\033[1;31m" : share >= 0.02 ? "\033[33m" : "\033[32m";
}

static void put_character(struct hp_strbuf *out, uint32_t code)
{
    char bytes[4];
    hp_strbuf_bytes(out, bytes, hp_utf8_encode(code, bytes));
}

void hp_top_put_spark(struct hp_strbuf *out, double level)
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

void hp_top_put_name(const struct hp_board_row *row, struct hp_strbuf *out)
{
    const char *module = *row->path_of_module ? hp_base_name(row->path_of_module) : "(unknown)";
    hp_strbuf_clean(out, *row->name ? row->name : module);
    if (!*row->name && row->offset)
        hp_strbuf_format(out, "+%s", HP_HEX(row->offset));
}

void hp_top_put_where(const struct hp_board_row *row, struct hp_strbuf *out)
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

static void put_cell(struct hp_strbuf *out, const char *text, size_t width, bool right)
{
    struct hp_strbuf cut HP_CLEANUP(hp_strbuf_fini) = {0};
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

/* The mean iterations; of an execution that goes on all the time it is only known that there are
 * more. */
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
    hp_top_put_name(row, cell);
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
    case WHERE: hp_top_put_where(row, cell); break;
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
        hp_top_style(out, styled, style);
        put_cell(out, hp_strbuf_text(&cell), *widths, c->what < LEFT);
        hp_top_style(out, styled, "");
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

void hp_top_draw_rows(const struct hp_top_page *page, enum hp_board_kind kind, size_t rows,
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
    for (size_t i = list->n ? list->n : 1; i < rows && !page->plain && page->view == HP_TOP_ALL;
         i++)
        hp_strbuf_add(out, "\n"); /* tables stay where they are */
}
