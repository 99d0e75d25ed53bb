// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/wpp.h"
#include "cli/wpp_names.h"

#include <inttypes.h>
#include <stdio.h>

static const struct hp_usage usage = {
    .command = "hotpath wpp expand",
    .synopsis = "[OPTIONS] FILE",
    .help = "Prints the exact sequence of paths, a line each: thread, number, where the path "
            "starts, its\n"
            "branches (1 taken, first branch first; '-' for none), and its instructions. Threads "
            "come one "
            "after\n"
            "the other.\n",
    .examples = "  hotpath wpp expand gzip.wpp --thread 0 --skip 1M --count 100\n",
};

struct wanted {
    uint64_t thread, skip, count;
};

/* Prints what is wanted of one thread. `*left` of it are still to be printed. */
static enum hp_err print_thread(const struct hp_wpp_reader *reader, struct hp_wpp_names *names,
                                size_t thread, uint64_t skip, uint64_t *left)
{
    size_t n_threads, n_paths, n;
    const struct hp_wpp_path *paths = hp_wpp_paths(reader, &n_paths);
    uint32_t id = hp_wpp_threads(reader, &n_threads)[thread].id, ids[1024];
    struct hp_wpp_cursor *cursor;
    char place[512], outcomes[HP_PATH_MAX_LENGTH + 1];
    HP_TRY(hp_wpp_cursor_new(reader, thread, &cursor));
    hp_wpp_cursor_skip(cursor, skip);
    for (uint64_t number = skip; *left && !ferror(stdout);) {
        n = hp_wpp_cursor_next(cursor, ids, *left < 1024 ? (size_t)*left : 1024);
        if (n == 0)
            break;
        *left -= n;
        for (size_t i = 0; i < n; i++, number++) {
            const struct hp_wpp_path *path = &paths[ids[i]];
            hp_wpp_names_place(names, path, place, sizeof place);
            hp_wpp_outcomes(path, outcomes);
            printf("%" PRIu32 " %" PRIu64 " %s %s %" PRIu32 "\n", id, number, place,
                   path->length ? outcomes : "-", path->insns);
        }
    }
    hp_wpp_cursor_free(cursor);
    return HP_OK;
}

static enum hp_err print_wanted(const struct hp_wpp_reader *reader, const struct wanted *wanted)
{
    struct hp_wpp_names names;
    size_t n_threads;
    bool found = false;
    const struct hp_wpp_thread *threads = hp_wpp_threads(reader, &n_threads);
    HP_TRY(hp_wpp_names_init(&names, reader));
    enum hp_err err = HP_OK;
    uint64_t skip = wanted->skip, left = wanted->count;
    for (size_t i = 0; i < n_threads && err == HP_OK; i++) {
        if (wanted->thread != UINT64_MAX && wanted->thread != threads[i].id)
            continue;
        found = true;
        if (skip < threads[i].symbols)
            err = print_thread(reader, &names, i, skip, &left);
        skip -= skip < threads[i].symbols ? skip : threads[i].symbols;
    }
    hp_wpp_names_fini(&names);
    if (err == HP_OK && wanted->thread != UINT64_MAX && !found)
        err = hp_fail(HP_ERR_NOTFOUND, "there is no thread %" PRIu64, wanted->thread);
    if (err == HP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        err = hp_fail(HP_ERR_IO, "cannot write to standard output: %m");
    return err;
}

int hp_wpp_cmd_expand(int argc, char **argv)
{
    struct wanted wanted = {.thread = UINT64_MAX, .count = UINT64_MAX};
    const struct hp_option options[] = {
        {"thread", 't', HP_OPT_COUNT, &wanted.thread, "N", "only thread N; the first is 0"},
        {"skip", 0, HP_OPT_COUNT, &wanted.skip, "N", "leave out the first N paths"},
        {"count", 'n', HP_OPT_COUNT, &wanted.count, "N", "print N of them (default: all)"},
        {0},
    };
    struct hp_wpp_reader *reader = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n != 1)
        err = hp_fail(HP_ERR_INVALID, "expand takes one file; try: hotpath wpp expand FILE");
    if (err == HP_OK)
        err = hp_wpp_open(argv[1], &reader);
    if (err == HP_OK)
        err = print_wanted(reader, &wanted);
    hp_wpp_close(reader);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
