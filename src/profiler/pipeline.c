// SPDX-License-Identifier: MIT
#include "profiler/pipeline_impl.h"

#include "base/grow.h"

#include <stdlib.h>

/* --- From the engine -------------------------------------------------------------------------- */

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *info)
{
    struct hp_pipeline *p = (struct hp_pipeline *)consumer;
    if (info->id >= p->n_threads + 65536)
        return hp_fail(HP_ERR_FORMAT, "thread id %u is out of range", info->id);
    HP_TRY(hp_grow(&p->threads, &p->cap_threads, (size_t)info->id + 1, sizeof *p->threads));
    if (p->threads[info->id])
        return hp_fail(HP_ERR_FORMAT, "thread %u begins twice", info->id);
    struct hp_pipeline_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    if (p->n_threads == 0)
        hp_pipeline_share_out(p);
    thread->pipeline = p;
    thread->info = *info;
    thread->sink = hp_pipeline_sink(p);
    p->threads[info->id] = thread;
    p->stats.threads++;
    if (info->id >= p->n_threads)
        p->n_threads = (size_t)info->id + 1;
    hp_pipeline_settle(p);
    for (size_t i = 0; i < p->n_profilers; i++)
        HP_TRY(p->profilers[i]->ops->start_thread(p->profilers[i], info, &thread->states[i]));
    if (p->counting)
        return hp_tally_new(p->code, p->source, &thread->sink, &thread->tally);
    HP_TRY(hp_cursor_new(p->code, p->source, &thread->sink, &thread->cursor));
    if (p->addressed)
        HP_TRY(hp_cursor_expect_addresses(thread->cursor));
    if (p->counts_paths)
        hp_cursor_expect_counting(thread->cursor);
    return p->cores.machine ? hp_pipeline_new_core(thread) : HP_OK;
}

static struct hp_pipeline_thread *find_thread(struct hp_pipeline *p, uint32_t id)
{
    struct hp_pipeline_thread *thread = id < p->n_threads ? p->threads[id] : NULL;
    return thread && (thread->cursor || thread->tally) ? thread : NULL;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t id, const uint32_t *words,
                              size_t n)
{
    struct hp_pipeline_thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (!thread)
        return hp_fail(HP_ERR_FORMAT, "words of thread %u, which never began", id);
    HP_TRY(thread->tally ? hp_tally_words(thread->tally, words, n)
                         : hp_cursor_feed(thread->cursor, words, n));
    return thread->pipeline->failure;
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t id,
                                  const uint64_t *addresses, size_t n)
{
    struct hp_pipeline_thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (!thread)
        return hp_fail(HP_ERR_FORMAT, "addresses of thread %u, which never began", id);
    if (!thread->cursor)
        return HP_OK;
    HP_TRY(hp_cursor_feed_addresses(thread->cursor, addresses, n));
    return thread->pipeline->failure;
}

static void take_paths(struct hp_pipeline_thread *thread, const struct hp_count *counts, size_t n)
{
    const struct hp_pipeline *p = thread->pipeline;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p->n_profilers; k++)
            p->profilers[k]->ops->counted(thread->states[k], counts[i].segment, counts[i].count);
}

static enum hp_err take_counts(struct hp_consumer *consumer, uint32_t id,
                               const struct hp_count *counts, size_t n)
{
    struct hp_pipeline_thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (thread && thread->pipeline->counts_paths) {
        take_paths(thread, counts, n);
        return HP_OK;
    }
    if (!thread || !thread->tally)
        return hp_fail(HP_ERR_FORMAT, "counts of thread %u, which does not count", id);
    for (size_t i = 0; i < n; i++)
        HP_TRY(
            hp_tally_count(thread->tally, counts[i].segment, counts[i].direction, counts[i].count));
    return HP_OK;
}

static enum hp_err take_derived(struct hp_consumer *consumer, uint32_t id,
                                const struct hp_derived *edges, size_t n)
{
    struct hp_pipeline_thread *thread = find_thread((struct hp_pipeline *)consumer, id);
    if (!thread || !thread->tally)
        return hp_fail(HP_ERR_FORMAT, "counts of thread %u, which does not count", id);
    return hp_tally_derive(thread->tally, edges, n);
}

/* Passes a thread's counts to the profilers. */
static enum hp_err end_counting(struct hp_pipeline *p, struct hp_pipeline_thread *thread,
                                enum hp_end_reason reason)
{
    const struct hp_edge_count *edges;
    size_t n;
    HP_TRY(hp_tally_edges(thread->tally, &edges, &n));
    for (size_t i = 0; i < p->n_profilers; i++)
        p->profilers[i]->ops->edges(thread->states[i], edges, n);
    if (thread->executing && reason == HP_END_KILLED)
        reason = HP_END_EXEC;
    thread->sink.event(&thread->sink, &(struct hp_event){.kind = HP_EVENT_END,
                                                         .value = reason,
                                                         .block = HP_NO_ID,
                                                         .exact = true});
    return HP_OK;
}

static const struct hp_cursor_stats *stats_of(const struct hp_pipeline_thread *thread)
{
    return thread->tally ? hp_tally_stats(thread->tally) : hp_cursor_stats(thread->cursor);
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
    sum->trace_entries += s->trace_entries;
    sum->trace_completions += s->trace_completions;
    sum->trace_insns += s->trace_insns;
}

/* Frees what a thread needs only while it runs. */
static void free_parts(struct hp_pipeline_thread *thread)
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
    struct hp_pipeline_thread *thread = find_thread(p, id);
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
    return p->has_region && p->region.state == HP_REGION_DONE;
}

/* --- Creating and queries --------------------------------------------------------------------- */

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
                                       .derived = take_derived,
                                       .addresses = take_addresses,
                                       .end = take_end,
                                       .done = is_done};
    p->code = code;
    p->source = source;
    p->has_region = region->from || region->after || region->length;
    hp_region_begin(&p->region, region, functions);
    *pipeline = p;
    return HP_OK;
}

void hp_pipeline_free(struct hp_pipeline *pipeline)
{
    if (!pipeline)
        return;
    if (pipeline->lanes)
        hp_code_before_change(pipeline->code, NULL, NULL);
    hp_lanes_free(pipeline->lanes);
    for (size_t i = 0; i < pipeline->n_threads; i++)
        if (pipeline->threads[i]) {
            free_parts(pipeline->threads[i]);
            hp_runner_fini(&pipeline->threads[i]->runner);
            free(pipeline->threads[i]);
        }
    free(pipeline->threads);
    hp_cores_fini(&pipeline->cores);
    free(pipeline->execs);
    hp_region_fini(&pipeline->region);
    free(pipeline);
}

enum hp_err hp_pipeline_add(struct hp_pipeline *pipeline, struct hp_profiler *profiler)
{
    if (pipeline->n_profilers == HP_PIPELINE_PROFILERS)
        return hp_fail(HP_ERR_INVALID, "more than %d profilers at once", HP_PIPELINE_PROFILERS);
    pipeline->independent[pipeline->n_profilers] = profiler->ops->independent;
    pipeline->profilers[pipeline->n_profilers++] = profiler;
    return HP_OK;
}

void hp_pipeline_set_independent(struct hp_pipeline *pipeline, const struct hp_profiler *profiler)
{
    for (size_t i = 0; i < pipeline->n_profilers; i++)
        if (pipeline->profilers[i] == profiler)
            pipeline->independent[i] = true;
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

enum hp_err hp_pipeline_expect_paths(struct hp_pipeline *pipeline)
{
    bool all = !pipeline->has_region && !pipeline->cores.machine && !pipeline->addressed;
    for (size_t i = 0; i < pipeline->n_profilers; i++)
        all = all && pipeline->profilers[i]->ops->counted;
    if (!all)
        return hp_fail(HP_ERR_UNSUPPORTED, "this takes the order of what was executed");
    pipeline->counts_paths = true;
    return HP_OK;
}

void hp_pipeline_expect_addresses(struct hp_pipeline *pipeline)
{
    pipeline->addressed = true;
}

void hp_pipeline_keep_in_step(struct hp_pipeline *pipeline)
{
    pipeline->in_step = true;
}

void hp_pipeline_settle(struct hp_pipeline *pipeline)
{
    if (pipeline->lanes)
        hp_lanes_settle(pipeline->lanes);
}

struct hp_consumer *hp_pipeline_consumer(struct hp_pipeline *pipeline)
{
    return &pipeline->consumer;
}

const struct hp_pipeline_stats *hp_pipeline_stats(struct hp_pipeline *p)
{
    struct hp_cursor_stats *sum = &p->stats.cursor;
    *sum = p->ended;
    p->stats.region_reached = p->region.state >= HP_REGION_OPEN;
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
