// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/wpp/names.h"

#include <inttypes.h>
#include <stdio.h>

struct selection {
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

static enum hp_err print_selected(const struct hp_wpp_reader *reader,
                                  const struct selection *selection)
{
    struct hp_wpp_names names;
    size_t n_threads;
    bool found = false;
    const struct hp_wpp_thread *threads = hp_wpp_threads(reader, &n_threads);
    HP_TRY(hp_wpp_names_init(&names, reader));
    enum hp_err err = HP_OK;
    uint64_t skip = selection->skip, left = selection->count;
    for (size_t i = 0; i < n_threads && err == HP_OK; i++) {
        if (selection->thread != UINT64_MAX && selection->thread != threads[i].id)
            continue;
        found = true;
        if (skip < threads[i].symbols)
            err = print_thread(reader, &names, i, skip, &left);
        skip -= skip < threads[i].symbols ? skip : threads[i].symbols;
    }
    hp_wpp_names_fini(&names);
    if (err == HP_OK && selection->thread != UINT64_MAX && !found)
        err = hp_fail(HP_ERR_NOTFOUND, "there is no thread %" PRIu64, selection->thread);
    if (err == HP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        err = hp_fail(HP_ERR_IO, "cannot write to standard output: %m");
    return err;
}

static const struct selection defaults = {.thread = UINT64_MAX, .count = UINT64_MAX};

static const struct hp_option rows[] = {
    {"thread", 't', HP_OPT_COUNT, offsetof(struct selection, thread), "N",
     "only thread N; the first is 0", 0},
    {"skip", 0, HP_OPT_COUNT, offsetof(struct selection, skip), "N", "leave out the first N paths",
     0},
    {"count", 'n', HP_OPT_COUNT, offsetof(struct selection, count), "N",
     "print N of them (default: all)", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct hp_wpp_reader *reader;
    (void)n, (void)status;
    HP_TRY(hp_wpp_open(words[0], &reader));
    enum hp_err err = print_selected(reader, values);
    hp_wpp_close(reader);
    return err;
}

const struct hp_command hp_command_wpp_expand = {
    .name = "expand",
    .group = "wpp",
    .summary = "print the exact sequence of paths",
    .synopsis = "[OPTIONS] FILE",
    .help = "Prints the exact sequence of paths, a line each: thread, number, where the path "
            "starts, its\n"
            "branches (1 taken, first branch first; '-' for none), and its instructions. Threads "
            "come one "
            "after\n"
            "the other.\n",
    .examples = "  hotpath wpp expand gzip.wpp --thread 0 --skip 1M --count 100\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "expand takes one file",
    .instead = "hotpath wpp expand FILE",
    .defaults = &defaults,
    .size = sizeof(struct selection),
    .run = run_command,
};
