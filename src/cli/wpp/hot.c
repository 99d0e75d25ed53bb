// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/wpp/names.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strbuf.h"

#define DEFAULT_LENGTH 32
#define DEFAULT_TOP    10
#define SHOWN          12 /* lines of a subpath, in text, before it is cut */

struct request {
    uint64_t length, top;
    bool json;
};

struct hot {
    struct hp_open_wpp wpp;
    struct hp_wpp_subpath *list;
    size_t n;
    uint64_t insns; /* of the run */
};

static void close_hot(struct hot *hot)
{
    hp_wpp_subpaths_free(hot->list, hot->n);
    hp_open_wpp_close(&hot->wpp);
}

static void json_path(struct hp_json *json, struct hp_open_wpp *wpp, const struct hp_wpp_path *path)
{
    struct hp_wpp_text text;
    const struct hp_symbol *function = hp_wpp_function(wpp, path);
    hp_wpp_describe(wpp, path, &text);
    hp_json_begin_object(json);
    hp_json_put_string(json, "start", text.place);
    hp_json_put_uint(json, "length", path->length);
    hp_json_put_string(json, "outcomes", text.outcomes);
    hp_json_put_uint(json, "instructions", path->insns);
    hp_json_put_string(json, "function", function ? function->name : "");
    hp_json_end_object(json);
}

static enum hp_err print_json(struct hot *hot)
{
    struct hp_json json = {.out = stdout, .lines = 2};
    hp_json_begin_object(&json);
    hp_json_put_uint(&json, "instructions", hot->insns);
    hp_json_put_array(&json, "subpaths");
    for (size_t i = 0; i < hot->n; i++) {
        const struct hp_wpp_subpath *subpath = &hot->list[i];
        uint64_t weight = subpath->count * subpath->insns;
        hp_json_begin_object(&json);
        hp_json_put_uint(&json, "count", subpath->count);
        hp_json_put_uint(&json, "length", subpath->n);
        hp_json_put_uint(&json, "instructions", weight);
        hp_json_put_fixed(&json, "share", hp_number_share(weight, hot->insns), 6);
        hp_json_put_array(&json, "paths");
        for (size_t k = 0; k < subpath->n; k++)
            json_path(&json, &hot->wpp, &hot->wpp.paths[subpath->paths[k]]);
        hp_json_end_array(&json);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

static void print_path(struct hp_open_wpp *wpp, const struct hp_wpp_path *path, size_t times)
{
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_wpp_text text;
    const struct hp_symbol *function = hp_wpp_function(wpp, path);
    hp_wpp_describe(wpp, path, &text);
    hp_strbuf_clean(&line, function ? function->name : text.place);
    if (function && path->offset != function->offset)
        hp_strbuf_format(&line, "+%s", HP_HEX(path->offset - function->offset));
    if (path->length)
        hp_strbuf_format(&line, "  %s", text.outcomes);
    if (times > 1)
        hp_strbuf_format(&line, "  x%zu", times);
    printf("         %s\n", hp_strbuf_text(&line));
}

/* Lines of the subpath: a path that comes several times in a row is one. */
static void print_subpath(struct hp_open_wpp *wpp, const struct hp_wpp_subpath *subpath)
{
    size_t lines = 0, times;
    for (size_t i = 0; i < subpath->n; i += times) {
        for (times = 1; i + times < subpath->n; times++)
            if (subpath->paths[i + times] != subpath->paths[i])
                break;
        if (++lines > SHOWN) {
            printf("         ... and %zu more paths\n", subpath->n - i);
            return;
        }
        print_path(wpp, &wpp->paths[subpath->paths[i]], times);
    }
}

static enum hp_err print_text(struct hot *hot)
{
    for (size_t i = 0; i < hot->n; i++) {
        const struct hp_wpp_subpath *subpath = &hot->list[i];
        printf("%7s  executed %s time%s: %zu path%s, %s instruction%s\n",
               HP_PERCENT(hp_number_share(subpath->count * subpath->insns, hot->insns)),
               HP_GROUPED(subpath->count), subpath->count == 1 ? "" : "s", subpath->n,
               subpath->n == 1 ? "" : "s", HP_GROUPED(subpath->insns),
               subpath->insns == 1 ? "" : "s");
        print_subpath(&hot->wpp, subpath);
    }
    return hp_cli_flush();
}

static enum hp_err run(struct hp_invocation *call)
{
    const struct request *r = call->values;
    struct hot hot HP_CLEANUP(close_hot) = {0};
    uint64_t top = r->top != HP_NOT_SAID ? r->top : r->json ? 0 : DEFAULT_TOP;
    if (r->length == 0)
        return hp_fail(HP_ERR_INVALID, "--length is at least 1");
    HP_TRY(hp_open_wpp(&hot.wpp, call->words[0]));
    hot.insns = hp_wpp_reader_stats(hot.wpp.reader)->insns;
    HP_TRY(hp_wpp_subpaths(hot.wpp.reader, (size_t)r->length, (size_t)top, &hot.list, &hot.n));
    return r->json ? print_json(&hot) : print_text(&hot);
}

static const struct hp_option rows[] = {
    {"length", 'l', HP_COUNT(length), "N", "paths in a subpath, at most (default: 32)"},
    {"top", 'n', HP_COUNT(top), "N",
     "subpaths to print (default: 10 in text, all in JSON; 0: all)"},
    {"json", 'j', HP_FLAG(json), NULL, "JSON, for scripts"},
    {0},
};

const struct hp_command hp_command_wpp_hot = {
    .name = "wpp hot",
    .summary = "print the heaviest subpaths, across loops and calls",
    .synopsis = "[OPTIONS] FILE",
    .help = "Prints the heaviest subpaths: sequences of paths that were executed again and again, "
            "whether they lie in a loop or lead through calls and returns. The whole run is cut "
            "into subpaths of at most --length paths, so shares add up.\n",
    .examples = "  hotpath wpp hot gzip.wpp --length 8\n",
    .options = {rows},
    .values = {HP_VALUES(.length = DEFAULT_LENGTH, .top = HP_NOT_SAID)},
    .run = run,
};
