// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session_options.h"

#include <stdio.h>

struct request {
    struct hp_cli_session session;
    struct hp_cli_output output;
    const char *json;
};

static const struct request defaults = {.session = HP_CLI_SESSION_DEFAULTS,
                                        .output = {.top = UINT64_MAX}};

static const struct hp_option rows[] = {
    {"view", 'v', HP_OPT_TEXT, offsetof(struct request, output.view), "VIEW",
     "what to print (default: what was asked for);\n'hotpath help views' lists them",
     HP_WORDS_VIEWS},
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, output.top), "N",
     "rows to print (default 20; 0: all)", 0},
    {"threads", 0, HP_OPT_TEXT, offsetof(struct request, output.threads), "each|all",
     "counts thread by thread, or of all together (default)", 0},
    {"json", 'j', HP_OPT_TEXT, offsetof(struct request, json), "FILE",
     "write everything as JSON to FILE ('-': stdout)", HP_WORDS_FILES},
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

static enum hp_err print(const struct request *r, struct hp_report_options *report,
                         const struct hp_profile *profile)
{
    if (!r->json) {
        hp_cli_style(report, stderr);
        return hp_report(profile, report, stderr);
    }
    struct hp_report_options all = {.format = HP_REPORT_JSON,
                                    .per_thread = report->per_thread,
                                    .top = r->output.top != UINT64_MAX ? report->top : 0};
    return hp_output_report(profile, &all, r->json);
}

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    struct hp_report_options report;
    struct hp_profile *profile;
    (void)n;
    HP_TRY(hp_cli_report_options(&r->output, &report));
    r->session.settings.lines = r->json ? HP_LINES_ALL : hp_cli_lines(&report);
    HP_TRY(hp_cli_session_begin(&r->session));
    HP_TRY(hp_session_run(&r->session.settings, words, &profile, status));
    enum hp_err err = print(r, &report, profile);
    hp_profile_free(profile);
    return err;
}

const struct hp_command hp_command_run = {
    .name = "run",
    .summary = "run a program and print where its time goes",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM, counts every instruction, block, edge and call it executes, and prints a\n"
        "report on stderr when it ends. The program's input, output and exit status are its own.\n"
        "Nothing is left behind; use 'hotpath record' to keep the profile.\n",
    .examples = "  hotpath run -- gzip -9c FILE > /dev/null\n"
                "  hotpath run --top 5 --view blocks -- ./prog        the hottest blocks\n"
                "  hotpath run --json out.json -- ./prog              everything, for a script\n"
                "  hotpath run --from main --for 100M -- ./prog       only a part of the run\n",
    .options = options,
    .stop_at_word = true,
    .unobserved = true,
    .least = 1,
    .wrong = "no program given",
    .instead = "hotpath run -- PROGRAM ARGUMENTS",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
