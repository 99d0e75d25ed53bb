// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath compare",
    .synopsis = "[OPTIONS] A B",
    .help = "Compares two profiles: how much of the execution they have in common (the overlap: "
            "the sum\n"
            "over blocks, edges or functions of the smaller share of the two), and which functions "
            "moved.\n",
    .examples = "  hotpath compare before.hotpath after.hotpath\n"
                "  hotpath compare before.hotpath after.hotpath --json\n",
};

int hp_cmd_compare(int argc, char **argv)
{
    struct hp_cli_output output = {.top = UINT64_MAX};
    const struct hp_option options[] = {
        {"top", 'n', HP_OPT_COUNT, &output.top, "N", "functions to print (default 20; 0: all)"},
        {"json", 'j', HP_OPT_FLAG, &output.json, NULL, "JSON, for scripts"},
        {0},
    };
    struct hp_report_options report;
    struct hp_profile *a = NULL, *b = NULL;
    struct hp_comparison *comparison = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n != 2)
        err = hp_fail(HP_ERR_INVALID, "compare takes two profiles; try: hotpath compare A B");
    if (err == HP_OK)
        err = hp_cli_report_options(&output, &report);
    if (err == HP_OK)
        err = hp_cli_load(argv[1], &a);
    if (err == HP_OK)
        err = hp_cli_load(argv[2], &b);
    if (err == HP_OK)
        err = hp_profile_compare(a, b, &comparison);
    if (err == HP_OK) {
        hp_cli_style(&report, stdout);
        err = hp_report_comparison(comparison, argv[1], argv[2], &report, stdout);
    }
    hp_comparison_free(comparison);
    hp_profile_free(a);
    hp_profile_free(b);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
