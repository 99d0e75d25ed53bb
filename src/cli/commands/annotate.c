// SPDX-License-Identifier: MIT
#include "report/annotate/annotate.h"

#include "cli/cli.h"
#include "profile/unfold.h"

struct request {
    struct hp_annotate_options annotate;
    const struct hp_profile *profile;
    const char *path;
    uint64_t top;
    bool physical;
};

static const struct hp_option rows[] = {
    {"top", 'n', HP_COUNT(top), "N", "the hottest N functions (default 3; 0: all)"},
    {"all", 'a', HP_FLAG(annotate.all), NULL, "every function, hottest first"},
    {"lines", 'l', HP_FLAG(annotate.lines), NULL, "source lines only, no instructions"},
    {"source-path", 's', HP_TEXT(annotate.source_path), "DIR",
     "look for source files in DIR first, by their name and by its ends"},
    {"physical", 0, HP_FLAG(physical), NULL,
     "only the code that a function has of its own, not where it was inlined"},
    {"json", 'j', HP_FLAG(annotate.json), NULL, "JSON, for scripts"},
    {"output", 'o', HP_TEXT(path), "FILE", "write to FILE instead of stdout"},
    {0},
};

static enum hp_err print(void *context, FILE *out)
{
    struct request *r = context;
    struct hp_report_options style = {0};
    hp_cli_style(&style, out);
    r->annotate.color = style.color;
    r->annotate.width = style.width;
    return hp_annotate(r->profile, &r->annotate, out);
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    if (call->n > 1 && (r->annotate.all || r->top != HP_NOT_SAID))
        return hp_fail(
            HP_ERR_INVALID,
            "--all and --top are for the hottest functions, not for those that are named");
    HP_TRY(hp_cli_load(call->words[0], &profile));
    if (call->n > 1 && !r->physical)
        HP_TRY(hp_profile_unfold_inlined(profile));
    r->profile = profile;
    r->annotate.names = (const char *const *)(call->words + 1);
    r->annotate.n_names = (size_t)(call->n - 1);
    r->annotate.all |= r->top == 0;
    r->annotate.top = r->top == HP_NOT_SAID ? 0 : (size_t)r->top;
    return hp_cli_write(r->path, print, r);
}

const struct hp_command hp_command_annotate = {
    .name = "annotate",
    .summary = "print functions by source and instruction",
    .synopsis = "[OPTIONS] FILE [FUNCTION...]",
    .help =
        "Prints functions instruction by instruction, with their source: how often each was "
        "executed and, where the run had a machine in cycles, what each cost and why. Without "
        "a FUNCTION: the hottest three. Of a FUNCTION that was inlined: its source lines, counted "
        "wherever they are, and where that is.\n",
    .examples = "  hotpath annotate gzip.hotpath\n"
                "  hotpath annotate gzip.hotpath longest_match\n"
                "  hotpath annotate gzip.hotpath --lines --source-path ~/src/gzip\n",
    .options = {rows},
    .values = {HP_VALUES(.top = HP_NOT_SAID)},
    .run = run,
};
