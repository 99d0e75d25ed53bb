// SPDX-License-Identifier: MIT
#include "profiler/check/check.h"

#include "base/base.h"
#include "cli/cli.h"
#include "session/session_impl.h"

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

struct check {
    const char *path;
    struct hp_profiler *checker;
    int bad; /* traces */
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct check *c = context;
    session->plan.selection.addresses = true; /* where the trace has them */
    HP_TRY(hp_check_new(session->code, &c->checker));
    return hp_session_add(session, c->checker);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct check *c = context;
    /* The index is there: the writer came to its end, and nothing befell it since. */
    bool complete = hp_trace_reader_info(session->reader)->complete;
    c->bad +=
        !print(c->path, hp_check_stats(c->checker), hp_pipeline_stats(session->pipeline), complete);
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    struct check check = {0};
    struct hp_session_settings settings = {
        .context = &check, .attach = attach, .collect = collect, .lines = HP_LINES_NONE};
    for (int i = 0; i < call->n; i++) {
        check.path = call->words[i];
        HP_TRY(hp_session_replay(&settings, check.path, NULL));
        call->status = check.bad > 0;
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
