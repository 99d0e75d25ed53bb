// SPDX-License-Identifier: MIT
#include "cli/cli.h"

struct request {
    const char *path;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(path), "FILE", "where to; required. It may be one of the profiles"},
    {0},
};

static enum hp_err run(struct hp_invocation *call)
{
    const struct request *r = call->values;
    struct hp_profile *sum HP_CLEANUP(hp_cli_free_profile) = NULL;
    if (!r->path)
        return hp_fail_usage(call, "no output file given");
    HP_TRY(hp_cli_load(call->words[0], &sum));
    for (int i = 1; i < call->n; i++) {
        struct hp_profile *next HP_CLEANUP(hp_cli_free_profile) = NULL;
        HP_TRY(hp_cli_load(call->words[i], &next));
        HP_TRY(hp_profile_merge(sum, next));
    }
    return hp_profile_save(sum, r->path);
}

const struct hp_command hp_command_merge = {
    .name = "merge",
    .summary = "add profiles up into one",
    .synopsis = "-o FILE PROFILE...",
    .help =
        "Adds profiles up into one: counts of the same code are added, threads stand side by side. "
        "Code is the same when it is at the same offset of a file with the same build id.\n",
    .examples = "  hotpath merge -o all.hotpath run1.hotpath run2.hotpath run3.hotpath\n",
    .options = {rows},
    .values = {sizeof(struct request), NULL},
    .run = run,
};
