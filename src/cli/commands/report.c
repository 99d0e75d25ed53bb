// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include "base/base.h"

#include <ctype.h>

struct request {
    struct hp_cli_output output;
    const char *path, *by, *iteration;
    uint64_t init, sync, loops; /* with `iteration`: what hardware costs */
    bool no_run;
};

/* Whether a view is in the report. */
static bool shows(const struct hp_report_options *report, const struct hp_view *view)
{
    return report->view == view || report->view == &hp_view_all ||
           (!report->view && report->format == HP_REPORT_JSON);
}

static enum hp_err read_costs(const struct request *r, struct hp_report_options *report)
{
    struct hp_partition_costs *to = &report->partition;
    bool said =
        r->iteration || r->init != HP_NOT_SAID || r->sync != HP_NOT_SAID || r->loops != HP_NOT_SAID;
    if (said && !shows(report, &hp_view_partition))
        return hp_fail(HP_ERR_INVALID,
                       "--hw-cost, --init, --sync and --hw-loops are for the view partition");
    *to = (struct hp_partition_costs){
        .set = said,
        .iteration = -1,
        .init = r->init != HP_NOT_SAID ? r->init : HP_PARTITION_INIT,
        .sync = r->sync != HP_NOT_SAID ? r->sync : HP_PARTITION_SYNC,
        .loops = r->loops != HP_NOT_SAID ? (size_t)r->loops : 1,
    };
    if (to->loops == 0)
        return hp_fail(HP_ERR_INVALID, "--hw-loops is at least 1");
    if (!r->iteration)
        return HP_OK;
    char *end;
    to->iteration = strtod(r->iteration, &end);
    if (!isdigit((unsigned char)*r->iteration) || *end || !(to->iteration < 1e18))
        return hp_fail(HP_ERR_INVALID, "--hw-cost: '%s' is not a number of instructions",
                       r->iteration);
    return HP_OK;
}

static enum hp_err read_by(const char *by, struct hp_report_options *report)
{
    if (by && !shows(report, &hp_view_cpi))
        return hp_fail(HP_ERR_INVALID, "--by is for the view cpi");
    unsigned unit = HP_REPORT_BY_RUN;
    if (by)
        HP_TRY(hp_name_find(hp_report_units, "unit", by, &unit));
    report->by = (enum hp_report_by)unit;
    return HP_OK;
}

static const struct hp_option rows[] = {
    {"top", 'n', HP_COUNT(output.top), "N",
     "rows to print (default: 20 in text, 10 paths or instructions, else all; 0: all)"},
    {"json", 'j', HP_FLAG(output.json), NULL, "JSON, for scripts"},
    {"csv", 0, HP_FLAG(output.csv), NULL, "comma-separated values (RFC 4180) of one view"},
    {"verbose", 0, HP_FLAG(output.verbose), NULL,
     "say also what the engine did: blocks, segments, links, traces"},
    HP_OPTION_FULL_NAMES(output.full_names),
    HP_SHOWN_OPTIONS(output.shown),
    {"threads", 0, HP_TEXT(output.threads), "each|all",
     "counts thread by thread, or of all together (default)"},
    HP_QUERY_OPTIONS(output.query),
    HP_THREAD_OPTIONS(output.query),
    {"no-run", 0, HP_FLAG(no_run), NULL,
     "JSON: leave out what differs from run to run: time, machine, process ids"},
    {"hw-cost", 0, HP_TEXT(iteration), "N",
     "partition: an iteration in hardware, in instructions (default: a tenth of those in "
     "software)"},
    {"init", 0, HP_COUNT(init), "N",
     "partition: instructions to start the hardware, each time (default 100)"},
    {"sync", 0, HP_COUNT(sync), "N",
     "partition: instructions to get the results, each time (default 100)"},
    {"hw-loops", 0, HP_COUNT(loops), "N", "partition: loops that there is room for (default 1)"},
    {"by", 0, HP_TEXT(by), "UNIT", "cpi: also of each of these: {}"},
    {"output", 'o', HP_TEXT(path), "FILE", "write to FILE instead of stdout"},
    {0},
};

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_report_options report;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    r->output.view = call->words[1];
    HP_TRY(hp_cli_report_options(&r->output, &report));
    HP_TRY(read_costs(r, &report));
    HP_TRY(read_by(r->by, &report));
    report.no_run = r->no_run;
    HP_TRY(hp_cli_load(call->words[0], &profile));
    HP_TRY(hp_cli_show(profile, &r->output.shown));
    return hp_cli_write_report(profile, &report, r->path);
}

const struct hp_command hp_command_report = {
    .name = "report",
    .summary = "print a profile",
    .synopsis = "[OPTIONS] FILE [VIEW]",
    .help = "Prints a profile: one of the views below, or all. Without one: the summary, and "
            "functions, loops, paths, predictions, hot spots and instructions as far as they were "
            "recorded.\n",
    .examples = "  hotpath report gzip.hotpath\n"
                "  hotpath report gzip.hotpath edges --top 50\n"
                "  hotpath report gzip.hotpath paths\n"
                "  hotpath report gzip.hotpath loops --filter 'mean < 4 and share > 1%'\n"
                "  hotpath report gzip.hotpath callers --function longest_match\n"
                "  hotpath report gzip.hotpath partition --init 500 --hw-loops 3\n"
                "  hotpath report gzip.hotpath cpi --by function\n"
                "  hotpath report gzip.hotpath --json > gzip.json\n"
                "  hotpath report gzip.hotpath functions --csv -o functions.csv\n",
    .options = {rows},
    .list = "VIEW",
    .words = "VIEW",
    .values = {HP_VALUES(.output = {.top = HP_NOT_SAID}, .init = HP_NOT_SAID, .sync = HP_NOT_SAID,
                         .loops = HP_NOT_SAID)},
    .run = run,
};
