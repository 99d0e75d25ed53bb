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
#define LOW            16 /* a page of less lines has no history */
#define FLEXIBLE_LEAST 12 /* columns of the name, before others are left out for it */

/* --- Cells ------------------------------------------------------------------------------------ */

static const char *const nothing[HP_BOARD_KINDS] = {
    [HP_BOARD_FUNCTIONS] = "nothing new from the program",
    [HP_BOARD_PATHS] = "no path was executed to its end",
    [HP_BOARD_LOOPS] = "no loop was executed",
    [HP_BOARD_HOTSPOTS] = "no hot spot was executed",
    [HP_BOARD_LINES] = "it was not executed",
    [HP_BOARD_INNER] = "no loop of it was executed",
    [HP_BOARD_CALLERS] = "it was not called",
    [HP_BOARD_CALLEES] = "it called nothing"};

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

/* Code of a function without a source is at its place in the module. */
static void put_where(enum hp_board_kind kind, const struct hp_board_row *row,
                      struct hp_strbuf *out)
{
    if (!row->line && (kind == HP_BOARD_LINES || kind == HP_BOARD_INNER)) {
        hp_strbuf_clean(out, hp_base_name(row->path_of_module));
        hp_strbuf_format(out, "+%s", HP_HEX(row->offset));
        return;
    }
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

/* The text of a line of the source, without what it is indented by. */
static void put_source(const struct hp_top_page *page, const struct hp_board_row *row,
                       struct hp_strbuf *out)
{
    size_t length, blanks = 0;
    const char *text = row->line && page->sources
                           ? hp_sources_line(page->sources, row->file, row->line, &length)
                           : NULL;
    if (!text)
        return;
    while (blanks < length && (text[blanks] == ' ' || text[blanks] == '\t'))
        blanks++;
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = blanks; i < length; i++)
        hp_strbuf_bytes(&line, text[i] == '\t' ? " " : text + i, 1);
    hp_strbuf_clean(out, hp_strbuf_text(&line));
}

/* What nothing could be left out for is cut where it is widest. */
static void make_fit(const struct hp_top_column *all, size_t width, size_t *widths)
{
    size_t taken = 0, widest = 0;
    for (size_t i = 0; all[i].title; i++) {
        taken += widths[i] ? widths[i] + 1 : 0;
        widest = widths[i] > widths[widest] ? i : widest;
    }
    if (taken > width + 1 && widths[widest] > taken - width - 1)
        widths[widest] -= taken - width - 1;
}

/* Which columns there is room for, and how wide they are: 0 for those that are left out. */
static void lay_out(const struct hp_top_column *all, size_t width, size_t *widths)
{
    size_t flexible = 0, left = 0;
    for (int leave = 0; left < FLEXIBLE_LEAST && leave <= HP_TOP_COLUMNS_MAX; leave++) {
        size_t taken = 0;
        for (size_t i = 0; all[i].title; i++) {
            bool hidden = all[i].what > HP_TOP_HIDDEN;
            bool out = hidden || (all[i].dispensable && all[i].dispensable <= leave);
            widths[i] = out ? 0 : all[i].width;
            taken += out ? 0 : all[i].width + 1;
            flexible = all[i].width || hidden ? flexible : i;
        }
        left = width > taken ? width - taken : 0;
        widths[flexible] = left ? left : 1;
    }
    make_fit(all, width, widths);
}

static void put_cell(struct hp_strbuf *out, const char *text, size_t width, enum hp_top_what what)
{
    struct hp_strbuf cut HP_CLEANUP(hp_strbuf_fini) = {0};
    bool right = what < HP_TOP_LEFT;
    if (what == HP_TOP_NAME)
        hp_short_name(&cut, text, width);
    else
        hp_strbuf_cut(&cut, text, width,
                      right || what == HP_TOP_SOURCE ? HP_CUT_END : HP_CUT_MIDDLE);
    size_t used = hp_utf8_width(hp_strbuf_text(&cut));
    int blanks = used < width ? (int)(width - used) : 0;
    hp_strbuf_format(out, "%*s%s%*s", right ? blanks : 0, "", hp_strbuf_text(&cut),
                     right ? 0 : blanks, "");
}

static void put_trips(const struct hp_cell *mean, struct hp_strbuf *cell)
{
    if (mean->kind == HP_CELL_NONE)
        hp_strbuf_add(cell, "-");
    else if (mean->share < 1000)
        hp_strbuf_fixed(cell, mean->share, 1);
    else
        hp_strbuf_human(cell, (uint64_t)mean->share);
}

static void put_depth(const struct hp_board_row *row, struct hp_strbuf *cell)
{
    for (uint32_t i = 0; i < row->depth && i < 8; i++)
        hp_strbuf_add(cell, "·");
}

static void put_value(const struct hp_top_page *page, enum hp_board_kind kind,
                      struct hp_board_row *row, enum hp_top_what what, size_t width,
                      struct hp_strbuf *out)
{
    struct hp_cell cell = hp_top_cell(page->board, kind, page->state->since, row, what);
    switch (what) {
    case HP_TOP_NUMBER: hp_strbuf_uint(out, cell.number); break;
    case HP_TOP_SHARE:
    case HP_TOP_OF_IT: hp_strbuf_percent(out, cell.share); break;
    case HP_TOP_COUNT:
    case HP_TOP_SIZE:
    case HP_TOP_FOUND: hp_strbuf_human(out, cell.number); break;
    case HP_TOP_TRIPS: put_trips(&cell, out); break;
    case HP_TOP_BAR: put_bar(out, cell.share, width); break;
    case HP_TOP_NAME:
        put_depth(row, out);
        put_name(row, out);
        break;
    case HP_TOP_WHERE:
        if (kind == HP_BOARD_INNER)
            put_depth(row, out);
        put_where(kind, row, out);
        break;
    case HP_TOP_BRANCHES: put_outcomes(&row->path, width, out); break;
    case HP_TOP_SOURCE: put_source(page, row, out); break;
    default: break;
    }
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void put_title(const struct hp_top_page *page, enum hp_board_kind kind, unsigned column,
                      struct hp_strbuf *out)
{
    const struct hp_top_column *c = &hp_top_columns[kind][column];
    const struct hp_top_sorting *sorting = &page->state->sorting[kind];
    bool rate = c->what == HP_TOP_COUNT && hp_top_is_rate(page->board, kind, page->state->since);
    hp_strbuf_format(out, "%s%s", c->title, rate ? "/s" : "");
    if (!page->plain && sorting->column == column)
        hp_strbuf_add(out, sorting->reverse ? "▴" : "▾");
}

static const char *style_of(const struct hp_board_row *row, bool chosen, double share,
                            enum hp_top_what what)
{
    if (!row || chosen)
        return "\033[7m";
    return what == HP_TOP_SHARE || what == HP_TOP_BAR ? heat(share) : "";
}

/* A row; NULL: the titles. */
static void draw_row(const struct hp_top_page *page, enum hp_board_kind kind, const size_t *widths,
                     struct hp_board_row *row, bool chosen, struct hp_strbuf *out)
{
    const struct hp_top_column *columns = hp_top_columns[kind];
    double share = row ? hp_number_share(row->weight, page->board->kinds[kind].whole) : 0;
    const char *between = "";
    if (!page->plain)
        hp_strbuf_add(out, chosen ? ">" : " ");
    for (unsigned i = 0; columns[i].title; i++) {
        struct hp_strbuf cell HP_CLEANUP(hp_strbuf_fini) = {0};
        const char *style = page->color ? style_of(row, chosen, share, columns[i].what) : "";
        if (widths[i] == 0)
            continue;
        if (row)
            put_value(page, kind, row, columns[i].what, widths[i], &cell);
        else
            put_title(page, kind, i, &cell);
        hp_strbuf_format(out, "%s%s", between, style);
        between = " ";
        put_cell(out, hp_strbuf_text(&cell), widths[i], columns[i].what);
        hp_strbuf_add(out, hp_text_plain(*style));
    }
    while (!page->color && out->length && out->data[out->length - 1] == ' ')
        out->data[--out->length] = 0;
    hp_strbuf_add(out, "\n");
}

static bool is_profiled(const struct hp_board *b, enum hp_board_kind kind)
{
    switch (kind) {
    case HP_BOARD_PATHS: return b->paths;
    case HP_BOARD_LOOPS:
    case HP_BOARD_INNER: return b->loops;
    case HP_BOARD_HOTSPOTS: return b->hotspots;
    default: return true;
    }
}

/* Why there are no rows. */
static const char *why_empty(const struct hp_top_page *page, enum hp_board_kind kind)
{
    const struct hp_top_filter *kept = page->kept;
    bool of_calls = kind == HP_BOARD_CALLERS || kind == HP_BOARD_CALLEES;
    if (of_calls && hp_top_place_of(page->state)->function.id == HP_NO_ID)
        return "not known of code in no function";
    if (!is_profiled(page->board, kind))
        return "not profiled";
    if (kind == HP_BOARD_PATHS && page->board->stale)
        return page->state->frozen ? "not known of this moment: f lets the view go on"
                                   : "looking ...";
    if (kept && kept->is == HP_TOP_FILTER_EXPRESSION && !kept->fits[kind])
        return "the filter is about columns that are not here";
    return kept && kept->is != HP_TOP_FILTER_NONE ? "nothing passes the filter" : nothing[kind];
}

static void draw_rows(const struct hp_top_page *page, unsigned part, size_t room,
                      struct hp_strbuf *out)
{
    const struct hp_top_place *place = hp_top_place_of(page->state);
    enum hp_board_kind kind = hp_top_kind(place, part);
    struct hp_board_rows *list = &page->board->kinds[kind];
    size_t widths[HP_TOP_COLUMNS_MAX + 1] = {0}, drawn = 0;
    if (room == 0)
        return;
    lay_out(hp_top_columns[kind], page->width - !page->plain, widths);
    draw_row(page, kind, widths, NULL, false, out);
    for (size_t i = place->lists[part].first; i < list->n && drawn < room; i++, drawn++) {
        bool chosen = !page->plain && place->part == part && place->lists[part].row == i;
        draw_row(page, kind, widths, &list->rows[i], chosen, out);
    }
    if (drawn == 0) {
        hp_strbuf_add(out, page->plain ? "" : " ");
        hp_strbuf_cut(out, why_empty(page, kind), page->width - 1, HP_CUT_END);
        hp_strbuf_add(out, "\n");
        drawn++;
    }
    for (; drawn < room && !page->plain && place->view == 0; drawn++)
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
    if (b->waiting >= 1.005)
        hp_strbuf_format(&line->left, "  %s wait", HP_FIXED(b->waiting, 1));
    else if (b->waiting >= 0.005)
        hp_strbuf_format(&line->left, "  waits %s%%", HP_FIXED(100 * b->waiting, 0));
    hp_strbuf_add(&line->right, page->state->frozen ? "FROZEN  " : "");
    if (page->state->since)
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
        put_where(HP_BOARD_HOTSPOTS, &b->spot, &line->left);
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

/* The function that was opened. */
static void fill_function(const struct hp_top_page *page, struct line *line)
{
    hp_strbuf_add(&line->left, "in ");
    put_name(&page->board->picked, &line->left);
    hp_strbuf_add(&line->right, "Esc back");
}

static void fill_picked(const struct hp_top_page *page, struct line *line)
{
    struct hp_board *b = page->board;
    bool since = page->state->since;
    struct hp_cell share = hp_top_cell(b, HP_BOARD_FUNCTIONS, since, &b->picked, HP_TOP_SHARE);
    struct hp_cell calls = hp_top_cell(b, HP_BOARD_FUNCTIONS, since, &b->picked, HP_TOP_COUNT);
    hp_top_cell(b, HP_BOARD_FUNCTIONS, since, &b->picked, HP_TOP_WHERE); /* finds the line */
    hp_strbuf_format(&line->left, "%s of the run, %s calls%s, ", HP_PERCENT(share.share),
                     HP_HUMAN(calls.number),
                     hp_top_is_rate(b, HP_BOARD_FUNCTIONS, since) ? "/s" : "");
    put_where(HP_BOARD_FUNCTIONS, &b->picked, &line->left);
    if (b->picked.line) {
        hp_strbuf_add(&line->left, ", ");
        hp_strbuf_clean(&line->left, hp_base_name(b->picked.path_of_module));
    }
}

static void fill_typing(const struct hp_top_page *page, struct line *line)
{
    const char *text = hp_top_place_of(page->state)->filter;
    static const char *const how[] = {
        [HP_TOP_FILTER_NONE] = "a name, or share > 1%",
        [HP_TOP_FILTER_NAME] = "by name",
        [HP_TOP_FILTER_EXPRESSION] = "by columns",
        [HP_TOP_FILTER_UNFINISHED] = "...",
    };
    hp_strbuf_add(&line->left, "filter: ");
    hp_strbuf_clean(&line->left, text);
    hp_strbuf_add(&line->left, "_");
    bool is_kept = page->kept && strcmp(page->kept->text, text) == 0;
    hp_strbuf_add(&line->right, how[is_kept ? page->kept->is : HP_TOP_FILTER_UNFINISHED]);
}

/* The most useful first: the line is cut where it is narrow. */
static void fill_keys(const struct hp_top_page *page, struct line *line)
{
    const char *filter = hp_top_place_of(page->state)->filter;
    if (page->state->typing) {
        fill_typing(page, line);
        return;
    }
    if (*filter) {
        hp_strbuf_add(&line->left, "filter: ");
        hp_strbuf_clean(&line->left, filter);
        hp_strbuf_add(&line->left, "  / changes, Esc removes it");
    }
    for (const struct hp_top_key *key = hp_top_keys; key->name && !*filter; key++)
        if (key->brief)
            hp_strbuf_format(&line->left, "%s%s", line->left.length ? "  " : "", key->brief);
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

static fill_line *const heads[2][6] = {
    {fill_title, fill_totals, fill_spot, fill_phases, fill_history, NULL},
    {fill_title, fill_totals, fill_function, fill_picked, NULL},
};

static fill_line *const *head_of(const struct hp_top_page *page)
{
    return heads[hp_top_place_of(page->state)->picks];
}

/* Plain and low pages have no history. */
static size_t head_lines(const struct hp_top_page *page)
{
    size_t n = 0;
    while (head_of(page)[n])
        n++;
    bool low = page->plain || page->height < LOW;
    return n == 5 && low ? 3 : n;
}

/* --- Help ------------------------------------------------------------------------------------- */

#define KEY_COLUMNS 22

static const char *const notes[] = {
    "",
    "Shares are of executed instructions; of callers and callees, of calls. A count is by the "
    "second while shares are of an interval.",
    "Loops are with the loops inside, without what they call; trips: mean iterations of the "
    "executions that ended (- none).",
    "Paths: > a branch was taken, . it was not. Phase: the hot spot that took most, by its last "
    "digit.",
};

/* Adds a text in lines of at most `width` columns, from the column `indent` on. */
static void put_wrapped(struct hp_strbuf *out, const char *text, size_t indent, size_t width)
{
    size_t column = indent;
    for (; *text; text += strspn(text, " ")) {
        struct hp_strbuf word HP_CLEANUP(hp_strbuf_fini) = {0};
        size_t n = strcspn(text, " ");
        hp_strbuf_bytes(&word, text, n);
        size_t needs = hp_utf8_width(hp_strbuf_text(&word));
        if (column > indent && column + 1 + needs > width) {
            hp_strbuf_format(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        hp_strbuf_add(out, column > indent ? " " : "");
        column += column > indent;
        hp_strbuf_cut(out, hp_strbuf_text(&word), width > column ? width - column : 1, HP_CUT_END);
        column += needs;
        text += n;
    }
    hp_strbuf_add(out, "\n");
}

static void put_help(const struct hp_top_page *page, struct hp_strbuf *out)
{
    size_t indent = page->width >= 2 * KEY_COLUMNS ? KEY_COLUMNS : 2;
    for (const struct hp_top_key *key = hp_top_keys; key->name; key++) {
        hp_strbuf_format(out, "%-*s", (int)indent, key->name);
        if (indent < KEY_COLUMNS)
            hp_strbuf_format(out, "\n%*s", (int)indent, "");
        put_wrapped(out, key->help, indent, page->width);
    }
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        put_wrapped(out, notes[i], 0, page->width);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* As much of it as there is room for. */
static void draw_help(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_strbuf all HP_CLEANUP(hp_strbuf_fini) = {0};
    put_help(page, &all);
    size_t n = count_lines(hp_strbuf_text(&all)), room = page->height > 2 ? page->height - 2 : 0;
    size_t most = n > room ? n - room : 0;
    const char *line = hp_strbuf_text(&all);
    if (page->state->help_first > most)
        page->state->help_first = most;
    for (size_t i = 0; i < n && i < page->state->help_first + room; i++) {
        size_t length = strcspn(line, "\n") + 1;
        if (i >= page->state->help_first)
            hp_strbuf_bytes(out, line, length);
        line += length;
    }
}

/* --- The page --------------------------------------------------------------------------------- */

const struct hp_name hp_top_views[HP_TOP_VIEWS + 1] = {
    {"all", "functions, paths and loops"},
    {"functions", NULL},
    {"paths", NULL},
    {"loops", NULL},
    {"hotspots", NULL},
};

void hp_top_page_room(const struct hp_top_page *page, size_t room[HP_TOP_TABLES])
{
    const struct hp_top_place *place = hp_top_place_of(page->state);
    size_t taken = head_lines(page) + 1;
    if (!page->plain) {
        hp_top_share_out(place, page->height > taken ? page->height - taken : 0, room);
        return;
    }
    for (unsigned i = 0; i < HP_TOP_TABLES; i++)
        room[i] = !hp_top_shows(place, i) ? 0 : place->view ? PLAIN_ROWS : PLAIN_ROWS_ALL;
}

static void draw_parts(const struct hp_top_page *page, struct hp_strbuf *out)
{
    size_t room[HP_TOP_TABLES];
    hp_top_page_room(page, room);
    for (unsigned i = 0; i < HP_TOP_TABLES; i++)
        draw_rows(page, i, room[i], out);
}

static void draw_heads(const struct hp_top_page *page, struct hp_strbuf *out)
{
    for (size_t i = 0; i < head_lines(page); i++)
        draw_line(page, head_of(page)[i], i == 0 ? "\033[1m" : "", out);
    draw_parts(page, out);
}

void hp_top_page_draw(const struct hp_top_page *page, struct hp_strbuf *out)
{
    struct hp_top_page fit = *page;
    struct hp_strbuf lines HP_CLEANUP(hp_strbuf_fini) = {0};
    fit.width = page->width < NARROWEST ? NARROWEST : page->width;
    if (page->state->help && !page->plain) {
        draw_line(&fit, fill_title, "\033[1m", &lines);
        draw_help(&fit, &lines);
    } else {
        draw_heads(&fit, &lines);
    }
    size_t n = 0, most = page->plain ? SIZE_MAX : page->height - 1;
    for (const char *line = hp_strbuf_text(&lines); *line && n < most; n++) {
        size_t length = strcspn(line, "\n") + 1;
        hp_strbuf_bytes(out, line, length);
        line += length;
    }
    if (page->plain)
        return;
    for (; n < most; n++)
        hp_strbuf_add(out, "\n");
    draw_line(&fit, fill_keys, "\033[2m", out);
}
