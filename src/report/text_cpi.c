// SPDX-License-Identifier: MIT
/*
 * Where cycles went, and ways of sampling, for people.
 */
#include "report/text_insns.h"
#include "report/text_regions.h"
#include "text/number.h"
#include "text/table.h"

#define CAUSES_SHOWN 4

/* --- The stack of the run --------------------------------------------------------------------- */

static const struct hp_column stack_columns[] = {{"share", .right = true, .heat = true},
                                                 {"CPI", .right = true},
                                                 {"cycles", .right = true},
                                                 {.title = "cause"},
                                                 {"", .flexible = true, .cut = HP_CUT_END},
                                                 {0}};

static enum hp_err print_stack(const struct hp_cpi_item *item,
                               const struct hp_report_options *options, FILE *out)
{
    enum hp_cause causes[HP_CAUSES];
    size_t n = hp_cpi_order(item, causes);
    struct hp_text_table table;
    hp_text_table_init(&table, stack_columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n; i++) {
            uint64_t parts = item->parts[causes[i]];
            hp_text_table_clear(&table);
            hp_strbuf_percent(&table.cells[0], hp_number_share(parts, item->all));
            if (item->retired)
                hp_strbuf_fixed(&table.cells[1], hp_cpi_of(parts, item->retired), 3);
            hp_put_amount((double)parts / HP_CYCLE_PARTS, &table.cells[2]);
            hp_strbuf_add(&table.cells[3], hp_cause_name(causes[i]));
            hp_strbuf_add(&table.cells[4], hp_cause_meaning(causes[i]));
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table, hp_number_share(parts, item->all));
        }
    }
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

/* --- Of its parts ----------------------------------------------------------------------------- */

static void fill(const struct hp_tables *tables, const struct hp_cpi_item *item,
                 struct hp_strbuf *cells)
{
    enum hp_cause causes[HP_CAUSES];
    size_t n = hp_cpi_order(item, causes);
    hp_strbuf_percent(&cells[0], hp_number_share(item->all, tables->insns.parts));
    hp_put_amount((double)item->all / HP_CYCLE_PARTS, &cells[1]);
    hp_strbuf_human(&cells[2], item->retired);
    if (item->retired)
        hp_strbuf_fixed(&cells[3], hp_cpi_of(item->all, item->retired), 2);
    hp_cpi_name(tables, tables->by, item, &cells[4]);
    for (size_t i = 0; i < n && i < CAUSES_SHOWN; i++) {
        hp_strbuf_add(&cells[5], i ? ", " : "");
        hp_strbuf_add(&cells[5], hp_cause_name(causes[i]));
        hp_strbuf_add(&cells[5], " ");
        hp_strbuf_percent(&cells[5], hp_number_share(item->parts[causes[i]], item->all));
    }
    hp_strbuf_add(&cells[5], n > CAUSES_SHOWN ? ", …" : "");
}

static enum hp_err print_items(const struct hp_tables *tables, const struct hp_row *rows, size_t n,
                               const struct hp_report_options *options, FILE *out)
{
    const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                        {"cycles", .right = true},
                                        {"instr.", .right = true},
                                        {"CPI", .right = true},
                                        {hp_report_by_name(tables->by), .flexible = true},
                                        {"causes", .flexible = true, .cut = HP_CUT_END},
                                        {0}};
    struct hp_text_table table;
    hp_text_table_init(&table, columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n; i++) {
            const struct hp_cpi_item *item = &tables->cpi[rows[i].item];
            hp_text_table_clear(&table);
            fill(tables, item, table.cells);
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table, hp_number_share(item->all, tables->insns.parts));
        }
    }
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

static enum hp_err print_cpi(struct hp_tables *tables, const struct hp_rows *rows,
                             const struct hp_report_options *options, size_t limit, FILE *out)
{
    HP_TRY(hp_print_cycles_head(tables, options, out));
    if (!tables->insns.exact)
        return HP_OK;
    HP_TRY(print_stack(&tables->cpi[0], options, out));
    size_t n = rows->n - 1, shown = limit && limit < n ? limit : n;
    if (n == 0)
        return HP_OK;
    putc('\n', out);
    HP_TRY(print_items(tables, rows->rows + 1, shown, options, out));
    hp_print_more(out, n - shown);
    return HP_OK;
}

enum hp_err hp_print_cpi(struct hp_tables *tables, const struct hp_report_options *options,
                         size_t limit, FILE *out)
{
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_CPI, false));
    enum hp_err err = HP_OK;
    if (rows.n == 0)
        fputs("  (no cycles were attributed: --profile cycles --machine NAME)\n", out);
    else
        err = print_cpi(tables, &rows, options, limit, out);
    hp_rows_fini(&rows);
    return err;
}

/* --- Sampling --------------------------------------------------------------------------------- */

static const struct hp_column way_columns[] = {
    {"instr.", .right = true},   {"line", .right = true},    {"loop", .right = true},
    {"function", .right = true}, {"samples", .right = true}, {"lost", .right = true},
    {"cost", .right = true},     {"way", .flexible = true},  {0}};

static void put_error(double error, struct hp_strbuf *cell)
{
    if (error >= 0)
        hp_strbuf_percent(cell, error);
}

static void fill_way(const struct hp_tables *tables, const struct hp_sampling_way *way,
                     struct hp_strbuf *cells)
{
    put_error(way->errors[HP_REPORT_BY_INSTRUCTION], &cells[0]);
    put_error(way->errors[HP_REPORT_BY_LINE], &cells[1]);
    put_error(way->errors[HP_REPORT_BY_LOOP], &cells[2]);
    put_error(way->errors[HP_REPORT_BY_FUNCTION], &cells[3]);
    if (way->sampler) {
        hp_strbuf_human(&cells[4], way->sampler->samples);
        hp_strbuf_human(&cells[5], way->sampler->lost);
        if (tables->insns.parts)
            hp_strbuf_percent(&cells[6], (double)way->sampler->cost * HP_CYCLE_PARTS /
                                             (double)tables->insns.parts);
        else
            hp_strbuf_human(&cells[6], way->sampler->cost);
    }
    hp_strbuf_clean(&cells[7], way->name);
}

/* "profileme: every 10,000 instructions, ..." */
static enum hp_err print_sampler(const struct hp_psampler *sampler,
                                 const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text = {0};
    hp_strbuf_clean(&text, sampler->name);
    hp_strbuf_add(&text, ": every ");
    hp_strbuf_grouped(&text, sampler->interval);
    if (sampler->window) {
        hp_strbuf_add(&text, ", pairs within ");
        hp_strbuf_grouped(&text, sampler->window);
    }
    hp_strbuf_add(&text, "; ");
    hp_strbuf_grouped(&text, sampler->samples);
    hp_strbuf_add(&text, " samples, ");
    hp_strbuf_grouped(&text, sampler->empty);
    hp_strbuf_add(&text, " empty, ");
    hp_strbuf_grouped(&text, sampler->lost);
    hp_strbuf_add(&text, " lost; ");
    hp_strbuf_grouped(&text, sampler->interrupts);
    hp_strbuf_add(&text, " interrupts, ");
    hp_strbuf_human(&text, sampler->cost);
    hp_strbuf_add(&text, " cycles");
    if (sampler->scale != 1000) {
        hp_strbuf_add(&text, "; the run is ");
        hp_strbuf_fixed(&text, (double)sampler->scale / 1000, 1);
        hp_strbuf_add(&text, " times what was observed");
    }
    enum hp_err err = hp_print_wrapped(&text, 0, options, out);
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_ways(const struct hp_tables *tables,
                              const struct hp_report_options *options, FILE *out)
{
    struct hp_text_table table;
    if (tables->insns.exact)
        fputs("error: of the time, how much is said to be at another place than it was, by\n", out);
    hp_text_table_init(&table, way_columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < tables->n_ways; i++) {
            hp_text_table_clear(&table);
            fill_way(tables, &tables->ways[i], table.cells);
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table, 0);
        }
    }
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

enum hp_err hp_print_sampling(struct hp_tables *tables, const struct hp_report_options *options,
                              FILE *out)
{
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_SAMPLING, false));
    hp_rows_fini(&rows);
    if (tables->n_ways == 0) {
        fputs("  (nothing was sampled: --profile instructions --machine NAME)\n", out);
        return HP_OK;
    }
    for (size_t i = 0; i < tables->n_ways; i++)
        if (tables->ways[i].sampler)
            HP_TRY(print_sampler(tables->ways[i].sampler, options, out));
    return print_ways(tables, options, out);
}
