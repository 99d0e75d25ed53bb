// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"

#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath report",
    .synopsis = "[OPTIONS] FILE [VIEW]",
    .help =
        "Prints a profile. VIEW is one of: summary, functions, blocks, edges, calls, lines, "
        "threads,\n"
        "modules, paths, predictions, machine, all. Without one: the summary and the functions\n"
        "(paths, where only they were recorded).\n",
    .examples = "  hotpath report gzip.hotpath\n"
                "  hotpath report gzip.hotpath edges --top 50\n"
                "  hotpath report gzip.hotpath paths\n"
                "  hotpath report gzip.hotpath --json > gzip.json\n"
                "  hotpath report gzip.hotpath functions --csv -o functions.csv\n",
};

int hp_cmd_report(int argc, char **argv)
{
    struct hp_cli_output output = {.top = UINT64_MAX};
    const char *path = NULL;
    bool no_run = false;
    const struct hp_option options[] = {
        {"top", 'n', HP_OPT_COUNT, &output.top, "N",
         "rows to print (default: 20 in text, 10 paths, else all;\n0: all)"},
        {"json", 'j', HP_OPT_FLAG, &output.json, NULL, "JSON, for scripts"},
        {"csv", 0, HP_OPT_FLAG, &output.csv, NULL, "comma-separated values, one view"},
        {"threads", 0, HP_OPT_TEXT, &output.threads, "each|all",
         "counts thread by thread, or of all together (default)"},
        {"no-run", 0, HP_OPT_FLAG, &no_run, NULL, "JSON: leave out what differs from run to run"},
        {"output", 'o', HP_OPT_TEXT, &path, "FILE", "write to FILE instead of stdout"},
        {0},
    };
    struct hp_report_options report;
    struct hp_profile *profile = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && (n < 1 || n > 2))
        err = hp_fail(HP_ERR_INVALID, "%s; try: hotpath report FILE",
                      n ? "too many arguments" : "no profile given");
    if (err == HP_OK) {
        output.view = argv[2];
        err = hp_cli_report_options(&output, &report);
    }
    if (err == HP_OK)
        err = hp_profile_load(argv[1], &profile);
    if (err == HP_OK) {
        report.no_run = no_run;
        err = hp_output_report(profile, &report, path);
    }
    hp_profile_free(profile);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
