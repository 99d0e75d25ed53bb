// SPDX-License-Identifier: MIT
#include "diff/diff.h"
#include "cli/cli.h"

#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath diff",
    .synopsis = "[OPTIONS] OLD NEW",
    .help =
        "Says what changed between two versions of a program: the functions whose instructions\n"
        "changed most, their lines, loops and paths. Functions are matched by name and lines by\n"
        "their place in the function and their text, not by address. 'hotpath compare' says how\n"
        "alike two profiles of one build are.\n",
    .examples = "  hotpath record -p loops,paths -o old.hotpath -- ./prog-1.0 input\n"
                "  hotpath record -p loops,paths -o new.hotpath -- ./prog-1.1 input\n"
                "  hotpath diff old.hotpath new.hotpath\n"
                "  hotpath diff --old-source ../prog-1.0 old.hotpath new.hotpath\n",
};

struct versions {
    struct hp_profile *old, *new;
    struct hp_digest *old_digest, *new_digest;
    struct hp_diff *diff;
};

static enum hp_err compare(struct versions *v, char **paths, const struct hp_diff_options *options)
{
    HP_TRY(hp_cli_load(paths[0], &v->old));
    HP_TRY(hp_cli_load(paths[1], &v->new));
    HP_TRY(hp_digest_make(v->old, &(struct hp_digest_options){.other = v->new}, &v->old_digest));
    HP_TRY(hp_digest_make(v->new, &(struct hp_digest_options){.other = v->old}, &v->new_digest));
    return hp_diff_make(v->old_digest, v->new_digest, options, &v->diff);
}

static void close_versions(struct versions *v)
{
    hp_diff_free(v->diff);
    hp_digest_free(v->old_digest);
    hp_digest_free(v->new_digest);
    hp_profile_free(v->old);
    hp_profile_free(v->new);
}

/* Whether anything changed by the threshold or more. */
static bool differs(const struct hp_diff *diff, const struct hp_diff_print *print)
{
    return diff->n_functions && hp_diff_counts(diff, print, diff->functions[0].delta);
}

int hp_cmd_diff(int argc, char **argv)
{
    struct hp_cli_output output = {.top = UINT64_MAX};
    struct hp_diff_options sources = {0};
    struct hp_diff_print print = {0};
    const char *threshold = NULL;
    bool exit_code = false;
    const struct hp_option options[] = {
        {"top", 'n', HP_OPT_COUNT, &output.top, "N",
         "functions, loops and paths to print, and lines of so\nmany functions (0: all)"},
        {"threshold", 't', HP_OPT_TEXT, &threshold, "PERCENT",
         "leave out functions and paths that changed by less\nof all instructions (default 0%)"},
        {"old-source", 0, HP_OPT_TEXT, &sources.old_source, "DIR",
         "where the source of the old version is"},
        {"new-source", 0, HP_OPT_TEXT, &sources.new_source, "DIR",
         "where the source of the new version is"},
        {"exit-code", 0, HP_OPT_FLAG, &exit_code, NULL,
         "exit with 1 when a function changed by the threshold\nor more"},
        {"json", 'j', HP_OPT_FLAG, &output.json, NULL, "JSON, for scripts"},
        {0},
    };
    struct versions v = {0};
    int n, status = 0;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n != 2)
        err = hp_fail(HP_ERR_INVALID, "diff takes two profiles; try: hotpath diff OLD NEW");
    if (err == HP_OK)
        err = hp_cli_report_options(&output, &print.report);
    if (err == HP_OK && threshold)
        err = hp_parse_percent(threshold, &print.threshold);
    if (err == HP_OK)
        err = compare(&v, argv + 1, &sources);
    if (err == HP_OK) {
        print.old_name = argv[1];
        print.new_name = argv[2];
        hp_cli_style(&print.report, stdout);
        err = hp_diff_print(v.diff, &print, stdout);
    }
    if (err == HP_OK && exit_code)
        status = differs(v.diff, &print);
    close_versions(&v);
    return err == HP_OK ? status : hp_cli_fail(err);
}
