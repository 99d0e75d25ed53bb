// SPDX-License-Identifier: MIT
#include "text/table.h"

#include "base/cleanup.h"
#include "text/short_name.h"
#include "text/utf8.h"

#define INDENT       2
#define GAP          2
#define NARROWEST    10 /* a flexible column is not cut below this */
#define WIDEST_BLANK 60 /* without a limit, one long name must not push a column off the page */

const char *hp_text_bold(bool color)
{
    return color ? "\033[1m" : "";
}

const char *hp_text_warn(bool color)
{
    return color ? "\033[1;33m" : "";
}

const char *hp_text_plain(bool color)
{
    return color ? "\033[0m" : "";
}

static const char *heat_code(double heat)
{
    return heat >= 0.10    ? "\033[1;31m"
           : heat >= 0.02  ? "\033[33m"
           : heat >= 0.005 ? "\033[32m"
                           : "";
}

struct table {
    const struct hp_text_rows *rows;
    const struct hp_column *columns;
    size_t n; /* of these */
    size_t indent;
    size_t widths[HP_TEXT_COLUMNS];
    struct hp_strbuf cells[HP_TEXT_COLUMNS]; /* of one row */
    struct hp_strbuf cut;
};

static void fini(struct table *table)
{
    for (size_t i = 0; i < HP_TEXT_COLUMNS; i++)
        hp_strbuf_fini(&table->cells[i]);
    hp_strbuf_fini(&table->cut);
}

/* Widens a column for a text. */
static void measure(struct table *table, size_t i, const char *text)
{
    size_t width = table->columns[i].hidden ? 0 : hp_utf8_width(text);
    if (table->columns[i].flexible && table->rows->width <= 0 && width > WIDEST_BLANK)
        width = WIDEST_BLANK;
    if (table->columns[i].most && table->rows->width > 0 && width > table->columns[i].most)
        width = table->columns[i].most;
    if (width > table->widths[i])
        table->widths[i] = width;
}

/* What says more than the rest gets half as much again. */
static size_t claim(const struct table *table, size_t i)
{
    bool telling = table->columns[i].telling || table->columns[i].cut == HP_CUT_NAME;
    return table->widths[i] * (telling ? 2 : 3);
}

/* Narrows the widest flexible column until the row fits. */
static void fit(struct table *table)
{
    size_t limit = (size_t)table->rows->width;
    size_t total = table->indent - GAP;
    for (size_t i = 0; i < table->n; i++) {
        total += table->columns[i].hidden ? 0 : GAP;
        if (table->columns[i].flexible && table->widths[i] > limit)
            table->widths[i] = limit;
        total += table->widths[i];
    }
    for (; total > limit; total--) {
        size_t widest = table->n;
        for (size_t i = 0; i < table->n; i++)
            if (table->columns[i].flexible && table->widths[i] > NARROWEST &&
                (widest == table->n || claim(table, i) > claim(table, widest)))
                widest = i;
        if (widest == table->n)
            return; /* nothing left to cut: the terminal will wrap */
        table->widths[widest]--;
    }
}

static void blanks(FILE *out, size_t n)
{
    for (; n > 0; n--)
        putc_unlocked(' ', out);
}

/* Prints a cell with the blanks around it; `pending` are blanks still to be printed, so that no
 * line ends in blanks. */
static void put_cell(struct table *table, size_t i, const char *text, const char *code,
                     size_t *pending)
{
    const struct hp_column *column = &table->columns[i];
    FILE *out = table->rows->out;
    if (column->hidden)
        return;
    size_t width = hp_utf8_width(text);
    bool is_name = column->cut == HP_CUT_NAME;
    bool can_be_cut = (column->flexible || column->most) && table->rows->width > 0 &&
                      !(is_name && table->rows->full_names);
    if (can_be_cut && width > table->widths[i]) {
        hp_strbuf_clear(&table->cut);
        if (is_name)
            hp_short_name(&table->cut, text, table->widths[i]);
        else
            hp_strbuf_cut(&table->cut, text, table->widths[i], column->cut);
        text = hp_strbuf_text(&table->cut);
        width = hp_utf8_width(text);
    }
    size_t pad = table->widths[i] > width ? table->widths[i] - width : 0;
    if (column->right)
        *pending += pad;
    if (*text) {
        blanks(out, *pending);
        *pending = 0;
        fputs_unlocked(code, out);
        fputs_unlocked(text, out);
        fputs_unlocked(*code ? hp_text_plain(true) : "", out);
    }
    *pending += GAP + (column->right ? 0 : pad);
}

static void print_titles(struct table *table)
{
    size_t pending = table->indent;
    bool titled = false;
    for (size_t i = 0; i < table->n; i++) {
        titled |= *table->columns[i].title != 0;
        put_cell(table, i, table->columns[i].title, hp_text_bold(table->rows->color), &pending);
    }
    if (titled)
        putc_unlocked('\n', table->rows->out);
}

static void print_row(struct table *table, double heat)
{
    size_t pending = table->indent;
    for (size_t i = 0; i < table->n; i++) {
        bool color = table->rows->color;
        const char *code = color && table->columns[i].heat
                               ? heat_code(heat)
                               : hp_text_bold(color && table->columns[i].bold);
        put_cell(table, i, hp_strbuf_text(&table->cells[i]), code, &pending);
    }
    putc_unlocked('\n', table->rows->out);
}

/* Fills the cells with a row; returns its heat. */
static double fill(struct table *table, size_t row)
{
    for (size_t i = 0; i < table->n; i++)
        hp_strbuf_clear(&table->cells[i]);
    return table->rows->fill(table->rows->context, row, table->cells);
}

enum hp_err hp_text_rows_print(const struct hp_text_rows *rows)
{
    struct table table HP_CLEANUP(fini) = {
        .rows = rows, .columns = rows->columns, .indent = rows->indent ? rows->indent : INDENT};
    for (; table.n < HP_TEXT_COLUMNS && rows->columns[table.n].title; table.n++)
        measure(&table, table.n, rows->columns[table.n].title);
    for (size_t i = 0; i < rows->n; i++) {
        fill(&table, i);
        for (size_t k = 0; k < table.n; k++)
            measure(&table, k, hp_strbuf_text(&table.cells[k]));
    }
    if (rows->width > 0)
        fit(&table);
    print_titles(&table);
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->above)
            HP_TRY(rows->above(rows->context, i));
        print_row(&table, fill(&table, i));
        if (rows->below)
            HP_TRY(rows->below(rows->context, i));
    }
    bool failed = table.cut.failed;
    for (size_t i = 0; i < table.n; i++)
        failed |= table.cells[i].failed;
    return failed ? hp_fail_nomem() : HP_OK;
}
