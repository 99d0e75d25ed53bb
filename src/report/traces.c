// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"run", NULL, HP_COLUMN},
    {"process", NULL, HP_COLUMN},
    {"ns", "nanoseconds since the process began", .kind = HP_FIELD_OF_RUN},
    {"kind",
     "`full` or `phase`: flushed because of that; `bail-out`: no more are made; `hot-spot`: its "
     "code became traces from there on (`--traces hotspots`)",
     HP_COLUMN},
    {"traces", NULL, HP_COLUMN},
    {"bytes", NULL, HP_COLUMN},
    {"hotspot", NULL, HP_COLUMN},
    {"insns_before", NULL, HP_COLUMN},
    {"traced_before", NULL, HP_COLUMN},
    {"insns_after", NULL, HP_COLUMN},
    {"traced_after", NULL, HP_COLUMN},
    {0}};

static const struct hp_ptraces_event *event_of(const struct hp_text *in, const struct hp_row *row)
{
    return &in->tables->profile->traces_events[row->item];
}

static void put_seconds(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_strbuf_fixed(cell, (double)event_of(in, row)->ns * 1e-9, 3);
}

static void put_hotspot(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    if (event_of(in, row)->hotspot)
        hp_strbuf_uint(cell, event_of(in, row)->hotspot - 1);
}

static void put_percent(struct hp_strbuf *cell, uint64_t part, uint64_t whole)
{
    if (whole)
        hp_strbuf_percent(cell, (double)part / (double)whole);
}

static void put_before(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    put_percent(cell, event_of(in, row)->traced_before, event_of(in, row)->insns_before);
}

static void put_after(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    put_percent(cell, event_of(in, row)->traced_after, event_of(in, row)->insns_after);
}

static const struct hp_column columns[] = {{"process", .right = true, .plain = true},
                                           {"second", .put = put_seconds, .right = true},
                                           {"what", .field = "kind"},
                                           {"traces", .right = true},
                                           {"bytes", .right = true},
                                           {"hot spot", .put = put_hotspot, .right = true},
                                           {"in traces before", .put = put_before, .right = true},
                                           {"after", .put = put_after, .right = true},
                                           {0}};

const struct hp_view hp_view_traces = {
    .name = "traces",
    .help = "what happened to the engine's traces, and when",
    .title = "Traces",
    .each = "flush of the native engine's traces, its bail-out, or a hot spot that became traces",
    .order = "run, process and time",
    .empty = "no trace was flushed, and the engine did not bail out",
    .lines = HP_LINES_NONE,
    .there = {HP_ROW_TRACES_EVENT},
    .item = HP_ROW_TRACES_EVENT,
    .fields = fields,
    .columns = columns,
    .top = HP_VIEW_WHOLE,
};
