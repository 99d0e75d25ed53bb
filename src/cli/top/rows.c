// SPDX-License-Identifier: MIT
#include "cli/top/page.h"

#include "base/cleanup.h"
#include "report/tables.h"
#include "text/number.h"
#include "text/utf8.h"

#define COLUMNS_MAX    7
#define FLEXIBLE_LEAST 12 /* columns of the name, before others are left out for it */

struct column {
    const char *title, *per_second; /* the latter: when it is of an interval */
    size_t width;                   /* 0: what is left */
    int dispensable;                /* the lowest goes first where it is narrow; 0: never */
    bool right, heat;
};

static const struct column columns[HP_BOARD_KINDS][COLUMNS_MAX + 1] = {
    [HP_BOARD_FUNCTIONS] = {{"share", NULL, 6, 0, true, true},
                            {"", NULL, 10, 1, false, true},
                            {"calls", "calls/s", 8, 3, true, false},
                            {"function", NULL, 0, 0, false, false},
                            {"where", NULL, 22, 2, false, false}},
    [HP_BOARD_PATHS] = {{"share", NULL, 6, 0, true, true},
                        {"", NULL, 6, 1, false, true},
                        {"times", "times/s", 8, 4, true, false},
                        {"path in", NULL, 0, 0, false, false},
                        {"from→to", NULL, 20, 3, false, false},
                        {"branches", NULL, 14, 2, false, false}},
    [HP_BOARD_LOOPS] = {{"share", NULL, 6, 0, true, true},
                        {"", NULL, 6, 1, false, true},
                        {"iter.", "iter./s", 8, 3, true, false},
                        {"trips", NULL, 7, 4, true, false},
                        {"loop in", NULL, 0, 0, false, false},
                        {"where", NULL, 22, 2, false, false}},
    [HP_BOARD_HOTSPOTS] = {{"#", NULL, 3, 0, true, false},
                           {"share", NULL, 6, 0, true, true},
                           {"", NULL, 6, 1, false, true},
                           {"blocks", NULL, 6, 4, true, false},
                           {"found at", NULL, 8, 3, true, false},
                           {"hottest in", NULL, 0, 0, false, false},
                           {"where", NULL, 22, 2, false, false}},
};

static const char *const nothing[HP_BOARD_KINDS] = {
    [HP_BOARD_FUNCTIONS] = "nothing new from the program",
    [HP_BOARD_PATHS] = "no path was executed to its end",
    [HP_BOARD_LOOPS] = "no loop was executed",
    [HP_BOARD_HOTSPOTS] = "no hot spot was executed"};

/* --- Parts ------------------------------------------------------------------------------------ */

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

/* --- Rows ------------------------------------------------------------------------------------- */

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

/* The cells, in the order of `columns`. */
static void fill(const struct hp_top_page *page, enum hp_board_kind kind,
                 const struct hp_board_row *row, double share, const size_t *widths,
                 struct hp_strbuf *cells)
{
    struct hp_strbuf *cell = cells;
    if (kind == HP_BOARD_HOTSPOTS)
        hp_strbuf_uint(cell++, row->id);
    hp_strbuf_percent(cell++, share);
    put_bar(cell, share, widths[cell - cells]);
    cell++;
    if (kind == HP_BOARD_HOTSPOTS) {
        hp_strbuf_human(cell++, row->size);
        hp_strbuf_human(cell++, row->count);
    } else {
        put_count(page, row->count, cell++);
    }
    if (kind == HP_BOARD_LOOPS)
        put_trips(row, cell++);
    put_nested_name(row, cell++);
    hp_top_put_where(row, cell++);
    if (kind == HP_BOARD_PATHS)
        put_outcomes(&row->path, widths[cell - cells], cell);
}

static void draw_line(const struct hp_top_page *page, const struct column *all,
                      const size_t *widths, struct hp_strbuf *cells, const char *style,
                      struct hp_strbuf *out)
{
    const char *between = "";
    for (size_t i = 0; all[i].title; i++) {
        const char *title =
            all[i].per_second && !page->wish.since ? all[i].per_second : all[i].title;
        const char *text = cells ? hp_strbuf_text(&cells[i]) : title;
        bool styled = !cells || all[i].heat;
        if (widths[i] == 0)
            continue;
        hp_strbuf_add(out, between);
        between = " ";
        hp_top_style(out, page->color && styled, style);
        put_cell(out, text, widths[i], all[i].right);
        hp_top_style(out, page->color && styled, "");
    }
    while (!page->color && out->length && out->data[out->length - 1] == ' ')
        out->data[--out->length] = 0;
    hp_strbuf_add(out, "\n");
}

static void draw_row(const struct hp_top_page *page, enum hp_board_kind kind,
                     const struct hp_board_row *row, const size_t *widths, struct hp_strbuf *out)
{
    struct hp_strbuf cells[COLUMNS_MAX + 1] = {{0}};
    double share = hp_number_share(row->weight, page->board->whole);
    share = share < 1 ? share : 1; /* a path may have begun before the interval */
    fill(page, kind, row, share, widths, cells);
    draw_line(page, columns[kind], widths, cells, heat(share), out);
    for (size_t i = 0; i <= COLUMNS_MAX; i++)
        hp_strbuf_fini(&cells[i]);
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
    draw_line(page, columns[kind], widths, NULL, "\033[7m", out);
    for (size_t i = 0; i < list->n && i < rows; i++)
        draw_row(page, kind, &list->rows[i], widths, out);
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
