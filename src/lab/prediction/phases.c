// SPDX-License-Identifier: MIT
/*
 * Phases (section 6.1 of the paper): the rate of predictions over time, and what removing predicted
 * paths does to hits and noise, when both are measured window by window.
 */
#include "lab/experiments.h"
#include "lab/prediction/residency.h"
#include "profiler/predict/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char scheme[] = "net:50"; /* what Dynamo has */
#define WINDOW 500000                  /* executions of paths */

static const struct policy {
    const char *key, *title;
} policies[HP_RESIDENT_POLICIES] = {
    [HP_RESIDENT_KEEP] = {"keep", "NET, delay 50: predicted paths are kept for ever"},
    [HP_RESIDENT_EVERY] = {"every", "All are removed after every 16 windows"},
    [HP_RESIDENT_RISE] = {"rise", "All are removed when the rate of predictions rises sharply"},
    [HP_RESIDENT_IDLE] = {"idle", "A path is removed when a window passes without it"},
};

/* After the tables of the policies: predictions in each twentieth of the run. */
enum { TIME = HP_RESIDENT_POLICIES, POLICIES };
#define PARTS 20

static void add_columns(struct hp_lab_results *results)
{
    hp_lab_results_column(results, "hot", "% hot", 1);
    hp_lab_results_column(results, "hit", "hit", 2);
    hp_lab_results_column(results, "noise", NULL, 1);
    hp_lab_results_column(results, "profiled", NULL, 3);
    hp_lab_results_column(results, "predictions", NULL, 0);
    hp_lab_results_column(results, "flushes", NULL, 0);
    hp_lab_results_column(results, "resident", NULL, 0);
    hp_lab_results_column(results, "stale", "% stale", 1);
    hp_lab_results_column(results, "windows", NULL, 0);
}

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t p = 0; p < HP_RESIDENT_POLICIES; p++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, policies[p].key, policies[p].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        add_columns(results);
    }
    struct hp_lab_results *time = hp_lab_add_results(
        lab, "time", "Predictions in a window, by twentieths of the run, nothing removed",
        "program");
    struct hp_lab_results *all =
        hp_lab_add_results(lab, "policies", "Every policy: means over the programs", "policy");
    if (!time || !all)
        return HP_ERR_NOMEM;
    for (unsigned i = 0; i < PARTS; i++) {
        char key[HP_LAB_RESULTS_NAME];
        snprintf(key, sizeof key, "%u", (i + 1) * 100 / PARTS);
        hp_lab_results_column(time, key, NULL, 1);
    }
    add_columns(all);
    return HP_OK;
}

/* --- The profiler: forward paths into the model ----------------------------------------------- */

struct phases {
    struct hp_profiler base; /* first */
    struct hp_index *index;
    struct hp_forward *forward;
    struct hp_residency *residency;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    (void)info;
    return hp_forward_thread_new(((struct phases *)profiler)->forward,
                                 (struct hp_forward_thread **)state);
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    hp_forward_batch(state, batch);
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    hp_forward_steps(state, steps);
}

static void take_event(void *state, const struct hp_event *event)
{
    hp_forward_event(state, event);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler;
    (void)result;
    return HP_OK;
}

static void free_phases(struct hp_profiler *profiler)
{
    struct phases *phases = (struct phases *)profiler;
    hp_forward_free(phases->forward);
    hp_residency_free(phases->residency);
    hp_index_free(phases->index);
    free(phases);
}

static const struct hp_profiler_ops phases_ops = {
    .name = "phases",
    .start_thread = start_thread,
    .batch = take_batch,
    .steps = take_steps,
    .event = take_event,
    .finish = finish,
    .free = free_phases,
};

static enum hp_err make(const struct hp_code *code, struct phases *phases)
{
    struct hp_scheme_config config;
    phases->base.ops = &phases_ops;
    HP_TRY(hp_scheme_parse(scheme, &config));
    HP_TRY(hp_index_new(0, 0, &phases->index));
    HP_TRY(hp_residency_new(&config, WINDOW, phases->index, &phases->residency));
    return hp_forward_new(code, phases->index, HP_PATH_MAX_LENGTH,
                          hp_residency_sink(phases->residency), 0, &phases->forward);
}

/* --- One program ------------------------------------------------------------------------------ */

struct probe {
    struct hp_lab *lab;
    const char *name; /* of the program */
    struct phases *phases;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    probe->phases = calloc(1, sizeof *probe->phases);
    if (!probe->phases)
        return hp_fail_nomem();
    enum hp_err err = make(hp_session_code(session), probe->phases);
    if (err != HP_OK) {
        free_phases(&probe->phases->base);
        return err;
    }
    return hp_session_add(session, &probe->phases->base);
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : (double)NAN;
}

static enum hp_err set_policy(const struct probe *probe, enum hp_residency_policy p)
{
    const struct hp_residency_stats *s = hp_residency_stats(probe->phases->residency, p);
    struct hp_lab_results_row *row;
    const double values[] = {100 * ratio(s->hot_flow, s->flow),
                             100 * ratio(s->hits, s->hot_flow),
                             100 * ratio(s->noise, s->hot_flow),
                             100 * ratio(s->profiled, s->flow),
                             (double)s->predictions,
                             (double)s->flushes,
                             ratio(s->resident, s->windows),
                             100 * ratio(s->stale, s->resident),
                             (double)s->windows};
    HP_TRY(hp_lab_results_row(probe->lab->results[p], probe->name, &row));
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err set_time(const struct probe *probe)
{
    const struct hp_residency *residency = probe->phases->residency;
    const uint32_t *rate = hp_residency_rate(residency, HP_RESIDENT_KEEP);
    uint64_t windows = hp_residency_stats(residency, HP_RESIDENT_KEEP)->windows;
    for (unsigned i = 0; i < PARTS; i++) {
        uint64_t from = windows * i / PARTS, to = windows * (i + 1) / PARTS, sum = 0;
        for (uint64_t w = from; w < to; w++)
            sum += rate[w];
        HP_TRY(
            hp_lab_results_set(probe->lab->results[TIME], probe->name, i, ratio(sum, to - from)));
    }
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    const struct probe *probe = context;
    (void)session;
    HP_TRY(hp_forward_check(probe->phases->forward));
    HP_TRY(hp_residency_finish(probe->phases->residency));
    for (enum hp_residency_policy p = 0; p < HP_RESIDENT_POLICIES; p++)
        HP_TRY(set_policy(probe, p));
    return set_time(probe);
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .name = name};
    return hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
}

static enum hp_err end(struct hp_lab *lab)
{
    for (size_t p = 0; p < HP_RESIDENT_POLICIES; p++)
        for (size_t c = 0; c < lab->results[p]->n_columns; c++)
            HP_TRY(hp_lab_results_set(lab->results[POLICIES], policies[p].key, c,
                                      hp_lab_results_mean(lab->results[p], c)));
    return HP_OK;
}

const struct hp_experiment hp_prediction_phases = {
    .name = "prediction-phases",
    .summary = "the rate of predictions over time, and policies that remove paths (section 6.1)",
    .paper = "  Duesterwald, Bala: Software Profiling for Hot Path Prediction: Less is More. "
             "ASPLOS 2000.\n"
             "  Paths that were hot and have turned cold are noise that a longer delay does not "
             "avoid. Dynamo\n"
             "  flushes its cache when the rate of predictions rises sharply, as that indicates a "
             "new phase. The\n"
             "  paper has no figures: it plans metrics that model the removal of paths.\n",
    .begin = begin,
    .measure = measure,
    .end = end,
};
