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

/* Takes one that was just made, if it was. */
static enum hp_err take(struct hp_profilers *p, enum hp_err made, struct hp_profiler **profiler)
{
    return made == HP_OK ? hp_profilers_add(p, *profiler) : made;
}

static enum hp_err open_paths(const struct hp_selection *selection, struct hp_code *code,
                              struct hp_functions *functions, bool counted, struct hp_profilers *p)
{
    const struct hp_session_settings *settings = selection->settings;
    struct hp_paths_config config = selection->paths_config;
    if (hp_selection_is_in_cycles(selection))
        config.cycles = (struct hp_paths_cycles){p->machine, selection->windows};
    if (settings->wpp) {
        HP_TRY(hp_wpp_new(settings->wpp, code, settings->wpp_memory, &p->wpp));
        config.extra = wpp_sink;
        config.context = p->wpp;
    }
    if (!counted) { /* with functions of their own they are independent */
        HP_TRY(hp_functions_new(code, &p->of_paths));
        functions = p->of_paths;
    }
    return take(p, hp_paths_new(code, functions, &config, &p->paths), &p->paths);
}

/* Exact attribution is there with sampling too: it is the measure of it. */
static enum hp_err open_cycles(const struct hp_selection *selection, struct hp_code *code,
                               struct hp_profilers *p)
{
    struct hp_cycles_config config = {.interval = 0};
    struct hp_profiler *cycles;
    HP_TRY(hp_program_new(p->machine, code, &p->program));
    if (!selection->cycles && !selection->instructions)
        return HP_OK;
    HP_TRY(take(p, hp_cycles_profiler_new(&config, p->program, &cycles), &cycles));
    for (size_t i = 0; i < selection->n_samplers; i++) {
        struct hp_profiler **sampler = &p->samplers[i];
        HP_TRY(hp_in_setting(hp_sample_profiler_new(&selection->samplers[i], p->program, sampler),
                             "sample"));
        HP_TRY(hp_profilers_add(p, *sampler));
        p->n_samplers++;
    }
    return HP_OK;
}

enum hp_err hp_profilers_open(const struct hp_selection *s, struct hp_code *code,
                              struct hp_functions *functions, bool counted, struct hp_profilers *p)
{
    struct hp_profiler *other;
    if (s->machine)
        HP_TRY(hp_in_setting(hp_machine_load(s->machine, &p->machine), "machine"));
    if (s->exact || s->loops || s->counts)
        HP_TRY(take(p, hp_exact_new(code, functions, s->loops, &p->exact), &p->exact));
    if (s->settings->contexts)
        hp_exact_limit_contexts(p->exact, s->settings->contexts);
    if (s->paths)
        HP_TRY(open_paths(s, code, functions, counted, p));
    if (s->predictions)
        HP_TRY(take(p, hp_predictions_new(code, &s->judge_config, &other), &other));
    if (s->n_loop_models)
        HP_TRY(take(p,
                    hp_loop_models_new(code, functions, s->loop_models, s->n_loop_models, &other),
                    &other));
    if (s->hotspots)
        HP_TRY(take(p, hp_hotspot_profiler_new(code, functions, &s->hotspot_config, &p->hotspots),
                    &p->hotspots));
    return hp_selection_is_in_cycles(s) ? open_cycles(s, code, p) : HP_OK;
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
    hp_functions_free(p->of_paths);
    free(p->list);
    hp_program_free(p->program);
    hp_machine_free(p->machine);
}
