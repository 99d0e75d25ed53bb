// SPDX-License-Identifier: MIT
/*
 * Predictions and what models counted, for people.
 */
#include "report/text_views.h"
#include "text/number.h"

#include <string.h>

/* --- Predictions ------------------------------------------------------------------------------ */

const struct hp_column hp_prediction_columns[] = {
    {"scheme", .flexible = true}, {"hits", .right = true},       {"noise", .right = true},
    {"missed", .right = true},    {"profiled", .right = true},   {"predicted", .right = true},
    {"counters", .right = true},  {"ops/branch", .right = true}, {0}};

void hp_fill_prediction(const struct hp_text_view_input *in, const struct hp_row *row,
                        struct hp_strbuf *cells)
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
}

/* --- Models ----------------------------------------------------------------------------------- */

const struct hp_column hp_machine_columns[] = {
    {"part", .flexible = true}, {"name", .flexible = true}, {"value", .right = true}, {0}};

void hp_fill_machine(const struct hp_text_view_input *in, const struct hp_row *row,
                     struct hp_strbuf *cells)
{
    const struct hp_pstat *stat = &in->tables->profile->stats[row->item];
    bool first = row->item == 0 || strcmp(hp_text(stat[-1].part), hp_text(stat->part)) != 0;
    if (first)
        hp_strbuf_clean(&cells[0], hp_text(stat->part));
    hp_strbuf_clean(&cells[1], hp_text(stat->name));
    if (stat->unit == HP_STAT_SHARE) {
        hp_strbuf_fixed(&cells[2], (double)stat->value / 1000, 1);
        hp_strbuf_add(&cells[2], "%");
    } else {
        hp_strbuf_grouped(&cells[2], stat->value);
    }
}
