// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "profiler/cycles/profiler.h"
#include "profiler/exact/exact.h"
#include "profiler/sample/profiler.h"
#include "session/selection.h"

static struct hp_path_sink *wpp_sink(void *context, const struct hp_thread *thread)
{
    struct hp_path_sink *sink;
    /* A failure is remembered: hp_wpp_finish() tells it. */
    return hp_wpp_thread(context, thread, &sink) == HP_OK ? sink : NULL;
}

enum hp_err hp_profilers_add(struct hp_profilers *p, struct hp_profiler *profiler)
{
    enum hp_err err = hp_grow(&p->list, &p->capacity, p->n + 1, sizeof *p->list);
    if (err == HP_OK)
        p->list[p->n++] = profiler;
    else
        profiler->ops->free(profiler);
    return err;
}

static enum hp_err open_paths(const struct hp_selection *selection, struct hp_code *code,
                              struct hp_functions *functions, struct hp_profilers *p)
{
    const struct hp_session_settings *settings = selection->settings;
    struct hp_paths_config config = selection->paths_config;
    if (settings->wpp) {
        HP_TRY(hp_wpp_new(settings->wpp, code, settings->wpp_memory, &p->wpp));
        config.extra = wpp_sink;
        config.context = p->wpp;
    }
    HP_TRY(hp_paths_new(code, functions, &config, &p->paths));
    return hp_profilers_add(p, p->paths);
}

/* Exact attribution is there with sampling too: it is the measure of it. */
static enum hp_err open_cycles(const struct hp_selection *selection, struct hp_code *code,
                               struct hp_profilers *p)
{
    struct hp_cycles_config config = {.interval = 0};
    struct hp_profiler *profiler;
    HP_TRY(hp_program_new(p->machine, code, &p->program));
    if (!selection->cycles && !selection->instructions)
        return HP_OK;
    HP_TRY(hp_cycles_profiler_new(&config, p->program, &profiler));
    HP_TRY(hp_profilers_add(p, profiler));
    for (size_t i = 0; i < selection->n_samplers; i++) {
        HP_TRY(hp_in_setting(hp_sample_profiler_new(&selection->samplers[i], p->program, &profiler),
                             "sample"));
        HP_TRY(hp_profilers_add(p, profiler));
        p->samplers[p->n_samplers++] = profiler;
    }
    return HP_OK;
}

enum hp_err hp_profilers_open(const struct hp_selection *selection, struct hp_code *code,
                              struct hp_functions *functions, struct hp_profilers *p)
{
    struct hp_profiler *profiler;
    if (selection->machine)
        HP_TRY(hp_in_setting(hp_machine_load(selection->machine, &p->machine), "machine"));
    if (selection->exact || selection->loops || selection->counts) {
        HP_TRY(hp_exact_new(code, functions, selection->loops, &p->exact));
        HP_TRY(hp_profilers_add(p, p->exact));
    }
    if (selection->paths)
        HP_TRY(open_paths(selection, code, functions, p));
    if (selection->predictions) {
        HP_TRY(hp_predictions_new(code, &selection->judge_config, &profiler));
        HP_TRY(hp_profilers_add(p, profiler));
    }
    if (selection->n_loop_models) {
        HP_TRY(hp_loop_models_new(code, functions, selection->loop_models, selection->n_loop_models,
                                  &profiler));
        HP_TRY(hp_profilers_add(p, profiler));
    }
    if (selection->hotspots) {
        HP_TRY(hp_hotspot_profiler_new(code, functions, &selection->hotspot_config, &p->hotspots));
        HP_TRY(hp_profilers_add(p, p->hotspots));
    }
    return hp_selection_is_in_cycles(selection) ? open_cycles(selection, code, p) : HP_OK;
}

static enum hp_err finish_wpp(struct hp_profilers *p, const struct hp_selection *selection,
                              const struct hp_trace_run *about)
{
    char kind[256];
    struct hp_wpp *wpp = p->wpp;
    p->wpp = NULL;
    hp_ppcr_format(&selection->paths_config.ppcr, kind, sizeof kind);
    return hp_wpp_finish(wpp, about, kind, NULL);
}

enum hp_err hp_profilers_finish(struct hp_profilers *p, const struct hp_selection *selection,
                                const struct hp_trace_run *about, struct hp_result *result)
{
    for (size_t i = 0; i < p->n; i++)
        HP_TRY(p->list[i]->ops->finish(p->list[i], result));
    return p->wpp ? finish_wpp(p, selection, about) : HP_OK;
}

void hp_profilers_close(struct hp_profilers *p)
{
    hp_wpp_abort(p->wpp);
    for (size_t i = 0; i < p->n; i++)
        p->list[i]->ops->free(p->list[i]);
    free(p->list);
    hp_program_free(p->program);
    hp_machine_free(p->machine);
}
