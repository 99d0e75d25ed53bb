// SPDX-License-Identifier: MIT
#include "lab/paths/path_tables.h"

#include "lab/machine_profilers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The paper's text names one of its four sizes, 512x4; it says that more than 2048 entries gain
 * little. */
const struct hp_lab_table hp_lab_tables[] = {
    {"128x4", NULL, "128x4"},
    {"256x4", NULL, "256x4"},
    {"512x2", NULL, "512x2"},
    {HP_LAB_TABLE, NULL, "vaswani"},
    {"random-admission", "admission", "random-admission"},
    {"2048x4", NULL, "2048x4"},
};
#define N_TABLES (sizeof hp_lab_tables / sizeof *hp_lab_tables)
const size_t hp_lab_n_tables = N_TABLES;
const struct hp_lab_table *const hp_lab_main_tables = &hp_lab_tables[3];
const size_t hp_lab_n_main_tables = N_TABLES - 4;

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_lab_paths_new(struct hp_session *session, const char *ppcr,
                             const struct hp_lab_table *tables, size_t n, uint64_t window,
                             struct hp_profiler **profiler)
{
    struct hp_paths_config config = {.window = window, .n_tables = n};
    HP_TRY(hp_ppcr_parse(ppcr, &config.ppcr));
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_hpt_parse(tables[i].text, &config.tables[i]));
    return hp_paths_new(hp_session_code(session), hp_session_functions(session), &config, profiler);
}

void hp_lab_table_columns(struct hp_lab_results *results, const struct hp_lab_table *tables,
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        hp_lab_results_column(results, tables[i].key, tables[i].title, 1);
}

/* --- Queries ---------------------------------------------------------------------------------- */

enum hp_err hp_lab_all_paths(const struct hp_profiler *profiler, struct hp_path_count **paths,
                             size_t *n)
{
    for (size_t i = 0; i < hp_paths_threads(profiler); i++)
        if (hp_complete_lost(hp_paths_thread(profiler, i).complete).count)
            return hp_fail(HP_ERR_NOMEM, "there are too many distinct paths to keep");
    return hp_paths_all(profiler, paths, n);
}

static enum hp_err table_overlap(struct hp_hpt *hpt, size_t entries,
                                 const struct hp_path_count *paths, size_t n, enum hp_weight weight,
                                 double *percent)
{
    struct hp_path_count *table = calloc(entries, sizeof *table);
    if (!table)
        return hp_fail_nomem();
    size_t filled = hp_hpt_paths(hpt, table);
    enum hp_err err = hp_path_overlap(table, filled, paths, n, weight, percent);
    free(table);
    return err;
}

static enum hp_err fill(const struct hp_profiler *profiler, const struct hp_path_count *paths,
                        size_t n, struct hp_lab_overlaps *overlaps)
{
    const struct hp_paths_config *config = hp_paths_config(profiler);
    const struct hp_paths_windows *windows = hp_paths_windows(profiler);
    enum hp_weight weight =
        config->ppcr.metric == HP_METRIC_EXECUTIONS ? HP_WEIGHT_COUNT : HP_WEIGHT_EVENTS;
    *overlaps = (struct hp_lab_overlaps){.distinct = n, .windows = windows->n};
    for (size_t i = 0; i < n; i++)
        overlaps->executions += paths[i].count;
    for (size_t i = 0; i < config->n_tables; i++) {
        HP_TRY(table_overlap(hp_paths_table(profiler, i), config->tables[i].entries, paths, n,
                             weight, &overlaps->complete[i]));
        overlaps->dynamic[i] = windows->n ? windows->overlap[i] / (double)windows->n : (double)NAN;
    }
    HP_TRY(hp_path_coverage(paths, n, weight, HP_LAB_BEST, &overlaps->best));
    return hp_path_overlap(paths, n, paths, n, weight, &overlaps->frequency);
}

enum hp_err hp_lab_overlaps(const struct hp_profiler *profiler, struct hp_lab_overlaps *overlaps)
{
    struct hp_path_count *paths;
    size_t n;
    HP_TRY(hp_lab_all_paths(profiler, &paths, &n));
    enum hp_err err = fill(profiler, paths, n, overlaps);
    free(paths);
    return err;
}

/* --- With a machine --------------------------------------------------------------------------- */

void hp_lab_ppcr(const char *metric, char *text, size_t size)
{
    /* A path's power does not fit into 8 bits. */
    bool wide = strncmp(metric, "power", 5) == 0;
    snprintf(text, size, "bl,metric=%s%s", metric, wide ? ",counter=16" : "");
}

static enum hp_err add_metrics(struct hp_session *session, const char *const *metrics,
                               size_t n_metrics, const struct hp_lab_table *tables, size_t n_tables,
                               uint64_t window, struct hp_profiler *group)
{
    for (size_t i = 0; i < n_metrics; i++) {
        struct hp_profiler *profiler;
        char ppcr[64];
        hp_lab_ppcr(metrics[i], ppcr, sizeof ppcr);
        HP_TRY(hp_lab_paths_new(session, ppcr, tables, n_tables, window, &profiler));
        HP_TRY(hp_machine_profilers_add(group, profiler));
    }
    return HP_OK;
}

enum hp_err hp_lab_metrics_new(struct hp_session *session, const char *const *metrics,
                               size_t n_metrics, const struct hp_lab_table *tables, size_t n_tables,
                               uint64_t window, struct hp_profiler **group)
{
    struct hp_machine *machine;
    HP_TRY(hp_machine_load("vaswani", &machine));
    HP_TRY(hp_machine_profilers_new(hp_session_code(session), machine, group));
    HP_TRY(hp_session_add(session, *group));
    return add_metrics(session, metrics, n_metrics, tables, n_tables, window, *group);
}
