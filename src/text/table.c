// SPDX-License-Identifier: MIT
#include "text/table.h"

#include "text/utf8.h"

#define INDENT       2
#define GAP          2
#define NARROWEST    10 /* a flexible column is cut to this, not further */
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

void hp_text_table_init(struct hp_text_table *table, const struct hp_column *columns, FILE *out,
                        bool color, int width)
{
    *table = (struct hp_text_table){.out = out, .color = color, .width = width, .columns = columns};
    while (table->n < HP_TEXT_COLUMNS && columns[table->n].title) {
        bool hidden = columns[table->n].hidden;
        table->widths[table->n] = hidden ? 0 : hp_utf8_width(columns[table->n].title);
        table->n++;
    }
}

void hp_text_table_fini(struct hp_text_table *table)
{
    for (size_t i = 0; i < HP_TEXT_COLUMNS; i++)
        hp_strbuf_fini(&table->cells[i]);
    hp_strbuf_fini(&table->cut);
}

void hp_text_table_clear(struct hp_text_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        hp_strbuf_clear(&table->cells[i]);
}

void hp_text_table_measure(struct hp_text_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        if (table->columns[i].hidden)
            continue;
        size_t width = hp_utf8_width(hp_strbuf_text(&table->cells[i]));
        if (table->columns[i].flexible && table->width <= 0 && width > WIDEST_BLANK)
            width = WIDEST_BLANK;
        if (width > table->widths[i])
            table->widths[i] = width;
    }
}

/* Takes columns away from the widest flexible cell until the row fits. */
static void fit(struct hp_text_table *table)
{
    size_t limit = (size_t)table->width;
    size_t total = INDENT - GAP;
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
                (widest == table->n || table->widths[i] > table->widths[widest]))
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

/* One cell with the blanks around it; `pending` are those owed from before, so that no line ends in
 * blanks. */
static void put_cell(struct hp_text_table *table, size_t i, const char *text, const char *code,
                     size_t *pending)
{
    const struct hp_column *column = &table->columns[i];
    if (column->hidden)
        return;
    size_t width = hp_utf8_width(text);
    if (column->flexible && table->width > 0 && width > table->widths[i]) {
        hp_strbuf_clear(&table->cut);
        hp_strbuf_cut(&table->cut, text, table->widths[i], column->cut);
        text = hp_strbuf_text(&table->cut);
        width = hp_utf8_width(text);
    }
    size_t pad = table->widths[i] > width ? table->widths[i] - width : 0;
    if (column->right)
        *pending += pad;
    if (*text) {
        blanks(table->out, *pending);
        *pending = 0;
        fputs_unlocked(code, table->out);
        fputs_unlocked(text, table->out);
        fputs_unlocked(*code ? hp_text_plain(true) : "", table->out);
    }
    *pending += GAP + (column->right ? 0 : pad);
}

void hp_text_table_begin(struct hp_text_table *table)
{
    if (table->width > 0)
        fit(table);
    size_t pending = INDENT;
    for (size_t i = 0; i < table->n; i++)
        put_cell(table, i, table->columns[i].title, hp_text_bold(table->color), &pending);
    putc_unlocked('\n', table->out);
}

void hp_text_table_print(struct hp_text_table *table, double heat)
{
    size_t pending = INDENT;
    for (size_t i = 0; i < table->n; i++) {
        const char *code = table->color && table->columns[i].heat ? heat_code(heat) : "";
        put_cell(table, i, hp_strbuf_text(&table->cells[i]), code, &pending);
    }
    putc_unlocked('\n', table->out);
}

enum hp_err hp_text_table_check(const struct hp_text_table *table)
{
    bool failed = table->cut.failed;
    for (size_t i = 0; i < table->n; i++)
        failed |= table->cells[i].failed;
    return failed ? hp_fail_nomem() : HP_OK;
}

enum hp_err hp_text_rows_print(const struct hp_text_rows *rows)
{
    struct hp_text_table table;
    enum hp_err err = HP_OK;
    hp_text_table_init(&table, rows->columns, rows->out, rows->color, rows->width);
    for (size_t i = 0; i < rows->n; i++) {
        hp_text_table_clear(&table);
        rows->fill(rows->context, i, table.cells);
        hp_text_table_measure(&table);
    }
    hp_text_table_begin(&table);
    for (size_t i = 0; i < rows->n && err == HP_OK; i++) {
        if (rows->above)
            err = rows->above(rows->context, i);
        hp_text_table_clear(&table);
        hp_text_table_print(&table, rows->fill(rows->context, i, table.cells));
        if (rows->below && err == HP_OK)
            err = rows->below(rows->context, i);
    }
    if (err == HP_OK)
        err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}
