// SPDX-License-Identifier: MIT
#include "report/partition.h"
#include "report/text_cells.h"
#include "report/text_regions.h"
#include "text/number.h"
#include "text/table.h"

#include <stdlib.h>

#define NAMES_SHOWN 8

static const struct hp_column columns[] = {
    {"speedup", .right = true}, {"by iter.", .right = true},   {"self", .right = true},
    {"times", .right = true},   {"iterations", .right = true}, {"cost", .right = true},
    {"instr.", .right = true},  {"loop", .flexible = true},    {0}};

static void put_speedup(double speedup, struct hp_strbuf *cell)
{
    hp_strbuf_fixed(cell, speedup, 2);
    hp_strbuf_add(cell, "x");
}

static void fill(const struct hp_tables *tables, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_loop_info *info = &tables->loops.info[row->item];
    struct hp_partition_estimate estimate;
    hp_partition_estimate(tables, row->item, &estimate);
    double all = (double)tables->summary.instructions;
    put_speedup(estimate.speedup, &cells[0]);
    hp_strbuf_uint(&cells[1], info->rank);
    hp_strbuf_percent(&cells[2], hp_number_share(info->total.self, tables->summary.instructions));
    hp_strbuf_human(&cells[3], info->total.executions);
    hp_strbuf_human(&cells[4], info->total.iterations);
    hp_strbuf_percent(&cells[5], all > 0 ? estimate.communication / all : 0);
    hp_strbuf_human(&cells[6], tables->profile->loops[row->item].insns);
    hp_put_loop(tables, row->item, true, &cells[7]);
}

/* What was reckoned with. */
static enum hp_err print_head(const struct hp_tables *tables,
                              const struct hp_report_options *options, FILE *out)
{
    const struct hp_partition_costs *costs = &tables->costs;
    struct hp_strbuf text = {0};
    hp_strbuf_add(&text, "in hardware: ");
    if (costs->set && costs->iteration >= 0) {
        hp_strbuf_fixed(&text, costs->iteration, 1);
        hp_strbuf_add(&text, " an iteration");
    } else {
        hp_strbuf_add(&text, "a tenth of the instructions");
    }
    hp_strbuf_add(&text, "; cost: ");
    hp_strbuf_grouped(&text, costs->set ? costs->init : HP_PARTITION_INIT);
    hp_strbuf_add(&text, " + ");
    hp_strbuf_grouped(&text, costs->set ? costs->sync : HP_PARTITION_SYNC);
    hp_strbuf_add(&text, " each time");
    enum hp_err err = hp_print_line(&text, options, out);
    hp_strbuf_fini(&text);
    return err;
}

/* The names of loops, and what they gain together. */
static double put_choice(const struct hp_tables *tables, const uint32_t *chosen, size_t n,
                         struct hp_strbuf *text)
{
    double gain = 0;
    for (size_t i = 0; i < n; i++) {
        struct hp_partition_estimate estimate;
        hp_partition_estimate(tables, chosen[i], &estimate);
        gain += estimate.gain;
        if (i < NAMES_SHOWN) {
            hp_strbuf_add(text, i ? ", " : "");
            hp_put_loop(tables, chosen[i], true, text);
        }
    }
    if (n > NAMES_SHOWN)
        hp_strbuf_add(text, ", …");
    return hp_partition_speedup(tables, gain);
}

static enum hp_err print_choice(const struct hp_tables *tables, const struct hp_rows *rows,
                                const struct hp_report_options *options, FILE *out)
{
    uint32_t *best, *naive;
    size_t n_best, n_naive;
    HP_TRY(hp_partition_choose(tables, rows, false, &best, &n_best));
    enum hp_err err = hp_partition_choose(tables, rows, true, &naive, &n_naive);
    if (err != HP_OK) {
        free(best);
        return err;
    }
    struct hp_strbuf names = {0}, text = {0};
    double speedup = put_choice(tables, best, n_best, &names);
    hp_strbuf_add(&text, n_best ? "  best: " : "  no loop gains anything");
    if (n_best) {
        put_speedup(speedup, &text);
        hp_strbuf_add(&text, ": ");
        hp_strbuf_add(&text, hp_strbuf_text(&names));
    }
    err = hp_print_line(&text, options, out);
    hp_strbuf_clear(&names);
    double other = put_choice(tables, naive, n_naive, &names);
    if (err == HP_OK && n_naive && other < speedup) {
        hp_strbuf_add(&text, "  iterations would choose: ");
        put_speedup(other, &text);
        hp_strbuf_add(&text, " instead of ");
        put_speedup(speedup, &text);
        hp_strbuf_add(&text, ": ");
        hp_strbuf_add(&text, hp_strbuf_text(&names));
        err = hp_print_line(&text, options, out);
    }
    if (err == HP_OK && names.failed)
        err = hp_fail_nomem();
    hp_strbuf_fini(&names);
    hp_strbuf_fini(&text);
    free(best);
    free(naive);
    return err;
}

static enum hp_err print_rows(const struct hp_tables *tables, const struct hp_rows *rows,
                              const struct hp_report_options *options, FILE *out)
{
    struct hp_text_table table;
    hp_text_table_init(&table, columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < rows->n; i++) {
            hp_text_table_clear(&table);
            fill(tables, &rows->rows[i], table.cells);
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table, 0);
        }
    }
    hp_print_more(out, rows->n_left_out);
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

static enum hp_err print(struct hp_tables *tables, struct hp_rows *rows,
                         const struct hp_report_options *options, size_t limit, FILE *out)
{
    HP_TRY(print_head(tables, options, out));
    HP_TRY(print_choice(tables, rows, options, out));
    hp_rows_keep(rows, tables, HP_REPORT_PARTITION, limit);
    return print_rows(tables, rows, options, out);
}

enum hp_err hp_print_partition(struct hp_tables *tables, const struct hp_report_options *options,
                               size_t limit, FILE *out)
{
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_PARTITION, false));
    enum hp_err err = HP_OK;
    if (rows.n == 0)
        fputs("  (no loop was recorded: --profile loops asks for them)\n", out);
    else
        err = print(tables, &rows, options, limit, out);
    hp_rows_fini(&rows);
    return err;
}
