// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

#include <string.h>

static const struct hp_pprediction *prediction_of(const struct hp_field_input *in)
{
    return &in->tables->profile->predictions[in->row->item];
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

static const struct hp_field fields[] = {
    {"scheme", "its name, with its delay", HP_COLUMN},
    {"delay", "executions before it predicts", HP_COLUMN},
    {"hit_rate", "`hits` of `hot_flow`", .get = hit_rate},
    {"noise_rate", "`noise` of `hot_flow`: may exceed 1", .get = noise_rate},
    {"missed_rate", "`missed` of `hot_flow`", .get = missed_rate},
    {"profiled_flow", "`profiled` of `flow`", .get = profiled_flow},
    {"counters", "counters that the scheme used", HP_COLUMN},
    {"operations", "increments of them", HP_COLUMN},
    {"branches", "executed", HP_COLUMN},
    {"flow", "executions of paths", HP_COLUMN},
    {"paths", "different paths", HP_COLUMN},
    {"heads", "different heads of paths", HP_COLUMN},
    {"hot_paths", "of `paths`", HP_COLUMN},
    {"hot_flow", "their executions", HP_COLUMN},
    {"predicted", "paths that were predicted", HP_COLUMN},
    {"predicted_hot", "of these, the hot ones", HP_COLUMN},
    {"hits", "executions of hot predicted paths after their prediction", HP_COLUMN},
    {"noise", "executions of cold predicted paths after theirs", HP_COLUMN},
    {"missed", "executions of hot predicted paths up to their prediction", HP_COLUMN},
    {"profiled", "executions that were not of predicted paths", HP_COLUMN},
    {"closed_hits", "`hits` by the closed formula of the paper", HP_COLUMN},
    {"closed_noise", "likewise", HP_COLUMN},
    {"closed_missed", "likewise", HP_COLUMN},
    {0}};

static const struct hp_column columns[] = {
    {"scheme", .flexible = true}, {"hits", .right = true},       {"noise", .right = true},
    {"missed", .right = true},    {"profiled", .right = true},   {"predicted", .right = true},
    {"counters", .right = true},  {"ops/branch", .right = true}, {0}};

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_pprediction *p = &in->tables->profile->predictions[row->item];
    hp_strbuf_clean(&cells[0], hp_text(p->scheme));
    hp_strbuf_percent(&cells[1], hp_number_share(p->hits, p->hot_flow));
    hp_strbuf_percent(&cells[2], hp_number_share(p->noise, p->hot_flow));
    hp_strbuf_percent(&cells[3], hp_number_share(p->missed, p->hot_flow));
    hp_strbuf_percent(&cells[4], hp_number_share(p->profiled, p->flow));
    hp_strbuf_human(&cells[5], p->predicted);
    hp_strbuf_human(&cells[6], p->counters);
    hp_strbuf_fixed(&cells[7], hp_number_share(p->operations, p->branches), 3);
    return 0;
}

/* "net:50" before "net:100", behind "boa:5". */
static int compare(const struct hp_profile *profile, uint32_t x, uint32_t y)
{
    const struct hp_pprediction *a = &profile->predictions[x], *b = &profile->predictions[y];
    size_t n_a = strcspn(hp_text(a->scheme), ":"), n_b = strcspn(hp_text(b->scheme), ":");
    int order = strncmp(hp_text(a->scheme), hp_text(b->scheme), n_a < n_b ? n_a : n_b);
    if (order || n_a != n_b)
        return order ? order : n_a < n_b ? -1 : 1;
    return a->delay < b->delay ? -1 : a->delay > b->delay;
}

static bool is_there(const struct hp_profile *profile)
{
    return profile->n_predictions > 0;
}

const struct hp_view hp_view_predictions = {
    .name = "predictions",
    .help = "how early hot paths can be predicted",
    .title = "Predictions",
    .each = "prediction scheme that was measured",
    .order = "scheme, then delay",
    .empty = "nothing was predicted: --predict SCHEME or --profile predictions asks for it",
    .lines = HP_LINES_NONE,
    .overview = true,
    .is_there = is_there,
    .item = HP_ROW_PREDICTION,
    .compare = compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .top = HP_VIEW_WHOLE,
};
