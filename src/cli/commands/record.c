// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "report/tables.h"

struct request {
    struct hp_cli_session session; /* first */
    const char *pattern;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(pattern), "FILE",
     "where to (default: PROGRAM.hotpath; %p: hotpath's process id; %%: a percent sign)"},
    {0},
};

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *path HP_CLEANUP(hp_free) = NULL;
    if (r->pattern)
        HP_TRY(hp_cli_output_name(r->pattern, &path));
    else if (asprintf(&path, "%s.hotpath", hp_base_name(call->words[0])) < 0)
        path = NULL;
    if (!path)
        return hp_fail_nomem();
    HP_TRY(hp_cli_check_output(path));
    HP_TRY(hp_cli_recording_begin(&r->session, call, path));
    enum hp_err err = hp_session_run(&r->session.settings, call->words, &profile, &call->status);
    if (err == HP_OK)
        err = hp_profile_save(profile, path);
    if (err == HP_OK)
        hp_cli_say_written(&r->session, "profile", path, "hotpath report");
    hp_cli_recording_end(&r->session, err == HP_OK ? "its profile is written" : hp_error_text(),
                         &call->status, NULL, NULL);
    return err;
}

const struct hp_command hp_command_record = {
    .name = "record",
    .summary = "run a program and keep its profile in a file",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM as 'hotpath run' does and keeps its profile in FILE, an SQLite database that "
        "'hotpath report', 'compare' and 'merge' read. Without -o, FILE is PROGRAM.hotpath in the "
        "current directory. An existing FILE is replaced when the run is over.\n",
    .examples = "  hotpath record -o gzip.hotpath -- gzip -9c FILE > /dev/null\n"
                "  hotpath report gzip.hotpath\n"
                "  hotpath record -o run.%p.hotpath -- ./prog         %p is hotpath's process id\n",
    .options = {rows, hp_options_profilers, hp_options_details, hp_options_record,
                hp_options_region, hp_options_engine},
    .unobserved = true,
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS})},
    .run = run,
};
