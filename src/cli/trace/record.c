// SPDX-License-Identifier: MIT
#include "cli/cli.h"

struct request {
    struct hp_cli_session session; /* first */
    const char *pattern;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(pattern), "FILE",
     "where to; required (%p: hotpath's process id; %%: a percent sign)"},
    {"for", 0, HP_TEXT(session.length), "TIME",
     "end after that time: 500ms, 30s, 5min, 1h; the program goes on unobserved"},
    {"addresses", 'a', HP_FLAG(session.settings.addresses), NULL,
     "with the addresses of data, for the machine's data side (native engine)"},
    {0},
};

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    char *path HP_CLEANUP(hp_free) = NULL;
    if (!r->pattern)
        return hp_fail_usage(call, "no output file given");
    HP_TRY(hp_cli_output_name(r->pattern, &path));
    HP_TRY(hp_cli_recording_begin(&r->session, call, path));
    if (r->session.settings.length)
        return hp_fail(HP_ERR_INVALID, "--for takes a time here: a trace is of all instructions");
    enum hp_err err = hp_session_record(&r->session.settings, call->words, path, &call->status);
    if (err == HP_OK)
        hp_cli_say_written(&r->session, "trace", path, "hotpath trace info");
    hp_cli_recording_end(&r->session, err == HP_OK ? "its trace is written" : hp_error_text(),
                         &call->status, NULL, NULL);
    return err;
}

const struct hp_command hp_command_trace_record = {
    .name = "trace record",
    .summary = "run a program and record its stream in a trace file",
    .synopsis = "[OPTIONS] -o FILE [--] PROGRAM [ARGUMENTS]",
    .help = "Runs PROGRAM and records everything it executes in FILE.\n",
    .examples = "  hotpath trace record -o gzip.hptrace -- gzip -9c FILE > /dev/null\n"
                "  hotpath trace record --addresses -o ls.hptrace -- ls\n"
                "  hotpath trace replay ls.hptrace --machine modern\n",
    .options = {rows, hp_options_engine},
    .unobserved = true,
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS})},
    .run = run,
};
