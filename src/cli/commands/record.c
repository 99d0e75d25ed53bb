// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "import/hardware.h"
#include "import/import.h"
#include "report/tables.h"

#include <errno.h>
#include <unistd.h>

struct request {
    struct hp_cli_session session; /* first */
    const char *pattern;
    bool hardware;
    const char *path; /* of the profile */
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(pattern), "FILE",
     "where to (default: PROGRAM.hotpath; %p: hotpath's process id; %%: a percent sign)"},
    {"hardware", 0, HP_FLAG(hardware), NULL,
     "record with perf what the processor samples, branch stacks or instructions, and make a "
     "profile of that as 'hotpath import' does; goes with -o and -q only"},
    {0},
};

/* --- What the processor samples --------------------------------------------------------------- */

static void say(void *context, const char *text)
{
    hp_cli_note(((struct request *)context)->path, text);
}

/* hotpath itself watches nothing: what says how has no meaning. */
static enum hp_err check_alone(const struct request *r, const struct hp_command *command)
{
    struct request rest = *r;
    const struct request *usual = command->values.defaults;
    rest.pattern = rest.path = NULL;
    rest.hardware = false;
    rest.session.quiet = usual->session.quiet;
    return memcmp(&rest, usual, sizeof rest) == 0
               ? HP_OK
               : hp_fail(HP_ERR_INVALID, "--hardware goes with -o and -q only: what a profile of "
                                         "samples has is not chosen");
}

/* Records into a file beside the profile, and reads that. */
static enum hp_err record_there(struct request *r, const struct hp_hardware *hardware,
                                struct hp_invocation *call, const char *data)
{
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char why[512];
    const struct hp_import_request import = {
        .path = data, .lines = HP_LINES_ALL, .say = say, .context = r};
    HP_TRY(hp_hardware_record(hardware, data, &(struct hp_hardware_program){.words = call->words},
                              &call->status));
    enum hp_err err = hp_import_perf(&import, &profile);
    snprintf(why, sizeof why, "%s", hp_error_text());
    if (err != HP_OK)
        return hp_fail(err, "what perf recorded (its status is %d) is no profile: %s", call->status,
                       why);
    HP_TRY(hp_profile_save(profile, r->path));
    hp_cli_say_written(&r->session, "profile", r->path, "hotpath report");
    return HP_OK;
}

static enum hp_err record_hardware(struct request *r, struct hp_invocation *call)
{
    char *data HP_CLEANUP(hp_free) = NULL, why[384];
    const struct hp_hardware_host host = hp_hardware_here();
    const struct hp_hardware *hardware;
    HP_TRY(check_alone(r, call->command));
    if (hp_hardware_find(&host, false, &hardware) != HP_OK) {
        snprintf(why, sizeof why, "%s", hp_error_text());
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "--hardware: %s; without it, hotpath counts every instruction and needs no "
                       "such thing",
                       why);
    }
    if (asprintf(&data, "%s.XXXXXX", r->path) < 0)
        return hp_fail_nomem();
    int fd = mkstemp(data);
    if (fd < 0)
        return hp_fail(HP_ERR_IO, "cannot write %s: %s", data, strerror(errno));
    close(fd);
    enum hp_err err = record_there(r, hardware, call, data);
    unlink(data);
    return err;
}

/* --- What hotpath watches --------------------------------------------------------------------- */

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
    r->path = path;
    if (r->hardware)
        return record_hardware(r, call);
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
        "current directory. An existing FILE is replaced when the run is over.\n"
        "\n"
        "With --hardware the program runs under perf, at its own speed, and the profile is of what "
        "the processor sampled: branch stacks, or on processors of AMD without these samples of "
        "instructions.\n",
    .examples = "  hotpath record -o gzip.hotpath -- gzip -9c FILE > /dev/null\n"
                "  hotpath report gzip.hotpath\n"
                "  hotpath record --hardware -o gzip.hotpath -- gzip -9k FILE\n"
                "  hotpath record -o run.%p.hotpath -- ./prog         %p is hotpath's process id\n",
    .options = {rows, hp_options_profilers, hp_options_details, hp_options_record,
                hp_options_region, hp_options_engine},
    .unobserved = true,
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS})},
    .run = run,
};
