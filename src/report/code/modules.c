// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"module", "its name in addresses", .from = HP_FROM_ITEM, .as = HP_AS_NAME},
    {"path", "of the file", HP_COLUMN},
    {"build_id", "of the file", HP_COLUMN},
    {"instructions", "executed in it", HP_COUNTED(0)},
    {"executions", "of its blocks", HP_COUNTED(1)},
    {"share", "of `instructions` in all of them", HP_SHARE(0)},
    {0}};

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"instructions", .right = true},
    {"blocks", .field = "executions", .right = true},
    {"module", .field = "path", .flexible = true, .cut = HP_CUT_PATH},
    {"build id", .field = "build_id", .most = 16},
    {0}};

/* What was read is of a block. */
static void move_to_module(const struct hp_tables *tables, struct hp_row *row)
{
    const struct hp_pblock *block = &tables->profile->blocks[row->item];
    row->v[0] = hp_saturating_mul(row->v[0], block->insns);
    row->item = block->place.module;
}

const struct hp_view hp_view_modules = {
    .name = "modules",
    .help = "files that code was executed in",
    .title = "Modules",
    .each = "file (or region) that code was executed in",
    .order = "`instructions`, then path",
    .empty = "no code was executed",
    .lines = HP_LINES_NONE,
    .item = HP_ROW_MODULE,
    .counter = HP_ROW_BLOCK_COUNT,
    .values = {"count", "count"},
    .adjust = move_to_module,
    .by_thread = true,
    .fields = fields,
    .columns = columns,
};
