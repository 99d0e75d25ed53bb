// SPDX-License-Identifier: MIT
#include "profiler/check/check.h"
#include "cli/cli.h"
#include "engine/trace/replay.h"
#include "hotpath/trace.h"
#include "profiler/pipeline.h"

#include <inttypes.h>
#include <stdio.h>

/* What a check found. */
struct finding {
    struct hp_check_stats stats;
    uint64_t instructions;
    uint32_t threads;
    bool complete; /* the index is there: the writer came to its end, and nothing befell it since */
};

static enum hp_err check_with(struct hp_trace_reader *reader, struct hp_code *code,
                              struct hp_profiler *checker, struct finding *finding)
{
    const struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    uint64_t damaged;
    HP_TRY(hp_pipeline_new(code, NULL, NULL, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, checker);
    if (hp_trace_reader_info(reader)->run.addresses) {
        hp_trace_reader_want_addresses(reader);
        hp_pipeline_expect_addresses(pipeline);
    }
    if (err == HP_OK)
        err = hp_replay(reader, code, hp_pipeline_consumer(pipeline), false, &damaged);
    finding->stats = *hp_check_stats(checker);
    finding->instructions = hp_pipeline_stats(pipeline)->cursor.instructions;
    finding->threads = hp_pipeline_stats(pipeline)->threads;
    hp_pipeline_free(pipeline);
    return err;
}

static enum hp_err check(const char *path, struct finding *finding)
{
    struct hp_trace_reader *reader;
    struct hp_code *code = NULL;
    struct hp_profiler *checker = NULL;
    HP_TRY(hp_trace_reader_open(path, &reader));
    const struct hp_trace_info *info = hp_trace_reader_info(reader);
    finding->complete = info->complete;
    enum hp_err err = hp_code_new(info->run.arch, &code);
    if (err == HP_OK)
        err = hp_check_new(code, &checker);
    if (err == HP_OK)
        err = check_with(reader, code, checker, finding);
    if (checker)
        checker->ops->free(checker);
    hp_code_free(code);
    hp_trace_reader_close(reader);
    return err;
}

/* Prints; true when all is well. */
static bool print(const char *path, const struct finding *finding)
{
    const struct hp_check_stats *s = &finding->stats;
    bool good = finding->complete && !s->violations && !s->losses && !s->discontinuities;
    printf("%s: %s\n", path, good ? "good" : "NOT good");
    printf("  %u threads, %" PRIu64 " instructions, %" PRIu64 " transfers between %" PRIu64
           " blocks checked\n",
           finding->threads, finding->instructions, s->transfers, s->blocks);
    printf("  %" PRIu64 " calls, %" PRIu64 " returns: %" PRIu64 " to the latest call, %" PRIu64
           " to an earlier one, %" PRIu64 " to none\n",
           s->calls, s->returns, s->matched_returns, s->unwinding_returns,
           s->returns - s->matched_returns - s->unwinding_returns);
    printf("  %" PRIu64 " signals, %" PRIu64 " blocks cut short\n", s->signals, s->cuts);
    if (s->aborts)
        printf("  %" PRIu64 " restartable sequences aborted\n", s->aborts);
    if (!finding->complete)
        printf("  incomplete: there is no index\n");
    if (!good)
        printf("  %" PRIu64 " violations, %" PRIu64 " losses, %" PRIu64 " discontinuities\n",
               s->violations, s->losses, s->discontinuities);
    if (s->violations)
        printf("  first violation: %s\n", s->first);
    return good;
}

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    (void)values, (void)n;
    for (; *words; words++) {
        struct finding finding = {0};
        HP_TRY(check(*words, &finding));
        if (!print(*words, &finding))
            *status = 1;
    }
    return HP_OK;
}

const struct hp_command hp_command_trace_check = {
    .name = "check",
    .group = "trace",
    .summary = "verify a trace: its checksums and the stream's invariants",
    .synopsis = "FILE...",
    .help =
        "Reads whole traces and verifies them: checksums, and that the stream makes sense: every "
        "block\n"
        "starts where the one before said it would, outcomes are right, code decodes to the blocks "
        "it\n"
        "is said to be, signals are balanced, every instruction has its addresses where there are "
        "any,\n"
        "nothing is lost. Exit status 0 when all is well, 1 when not, 125 when a file cannot be "
        "read.\n",
    .least = 1,
    .wrong = "no trace given",
    .instead = "hotpath trace check FILE",
    .run = run_command,
};
