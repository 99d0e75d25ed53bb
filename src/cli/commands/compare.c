// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>

static const struct hp_cli_output defaults = {.top = UINT64_MAX};

static const struct hp_option rows[] = {
    {"top", 'n', HP_OPT_COUNT, offsetof(struct hp_cli_output, top), "N",
     "functions to print (default 20; 0: all)", 0},
    {"json", 'j', HP_OPT_FLAG, offsetof(struct hp_cli_output, json), NULL, "JSON, for scripts", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err print(const struct hp_profile *a, const struct hp_profile *b, char **names,
                         struct hp_report_options *report)
{
    struct hp_comparison *comparison;
    HP_TRY(hp_profile_compare(a, b, &comparison));
    hp_cli_style(report, stdout);
    enum hp_err err = hp_report_comparison(comparison, names[0], names[1], report, stdout);
    hp_comparison_free(comparison);
    return err;
}

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct hp_report_options report;
    struct hp_profile *a, *b = NULL;
    (void)n, (void)status;
    HP_TRY(hp_cli_report_options(values, &report));
    HP_TRY(hp_cli_load(words[0], &a));
    enum hp_err err = hp_cli_load(words[1], &b);
    if (err == HP_OK)
        err = print(a, b, words, &report);
    hp_profile_free(a);
    hp_profile_free(b);
    return err;
}

const struct hp_command hp_command_compare = {
    .name = "compare",
    .summary = "compare two profiles: how much they overlap, what moved",
    .synopsis = "[OPTIONS] A B",
    .help = "Compares two profiles: how much of the execution they have in common (the overlap: "
            "the sum\n"
            "over blocks, edges or functions of the smaller share of the two), and which functions "
            "moved.\n",
    .examples = "  hotpath compare before.hotpath after.hotpath\n"
                "  hotpath compare before.hotpath after.hotpath --json\n",
    .options = options,
    .least = 2,
    .most = 2,
    .wrong = "compare takes two profiles",
    .instead = "hotpath compare A B",
    .defaults = &defaults,
    .size = sizeof(struct hp_cli_output),
    .run = run_command,
};
