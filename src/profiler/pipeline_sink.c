// SPDX-License-Identifier: MIT
/* From the cursors to the profilers, through the region and the machine. */
#include "profiler/pipeline_impl.h"

#include "base/grow.h"

#include <string.h>

/* --- To the profilers ------------------------------------------------------------------------- */

static void deliver(const struct hp_pipeline_thread *thread, const struct hp_delivery *d)
{
    const struct hp_pipeline *p = thread->pipeline;
    if (p->lanes)
        hp_lanes_push(p->lanes, d);
    for (size_t i = 0; i < p->n_profilers; i++) {
        const struct hp_profiler_ops *ops = p->profilers[i]->ops;
        if (p->lanes && p->independent[i])
            continue;
        if (d->batch)
            ops->batch(thread->states[i], d->batch);
        else
            ops->steps(thread->states[i], d->steps);
    }
    if (p->lanes && p->in_step)
        hp_lanes_settle(p->lanes);
}

static void settle(void *context)
{
    hp_lanes_settle(context);
}

/* Without a second thread the run is slower, nothing else. For one profiler alone lanes do not pay:
 * the owner would mostly sleep, and the program needs a processor, too. */
void hp_pipeline_share_out(struct hp_pipeline *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_profilers; i++)
        n += p->independent[i];
    /* Of a machine's events and of addresses there is no copy. */
    p->in_step = p->in_step || p->cores.machine || p->addressed;
    if (n == 0 || p->n_profilers == 1 || p->counting)
        return;
    if (hp_lanes_new(p->profilers, p->independent, p->n_profilers, hp_lanes_threads(), &p->lanes) !=
        HP_OK)
        return;
    if (hp_code_before_change(p->code, settle, p->lanes))
        return;
    hp_lanes_free(p->lanes);
    p->lanes = NULL;
}

/* To the thread's core and, if they are to see it, to the profilers: with its events, but before
 * its timings. */
static void pass_on(struct hp_pipeline_thread *thread, struct hp_batch *batch, bool seen)
{
    struct hp_pipeline *p = thread->pipeline;
    const struct hp_delivery delivery = {.batch = batch, .states = thread->states};
    bool first = thread->runner.pipe;
    if (first && seen && p->failure == HP_OK)
        deliver(thread, &delivery);
    if (thread->runner.core && p->failure == HP_OK)
        p->failure = hp_runner_batch(&thread->runner, &p->cores, p->code, batch, seen);
    if (!first && seen && p->failure == HP_OK)
        deliver(thread, &delivery);
}

/* --- The region ------------------------------------------------------------------------------- */

/* Moves the pipeline to the state it is in when `block` begins. */
static void enter_block(struct hp_pipeline *p, uint32_t block)
{
    while (hp_region_is_boundary(&p->region, block)) {
        hp_region_next(&p->region);
        if (p->region.state == HP_REGION_OPEN)
            hp_pipeline_forget_warming(p);
        if (p->region.state == HP_REGION_DONE)
            hp_pipeline_finish_cores(p);
    }
}

static void region_batch(struct hp_pipeline_thread *thread, const struct hp_batch *batch)
{
    struct hp_pipeline *p = thread->pipeline;
    for (size_t i = 0; i < batch->n && p->region.state != HP_REGION_DONE;) {
        size_t start = i;
        while (i < batch->n && !hp_region_is_boundary(&p->region, batch->blocks[i]))
            p->region.counted += batch->table[batch->blocks[i++]].insns;
        if (i > start && (p->region.state == HP_REGION_OPEN || thread->runner.core)) {
            struct hp_batch part = hp_batch_part(batch, start, i - start);
            pass_on(thread, &part, p->region.state == HP_REGION_OPEN);
        }
        if (i < batch->n)
            enter_block(p, batch->blocks[i]);
    }
}

/* --- Programs that are executed --------------------------------------------------------------- */

/* Takes back a failed exec: the thread's own, which need not be the latest. */
static void forget_exec(struct hp_pipeline *p, struct hp_pipeline_thread *thread)
{
    size_t index = thread->exec - 1;
    p->n_execs--;
    memmove(&p->execs[index], &p->execs[index + 1], (p->n_execs - index) * sizeof *p->execs);
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i] && p->threads[i]->exec > thread->exec)
            p->threads[i]->exec--;
    thread->exec = 0;
}

static void note_exec(struct hp_pipeline_thread *thread, const struct hp_event *event)
{
    struct hp_pipeline *p = thread->pipeline;
    if (event->kind == HP_EVENT_EXEC) {
        thread->exec = 0;
        if (!event->exact &&
            hp_grow(&p->execs, &p->cap_execs, p->n_execs + 1, sizeof *p->execs) == HP_OK) {
            p->execs[p->n_execs++] = (uint32_t)event->value;
            thread->exec = p->n_execs;
        }
    } else if (event->kind == HP_EVENT_EXEC_FAILED && thread->exec) {
        forget_exec(p, thread);
    }
    if (event->kind == HP_EVENT_EXEC || event->kind == HP_EVENT_EXEC_FAILED)
        thread->executing = event->kind == HP_EVENT_EXEC;
}

/* --- From the cursor -------------------------------------------------------------------------- */

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct hp_pipeline_thread *thread = (struct hp_pipeline_thread *)sink;
    struct hp_batch whole = *batch;
    if (thread->pipeline->has_region)
        region_batch(thread, batch);
    else
        pass_on(thread, &whole, true);
}

static void tell_profilers(const struct hp_pipeline_thread *thread, const struct hp_event *event)
{
    struct hp_pipeline *p = thread->pipeline;
    hp_pipeline_settle(p);
    for (size_t i = 0; i < p->n_profilers && p->failure == HP_OK; i++)
        p->profilers[i]->ops->event(thread->states[i], event);
}

/* To the machine, and then to the profilers; but the block of a tail comes before its timings. */
static void apply_event(struct hp_pipeline_thread *thread, const struct hp_event *event)
{
    struct hp_pipeline *p = thread->pipeline;
    bool tail = event->kind == HP_EVENT_TAIL;
    bool in_region = !p->has_region || p->region.state == HP_REGION_OPEN;
    bool first = tail && in_region && thread->runner.pipe;
    struct hp_event with = *event;
    if (first)
        tell_profilers(thread, event);
    if (thread->runner.core && p->region.state != HP_REGION_DONE && p->failure == HP_OK)
        p->failure =
            hp_runner_event(&thread->runner, &p->cores, p->code, event, in_region, &with.events);
    if (!first && (!tail || in_region)) /* else it is a block outside the region */
        tell_profilers(thread, &with);
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct hp_pipeline_thread *thread = (struct hp_pipeline_thread *)sink;
    struct hp_pipeline *p = thread->pipeline;
    note_exec(thread, event);
    if (event->kind == HP_EVENT_LOST && p->region.state == HP_REGION_DONE)
        p->lost_behind++;
    else if (event->kind == HP_EVENT_LOST && event->value < HP_LOST_REASON_COUNT_)
        p->stats.losses_by_reason[event->value]++;
    if (event->kind == HP_EVENT_END && event->value == HP_END_DETACHED &&
        p->region.state != HP_REGION_DONE)
        p->stats.detached_threads++;
    if (event->kind == HP_EVENT_TAIL && p->has_region) {
        enter_block(p, event->block);
        p->region.counted += event->insns;
    }
    apply_event(thread, event);
}

static void on_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    const struct hp_pipeline_thread *thread = (struct hp_pipeline_thread *)sink;
    deliver(thread, &(struct hp_delivery){.steps = steps, .states = thread->states});
}

/* Whether every profiler takes steps. Not with a region, which may begin and end inside a run, nor
 * with addresses or events, which are by block. */
static bool by_steps(const struct hp_pipeline *p)
{
    bool all = !p->has_region && !p->addressed && !p->cores.machine && p->n_profilers > 0;
    for (size_t i = 0; i < p->n_profilers; i++)
        all = all && p->profilers[i]->ops->steps;
    return all;
}

/* With a region batches come one by one: the last one says whether the region is open. */
static void on_syscall(struct hp_sink *sink, size_t at, const struct hp_syscall *call)
{
    const struct hp_pipeline_thread *thread = (struct hp_pipeline_thread *)sink;
    const struct hp_pipeline *p = thread->pipeline;
    if (p->has_region && p->region.state != HP_REGION_OPEN)
        return;
    for (size_t i = 0; i < p->n_profilers; i++)
        if (p->profilers[i]->ops->syscall)
            p->profilers[i]->ops->syscall(thread->states[i], at, call);
}

struct hp_sink hp_pipeline_sink(const struct hp_pipeline *p)
{
    return (struct hp_sink){
        .batch = on_batch,
        .steps = by_steps(p) ? on_steps : NULL,
        .event = on_event,
        .syscall = on_syscall,
    };
}
