// SPDX-License-Identifier: MIT
/*
 * Why a table keeps less of the profile here than in the paper: one thing is changed at a time. And
 * what the length of the run has to do with it.
 */
#include "lab/experiments.h"
#include "lab/paths/path_tables.h"

#include <stdio.h>

static const struct hp_lab_table variants[] = {
    /* the first is the paper's */
    {"paper", NULL, "512x4"},
    {"shift0", "all bits", "512x4,shift=0"},
    {"shift1", "but one", "512x4,shift=1"},
    {"address", NULL, "512x4,index=address"},
    {"lru", NULL, "512x4,policy=lru"},
    {"bits64", "64 bits", "512x4,bits=64"},
    {"full", "one set", "512x512"},
    {"rap", NULL, "512x4,policy=rap"},
    {"rap_full", "rap, one set", "512x512,policy=rap"},
    {"1024x4", NULL, "1024x4"},
    {"2048x4", NULL, "2048x4"},
    {"4096x4", NULL, "4096x4"},
    {"8192x4", NULL, "8192x4"},
    {"2048x4_shift0", "2048x4, all bits", "2048x4,shift=0"},
};
#define N_VARIANTS (sizeof variants / sizeof *variants)

/* The first instructions of a run, in millions; the last length is all of it. */
static const uint64_t lengths[] = {30, 100, 300, 1000};
#define N_LENGTHS (sizeof lengths / sizeof *lengths)

enum { BY_TABLE, BY_LENGTH };

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *tables = hp_lab_add_results(
        lab, "tables", "Executions: overlap with the complete profile, percent", "program");
    struct hp_lab_results *runs =
        tables ? hp_lab_add_results(lab, "lengths", "The paper's table, after so many instructions",
                                    "program")
               : NULL;
    if (!runs)
        return HP_ERR_NOMEM;
    tables->mean = runs->mean = true;
    hp_lab_table_columns(tables, variants, N_VARIANTS);
    hp_lab_results_column(tables, "best", NULL, 1);
    hp_lab_results_paper(tables, "paper", "paper", 88);
    for (size_t i = 0; i < N_LENGTHS; i++) {
        char key[HP_LAB_RESULTS_NAME];
        snprintf(key, sizeof key, "%lluM", (unsigned long long)lengths[i]);
        hp_lab_results_column(runs, key, NULL, 1);
    }
    hp_lab_results_column(runs, "all", NULL, 1);
    hp_lab_results_paper(runs, "paper", "all", 88);
    return HP_OK;
}

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_profiler *profiler;
    size_t column; /* of lengths */
};

static enum hp_err attach_variants(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(hp_lab_paths_new(session, "bl", variants, N_VARIANTS, 0, &probe->profiler));
    return hp_session_add(session, probe->profiler);
}

static enum hp_err collect_variants(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_lab_results *tables = probe->lab->results[BY_TABLE];
    struct hp_lab_overlaps o;
    (void)session;
    HP_TRY(hp_lab_overlaps(probe->profiler, &o));
    for (size_t i = 0; i < N_VARIANTS; i++)
        HP_TRY(hp_lab_results_set(tables, probe->program, i, o.complete[i]));
    HP_TRY(hp_lab_results_set(tables, probe->program, N_VARIANTS, o.best));
    return hp_lab_results_set(probe->lab->results[BY_LENGTH], probe->program, N_LENGTHS,
                              o.complete[0]);
}

static enum hp_err attach_table(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(hp_lab_paths_new(session, "bl", variants, 1, 0, &probe->profiler));
    return hp_session_add(session, probe->profiler);
}

static enum hp_err collect_table(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_lab_overlaps o;
    (void)session;
    HP_TRY(hp_lab_overlaps(probe->profiler, &o));
    return hp_lab_results_set(probe->lab->results[BY_LENGTH], probe->program, probe->column,
                              o.complete[0]);
}

/* The short form is shorter than all but the first length. */
static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    uint64_t all = lab->options.instructions;
    HP_TRY(hp_lab_observe(lab, command,
                          &(struct hp_lab_probe){attach_variants, collect_variants, &probe}));
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < N_LENGTHS && err == HP_OK; i++) {
        probe.column = i;
        lab->options.instructions = lengths[i] * 1000000;
        if (!all || lab->options.instructions < all)
            err = hp_lab_observe(lab, command,
                                 &(struct hp_lab_probe){attach_table, collect_table, &probe});
    }
    lab->options.instructions = all;
    return err;
}

const struct hp_experiment hp_paths_causes = {
    .name = "paths-causes",
    .summary = "why tables keep less than in the paper: index, replacement, sizes, run length",
    .paper =
        "  Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler. CGO 2005.\n"
        "  512 entries, 4 ways, 12 programs of SPEC CPU2000 for Alpha, 15 G instructions: 88 %.\n"
        "  More than 2048 entries gain little.\n",
    .begin = begin,
    .measure = measure,
};
