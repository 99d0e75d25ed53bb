// SPDX-License-Identifier: MIT
#include "import/import.h"
#include "base/base.h"
#include "cli/cli.h"

struct request {
    struct hp_import_request import;
    struct hp_texts files;
    const char *pattern;
    const char *path; /* of the file that is read */
    bool quiet;
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
    r->import.lines = HP_LINES_ALL;
    r->import.say = say;
    r->import.context = r;
    HP_TRY(hp_cli_output_name(r->pattern ? r->pattern : "perf.hotpath", &path));
    HP_TRY(hp_cli_check_output(path));
    HP_TRY(hp_import_perf(&r->import, &profile));
    HP_TRY(hp_profile_save(profile, path));
    const struct hp_cli_session session = {.quiet = r->quiet};
    hp_cli_say_written(&session, "profile", path, "hotpath report");
    return HP_OK;
}

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(pattern), "FILE", "where to (default: perf.hotpath)"},
    {"event", 0, HP_TEXT(import.event), "NAME",
     "of several, the event to read (default: the first with branch stacks, or with samples)"},
    {"binary", 0, HP_TEXTS(files), "FILE",
     "take this file for the one of its name that was recorded; may be given several times"},
    {"quiet", 'q', HP_FLAG(quiet), NULL, "do not say where the profile is"},
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
        "Other samples become functions, and with call chains calling contexts. The files that ran "
        "must still be there, with the same build ids.\n",
    .examples = "  perf record -b -e cycles:u -- gzip -9k FILE; hotpath import perf.data\n"
                "  hotpath report perf.hotpath\n"
                "  perf record -b -o - -- gzip -9k FILE | hotpath import -o gzip.hotpath -\n",
    .options = {rows},
    .values = {sizeof(struct request), NULL},
    .run = run,
};
