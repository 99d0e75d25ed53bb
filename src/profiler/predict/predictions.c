// SPDX-License-Identifier: MIT
#include "profiler/predict/predictions.h"

#include "base/grow.h"
#include "profiler/predict/branches.h"

#include <stdlib.h>

struct thread {
    struct hp_thread info;
    struct hp_forward_thread *forward;
};

struct predictions {
    struct hp_profiler base; /* first */
    struct hp_branch_finder finder;
    struct hp_judge *judge;
    struct hp_forward *forward;
    struct thread **threads;
    size_t n_threads, cap_threads;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct predictions *p = (struct predictions *)profiler;
    HP_TRY(hp_grow(&p->threads, &p->cap_threads, p->n_threads + 1, sizeof *p->threads));
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    thread->info = *info;
    p->threads[p->n_threads++] = thread;
    *state = thread;
    return hp_forward_thread_new(p->forward, &thread->forward);
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    hp_forward_batch(((struct thread *)state)->forward, batch);
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    hp_forward_steps(((struct thread *)state)->forward, steps);
}

static void take_event(void *state, const struct hp_event *event)
{
    hp_forward_event(((struct thread *)state)->forward, event);
}

/* --- The result ------------------------------------------------------------------------------- */

static enum hp_err add_row(const struct predictions *p, size_t i, struct hp_profile *profile)
{
    const struct hp_scheme_config *config = &hp_judge_config(p->judge)->schemes[i];
    struct hp_prediction m;
    struct hp_pprediction *row;
    char name[64];
    hp_judge_result(p->judge, i, &m);
    hp_scheme_format(config, name, sizeof name);
    HP_TRY(hp_profile_add_prediction(profile, &row));
    *row = (struct hp_pprediction){.scheme = hp_profile_string(profile, name),
                                   .delay = config->delay,
                                   .flow = m.flow,
                                   .paths = m.paths,
                                   .heads = m.heads,
                                   .hot_paths = m.hot_paths,
                                   .hot_flow = m.hot_flow,
                                   .predicted = m.predicted,
                                   .predicted_hot = m.predicted_hot,
                                   .hits = m.hits,
                                   .noise = m.noise,
                                   .missed = m.missed,
                                   .profiled = m.profiled,
                                   .closed_hits = m.closed_hits,
                                   .closed_noise = m.closed_noise,
                                   .closed_missed = m.closed_missed,
                                   .counters = m.cost.counters,
                                   .operations = m.cost.operations,
                                   .branches = m.branches};
    return row->scheme ? HP_OK : hp_fail_nomem();
}
static enum hp_err add_threads(const struct predictions *p, struct hp_result *result)
{
    for (size_t i = 0; i < p->n_threads; i++) {
        const struct hp_forward_counts *counts = hp_forward_counts(p->threads[i]->forward);
        uint32_t index;
        HP_TRY(hp_result_thread(result, &p->threads[i]->info, &index));
        hp_result_thread_counts(result, index, counts->instructions, counts->blocks,
                                counts->branches);
    }
    return HP_OK;
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct predictions *p = (struct predictions *)profiler;
    struct hp_profile *profile = hp_result_profile(result);
    struct hp_prediction first;
    HP_TRY(hp_forward_check(p->forward));
    HP_TRY(hp_judge_check(p->judge));
    HP_TRY(add_threads(p, result));
    for (size_t i = 0; i < hp_judge_config(p->judge)->n_schemes; i++)
        HP_TRY(add_row(p, i, profile));
    hp_judge_result(p->judge, 0, &first);
    if (!first.lost)
        return HP_OK;
    return hp_profile_note(profile, first.lost, "predictions",
                           "there were more than %llu different paths: executions of the others "
                           "were not predicted",
                           (unsigned long long)hp_judge_config(p->judge)->max_paths);
}

/* --- Creating --------------------------------------------------------------------------------- */

static void predictions_free(struct hp_profiler *profiler)
{
    struct predictions *p = (struct predictions *)profiler;
    for (size_t i = 0; i < p->n_threads; i++)
        free(p->threads[i]);
    free(p->threads);
    hp_forward_free(p->forward);
    hp_judge_free(p->judge);
    hp_branch_finder_fini(&p->finder);
    free(p);
}

static const struct hp_profiler_ops predictions_ops = {
    .name = "predictions",
    .independent = true,
    .start_thread = start_thread,
    .batch = take_batch,
    .steps = take_steps,
    .event = take_event,
    .finish = finish,
    .free = predictions_free,
};

enum hp_err hp_predictions_new(struct hp_code *code, const struct hp_judge_config *config,
                               struct hp_profiler **profiler)
{
    struct predictions *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->base.ops = &predictions_ops;
    hp_branch_finder_init(&p->finder, code);
    enum hp_err err = hp_judge_new(config, &p->finder.source, &p->judge);
    if (err == HP_OK)
        err = hp_forward_new(code, hp_judge_index(p->judge), hp_judge_config(p->judge)->max_length,
                             hp_judge_flow_sink(p->judge), 0, &p->forward);
    if (err != HP_OK) {
        predictions_free(&p->base);
        return err;
    }
    *profiler = &p->base;
    return HP_OK;
}

const struct hp_judge *hp_predictions_judge(const struct hp_profiler *profiler)
{
    return ((const struct predictions *)profiler)->judge;
}

const struct hp_forward_stats *hp_predictions_stats(const struct hp_profiler *profiler)
{
    return hp_forward_stats(((const struct predictions *)profiler)->forward);
}
