// SPDX-License-Identifier: MIT
#include "report/text_cells.h"
#include "report/text_regions.h"
#include "text/number.h"
#include "text/table.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_SHOWN 3
#define DEPTH_SHOWN  12 /* deeper ones are not indented further */

enum hp_err hp_print_line(struct hp_strbuf *text, const struct hp_report_options *options,
                          FILE *out)
{
    struct hp_strbuf cut = {0};
    size_t width = options->width > 0 ? (size_t)options->width : SIZE_MAX;
    hp_strbuf_cut(&cut, hp_strbuf_text(text), width, HP_CUT_END);
    fprintf(out, "%s\n", hp_strbuf_text(&cut));
    bool failed = text->failed || cut.failed;
    hp_strbuf_fini(&cut);
    hp_strbuf_clear(text);
    return failed ? hp_fail_nomem() : HP_OK;
}

void hp_print_more(FILE *out, size_t more)
{
    char text[HP_NUMBER_SIZE];
    if (more == 0)
        return;
    hp_number_grouped(text, more);
    fprintf(out, "  … and %s more (--top 0 shows all)\n", text);
}

const char *hp_density_glyph(double density)
{
    static const char *const glyphs[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (!(density > 0))
        return " ";
    int level = density >= 1 ? 7 : (int)(density * 8);
    return glyphs[level];
}

/* --- Trip counts ------------------------------------------------------------------------------ */

/* The most frequent exact values, in that order; returns how many. */
static size_t most_frequent(const struct hp_ploop_trips *trips, size_t n,
                            const struct hp_ploop_trips *best[VALUES_SHOWN])
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = kept < VALUES_SHOWN ? kept++ : VALUES_SHOWN;
        while (at > 0 && best[at - 1]->count < trips[i].count) {
            if (at < VALUES_SHOWN)
                best[at] = best[at - 1];
            at--;
        }
        if (at < VALUES_SHOWN)
            best[at] = &trips[i];
    }
    return kept;
}

/* A glyph a power of two, from the smallest to the largest. */
static void put_histogram(const struct hp_ploop_trips *buckets, size_t n, struct hp_strbuf *cell)
{
    uint64_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = buckets[i].count > most ? buckets[i].count : most;
    hp_strbuf_add(cell, " ");
    for (size_t i = 0; i < n; i++) {
        for (uint64_t k = i ? buckets[i - 1].value + 1 : buckets[i].value; k < buckets[i].value;
             k++)
            hp_strbuf_add(cell, " ");
        hp_strbuf_add(cell, hp_density_glyph((double)buckets[i].count / (double)most));
    }
}

/* "32", "1-64", or "?" where the executions are not known one by one. */
static void put_range(const struct hp_ploop_count *count, struct hp_strbuf *cell)
{
    if (count->max == 0 && count->executions) {
        hp_strbuf_add(cell, "?");
        return;
    }
    hp_strbuf_human(cell, count->min);
    if (count->max > count->min) {
        hp_strbuf_add(cell, "-");
        hp_strbuf_human(cell, count->max);
    }
}

/* "32", "1-64: 32 98%, 1 2%", or "1-4,096 ▁▂█▁" where no value is frequent. */
static void put_trips(const struct hp_tables *tables, uint32_t loop,
                      const struct hp_ploop_count *count, struct hp_strbuf *cell)
{
    put_range(count, cell);
    if (count->min == count->max)
        return;
    size_t n, n_buckets;
    const struct hp_ploop_trips *values = hp_loop_trips(tables->profile, loop, false, &n);
    const struct hp_ploop_trips *buckets = hp_loop_trips(tables->profile, loop, true, &n_buckets);
    const struct hp_ploop_trips *best[VALUES_SHOWN];
    size_t n_best = most_frequent(values, n, best);
    uint64_t executions = tables->loops.info[loop].total.executions;
    if (n_best == 0 || hp_number_share(best[0]->count, executions) < 0.2) {
        put_histogram(buckets, n_buckets, cell);
        return;
    }
    for (size_t i = 0; i < n_best; i++) {
        double share = hp_number_share(best[i]->count, executions);
        if (i > 0 && share < 0.05)
            break;
        hp_strbuf_add(cell, i ? ", " : ": ");
        hp_strbuf_human(cell, best[i]->value);
        hp_strbuf_add(cell, " ");
        hp_strbuf_fixed(cell, share * 100, 0);
        hp_strbuf_add(cell, "%");
    }
}

/* --- Loops ------------------------------------------------------------------------------------ */

static const struct hp_column loop_columns[] = {{"share", .right = true, .heat = true},
                                                {"self", .right = true},
                                                {"times", .right = true},
                                                {"mean", .right = true},
                                                {"iterations", .flexible = true, .cut = HP_CUT_END},
                                                {"foreseen", .right = true},
                                                {"loop", .flexible = true},
                                                {0}};

static void put_marks(const struct hp_tables *tables, uint32_t loop, struct hp_strbuf *cell)
{
    if (tables->profile->loops[loop].flags & HP_LOOP_IRREDUCIBLE)
        hp_strbuf_add(cell, "~");
    if (tables->loops.info[loop].total.interrupted)
        hp_strbuf_add(cell, "!");
}

/* What the marks mean, where there are any. */
static void print_legend(const struct hp_tables *tables, const struct hp_rows *rows, FILE *out)
{
    bool irreducible = false, interrupted = false;
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t loop = rows->rows[i].item;
        irreducible |= (tables->profile->loops[loop].flags & HP_LOOP_IRREDUCIBLE) != 0;
        interrupted |= tables->loops.info[loop].total.interrupted != 0;
    }
    if (irreducible || interrupted)
        fprintf(out, "  %s%s%s\n", irreducible ? "~ irreducible" : "",
                irreducible && interrupted ? "   " : "",
                interrupted ? "! still going on at the end" : "");
}

static void fill_loop(const struct hp_tables *tables, const struct hp_row *row,
                      struct hp_strbuf *cells)
{
    const struct hp_loop_info *info = &tables->loops.info[row->item];
    const struct hp_ploop_count *count = hp_loop_counts(tables, row);
    uint64_t all = tables->summary.instructions;
    hp_strbuf_percent(&cells[0], hp_number_share(count->inclusive, all));
    hp_strbuf_percent(&cells[1], hp_number_share(count->self, all));
    hp_strbuf_human(&cells[2], count->executions);
    hp_put_each(count->iterations, count->executions, &cells[3]);
    if (row->thread != HP_PROFILE_NONE) {
        put_range(count, &cells[4]);
        hp_strbuf_add(&cells[6], "  thread ");
        hp_strbuf_uint(&cells[6], row->thread);
        return;
    }
    put_trips(tables, row->item, count, &cells[4]);
    if (info->foreseen >= 0)
        hp_strbuf_percent(&cells[5], info->foreseen);
    for (uint32_t i = 0; i < info->depth && i < DEPTH_SHOWN; i++)
        hp_strbuf_add(&cells[6], "  ");
    put_marks(tables, row->item, &cells[6]);
    hp_put_loop(tables, row->item, info->depth == 0, &cells[6]);
}

static int compare_positions(const void *a, const void *b, void *context)
{
    const struct hp_loop_info *info = context;
    uint32_t x = info[((const struct hp_row *)a)->item].at;
    uint32_t y = info[((const struct hp_row *)b)->item].at;
    return (x > y) - (x < y);
}

/* "12 loops, executed 3,456 times: 93.1% of the instructions are in one" */
static enum hp_err print_loops_head(const struct hp_tables *tables,
                                    const struct hp_report_options *options, FILE *out)
{
    const struct hp_profile *p = tables->profile;
    uint64_t executions = 0, self = 0;
    for (size_t i = 0; i < p->n_loops; i++) {
        const struct hp_ploop_count *total = &tables->loops.info[i].total;
        executions = hp_saturating_add(executions, total->executions);
        if (p->loops[i].parent == HP_PROFILE_NONE)
            self = hp_saturating_add(self, total->self);
    }
    struct hp_strbuf text = {0};
    hp_strbuf_grouped(&text, tables->summary.loops);
    hp_strbuf_add(&text, tables->summary.loops == 1 ? " loop" : " loops");
    hp_strbuf_add(&text, ", executed ");
    hp_strbuf_grouped(&text, executions);
    hp_strbuf_add(&text, executions == 1 ? " time: " : " times: ");
    hp_strbuf_percent(&text, hp_number_share(self, tables->summary.instructions));
    hp_strbuf_add(&text, " of the instructions are in one");
    enum hp_err err = hp_print_line(&text, options, out);
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_loop_rows(const struct hp_tables *tables, const struct hp_rows *rows,
                                   const struct hp_report_options *options, FILE *out)
{
    struct hp_text_table table;
    hp_text_table_init(&table, loop_columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < rows->n; i++) {
            size_t n_parts;
            const struct hp_row *parts = hp_rows_parts(rows, rows->rows[i].item, &n_parts);
            for (size_t k = 0; k <= n_parts; k++) {
                const struct hp_row *row = k == 0 ? &rows->rows[i] : &parts[k - 1];
                hp_text_table_clear(&table);
                fill_loop(tables, row, table.cells);
                if (pass == 0)
                    hp_text_table_measure(&table);
                else
                    hp_text_table_print(&table,
                                        hp_number_share(row->v[0], tables->summary.instructions));
            }
        }
    }
    hp_print_more(out, rows->n_left_out);
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

enum hp_err hp_print_loops(struct hp_tables *tables, const struct hp_report_options *options,
                           size_t limit, FILE *out)
{
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_LOOPS, options->per_thread));
    enum hp_err err = HP_OK;
    if (rows.n == 0) {
        fputs("  (no loop was recorded: --profile loops asks for them)\n", out);
    } else {
        hp_rows_keep(&rows, tables, HP_REPORT_LOOPS, limit);
        qsort_r(rows.rows, rows.n, sizeof *rows.rows, compare_positions, tables->loops.info);
        err = print_loops_head(tables, options, out);
        print_legend(tables, &rows, out);
        if (err == HP_OK)
            err = print_loop_rows(tables, &rows, options, out);
    }
    hp_rows_fini(&rows);
    return err;
}

/* --- Loops of models -------------------------------------------------------------------------- */

static const struct hp_column model_columns[] = {{"share", .right = true, .heat = true},
                                                 {"exact", .right = true},
                                                 {"times", .right = true},
                                                 {"exact", .right = true},
                                                 {"average", .right = true},
                                                 {"exact", .right = true},
                                                 {"total", .right = true},
                                                 {"exact", .right = true},
                                                 {"loop", .flexible = true},
                                                 {0}};

static void put_average(double average, struct hp_strbuf *cell)
{
    if (average < 1000)
        hp_strbuf_fixed(cell, average, 1);
    else
        hp_strbuf_human(cell, (uint64_t)(average < 1e18 ? average + 0.5 : 1e18));
}

/* What a model does not know it reports as 0. */
static void fill_model(const struct hp_tables *tables, const struct hp_row *row,
                       struct hp_strbuf *cells)
{
    const struct hp_pmodel_loop *loop = &tables->profile->model_loops[row->item];
    uint64_t all = tables->summary.instructions;
    if (loop->instructions)
        hp_strbuf_percent(&cells[0], hp_number_share(loop->instructions, all));
    if (loop->executions)
        hp_strbuf_human(&cells[2], loop->executions);
    if (loop->average)
        put_average((double)loop->average / 1000, &cells[4]);
    hp_strbuf_human(&cells[6], loop->iterations);
    if (loop->loop == HP_PROFILE_NONE) {
        hp_put_code(tables, loop->function, loop->target, &cells[8]);
        return;
    }
    const struct hp_ploop_count *exact = &tables->loops.info[loop->loop].total;
    hp_strbuf_percent(&cells[1], hp_number_share(exact->self, all));
    hp_strbuf_human(&cells[3], exact->executions);
    put_average(hp_number_share(exact->back_edges, exact->executions), &cells[5]);
    hp_strbuf_human(&cells[7], exact->back_edges);
    hp_put_loop(tables, loop->loop, true, &cells[8]);
}

static enum hp_err print_model(const struct hp_tables *tables, const struct hp_row *rows, size_t n,
                               const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text = {0};
    struct hp_text_table table;
    hp_strbuf_clean(&text, hp_text(tables->profile->model_loops[rows[0].item].model));
    hp_strbuf_add(&text, ":");
    enum hp_err err = hp_print_line(&text, options, out);
    hp_strbuf_fini(&text);
    hp_text_table_init(&table, model_columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n; i++) {
            uint64_t insns = tables->profile->model_loops[rows[i].item].instructions;
            hp_text_table_clear(&table);
            fill_model(tables, &rows[i], table.cells);
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table, hp_number_share(insns, tables->summary.instructions));
        }
    }
    if (err == HP_OK)
        err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

enum hp_err hp_print_loop_models(struct hp_tables *tables, const struct hp_report_options *options,
                                 size_t limit, FILE *out)
{
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_LOOP_MODELS, false));
    enum hp_err err = HP_OK;
    if (rows.n == 0)
        fputs("  (no model of a loop profiler ran: --loop-model asks for one)\n", out);
    hp_rows_keep(&rows, tables, HP_REPORT_LOOP_MODELS, limit);
    for (size_t i = 0, n; i < rows.n && err == HP_OK; i += n) {
        for (n = 1; i + n < rows.n && hp_rows_same_group(tables, HP_REPORT_LOOP_MODELS,
                                                         rows.rows[i].item, rows.rows[i + n].item);)
            n++;
        if (i > 0)
            putc('\n', out);
        err = print_model(tables, &rows.rows[i], n, options, out);
    }
    hp_print_more(out, rows.n_left_out);
    hp_rows_fini(&rows);
    return err;
}
