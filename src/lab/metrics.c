// SPDX-License-Identifier: MIT
#include "lab/metrics.h"

#include "lab/bank.h"

#include <string.h>

void hp_lab_ppcr(const char *metric, char *text, size_t size)
{
    /* A path's power does not fit into 8 bits. */
    bool wide = strncmp(metric, "power", 5) == 0;
    snprintf(text, size, "bl,metric=%s%s", metric, wide ? ",counter=16" : "");
}

static enum hp_err add_metrics(struct hp_session *session, const char *const *metrics,
                               size_t n_metrics, const struct hp_lab_table *tables, size_t n_tables,
                               uint64_t window, struct hp_profiler *bank)
{
    for (size_t i = 0; i < n_metrics; i++) {
        struct hp_profiler *profiler;
        char ppcr[64];
        hp_lab_ppcr(metrics[i], ppcr, sizeof ppcr);
        HP_TRY(hp_lab_paths_new(session, ppcr, tables, n_tables, window, &profiler));
        HP_TRY(hp_bank_add(bank, profiler));
    }
    return HP_OK;
}

enum hp_err hp_lab_metrics_new(struct hp_session *session, const char *const *metrics,
                               size_t n_metrics, const struct hp_lab_table *tables, size_t n_tables,
                               uint64_t window, struct hp_profiler **bank)
{
    struct hp_machine *machine;
    HP_TRY(hp_machine_load("vaswani", &machine));
    HP_TRY(hp_bank_new(hp_session_code(session), machine, bank));
    HP_TRY(hp_session_add(session, *bank));
    return add_metrics(session, metrics, n_metrics, tables, n_tables, window, *bank);
}
