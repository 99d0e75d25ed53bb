// SPDX-License-Identifier: MIT
/* hotpath stop: ends a recording that runs elsewhere; its profile is kept. */
#include "cli/cli.h"
#include "cli/recording.h"
#include "text/json.h"
#include "text/strbuf.h"

#include <time.h>

struct request {
    bool list, all, json;
};

static const struct hp_option rows[] = {
    {"list", 'l', HP_FLAG(list), NULL, "list what is recorded; end nothing"},
    {"all", 'a', HP_FLAG(all), NULL, "end all of them"},
    {"json", 'j', HP_FLAG(json), NULL, "with --list: print JSON"},
    {0},
};

static long long seconds_of(const struct hp_recording *r)
{
    long long seconds = (long long)time(NULL) - (long long)r->started;
    return seconds > 0 ? seconds : 0;
}

static enum hp_err print_json(const struct hp_recordings *recordings)
{
    struct hp_json json = {.out = stdout, .lines = 1};
    hp_json_begin_array(&json);
    for (size_t i = 0; i < recordings->n; i++) {
        const struct hp_recording *r = &recordings->all[i];
        hp_json_begin_object(&json);
        hp_json_put_int(&json, "pid", r->pid);
        hp_json_put_int(&json, "seconds", seconds_of(r));
        hp_json_put_string(&json, "kind", r->what);
        hp_json_put_string(&json, "file", r->output);
        hp_json_put_string(&json, "command", r->command);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    return hp_json_finish(&json);
}

static void print(const struct hp_recordings *recordings)
{
    size_t widest = strlen("file"); /* of the names */
    for (size_t i = 0; i < recordings->n; i++)
        if (strlen(recordings->all[i].output) > widest)
            widest = strlen(recordings->all[i].output);
    if (recordings->n)
        printf("%8s %8s  %-6s  %-*s  %s\n", "pid", "seconds", "by", (int)widest, "file", "command");
    for (size_t i = 0; i < recordings->n; i++) {
        const struct hp_recording *r = &recordings->all[i];
        struct hp_strbuf file HP_CLEANUP(hp_strbuf_fini) = {0};
        struct hp_strbuf command HP_CLEANUP(hp_strbuf_fini) = {0};
        hp_strbuf_clean(&file, *r->output ? r->output : "-");
        hp_strbuf_clean(&command, r->command);
        printf("%8d %8lld  %-6s  %-*s  %s\n", (int)r->pid, seconds_of(r), r->what, (int)widest,
               hp_strbuf_text(&file), hp_strbuf_text(&command));
    }
}

/* The path of a file that may not be there yet, from the root; NULL: its directory is not there. */
static char *path_of(const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    char *name HP_CLEANUP(hp_free) = strndup(file, (size_t)(base - file));
    char *directory HP_CLEANUP(hp_free) = realpath(slash && name ? name : ".", NULL);
    char *path = NULL;
    if (directory && asprintf(&path, "%s/%s", directory[1] ? directory : "", base) < 0)
        return NULL;
    return path;
}

/* Whether a word names it: by hotpath's process id, or its file. */
static bool is_meant(const struct hp_recording *r, const char *word)
{
    char pid[16];
    char *meant HP_CLEANUP(hp_free) = path_of(word);
    char *output HP_CLEANUP(hp_free) = path_of(r->output);
    snprintf(pid, sizeof pid, "%d", (int)r->pid);
    return strcmp(word, pid) == 0 || (*r->output && meant && output && strcmp(meant, output) == 0);
}

static enum hp_err stop(const struct hp_recording *r)
{
    char said[4500];
    HP_TRY(hp_recording_stop(r, said, sizeof said));
    fprintf(stderr, "hotpath: recording %d has ended%s%s\n", (int)r->pid, *said ? ": " : "", said);
    return HP_OK;
}

static enum hp_err stop_meant(const struct hp_recordings *recordings, const char *word, bool all)
{
    size_t n = 0;
    for (size_t i = 0; i < recordings->n; i++)
        if (all || is_meant(&recordings->all[i], word)) {
            n++;
            HP_TRY(stop(&recordings->all[i]));
        }
    if (n == 0 && !all)
        return hp_fail(HP_ERR_NOTFOUND,
                       "no recording has the process id or file '%s' "
                       "(hotpath stop --list)",
                       word);
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    const struct request *r = call->values;
    struct hp_recordings recordings HP_CLEANUP(hp_recordings_fini) = {0};
    if (r->json && !r->list)
        return hp_fail_usage(call, "--json is for --list");
    if (call->n && (r->list || r->all))
        return hp_fail_usage(call, "a recording is named without --list and --all");
    HP_TRY(hp_recordings_find(&recordings));
    if (r->json)
        return print_json(&recordings);
    if (recordings.n == 0 && !r->list && !call->n && !r->all)
        return hp_fail(HP_ERR_NOTFOUND, "nothing is being recorded");
    if (r->list || (!call->n && !r->all && recordings.n > 1)) {
        print(&recordings);
        return r->list ? HP_OK
                       : hp_fail(HP_ERR_INVALID,
                                 "%zu recordings run: name one by its pid or file, "
                                 "or say --all",
                                 recordings.n);
    }
    return stop_meant(&recordings, call->words[0], !call->n);
}

const struct hp_command hp_command_stop = {
    .name = "stop",
    .summary = "end a recording that runs elsewhere, and keep its profile",
    .synopsis = "[OPTIONS] [RECORDING]",
    .help = "Ends what 'hotpath record', 'run', 'top' or 'trace record' observes in another "
            "terminal, and waits until its profile is written or printed. The program is not "
            "harmed: it goes on unobserved, and that hotpath waits for it. RECORDING is the "
            "process id of that hotpath, or its output file; it can be omitted where there is only "
            "one. Recordings of the same user are found.\n",
    .examples = "  hotpath record -o server.hotpath -- ./server     in one terminal\n"
                "  hotpath stop server.hotpath                      in another\n"
                "  hotpath stop --list\n",
    .options = {rows},
    .values = {HP_VALUES(.list = false)},
    .run = run,
};
