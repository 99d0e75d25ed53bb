// SPDX-License-Identifier: MIT
/*
 * The fields of paths, predictions and what models counted.
 */
#include "report/fields.h"
#include "report/path_lines.h"
#include "text/number.h"

/* --- Paths ------------------------------------------------------------------------------------ */

static const struct hp_ppath *path_of(const struct hp_field_input *in)
{
    return &in->tables->profile->paths[in->row->item];
}

static struct hp_cell path_kind(const struct hp_field_input *in)
{
    return hp_cell_text(path_of(in)->kind);
}

static struct hp_cell path_start(const struct hp_field_input *in)
{
    hp_tables_place(in->tables, path_of(in)->start, in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static struct hp_cell path_length(const struct hp_field_input *in)
{
    return hp_cell_number(path_of(in)->length);
}

static struct hp_cell path_outcomes(const struct hp_field_input *in)
{
    hp_path_outcomes(path_of(in), in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static struct hp_cell path_targets(const struct hp_field_input *in)
{
    if (path_of(in)->targets)
        hp_strbuf_hex(in->buffer, path_of(in)->targets);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static struct hp_cell path_count(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[1]);
}

static struct hp_cell path_insns(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[2]);
}

static struct hp_cell path_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(in->row->v[2], in->tables->summary.instructions));
}

static struct hp_cell path_metric(const struct hp_field_input *in)
{
    return hp_cell_text(hp_metric_name(hp_tables_kind(in->tables, in->row->item)->metric));
}

static struct hp_cell path_events(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[3]);
}

static struct hp_cell path_event_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(
        hp_number_share(in->row->v[3], hp_tables_kind(in->tables, in->row->item)->events));
}

static struct hp_cell path_function(const struct hp_field_input *in)
{
    uint32_t function = path_of(in)->function;
    return hp_cell_text(function == HP_PROFILE_NONE ? "" : in->tables->functions[function]);
}

/* Source lines in the order in which they were executed: "file:line". */
static struct hp_cell path_lines(const struct hp_field_input *in)
{
    struct hp_path_lines lines = {0};
    struct hp_strbuf item = {0};
    if (hp_path_lines_make(&lines, in->tables, in->row->item) != HP_OK)
        in->buffer->failed = true;
    for (size_t i = 0; i < lines.n; i++) {
        if (!*lines.lines[i].file)
            continue;
        hp_strbuf_clear(&item);
        hp_strbuf_add(&item, lines.lines[i].file);
        hp_strbuf_add(&item, ":");
        hp_strbuf_uint(&item, lines.lines[i].line);
        hp_list_add(in->buffer, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    hp_path_lines_fini(&lines);
    return hp_cell_list(in);
}

static struct hp_cell path_blocks(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_pstep *steps = hp_tables_steps(in->tables, in->row->item, &n);
    struct hp_strbuf place = {0};
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_clear(&place);
        hp_tables_place(in->tables, in->tables->profile->blocks[steps[i].block].place, &place);
        hp_list_add(in->buffer, hp_strbuf_text(&place));
    }
    in->buffer->failed |= place.failed;
    hp_strbuf_fini(&place);
    return hp_cell_list(in);
}

static struct hp_cell path_ways(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_pstep *steps = hp_tables_steps(in->tables, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_add(in->buffer, hp_step_name(steps[i].how));
    }
    return hp_cell_list(in);
}

const struct hp_field hp_path_fields[] = {{"kind", HP_FIELD_PLAIN, path_kind},
                                          {"start", HP_FIELD_PLAIN, path_start},
                                          {"length", HP_FIELD_PLAIN, path_length},
                                          {"outcomes", HP_FIELD_PLAIN, path_outcomes},
                                          {"targets", HP_FIELD_PLAIN, path_targets},
                                          {"count", HP_FIELD_COUNTED, path_count},
                                          {"instructions", HP_FIELD_COUNTED, path_insns},
                                          {"share", HP_FIELD_PLAIN, path_share},
                                          {"metric", HP_FIELD_PLAIN, path_metric},
                                          {"events", HP_FIELD_COUNTED, path_events},
                                          {"event_share", HP_FIELD_PLAIN, path_event_share},
                                          {"function", HP_FIELD_PLAIN, path_function},
                                          {"lines", HP_FIELD_PLAIN, path_lines},
                                          {"blocks", HP_FIELD_PLAIN, path_blocks},
                                          {"ways", HP_FIELD_PLAIN, path_ways},
                                          {0}};

/* --- Predictions ------------------------------------------------------------------------------ */

static const struct hp_pprediction *prediction_of(const struct hp_field_input *in)
{
    return &in->tables->profile->predictions[in->row->item];
}

static struct hp_cell scheme(const struct hp_field_input *in)
{
    return hp_cell_text(prediction_of(in)->scheme);
}

static struct hp_cell delay(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->delay);
}

static struct hp_cell hit_rate(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(prediction_of(in)->hits, prediction_of(in)->hot_flow));
}

static struct hp_cell noise_rate(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(prediction_of(in)->noise, prediction_of(in)->hot_flow));
}

static struct hp_cell missed_rate(const struct hp_field_input *in)
{
    return hp_cell_fraction(
        hp_number_share(prediction_of(in)->missed, prediction_of(in)->hot_flow));
}

static struct hp_cell profiled_flow(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(prediction_of(in)->profiled, prediction_of(in)->flow));
}

static struct hp_cell counters(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->counters);
}

static struct hp_cell operations(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->operations);
}

static struct hp_cell branches(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->branches);
}

static struct hp_cell flow(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->flow);
}

static struct hp_cell paths(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->paths);
}

static struct hp_cell heads(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->heads);
}

static struct hp_cell hot_paths(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->hot_paths);
}

static struct hp_cell hot_flow(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->hot_flow);
}

static struct hp_cell predicted(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->predicted);
}

static struct hp_cell predicted_hot(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->predicted_hot);
}

static struct hp_cell hits(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->hits);
}

static struct hp_cell noise(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->noise);
}

static struct hp_cell missed(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->missed);
}

static struct hp_cell profiled(const struct hp_field_input *in)
{
    return hp_cell_number(prediction_of(in)->profiled);
}

static struct hp_cell closed_hits(const struct hp_field_input *in)
{
    return hp_cell_integer(prediction_of(in)->closed_hits);
}

static struct hp_cell closed_noise(const struct hp_field_input *in)
{
    return hp_cell_integer(prediction_of(in)->closed_noise);
}

static struct hp_cell closed_missed(const struct hp_field_input *in)
{
    return hp_cell_integer(prediction_of(in)->closed_missed);
}

const struct hp_field hp_prediction_fields[] = {{"scheme", HP_FIELD_PLAIN, scheme},
                                                {"delay", HP_FIELD_PLAIN, delay},
                                                {"hit_rate", HP_FIELD_PLAIN, hit_rate},
                                                {"noise_rate", HP_FIELD_PLAIN, noise_rate},
                                                {"missed_rate", HP_FIELD_PLAIN, missed_rate},
                                                {"profiled_flow", HP_FIELD_PLAIN, profiled_flow},
                                                {"counters", HP_FIELD_PLAIN, counters},
                                                {"operations", HP_FIELD_PLAIN, operations},
                                                {"branches", HP_FIELD_PLAIN, branches},
                                                {"flow", HP_FIELD_PLAIN, flow},
                                                {"paths", HP_FIELD_PLAIN, paths},
                                                {"heads", HP_FIELD_PLAIN, heads},
                                                {"hot_paths", HP_FIELD_PLAIN, hot_paths},
                                                {"hot_flow", HP_FIELD_PLAIN, hot_flow},
                                                {"predicted", HP_FIELD_PLAIN, predicted},
                                                {"predicted_hot", HP_FIELD_PLAIN, predicted_hot},
                                                {"hits", HP_FIELD_PLAIN, hits},
                                                {"noise", HP_FIELD_PLAIN, noise},
                                                {"missed", HP_FIELD_PLAIN, missed},
                                                {"profiled", HP_FIELD_PLAIN, profiled},
                                                {"closed_hits", HP_FIELD_PLAIN, closed_hits},
                                                {"closed_noise", HP_FIELD_PLAIN, closed_noise},
                                                {"closed_missed", HP_FIELD_PLAIN, closed_missed},
                                                {0}};

/* --- Models ----------------------------------------------------------------------------------- */

static const struct hp_pstat *stat_of(const struct hp_field_input *in)
{
    return &in->tables->profile->stats[in->row->item];
}

static struct hp_cell stat_part(const struct hp_field_input *in)
{
    return hp_cell_text(stat_of(in)->part);
}

static struct hp_cell stat_name(const struct hp_field_input *in)
{
    return hp_cell_text(stat_of(in)->name);
}

static struct hp_cell stat_unit(const struct hp_field_input *in)
{
    static const char *const names[] = {"count", "size", "share"};
    unsigned unit = stat_of(in)->unit;
    return hp_cell_text(unit <= HP_STAT_SHARE ? names[unit] : "");
}

/* A share is a fraction here, as everywhere. */
static struct hp_cell stat_value(const struct hp_field_input *in)
{
    if (stat_of(in)->unit == HP_STAT_SHARE)
        return hp_cell_fraction((double)stat_of(in)->value / 100000);
    return hp_cell_number(stat_of(in)->value);
}

const struct hp_field hp_machine_fields[] = {{"part", HP_FIELD_PLAIN, stat_part},
                                             {"name", HP_FIELD_PLAIN, stat_name},
                                             {"value", HP_FIELD_PLAIN, stat_value},
                                             {"unit", HP_FIELD_PLAIN, stat_unit},
                                             {0}};
