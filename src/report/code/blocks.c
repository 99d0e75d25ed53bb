// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static const void *first_line(const struct hp_field_input *in)
{
    return hp_tables_block_line(in->tables, in->row->item);
}

static const struct hp_field_row source = {HP_ROW_LINE, first_line, false};

static const struct hp_field fields[] = {
    {"address", "where it begins", HP_PLACE("")},
    {"size", "bytes", HP_COLUMN},
    {"instructions", "its length", HP_NAMED("insns")},
    {"count", "executions", HP_COUNTED(1)},
    {"weight", "`count` times `instructions`", HP_COUNTED(0)},
    {"share", "of `weight` in all instructions", HP_SHARE(0)},
    {"kind",
     "how it ends: `jump`, `cond`, `call`, `jump_ind`, `call_ind`, `return`, `syscall`, `trap`, "
     "`none`",
     HP_NAMED("flow"), .as = HP_AS_FLOW},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source of its first instruction", .of = &source},
    {"line", "likewise", .of = &source},
    {"version", "tells apart other code seen at the same place", HP_COLUMN},
    {"error",
     "of a profile of samples: half of the 95 % interval, as a fraction of `count`; null: not "
     "known",
     .get = hp_field_error, .value = HP_ROW_BLOCK_SAMPLES, .needs = HP_ROW_BLOCK_SAMPLES},
    {0}};

static void put_code(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pblock *block = &in->tables->profile->blocks[row->item];
    hp_put_code(in->tables, block->function, block->place, cell);
}

static void put_where(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pline *line = hp_tables_block_line(in->tables, row->item);
    if (line)
        hp_put_where(in->tables, line->file, line->line, HP_PROFILE_NONE, cell);
}

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"instructions", .field = "weight", .right = true},
    {"count", .right = true},
    {"±", .field = "error", .right = true},
    {"length", .field = "instructions", .right = true},
    {"block", .put = put_code, .flexible = true, .cut = HP_CUT_NAME},
    {"where", .put = put_where, .flexible = true},
    {"address", .flexible = true},
    {0}};

static void weigh(const struct hp_tables *tables, struct hp_row *row)
{
    row->v[0] = hp_saturating_mul(row->v[0], tables->profile->blocks[row->item].insns);
}

const struct hp_view hp_view_blocks = {
    .name = "blocks",
    .help = "basic blocks, by instructions executed in them",
    .title = "Blocks",
    .each = "block that was executed",
    .order = "`weight`, then address",
    .empty = "no block was executed",
    .item = HP_ROW_BLOCK,
    .counter = HP_ROW_BLOCK_COUNT,
    .values = {"count", "count"},
    .adjust = weigh,
    .by_thread = true,
    .fields = fields,
    .columns = columns,
};
