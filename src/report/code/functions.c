// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static struct hp_cell own_name(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->functions[in->row->item]);
}

static const struct hp_field fields[] = {
    {"name", "demangled; its address where it has no symbol", .get = own_name},
    {"module", "file that it is in", HP_COLUMN},
    {"address", "where it begins", HP_PLACE("")},
    {"file", "source file", HP_COLUMN},
    {"line", "where it begins in the source", HP_COLUMN},
    {"self", "instructions executed in it", HP_COUNTED(0)},
    {"inclusive", "with those of its callees, recursion once", HP_COUNTED(1), .ordered = true},
    {"calls", "times it was entered from another function", HP_COUNTED(2)},
    {"share", "of `self` in all instructions", HP_SHARE(0)},
    {0}};

static const struct hp_column columns[] = {{"self %", .right = true, .heat = true},
                                           {"self", .right = true},
                                           {"inclusive", .right = true, .ordered = true},
                                           {"calls", .right = true},
                                           {"function", .flexible = true},
                                           {"where", .flexible = true},
                                           {0}};

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_pfunction *function = &in->tables->profile->functions[row->item];
    double share = hp_put_share(in, row->v[0], &cells[0]);
    for (size_t k = 0; k < 3; k++)
        hp_strbuf_human(&cells[1 + k], row->v[k]);
    if (hp_put_thread(row, &cells[4]))
        return share;
    hp_put_function(in->tables, row->item, &cells[4]);
    hp_put_where(in->tables, function->file, function->line, function->place.module, &cells[5]);
    return share;
}

static int compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    return hp_place_compare(p->functions[a].place, p->functions[b].place);
}

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
    .compare = compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
};
