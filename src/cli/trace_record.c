// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"
#include "cli/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct hp_usage usage = {
    .command = "hotpath trace record",
    .synopsis = "[OPTIONS] -o FILE [--] PROGRAM [ARGUMENTS]",
    .help = "Runs PROGRAM and records everything it executes in FILE.\n",
    .examples = "  hotpath trace record -o gzip.hptrace -- gzip -9c FILE > /dev/null\n"
                "  hotpath trace record --addresses -o ls.hptrace -- ls\n"
                "  hotpath trace replay ls.hptrace --machine modern\n",
};

int hp_trace_cmd_record(int argc, char **argv)
{
    struct hp_session_settings session = {0};
    struct hp_progress progress;
    bool quiet = false;
    const char *pattern = NULL;
    const struct hp_option options[] = {
        {"output", 'o', HP_OPT_TEXT, &pattern, "FILE", "where to (%p: hotpath's process id)"},
        {"addresses", 'a', HP_OPT_FLAG, &session.addresses, NULL,
         "with the addresses of data, for the machine's data\nside (native engine)"},
        HP_SESSION_WATCH_ROWS(session),
        {"quiet", 'q', HP_OPT_FLAG, &quiet, NULL, "no progress, no closing line"},
        {0},
    };
    char *path = NULL;
    int n, status = HP_STATUS_FAILED;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, true, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && (n == 0 || !pattern))
        err = hp_fail(HP_ERR_INVALID, "%s; try: hotpath trace record -o FILE -- PROGRAM ARGUMENTS",
                      n ? "no output file given" : "no program given");
    if (err == HP_OK) {
        path = hp_output_name(pattern, getpid());
        err = path ? HP_OK : hp_fail_nomem();
    }
    hp_progress_of_session(&progress, &session, quiet);
    if (err == HP_OK)
        err = hp_session_record(&session, argv + 1, path, &status);
    status = hp_cli_ran(err, status);
    if (err == HP_OK && !quiet) {
        fprintf(stderr, "hotpath: trace written to %s (hotpath trace info %s)\n", path, path);
    }
    free(path);
    return status;
}
