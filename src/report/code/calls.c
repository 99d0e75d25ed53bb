// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"caller", "function; empty: a thread or a signal handler began", HP_COLUMN},
    {"callee", "function that it called", HP_COLUMN},
    {"count", "calls", HP_COUNTED(1)},
    {"inclusive", "instructions executed during them", HP_COUNTED(0), .ordered = true},
    {0}};

static void put_callee(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_strbuf_add(cell, "-> ");
    hp_put_function(in->tables, in->tables->profile->calls[row->item].callee, cell);
}

static const struct hp_column columns[] = {
    {"inclusive %", .field = "inclusive", .share = true, .right = true, .heat = true},
    {"inclusive", .right = true},
    {"count", .right = true},
    {"caller", .flexible = true, .cut = HP_CUT_NAME},
    {"callee", .put = put_callee, .flexible = true, .cut = HP_CUT_NAME},
    {0}};

/* The weight of runs that were only counted is the count. */
static void weigh(const struct hp_tables *tables, struct hp_row *row)
{
    if (!tables->inclusive_known)
        row->v[0] = row->v[1];
}

const struct hp_view hp_view_calls = {
    .name = "calls",
    .help = "callers and callees",
    .title = "Calls",
    .each = "pair of caller and callee",
    .order = "`inclusive` (`count` where that is not known), then addresses",
    .empty = "no call was executed",
    .lines = HP_LINES_FUNCTIONS,
    .item = HP_ROW_CALL,
    .counter = HP_ROW_CALL_COUNT,
    .values = {"inclusive", "count"},
    .adjust = weigh,
    .by_thread = true,
    .fields = fields,
    .columns = columns,
};
