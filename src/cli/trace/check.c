// SPDX-License-Identifier: MIT
#include "profiler/check/check.h"

#include "base/base.h"
#include "cli/cli.h"
#include "cli/trace/trace.h"

/* Prints what a check found; true when all is well. */
static bool print(const char *path, const struct hp_check_stats *s,
                  const struct hp_pipeline_stats *pipeline, bool complete)
{
    bool good = complete && !s->violations && !s->losses && !s->discontinuities;
    printf("%s: %s\n", path, good ? "good" : "NOT good");
    printf("  %u threads, %" PRIu64 " instructions, %" PRIu64 " transfers between %" PRIu64
           " blocks checked\n",
           pipeline->threads, pipeline->cursor.instructions, s->transfers, s->blocks);
    printf("  %" PRIu64 " calls, %" PRIu64 " returns: %" PRIu64 " to the latest call, %" PRIu64
           " to an earlier one, %" PRIu64 " to none\n",
           s->calls, s->returns, s->matched_returns, s->unwinding_returns,
           s->returns - s->matched_returns - s->unwinding_returns);
    printf("  %" PRIu64 " signals, %" PRIu64 " blocks cut short\n", s->signals, s->cuts);
    if (s->aborts)
        printf("  %" PRIu64 " restartable sequences aborted\n", s->aborts);
    if (!complete)
        printf("  incomplete: there is no index\n");
    if (!good)
        printf("  %" PRIu64 " violations, %" PRIu64 " losses, %" PRIu64 " discontinuities\n",
               s->violations, s->losses, s->discontinuities);
    if (s->violations)
        printf("  first violation: %s\n", s->first);
    return good;
}

static void free_checker(struct hp_profiler **checker)
{
    if (*checker)
        (*checker)->ops->free(*checker);
}

static enum hp_err check(const char *path, bool *good)
{
    struct hp_open_trace trace HP_CLEANUP(hp_open_trace_close) = {0};
    struct hp_profiler *checker HP_CLEANUP(free_checker) = NULL;
    HP_TRY(hp_open_trace(&trace, path));
    /* The index is there: the writer came to its end, and nothing befell it since. */
    bool complete = hp_trace_reader_info(trace.reader)->complete;
    HP_TRY(hp_check_new(trace.code, &checker));
    HP_TRY(hp_open_trace_replay(&trace, checker, true));
    *good = print(path, hp_check_stats(checker), hp_pipeline_stats(trace.pipeline), complete);
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    for (int i = 0; i < call->n; i++) {
        bool good;
        HP_TRY(check(call->words[i], &good));
        call->status |= !good;
    }
    return HP_OK;
}

const struct hp_command hp_command_trace_check = {
    .name = "trace check",
    .summary = "verify a trace: its checksums and the stream's invariants",
    .synopsis = "FILE...",
    .help = "Reads whole traces and verifies them: checksums, and that the stream makes sense: "
            "every block starts where the one before said it would, outcomes are right, code "
            "decodes to the blocks it is said to be, signals are balanced, every instruction has "
            "its addresses where there are any, nothing is lost. Exit status 0 when all is well, 1 "
            "when not, 125 when a file cannot be read.\n",
    .run = run,
};
