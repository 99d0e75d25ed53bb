// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/wpp/names.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strbuf.h"

#include <inttypes.h>
#include <stdio.h>

#define DEFAULT_LENGTH 32
#define DEFAULT_TOP    10
#define SHOWN          12 /* lines of a subpath, in text, before it is cut */

struct hot {
    const struct hp_wpp_reader *reader;
    struct hp_wpp_names names;
    const struct hp_wpp_subpath *list;
    size_t n;
    uint64_t insns; /* of the run */
};

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_path(struct hp_json *json, struct hot *hot, const struct hp_wpp_path *path)
{
    char text[512];
    const struct hp_symbol *function = hp_wpp_names_function(&hot->names, path);
    hp_json_begin_object(json);
    hp_json_key(json, "start");
    hp_wpp_names_place(&hot->names, path, text, sizeof text);
    hp_json_string(json, text);
    hp_json_key(json, "length");
    hp_json_uint(json, path->length);
    hp_json_key(json, "outcomes");
    hp_wpp_outcomes(path, text);
    hp_json_string(json, text);
    hp_json_key(json, "instructions");
    hp_json_uint(json, path->insns);
    hp_json_key(json, "function");
    hp_json_string(json, function ? function->name : "");
    hp_json_end_object(json);
}

static enum hp_err print_json(struct hot *hot)
{
    size_t n_paths;
    const struct hp_wpp_path *paths = hp_wpp_paths(hot->reader, &n_paths);
    struct hp_json json = {.out = stdout, .lines = 2};
    hp_json_begin_object(&json);
    hp_json_key(&json, "instructions");
    hp_json_uint(&json, hot->insns);
    hp_json_key(&json, "subpaths");
    hp_json_begin_array(&json);
    for (size_t i = 0; i < hot->n; i++) {
        const struct hp_wpp_subpath *subpath = &hot->list[i];
        uint64_t weight = subpath->count * subpath->insns;
        hp_json_begin_object(&json);
        hp_json_key(&json, "count");
        hp_json_uint(&json, subpath->count);
        hp_json_key(&json, "length");
        hp_json_uint(&json, subpath->n);
        hp_json_key(&json, "instructions");
        hp_json_uint(&json, weight);
        hp_json_key(&json, "share");
        hp_json_fixed(&json, hp_number_share(weight, hot->insns), 6);
        hp_json_key(&json, "paths");
        hp_json_begin_array(&json);
        for (size_t k = 0; k < subpath->n; k++)
            json_path(&json, hot, &paths[subpath->paths[k]]);
        hp_json_end_array(&json);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

/* --- Text ------------------------------------------------------------------------------------- */

static void print_path(struct hot *hot, const struct hp_wpp_path *path, size_t times)
{
    struct hp_strbuf line = {0};
    char place[512], outcomes[HP_PATH_MAX_LENGTH + 1];
    const struct hp_symbol *function = hp_wpp_names_function(&hot->names, path);
    hp_wpp_names_place(&hot->names, path, place, sizeof place);
    hp_wpp_outcomes(path, outcomes);
    hp_strbuf_clean(&line, function ? function->name : place);
    if (function && path->offset != function->offset) {
        hp_strbuf_add(&line, "+");
        hp_strbuf_hex(&line, path->offset - function->offset);
    }
    printf("         %s", hp_strbuf_text(&line));
    if (path->length)
        printf("  %s", outcomes);
    if (times > 1)
        printf("  x%zu", times);
    printf("\n");
    hp_strbuf_fini(&line);
}

/* Lines of the subpath: a path that comes several times in a row is one. */
static void print_subpath(struct hot *hot, const struct hp_wpp_subpath *subpath)
{
    size_t n_paths, lines = 0, times;
    const struct hp_wpp_path *paths = hp_wpp_paths(hot->reader, &n_paths);
    for (size_t i = 0; i < subpath->n; i += times) {
        for (times = 1; i + times < subpath->n; times++)
            if (subpath->paths[i + times] != subpath->paths[i])
                break;
        if (++lines > SHOWN) {
            printf("         ... and %zu more paths\n", subpath->n - i);
            return;
        }
        print_path(hot, &paths[subpath->paths[i]], times);
    }
}

static enum hp_err print_text(struct hot *hot)
{
    char share[HP_NUMBER_SIZE], count[HP_NUMBER_SIZE], insns[HP_NUMBER_SIZE];
    for (size_t i = 0; i < hot->n; i++) {
        const struct hp_wpp_subpath *subpath = &hot->list[i];
        hp_number_percent(share, hp_number_share(subpath->count * subpath->insns, hot->insns));
        hp_number_grouped(count, subpath->count);
        hp_number_grouped(insns, subpath->insns);
        printf("%7s  executed %s time%s: %zu path%s, %s instruction%s\n", share, count,
               subpath->count == 1 ? "" : "s", subpath->n, subpath->n == 1 ? "" : "s", insns,
               subpath->insns == 1 ? "" : "s");
        print_subpath(hot, subpath);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return hp_fail(HP_ERR_IO, "cannot write to standard output: %m");
    return HP_OK;
}

static enum hp_err print_hot(const struct hp_wpp_reader *reader, uint64_t length, uint64_t top,
                             bool json)
{
    struct hot hot = {.reader = reader, .insns = hp_wpp_reader_stats(reader)->insns};
    struct hp_wpp_subpath *list;
    HP_TRY(hp_wpp_subpaths(reader, (size_t)length, (size_t)top, &list, &hot.n));
    hot.list = list;
    enum hp_err err = hp_wpp_names_init(&hot.names, reader);
    if (err == HP_OK)
        err = json ? print_json(&hot) : print_text(&hot);
    hp_wpp_names_fini(&hot.names);
    hp_wpp_subpaths_free(list, hot.n);
    return err;
}

struct request {
    uint64_t length, top;
    bool json;
};

static const struct request defaults = {.length = DEFAULT_LENGTH, .top = UINT64_MAX};

static const struct hp_option rows[] = {
    {"length", 'l', HP_OPT_COUNT, offsetof(struct request, length), "N",
     "paths in a subpath, at most (default: 32)", 0},
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, top), "N",
     "subpaths to print (default: 10 in text, all in JSON; 0: all)", 0},
    {"json", 'j', HP_OPT_FLAG, offsetof(struct request, json), NULL, "JSON, for scripts", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    const struct request *r = values;
    struct hp_wpp_reader *reader;
    uint64_t top = r->top != UINT64_MAX ? r->top : r->json ? 0 : DEFAULT_TOP;
    (void)n, (void)status;
    if (r->length == 0)
        return hp_fail(HP_ERR_INVALID, "--length is at least 1");
    HP_TRY(hp_wpp_open(words[0], &reader));
    enum hp_err err = print_hot(reader, r->length, top, r->json);
    hp_wpp_close(reader);
    return err;
}

const struct hp_command hp_command_wpp_hot = {
    .name = "hot",
    .group = "wpp",
    .summary = "print the heaviest subpaths, across loops and calls",
    .synopsis = "[OPTIONS] FILE",
    .help = "Prints the heaviest subpaths: sequences of paths that were executed again and again, "
            "whether they\n"
            "lie in a loop or lead through calls and returns. The whole run is cut into "
            "subpaths of at most\n"
            "--length paths, so shares add up.\n",
    .examples = "  hotpath wpp hot gzip.wpp --length 8\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "hot takes one file",
    .instead = "hotpath wpp hot FILE",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
