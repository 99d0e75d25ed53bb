// SPDX-License-Identifier: MIT
#include "diff/diff.h"
#include "cli/cli.h"

#include <stdio.h>

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
    return diff->functions.n && hp_diff_counts(diff, print, diff->functions.items[0].delta);
}

struct request {
    struct hp_cli_output output;
    struct hp_diff_options sources;
    const char *threshold;
    bool exit_code;
};

static const struct request defaults = {.output = {.top = UINT64_MAX}};

static const struct hp_option rows[] = {
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, output.top), "N",
     "functions, loops and paths to print, and lines of so\nmany functions (0: all)", 0},
    {"threshold", 't', HP_OPT_TEXT, offsetof(struct request, threshold), "PERCENT",
     "leave out functions and paths that changed by less\nof all instructions (default 0%)", 0},
    {"old-source", 0, HP_OPT_TEXT, offsetof(struct request, sources.old_source), "DIR",
     "where the source of the old version is", HP_WORDS_DIRECTORIES},
    {"new-source", 0, HP_OPT_TEXT, offsetof(struct request, sources.new_source), "DIR",
     "where the source of the new version is", HP_WORDS_DIRECTORIES},
    {"exit-code", 0, HP_OPT_FLAG, offsetof(struct request, exit_code), NULL,
     "exit with 1 when a function changed by the threshold\nor more", 0},
    {"json", 'j', HP_OPT_FLAG, offsetof(struct request, output.json), NULL, "JSON, for scripts", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    struct hp_diff_print print = {.old_name = words[0], .new_name = words[1]};
    struct versions v = {0};
    (void)n;
    HP_TRY(hp_cli_report_options(&r->output, &print.report));
    if (r->threshold)
        HP_TRY(hp_parse_percent(r->threshold, &print.threshold));
    enum hp_err err = compare(&v, words, &r->sources);
    if (err == HP_OK) {
        hp_cli_style(&print.report, stdout);
        err = hp_diff_print(v.diff, &print, stdout);
    }
    if (err == HP_OK && r->exit_code)
        *status = differs(v.diff, &print);
    close_versions(&v);
    return err;
}

const struct hp_command hp_command_diff = {
    .name = "diff",
    .summary = "say what changed between two versions of a program",
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
    .options = options,
    .least = 2,
    .most = 2,
    .wrong = "diff takes two profiles",
    .instead = "hotpath diff OLD NEW",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
