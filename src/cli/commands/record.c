// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PROGRAM.hotpath */
static char *default_name(const char *program)
{
    char *name = NULL;
    const char *slash = strrchr(program, '/');
    return asprintf(&name, "%s.hotpath", slash ? slash + 1 : program) < 0 ? NULL : name;
}

struct request {
    struct hp_cli_session session;
    const char *pattern;
};

static const struct request defaults = {.session = HP_CLI_SESSION_DEFAULTS};

static const struct hp_option rows[] = {
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, pattern), "FILE",
     "where to (default: PROGRAM.hotpath)", HP_WORDS_FILES},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {hp_options_profilers, offsetof(struct request, session)},
    {hp_options_record, offsetof(struct request, session)},
    {hp_options_region, offsetof(struct request, session)},
    {hp_options_engine, offsetof(struct request, session)},
    {0},
};

static enum hp_err record(struct request *r, char **words, const char *path, int *status)
{
    struct hp_profile *profile;
    HP_TRY(hp_output_check(path));
    HP_TRY(hp_cli_session_begin(&r->session));
    HP_TRY(hp_session_run(&r->session.settings, words, &profile, status));
    enum hp_err err = hp_profile_save(profile, path);
    hp_profile_free(profile);
    if (err == HP_OK && !r->session.quiet)
        fprintf(stderr, "hotpath: profile written to %s (hotpath report %s)\n", path, path);
    return err;
}

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    (void)n;
    char *path = r->pattern ? hp_output_name(r->pattern, getpid()) : default_name(words[0]);
    enum hp_err err = path ? record(r, words, path, status) : hp_fail_nomem();
    free(path);
    return err;
}

const struct hp_command hp_command_record = {
    .name = "record",
    .summary = "run a program and keep its profile in a file",
    .synopsis = "[OPTIONS] [-o FILE] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM as 'hotpath run' does and keeps its profile in FILE, an SQLite database "
        "that\n"
        "'hotpath report', 'compare' and 'merge' read. Without -o, FILE is PROGRAM.hotpath in the\n"
        "current directory. An existing FILE is replaced when the run is over.\n",
    .examples = "  hotpath record -o gzip.hotpath -- gzip -9c FILE > /dev/null\n"
                "  hotpath report gzip.hotpath\n"
                "  hotpath record -o run.%p.hotpath -- ./prog         %p is hotpath's process id\n",
    .options = options,
    .stop_at_word = true,
    .unobserved = true,
    .least = 1,
    .wrong = "no program given",
    .instead = "hotpath record -o FILE -- PROGRAM ARGUMENTS",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
