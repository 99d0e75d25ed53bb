// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

static const struct hp_pstat *stat_of(const struct hp_field_input *in)
{
    return &in->tables->profile->stats[in->row->item];
}

static struct hp_cell unit(const struct hp_field_input *in)
{
    static const char *const names[] = {"count", "size", "share"};
    unsigned number = stat_of(in)->unit;
    return hp_cell_text(number <= HP_STAT_SHARE ? names[number] : "");
}

/* A share is a fraction here, as everywhere. */
static struct hp_cell value(const struct hp_field_input *in)
{
    if (stat_of(in)->unit == HP_STAT_SHARE)
        return hp_cell_fraction((double)stat_of(in)->value / 100000);
    return hp_cell_number(stat_of(in)->value);
}

static const struct hp_field fields[] = {
    {"part", "model that counted it", HP_COLUMN},
    {"name", "of what it counted", HP_COLUMN},
    {"value", "a count or a size; of a share the fraction", .get = value},
    {"unit", "`count`, `size` or `share`", .get = unit},
    {0}};

static void put_part(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pstat *stat = &in->tables->profile->stats[row->item];
    const struct hp_rows *rows = in->context;
    const struct hp_pstat *above =
        row > rows->rows ? &in->tables->profile->stats[row[-1].item] : NULL;
    if (!above || strcmp(hp_text(above->part), hp_text(stat->part)) != 0)
        hp_strbuf_clean(cell, hp_text(stat->part));
}

static void put_value(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pstat *stat = &in->tables->profile->stats[row->item];
    if (stat->unit == HP_STAT_SHARE)
        hp_strbuf_format(cell, "%s%%", HP_FIXED((double)stat->value / 1000, 1));
    else
        hp_strbuf_grouped(cell, stat->value);
}

static const struct hp_column columns[] = {{"part", .put = put_part, .flexible = true},
                                           {"name", .flexible = true},
                                           {"value", .put = put_value, .right = true},
                                           {0}};

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct hp_text with = *text;
    with.context = rows;
    return hp_print_list(&with, &hp_view_machine, rows, limit);
}

const struct hp_view hp_view_machine = {
    .name = "machine",
    .help = "what models counted",
    .title = "Machine",
    .each = "something a model counted",
    .order = "part, then name",
    .empty = "no model counted anything",
    .lines = HP_LINES_NONE,
    .there = {HP_ROW_STAT},
    .item = HP_ROW_STAT,
    .fields = fields,
    .columns = columns,
    .print = print,
    .top = HP_VIEW_WHOLE,
};
