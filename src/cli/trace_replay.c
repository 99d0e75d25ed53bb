// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"
#include "cli/trace.h"

#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath trace replay",
    .synopsis = "[OPTIONS] FILE",
    .help = "Profiles a recorded run: the same profile as 'hotpath record' would have made. Prints "
            "it, or\n"
            "with -o keeps it in a file.\n",
    .examples = "  hotpath trace replay gzip.hptrace\n"
                "  hotpath trace replay gzip.hptrace -o gzip.hotpath\n"
                "  hotpath trace replay gzip.hptrace --after 1G --for 100M\n",
};

int hp_trace_cmd_replay(int argc, char **argv)
{
    struct hp_session_settings session = {0};
    struct hp_progress progress;
    struct hp_cli_output output = {.top = UINT64_MAX};
    const char *path = NULL;
    const struct hp_option options[] = {
        {"output", 'o', HP_OPT_TEXT, &path, "FILE", "keep the profile in FILE"},
        {"view", 'v', HP_OPT_TEXT, &output.view, "VIEW", "what to print (see hotpath report)"},
        {"top", 'n', HP_OPT_COUNT, &output.top, "N", "rows to print (default 20; 0: all)"},
        {"json", 'j', HP_OPT_FLAG, &output.json, NULL, "print JSON"},
        {"salvage", 0, HP_OPT_FLAG, &session.salvage, NULL,
         "skip damaged parts and note them, instead of\ngiving up"},
        HP_WANTED_ROWS(session),
        HP_SESSION_REGION_ROWS(session),
        {0},
    };
    struct hp_report_options report;
    struct hp_profile *profile = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n != 1)
        err = hp_fail(HP_ERR_INVALID, "replay takes one trace; try: hotpath trace replay FILE");
    if (err == HP_OK)
        err = hp_cli_report_options(&output, &report);
    if (err == HP_OK)
        session.lines = path ? HP_LINES_ALL : hp_cli_lines(&report);
    hp_progress_of_session(&progress, &session, false);
    if (err == HP_OK)
        err = hp_session_replay(&session, argv[1], &profile);
    if (err == HP_OK)
        err = path ? hp_profile_save(profile, path) : hp_output_report(profile, &report, NULL);
    hp_profile_free(profile);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
