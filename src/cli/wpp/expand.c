// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "cli/cli.h"
#include "cli/wpp/names.h"

#define AT_ONCE 1024

struct request {
    uint64_t thread, skip, count;
};

HP_CLEANUP_POINTER(free_cursor, struct hp_wpp_cursor, hp_wpp_cursor_free)

/* Prints what is wanted of one thread. `*left` of it are still to be printed. */
static enum hp_err print_thread(const struct hp_open_wpp *wpp, size_t thread, uint32_t id,
                                uint64_t skip, uint64_t *left)
{
    uint32_t ids[AT_ONCE];
    struct hp_wpp_cursor *cursor HP_CLEANUP(free_cursor) = NULL;
    struct hp_wpp_text text;
    HP_TRY(hp_wpp_cursor_new(wpp->reader, thread, &cursor));
    hp_wpp_cursor_skip(cursor, skip);
    for (uint64_t number = skip; *left && !ferror(stdout);) {
        size_t n = hp_wpp_cursor_next(cursor, ids, *left < AT_ONCE ? (size_t)*left : AT_ONCE);
        if (n == 0)
            break;
        *left -= n;
        for (size_t i = 0; i < n; i++, number++) {
            const struct hp_wpp_path *path = &wpp->paths[ids[i]];
            hp_wpp_describe(wpp, path, &text);
            printf("%" PRIu32 " %" PRIu64 " %s %s %" PRIu32 "\n", id, number, text.place,
                   path->length ? text.outcomes : "-", path->insns);
        }
    }
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    const struct request *r = call->values;
    struct hp_open_wpp wpp HP_CLEANUP(hp_open_wpp_close) = {0};
    size_t n;
    bool found = r->thread == HP_NOT_SAID;
    HP_TRY(hp_open_wpp(&wpp, call->words[0]));
    const struct hp_wpp_thread *threads = hp_wpp_threads(wpp.reader, &n);
    uint64_t skip = r->skip, left = r->count;
    for (size_t i = 0; i < n; i++) {
        if (r->thread != HP_NOT_SAID && r->thread != threads[i].id)
            continue;
        found = true;
        if (skip < threads[i].symbols)
            HP_TRY(print_thread(&wpp, i, threads[i].id, skip, &left));
        skip -= skip < threads[i].symbols ? skip : threads[i].symbols;
    }
    if (!found)
        return hp_fail(HP_ERR_NOTFOUND, "there is no thread %" PRIu64, r->thread);
    return hp_cli_flush();
}

static const struct hp_option rows[] = {
    {"thread", 't', HP_COUNT(thread), "N", "only thread N; the first is 0"},
    {"skip", 0, HP_COUNT(skip), "N", "leave out the first N paths"},
    {"count", 'n', HP_COUNT(count), "N", "print N of them (default: all)"},
    {0},
};

const struct hp_command hp_command_wpp_expand = {
    .name = "wpp expand",
    .summary = "print the exact sequence of paths",
    .synopsis = "[OPTIONS] FILE",
    .help = "Prints the exact sequence of paths, a line each: thread, number, where the path "
            "starts, its branches (1 taken, first branch first; '-' for none), and its "
            "instructions. Threads come one after the other.\n",
    .examples = "  hotpath wpp expand gzip.wpp --thread 0 --skip 1M --count 100\n",
    .options = {rows},
    .values = {HP_VALUES(.thread = HP_NOT_SAID, .count = HP_NOT_SAID)},
    .run = run,
};
