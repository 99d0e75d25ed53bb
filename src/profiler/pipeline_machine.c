// SPDX-License-Identifier: MIT
/* The cores of a machine, one per thread. */
#include "profiler/pipeline_impl.h"

/* From the thread's pipe. */
static void on_timings(void *context, const struct hp_timing *timings, size_t n)
{
    const struct hp_pipeline_thread *thread = context;
    const struct hp_pipeline *p = thread->pipeline;
    for (size_t i = 0; i < p->n_profilers; i++)
        if (p->profilers[i]->ops->timings)
            p->profilers[i]->ops->timings(thread->states[i], timings, n);
}

enum hp_err hp_pipeline_new_core(struct hp_pipeline_thread *thread)
{
    const struct hp_pipeline *p = thread->pipeline;
    return hp_runner_init(&thread->runner, p->cores.machine, p->cycles.program ? &p->cycles : NULL,
                          on_timings, thread);
}

void hp_pipeline_forget_warming(struct hp_pipeline *p)
{
    hp_cores_clear(&p->cores);
    for (size_t i = 0; i < p->n_threads && p->failure == HP_OK; i++)
        if (p->threads[i] && p->threads[i]->runner.core)
            p->failure = hp_cores_subtract(&p->cores, p->threads[i]->runner.core);
}

void hp_pipeline_finish_cores(struct hp_pipeline *p)
{
    for (size_t i = 0; i < p->n_threads && p->failure == HP_OK; i++)
        if (p->threads[i] && p->threads[i]->runner.core)
            p->failure = hp_runner_end(&p->threads[i]->runner);
}

/* --- Queries ---------------------------------------------------------------------------------- */

enum hp_err hp_pipeline_set_machine(struct hp_pipeline *pipeline, const struct hp_machine *machine)
{
    if (pipeline->counting)
        return hp_fail(HP_ERR_UNSUPPORTED, "a machine needs the order of what was executed");
    hp_cores_fini(&pipeline->cores);
    return hp_cores_init(&pipeline->cores, machine);
}

void hp_pipeline_set_cycles(struct hp_pipeline *pipeline, const struct hp_cycles_setup *setup)
{
    pipeline->cycles = *setup;
}

struct hp_runner_stats hp_pipeline_cycles_stats(const struct hp_pipeline *pipeline)
{
    struct hp_runner_stats sum = {0};
    for (size_t i = 0; i < pipeline->n_threads; i++) {
        if (!pipeline->threads[i])
            continue;
        sum.instructions += pipeline->threads[i]->runner.stats.instructions;
        sum.measured += pipeline->threads[i]->runner.stats.measured;
    }
    return sum;
}

/* The runner of a thread of the program; NULL: none. */
static const struct hp_runner *runner_of(const struct hp_pipeline *p,
                                         const struct hp_pthread *thread)
{
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i] && p->threads[i]->info.pid == thread->pid &&
            p->threads[i]->info.tid == thread->tid)
            return &p->threads[i]->runner;
    return NULL;
}

/* The windows of a thread are adjacent. */
void hp_pipeline_place_windows(const struct hp_pipeline *pipeline, struct hp_profile *profile)
{
    const struct hp_runner *runner = NULL;
    size_t k = 0;
    for (size_t i = 0; i < profile->n_threads; i++) {
        runner =
            profile->threads[i].instructions ? NULL : runner_of(pipeline, &profile->threads[i]);
        if (runner)
            profile->threads[i].instructions = runner->stats.instructions;
    }
    for (size_t i = 0; i < profile->n_windows; i++) {
        struct hp_pwindow *window = &profile->windows[i];
        if (i == 0 || window->thread != profile->windows[i - 1].thread) {
            runner = runner_of(pipeline, &profile->threads[window->thread]);
            k = 0;
        }
        if (runner && k < runner->n_windows)
            window->at = runner->windows[k++];
    }
}

enum hp_err hp_pipeline_machine_stats(struct hp_pipeline *pipeline,
                                      const struct hp_core_stat **stats, size_t *n)
{
    struct hp_cores *cores = &pipeline->cores;
    for (size_t i = 0; i < pipeline->n_threads; i++) {
        struct hp_pipeline_thread *thread = pipeline->threads[i];
        if (!thread || !thread->runner.core)
            continue;
        HP_TRY(hp_cores_add(cores, thread->runner.core));
        hp_runner_close(&thread->runner);
    }
    *stats = cores->stats;
    *n = cores->n;
    return HP_OK;
}
