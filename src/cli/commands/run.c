// SPDX-License-Identifier: MIT
#include "cli/cli.h"

struct request {
    struct hp_cli_session session; /* first */
    struct hp_cli_output output;
    const char *json;
};

static const struct hp_option rows[] = {
    {"view", 'v', HP_TEXT(output.view), "VIEW",
     "what to print (default: what was asked for); 'hotpath help views' lists them"},
    {"top", 'n', HP_COUNT(output.top), "N", "rows to print (default 20; 0: all)"},
    {"verbose", 0, HP_FLAG(output.verbose), NULL,
     "say also what the engine did: blocks, segments, links, traces"},
    HP_OPTION_FULL_NAMES(output.full_names),
    HP_SHOWN_OPTIONS(output.shown),
    {"threads", 0, HP_TEXT(output.threads), "each|all",
     "counts thread by thread, or of all together (default)"},
    HP_QUERY_OPTIONS(output.query),
    HP_THREAD_OPTIONS(output.query),
    {"json", 'j', HP_TEXT(json), "FILE",
     "write everything as JSON to FILE ('-': stdout) instead of the report"},
    {0},
};

/* In one piece: stderr has no buffer. */
static enum hp_err print(const struct hp_profile *profile, const struct hp_report_options *report)
{
    char *text HP_CLEANUP(hp_free) = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return hp_fail_nomem();
    enum hp_err err = hp_report(profile, report, memory);
    bool written = fclose(memory) == 0;
    if (written)
        fwrite(text, 1, size, stderr);
    return err == HP_OK && !written ? hp_fail_nomem() : err;
}

static enum hp_err show(struct request *r, struct hp_profile *profile,
                        struct hp_report_options *report)
{
    HP_TRY(hp_cli_show(profile, &r->output.shown));
    if (!r->json) {
        hp_cli_style(report, stderr);
        return print(profile, report);
    }
    struct hp_report_options all = {.format = HP_REPORT_JSON,
                                    .per_thread = report->per_thread,
                                    .top = r->output.top != HP_NOT_SAID ? report->top : 0};
    return hp_cli_write_report(profile, &all, r->json);
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_report_options report;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    HP_TRY(hp_cli_report_options(&r->output, &report));
    r->session.settings.lines = r->json ? HP_LINES_ALL : hp_cli_lines(&report);
    r->session.settings.physical = r->output.shown.physical;
    HP_TRY(hp_cli_recording_begin(&r->session, call, r->json));
    enum hp_err err = hp_session_run(&r->session.settings, call->words, &profile, &call->status);
    if (err == HP_OK)
        err = show(r, profile, &report);
    hp_cli_recording_end(&r->session, err == HP_OK ? "its report is printed" : hp_error_text(),
                         &call->status, NULL, NULL);
    return err;
}

const struct hp_command hp_command_run = {
    .name = "run",
    .summary = "run a program and print where its time goes",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help = "Runs PROGRAM, counts every instruction, block, edge and call it executes, and prints "
            "a report on stderr when it ends. The program's input, output and exit status are its "
            "own. Nothing is left behind; use 'hotpath record' to keep the profile.\n",
    .examples = "  hotpath run -- gzip -9c FILE > /dev/null\n"
                "  hotpath run --top 5 --view blocks -- ./prog        the hottest blocks\n"
                "  hotpath run --json out.json -- ./prog              everything, for a script\n"
                "  hotpath run --from main --for 100M -- ./prog       only a part of the run\n",
    .options = {rows, hp_options_profilers, hp_options_details, hp_options_record,
                hp_options_region, hp_options_engine},
    .unobserved = true,
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS}, .output = {.top = HP_NOT_SAID})},
    .run = run,
};
