// SPDX-License-Identifier: MIT
#include "profiler/pipeline.h"

#include "base/grow.h"
#include "base/map64.h"
#include "profiler/cores.h"
#include "profiler/lane.h"
#include "profiler/runner.h"
#include "stream/tally.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PROFILERS 12

enum region_state {
    WAIT_FROM,  /* for the function */
    WAIT_AFTER, /* for the instructions to skip */
    OPEN,
    DONE,
};

struct thread {
    struct hp_sink sink; /* first: the cursor's way back to us */
    struct hp_pipeline *pipeline;
    struct hp_cursor *cursor; /* while it runs */
    struct hp_tally *tally;   /* or this, when the engine counts */
    struct hp_runner runner;  /* its core while it runs, if there is a machine */
    struct hp_thread info;
    bool executing; /* it asked to become another program, and nothing says it did not */
    void *states[MAX_PROFILERS];
    size_t exec; /* one more than the place in `execs` of the exec it asked for last; 0: none */
};

struct hp_pipeline {
    struct hp_consumer consumer; /* first */
    struct hp_code *code;
    struct hp_segment_source *source;
    struct hp_functions *functions;
    struct hp_region region;
    bool has_region;
    bool counting;
    bool addressed; /* the engine delivers addresses */
    struct hp_cores cores;
    struct hp_cycles_setup cycles; /* without a program: the machine is run functionally */
    enum hp_err failure;           /* of a core; nothing is delivered any more */
    enum region_state state;
    uint64_t counted;         /* instructions since the start, or since region.from was entered */
    struct hp_map64 not_from; /* functions known not to be region.from */
    struct hp_profiler *profilers[MAX_PROFILERS];
    bool in_lane[MAX_PROFILERS]; /* it runs in the lane */
    size_t n_profilers;
    struct hp_lane *lane;    /* NULL: everything runs in one thread */
    struct thread **threads; /* by thread id */
    size_t n_threads, cap_threads;
    struct hp_pipeline_stats stats;
    struct hp_cursor_stats ended; /* of the threads that have */
    uint64_t lost_behind;         /* losses after the region: nobody misses that */
    uint32_t *execs;
    size_t n_execs, cap_execs;
};

/* --- To the profilers ------------------------------------------------------------------------- */

/* What they get: one of the two. */
struct delivery {
    struct thread *thread;
    const struct hp_batch *batch;
    const struct hp_steps *steps;
};

static void deliver_to(const struct delivery *d, bool in_lane)
{
    struct hp_pipeline *p = d->thread->pipeline;
    for (size_t i = 0; i < p->n_profilers; i++) {
        const struct hp_profiler_ops *ops = p->profilers[i]->ops;
        if (p->in_lane[i] != in_lane)
            continue;
        if (d->steps)
            ops->steps(d->thread->states[i], d->steps);
        else
            ops->batch(d->thread->states[i], d->batch);
    }
}

static void deliver_in_lane(void *context)
{
    deliver_to(context, true);
}

/* Where there are two lanes, all have got it when this returns: nobody is ever ahead, and the code
 * map does not change under anyone. */
static void deliver(struct delivery *d)
{
    struct hp_lane *lane = d->thread->pipeline->lane;
    if (lane)
        hp_lane_begin(lane, deliver_in_lane, d);
    deliver_to(d, false);
    if (lane)
        hp_lane_wait(lane);
}

/* Before the first batch: who runs in the lane. Without a second thread it is slower, no more. */
static void share_out(struct hp_pipeline *p)
{
    size_t n_in_lane = 0;
    for (size_t i = 0; i < p->n_profilers; i++)
        n_in_lane += p->profilers[i]->ops->independent;
    if (n_in_lane == 0 || p->n_profilers < 2 || p->counting || hp_lane_new(&p->lane) != HP_OK)
        return;
    for (size_t i = 0; i < p->n_profilers; i++)
        p->in_lane[i] = p->profilers[i]->ops->independent && (i > 0 || n_in_lane < p->n_profilers);
}

/* To the thread's core, and then, if they are to see it, to the profilers. */
static void pass_on(struct thread *thread, struct hp_batch *batch, bool seen)
{
    struct hp_pipeline *p = thread->pipeline;
    if (thread->runner.core && p->failure == HP_OK)
        p->failure = hp_runner_batch(&thread->runner, &p->cores, p->code, batch, seen);
    if (!seen || p->failure != HP_OK)
        return;
    deliver(&(struct delivery){.thread = thread, .batch = batch});
}

/* From the thread's pipe. */
static void on_timings(void *context, const struct hp_timing *timings, size_t n)
{
    const struct thread *thread = context;
    const struct hp_pipeline *p = thread->pipeline;
    for (size_t i = 0; i < p->n_profilers; i++)
        if (p->profilers[i]->ops->timings)
            p->profilers[i]->ops->timings(thread->states[i], timings, n);
}

static void on_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    deliver(&(struct delivery){.thread = (struct thread *)sink, .steps = steps});
}

/* Whether everybody takes steps. A region may begin and end inside a run; addresses and events are
 * by block. */
static bool by_steps(const struct hp_pipeline *p)
{
    bool all = !p->has_region && !p->addressed && !p->cores.machine && p->n_profilers > 0;
    for (size_t i = 0; i < p->n_profilers; i++)
        all = all && p->profilers[i]->ops->steps;
    return all;
}

/* --- The region ------------------------------------------------------------------------------- */

/* Whether the block is where the function named `from` starts. */
static bool is_named(struct hp_pipeline *p, uint32_t block)
{
    uint32_t id = hp_functions_of_block(p->functions, block);
    if (id == HP_NO_ID || !hp_functions_is_entry(p->functions, block) ||
        hp_map64_get(&p->not_from, id) != HP_MAP64_NONE)
        return false;
    const struct hp_function *function = hp_functions_get(p->functions, id);
    if (!function->symbol)
        return false;
    uint64_t offsets[16];
    size_t n = hp_symbols_by_name(hp_functions_symbols(p->functions, function->module),
                                  p->region.from, offsets, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        if (offsets[i] == function->offset)
            return true;
    hp_map64_keep(&p->not_from, id, 1);
    return false;
}

/* Whether the present state ends where `block` begins. Lengths are counted from where the region
 * was asked to begin, not from the block it began with, so that regions side by side do not
 * overlap. */
static bool is_boundary(struct hp_pipeline *p, uint32_t block)
{
    const struct hp_region *region = &p->region;
    switch (p->state) {
    case WAIT_FROM: return is_named(p, block);
    case WAIT_AFTER: return p->counted >= region->after;
    case OPEN: return region->length && p->counted - region->after >= region->length;
    case DONE: break;
    }
    return false;
}

/* What the cores did before the region does not count; they only got warm. */
static void forget_warming(struct hp_pipeline *p)
{
    hp_cores_clear(&p->cores);
    for (size_t i = 0; i < p->n_threads && p->failure == HP_OK; i++)
        if (p->threads[i] && p->threads[i]->runner.core)
            p->failure = hp_cores_subtract(&p->cores, p->threads[i]->runner.core);
}

/* The region is over: what is in flight is finished. */
static void finish_runners(struct hp_pipeline *p)
{
    for (size_t i = 0; i < p->n_threads && p->failure == HP_OK; i++)
        if (p->threads[i] && p->threads[i]->runner.core)
            p->failure = hp_runner_end(&p->threads[i]->runner);
}

/* Takes the pipeline into the state it is in when `block` begins, and counts its instructions. */
static void enter_block(struct hp_pipeline *p, uint32_t block, uint32_t insns)
{
    while (is_boundary(p, block)) {
        if (p->state == WAIT_FROM)
            p->counted = 0;
        p->state++;
        if (p->state == OPEN)
            forget_warming(p);
        if (p->state == DONE)
            finish_runners(p);
    }
    p->counted += insns;
}

static void region_batch(struct thread *thread, const struct hp_batch *batch)
{
    struct hp_pipeline *p = thread->pipeline;
    for (size_t i = 0; i < batch->n && p->state != DONE;) {
        size_t start = i;
        while (i < batch->n && !is_boundary(p, batch->blocks[i]))
            p->counted += batch->table[batch->blocks[i++]].insns;
        if (i > start && (p->state == OPEN || thread->runner.core)) {
            struct hp_batch part = hp_batch_part(batch, start, i - start);
            pass_on(thread, &part, p->state == OPEN);
        }
        if (i < batch->n)
            enter_block(p, batch->blocks[i], 0);
    }
}

/* --- From the cursor -------------------------------------------------------------------------- */

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct thread *thread = (struct thread *)sink;
    struct hp_batch whole = *batch;
    if (thread->pipeline->has_region)
        region_batch(thread, batch);
    else
        pass_on(thread, &whole, true);
}

/* An exec that failed is taken back: the thread's own, which need not be the latest. */
static void forget_exec(struct hp_pipeline *p, struct thread *thread)
{
    size_t index = thread->exec - 1;
    p->n_execs--;
    memmove(&p->execs[index], &p->execs[index + 1], (p->n_execs - index) * sizeof *p->execs);
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i] && p->threads[i]->exec > thread->exec)
            p->threads[i]->exec--;
    thread->exec = 0;
}

static void note_exec(struct thread *thread, const struct hp_event *event)
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

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct thread *thread = (struct thread *)sink;
    struct hp_pipeline *p = thread->pipeline;
    note_exec(thread, event);
    if (event->kind == HP_EVENT_LOST && p->state == DONE)
        p->lost_behind++;
    else if (event->kind == HP_EVENT_LOST && event->value < HP_LOST_REASON_COUNT_)
        p->stats.losses_by_reason[event->value]++;
    if (event->kind == HP_EVENT_END && event->value == HP_END_DETACHED && p->state != DONE)
        p->stats.detached_threads++;
    struct hp_event with = *event;
    if (event->kind == HP_EVENT_TAIL && p->has_region)
        enter_block(p, event->block, event->insns);
    if (thread->runner.core && p->state != DONE && p->failure == HP_OK)
        p->failure = hp_runner_event(&thread->runner, &p->cores, p->code, event,
                                     !p->has_region || p->state == OPEN, &with.events);
    if (event->kind == HP_EVENT_TAIL && p->has_region && p->state != OPEN)
        return; /* a block outside the region */
    for (size_t i = 0; i < p->n_profilers && p->failure == HP_OK; i++)
        p->profilers[i]->ops->event(thread->states[i], &with);
}

static void add_stats(struct hp_cursor_stats *sum, const struct hp_cursor_stats *s)
{
    sum->words += s->words;
    sum->blocks += s->blocks;
    sum->instructions += s->instructions;
    sum->rep_iterations += s->rep_iterations;
    sum->signals += s->signals;
    sum->discontinuities += s->discontinuities;
    sum->losses += s->losses;
    sum->cuts += s->cuts;
}

/* --- From the engine -------------------------------------------------------------------------- */

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *info)
{
    struct hp_pipeline *p = (struct hp_pipeline *)consumer;
    if (info->id >= p->n_threads + 65536)
        return hp_fail(HP_ERR_FORMAT, "thread id %u is out of range", info->id);
    HP_TRY(hp_grow(&p->threads, &p->cap_threads, (size_t)info->id + 1, sizeof *p->threads));
    if (p->threads[info->id])
        return hp_fail(HP_ERR_FORMAT, "thread %u begins twice", info->id);
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    if (p->n_threads == 0)
        share_out(p);
    thread->pipeline = p;
    thread->info = *info;
    thread->sink = (struct hp_sink){
        .batch = on_batch, .steps = by_steps(p) ? on_steps : NULL, .event = on_event};
    p->threads[info->id] = thread;
    p->stats.threads++;
    if (info->id >= p->n_threads)
        p->n_threads = (size_t)info->id + 1;
    for (size_t i = 0; i < p->n_profilers; i++)
        HP_TRY(p->profilers[i]->ops->start_thread(p->profilers[i], info, &thread->states[i]));
    if (p->counting)
        return hp_tally_new(p->code, p->source, &thread->sink, &thread->tally);
    HP_TRY(hp_cursor_new(p->code, p->source, &thread->sink, &thread->cursor));
    if (p->addressed)
        HP_TRY(hp_cursor_expect_addresses(thread->cursor));
    if (!p->cores.machine)
        return HP_OK;
    return hp_runner_init(&thread->runner, p->cores.machine, p->cycles.program ? &p->cycles : NULL,
                          on_timings, thread);
}

static struct thread *find_thread(struct hp_pipeline *p, uint32_t id)
{
    struct thread *thread = id < p->n_threads ? p->threads[id] : NULL;
    return thread && (thread->cursor || thread->tally) ? thread : NULL;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t id, const uint32_t *words,
                              size_t n)
{
    struct thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (!thread)
        return hp_fail(HP_ERR_FORMAT, "words of thread %u, which never began", id);
    HP_TRY(thread->tally ? hp_tally_words(thread->tally, words, n)
                         : hp_cursor_feed(thread->cursor, words, n));
    return thread->pipeline->failure;
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t id,
                                  const uint64_t *addresses, size_t n)
{
    struct thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (!thread)
        return hp_fail(HP_ERR_FORMAT, "addresses of thread %u, which never began", id);
    if (!thread->cursor)
        return HP_OK;
    HP_TRY(hp_cursor_feed_addresses(thread->cursor, addresses, n));
    return thread->pipeline->failure;
}

static enum hp_err take_counts(struct hp_consumer *consumer, uint32_t id,
                               const struct hp_count *counts, size_t n)
{
    struct thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (!thread || !thread->tally)
        return hp_fail(HP_ERR_FORMAT, "counts of thread %u, which does not count", id);
    for (size_t i = 0; i < n; i++)
        HP_TRY(
            hp_tally_count(thread->tally, counts[i].segment, counts[i].direction, counts[i].count));
    return HP_OK;
}

/* All that was counted of a thread goes to the profilers. */
static enum hp_err end_counting(struct hp_pipeline *p, struct thread *thread,
                                enum hp_end_reason reason)
{
    const struct hp_edge_count *edges;
    size_t n;
    HP_TRY(hp_tally_edges(thread->tally, &edges, &n));
    for (size_t i = 0; i < p->n_profilers; i++)
        p->profilers[i]->ops->edges(thread->states[i], edges, n);
    if (thread->executing && reason == HP_END_KILLED)
        reason = HP_END_EXEC;
    on_event(&thread->sink,
             &(struct hp_event){
                 .kind = HP_EVENT_END, .value = reason, .block = HP_NO_ID, .exact = true});
    return HP_OK;
}

static const struct hp_cursor_stats *stats_of(const struct thread *thread)
{
    return thread->tally ? hp_tally_stats(thread->tally) : hp_cursor_stats(thread->cursor);
}

/* What a thread needs while it runs. */
static void free_parts(struct thread *thread)
{
    hp_cursor_free(thread->cursor);
    hp_tally_free(thread->tally);
    hp_runner_close(&thread->runner);
    thread->cursor = NULL;
    thread->tally = NULL;
}

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t id, enum hp_end_reason reason)
{
    struct hp_pipeline *p = (struct hp_pipeline *)consumer;
    struct thread *thread = find_thread(p, id);
    if (!thread)
        return hp_fail(HP_ERR_FORMAT, "the end of thread %u, which never began", id);
    HP_TRY(thread->tally ? end_counting(p, thread, reason) : hp_cursor_end(thread->cursor, reason));
    add_stats(&p->ended, stats_of(thread));
    if (thread->runner.core)
        HP_TRY(hp_cores_add(&p->cores, thread->runner.core));
    free_parts(thread); /* there may be thousands of threads */
    return p->failure;
}

static bool is_done(struct hp_consumer *consumer)
{
    const struct hp_pipeline *p = (const struct hp_pipeline *)consumer;
    return p->has_region && p->state == DONE;
}

/* --- Making and asking ------------------------------------------------------------------------ */

enum hp_err hp_pipeline_new(struct hp_code *code, struct hp_segment_source *source,
                            struct hp_functions *functions, const struct hp_region *region,
                            struct hp_pipeline **pipeline)
{
    struct hp_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->consumer = (struct hp_consumer){.thread = take_thread,
                                       .words = take_words,
                                       .counts = take_counts,
                                       .addresses = take_addresses,
                                       .end = take_end,
                                       .done = is_done};
    p->code = code;
    p->source = source;
    p->functions = functions;
    p->region = *region;
    p->has_region = region->from || region->after || region->length;
    p->state = region->from ? WAIT_FROM : region->after ? WAIT_AFTER : OPEN;
    *pipeline = p;
    return HP_OK;
}

void hp_pipeline_free(struct hp_pipeline *pipeline)
{
    if (!pipeline)
        return;
    for (size_t i = 0; i < pipeline->n_threads; i++)
        if (pipeline->threads[i]) {
            free_parts(pipeline->threads[i]);
            hp_runner_fini(&pipeline->threads[i]->runner);
            free(pipeline->threads[i]);
        }
    free(pipeline->threads);
    hp_lane_free(pipeline->lane);
    hp_cores_fini(&pipeline->cores);
    free(pipeline->execs);
    hp_map64_fini(&pipeline->not_from);
    free(pipeline);
}

enum hp_err hp_pipeline_add(struct hp_pipeline *pipeline, struct hp_profiler *profiler)
{
    if (pipeline->n_profilers == MAX_PROFILERS)
        return hp_fail(HP_ERR_INVALID, "more than %d profilers at once", MAX_PROFILERS);
    pipeline->profilers[pipeline->n_profilers++] = profiler;
    return HP_OK;
}

enum hp_err hp_pipeline_expect_counts(struct hp_pipeline *pipeline)
{
    if (pipeline->has_region)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "a part of a run cannot be told when it is only counted");
    for (size_t i = 0; i < pipeline->n_profilers; i++)
        if (!pipeline->profilers[i]->ops->edges)
            return hp_fail(HP_ERR_UNSUPPORTED,
                           "the profiler '%s' needs the order of what was executed",
                           pipeline->profilers[i]->ops->name);
    if (pipeline->cores.machine)
        return hp_fail(HP_ERR_UNSUPPORTED, "a machine needs the order of what was executed");
    pipeline->counting = true;
    return HP_OK;
}

void hp_pipeline_expect_addresses(struct hp_pipeline *pipeline)
{
    pipeline->addressed = true;
}

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

/* The runner of a thread of the program; NULL when there is none. */
static const struct hp_runner *runner_of(const struct hp_pipeline *p,
                                         const struct hp_pthread *thread)
{
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i] && p->threads[i]->info.pid == thread->pid &&
            p->threads[i]->info.tid == thread->tid)
            return &p->threads[i]->runner;
    return NULL;
}

/* The windows of a thread come one behind the other. */
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
        struct thread *thread = pipeline->threads[i];
        if (!thread || !thread->runner.core)
            continue;
        HP_TRY(hp_cores_add(cores, thread->runner.core));
        hp_runner_close(&thread->runner);
    }
    *stats = cores->stats;
    *n = cores->n;
    return HP_OK;
}

struct hp_consumer *hp_pipeline_consumer(struct hp_pipeline *pipeline)
{
    return &pipeline->consumer;
}

const struct hp_pipeline_stats *hp_pipeline_stats(struct hp_pipeline *p)
{
    struct hp_cursor_stats *sum = &p->stats.cursor;
    *sum = p->ended;
    p->stats.region_reached = p->state >= OPEN;
    p->stats.running = 0;
    for (size_t i = 0; i < p->n_threads; i++) {
        if (!find_thread(p, (uint32_t)i))
            continue;
        add_stats(sum, stats_of(p->threads[i]));
        p->stats.running++;
    }
    sum->losses -= p->lost_behind;
    return &p->stats;
}

size_t hp_pipeline_execs(const struct hp_pipeline *pipeline, const uint32_t **ids)
{
    *ids = pipeline->execs;
    return pipeline->n_execs;
}
