// SPDX-License-Identifier: MIT
#include "export/export.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session.h"

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
    const struct hp_export_format *formats = hp_export_formats(&n);
    printf("\nFormats:\n");
    for (size_t i = 0; i < n; i++)
        printf("  %-15s %s\n", formats[i].name, formats[i].summary);
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
        "and predictors.\n",
    .lists = print_formats,
    .examples = "  hotpath export --format kanata -o ls.kanata -- ls\n"
                "  hotpath export --format o3 --machine vaswani --after 1M --for 2000 "
                "gzip.hptrace\n",
};

/* What the command line says, and what becomes of it. */
struct export
{
    struct hp_observer observer; /* first */
    struct hp_session_options session;
    const struct hp_export_format *format;
    const char *name;    /* of the format */
    const char *pattern; /* of the output's name; NULL: standard output */
    struct hp_export_request request;
    uint64_t thread;
    struct hp_outfile out;
    struct hp_log *log;
};

static enum hp_err open_log(struct hp_observer *observer, struct hp_program *program,
                            struct hp_functions *functions, struct hp_profiler **profiler)
{
    struct export *e = (struct export *)observer;
    FILE *file = e->pattern ? e->out.file : stdout;
    HP_TRY(hp_log_new(e->format->log, file, program, functions, (uint32_t)e->thread, &e->log));
    return hp_log_profiler_new(e->log, profiler);
}

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
    if (e->thread >= HP_NO_ID)
        return hp_fail(HP_ERR_INVALID, "there is no thread %" PRIu64, e->thread);
    return HP_OK;
}

/* What there is to know of it: how much, and what was wrong. */
static void print_end(const struct export *e, const char *path, const struct hp_profile *profile)
{
    const struct hp_log_stats *stats = hp_log_stats(e->log);
    for (size_t i = 0; i < profile->n_notes; i++)
        fprintf(stderr, "hotpath: note: %s\n", profile->notes[i].text);
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

/* A profile, in a format that is made of one. */
static enum hp_err convert(struct export *e, const char *file)
{
    struct hp_profile *profile;
    struct hp_export_written written = {.unit = ""};
    HP_TRY(hp_profile_load(file, &profile));
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
        fprintf(stderr, "hotpath: %" PRIu64 " of %" PRIu64 " %s written to %s%s%s%s\n",
                written.written, written.total, written.unit, e->pattern,
                written.missing[0] ? " (the rest: " : "", written.missing,
                written.missing[0] ? ")" : "");
    return err;
}

/* What becomes of every instruction of a run or a trace. */
static enum hp_err run(struct export *e, char **argv, bool is_program, int *status)
{
    struct hp_profile *profile = NULL;
    char *path = NULL;
    if (e->pattern) {
        path = hp_output_name(e->pattern, getpid());
        HP_TRY(path ? HP_OK : hp_fail_nomem());
    }
    enum hp_err err = path ? hp_outfile_open(&e->out, path) : HP_OK;
    if (err == HP_OK)
        err = hp_profile_new(&profile);
    if (err == HP_OK)
        err = is_program ? hp_session_run(&e->session, argv + 1, NULL, profile, status)
                         : hp_session_replay(&e->session, argv[1], false, profile);
    if (err == HP_OK && path)
        err = hp_outfile_commit(&e->out);
    if (err == HP_OK && !e->session.quiet)
        print_end(e, path ? path : "standard output", profile);
    hp_outfile_abort(&e->out);
    hp_profile_free(profile);
    free(path);
    return err;
}

int hp_cmd_export(int argc, char **argv)
{
    struct export e = {.observer = {.open = open_log}, .session = HP_SESSION_DEFAULTS};
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
        {"machine", 'm', HP_OPT_TEXT, &e.session.wanted.machine, "NAME",
         "the machine: vaswani, alpha21264, arm9, modern (the\ndefault), or a file"},
        {"thread", 't', HP_OPT_COUNT, &e.thread, "N",
         "which thread (default: 0, that of the program's start)"},
        {"from", 0, HP_OPT_TEXT, &e.session.from, "FUNCTION",
         "start when FUNCTION is first entered"},
        {"after", 0, HP_OPT_COUNT, &e.session.after, "N", "skip N instructions (10M, 1G, ...)"},
        {"for", 0, HP_OPT_COUNT, &e.session.length, "N",
         "write N instructions (default: 10000; 0: all)"},
        HP_SESSION_WATCH_ROWS(e.session),
        {0},
    };
    int n, status = HP_EXIT_FAILED, dashes = find_dashes(argc, argv);
    bool exit_now;
    e.session.length = WINDOW;
    e.session.lines = HP_LINES_NONE;
    e.session.wanted.observer = &e.observer;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK)
        err = check_words(&e, n, dashes ? argc - 1 - dashes : 0);
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
