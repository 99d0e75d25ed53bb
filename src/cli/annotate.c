// SPDX-License-Identifier: MIT
#include "report/annotate/annotate.h"

#include "base/outfile.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct hp_usage usage = {
    .command = "hotpath annotate",
    .synopsis = "[OPTIONS] FILE [FUNCTION...]",
    .help =
        "Prints functions instruction by instruction, with their source: how often each was\n"
        "executed and, where the run had a machine in cycles, what each cost and why. Without a\n"
        "FUNCTION: the hottest three.\n",
    .examples = "  hotpath annotate gzip.hotpath\n"
                "  hotpath annotate gzip.hotpath longest_match\n"
                "  hotpath annotate gzip.hotpath --lines --source-path ~/src/gzip\n",
};

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

int hp_cmd_annotate(int argc, char **argv)
{
    struct hp_annotate_options annotate = {0};
    const char *path = NULL;
    uint64_t top = UINT64_MAX;
    const struct hp_option options[] = {
        {"top", 'n', HP_OPT_COUNT, &top, "N", "the hottest N functions (default 3; 0: all)"},
        {"all", 'a', HP_OPT_FLAG, &annotate.all, NULL, "every function, hottest first"},
        {"lines", 'l', HP_OPT_FLAG, &annotate.lines, NULL, "source lines only, no instructions"},
        {"source-path", 's', HP_OPT_TEXT, &annotate.source_path, "DIR",
         "look for source files in DIR first"},
        {"json", 'j', HP_OPT_FLAG, &annotate.json, NULL, "JSON, for scripts"},
        {"output", 'o', HP_OPT_TEXT, &path, "FILE", "write to FILE instead of stdout"},
        {0},
    };
    struct hp_profile *profile = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n < 1)
        err = hp_fail(HP_ERR_INVALID, "no profile given; try: hotpath annotate FILE");
    if (err == HP_OK && n > 1 && (annotate.all || top != UINT64_MAX))
        err =
            hp_fail(HP_ERR_INVALID, "--all and --top are for the hottest functions, not for those "
                                    "that are named");
    if (err == HP_OK)
        err = hp_cli_load(argv[1], &profile);
    if (err == HP_OK) {
        annotate.names = (const char *const *)(argv + 2);
        annotate.n_names = (size_t)(n - 1);
        annotate.all |= top == 0;
        annotate.top = top == UINT64_MAX ? 0 : (size_t)top;
        err = print(profile, &annotate, path);
    }
    hp_profile_free(profile);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
