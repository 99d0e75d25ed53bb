// SPDX-License-Identifier: MIT
/*
 * Compares the profiler of predictions with the slow references of paths and of prediction, on a
 * recorded trace of one thread:
 *
 *   predict_compare TRACE SCHEME...
 *
 * Prints a line for each scheme with its measures and "equal", or what is different. Exit status 0
 * equal, 1 different, 2 trouble.
 */
#include "path_reference.h"
#include "predict_reference.h"

#include "engine/trace/replay.h"
#include "profiler/pipeline.h"
#include "profiler/predict/branches.h"
#include "profiler/predict/predictions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOT 1000 /* parts of a million */

static void fail(const char *what)
{
    fprintf(stderr, "predict_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

/* --- The references, as a profiler ------------------------------------------------------------ */

struct slow {
    struct hp_profiler base; /* first */
    struct hp_branch_finder finder;
    struct reference *paths;
    struct predict_reference *schemes[HP_JUDGE_SCHEMES];
    size_t n;
};

static void found(void *context, const struct reference_path *path)
{
    struct slow *slow = context;
    struct hp_path descriptor = reference_descriptor(path);
    struct tested_path tested = {.start = path->start, .block = path->block};
    tested.n = (uint32_t)slow->finder.source.branches(&slow->finder.source, &descriptor,
                                                      path->targets, tested.branches);
    if (tested.n != path->length) {
        fprintf(stderr, "predict_compare: %u of %u branches of a path were found\n", tested.n,
                path->length);
        exit(1);
    }
    for (size_t i = 0; i < slow->n; i++)
        predict_reference_run(slow->schemes[i], &tested);
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct slow *slow = (struct slow *)profiler;
    struct hp_ppcr ppcr;
    (void)thread;
    if (slow->paths) {
        fprintf(stderr, "predict_compare: there is more than one thread\n");
        exit(2);
    }
    if (!reference_preset("forward", &ppcr))
        return hp_fail(HP_ERR_INTERNAL, "no preset forward");
    ppcr.max_length = HP_PATH_MAX_LENGTH;
    slow->paths = reference_new(&ppcr, NULL, found, slow);
    *state = slow;
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    reference_batch(((struct slow *)state)->paths, batch);
}

static void take_event(void *state, const struct hp_event *event)
{
    reference_event(((struct slow *)state)->paths, event);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_slow(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops slow_ops = {
    .name = "reference",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .finish = finish,
    .free = free_slow,
};

/* --- Both ------------------------------------------------------------------------------------- */

/* Replays the trace to one profiler. */
static void play(const char *path, struct hp_trace_reader *reader, struct hp_code *code,
                 struct hp_profiler *profiler)
{
    const struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    uint64_t damaged;
    if (hp_pipeline_new(code, NULL, NULL, &everything, &pipeline) != HP_OK ||
        hp_pipeline_add(pipeline, profiler) != HP_OK ||
        hp_replay(reader, code, hp_pipeline_consumer(pipeline), false, &damaged) != HP_OK)
        fail(path);
    hp_pipeline_free(pipeline);
}

static void open_trace(const char *path, struct hp_trace_reader **reader, struct hp_code **code)
{
    if (hp_trace_reader_open(path, reader) != HP_OK ||
        hp_code_new(hp_trace_reader_info(*reader)->run.arch, code) != HP_OK)
        fail(path);
}

static void play_slow(const char *path, struct slow *slow)
{
    struct hp_trace_reader *reader;
    struct hp_code *code;
    open_trace(path, &reader, &code);
    hp_branch_finder_init(&slow->finder, code);
    play(path, reader, code, &slow->base);
    hp_branch_finder_fini(&slow->finder);
    reference_free(slow->paths);
    hp_code_free(code);
    hp_trace_reader_close(reader);
}

/* The measures of all schemes. */
static void play_fast(const char *path, const struct hp_judge_config *config,
                      struct hp_prediction *measures)
{
    struct hp_trace_reader *reader;
    struct hp_profiler *profiler;
    struct hp_code *code;
    open_trace(path, &reader, &code);
    if (hp_predictions_new(code, config, &profiler) != HP_OK)
        fail("schemes");
    play(path, reader, code, profiler);
    const struct hp_judge *judge = hp_predictions_judge(profiler);
    if (hp_judge_check(judge) != HP_OK)
        fail("judge");
    for (size_t i = 0; i < config->n_schemes; i++)
        hp_judge_result(judge, i, &measures[i]);
    profiler->ops->free(profiler);
    hp_code_free(code);
    hp_trace_reader_close(reader);
}

static bool compare(const char *name, const struct predict_reference *reference,
                    struct hp_prediction fast)
{
    struct hp_prediction slow;
    predict_reference_measure(reference, HOT, &slow);
    slow.splits = fast.splits;
    slow.lost = fast.lost;
    bool equal = memcmp(&slow, &fast, sizeof slow) == 0;
    const struct hp_prediction *both[] = {&slow, &fast};
    for (size_t i = equal; i < 2; i++) {
        const struct hp_prediction *m = both[i];
        printf("%s: flow %" PRIu64 " branches %" PRIu64 " paths %" PRIu64 " heads %" PRIu64
               " hot %" PRIu64 " predicted %" PRIu64 " hot %" PRIu64 " never %" PRIu64
               " hits %" PRIu64 " noise %" PRIu64 " missed %" PRIu64 " profiled %" PRIu64
               " counters %" PRIu64 " operations %" PRIu64 ": %s\n",
               name, m->flow, m->branches, m->paths, m->heads, m->hot_paths, m->predicted,
               m->predicted_hot, m->never_ran, m->hits, m->noise, m->missed, m->profiled,
               m->cost.counters, m->cost.operations,
               equal ? "equal"
               : i   ? "the profiler"
                     : "DIFFERENT: the reference");
    }
    return equal;
}

int main(int argc, char **argv)
{
    struct hp_judge_config config = {.hot = HOT / 1e6};
    struct hp_prediction measures[HP_JUDGE_SCHEMES];
    struct slow slow = {.base.ops = &slow_ops};
    bool equal = true;
    if (argc < 3 || argc - 2 > HP_JUDGE_SCHEMES) {
        fprintf(stderr, "usage: predict_compare TRACE SCHEME...\n");
        return 2;
    }
    slow.n = config.n_schemes = (size_t)argc - 2;
    for (size_t i = 0; i < slow.n; i++) {
        if (hp_scheme_parse(argv[i + 2], &config.schemes[i]) != HP_OK)
            fail("scheme");
        slow.schemes[i] = predict_reference_new(&config.schemes[i], HP_PATH_MAX_LENGTH);
    }
    play_slow(argv[1], &slow);
    play_fast(argv[1], &config, measures);
    for (size_t i = 0; i < slow.n; i++) {
        equal = compare(argv[i + 2], slow.schemes[i], measures[i]) && equal;
        predict_reference_free(slow.schemes[i]);
    }
    return equal ? 0 : 1;
}
