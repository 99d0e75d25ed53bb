// SPDX-License-Identifier: MIT
#include "profiler/loop/models_impl.h"

#include "base/grow.h"
#include "profiler/loop/ranges.h"

#include <stdlib.h>

/* --- The stream ------------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct hp_loop_models *p = (struct hp_loop_models *)profiler;
    HP_TRY(hp_grow(&p->threads, &p->cap_threads, p->n_threads + 1, sizeof *p->threads));
    struct hp_loop_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    *thread = (struct hp_loop_thread){.models = p, .info = *info};
    p->threads[p->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

/* Covers new units of the code map. */
static enum hp_err cover(struct hp_loop_models *p)
{
    if (p->finder.n_units < hp_code_n_units(p->code))
        HP_TRY(hp_sbb_finder_grow(&p->finder, p->code));
    if (p->n_tags == p->finder.n_sbbs)
        return HP_OK;
    for (size_t i = 0; i < p->n_models; i++)
        HP_TRY(hp_loop_model_tags(p->models[i], p->finder.n_sbbs));
    p->n_tags = p->finder.n_sbbs;
    return HP_OK;
}

static void take_chunk(void *context, const struct hp_sbb_chunk *chunk)
{
    struct hp_loop_thread *thread = context;
    const struct hp_loop_models *p = thread->models;
    for (size_t i = 0; i < p->n_models; i++)
        hp_loop_model_consume(p->models[i], thread->info.id, chunk);
    uint64_t insns = chunk->insns;
    for (size_t i = 0; i < chunk->n; i++)
        insns += (uint64_t)chunk->events[i].first + chunk->events[i].rest;
    thread->instructions += insns;
}

static void run_steps(struct hp_loop_thread *thread, const struct hp_step *steps, size_t n)
{
    struct hp_loop_models *p = thread->models;
    if (p->out_of_memory || cover(p) != HP_OK) {
        p->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < p->n_models; i++)
        if (p->models[i]->ranges &&
            hp_loop_ranges_steps(p->models[i]->ranges, p->code, steps, n) != HP_OK) {
            p->out_of_memory = true;
            return;
        }
    struct hp_sbb_counts counts = hp_sbb_finder_steps(&p->finder, steps, n, take_chunk, thread);
    thread->blocks += counts.blocks;
    thread->branches += counts.branches;
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    run_steps(state, steps->steps, steps->n);
}

/* Every block is a unit. */
static void take_batch(void *state, const struct hp_batch *batch)
{
    struct hp_loop_thread *thread = state;
    struct hp_step *steps = thread->models->steps;
    for (size_t i = 0; i <= batch->n; i++)
        steps[i] = (struct hp_step){.unit = hp_code_unit_of_block(batch->code, batch->blocks[i]),
                                    .first = batch->blocks[i]};
    run_steps(thread, steps, batch->n);
}

/* A signal handler runs as if called from the interrupted place. It returns like any function, to
 * the code that makes the signal return. Hardware sees nothing else. */
static void take_event(void *state, const struct hp_event *event)
{
    struct hp_loop_thread *thread = state;
    const struct hp_sbb_chunk call = {.depth = 1};
    if (event->kind == HP_EVENT_SIGNAL) {
        take_chunk(thread, &call);
        for (size_t i = 0; i < thread->models->n_models; i++)
            if (thread->models->models[i]->ranges)
                hp_loop_ranges_call(thread->models->models[i]->ranges);
    }
    if (event->kind == HP_EVENT_TAIL) {
        thread->instructions += event->insns;
        thread->blocks++;
    }
}

/* --- Creating --------------------------------------------------------------------------------- */

static void models_free(struct hp_profiler *profiler)
{
    struct hp_loop_models *p = (struct hp_loop_models *)profiler;
    for (size_t i = 0; i < p->n_threads; i++)
        free(p->threads[i]);
    free(p->threads);
    for (size_t i = 0; i < p->n_models; i++)
        hp_loop_model_free(p->models[i]);
    hp_sbb_finder_fini(&p->finder);
    free(p);
}

static const struct hp_profiler_ops models_ops = {
    .name = "loop models",
    .independent = true,
    .start_thread = start_thread,
    .batch = take_batch,
    .steps = take_steps,
    .event = take_event,
    .finish = hp_loop_models_finish,
    .free = models_free,
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static enum hp_err add_models(struct hp_loop_models *p, const struct hp_loop_config *configs,
                              size_t n)
{
    uint32_t max_offset = 0, apart = 0;
    bool calls = false;
    for (size_t i = 0; i < n; i++) {
        struct hp_loop_config config = configs[i];
        hp_loop_config_format(&config, p->names[i], sizeof p->names[i]);
        hp_loop_config_widths(&config, hp_code_arch(p->code));
        HP_TRY(hp_loop_model_new(&config, &p->models[i]));
        p->n_models++;
        max_offset = larger(max_offset, config.max_offset);
        apart = config.fifo ? larger(apart, config.fifo_service) : apart;
        calls |= config.calls;
    }
    hp_sbb_finder_init(&p->finder, max_offset, apart, calls);
    return HP_OK;
}

enum hp_err hp_loop_models_new(struct hp_code *code, struct hp_functions *functions,
                               const struct hp_loop_config *configs, size_t n,
                               struct hp_profiler **profiler)
{
    if (!n || n > HP_LOOP_MODELS)
        return hp_fail(HP_ERR_INVALID, "%zu loop models: 1 to %d are possible", n, HP_LOOP_MODELS);
    struct hp_loop_models *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->base.ops = &models_ops;
    p->code = code;
    p->functions = functions;
    enum hp_err err = add_models(p, configs, n);
    if (err != HP_OK) {
        models_free(&p->base);
        return err;
    }
    *profiler = &p->base;
    return HP_OK;
}

const struct hp_loop_model *hp_loop_models_get(const struct hp_profiler *profiler, size_t i)
{
    const struct hp_loop_models *p = (const struct hp_loop_models *)profiler;
    return i < p->n_models ? p->models[i] : NULL;
}
