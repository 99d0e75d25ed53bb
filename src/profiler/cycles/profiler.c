// SPDX-License-Identifier: MIT
#include "profiler/cycles/profiler_impl.h"

#include "base/grow.h"
#include "machine/machine.h"

#include <stdlib.h>

/* --- The stream ------------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct hp_cycles *c = (struct hp_cycles *)profiler;
    HP_TRY(hp_grow(&c->threads, &c->cap_threads, c->n_threads + 1, sizeof *c->threads));
    struct hp_cycles_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    thread->cycles = c;
    thread->info = *info;
    hp_attributor_init(&thread->attributor, hp_program_machine(c->program)->core.front_stages);
    hp_schemes_init(&thread->schemes, c->config.interval, c->config.seed, info->id);
    c->threads[c->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

/* Everything comes with timings. */
static void take_batch(void *state, const struct hp_batch *batch)
{
    (void)state, (void)batch;
}

static void take_event(void *state, const struct hp_event *event)
{
    (void)state, (void)event;
}

static void tally(struct hp_insn_tally *tallies, const struct hp_timing *timings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (timings[i].events & HP_TIMING_MEASURED)
            hp_insn_tally_add(&tallies[timings[i].insn], &timings[i]);
}

static enum hp_err count(struct hp_cycles_thread *thread, const struct hp_timing *timings, size_t n)
{
    struct hp_cycles *c = thread->cycles;
    uint32_t n_insns = hp_program_n_insns(c->program);
    HP_TRY(hp_grow(&c->rows, &c->cap_rows, n_insns, sizeof *c->rows));
    HP_TRY(hp_grow(&c->tallies, &c->cap_tallies, n_insns, sizeof *c->tallies));
    tally(c->tallies, timings, n);
    HP_TRY(hp_attributor_timings(&thread->attributor, c->rows, timings, n));
    hp_schemes_timings(&thread->schemes, c->rows, timings, n);
    return hp_waits_timings(&c->waits, n_insns, timings, n);
}

#define AT_ONCE 256 /* timings that stay in the nearest cache while each part processes them */

static void take_timings(void *state, const struct hp_timing *timings, size_t n)
{
    struct hp_cycles_thread *thread = state;
    for (size_t at = 0; at < n && !thread->cycles->out_of_memory; at += AT_ONCE)
        if (count(thread, timings + at, n - at < AT_ONCE ? n - at : AT_ONCE) != HP_OK)
            thread->cycles->out_of_memory = true;
}

/* --- Creating --------------------------------------------------------------------------------- */

static void cycles_free(struct hp_profiler *profiler)
{
    struct hp_cycles *c = (struct hp_cycles *)profiler;
    for (size_t i = 0; i < c->n_threads; i++) {
        hp_attributor_fini(&c->threads[i]->attributor);
        free(c->threads[i]);
    }
    free(c->threads);
    free(c->rows);
    free(c->tallies);
    hp_waits_fini(&c->waits);
    free(c);
}

static const struct hp_profiler_ops cycles_ops = {
    .name = "cycles",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .timings = take_timings,
    .finish = hp_cycles_finish,
    .free = cycles_free,
};

enum hp_err hp_cycles_profiler_new(const struct hp_cycles_config *config,
                                   struct hp_program *program, struct hp_profiler **profiler)
{
    if (config->interval > UINT64_MAX / 4)
        return hp_fail(HP_ERR_INVALID, "an interval of %llu cycles is too long",
                       (unsigned long long)config->interval);
    struct hp_cycles *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->base.ops = &cycles_ops;
    c->config = *config;
    c->program = program;
    *profiler = &c->base;
    return HP_OK;
}
