// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct hp_usage usage = {
    .command = "hotpath record",
    .synopsis = "[OPTIONS] [-o FILE] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM as 'hotpath run' does and keeps its profile in FILE, an SQLite database "
        "that\n"
        "'hotpath report', 'compare' and 'merge' read. Without -o, FILE is PROGRAM.hotpath in the\n"
        "current directory. An existing FILE is replaced when the run is over.\n",
    .examples = "  hotpath record -o gzip.hotpath -- gzip -9c FILE > /dev/null\n"
                "  hotpath report gzip.hotpath\n"
                "  hotpath record -o run.%p.hotpath -- ./prog         %p is hotpath's process id\n",
};

/* PROGRAM.hotpath */
static char *default_name(const char *program)
{
    char *name = NULL;
    const char *slash = strrchr(program, '/');
    return asprintf(&name, "%s.hotpath", slash ? slash + 1 : program) < 0 ? NULL : name;
}

int hp_cmd_record(int argc, char **argv)
{
    struct hp_session_settings session = {0};
    struct hp_progress progress;
    bool quiet = false;
    const char *pattern = NULL;
    const struct hp_option options[] = {
        {"output", 'o', HP_OPT_TEXT, &pattern, "FILE", "where to (default: PROGRAM.hotpath)"},
        HP_SESSION_PROFILE_ROWS(session),
        HP_SESSION_REGION_ROWS(session),
        HP_SESSION_WATCH_ROWS(session),
        {"quiet", 'q', HP_OPT_FLAG, &quiet, NULL, "no progress, no closing line"},
        {0},
    };
    struct hp_profile *profile = NULL;
    char *path = NULL;
    int n, status = HP_STATUS_FAILED;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, true, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && n == 0)
        err = hp_fail(HP_ERR_INVALID,
                      "no program given; try: hotpath record -o FILE -- PROGRAM ARGUMENTS");
    if (err == HP_OK) {
        path = pattern ? hp_output_name(pattern, getpid()) : default_name(argv[1]);
        err = path ? hp_output_check(path) : hp_fail_nomem();
    }
    hp_progress_of_session(&progress, &session, quiet);
    if (err == HP_OK)
        err = hp_session_run(&session, argv + 1, &profile, &status);
    if (err == HP_OK)
        err = hp_profile_save(profile, path);
    status = hp_cli_ran(err, status);
    if (err == HP_OK && !quiet) {
        fprintf(stderr, "hotpath: profile written to %s (hotpath report %s)\n", path, path);
    }
    hp_profile_free(profile);
    free(path);
    return status;
}
