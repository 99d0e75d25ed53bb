// SPDX-License-Identifier: MIT
#include "report/hotspots.h"
#include "report/text_cells.h"
#include "report/text_regions.h"
#include "text/number.h"
#include "text/table.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_SHOWN 5
#define LINE_COLUMNS    100 /* of the time line where the width is not limited */
#define LINE_NARROWEST  10

struct printer {
    struct hp_tables *tables;
    const struct hp_report_options *options;
    FILE *out;
    struct hp_strbuf text;
};

/* --- The table -------------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"#", .right = true},
                                           {"share", .right = true, .heat = true},
                                           {"after", .right = true},
                                           {"detected", .right = true},
                                           {"of run", .right = true},
                                           {"blocks", .right = true},
                                           {"instr.", .right = true},
                                           {"functions", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

static void put_functions(struct hp_tables *tables, uint32_t hotspot, struct hp_strbuf *cell)
{
    struct hp_hotspot_function *functions;
    size_t n;
    if (hp_hotspot_functions(tables, hotspot, &functions, &n) != HP_OK) {
        cell->failed = true;
        return;
    }
    for (size_t i = 0; i < n && i < FUNCTIONS_SHOWN; i++) {
        hp_strbuf_add(cell, i ? ", " : "");
        hp_put_function(tables, functions[i].function, cell);
    }
    if (n > FUNCTIONS_SHOWN) {
        hp_strbuf_add(cell, " and ");
        hp_strbuf_grouped(cell, n - FUNCTIONS_SHOWN);
        hp_strbuf_add(cell, " more");
    }
    free(functions);
}

static void fill(struct hp_tables *tables, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_photspot *hotspot = &tables->profile->hotspots[row->item];
    uint64_t all = tables->summary.instructions;
    size_t n_blocks;
    hp_hotspot_blocks(tables->profile, row->item, &n_blocks);
    hp_strbuf_uint(&cells[0], hotspot->number);
    hp_strbuf_percent(&cells[1], hp_number_share(hotspot->total, all));
    hp_strbuf_percent(&cells[2], hp_number_share(hotspot->after, all));
    hp_strbuf_human(&cells[3], hotspot->at_branches);
    if (tables->profile->run.runs <= 1)
        hp_strbuf_percent(&cells[4], hp_number_share(hotspot->at_instructions, all));
    hp_strbuf_human(&cells[5], n_blocks);
    hp_strbuf_human(&cells[6], hotspot->insns);
    put_functions(tables, row->item, &cells[7]);
}

static enum hp_err print_table(struct printer *p, const struct hp_row *rows, size_t n)
{
    struct hp_text_table table;
    hp_text_table_init(&table, columns, p->out, p->options->color, p->options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n; i++) {
            hp_text_table_clear(&table);
            fill(p->tables, &rows[i], table.cells);
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table,
                                    hp_number_share(rows[i].v[0], p->tables->summary.instructions));
        }
    }
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

/* --- Above it --------------------------------------------------------------------------------- */

/* "merten, run 2: 3 hot spots, 412 static instructions (2.9% of those executed)" */
static enum hp_err print_name(struct printer *p, uint32_t first, size_t n,
                              const struct hp_hotspot_sum *sum)
{
    const struct hp_profile *profile = p->tables->profile;
    struct hp_strbuf *text = &p->text;
    hp_strbuf_clean(text, hp_text(profile->hotspots[first].detector));
    if (profile->run.runs > 1) {
        hp_strbuf_add(text, ", run ");
        hp_strbuf_grouped(text, (uint64_t)profile->hotspots[first].run + 1);
    }
    hp_strbuf_add(text, ": ");
    hp_strbuf_grouped(text, n);
    hp_strbuf_add(text, n == 1 ? " hot spot, " : " hot spots, ");
    hp_strbuf_grouped(text, sum->insns);
    hp_strbuf_add(text, " static instructions");
    if (sum->executed) {
        hp_strbuf_add(text, " (");
        hp_strbuf_percent(text, hp_number_share(sum->insns, sum->executed));
        hp_strbuf_add(text, " of those executed)");
    }
    return hp_print_line(text, p->options, p->out);
}

/* "  79.6% of the run, 77.0% since detected; the first after 12,345 branches (<0.1%)" */
static enum hp_err print_sum(struct printer *p, const struct hp_hotspot_sum *sum)
{
    const struct hp_summary *summary = &p->tables->summary;
    struct hp_strbuf *text = &p->text;
    hp_strbuf_add(text, "  ");
    if (sum->executed) {
        hp_strbuf_percent(text, hp_number_share(sum->instructions, summary->instructions));
        hp_strbuf_add(text, " of the run");
        if (sum->after_known) {
            hp_strbuf_add(text, ", ");
            hp_strbuf_percent(text, hp_number_share(sum->after, summary->instructions));
            hp_strbuf_add(text, " since detected");
        }
        hp_strbuf_add(text, "; ");
    }
    hp_strbuf_add(text, "the first after ");
    hp_strbuf_grouped(text, sum->first);
    hp_strbuf_add(text, sum->first == 1 ? " branch" : " branches");
    if (p->tables->profile->run.runs <= 1 && summary->branches) {
        hp_strbuf_add(text, " (");
        hp_strbuf_percent(text, hp_number_share(sum->first, summary->branches));
        hp_strbuf_add(text, ")");
    }
    return hp_print_line(text, p->options, p->out);
}

/* --- The time line ---------------------------------------------------------------------------- */

static size_t digits(uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    return hp_number_uint(text, value);
}

static int compare_items(const void *a, const void *b)
{
    uint32_t x = ((const struct hp_row *)a)->item, y = ((const struct hp_row *)b)->item;
    return (x > y) - (x < y);
}

/* "   0 |  ▃███▂   ██|", for each of the rows, in the order of detection. */
static enum hp_err print_lines(struct printer *p, struct hp_row *rows, size_t n,
                               const struct hp_timeline *line, size_t label)
{
    const struct hp_profile *profile = p->tables->profile;
    double *density = calloc(line->columns + 1, sizeof *density);
    if (!density)
        return hp_fail_nomem();
    qsort(rows, n, sizeof *rows, compare_items);
    for (size_t i = 0; i < n; i++) {
        char number[HP_NUMBER_SIZE];
        hp_number_uint(number, profile->hotspots[rows[i].item].number);
        hp_timeline_fill(profile, line, rows[i].item, density);
        fprintf(p->out, "  %*s |", (int)label, number);
        for (size_t k = 0; k < line->columns; k++)
            fputs(hp_density_glyph(density[k]), p->out);
        fputs("|\n", p->out);
    }
    free(density);
    return HP_OK;
}

static enum hp_err print_timeline(struct printer *p, uint32_t first, size_t n_all,
                                  struct hp_row *rows, size_t n)
{
    size_t label = 1, most = LINE_COLUMNS;
    for (size_t i = 0; i < n; i++) {
        size_t width = digits(p->tables->profile->hotspots[rows[i].item].number);
        label = width > label ? width : label;
    }
    size_t used = 2 + label + 2 + 1;
    if (p->options->width > 0)
        most = (size_t)p->options->width > used + LINE_NARROWEST ? (size_t)p->options->width - used
                                                                 : LINE_NARROWEST;
    struct hp_timeline line;
    hp_timeline_fit(p->tables, first, n_all, most, &line);
    if (line.columns == 0)
        return HP_OK;
    hp_strbuf_add(&p->text, "  when they ran, since detected; a column is ");
    hp_strbuf_human(&p->text, (uint64_t)(line.column < 1e18 ? line.column : 1e18));
    hp_strbuf_add(&p->text, " instructions");
    HP_TRY(hp_print_line(&p->text, p->options, p->out));
    return print_lines(p, rows, n, &line, label);
}

/* --- All of them ------------------------------------------------------------------------------ */

/* The hot spots of one detector in one run; `n` rows are to be printed. */
static enum hp_err print_group(struct printer *p, struct hp_row *rows, size_t n)
{
    const struct hp_profile *profile = p->tables->profile;
    struct hp_hotspot_sum sum;
    uint32_t first = rows[0].item;
    while (first > 0 && hp_rows_same_group(p->tables, HP_REPORT_HOTSPOTS, first - 1, rows[0].item))
        first--;
    size_t all = rows[0].item - first + 1;
    while (first + all < profile->n_hotspots &&
           hp_rows_same_group(p->tables, HP_REPORT_HOTSPOTS, first, first + (uint32_t)all))
        all++;
    hp_hotspot_sum(p->tables, first, all, &sum);
    HP_TRY(print_name(p, first, all, &sum));
    HP_TRY(print_sum(p, &sum));
    HP_TRY(print_table(p, rows, n));
    hp_print_more(p->out, all - n);
    return print_timeline(p, first, all, rows, n);
}

enum hp_err hp_print_hotspots(struct hp_tables *tables, const struct hp_report_options *options,
                              size_t limit, FILE *out)
{
    struct printer p = {.tables = tables, .options = options, .out = out};
    struct hp_rows rows;
    HP_TRY(hp_tables_prepare(tables, HP_REPORT_HOTSPOTS));
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_HOTSPOTS, false));
    enum hp_err err = HP_OK;
    if (rows.n == 0)
        fputs("  (no hot spot was detected: --profile hotspots looks for them)\n", out);
    hp_rows_keep(&rows, tables, HP_REPORT_HOTSPOTS, limit);
    for (size_t i = 0, n; i < rows.n && err == HP_OK; i += n) {
        for (n = 1; i + n < rows.n && hp_rows_same_group(tables, HP_REPORT_HOTSPOTS,
                                                         rows.rows[i].item, rows.rows[i + n].item);)
            n++;
        if (i > 0)
            putc('\n', out);
        err = print_group(&p, &rows.rows[i], n);
    }
    hp_rows_fini(&rows);
    hp_strbuf_fini(&p.text);
    return err;
}
