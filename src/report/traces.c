// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"run", NULL, HP_COLUMN},
    {"process", NULL, HP_COLUMN},
    {"ns", "nanoseconds since the process began", .kind = HP_FIELD_OF_RUN},
    {"kind", "`full` or `phase`: flushed because of that; `bail-out`: no more are made", HP_COLUMN},
    {"traces", NULL, HP_COLUMN},
    {"bytes", NULL, HP_COLUMN},
    {0}};

static void put_seconds(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_strbuf_fixed(cell, (double)in->tables->profile->traces_events[row->item].ns * 1e-9, 3);
}

static const struct hp_column columns[] = {{"process", .right = true, .plain = true},
                                           {"second", .put = put_seconds, .right = true},
                                           {"what", .field = "kind"},
                                           {"traces", .right = true},
                                           {"bytes", .right = true},
                                           {0}};

const struct hp_view hp_view_traces = {
    .name = "traces",
    .help = "what happened to the engine's traces, and when",
    .title = "Traces",
    .each = "flush of the native engine's traces, or its bail-out",
    .order = "run, process and time",
    .empty = "no trace was flushed, and the engine did not bail out",
    .lines = HP_LINES_NONE,
    .there = {HP_ROW_TRACES_EVENT},
    .item = HP_ROW_TRACES_EVENT,
    .fields = fields,
    .columns = columns,
    .top = HP_VIEW_WHOLE,
};
