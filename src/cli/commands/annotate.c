// SPDX-License-Identifier: MIT
#include "report/annotate/annotate.h"

#include "base/outfile.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static enum hp_err print(const struct hp_profile *profile, struct hp_annotate_options *options,
                         const char *path)
{
    struct hp_report_options style = {0};
    struct hp_outfile out;
    if (!path || strcmp(path, "-") == 0) {
        hp_cli_style(&style, stdout);
        options->color = style.color;
        options->width = style.width;
        return hp_annotate(profile, options, stdout);
    }
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = hp_annotate(profile, options, out.file);
    if (err != HP_OK) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s", hp_error_text());
        hp_outfile_abort(&out);
        return hp_fail(err, "%s", reason);
    }
    return hp_outfile_commit(&out);
}

struct request {
    struct hp_annotate_options annotate;
    const char *path;
    uint64_t top;
};

static const struct request defaults = {.top = UINT64_MAX};

static const struct hp_option rows[] = {
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, top), "N",
     "the hottest N functions (default 3; 0: all)", 0},
    {"all", 'a', HP_OPT_FLAG, offsetof(struct request, annotate.all), NULL,
     "every function, hottest first", 0},
    {"lines", 'l', HP_OPT_FLAG, offsetof(struct request, annotate.lines), NULL,
     "source lines only, no instructions", 0},
    {"source-path", 's', HP_OPT_TEXT, offsetof(struct request, annotate.source_path), "DIR",
     "look for source files in DIR first", HP_WORDS_DIRECTORIES},
    {"json", 'j', HP_OPT_FLAG, offsetof(struct request, annotate.json), NULL, "JSON, for scripts",
     0},
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, path), "FILE",
     "write to FILE instead of stdout", HP_WORDS_FILES},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    struct hp_profile *profile;
    (void)status;
    if (n > 1 && (r->annotate.all || r->top != UINT64_MAX))
        return hp_fail(HP_ERR_INVALID, "--all and --top are for the hottest functions, not for "
                                       "those that are named");
    HP_TRY(hp_cli_load(words[0], &profile));
    r->annotate.names = (const char *const *)(words + 1);
    r->annotate.n_names = (size_t)(n - 1);
    r->annotate.all |= r->top == 0;
    r->annotate.top = r->top == UINT64_MAX ? 0 : (size_t)r->top;
    enum hp_err err = print(profile, &r->annotate, r->path);
    hp_profile_free(profile);
    return err;
}

const struct hp_command hp_command_annotate = {
    .name = "annotate",
    .summary = "print functions by source and instruction",
    .synopsis = "[OPTIONS] FILE [FUNCTION...]",
    .help =
        "Prints functions instruction by instruction, with their source: how often each was\n"
        "executed and, where the run had a machine in cycles, what each cost and why. Without a\n"
        "FUNCTION: the hottest three.\n",
    .examples = "  hotpath annotate gzip.hotpath\n"
                "  hotpath annotate gzip.hotpath longest_match\n"
                "  hotpath annotate gzip.hotpath --lines --source-path ~/src/gzip\n",
    .options = options,
    .least = 1,
    .wrong = "no profile given",
    .instead = "hotpath annotate FILE",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
