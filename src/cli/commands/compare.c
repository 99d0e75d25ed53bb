// SPDX-License-Identifier: MIT
#include "cli/cli.h"

struct request {
    struct hp_cli_output output;
};

static const struct hp_option rows[] = {
    {"top", 'n', HP_COUNT(output.top), "N", "functions to print (default 20; 0: all)"},
    HP_QUERY_OPTIONS(output.query),
    {"json", 'j', HP_FLAG(output.json), NULL, "JSON, for scripts"},
    {0},
};

HP_CLEANUP_POINTER(free_comparison, struct hp_comparison, hp_comparison_free)

static enum hp_err run(struct hp_invocation *call)
{
    const struct request *r = call->values;
    struct hp_report_options report;
    struct hp_profile *a HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_profile *b HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_comparison *comparison HP_CLEANUP(free_comparison) = NULL;
    HP_TRY(hp_cli_report_options(&r->output, &report));
    HP_TRY(hp_cli_load(call->words[0], &a));
    HP_TRY(hp_cli_load(call->words[1], &b));
    HP_TRY(hp_profile_compare(a, b, &comparison));
    hp_cli_style(&report, stdout);
    return hp_report_comparison(comparison, call->words[0], call->words[1], &report, stdout);
}

const struct hp_command hp_command_compare = {
    .name = "compare",
    .summary = "compare two profiles: how much they overlap, what moved",
    .synopsis = "[OPTIONS] A B",
    .help = "Compares two profiles: how much of the execution they have in common (the overlap: "
            "the sum over blocks, edges or functions of the smaller share of the two), and which "
            "functions moved.\n",
    .examples = "  hotpath compare before.hotpath after.hotpath\n"
                "  hotpath compare before.hotpath after.hotpath --json\n",
    .options = {rows},
    .values = {HP_VALUES({.top = HP_NOT_SAID})},
    .run = run,
};
