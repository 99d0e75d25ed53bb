// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath merge",
    .synopsis = "-o OUT FILE...",
    .help = "Adds profiles up into one: counts of the same code are added, threads stand side by "
            "side.\n"
            "Code is the same when it is at the same offset of a file with the same build id.\n",
    .examples = "  hotpath merge -o all.hotpath run1.hotpath run2.hotpath run3.hotpath\n",
};

static enum hp_err merge_all(struct hp_profile *sum, char **paths, int n)
{
    for (int i = 0; i < n; i++) {
        struct hp_profile *next;
        HP_TRY(hp_cli_load(paths[i], &next));
        enum hp_err err = hp_profile_merge(sum, next);
        hp_profile_free(next);
        HP_TRY(err);
    }
    return HP_OK;
}

int hp_cmd_merge(int argc, char **argv)
{
    const char *path = NULL;
    const struct hp_option options[] = {
        {"output", 'o', HP_OPT_TEXT, &path, "OUT", "where to"},
        {0},
    };
    struct hp_profile *sum = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && (!path || n < 1))
        err = hp_fail(HP_ERR_INVALID, "%s; try: hotpath merge -o OUT FILE...",
                      path ? "no profiles given" : "no output file given");
    if (err == HP_OK)
        err = hp_cli_load(argv[1], &sum);
    if (err == HP_OK)
        err = merge_all(sum, argv + 2, n - 1);
    if (err == HP_OK)
        err = hp_profile_save(sum, path);
    hp_profile_free(sum);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
