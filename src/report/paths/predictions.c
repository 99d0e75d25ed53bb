// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"scheme", "its name, with its delay", HP_COLUMN},
    {"delay", "executions before it predicts", HP_COLUMN},
    {"hit_rate", "`hits` of `hot_flow`", HP_NAMED("hits"), .per = "hot_flow"},
    {"noise_rate", "`noise` of `hot_flow`: may exceed 1", HP_NAMED("noise"), .per = "hot_flow"},
    {"missed_rate", "`missed` of `hot_flow`", HP_NAMED("missed"), .per = "hot_flow"},
    {"profiled_flow", "`profiled` of `flow`", HP_NAMED("profiled"), .per = "flow"},
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

static void put_work(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pprediction *p = &in->tables->profile->predictions[row->item];
    hp_strbuf_fixed(cell, hp_number_share(p->operations, p->branches), 3);
}

static const struct hp_column columns[] = {{"scheme", .flexible = true},
                                           {"hits", .field = "hit_rate", .right = true},
                                           {"noise", .field = "noise_rate", .right = true},
                                           {"missed", .field = "missed_rate", .right = true},
                                           {"profiled", .field = "profiled_flow", .right = true},
                                           {"predicted", .right = true},
                                           {"counters", .right = true},
                                           {"ops/branch", .put = put_work, .right = true},
                                           {0}};

/* "net:50" before "net:100", behind "boa:5". */
static int compare(const struct hp_profile *profile, uint32_t x, uint32_t y)
{
    const struct hp_pprediction *a = &profile->predictions[x], *b = &profile->predictions[y];
    size_t n_a = strcspn(hp_text(a->scheme), ":"), n_b = strcspn(hp_text(b->scheme), ":");
    int order = strncmp(hp_text(a->scheme), hp_text(b->scheme), n_a < n_b ? n_a : n_b);
    return order ?: HP_COMPARE(n_a, n_b) ?: HP_COMPARE(a->delay, b->delay);
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
    .there = {HP_ROW_PREDICTION},
    .item = HP_ROW_PREDICTION,
    .compare = compare,
    .fields = fields,
    .columns = columns,
    .top = HP_VIEW_WHOLE,
};
