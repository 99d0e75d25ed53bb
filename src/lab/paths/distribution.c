// SPDX-License-Identifier: MIT
/*
 * How few paths cover how much of a run (figure 2 of the paper), and how long those are (figure 3).
 */
#include "lab/experiments.h"
#include "lab/machine_profilers.h"
#include "lab/paths/path_tables.h"

#include <stdlib.h>

enum { INSTRUCTIONS, EXECUTIONS, L2, MISPREDICTIONS, LENGTH };

static const unsigned ranks[] = {1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
#define N_RANKS (sizeof ranks / sizeof *ranks)
static const unsigned lengths[] = {0, 1, 2, 4, 8, 12, 16, 24, 32, 64};
#define N_LENGTHS (sizeof lengths / sizeof *lengths)

static const char *const metrics[] = {"l2", "mispredictions"};

static enum hp_err add_results(struct hp_lab *lab, const char *key, const char *title,
                               const unsigned *bounds, size_t n)
{
    struct hp_lab_results *results = hp_lab_add_results(lab, key, title, "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    for (size_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", bounds[i]);
        hp_lab_results_column(results, name, NULL, 1);
    }
    return HP_OK;
}

static enum hp_err begin(struct hp_lab *lab)
{
    HP_TRY(add_results(lab, "instructions",
                       "Percent of the instructions along the N heaviest paths", ranks, N_RANKS));
    HP_TRY(add_results(lab, "executions", "Percent of the executions of the N most frequent paths",
                       ranks, N_RANKS));
    HP_TRY(add_results(lab, "l2", "Percent of the L2 misses along the N paths with most", ranks,
                       N_RANKS));
    HP_TRY(add_results(lab, "mispredictions",
                       "Percent of the mispredictions along the N paths with most", ranks,
                       N_RANKS));
    HP_TRY(add_results(lab, "length",
                       "Percent of the instructions along paths of at most N branches", lengths,
                       N_LENGTHS));
    /* "The top 100 paths account for more than 80%", "at most 16 branches ... over 90%". */
    hp_lab_results_paper(lab->results[INSTRUCTIONS], "paper, more than", "100", 80);
    hp_lab_results_paper(lab->results[LENGTH], "paper, more than", "16", 90);
    return HP_OK;
}

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_profiler *profiler;
};

static enum hp_err set_ranks(struct probe *probe, size_t results, const struct hp_path_count *paths,
                             size_t n, enum hp_weight weight)
{
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(probe->lab->results[results], probe->program, &row));
    for (size_t i = 0; i < N_RANKS; i++)
        HP_TRY(hp_path_coverage(paths, n, weight, ranks[i], &row->values[i]));
    return HP_OK;
}

static enum hp_err set_lengths(struct probe *probe, const struct hp_path_count *paths, size_t n)
{
    double by_length[HP_PATH_MAX_LENGTH + 1] = {0}, all = 0, sum = 0;
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(probe->lab->results[LENGTH], probe->program, &row));
    for (size_t i = 0; i < n; i++) {
        by_length[paths[i].path.length] += (double)paths[i].insns;
        all += (double)paths[i].insns;
    }
    for (size_t i = 0, length = 0; i < N_LENGTHS && all > 0; i++) {
        while (length <= lengths[i])
            sum += by_length[length++];
        row->values[i] = 100 * sum / all;
    }
    return HP_OK;
}

/* Paths of the maximum length, so that few are split. */
static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(hp_lab_paths_new(session, "bl,length=64", NULL, 0, 0, &probe->profiler));
    return hp_session_add(session, probe->profiler);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_path_count *paths;
    size_t n;
    (void)session;
    HP_TRY(hp_lab_all_paths(probe->profiler, &paths, &n));
    enum hp_err err = set_ranks(probe, INSTRUCTIONS, paths, n, HP_WEIGHT_INSNS);
    if (err == HP_OK)
        err = set_ranks(probe, EXECUTIONS, paths, n, HP_WEIGHT_COUNT);
    if (err == HP_OK)
        err = set_lengths(probe, paths, n);
    free(paths);
    return err;
}

static enum hp_err attach_events(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    return hp_lab_metrics_new(session, metrics, 2, NULL, 0, 0, &probe->profiler);
}

static enum hp_err collect_events(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    (void)session;
    HP_TRY(hp_machine_profilers_check(probe->profiler));
    for (size_t m = 0; m < 2; m++) {
        struct hp_path_count *paths;
        size_t n;
        HP_TRY(hp_lab_all_paths(hp_machine_profilers_get(probe->profiler, m), &paths, &n));
        enum hp_err err = set_ranks(probe, L2 + m, paths, n, HP_WEIGHT_EVENTS);
        free(paths);
        HP_TRY(err);
    }
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    HP_TRY(hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe}));
    return hp_lab_observe_machine(lab, command, 1,
                                  &(struct hp_lab_probe){attach_events, collect_events, &probe});
}

const struct hp_experiment hp_paths_distribution = {
    .name = "paths-distribution",
    .summary = "how much is along how few paths, and how long they are (figures 2 and 3)",
    .paper =
        "  Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler. CGO 2005.\n"
        "  In 12 programs of SPEC CPU2000 the 100 heaviest paths account for more than 80 % of "
        "the\n"
        "  instructions and a high percentage of the L2 misses and mispredictions; paths with at "
        "most 16\n"
        "  branches for over 90 % of the instructions in most programs. gcc, perl and twolf have "
        "the most paths.\n",
    .begin = begin,
    .measure = measure,
};
