// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>

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

struct request {
    const char *path;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, path), "OUT", "where to", HP_WORDS_FILES},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    struct hp_profile *sum;
    (void)status;
    if (!r->path)
        return hp_fail(HP_ERR_INVALID, "no output file given; try: hotpath merge -o OUT FILE...");
    HP_TRY(hp_cli_load(words[0], &sum));
    enum hp_err err = merge_all(sum, words + 1, n - 1);
    if (err == HP_OK)
        err = hp_profile_save(sum, r->path);
    hp_profile_free(sum);
    return err;
}

const struct hp_command hp_command_merge = {
    .name = "merge",
    .summary = "add profiles up into one",
    .synopsis = "-o OUT FILE...",
    .help = "Adds profiles up into one: counts of the same code are added, threads stand side by "
            "side.\n"
            "Code is the same when it is at the same offset of a file with the same build id.\n",
    .examples = "  hotpath merge -o all.hotpath run1.hotpath run2.hotpath run3.hotpath\n",
    .options = options,
    .least = 1,
    .wrong = "no profiles given",
    .instead = "hotpath merge -o OUT FILE...",
    .size = sizeof(struct request),
    .run = run_command,
};
