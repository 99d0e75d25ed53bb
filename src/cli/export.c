// SPDX-License-Identifier: MIT
#include "export/export.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"
#include "session/session_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW 10000 /* instructions, when nothing is said */

static void print_formats(void)
{
    size_t n;
    const struct hp_export_format *const *formats = hp_export_formats(&n);
    printf("\nFormats:\n");
    for (size_t i = 0; i < n; i++)
        printf("  %-15s %s\n", formats[i]->name, formats[i]->summary);
}

static const struct hp_usage usage = {
    .command = "hotpath export",
    .synopsis = "[OPTIONS] --format FORMAT (FILE | -- PROGRAM [ARGUMENTS])",
    .help =
        "Writes what hotpath found for another tool. Most formats are made of a profile, FILE.\n"
        "\n"
        "A pipeline log has what happened on a machine in cycles to every instruction of a part\n"
        "of a run, the first 10,000 or what --after and --for say. It is made of a PROGRAM, or of\n"
        "a trace that 'hotpath trace record --addresses' made. What comes before warms the caches\n"
        "and predictors.\n"
        "\n"
        "Traces and vectors for simulators are made of a PROGRAM or a trace too: of all that one\n"
        "thread executes, or of the part that --from, --after and --for say.\n",
    .lists = print_formats,
    .examples = "  hotpath export --format kanata -o ls.kanata -- ls\n"
                "  hotpath export --format o3 --machine vaswani --after 1M --for 2000 "
                "gzip.hptrace\n"
                "  hotpath export --format champsim --after 1G --for 100M -o gzip.champsim -- gzip "
                "-9k FILE\n"
                "  hotpath export --format simpoint --interval 10M -o gzip.bb -- gzip -9k FILE\n",
};

#define NOT_GIVEN UINT64_MAX /* a number that was not said */

/* What the command line says, and what becomes of it. */
struct export
{
    struct hp_progress progress; /* first */
    bool quiet;
    struct hp_session_settings session;
    const struct hp_export_format *format;
    const char *name;    /* of the format */
    const char *pattern; /* of the output's name; NULL: standard output */
    const char *thread_name;
    struct hp_export_request request;
    uint64_t interval;
    uint32_t thread;
    struct hp_outfile out, second;
    struct hp_log *log;
    struct hp_export_written written; /* of HP_EXPORT_STREAM */
};

static enum hp_err open_log(void *context, struct hp_session *session)
{
    struct export *e = context;
    struct hp_profiler *profiler;
    FILE *file = e->pattern ? e->out.file : stdout;
    HP_TRY(hp_log_new(e->format->log, file, hp_session_program(session),
                      hp_session_functions(session), e->thread, &e->log));
    HP_TRY(hp_log_profiler_new(e->log, &profiler));
    return hp_session_add(session, profiler);
}

static enum hp_err open_stream(void *context, struct hp_session *session)
{
    struct export *e = context;
    struct hp_profiler *profiler;
    HP_TRY(hp_stream_profiler_new(
        e->format->stream,
        &(struct hp_stream_setup){.out = e->pattern ? e->out.file : stdout,
                                  .second = e->second.file,
                                  .code = hp_session_code(session),
                                  .functions = hp_session_functions(session),
                                  .thread = e->thread,
                                  .interval = e->interval == NOT_GIVEN ? 0 : e->interval,
                                  .written = &e->written},
        &profiler));
    return hp_session_add(session, profiler);
}

/* --- What was said ---------------------------------------------------------------------------- */

/* Where "--" is; 0: nowhere. What is behind it is a program. */
static int find_dashes(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return i;
    return 0;
}

/* `n` words are left, `n_program` of them a program (0: none). */
static enum hp_err check_words(struct export *e, int n, int n_program)
{
    if (n == 0 && !e->name)
        return hp_fail(HP_ERR_INVALID, "no format and no file given; try: hotpath export --help");
    HP_TRY(hp_export_find(e->name, &e->format));
    bool profile = e->format->source == HP_EXPORT_PROFILE;
    if (profile && (n != 1 || n_program))
        return hp_fail(HP_ERR_INVALID,
                       "'%s' is made of one profile; record it first: hotpath record -o FILE -- "
                       "PROGRAM ARGUMENTS",
                       e->name);
    if (n == 0)
        return hp_fail(HP_ERR_INVALID,
                       "neither a trace nor a program given; try: hotpath export "
                       "--format %s -o FILE -- PROGRAM ARGUMENTS",
                       e->name);
    if (n_program ? n != n_program : n != 1)
        return hp_fail(HP_ERR_INVALID, "export takes one file, or a program behind --");
    if (n_program && !e->pattern)
        return hp_fail(HP_ERR_INVALID, "-o FILE is needed: standard output is the program's");
    return HP_OK;
}

/* An option that says nothing to what the format is made of is a mistake. */
static enum hp_err check_options(const struct export *e)
{
    const struct hp_session_settings *session = &e->session;
    bool of_profile = e->format->source == HP_EXPORT_PROFILE;
    bool cuts = e->format->stream && e->format->stream->intervals;
    const struct {
        const char *name;
        bool given, fits;
    } options[] = {
        {"module", e->request.module, of_profile},
        {"table", e->request.table, of_profile},
        {"metric", e->request.metric, of_profile},
        {"machine", session->machine, e->format->source == HP_EXPORT_TIMINGS},
        {"interval", e->interval != NOT_GIVEN, cuts},
        {"thread", e->thread_name, !of_profile},
        {"from", session->from, !of_profile},
        {"after", session->after, !of_profile},
        {"for", session->length != NOT_GIVEN, !of_profile},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && !options[i].fits)
            return hp_fail(HP_ERR_INVALID, "the format '%s' has no use for --%s", e->name,
                           options[i].name);
    return HP_OK;
}

/* From words to numbers; what was not said is as the format has it. */
static enum hp_err settle_options(struct export *e)
{
    uint64_t thread = 0;
    bool all = e->thread_name && strcmp(e->thread_name, "all") == 0;
    if (all && !(e->format->stream && e->format->stream->all))
        return hp_fail(HP_ERR_INVALID, "the format '%s' is of one thread: --thread N", e->name);
    if (e->thread_name && !all)
        HP_TRY(hp_parse_count(e->thread_name, &thread));
    if (thread >= HP_NO_ID)
        return hp_fail(HP_ERR_INVALID, "there is no thread %" PRIu64, thread);
    if (e->interval == 0)
        return hp_fail(HP_ERR_INVALID, "--interval 0: an interval has instructions");
    e->thread = all ? HP_STREAM_ALL : (uint32_t)thread;
    if (e->session.length == NOT_GIVEN)
        e->session.length = e->format->source == HP_EXPORT_TIMINGS ? WINDOW : 0;
    if (e->format->source == HP_EXPORT_TIMINGS)
        e->session.attach = open_log;
    else if (e->format->source == HP_EXPORT_STREAM) {
        e->session.attach = open_stream;
        e->session.addresses = e->format->stream->addresses;
    }
    e->session.timings = e->format->source == HP_EXPORT_TIMINGS;
    return HP_OK;
}

/* --- What is said of it ----------------------------------------------------------------------- */

static void print_notes(const struct hp_profile *profile)
{
    for (size_t i = 0; i < profile->n_notes; i++)
        fprintf(stderr, "hotpath: note: %s\n", profile->notes[i].text);
}

static void print_written(const struct hp_export_written *written, const char *path)
{
    fprintf(stderr, "hotpath: %" PRIu64 " of %" PRIu64 " %s written to %s%s%s%s%s%s\n",
            written->written, written->total, written->unit, path,
            written->missing[0] ? " (the rest: " : "", written->missing,
            written->missing[0] ? ")" : "", written->detail[0] ? ": " : "", written->detail);
}

static void print_log(const struct export *e, const char *path)
{
    const struct hp_log_stats *stats = hp_log_stats(e->log);
    if (stats->others)
        fprintf(stderr,
                "hotpath: note: %" PRIu64
                " instructions of other threads are not in the log (--thread)\n",
                stats->others);
    fprintf(stderr,
            "hotpath: %" PRIu64 " instructions, %" PRIu64 " retired, in %" PRIu64
            " cycles, written to %s\n",
            stats->instructions, stats->retired,
            stats->instructions ? stats->last - stats->first + 1 : 0, path);
}

/* What there is to know of it: how much, and what was wrong. */
static void print_end(struct export *e, const char *path, const struct hp_profile *profile)
{
    print_notes(profile);
    if (e->format->source == HP_EXPORT_TIMINGS) {
        print_log(e, path);
        return;
    }
    if (e->written.written != e->written.total)
        snprintf(e->written.missing, sizeof e->written.missing, "other threads, see --thread");
    print_written(&e->written, path);
}

/* --- Doing it --------------------------------------------------------------------------------- */

/* A profile, in a format that is made of one. */
static enum hp_err convert(struct export *e, const char *file)
{
    struct hp_profile *profile;
    struct hp_export_written written = {.unit = ""};
    HP_TRY(hp_cli_load(file, &profile));
    enum hp_err err = e->pattern ? hp_outfile_open(&e->out, e->pattern) : HP_OK;
    if (err == HP_OK)
        err = e->format->write(profile, &e->request, e->pattern ? e->out.file : stdout, &written);
    if (err == HP_OK && e->pattern)
        err = hp_outfile_commit(&e->out);
    else if (err == HP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        err = hp_fail(HP_ERR_IO, "standard output: %s", strerror(errno));
    hp_outfile_abort(&e->out);
    hp_profile_free(profile);
    if (err == HP_OK && e->pattern && !e->quiet)
        print_written(&written, e->pattern);
    return err;
}

/* The file, and the one that belongs to it, if the format has one. */
static enum hp_err open_files(struct export *e, const char *path)
{
    const char *suffix = e->format->stream ? e->format->stream->second : NULL;
    HP_TRY(hp_outfile_open(&e->out, path));
    if (!suffix)
        return HP_OK;
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *second = malloc(size);
    if (!second)
        return hp_fail_nomem();
    snprintf(second, size, "%s%s", path, suffix);
    enum hp_err err = hp_outfile_open(&e->second, second);
    free(second);
    return err;
}

static enum hp_err commit_files(struct export *e)
{
    HP_TRY(hp_outfile_commit(&e->out));
    return e->second.file ? hp_outfile_commit(&e->second) : HP_OK;
}

/* What is executed in a run or a trace, and what becomes of it. */
static enum hp_err run(struct export *e, char **argv, bool is_program, int *status)
{
    struct hp_profile *profile = NULL;
    char *path = NULL;
    if (e->pattern) {
        path = hp_output_name(e->pattern, getpid());
        HP_TRY(path ? HP_OK : hp_fail_nomem());
    }
    enum hp_err err = path ? open_files(e, path) : HP_OK;
    hp_progress_of_session(&e->progress, &e->session, e->quiet);
    if (err == HP_OK)
        err = is_program ? hp_session_run(&e->session, argv + 1, &profile, status)
                         : hp_session_replay(&e->session, argv[1], &profile);
    if (err == HP_OK && path)
        err = commit_files(e);
    if (err == HP_OK && !e->quiet)
        print_end(e, path ? path : "standard output", profile);
    hp_outfile_abort(&e->out);
    hp_outfile_abort(&e->second);
    hp_profile_free(profile);
    free(path);
    return err;
}

int hp_cmd_export(int argc, char **argv)
{
    struct export e = {.interval = NOT_GIVEN};
    const struct hp_option options[] = {
        {"format", 'f', HP_OPT_TEXT, &e.name, "FORMAT", "what to write; see below"},
        {"output", 'o', HP_OPT_TEXT, &e.pattern, "FILE",
         "where to (default: standard output; %p: hotpath's\nprocess id)"},
        {"module", 0, HP_OPT_TEXT, &e.request.module, "NAME",
         "of a profile: the file of the program that it is\nabout (default: the one that was "
         "started)"},
        {"table", 0, HP_OPT_TEXT, &e.request.table, "NAME",
         "of a profile: counts of this hot path table, not the\nexact ones"},
        {"metric", 0, HP_OPT_TEXT, &e.request.metric, "NAME",
         "of a profile: instructions (default) or cycles"},
        {"machine", 'm', HP_OPT_TEXT, &e.session.machine, "NAME",
         "of a pipeline log: the machine, vaswani, alpha21264,\narm9, modern (the default), or a "
         "file"},
        {"interval", 0, HP_OPT_COUNT, &e.interval, "N",
         "of vectors: instructions of an interval (default:\n100M)"},
        {"thread", 't', HP_OPT_TEXT, &e.thread_name, "N",
         "which thread (default: 0, that of the program's\nstart; of vectors also: all)"},
        {"from", 0, HP_OPT_TEXT, &e.session.from, "FUNCTION",
         "start when FUNCTION is first entered"},
        {"after", 0, HP_OPT_COUNT, &e.session.after, "N", "skip N instructions (10M, 1G, ...)"},
        {"for", 0, HP_OPT_COUNT, &e.session.length, "N",
         "write N instructions (default: all; of a pipeline\nlog 10000, 0: all)"},
        HP_SESSION_WATCH_ROWS(e.session),
        {"quiet", 'q', HP_OPT_FLAG, &e.quiet, NULL, "no progress, no closing line"},
        {0},
    };
    int n, status = HP_STATUS_FAILED, dashes = find_dashes(argc, argv);
    bool exit_now;
    e.session.length = NOT_GIVEN;
    e.session.lines = HP_LINES_NONE;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK)
        err = check_words(&e, n, dashes ? argc - 1 - dashes : 0);
    if (err == HP_OK)
        err = check_options(&e);
    if (err == HP_OK)
        err = settle_options(&e);
    if (err == HP_OK && !dashes)
        status = 0;
    if (err == HP_OK)
        err = e.format->source == HP_EXPORT_PROFILE ? convert(&e, argv[1])
                                                    : run(&e, argv, dashes != 0, &status);
    hp_log_free(e.log);
    if (err == HP_OK)
        return status;
    int failed = hp_cli_fail(err);
    return status == 0 ? failed : status;
}
