// SPDX-License-Identifier: MIT
/* Cycles from one taken branch to the next, as branch stacks have them. */
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

#include <math.h>

#define NORMAL_95 1.96

static const struct hp_prun_cycles *run_of(const struct hp_tables *tables, const struct hp_row *row)
{
    return &tables->profile->run_cycles[row->item];
}

enum { FUNCTION, FIRST, LAST, FILE_NAME, LINE, MEAN, ERROR, SHARE };

static struct hp_cell mean_cell(const struct hp_prun_cycles *run)
{
    return run->count ? hp_cell_fraction((double)run->cycles / (double)run->count) : hp_cell_none();
}

/* Of the mean, as a fraction; of one time nothing is known. */
static struct hp_cell error_cell(const struct hp_prun_cycles *run)
{
    double n = (double)run->count, mean = n > 0 ? (double)run->cycles / n : 0;
    double spread = n > 1 ? (double)run->squares / n - mean * mean : 0;
    if (n < 2 || mean <= 0)
        return hp_cell_none();
    return hp_cell_fraction(NORMAL_95 * sqrt((spread > 0 ? spread : 0) / (n - 1)) / mean);
}

enum { CYCLES, COUNT, UNKNOWN, ALL }; /* values of a row */

/* So that each row knows its share. */
static enum hp_err add_all(struct hp_rows *rows, struct hp_tables *tables)
{
    uint64_t all = 0;
    for (size_t i = 0; i < tables->profile->n_run_cycles; i++)
        hp_add_up(&all, tables->profile->run_cycles[i].cycles);
    for (size_t i = 0; i < rows->n; i++)
        rows->rows[i].v[ALL] = all;
    return HP_OK;
}

static struct hp_cell cell(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    const struct hp_prun_cycles *run = run_of(in->tables, in->row);
    const struct hp_pblock *first = &p->blocks[run->first], *last = &p->blocks[run->last];
    const struct hp_pline *line = hp_tables_block_line(in->tables, run->first);
    switch (in->field->value) {
    case FUNCTION:
        return hp_cell_text(
            first->function == HP_PROFILE_NONE ? "" : in->tables->functions[first->function]);
    case FIRST: return hp_cell_place(in, first->place);
    case LAST:
        return hp_cell_place(
            in, (struct hp_place){last->place.module, last->place.offset + last->branch});
    case FILE_NAME: return hp_cell_text(line ? line->file : "");
    case LINE: return hp_cell_number(line ? line->line : 0);
    case MEAN: return mean_cell(run);
    case ERROR: return error_cell(run);
    default: break;
    }
    return hp_cell_fraction(hp_number_share(run->cycles, in->row->v[ALL]));
}

static const struct hp_field fields[] = {
    {"function", "that it begins in", .get = cell, .value = FUNCTION},
    {"first", "address where control came to", .get = cell, .value = FIRST},
    {"last", "address of the branch that was taken next", .get = cell, .value = LAST},
    {"file", "source of its first instruction", .get = cell, .value = FILE_NAME},
    {"line", "likewise", .get = cell, .value = LINE},
    {"count", "times that its cycles are known, in the samples", HP_VALUE(COUNT)},
    {"cycles", "in all of these", HP_VALUE(CYCLES)},
    {"mean", "cycles from the branch before to the one at its end", .get = cell, .value = MEAN},
    {"error", "half of the 95 % interval of `mean`, as a fraction; null: not known", .get = cell,
     .value = ERROR},
    {"min", "cycles", HP_COLUMN},
    {"max", "cycles", HP_COLUMN},
    {"share", "of the cycles of all runs", .get = cell, .value = SHARE},
    {"unknown", "times that its cycles were not recorded", HP_VALUE(UNKNOWN)},
    {0}};

static void put_mean(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *text)
{
    (void)in;
    if (row->v[COUNT])
        hp_put_cycles((double)row->v[CYCLES] / (double)row->v[COUNT], text);
}

static void put_from(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *text)
{
    const struct hp_pblock *block = &in->tables->profile->blocks[run_of(in->tables, row)->first];
    hp_put_code(in->tables, block->function, block->place, text);
}

static void put_to(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *text)
{
    const struct hp_pblock *block = &in->tables->profile->blocks[run_of(in->tables, row)->last];
    const struct hp_place branch = {block->place.module, block->place.offset + block->branch};
    hp_strbuf_add(text, "to ");
    hp_put_code(in->tables, block->function, branch, text);
}

static void put_where(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *text)
{
    const struct hp_pline *line = hp_tables_block_line(in->tables, run_of(in->tables, row)->first);
    if (line)
        hp_put_where(in->tables, line->file, line->line, HP_PROFILE_NONE, text);
}

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"count", .right = true},
    {"cycles", .put = put_mean, .right = true},
    {"±", .field = "error", .right = true},
    {"min", .right = true},
    {"max", .right = true},
    {"from", .put = put_from, .flexible = true, .cut = HP_CUT_NAME},
    {"to", .put = put_to, .flexible = true, .cut = HP_CUT_NAME},
    {"where", .put = put_where, .flexible = true},
    {0}};

const struct hp_view hp_view_runs = {
    .name = "runs",
    .help = "cycles from one taken branch to the next, of branch stacks",
    .title = "Runs between branches",
    .each = "run of blocks from the target of a taken branch to the next taken one",
    .order = "`cycles`, then address",
    .empty = "no cycles between branches were recorded",
    .there = {HP_ROW_RUN_CYCLES},
    .item = HP_ROW_RUN_CYCLES,
    .counter = HP_ROW_RUN_CYCLES,
    .values = {"cycles", "count", "unknown"},
    .make = add_all,
    .fields = fields,
    .columns = columns,
};
