// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"

#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath run",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM, counts every instruction, block, edge and call it executes, and prints a\n"
        "report on stderr when it ends. The program's input, output and exit status are its own.\n"
        "Nothing is left behind; use 'hotpath record' to keep the profile.\n",
    .examples = "  hotpath run -- gzip -9c FILE > /dev/null\n"
                "  hotpath run --top 5 --view blocks -- ./prog        the hottest blocks\n"
                "  hotpath run --json out.json -- ./prog              everything, for a script\n"
                "  hotpath run --from main --for 100M -- ./prog       only a part of the run\n",
};

int hp_cmd_run(int argc, char **argv)
{
    struct hp_session_settings session = {0};
    struct hp_progress progress;
    bool quiet = false;
    struct hp_cli_output output = {.top = UINT64_MAX};
    const char *json = NULL;
    const struct hp_option options[] = {
        {"view", 'v', HP_OPT_TEXT, &output.view, "VIEW",
         "what to print: functions, blocks, edges, calls, lines,\nthreads, modules, loops, paths, "
         "predictions, hotspots,\nloop-models, partition, machine, all (default: what was\nasked "
         "for)"},
        {"top", 'n', HP_OPT_COUNT, &output.top, "N", "rows to print (default 20; 0: all)"},
        {"threads", 0, HP_OPT_TEXT, &output.threads, "each|all",
         "counts thread by thread, or of all together (default)"},
        {"json", 'j', HP_OPT_TEXT, &json, "FILE", "write everything as JSON to FILE ('-': stdout)"},
        HP_SESSION_PROFILE_ROWS(session),
        HP_SESSION_REGION_ROWS(session),
        HP_SESSION_WATCH_ROWS(session),
        {"quiet", 'q', HP_OPT_FLAG, &quiet, NULL, "no progress, no closing line"},
        {0},
    };
    struct hp_report_options report;
    struct hp_profile *profile = NULL;
    int n, status = HP_STATUS_FAILED;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, true, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n == 0)
        err = hp_fail(HP_ERR_INVALID, "no program given; try: hotpath run -- PROGRAM ARGUMENTS");
    if (err == HP_OK)
        err = hp_cli_report_options(&output, &report);
    if (err == HP_OK)
        session.lines = json ? HP_LINES_ALL : hp_cli_lines(&report);
    hp_progress_of_session(&progress, &session, quiet);
    if (err == HP_OK)
        err = hp_session_run(&session, argv + 1, &profile, &status);
    if (err == HP_OK && json) {
        struct hp_report_options all = {.format = HP_REPORT_JSON,
                                        .per_thread = report.per_thread,
                                        .top = output.top != UINT64_MAX ? report.top : 0};
        err = hp_output_report(profile, &all, json);
    } else if (err == HP_OK) {
        hp_cli_style(&report, stderr);
        err = hp_report(profile, &report, stderr);
    }
    status = hp_cli_ran(err, status);
    hp_profile_free(profile);
    return status;
}
