// SPDX-License-Identifier: MIT
#include "profiler/runner.h"

#include "base/grow.h"

#include <stdlib.h>

enum hp_err hp_runner_init(
    struct hp_runner *runner, const struct hp_machine *machine, const struct hp_cycles_setup *setup,
    void (*timings)(void *context, const struct hp_timing *timings, size_t n), void *context)
{
    *runner = (struct hp_runner){.setup = setup};
    HP_TRY(hp_core_new(machine, &runner->core));
    if (!setup)
        return HP_OK;
    struct hp_pipe_config config = {
        .timings = timings, .context = context, .queue = setup->has_queue ? (int)setup->queue : -1};
    return hp_pipe_new(setup->program, runner->core, &config, &runner->pipe);
}

void hp_runner_close(struct hp_runner *runner)
{
    hp_pipe_free(runner->pipe);
    hp_core_free(runner->core);
    runner->pipe = NULL;
    runner->core = NULL;
}

void hp_runner_fini(struct hp_runner *runner)
{
    hp_runner_close(runner);
    free(runner->windows);
    *runner = (struct hp_runner){0};
}

/* --- In windows ------------------------------------------------------------------------------- */

static bool in_pipe(enum hp_phase phase)
{
    return phase == HP_PHASE_RAMP || phase == HP_PHASE_DETAIL;
}

static enum hp_err enter(struct hp_runner *runner, enum hp_phase phase)
{
    if (phase == runner->phase)
        return HP_OK;
    if (in_pipe(runner->phase) && !in_pipe(phase))
        HP_TRY(hp_pipe_drain(runner->pipe));
    if (in_pipe(phase))
        hp_pipe_measure(runner->pipe, phase == HP_PHASE_DETAIL);
    runner->phase = phase;
    if (phase != HP_PHASE_DETAIL)
        return HP_OK;
    HP_TRY(hp_grow(&runner->windows, &runner->cap_windows, runner->n_windows + 1,
                   sizeof *runner->windows));
    runner->windows[runner->n_windows++] = runner->stats.instructions;
    return HP_OK;
}

static void count(struct hp_runner *runner, uint64_t insns)
{
    runner->stats.instructions += insns;
    if (runner->phase == HP_PHASE_DETAIL)
        runner->stats.measured += insns;
}

/* Enters the phase of the next instruction. */
static enum hp_err advance(struct hp_runner *runner, uint64_t *left)
{
    return enter(runner, hp_windows_at(&runner->setup->windows, runner->stats.instructions, left));
}

/* Blocks are not divided: a phase starts with the first block that begins in it. */
static enum hp_err run_windows(struct hp_runner *runner, struct hp_cores *cores,
                               struct hp_code *code, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n;) {
        uint64_t left, insns = 0;
        size_t start = i;
        HP_TRY(advance(runner, &left));
        while (i < batch->n && insns < left)
            insns += batch->table[batch->blocks[i++]].insns;
        struct hp_batch part = hp_batch_part(batch, start, i - start);
        if (in_pipe(runner->phase))
            HP_TRY(
                hp_pipe_batch(runner->pipe, &part, runner->costs ? runner->costs + start : NULL));
        else if (runner->phase == HP_PHASE_WARM)
            HP_TRY(hp_cores_warm(cores, runner->core, code, &part));
        count(runner, insns);
    }
    return HP_OK;
}

/* --- Input from the pipeline ------------------------------------------------------------------ */

enum hp_err hp_runner_batch(struct hp_runner *runner, struct hp_cores *cores, struct hp_code *code,
                            struct hp_batch *batch, bool in_region)
{
    if (runner->pipe && in_region)
        return run_windows(runner, cores, code, batch);
    return runner->pipe ? hp_cores_warm(cores, runner->core, code, batch)
                        : hp_cores_run(cores, runner->core, code, batch);
}

static enum hp_err run_tail(struct hp_runner *runner, struct hp_cores *cores, struct hp_code *code,
                            const struct hp_event *tail, bool in_region,
                            const struct hp_events **events)
{
    uint64_t left;
    if (!runner->pipe || !in_region)
        return hp_cores_run_tail(cores, runner->core, code, tail, events);
    HP_TRY(advance(runner, &left));
    if (in_pipe(runner->phase))
        HP_TRY(hp_pipe_tail(runner->pipe, tail));
    else if (runner->phase == HP_PHASE_WARM)
        HP_TRY(hp_cores_run_tail(cores, runner->core, code, tail, events));
    *events = NULL; /* only some tails have events here, so none are reported */
    count(runner, tail->insns);
    return HP_OK;
}

enum hp_err hp_runner_end(struct hp_runner *runner)
{
    return runner->pipe ? hp_pipe_drain(runner->pipe) : HP_OK;
}

enum hp_err hp_runner_event(struct hp_runner *runner, struct hp_cores *cores, struct hp_code *code,
                            const struct hp_event *event, bool in_region,
                            const struct hp_events **events)
{
    *events = NULL;
    switch (event->kind) {
    case HP_EVENT_TAIL: return run_tail(runner, cores, code, event, in_region, events);
    case HP_EVENT_SIGNAL:
    case HP_EVENT_SIGRETURN:
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY:
        return runner->pipe && in_pipe(runner->phase) ? hp_pipe_break(runner->pipe) : HP_OK;
    case HP_EVENT_END: return hp_runner_end(runner);
    default: return HP_OK;
    }
}
