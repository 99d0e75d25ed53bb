// SPDX-License-Identifier: MIT
#include "report/loops/partition.h"

#include "report/fields.h"
#include "report/text.h"

#include <stdlib.h>

#define NAMES_SHOWN 8

static const void *total_of(const struct hp_field_input *in)
{
    return &in->tables->loops.info[in->row->item].total;
}

static const struct hp_field_row total = {HP_ROW_LOOP_COUNT, total_of, false};

static struct hp_partition_estimate estimate_of(const struct hp_field_input *in)
{
    struct hp_partition_estimate estimate;
    hp_partition_estimate(in->tables, in->row->item, &estimate);
    return estimate;
}

static struct hp_cell rank(const struct hp_field_input *in)
{
    return hp_cell_number(in->tables->loops.info[in->row->item].rank);
}

static struct hp_cell speedup(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).speedup);
}

static struct hp_cell software(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).software);
}

static struct hp_cell hardware(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).hardware);
}

static struct hp_cell communication(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).communication);
}

static struct hp_cell gain(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).gain);
}

static const struct hp_field fields[] = {
    {"loop", "its `id` in `loops`", .from = HP_FROM_ITEM},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source file", HP_COLUMN},
    {"line", "its first source line", HP_NAMED("first_line")},
    {"target", "address of its header", HP_PLACE("")},
    {"speedup", "of the program, were the loop in hardware", .get = speedup},
    {"iteration_rank", "rank by iterations, from 1", .get = rank},
    {"executions", "over all threads", .of = &total},
    {"iterations", "likewise", .of = &total},
    {"software", "time of the loop in software, in instructions", .get = software},
    {"hardware", "time of the loop in hardware", .get = hardware},
    {"communication", "time before and behind its executions", .get = communication},
    {"gain", "what is saved; may be negative", .get = gain},
    {"static_instructions", "with nested loops", HP_NAMED("insns")},
    {0}};

static const struct hp_column columns[] = {
    {"speedup", .right = true}, {"by iter.", .right = true},   {"self", .right = true},
    {"times", .right = true},   {"iterations", .right = true}, {"cost", .right = true},
    {"instr.", .right = true},  {"loop", .flexible = true},    {0}};

static void put_speedup(double speedup, struct hp_strbuf *cell)
{
    hp_strbuf_fixed(cell, speedup, 2);
    hp_strbuf_add(cell, "x");
}

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_loop_info *info = &tables->loops.info[row->item];
    struct hp_partition_estimate estimate;
    hp_partition_estimate(tables, row->item, &estimate);
    double all = (double)tables->summary.instructions;
    put_speedup(estimate.speedup, &cells[0]);
    hp_strbuf_uint(&cells[1], info->rank);
    hp_put_share(in, info->total.self, &cells[2]);
    hp_strbuf_human(&cells[3], info->total.executions);
    hp_strbuf_human(&cells[4], info->total.iterations);
    hp_strbuf_percent(&cells[5], all > 0 ? estimate.communication / all : 0);
    hp_strbuf_human(&cells[6], tables->profile->loops[row->item].insns);
    hp_put_loop(tables, row->item, true, &cells[7]);
    return 0;
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
    return hp_print_last_line(&text, options, out);
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

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct hp_tables *tables = text->tables;
    HP_TRY(print_head(tables, text->options, text->out));
    HP_TRY(print_choice(tables, rows, text->options, text->out));
    hp_rows_keep(rows, tables, &hp_view_partition, limit);
    HP_TRY(hp_print_rows(text, &hp_view_partition, NULL, rows, NULL));
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

const struct hp_view hp_view_partition = {
    .name = "partition",
    .help = "what loops would gain in hardware",
    .title = "Partition",
    .each = "loop that was executed",
    .order = "`speedup`, then address",
    .empty = "no loop was recorded: --profile loops asks for them",
    .is_there = hp_loops_are_there,
    .item = HP_ROW_LOOP,
    .make = hp_rows_partition,
    .compare = hp_loop_compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
};
