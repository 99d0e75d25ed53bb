// SPDX-License-Identifier: MIT
/*
 * Paths that extend through a loop's branch or into a call (figure 10 of the paper): how many there
 * are, and how much of their profile a table keeps.
 */
#include "lab/experiments.h"
#include "lab/paths/path_tables.h"

static const struct kind {
    const char *key, *ppcr, *title;
    double paper;
} kinds[] = {
    {"bl", "bl", "Ball-Larus paths: overlap of tables with the complete profile, percent", 88},
    {"extended-loop", "extended-loop:1", "Paths that span one backward branch", 78.35},
    {"extended-call", "extended-call:1", "Paths that span one call", 84.10},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t k = 0; k < N_KINDS; k++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, kinds[k].key, kinds[k].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        hp_lab_results_column(results, "paths", NULL, 0);
        hp_lab_results_column(results, "distinct", NULL, 0);
        hp_lab_table_columns(results, hp_lab_main_tables, hp_lab_n_main_tables);
        hp_lab_results_column(results, "best", NULL, 1);
        hp_lab_results_paper(results, "paper", HP_LAB_TABLE, kinds[k].paper);
    }
    return HP_OK;
}

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_profiler *profilers[N_KINDS];
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    for (size_t k = 0; k < N_KINDS; k++) {
        HP_TRY(hp_lab_paths_new(session, kinds[k].ppcr, hp_lab_main_tables, hp_lab_n_main_tables, 0,
                                &probe->profilers[k]));
        HP_TRY(hp_session_add(session, probe->profilers[k]));
    }
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    (void)session;
    for (size_t k = 0; k < N_KINDS; k++) {
        struct hp_lab_results *results = probe->lab->results[k];
        struct hp_lab_results_row *row;
        struct hp_lab_overlaps o;
        HP_TRY(hp_lab_overlaps(probe->profilers[k], &o));
        HP_TRY(hp_lab_results_row(results, probe->program, &row));
        row->values[hp_lab_results_find(results, "paths")] = (double)o.executions;
        row->values[hp_lab_results_find(results, "distinct")] = (double)o.distinct;
        row->values[hp_lab_results_find(results, "best")] = o.best;
        for (size_t i = 0; i < hp_lab_n_main_tables; i++)
            row->values[hp_lab_results_find(results, hp_lab_main_tables[i].key)] = o.complete[i];
    }
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_paths_extended = {
    .name = "paths-extended",
    .summary = "paths that span a backward branch or a call: how many, how well kept (figure 10)",
    .paper =
        "  Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler. CGO 2005.\n"
        "  With 512 entries and 4 ways: 78.35 % of the profile of paths that span one backward "
        "branch, 84.10 %\n"
        "  of those that span one call, against 88 % of Ball-Larus paths, as there are more "
        "distinct paths.\n",
    .begin = begin,
    .measure = measure,
};
