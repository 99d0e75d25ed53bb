// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static struct hp_cell own_name(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->modules[in->row->item]);
}

static const struct hp_field fields[] = {{"module", "its name in addresses", .get = own_name},
                                         {"path", "of the file", HP_COLUMN},
                                         {"build_id", "of the file", HP_COLUMN},
                                         {"instructions", "executed in it", HP_COUNTED(0)},
                                         {"executions", "of its blocks", HP_COUNTED(1)},
                                         {"share", "of `instructions` in all of them", HP_SHARE(0)},
                                         {0}};

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"instructions", .right = true},
                                           {"blocks", .right = true},
                                           {"module", .flexible = true},
                                           {"build id", .flexible = true},
                                           {0}};

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_pmodule *module = &in->tables->profile->modules[row->item];
    double share = hp_put_share(in, row->v[0], &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    if (hp_put_thread(row, &cells[3]))
        return share;
    hp_strbuf_clean(&cells[3], hp_text(module->path));
    hp_strbuf_clean(&cells[4], hp_text(module->build_id));
    return share;
}

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
    .fill = fill,
};
