// SPDX-License-Identifier: MIT
#include "cli/cli.h"

struct request {
    struct hp_cli_session session; /* first */
    struct hp_cli_output output;
    const char *path;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(path), "FILE", "keep the profile in FILE"},
    {"view", 'v', HP_TEXT(output.view), "VIEW", "what to print (see hotpath report)"},
    {"top", 'n', HP_COUNT(output.top), "N", "rows to print (default 20; 0: all)"},
    {"json", 'j', HP_FLAG(output.json), NULL, "print JSON"},
    HP_SHOWN_OPTIONS(output.shown),
    {"salvage", 0, HP_FLAG(session.settings.salvage), NULL,
     "skip damaged parts and note them, instead of giving up"},
    {0},
};

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_report_options report;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    HP_TRY(hp_cli_report_options(&r->output, &report));
    r->session.settings.lines = r->path ? HP_LINES_ALL : hp_cli_lines(&report);
    r->session.settings.physical = r->output.shown.physical;
    HP_TRY(hp_cli_session_begin(&r->session));
    HP_TRY(hp_session_replay(&r->session.settings, call->words[0], &profile));
    if (r->path)
        return hp_profile_save(profile, r->path);
    HP_TRY(hp_cli_show(profile, &r->output.shown));
    return hp_cli_write_report(profile, &report, NULL);
}

const struct hp_command hp_command_trace_replay = {
    .name = "trace replay",
    .summary = "make a profile of a trace",
    .synopsis = "[OPTIONS] FILE",
    .help = "Profiles a recorded run: the same profile as 'hotpath record' would have made. Prints "
            "it, or with -o keeps it in a file.\n",
    .examples = "  hotpath trace replay gzip.hptrace\n"
                "  hotpath trace replay gzip.hptrace -o gzip.hotpath\n"
                "  hotpath trace replay gzip.hptrace --after 1G --for 100M\n",
    .options = {rows, hp_options_profilers, hp_options_details, hp_options_region},
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS}, .output = {.top = HP_NOT_SAID})},
    .run = run,
};
