// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static const void *first_line(const struct hp_field_input *in)
{
    uint32_t line = in->tables->block_lines[in->row->item];
    return line == HP_PROFILE_NONE ? NULL : &in->tables->profile->lines[line];
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
    {0}};

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"instructions", .right = true},
                                           {"count", .right = true},
                                           {"length", .right = true},
                                           {"block", .flexible = true},
                                           {"where", .flexible = true},
                                           {"address", .flexible = true},
                                           {0}};

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_profile *profile = in->tables->profile;
    const struct hp_pblock *block = &profile->blocks[row->item];
    uint32_t line = in->tables->block_lines[row->item];
    double share = hp_put_share(in, row->v[0], &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    if (hp_put_thread(row, &cells[4]))
        return share;
    hp_strbuf_grouped(&cells[3], block->insns);
    hp_put_code(in->tables, block->function, block->place, &cells[4]);
    if (line != HP_PROFILE_NONE)
        hp_put_where(in->tables, profile->lines[line].file, profile->lines[line].line,
                     block->place.module, &cells[5]);
    hp_put_code(in->tables, HP_PROFILE_NONE, block->place, &cells[6]);
    return share;
}

static void weigh(const struct hp_tables *tables, struct hp_row *row)
{
    row->v[0] = hp_saturating_mul(row->v[0], tables->profile->blocks[row->item].insns);
}

static int compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    return hp_place_compare(p->blocks[a].place, p->blocks[b].place);
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
    .compare = compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
};
