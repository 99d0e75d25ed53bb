// SPDX-License-Identifier: MIT
#include "export/export.h"

#include "base/base.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "session/session_impl.h"
#include "text/strbuf.h"

#define WINDOW 10000 /* instructions, when nothing is said */

/* What the command line says, and what becomes of it. */
struct request {
    struct hp_cli_session session; /* first: it begins with the callbacks' context */
    const struct hp_export_format *format;
    const char *name;    /* of the format */
    const char *pattern; /* of the output's name; NULL: standard output */
    const char *thread_name;
    struct hp_export_request request; /* its file: that of `out`, or stdout */
    uint64_t interval;
    uint32_t thread;
    struct hp_cli_shown shown;
    struct hp_outfile out, second;
};

static void close_export(struct request **e)
{
    hp_outfile_abort(&(*e)->out);
    hp_outfile_abort(&(*e)->second);
}

static const char *text_of(void *session, uint32_t id)
{
    return hp_session_text(session, id);
}

static const char *name_of_thread(void *session, uint32_t id)
{
    return hp_names_find(&((struct hp_session *)session)->names, id);
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct request *e = context;
    struct hp_profiler *profiler;
    struct hp_stream_setup setup = {
        .settings = e->name,
        .names = {session, hp_session_command(session), text_of, name_of_thread},
        .out = e->request.out,
        .second = e->second.file,
        .code = hp_session_code(session),
        .program = hp_session_program(session),
        .functions = hp_session_functions(session),
        .thread = e->thread,
        .interval = e->interval == HP_NOT_SAID ? 0 : e->interval,
        .written = &e->request.written};
    HP_TRY(hp_stream_profiler_new(e->format, &setup, &profiler));
    return hp_session_add(session, profiler);
}

/* `n` words, `behind` of them behind "--": a file, or a program there. */
static enum hp_err check_words(struct request *e, int n, int behind)
{
    if (n == 0 && !e->name)
        return hp_fail(HP_ERR_INVALID, "no format and no file given; try: hotpath export --help");
    HP_TRY(hp_export_find(e->name, &e->format));
    if (e->format->write && (n != 1 || behind))
        return hp_fail(HP_ERR_INVALID,
                       "'%s' is made of one profile; record it first: hotpath record -o FILE -- "
                       "PROGRAM ARGUMENTS",
                       e->format->name);
    if (n == 0)
        return hp_fail(HP_ERR_INVALID,
                       "neither a trace nor a program given; try: hotpath export --format %s -o "
                       "FILE -- PROGRAM ARGUMENTS",
                       e->name);
    if (n != (behind ? behind : 1))
        return hp_fail(HP_ERR_INVALID, "export takes one file, or a program behind --");
    if (behind && !e->pattern)
        return hp_fail(HP_ERR_INVALID, "-o FILE is needed: standard output is the program's");
    return HP_OK;
}

/* An option that says nothing to what the format is made of is a mistake. */
static enum hp_err check_options(const struct request *e)
{
    const struct hp_session_settings *session = &e->session.settings;
    bool of_profile = e->format->write;
    const struct {
        const char *name;
        bool given, fits;
    } options[] = {
        {"module", e->request.module, of_profile},
        {"table", e->request.table, of_profile},
        {"metric", e->request.metric, of_profile},
        {"machine", session->machine, e->format->timing},
        {"plt", e->shown.plt, e->format->functions},
        {"physical", e->shown.physical, e->format->inlined},
        {"interval", e->interval != HP_NOT_SAID, e->format->intervals},
        {"thread", e->thread_name, !of_profile},
        {"from", session->from, !of_profile},
        {"after", session->after, !of_profile},
        {"for", session->length != HP_NOT_SAID, !of_profile},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && !options[i].fits)
            return hp_fail(HP_ERR_INVALID, "the format '%s' has no use for --%s", e->format->name,
                           options[i].name);
    if (e->request.module && strcmp(e->request.module, HP_EXPORT_ALL) == 0 &&
        !e->format->all_modules)
        return hp_fail(HP_ERR_INVALID,
                       "the format '%s' is of one file: --module " HP_EXPORT_ALL " is not for it",
                       e->name);
    return HP_OK;
}

/* From words to numbers; what was not said is as the format has it. */
static enum hp_err settle_options(struct request *e)
{
    struct hp_session_settings *settings = &e->session.settings;
    const struct hp_export_format *format = e->format;
    uint64_t thread = 0;
    bool all = e->thread_name ? strcmp(e->thread_name, "all") == 0 : format->all_usual;
    if (all && !format->all)
        return hp_fail(HP_ERR_INVALID, "the format '%s' is of one thread: --thread N",
                       format->name);
    if (e->thread_name && !all)
        HP_TRY(hp_parse_count(e->thread_name, &thread));
    if (thread >= HP_NO_ID)
        return hp_fail(HP_ERR_INVALID, "there is no thread %" PRIu64, thread);
    if (e->interval == 0)
        return hp_fail(HP_ERR_INVALID, "--interval 0: an interval has instructions");
    e->thread = all ? HP_STREAM_ALL : (uint32_t)thread;
    settings->timings = format->timing;
    if (settings->length == HP_NOT_SAID)
        settings->length = settings->timings && !format->whole ? WINDOW : 0;
    settings->attach = attach;
    settings->addresses = format->addresses;
    return HP_OK;
}

/* Says what a format about one file left out, even where that is standard output: the profile of a
 * file that hardly ran looks like one of a fast program. Where it failed and most is elsewhere, the
 * error says it. */
static enum hp_err tell_left_out(const struct request *e, enum hp_err err)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    char failure[512];
    bool heavier;
    snprintf(failure, sizeof failure, "%s", hp_error_text());
    if ((err != HP_OK && err != HP_ERR_INVALID) ||
        hp_export_left_out(e->format, &e->request, &text, &heavier) != HP_OK)
        return err == HP_OK ? HP_OK : hp_fail(err, "%s", failure);
    if (err != HP_OK)
        return hp_fail(err, "%s%s%s%s", failure, heavier ? " (" : "",
                       heavier ? hp_strbuf_text(&text) : "", heavier ? ")" : "");
    if (text.length && !e->session.quiet)
        fprintf(stderr, "hotpath: note: %s\n", hp_strbuf_text(&text));
    return HP_OK;
}

static void print_written(const struct hp_export_written *written, const char *path)
{
    fprintf(stderr, "hotpath: %" PRIu64 " of %" PRIu64 " %s written to %s%s%s%s%s%s\n",
            written->written, written->total, written->unit, path,
            written->missing[0] ? " (the rest: " : "", written->missing,
            written->missing[0] ? ")" : "", written->detail[0] ? ": " : "", written->detail);
}

/* How much of a run was written, and what was wrong. */
static void print_end(struct request *e, const char *path, const struct hp_profile *profile)
{
    struct hp_export_written *w = &e->request.written;
    for (size_t i = 0; i < profile->n_notes; i++)
        fprintf(stderr, "hotpath: note: %s\n", profile->notes[i].text);
    if (w->written != w->total)
        snprintf(w->missing, sizeof w->missing, "other threads, see --thread");
    if (e->format->timing && !w->detail[0])
        snprintf(w->detail, sizeof w->detail, "%" PRIu64 " retired, in %" PRIu64 " cycles",
                 w->retired, w->cycles);
    print_written(w, path);
}

/* The file, and the one that belongs to it, if the format has one. */
static enum hp_err open_files(struct request *e, const char *path)
{
    const char *suffix = e->format->second;
    e->request.out = stdout;
    if (!path)
        return HP_OK;
    HP_TRY(hp_outfile_open(&e->out, path));
    e->request.out = e->out.file;
    if (!suffix)
        return HP_OK;
    struct hp_strbuf second HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_format(&second, "%s%s", path, suffix);
    return second.failed ? hp_fail_nomem() : hp_outfile_open(&e->second, hp_strbuf_text(&second));
}

static enum hp_err commit_files(struct request *e)
{
    if (e->out.file)
        HP_TRY(hp_outfile_commit(&e->out));
    return e->second.file ? hp_outfile_commit(&e->second) : HP_OK;
}

/* A profile, in a format that is made of one. */
static enum hp_err convert(struct request *e, const char *file)
{
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    HP_TRY(hp_cli_load(file, &profile));
    e->shown.physical |= !e->format->inlined;
    if (e->format->functions)
        HP_TRY(hp_cli_show(profile, &e->shown));
    HP_TRY(open_files(e, e->pattern));
    e->request.profile = profile;
    HP_TRY(tell_left_out(e, e->format->write(&e->request)));
    HP_TRY(e->pattern ? commit_files(e) : hp_cli_flush());
    if (e->pattern && !e->session.quiet)
        print_written(&e->request.written, e->pattern);
    return HP_OK;
}

/* What is executed in a run or a trace. */
static enum hp_err observe(struct request *e, struct hp_invocation *call)
{
    struct hp_session_settings *settings = &e->session.settings;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *path HP_CLEANUP(hp_free) = NULL;
    if (e->pattern)
        HP_TRY(hp_cli_output_name(e->pattern, &path));
    HP_TRY(open_files(e, path));
    HP_TRY(hp_cli_session_begin(&e->session));
    HP_TRY(call->behind ? hp_session_run(settings, call->words, &profile, &call->status)
                        : hp_session_replay(settings, call->words[0], &profile));
    HP_TRY(commit_files(e));
    if (!e->session.quiet)
        print_end(e, path ? path : "standard output", profile);
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *e HP_CLEANUP(close_export) = call->values;
    HP_TRY(check_words(e, call->n, call->behind));
    HP_TRY(check_options(e));
    HP_TRY(settle_options(e));
    return e->format->write ? convert(e, call->words[0]) : observe(e, call);
}

static const struct hp_option rows[] = {
    {"format", 'f', HP_TEXT(name), "FORMAT",
     "what to write, with settings where it has any (hotpath help models); required"},
    {"output", 'o', HP_TEXT(pattern), "FILE",
     "where to (default: standard output; %p: hotpath's process id)"},
    {"module", 0, HP_TEXT(request.module), "NAME",
     "of a profile: the file of the program that it is about (default: the one that was started), "
     "or as much of its name as is enough; 'all': every file, in lcov and llvm-sample"},
    {"table", 0, HP_TEXT(request.table), "NAME",
     "of a profile: counts of this hot path table, not the exact ones"},
    {"metric", 0, HP_TEXT(request.metric), "NAME",
     "of a profile: instructions (default) or cycles"},
    HP_SHOWN_OPTIONS(shown),
    {"machine", 'm', HP_TEXT(session.settings.machine), "MACHINE",
     "of a pipeline log, or of ibs: the machine (default: modern): {}, or a file"},
    {"interval", 0, HP_COUNT(interval), "N",
     "of vectors: instructions of an interval (default: 100M; at least 4096)"},
    {"thread", 't', HP_TEXT(thread_name), "N",
     "which thread (default: 0, that of the program's start; of vectors also: all; of samples all "
     "by default)"},
    {"from", 0, HP_TEXT(session.settings.from), "FUNCTION", "start when FUNCTION is first entered"},
    {"after", 0, HP_COUNT(session.settings.after), "N", "skip N instructions (10M, 1G, ...)"},
    {"for", 0, HP_COUNT(session.settings.length), "N",
     "write N instructions (default: all; of a pipeline log 10000, 0: all)"},
    {0},
};

const struct hp_command hp_command_export = {
    .name = "export",
    .summary = "write a profile, or a part of a run, for another tool",
    .synopsis = "[OPTIONS] --format FORMAT (FILE | -- PROGRAM [ARGUMENTS])",
    .help =
        "Writes what hotpath found for another tool. Most formats are made of a profile, FILE.\n"
        "\n"
        "A pipeline log has what happened on a machine in cycles to every instruction of a part of "
        "a run, the first 10,000 or what --after and --for say. It is made of a PROGRAM, or of a "
        "trace that 'hotpath trace record --addresses' made. What comes before warms the caches "
        "and predictors.\n"
        "\n"
        "Traces and vectors for simulators are made of a PROGRAM or a trace too: of all that one "
        "thread executes, or of the part that --from, --after and --for say. Samples and traces "
        "of Intel PT for perf likewise, of all threads; samples of instructions (ibs) of one, on a "
        "machine in cycles.\n",
    .examples =
        "  hotpath export --format kanata -o ls.kanata -- ls\n"
        "  hotpath export --format o3 --machine vaswani --after 1M --for 2000 gzip.hptrace\n"
        "  hotpath export --format champsim --after 1G --for 100M -o gzip.champsim -- gzip -9k "
        "FILE\n"
        "  hotpath export --format simpoint --interval 10M -o gzip.bb -- gzip -9k FILE\n"
        "  hotpath export --format perf,period=1M,depth=32 -o gzip.perf -- gzip -9k FILE\n"
        "  hotpath export --format ibs,interval=1000 --machine modern -o gzip.ibs -- gzip -9k "
        "FILE\n",
    .options = {rows, hp_options_engine},
    .list = "FORMAT",
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS, .settings.length = HP_NOT_SAID,
                                     .settings.lines = HP_LINES_NONE},
                         .interval = HP_NOT_SAID, .request.written.unit = "")},
    .run = run,
};
