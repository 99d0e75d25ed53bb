// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/recording.h"
#include "engine/traces.h"
#include "session/session_impl.h"

#include <unistd.h>

#define AT(member) offsetof(struct hp_cli_session, member)

const struct hp_option hp_options_profilers[] = {
    {"profile", 'p', HP_OPT_TEXT, AT(settings.profile), "LIST",
     "which profilers, joined by commas (default: exact); 'hotpath help profilers' lists them"},
    {"metric", 0, HP_OPT_TEXT, AT(settings.metric), "METRIC",
     "what to count along paths, and to sort them by (default: executions): {}; all but the first "
     "two with --machine"},
    {"table", 0, HP_OPT_TEXTS, AT(settings.tables), "TABLE",
     "model a hot path table beside the complete profile, and say how much of that it has: {}, or "
     "a size and changes: 512x4,policy=lru (may be repeated)"},
    {"window", 0, HP_OPT_COUNT, AT(settings.window), "N",
     "compare the tables every N instructions as well"},
    {"wpp", 0, HP_OPT_TEXT, AT(settings.wpp), "FILE",
     "write the whole program path, every path in order, for hotpath wpp; paths are wpp then, "
     "unless --paths says otherwise"},
    {"wpp-memory", 0, HP_OPT_SIZE, AT(settings.wpp_memory), "SIZE",
     "memory for its grammar (default 256M); beyond that it is written in parts"},
    {"predict", 0, HP_OPT_TEXTS, AT(settings.schemes), "SCHEME",
     "measure a prediction scheme, with its delay: {} (may be repeated; default: net:50 and "
     "path-profile:50)"},
    {"loop-model", 0, HP_OPT_TEXTS, AT(settings.loop_models), "MODEL",
     "model a loop profiler in hardware beside the exact loops: {}; and changes to it: "
     "daprof,calls (may be repeated)"},
    {"machine", 0, HP_OPT_TEXT, AT(settings.machine), "MACHINE",
     "model a machine: {}, or a file. Alone: where the cycles go, from windows of the run"},
    {"sample", 0, HP_OPT_TEXTS, AT(settings.samplers), "SAMPLER",
     "sample instructions on the machine: {}, with changes: profileme,interval=1000,pairs (may be "
     "repeated)"},
    {"windows", 0, HP_OPT_TEXT, AT(settings.windows), "WINDOWS",
     "what is run in cycles: all, or period=1M,detail=50K,ramp=2K,warm=all"},
    {"contexts", 0, HP_OPT_COUNT, AT(settings.contexts), "N",
     "calling contexts to keep, the heaviest (default: 32 for each megabyte of memory); what is "
     "beyond counts in the nearest one kept, and reports say how much that is"},
    {0},
};

const struct hp_option hp_options_details[] = {
    {"paths", 0, HP_OPT_TEXT, AT(settings.paths), "TYPE",
     "which paths: {}, or a table of operations (default: bl)"},
    {"max-paths", 0, HP_OPT_COUNT, AT(settings.max_paths), "N",
     "distinct paths to keep, a thread (default 33M); what comes beyond is counted and noted"},
    {"hotspots", 0, HP_OPT_TEXT, AT(settings.hotspots), "DETECTOR",
     "which hot spot detector: {} (default: merten); and changes to it: merten,candidate=8"},
    {0},
};

const struct hp_option hp_options_record[] = {
    {"record", 0, HP_OPT_TEXT, AT(settings.record), "RECORD",
     "what the engine records, to measure its cost: {} (default: what --profile needs)"},
    {0},
};

const struct hp_option hp_options_region[] = {
    {"from", 0, HP_OPT_TEXT, AT(settings.from), "FUNCTION",
     "start when FUNCTION is first entered, named as in the report or the symbol table"},
    {"after", 0, HP_OPT_COUNT, AT(settings.after), "N",
     "skip N instructions (10M, 1G, ...), from the start or from --from"},
    {"for", 0, HP_OPT_TEXT, AT(length), "LENGTH",
     "profile so many instructions (10M, 1G, ...), or for a time: 500ms, 30s, 5min, 1h; the "
     "program goes on unobserved"},
    {0},
};

const struct hp_option hp_options_engine[] = {
    {"engine", 'e', HP_OPT_TEXT, AT(settings.engine), "ENGINE",
     "how to watch the program: {} (default: native where it can)"},
    {"no-follow", 0, HP_OPT_FLAG, AT(settings.no_follow), NULL,
     "do not observe children, nor programs that are executed"},
    {"wait", 0, HP_OPT_FLAG, AT(settings.wait), NULL,
     "observe children that outlive the program to their end, too, or until Ctrl-C (daemons)"},
    {"cache-size", 0, HP_OPT_SIZE, AT(settings.cache_size), "SIZE",
     "translated code that the native engine keeps, a process (default 256M; from 1M to 1G)"},
    {"lag", 0, HP_OPT_SIZE, AT(settings.lag), "SIZE",
     "how far a thread may be ahead of the profilers, in bytes of what it recorded; then it waits "
     "(default 1M; from 256K to 64M)"},
    {"traces", 0, HP_OPT_TEXT, AT(settings.traces), "TRACES",
     "which code the native engine translates as one: {}; net:N, path-profile:N: of what began N "
     "times; hotspots:DETECTOR: of what that detector finds (default " HP_TRACES_USUAL
     "; none where nothing is recorded); further settings: hotpath help models"},
    {"aslr", 0, HP_OPT_FLAG, AT(settings.randomize), NULL,
     "let the kernel place the program at random; counts may then differ from run to run (native "
     "engine)"},
    {"sysroot", 0, HP_OPT_TEXT, AT(settings.sysroot), "DIR",
     "where a foreign program's libraries are (default: /usr/TRIPLE)"},
    {"quiet", 'q', HP_OPT_FLAG, AT(quiet), NULL, "no progress, no closing line"},
    {0},
};

#define FIRST_SECONDS 1.0
#define EVERY_SECONDS 0.25

void hp_progress_start(struct hp_progress *progress, bool quiet)
{
    /* Not between the lines of a program that writes to the terminal itself. */
    bool shared = isatty(STDOUT_FILENO);
    *progress = (struct hp_progress){.enabled = !quiet && !shared && isatty(STDERR_FILENO)};
    progress->started = progress->last = hp_now();
}

bool hp_progress_due(struct hp_progress *progress)
{
    double now = progress->enabled ? hp_now() : 0;
    return now - progress->started >= FIRST_SECONDS && now - progress->last >= EVERY_SECONDS;
}

void hp_progress_show(struct hp_progress *progress, uint64_t instructions)
{
    double now = hp_now();
    double rate = (double)(instructions - progress->last_instructions) / (now - progress->last);
    fprintf(stderr, "\r\033[Khotpath: %.2f G instructions, %.0f M/s, %.0f s",
            (double)instructions * 1e-9, rate * 1e-6, now - progress->started);
    fflush(stderr);
    progress->shown = true;
    progress->last = now;
    progress->last_instructions = instructions;
}

void hp_progress_end(struct hp_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}

static void tick(void *context, struct hp_session *session)
{
    if (hp_session_is_over(session))
        hp_progress_end(context);
    else if (hp_progress_due(context))
        hp_progress_show(context, hp_session_info(session).instructions);
}

static void warn(void *context, const char *text)
{
    (void)context;
    hp_cli_note(NULL, text);
}

/* A time, or a number of instructions. */
static enum hp_err read_length(struct hp_cli_session *s)
{
    if (!s->length || hp_parse_time(s->length, &s->seconds))
        return HP_OK;
    if (hp_parse_count(s->length, &s->settings.length) == HP_OK)
        return HP_OK;
    return hp_fail(HP_ERR_INVALID,
                   "--for: '%s' is neither a number of instructions (1000, 10k, 2.5M, 1G) nor a "
                   "time (500ms, 30s, 5min, 1h)",
                   s->length);
}

enum hp_err hp_cli_session_begin(struct hp_cli_session *s)
{
    HP_TRY(read_length(s));
    if (s->seconds > 0 && !s->can_end)
        return hp_fail(HP_ERR_INVALID, "--for takes a number of instructions here, not a time");
    if (s->settings.cache_size == 0) /* which means the default there */
        return hp_fail(HP_ERR_INVALID, "--cache-size is from 1M to 1G, not 0 bytes");
    if (s->settings.lag == 0) /* the same */
        return hp_fail(HP_ERR_INVALID, "--lag is from 256K to 64M, not 0 bytes");
    hp_progress_start(&s->progress, s->quiet);
    hp_cli_tell_fetches(s->quiet);
    s->settings.context = &s->progress;
    s->settings.tick = tick;
    s->settings.warn = warn;
    s->settings.pass_signals = true;
    return HP_OK;
}

/* --- Recordings ------------------------------------------------------------------------------- */

#define ASKED_SECONDS 0.02 /* how often to look whether somebody asks for the end */

/* A time begins with the program, or the part of the run that was asked for. */
static bool is_ended(void *context, struct hp_session *session)
{
    struct hp_cli_session *s = context;
    double now = hp_now();
    if (now - s->looked < ASKED_SECONDS)
        return false;
    s->looked = now;
    if (s->begun == 0 ||
        (session->pipeline && !hp_pipeline_stats(session->pipeline)->region_reached))
        s->begun = now;
    return (s->seconds > 0 && now - s->begun >= s->seconds) || hp_recording_asked();
}

_Static_assert(offsetof(struct hp_cli_session, progress) == 0, "the context is the session, too");

enum hp_err hp_cli_recording_begin(struct hp_cli_session *s, const struct hp_invocation *call,
                                   const char *output)
{
    s->can_end = true;
    HP_TRY(hp_cli_session_begin(s));
    s->settings.ended = is_ended;
    hp_recording_begin(call->command->name, output, call->words);
    return HP_OK;
}

void hp_cli_recording_end(struct hp_cli_session *s, const char *said, int *status,
                          void (*tick_waiting)(void *context), void *context)
{
    bool runs = *status == HP_STATUS_RUNS;
    hp_recording_end(said);
    if (!runs)
        return;
    if (!s->quiet)
        fprintf(stderr, "hotpath: recording has ended; the program goes on unobserved, and hotpath "
                        "waits for it\n");
    *status = hp_session_wait(tick_waiting, context);
}

void hp_cli_say_written(const struct hp_cli_session *session, const char *what, const char *path,
                        const char *command)
{
    if (!session->quiet)
        fprintf(stderr, "hotpath: %s written to %s (%s %s)\n", what, path, command, path);
}
