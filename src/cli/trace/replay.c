// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"

#include <stdio.h>

struct request {
    struct hp_cli_session session;
    struct hp_cli_output output;
    const char *path;
};

static const struct request defaults = {.session = HP_CLI_SESSION_DEFAULTS,
                                        .output = {.top = UINT64_MAX}};

static const struct hp_option rows[] = {
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, path), "FILE", "keep the profile in FILE",
     HP_WORDS_FILES},
    {"view", 'v', HP_OPT_TEXT, offsetof(struct request, output.view), "VIEW",
     "what to print (see hotpath report)", HP_WORDS_VIEWS},
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, output.top), "N",
     "rows to print (default 20; 0: all)", 0},
    {"json", 'j', HP_OPT_FLAG, offsetof(struct request, output.json), NULL, "print JSON", 0},
    {"salvage", 0, HP_OPT_FLAG, offsetof(struct request, session.settings.salvage), NULL,
     "skip damaged parts and note them, instead of\ngiving up", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {hp_options_profilers, offsetof(struct request, session)},
    {hp_options_region, offsetof(struct request, session)},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    struct hp_report_options report;
    struct hp_profile *profile;
    (void)n, (void)status;
    HP_TRY(hp_cli_report_options(&r->output, &report));
    r->session.settings.lines = r->path ? HP_LINES_ALL : hp_cli_lines(&report);
    HP_TRY(hp_cli_session_begin(&r->session));
    HP_TRY(hp_session_replay(&r->session.settings, words[0], &profile));
    enum hp_err err =
        r->path ? hp_profile_save(profile, r->path) : hp_output_report(profile, &report, NULL);
    hp_profile_free(profile);
    return err;
}

const struct hp_command hp_command_trace_replay = {
    .name = "replay",
    .group = "trace",
    .summary = "make a profile of a trace",
    .synopsis = "[OPTIONS] FILE",
    .help = "Profiles a recorded run: the same profile as 'hotpath record' would have made. Prints "
            "it, or\n"
            "with -o keeps it in a file.\n",
    .examples = "  hotpath trace replay gzip.hptrace\n"
                "  hotpath trace replay gzip.hptrace -o gzip.hotpath\n"
                "  hotpath trace replay gzip.hptrace --after 1G --for 100M\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "replay takes one trace",
    .instead = "hotpath trace replay FILE",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
