// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

enum { CYCLES = 3, RUNS }; /* values of a row */

/* Cycles of the runs that begin in each function, of branch stacks. */
static enum hp_err add_cycles(struct hp_rows *rows, struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    uint64_t(*sums)[2] HP_CLEANUP(hp_free) = NULL;
    if (!p->n_run_cycles)
        return HP_OK;
    HP_TRY(hp_new((void *)&sums, p->n_functions, sizeof *sums));
    for (size_t i = 0; i < p->n_run_cycles; i++) {
        uint32_t function = p->blocks[p->run_cycles[i].first].function;
        if (function == HP_PROFILE_NONE)
            continue;
        hp_add_up(&sums[function][0], p->run_cycles[i].cycles);
        hp_add_up(&sums[function][1], p->run_cycles[i].count);
    }
    for (size_t i = 0; i < rows->n; i++) {
        rows->rows[i].v[CYCLES] = sums[rows->rows[i].item][0];
        rows->rows[i].v[RUNS] = sums[rows->rows[i].item][1];
    }
    return HP_OK;
}

static const struct hp_field fields[] = {
    {"name", "demangled; its address where it has no symbol", .from = HP_FROM_ITEM,
     .as = HP_AS_NAME},
    {"module", "file that it is in", HP_COLUMN},
    {"address", "where it begins", HP_PLACE("")},
    {"file", "source file", HP_COLUMN},
    {"line", "where it begins in the source", HP_COLUMN},
    {"self", "instructions executed in it", HP_COUNTED(0)},
    {"inclusive", "with those of its callees, recursion once", HP_COUNTED(1), .ordered = true},
    {"calls", "times it was entered from another function", HP_COUNTED(2)},
    {"share", "of `self` in all instructions", HP_SHARE(0)},
    {"run_cycles",
     "where branch stacks have cycles: those of the runs that begin in it, in the samples",
     HP_VALUE(CYCLES), .needs = HP_ROW_RUN_CYCLES},
    {"runs", "how many these are", HP_VALUE(RUNS), .needs = HP_ROW_RUN_CYCLES},
    {"error",
     "of a profile of samples: half of the 95 % interval, as a fraction of `self`; null: not known",
     .get = hp_field_error, .value = HP_ROW_FUNCTION_SAMPLES, .needs = HP_ROW_FUNCTION_SAMPLES},
    {0}};

static void put_where(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pfunction *function = &in->tables->profile->functions[row->item];
    hp_put_where(in->tables, function->file, function->line, function->place.module, cell);
}

static const struct hp_column columns[] = {
    {"self %", .field = "share", .right = true, .heat = true},
    {"self", .right = true},
    {"±", .field = "error", .right = true},
    {"inclusive", .right = true},
    {"cycles", .field = "run_cycles", .right = true, .not_zero = true},
    {"calls", .right = true},
    {"function", .field = "name", .flexible = true, .cut = HP_CUT_NAME},
    {"where", .put = put_where, .flexible = true},
    {0}};

const struct hp_view hp_view_functions = {
    .name = "functions",
    .help = "functions, by their own instructions",
    .title = "Functions",
    .each = "function that was executed",
    .order = "`self`, then address",
    .empty = "no function was executed",
    .lines = HP_LINES_FUNCTIONS,
    .overview = true,
    .item = HP_ROW_FUNCTION,
    .counter = HP_ROW_FUNCTION_COUNT,
    .values = {"self", "inclusive", "calls"},
    .make = add_cycles,
    .by_thread = true,
    .fields = fields,
    .columns = columns,
};
