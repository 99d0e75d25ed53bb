// SPDX-License-Identifier: MIT
/*
 * Compares the exact loops with the slow reference, on a recorded trace:
 *   loop_compare [--batches] [--list] [--spoil] TRACE
 * Both must find the same loops and count the same. Prints the first differences and one line: how
 * many loops, how many were compared in full, "equal" or "DIFFERENT". Exit status 0 equal, 1
 * different, 2 trouble. With --batches the profiler is given batches instead of steps; with --list
 * all loops of the reference are printed, by address; with --spoil the reference misses a block, to
 * check that a difference is found.
 */
#include "loop_judge.h"

#include "base/grow.h"
#include "engine/trace/replay.h"
#include "profiler/pipeline.h"
#include "profiler/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Passes the stream to the exact profiler, and keeps it for the reference. */
struct compare {
    struct hp_profiler base; /* first */
    struct hp_profiler *exact;
    struct loop_reference *reference;
    struct thread **threads;
    size_t n_threads, cap_threads;
    uint64_t blocks, spoil_at;
};

struct thread {
    struct compare *compare;
    uint32_t id;
    void *state; /* of the exact profiler */
    uint32_t *blocks;
    size_t cap;
};

static struct hp_code *code;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "loop_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

/* --- The stream ------------------------------------------------------------------------------- */

static void keep(struct thread *t, uint32_t *blocks, size_t n)
{
    struct compare *c = t->compare;
    /* Spoilt: one block looks as if another had been run. */
    if (c->spoil_at && c->blocks < c->spoil_at && c->blocks + n >= c->spoil_at && n > 2)
        blocks[n / 2] = blocks[n / 2 - 1];
    c->blocks += n;
    loop_reference_batch(c->reference, t->id, blocks, n);
}

static uint32_t *room(struct thread *t, size_t n)
{
    if (hp_grow(&t->blocks, &t->cap, n, sizeof *t->blocks) != HP_OK)
        fail("blocks");
    return t->blocks;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct thread *t = state;
    memcpy(room(t, batch->n + 1), batch->blocks, (batch->n + 1) * sizeof *t->blocks);
    keep(t, t->blocks, batch->n);
    t->compare->exact->ops->batch(t->state, batch);
}

static void on_steps(void *state, const struct hp_steps *steps)
{
    struct thread *t = state;
    size_t n = 0;
    for (size_t i = 0; i <= steps->n; i++) {
        uint32_t length;
        const uint32_t *blocks = hp_code_unit(steps->code, steps->steps[i].unit, &length);
        memcpy(room(t, n + length) + n, blocks, length * sizeof *blocks);
        n += length;
    }
    keep(t, t->blocks, n - 1);
    t->compare->exact->ops->steps(t->state, steps);
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *t = state;
    loop_reference_event(t->compare->reference, t->id, event);
    t->compare->exact->ops->event(t->state, event);
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct compare *c = (struct compare *)profiler;
    struct thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    HP_TRY(hp_grow(&c->threads, &c->cap_threads, c->n_threads + 1, sizeof *c->threads));
    t->compare = c;
    t->id = (uint32_t)c->n_threads;
    c->threads[c->n_threads++] = t;
    *state = t;
    return c->exact->ops->start_thread(c->exact, info, &t->state);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_nothing(struct hp_profiler *profiler)
{
    (void)profiler;
}

/* --- The program ------------------------------------------------------------------------------ */

struct options {
    bool batches, list, spoil;
};

/* Replays the trace through the exact profiler, into the reference. */
static struct hp_pipeline *replay(const char *path, struct compare *c,
                                  struct hp_functions **functions)
{
    const struct hp_region everything = {0};
    struct hp_trace_reader *reader;
    struct hp_pipeline *pipeline = NULL;
    uint64_t damaged;
    if (hp_trace_reader_open(path, &reader) != HP_OK ||
        hp_code_new(hp_trace_reader_info(reader)->run.arch, &code) != HP_OK)
        fail(path);
    for (int i = 0; i < 3; i++)
        if (hp_functions_new(code, &functions[i]) != HP_OK)
            fail(path);
    c->reference = loop_reference_new(code, functions + 1);
    if (hp_exact_new(code, functions[0], true, &c->exact) != HP_OK ||
        hp_pipeline_new(code, NULL, NULL, &everything, &pipeline) != HP_OK ||
        hp_pipeline_add(pipeline, &c->base) != HP_OK ||
        hp_replay(reader, code, hp_pipeline_consumer(pipeline), false, &damaged) != HP_OK)
        fail(path);
    hp_trace_reader_close(reader);
    return pipeline;
}

static bool judge(const char *path, const struct options *options)
{
    static const struct hp_profiler_ops by_steps = {.name = "compare",
                                                    .start_thread = start_thread,
                                                    .batch = on_batch,
                                                    .steps = on_steps,
                                                    .event = on_event,
                                                    .finish = finish,
                                                    .free = free_nothing};
    struct hp_profiler_ops ops = by_steps;
    struct compare c = {.base.ops = &ops, .spoil_at = options->spoil ? 50000 : 0};
    struct hp_functions *functions[3];
    struct hp_profile *profile;
    struct hp_result *result;
    if (options->batches)
        ops.steps = NULL;
    struct hp_pipeline *pipeline = replay(path, &c, functions);
    struct loop_verdict v = {
        .code = code, .exact_functions = functions[0], .reference_functions = functions[1]};
    hp_functions_want_lines(functions[0], HP_LINES_NONE);
    if (hp_profile_new(&profile) != HP_OK ||
        hp_result_new(code, functions[0], profile, &result) != HP_OK ||
        c.exact->ops->finish(c.exact, result) != HP_OK ||
        hp_exact_loops(c.exact, &v.exact, &v.n_exact) != HP_OK)
        fail(path);
    v.profile = profile;
    v.recursion = true;
    v.reference = loop_reference_loops(c.reference, &v.n_reference);
    for (size_t i = 0; options->list && i < v.n_reference; i++)
        loop_judge_print(&v, &v.reference[i]);
    loop_judge(&v);
    printf("%zu loops of %" PRIu64 " blocks, %" PRIu64 " compared in full: %s\n", v.n_reference,
           c.blocks, v.full, v.differences ? "DIFFERENT" : "equal");
    hp_result_free(result);
    hp_profile_free(profile);
    loop_reference_free(c.reference);
    c.exact->ops->free(c.exact);
    hp_pipeline_free(pipeline);
    for (size_t i = 0; i < c.n_threads; i++) {
        free(c.threads[i]->blocks);
        free(c.threads[i]);
    }
    free(c.threads);
    for (int i = 0; i < 3; i++)
        hp_functions_free(functions[i]);
    hp_code_free(code);
    return v.differences == 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        options.batches |= strcmp(argv[1], "--batches") == 0;
        options.list |= strcmp(argv[1], "--list") == 0;
        options.spoil |= strcmp(argv[1], "--spoil") == 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: loop_compare [--batches] [--list] [--spoil] TRACE\n");
        return 2;
    }
    return judge(argv[1], &options) ? 0 : 1;
}
