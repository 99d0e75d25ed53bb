// SPDX-License-Identifier: MIT
/*
 * Compares the profiler of loop models with the slow reference, on a recorded trace:
 *   daprof_compare TRACE MODEL...
 * Prints for each model a line with what it did and "equal", or what is different, then a line for
 * each entry: "loop ADDRESS TARGET EXECUTIONS AVERAGE ITERATIONS". Exit status 0 equal, 1
 * different, 2 trouble.
 */
#include "daprof_reference.h"

#include "engine/trace/replay.h"
#include "profiler/loop/models.h"
#include "profiler/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "daprof_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

/* --- The references, as a profiler ------------------------------------------------------------ */

struct slow {
    struct hp_profiler base; /* first */
    struct daprof_reference *references[HP_LOOP_MODELS];
    size_t n;
    struct slow_thread *threads; /* the last */
};

struct slow_thread {
    struct slow *slow;
    uint32_t id;
    struct slow_thread *before;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct slow *slow = (struct slow *)profiler;
    struct slow_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    *thread = (struct slow_thread){.slow = slow, .id = info->id, .before = slow->threads};
    slow->threads = thread;
    *state = thread;
    return HP_OK;
}

static void show(const struct slow_thread *thread, const struct hp_branch *branch)
{
    for (size_t i = 0; i < thread->slow->n; i++)
        daprof_reference_branch(thread->slow->references[i], thread->id, branch);
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct hp_branch branch;
    for (size_t i = 0; i < batch->n; i++) {
        hp_batch_branch(batch, i, &branch);
        show(state, &branch);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    const struct hp_branch call = {.flow = HP_FLOW_CALL, .taken = 1, .target = 1};
    if (event->kind == HP_EVENT_SIGNAL)
        show(state, &call);
}

static const struct hp_profiler_ops slow_ops = {
    .name = "reference",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
};

static void free_threads(struct slow *slow)
{
    while (slow->threads) {
        struct slow_thread *thread = slow->threads;
        slow->threads = thread->before;
        free(thread);
    }
}

/* --- Both ------------------------------------------------------------------------------------- */

/* The trace, to one profiler. */
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

static struct hp_code *open_trace(const char *path, struct hp_trace_reader **reader)
{
    struct hp_code *code;
    if (hp_trace_reader_open(path, reader) != HP_OK ||
        hp_code_new(hp_trace_reader_info(*reader)->run.arch, &code) != HP_OK)
        fail(path);
    return code;
}

static bool compare(const char *name, const struct daprof_reference *reference,
                    const struct hp_loop_model *model)
{
    struct hp_loop_entry *entries, *expected = calloc(1 << 16, sizeof *expected);
    const struct hp_loop_stats *slow = daprof_reference_stats(reference);
    const struct hp_loop_stats *fast = hp_loop_model_stats(model);
    size_t n, n_expected;
    if (!expected || hp_loop_model_entries(model, &entries, &n) != HP_OK)
        fail(name);
    n_expected = daprof_reference_entries(reference, expected);
    bool same_stats = memcmp(slow, fast, sizeof *slow) == 0;
    bool equal =
        same_stats && n == n_expected && memcmp(entries, expected, n * sizeof *entries) == 0;
    printf("%s: branches %" PRIu64 " overflows %" PRIu64 " replacements %" PRIu64
           " halvings %" PRIu64 " saturations %" PRIu64 " contexts %" PRIu64 ": %s\n",
           name, fast->branches, fast->overflows, fast->replacements, fast->halvings,
           fast->saturations, fast->context_overflows,
           equal        ? "equal"
           : same_stats ? "DIFFERENT entries"
                        : "DIFFERENT counts");
    for (size_t i = 0; i < n; i++)
        printf("loop %" PRIx64 " %" PRIx64 " %.0f %.6f %.6f\n", entries[i].address,
               entries[i].target, entries[i].executions, entries[i].average, entries[i].iterations);
    free(entries);
    free(expected);
    return equal;
}

int main(int argc, char **argv)
{
    struct hp_loop_config configs[HP_LOOP_MODELS];
    struct slow slow = {.base.ops = &slow_ops};
    struct hp_trace_reader *reader, *again;
    struct hp_profiler *fast;
    bool equal = true;
    if (argc < 3 || argc - 2 > HP_LOOP_MODELS) {
        fprintf(stderr, "usage: daprof_compare TRACE MODEL...\n");
        return 2;
    }
    slow.n = (size_t)argc - 2;
    struct hp_code *code = open_trace(argv[1], &reader), *slow_code = open_trace(argv[1], &again);
    for (size_t i = 0; i < slow.n; i++)
        if (hp_loop_config_parse(argv[i + 2], &configs[i]) != HP_OK)
            fail("model");
    if (hp_loop_models_new(code, NULL, configs, slow.n, &fast) != HP_OK)
        fail("models");
    for (size_t i = 0; i < slow.n; i++) {
        /* Settings that depend on the architecture. */
        struct hp_loop_config config = configs[i];
        if (!config.insn_bytes)
            config.insn_bytes = hp_code_arch(code) == HP_ARCH_X86_64    ? 1
                                : hp_code_arch(code) == HP_ARCH_RISCV64 ? 2
                                                                        : 4;
        slow.references[i] = daprof_reference_new(&config);
    }
    play(argv[1], reader, code, fast);
    play(argv[1], again, slow_code, &slow.base);
    for (size_t i = 0; i < slow.n; i++) {
        equal = compare(argv[i + 2], slow.references[i], hp_loop_models_get(fast, i)) && equal;
        daprof_reference_free(slow.references[i]);
    }
    free_threads(&slow);
    fast->ops->free(fast);
    hp_code_free(code);
    hp_code_free(slow_code);
    hp_trace_reader_close(reader);
    hp_trace_reader_close(again);
    return equal ? 0 : 1;
}
