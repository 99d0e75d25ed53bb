// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct request {
    struct hp_cli_session session;
    const char *pattern;
};

static const struct request defaults = {.session = HP_CLI_SESSION_DEFAULTS};

static const struct hp_option rows[] = {
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, pattern), "FILE",
     "where to (%p: hotpath's process id)", HP_WORDS_FILES},
    {"addresses", 'a', HP_OPT_FLAG, offsetof(struct request, session.settings.addresses), NULL,
     "with the addresses of data, for the machine's data\nside (native engine)", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {hp_options_engine, offsetof(struct request, session)},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    (void)n;
    if (!r->pattern)
        return hp_fail(HP_ERR_INVALID, "no output file given; try: hotpath trace record -o FILE -- "
                                       "PROGRAM ARGUMENTS");
    HP_TRY(hp_cli_session_begin(&r->session));
    char *path = hp_output_name(r->pattern, getpid());
    enum hp_err err =
        path ? hp_session_record(&r->session.settings, words, path, status) : hp_fail_nomem();
    if (err == HP_OK && !r->session.quiet)
        fprintf(stderr, "hotpath: trace written to %s (hotpath trace info %s)\n", path, path);
    free(path);
    return err;
}

const struct hp_command hp_command_trace_record = {
    .name = "record",
    .group = "trace",
    .summary = "run a program and record its stream in a trace file",
    .synopsis = "[OPTIONS] -o FILE [--] PROGRAM [ARGUMENTS]",
    .help = "Runs PROGRAM and records everything it executes in FILE.\n",
    .examples = "  hotpath trace record -o gzip.hptrace -- gzip -9c FILE > /dev/null\n"
                "  hotpath trace record --addresses -o ls.hptrace -- ls\n"
                "  hotpath trace replay ls.hptrace --machine modern\n",
    .options = options,
    .stop_at_word = true,
    .unobserved = true,
    .least = 1,
    .wrong = "no program given",
    .instead = "hotpath trace record -o FILE -- PROGRAM ARGUMENTS",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
