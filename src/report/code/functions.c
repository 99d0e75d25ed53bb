// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

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
    {0}};

static void put_where(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pfunction *function = &in->tables->profile->functions[row->item];
    hp_put_where(in->tables, function->file, function->line, function->place.module, cell);
}

static const struct hp_column columns[] = {
    {"self %", .field = "share", .right = true, .heat = true},
    {"self", .right = true},
    {"inclusive", .right = true},
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
    .by_thread = true,
    .fields = fields,
    .columns = columns,
};
