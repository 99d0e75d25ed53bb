// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "cli/output.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

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

struct request {
    struct hp_cli_output output;
    struct costs costs;
    const char *path, *by;
    bool no_run;
};

static const struct request defaults = {.output = {.top = UINT64_MAX},
                                        .costs = {NULL, NOT_SAID, NOT_SAID, NOT_SAID}};

static const struct hp_option rows[] = {
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, output.top), "N",
     "rows to print (default: 20 in text, 10 paths or\ninstructions, else all; 0: all)", 0},
    {"json", 'j', HP_OPT_FLAG, offsetof(struct request, output.json), NULL, "JSON, for scripts", 0},
    {"csv", 0, HP_OPT_FLAG, offsetof(struct request, output.csv), NULL,
     "comma-separated values, one view", 0},
    {"threads", 0, HP_OPT_TEXT, offsetof(struct request, output.threads), "each|all",
     "counts thread by thread, or of all together (default)", 0},
    {"no-run", 0, HP_OPT_FLAG, offsetof(struct request, no_run), NULL,
     "JSON: leave out what differs from run to run", 0},
    {"hw-cost", 0, HP_OPT_TEXT, offsetof(struct request, costs.iteration), "N",
     "partition: an iteration in hardware, in instructions\n(default: a tenth of those in "
     "software)",
     0},
    {"init", 0, HP_OPT_COUNT, offsetof(struct request, costs.init), "N",
     "partition: before each execution (default 100)", 0},
    {"sync", 0, HP_OPT_COUNT, offsetof(struct request, costs.sync), "N",
     "partition: behind each execution (default 100)", 0},
    {"hw-loops", 0, HP_OPT_COUNT, offsetof(struct request, costs.loops), "N",
     "partition: loops that there is room for (default 1)", 0},
    {"by", 0, HP_OPT_TEXT, offsetof(struct request, by), "WHAT",
     "cpi: also of each function, loop, line or instruction", 0},
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, path), "FILE",
     "write to FILE instead of stdout", HP_WORDS_FILES},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    struct hp_report_options report;
    struct hp_profile *profile;
    (void)n, (void)status;
    r->output.view = words[1];
    HP_TRY(hp_cli_report_options(&r->output, &report));
    HP_TRY(read_costs(&r->costs, &report));
    HP_TRY(read_by(r->by, &report));
    report.no_run = r->no_run;
    HP_TRY(hp_cli_load(words[0], &profile));
    enum hp_err err = hp_output_report(profile, &report, r->path);
    hp_profile_free(profile);
    return err;
}

const struct hp_command hp_command_report = {
    .name = "report",
    .summary = "print a profile",
    .synopsis = "[OPTIONS] FILE [VIEW]",
    .help = "Prints a profile: one of the views below, or all.\n"
            "Without one: the summary, and functions, loops, paths, predictions, hot spots and\n"
            "instructions as far as they were recorded.\n",
    .examples = "  hotpath report gzip.hotpath\n"
                "  hotpath report gzip.hotpath edges --top 50\n"
                "  hotpath report gzip.hotpath paths\n"
                "  hotpath report gzip.hotpath partition --init 500 --hw-loops 3\n"
                "  hotpath report gzip.hotpath cpi --by function\n"
                "  hotpath report gzip.hotpath --json > gzip.json\n"
                "  hotpath report gzip.hotpath functions --csv -o functions.csv\n",
    .options = options,
    .lists = HP_WORDS_VIEWS,
    .least = 1,
    .most = 2,
    .wrong = "no profile given",
    .instead = "hotpath report FILE",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
