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

#define NOT_GIVEN UINT64_MAX /* a number that was not said */

/* What the command line says, and what becomes of it. */
struct export
{
    struct hp_cli_session session; /* first: it begins with the callbacks' context */
    const struct hp_export_format *format;
    const char *name;    /* of the format */
    const char *pattern; /* of the output's name; NULL: standard output */
    const char *thread_name;
    int n_program; /* words of it; 0: none */
    struct hp_export_request request;
    uint64_t interval;
    uint32_t thread;
    struct hp_outfile out, second;
    struct hp_export_written written; /* of a run */
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct export *e = context;
    struct hp_profiler *profiler;
    HP_TRY(hp_stream_profiler_new(
        e->format,
        &(struct hp_stream_setup){.out = e->pattern ? e->out.file : stdout,
                                  .second = e->second.file,
                                  .code = hp_session_code(session),
                                  .program = hp_session_program(session),
                                  .functions = hp_session_functions(session),
                                  .thread = e->thread,
                                  .interval = e->interval == NOT_GIVEN ? 0 : e->interval,
                                  .written = &e->written},
        &profiler));
    return hp_session_add(session, profiler);
}

/* --- What was said ---------------------------------------------------------------------------- */

/* `n` words are left, `n_program` of them a program (0: none). */
static enum hp_err check_words(struct export *e, int n, int n_program)
{
    if (n == 0 && !e->name)
        return hp_fail(HP_ERR_INVALID, "no format and no file given; try: hotpath export --help");
    HP_TRY(hp_export_find(e->name, &e->format));
    bool profile = e->format->write;
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
        {"interval", e->interval != NOT_GIVEN, e->format->intervals},
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
    if (all && !e->format->all)
        return hp_fail(HP_ERR_INVALID, "the format '%s' is of one thread: --thread N", e->name);
    if (e->thread_name && !all)
        HP_TRY(hp_parse_count(e->thread_name, &thread));
    if (thread >= HP_NO_ID)
        return hp_fail(HP_ERR_INVALID, "there is no thread %" PRIu64, thread);
    if (e->interval == 0)
        return hp_fail(HP_ERR_INVALID, "--interval 0: an interval has instructions");
    e->thread = all ? HP_STREAM_ALL : (uint32_t)thread;
    if (e->session.settings.length == NOT_GIVEN)
        e->session.settings.length = e->format->timing ? WINDOW : 0;
    e->session.settings.attach = attach;
    e->session.settings.addresses = e->format->addresses;
    e->session.settings.timings = e->format->timing;
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
    const struct hp_export_written *written = &e->written;
    if (written->total > written->written)
        fprintf(stderr,
                "hotpath: note: %" PRIu64
                " instructions of other threads are not in the log (--thread)\n",
                written->total - written->written);
    fprintf(stderr,
            "hotpath: %" PRIu64 " instructions, %" PRIu64 " retired, in %" PRIu64
            " cycles, written to %s\n",
            written->written, written->retired, written->cycles, path);
}

/* What there is to know of it: how much, and what was wrong. */
static void print_end(struct export *e, const char *path, const struct hp_profile *profile)
{
    print_notes(profile);
    if (e->format->timing) {
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
    if (err == HP_OK && e->pattern && !e->session.quiet)
        print_written(&written, e->pattern);
    return err;
}

/* The file, and the one that belongs to it, if the format has one. */
static enum hp_err open_files(struct export *e, const char *path)
{
    const char *suffix = e->format->second;
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
static enum hp_err run(struct export *e, char **words, bool is_program, int *status)
{
    struct hp_profile *profile = NULL;
    char *path = NULL;
    if (e->pattern) {
        path = hp_output_name(e->pattern, getpid());
        HP_TRY(path ? HP_OK : hp_fail_nomem());
    }
    enum hp_err err = path ? open_files(e, path) : HP_OK;
    if (err == HP_OK)
        err = hp_cli_session_begin(&e->session);
    if (err == HP_OK)
        err = is_program ? hp_session_run(&e->session.settings, words, &profile, status)
                         : hp_session_replay(&e->session.settings, words[0], &profile);
    if (err == HP_OK && path)
        err = commit_files(e);
    if (err == HP_OK && !e->session.quiet)
        print_end(e, path ? path : "standard output", profile);
    hp_outfile_abort(&e->out);
    hp_outfile_abort(&e->second);
    hp_profile_free(profile);
    free(path);
    return err;
}

static const struct export defaults = {
    .session = {.settings = {.length = NOT_GIVEN, .lines = HP_LINES_NONE},
                .cache_size = UINT64_C(256) << 20},
    .interval = NOT_GIVEN,
};

static const struct hp_option rows[] = {
    {"format", 'f', HP_OPT_TEXT, offsetof(struct export, name), "FORMAT",
     "what to write; see below", HP_WORDS_FORMATS},
    {"output", 'o', HP_OPT_TEXT, offsetof(struct export, pattern), "FILE",
     "where to (default: standard output; %p: hotpath's\nprocess id)", HP_WORDS_FILES},
    {"module", 0, HP_OPT_TEXT, offsetof(struct export, request.module), "NAME",
     "of a profile: the file of the program that it is\nabout (default: the one that was "
     "started)",
     0},
    {"table", 0, HP_OPT_TEXT, offsetof(struct export, request.table), "NAME",
     "of a profile: counts of this hot path table, not the\nexact ones", 0},
    {"metric", 0, HP_OPT_TEXT, offsetof(struct export, request.metric), "NAME",
     "of a profile: instructions (default) or cycles", 0},
    {"machine", 'm', HP_OPT_TEXT, offsetof(struct export, session.settings.machine), "NAME",
     "of a pipeline log: the machine (default: modern), or a\nfile; 'hotpath help machines' lists "
     "them",
     HP_WORDS_MACHINES},
    {"interval", 0, HP_OPT_COUNT, offsetof(struct export, interval), "N",
     "of vectors: instructions of an interval (default:\n100M)", 0},
    {"thread", 't', HP_OPT_TEXT, offsetof(struct export, thread_name), "N",
     "which thread (default: 0, that of the program's\nstart; of vectors also: all)", 0},
    {"from", 0, HP_OPT_TEXT, offsetof(struct export, session.settings.from), "FUNCTION",
     "start when FUNCTION is first entered", 0},
    {"after", 0, HP_OPT_COUNT, offsetof(struct export, session.settings.after), "N",
     "skip N instructions (10M, 1G, ...)", 0},
    {"for", 0, HP_OPT_COUNT, offsetof(struct export, session.settings.length), "N",
     "write N instructions (default: all; of a pipeline\nlog 10000, 0: all)", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {hp_options_engine, offsetof(struct export, session)},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct export *e = values;
    HP_TRY(check_words(e, n, e->n_program));
    HP_TRY(check_options(e));
    HP_TRY(settle_options(e));
    return e->format->write ? convert(e, words[0]) : run(e, words, e->n_program != 0, status);
}

const struct hp_command hp_command_export = {
    .name = "export",
    .summary = "write a profile, or a part of a run, for another tool",
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

    .examples = "  hotpath export --format kanata -o ls.kanata -- ls\n"
                "  hotpath export --format o3 --machine vaswani --after 1M --for 2000 "
                "gzip.hptrace\n"
                "  hotpath export --format champsim --after 1G --for 100M -o gzip.champsim -- gzip "
                "-9k FILE\n"
                "  hotpath export --format simpoint --interval 10M -o gzip.bb -- gzip -9k FILE\n",
    .options = options,
    .lists = HP_WORDS_FORMATS,
    .behind_dashes = offsetof(struct export, n_program),
    .defaults = &defaults,
    .size = sizeof(struct export),
    .run = run_command,
};
