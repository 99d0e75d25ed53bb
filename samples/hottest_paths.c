// SPDX-License-Identifier: MIT
/*
 * Uses the library: hottest_paths PROGRAM [ARGUMENTS] runs a program and prints its five hottest
 * paths: share of all instructions, executions, branches, and the function a path starts in.
 */
#include <hotpath/session.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_instructions(const void *a, const void *b)
{
    uint64_t x = ((const struct hp_ppath_count *)a)->insns;
    uint64_t y = ((const struct hp_ppath_count *)b)->insns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void print(struct hp_profile *p)
{
    uint64_t all = 0;
    for (size_t i = 0; i < p->n_path_counts; i++)
        all += p->path_counts[i].insns;
    qsort(p->path_counts, p->n_path_counts, sizeof *p->path_counts, by_instructions);
    for (size_t i = 0; i < p->n_path_counts && i < 5; i++) {
        const struct hp_ppath_count *count = &p->path_counts[i];
        const struct hp_ppath *path = &p->paths[count->item];
        const char *name =
            path->function == HP_PROFILE_NONE ? "?" : p->functions[path->function].name;
        printf("%5.1f%%  %" PRIu64 " times, %u branches, %s\n",
               100.0 * (double)count->insns / (double)all, count->count, path->length, name);
    }
}

int main(int argc, char **argv)
{
    struct hp_session_settings settings = {.profile = "paths"};
    struct hp_profile *profile;
    int status = 2;
    if (argc < 2 || hp_session_run(&settings, argv + 1, &profile, &status) != HP_OK) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: hottest_paths PROGRAM" : hp_error_text());
        return status;
    }
    print(profile);
    hp_profile_free(profile);
    return status;
}
