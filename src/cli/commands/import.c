// SPDX-License-Identifier: MIT
#include "import/import.h"
#include "base/base.h"
#include "cli/cli.h"

struct request {
    struct hp_cli_session session; /* first */
    struct hp_import_request import;
    struct hp_texts files;
    const char *pattern;
    const char *path; /* of the file that is read */
};

static void say(void *context, const char *text)
{
    const struct request *r = context;
    hp_cli_note(r->path, text);
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *path HP_CLEANUP(hp_free) = NULL;
    r->path = r->import.path = call->words[0];
    r->import.files = r->files.items;
    r->import.n_files = r->files.n;
    r->import.lines = r->session.settings.lines = HP_LINES_ALL;
    r->import.say = say;
    r->import.context = r;
    r->import.settings = &r->session.settings;
    if (r->import.trace && r->pattern)
        return hp_fail(HP_ERR_INVALID, "--trace makes a trace, no profile: leave out -o");
    const char *pattern = r->pattern ? r->pattern : "perf.hotpath";
    HP_TRY(hp_cli_output_name(r->import.trace ? r->import.trace : pattern, &path));
    HP_TRY(hp_cli_check_output(path));
    HP_TRY(hp_cli_session_begin(&r->session));
    if (r->import.trace)
        r->import.trace = path;
    HP_TRY(hp_import_perf(&r->import, &profile));
    if (r->import.trace) {
        hp_cli_say_written(&r->session, "trace", path, "hotpath trace info");
        return HP_OK;
    }
    HP_TRY(hp_profile_save(profile, path));
    hp_cli_say_written(&r->session, "profile", path, "hotpath report");
    return HP_OK;
}

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(pattern), "FILE", "where to (default: perf.hotpath)"},
    {"event", 0, HP_TEXT(import.event), "NAME",
     "of several, the event to read (default: the first with branch stacks, or with samples)"},
    {"binary", 0, HP_TEXTS(files), "FILE",
     "take this file for the one of its name that was recorded; may be given several times"},
    {"trace", 0, HP_TEXT(import.trace), "FILE",
     "of Intel PT: make a trace (hotpath trace replay) instead of a profile"},
    {"quiet", 'q', HP_FLAG(session.quiet), NULL, "do not say where the profile is"},
    {0},
};

const struct hp_command hp_command_import = {
    .name = "import",
    .summary = "make a profile of what perf recorded",
    .synopsis = "[OPTIONS] FILE",
    .help =
        "Makes a profile of a perf.data file, or with '-' of what perf writes to a pipe.\n"
        "\n"
        "Branch stacks (perf record -b, on processors that have them) become blocks and branches "
        "with estimated counts: what such a profile has, exports, reports and comparisons can use. "
        "'--profile loops,paths' also finds loops, and the paths that lie within a stack. "
        "Samples of instructions (AMD IBS, Arm SPE) become estimates of latencies, misses and "
        "branches by instruction, as a machine in cycles has them. Other samples become functions, "
        "and with call chains calling contexts. The files that ran must still be there, with the "
        "same build ids.\n"
        "\n"
        "A trace of Intel PT or Arm ETM has all that was executed, in its order: every profiler "
        "can be chosen, as for 'hotpath trace replay'.\n",
    .examples = "  perf record -b -e cycles:u -- gzip -9k FILE; hotpath import perf.data\n"
                "  hotpath report perf.hotpath\n"
                "  hotpath import --profile paths perf.data; hotpath report perf.hotpath paths\n"
                "  perf record -e ibs_op/cnt_ctl=1/ -c 100000 -- gzip -9k FILE; hotpath import "
                "perf.data\n"
                "  perf record -b -o - -- gzip -9k FILE | hotpath import -o gzip.hotpath -\n"
                "  perf record -e intel_pt//u -- gzip -9k FILE; hotpath import --profile "
                "exact,paths perf.data\n"
                "  perf record -e cs_etm//u -- gzip -9k FILE; hotpath import --profile "
                "exact,paths perf.data\n",
    .options = {rows, hp_options_profilers, hp_options_details, hp_options_region},
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS})},
    .run = run,
};
