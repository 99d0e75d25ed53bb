// SPDX-License-Identifier: MIT
#include "diff/diff.h"
#include "diff/fidelity.h"

#include "cli/cli.h"

struct request {
    struct hp_cli_output output;
    struct hp_diff_options sources;
    const char *threshold;
    bool exit_code;
    bool model;
};

static const struct hp_option rows[] = {
    {"top", 'n', HP_COUNT(output.top), "N",
     "functions, loops and paths to print, and lines of so many functions (default 20 functions, "
     "10 loops and paths, 5 lines of 5 functions; 0: all)"},
    {"threshold", 't', HP_TEXT(threshold), "PERCENT",
     "leave out functions, loops and paths that changed by less of the instructions of OLD "
     "(default 0%)"},
    {"old-source", 0, HP_TEXT(sources.old_source), "DIR", "where the source of the old version is"},
    {"new-source", 0, HP_TEXT(sources.new_source), "DIR", "where the source of the new version is"},
    {"exit-code", 0, HP_FLAG(exit_code), NULL,
     "exit with 1 when a function changed by the threshold or more"},
    {"model", 0, HP_FLAG(model), NULL,
     "OLD is what a processor sampled (hotpath import), NEW the same build on a machine in cycles: "
     "where they disagree"},
    HP_OPTION_FULL_NAMES(output.full_names),
    HP_SHOWN_OPTIONS(output.shown),
    {"json", 'j', HP_FLAG(output.json), NULL, "JSON, for scripts"},
    {0},
};

HP_CLEANUP_POINTER(free_digest, struct hp_digest, hp_digest_free)
HP_CLEANUP_POINTER(free_diff, struct hp_diff, hp_diff_free)
HP_CLEANUP_POINTER(free_fidelity, struct hp_fidelity, hp_fidelity_free)

/* What a processor sampled, and a model of it. */
static enum hp_err compare_model(const struct request *r, const struct hp_invocation *call)
{
    struct hp_fidelity_print print = {call->words[0], call->words[1], {0}};
    struct hp_profile *processor HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_profile *model HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_fidelity *fidelity HP_CLEANUP(free_fidelity) = NULL;
    const struct hp_cli_shown *shown = &r->output.shown;
    if (r->threshold || r->exit_code || r->sources.old_source || r->sources.new_source ||
        shown->plt || shown->physical)
        return hp_fail(HP_ERR_INVALID, "--model goes with --top, --full-names and --json only");
    HP_TRY(hp_cli_report_options(&r->output, &print.report));
    HP_TRY(hp_cli_load(print.processor_name, &processor));
    HP_TRY(hp_cli_load(print.model_name, &model));
    HP_TRY(hp_fidelity_make(processor, model, &fidelity));
    hp_cli_style(&print.report, stdout);
    return hp_fidelity_print(fidelity, &print, stdout);
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_diff_print print = {.old_name = call->words[0], .new_name = call->words[1]};
    struct hp_profile *old HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_profile *new HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_digest *old_digest HP_CLEANUP(free_digest) = NULL;
    struct hp_digest *new_digest HP_CLEANUP(free_digest) = NULL;
    struct hp_diff *diff HP_CLEANUP(free_diff) = NULL;
    if (r->model)
        return compare_model(r, call);
    HP_TRY(hp_cli_report_options(&r->output, &print.report));
    if (r->threshold)
        HP_TRY(hp_parse_percent(r->threshold, &print.threshold));
    HP_TRY(hp_cli_load_versions(print.old_name, print.new_name, &r->output.shown, &old, &new));
    bool unfolded = !r->output.shown.physical;
    HP_TRY(hp_digest_make(old, &(struct hp_digest_options){.other = new, .unfolded = unfolded},
                          &old_digest));
    HP_TRY(hp_digest_make(new, &(struct hp_digest_options){.other = old, .unfolded = unfolded},
                          &new_digest));
    HP_TRY(hp_diff_make(old_digest, new_digest, &r->sources, &diff));
    hp_cli_style(&print.report, stdout);
    HP_TRY(hp_diff_print(diff, &print, stdout));
    call->status = r->exit_code && diff->functions.n &&
                   hp_diff_counts(diff, &print, diff->functions.items[0].delta);
    return HP_OK;
}

const struct hp_command hp_command_diff = {
    .name = "diff",
    .summary = "say what changed between two versions of a program",
    .synopsis = "[OPTIONS] OLD NEW",
    .help = "Says what changed between two versions of a program: the functions whose instructions "
            "changed most, their lines, loops and paths. Functions are matched by name and lines "
            "by their place in the function and their text, not by address. 'hotpath compare' says "
            "how alike two profiles of one build are.\n"
            "\n"
            "With --model it says where a machine in cycles and a processor disagree, of the same "
            "build: cycles, executions, misses and mispredictions of functions, loops and "
            "instructions, with 95 % intervals.\n",
    .examples = "  hotpath record -p loops,paths -o old.hotpath -- ./prog-1.0 input\n"
                "  hotpath record -p loops,paths -o new.hotpath -- ./prog-1.1 input\n"
                "  hotpath diff old.hotpath new.hotpath\n"
                "  hotpath diff --old-source ../prog-1.0 old.hotpath new.hotpath\n"
                "  hotpath diff --model hardware.hotpath modern.hotpath\n",
    .options = {rows},
    .values = {HP_VALUES(.output = {.top = HP_NOT_SAID})},
    .run = run,
};
