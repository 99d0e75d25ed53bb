// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const struct hp_usage usage = {
    .command = "hotpath report",
    .synopsis = "[OPTIONS] FILE [VIEW]",
    .help =
        "Prints a profile. VIEW is one of: summary, functions, blocks, edges, calls, contexts,\n"
        "lines, threads, modules, loops, paths, predictions, hotspots, loop-models,\n"
        "partition, machine, instructions, cpi, sampling, all.\n"
        "Without one: the summary, and functions, loops, paths, predictions, hot spots and\n"
        "instructions as far as they were recorded.\n",
    .examples = "  hotpath report gzip.hotpath\n"
                "  hotpath report gzip.hotpath edges --top 50\n"
                "  hotpath report gzip.hotpath paths\n"
                "  hotpath report gzip.hotpath partition --init 500 --hw-loops 3\n"
                "  hotpath report gzip.hotpath cpi --by function\n"
                "  hotpath report gzip.hotpath --json > gzip.json\n"
                "  hotpath report gzip.hotpath functions --csv -o functions.csv\n",
};

/* What hardware costs, as it is said on the command line. */
struct costs {
    const char *iteration;
    uint64_t init, sync, loops;
};

#define NOT_SAID UINT64_MAX

static enum hp_err read_costs(const struct costs *costs, struct hp_report_options *report)
{
    struct hp_partition_costs *to = &report->partition;
    bool said = costs->iteration || costs->init != NOT_SAID || costs->sync != NOT_SAID ||
                costs->loops != NOT_SAID;
    bool shown = report->view == &hp_view_partition || report->view == &hp_view_all ||
                 (!report->view && report->format == HP_REPORT_JSON);
    if (said && !shown)
        return hp_fail(HP_ERR_INVALID, "--hw-cost, --init, --sync and --hw-loops are for the view "
                                       "partition");
    *to = (struct hp_partition_costs){
        .set = said,
        .iteration = -1,
        .init = costs->init != NOT_SAID ? costs->init : HP_PARTITION_INIT,
        .sync = costs->sync != NOT_SAID ? costs->sync : HP_PARTITION_SYNC,
        .loops = costs->loops != NOT_SAID ? (size_t)costs->loops : 1,
    };
    if (to->loops == 0)
        return hp_fail(HP_ERR_INVALID, "--hw-loops is at least 1");
    if (!costs->iteration)
        return HP_OK;
    char *end;
    to->iteration = strtod(costs->iteration, &end);
    if (!isdigit((unsigned char)*costs->iteration) || *end || !(to->iteration < 1e18))
        return hp_fail(HP_ERR_INVALID, "--hw-cost: '%s' is not a number of instructions",
                       costs->iteration);
    return HP_OK;
}

static enum hp_err read_by(const char *by, struct hp_report_options *report)
{
    if (!by)
        return HP_OK;
    if (report->view != &hp_view_cpi && report->view != &hp_view_all &&
        (report->view || report->format != HP_REPORT_JSON))
        return hp_fail(HP_ERR_INVALID, "--by is for the view cpi");
    return hp_report_by_from_name(by, &report->by);
}

int hp_cmd_report(int argc, char **argv)
{
    struct hp_cli_output output = {.top = UINT64_MAX};
    const char *path = NULL, *by = NULL;
    bool no_run = false;
    struct costs costs = {NULL, NOT_SAID, NOT_SAID, NOT_SAID};
    const struct hp_option options[] = {
        {"top", 'n', HP_OPT_COUNT, &output.top, "N",
         "rows to print (default: 20 in text, 10 paths or\ninstructions, else all; 0: all)"},
        {"json", 'j', HP_OPT_FLAG, &output.json, NULL, "JSON, for scripts"},
        {"csv", 0, HP_OPT_FLAG, &output.csv, NULL, "comma-separated values, one view"},
        {"threads", 0, HP_OPT_TEXT, &output.threads, "each|all",
         "counts thread by thread, or of all together (default)"},
        {"no-run", 0, HP_OPT_FLAG, &no_run, NULL, "JSON: leave out what differs from run to run"},
        {"hw-cost", 0, HP_OPT_TEXT, &costs.iteration, "N",
         "partition: an iteration in hardware, in instructions\n(default: a tenth of those in "
         "software)"},
        {"init", 0, HP_OPT_COUNT, &costs.init, "N",
         "partition: before each execution (default 100)"},
        {"sync", 0, HP_OPT_COUNT, &costs.sync, "N",
         "partition: behind each execution (default 100)"},
        {"hw-loops", 0, HP_OPT_COUNT, &costs.loops, "N",
         "partition: loops that there is room for (default 1)"},
        {"by", 0, HP_OPT_TEXT, &by, "WHAT",
         "cpi: also of each function, loop, line or instruction"},
        {"output", 'o', HP_OPT_TEXT, &path, "FILE", "write to FILE instead of stdout"},
        {0},
    };
    struct hp_report_options report;
    struct hp_profile *profile = NULL;
    int n;
    bool exit_now;
    enum hp_err err = hp_options_parse(&usage, options, false, argc, argv, &n, &exit_now);
    if (err == HP_OK && exit_now)
        return 0;
    if (err == HP_OK && (n < 1 || n > 2))
        err = hp_fail(HP_ERR_INVALID, "%s; try: hotpath report FILE",
                      n ? "too many arguments" : "no profile given");
    if (err == HP_OK) {
        output.view = argv[2];
        err = hp_cli_report_options(&output, &report);
    }
    if (err == HP_OK)
        err = read_costs(&costs, &report);
    if (err == HP_OK)
        err = read_by(by, &report);
    if (err == HP_OK)
        err = hp_cli_load(argv[1], &profile);
    if (err == HP_OK) {
        report.no_run = no_run;
        err = hp_output_report(profile, &report, path);
    }
    hp_profile_free(profile);
    return err == HP_OK ? 0 : hp_cli_fail(err);
}
