// SPDX-License-Identifier: MIT
#include "page/data.h"

#include "base/outfile.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct hp_usage usage = {
    .command = "hotpath html",
    .synopsis = "[OPTIONS] FILE",
    .help =
        "Writes the profile in FILE as a page for a browser: one file that needs no other, and\n"
        "no network.\n",
    .examples = "  hotpath html gzip.hotpath\n"
                "  hotpath html gzip.hotpath -o page.html --source-path ~/src/gzip\n",
};

static enum hp_err write_to(const struct hp_profile *profile, const struct hp_page_options *page,
                            const char *path)
{
    struct hp_outfile out;
    if (!path || strcmp(path, "-") == 0)
        return hp_page_data(profile, page, stdout);
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = hp_page_data(profile, page, out.file);
    if (err != HP_OK) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s", hp_error_text());
        hp_outfile_abort(&out);
        return hp_fail(err, "%s", reason);
    }
    return hp_outfile_commit(&out);
}

int hp_cmd_html(int argc, char **argv)
{
    struct hp_page_options page = {0};
    const char *path = NULL;
    bool data = false;
    const struct hp_option options[] = {
        {"output", 'o', HP_OPT_TEXT, &path, "FILE", "where to (default: FILE with .html)"},
        {"source-path", 's', HP_OPT_TEXT, &page.source_path, "DIR",
         "look for source files in DIR first"},
        {"data", 0, HP_OPT_FLAG, &data, NULL, "only the data of the page, as JSON"},
        {0},
    };
    struct hp_profile *profile = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n != 1)
        err = hp_fail(HP_ERR_INVALID, "%s; try: hotpath html FILE",
                      n ? "too many arguments" : "no profile given");
    if (err == HP_OK)
        err = hp_profile_load(argv[1], &profile);
    if (err == HP_OK)
        err = write_to(profile, &page, path);
    hp_profile_free(profile);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
