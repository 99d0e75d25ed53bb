// SPDX-License-Identifier: MIT
#include "cli/session.h"

#include "cli/cli.h"
#include "cli/describe.h"
#include "cli/notes.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "engine/live.h"
#include "engine/native/native.h"
#include "engine/program.h"
#include "engine/qemu/qemu.h"
#include "engine/spawn.h"
#include "engine/trace/replay.h"
#include "hotpath/trace.h"
#include "profiler/result.h"
#include "profiler/sample/profiler.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The parts of a session. The consumer stands between the engine and the pipeline: it copies the
 * words into the trace and shows progress.
 */
struct session {
    struct hp_consumer consumer; /* first */
    struct hp_code *code;
    struct hp_functions *functions;
    const struct hp_wanted *wanted; /* NULL: nothing */
    struct hp_wanted_parts parts;
    struct hp_pipeline *pipeline;   /* NULL: nobody wants the words */
    struct hp_trace_writer *writer; /* NULL: not wanted */
    bool addressed;                 /* the stream comes with addresses */
    enum hp_err trace_failure;
    char trace_error[256];
    struct hp_progress progress;
    bool started;                 /* the program */
    bool is_native;               /* its engine */
    struct hp_onlooker *onlooker; /* NULL: nobody */
    struct hp_ongoing ongoing;    /* for it */
};

/* --- Between engine and pipeline -------------------------------------------------------------- */

/* A trace that cannot be written ends; the run goes on, and the failure is reported at its end. */
static void trace_result(struct session *s, enum hp_err err)
{
    if (err == HP_OK)
        return;
    s->trace_failure = err;
    snprintf(s->trace_error, sizeof s->trace_error, "%s", hp_error_text());
    hp_trace_writer_abort(s->writer);
    s->writer = NULL;
}

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    struct session *s = (struct session *)consumer;
    if (!s->pipeline)
        return HP_OK;
    struct hp_consumer *next = hp_pipeline_consumer(s->pipeline);
    HP_TRY(next->thread(next, thread));
    if (s->writer)
        trace_result(s, hp_trace_writer_thread(s->writer, thread));
    return HP_OK;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    struct session *s = (struct session *)consumer;
    if (!s->pipeline)
        return HP_OK;
    struct hp_consumer *next = hp_pipeline_consumer(s->pipeline);
    HP_TRY(next->words(next, thread, words, n)); /* first: it fills the code map */
    if (s->writer)
        trace_result(s, hp_trace_writer_words(s->writer, thread, words, n));
    return HP_OK;
}

static enum hp_err take_counts(struct hp_consumer *consumer, uint32_t thread,
                               const struct hp_count *counts, size_t n)
{
    struct session *s = (struct session *)consumer;
    if (!s->pipeline)
        return HP_OK;
    struct hp_consumer *next = hp_pipeline_consumer(s->pipeline);
    return next->counts(next, thread, counts, n);
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t thread,
                                  const uint64_t *addresses, size_t n)
{
    struct session *s = (struct session *)consumer;
    if (!s->pipeline)
        return HP_OK;
    struct hp_consumer *next = hp_pipeline_consumer(s->pipeline);
    HP_TRY(next->addresses(next, thread, addresses, n));
    if (s->writer)
        trace_result(s, hp_trace_writer_addresses(s->writer, thread, addresses, n));
    return HP_OK;
}

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    struct session *s = (struct session *)consumer;
    if (!s->pipeline)
        return HP_OK;
    struct hp_consumer *next = hp_pipeline_consumer(s->pipeline);
    HP_TRY(next->end(next, thread, reason));
    if (s->writer)
        trace_result(s, hp_trace_writer_end(s->writer, thread, reason));
    return HP_OK;
}

static bool is_done(struct hp_consumer *consumer)
{
    struct session *s = (struct session *)consumer;
    if (!s->pipeline)
        return false;
    struct hp_consumer *next = hp_pipeline_consumer(s->pipeline);
    return next->done(next);
}

static void show(struct session *s, bool over)
{
    s->ongoing.over = over;
    if (s->onlooker && s->pipeline)
        s->onlooker->look(s->onlooker, &s->ongoing);
}

static void tick(struct hp_consumer *consumer)
{
    struct session *s = (struct session *)consumer;
    if (s->pipeline && hp_progress_due(&s->progress))
        hp_progress_show(&s->progress, hp_pipeline_stats(s->pipeline)->cursor.instructions);
    if (s->onlooker)
        show(s, is_done(consumer));
}

/* --- Setting up ------------------------------------------------------------------------------- */

/* `wanted` NULL: nothing. */
static enum hp_err open_session(struct session *s, enum hp_arch arch,
                                const struct hp_wanted *wanted, enum hp_line_detail lines)
{
    s->consumer = (struct hp_consumer){.thread = take_thread,
                                       .words = take_words,
                                       .counts = take_counts,
                                       .addresses = take_addresses,
                                       .end = take_end,
                                       .tick = tick,
                                       .done = is_done};
    HP_TRY(hp_code_new(arch, &s->code));
    HP_TRY(hp_functions_new(s->code, &s->functions));
    /* What is printed when nothing is said has paths line by line and loops with their lines, where they are wanted. */
    bool all = wanted &&
               (wanted->paths || wanted->loops || wanted->cycles || wanted->instructions) &&
               lines == HP_LINES_FUNCTIONS;
    hp_functions_want_lines(s->functions, all ? HP_LINES_ALL : lines);
    s->wanted = wanted;
    return wanted ? hp_wanted_open(wanted, s->code, s->functions, &s->parts) : HP_OK;
}

static enum hp_err open_pipeline(struct session *s, const struct hp_session_options *options,
                                 struct hp_segment_source *source)
{
    struct hp_region region = {
        .from = options->from, .after = options->after, .length = options->length};
    HP_TRY(hp_pipeline_new(s->code, source, s->functions, &region, &s->pipeline));
    for (size_t i = 0; i < s->parts.n; i++)
        HP_TRY(hp_pipeline_add(s->pipeline, s->parts.profilers[i]));
    if (s->parts.machine)
        HP_TRY(hp_pipeline_set_machine(s->pipeline, s->parts.machine));
    if (s->parts.program)
        hp_pipeline_set_cycles(
            s->pipeline,
            &(struct hp_cycles_setup){.program = s->parts.program, .windows = s->wanted->windows});
    hp_progress_start(&s->progress, options->quiet);
    return HP_OK;
}

static void expect_addresses(struct session *s)
{
    hp_pipeline_expect_addresses(s->pipeline);
    s->addressed = true;
}

static void close_session(struct session *s)
{
    hp_progress_end(&s->progress);
    hp_trace_writer_abort(s->writer);
    hp_wanted_close(&s->parts);
    hp_pipeline_free(s->pipeline);
    hp_functions_free(s->functions);
    hp_code_free(s->code);
}

/* --- The profile ------------------------------------------------------------------------------ */

/* Samplers that saw windows of the run speak of the whole run. */
static void scale_samplers(struct session *s)
{
    struct hp_runner_stats stats = hp_pipeline_cycles_stats(s->pipeline);
    double scale =
        stats.measured ? 1000.0 * (double)stats.instructions / (double)stats.measured : 1000.0;
    for (size_t i = 0; i < s->parts.n_samplers; i++)
        hp_sample_profiler_set_scale(s->parts.samplers[i], (uint64_t)(scale + 0.5));
}

static enum hp_err finish_profilers(struct session *s, const struct hp_trace_run *about,
                                    struct hp_profile *profile)
{
    if (s->parts.program && s->pipeline)
        scale_samplers(s);
    struct hp_result *result;
    HP_TRY(hp_result_new(s->code, s->functions, profile, &result));
    enum hp_err err = s->wanted ? hp_wanted_finish(s->wanted, &s->parts, about, result) : HP_OK;
    hp_result_free(result);
    if (err == HP_OK && s->parts.program && s->pipeline)
        hp_pipeline_place_windows(s->pipeline, profile);
    return err;
}

/* How much of the run was measured in cycles. */
static enum hp_err add_cycles(struct session *s, struct hp_profile *profile)
{
    struct hp_runner_stats stats = hp_pipeline_cycles_stats(s->pipeline);
    char part[128];
    snprintf(part, sizeof part, "cycles %s", hp_machine_name(s->parts.machine));
    if (stats.instructions && !stats.measured)
        HP_TRY(hp_profile_note(profile, 1, "no window",
                               "the run ended before its first window in cycles: --windows all "
                               "runs all of it in cycles"));
    HP_TRY(
        hp_profile_add_stat(profile, part, "run.instructions", HP_STAT_COUNT, stats.instructions));
    return hp_profile_add_stat(profile, part, "run.measured", HP_STAT_COUNT, stats.measured);
}

/* What the machine did, if there is one. */
static enum hp_err add_machine(struct session *s, struct hp_profile *profile)
{
    const struct hp_core_stat *stats;
    size_t n;
    char part[128];
    HP_TRY(hp_pipeline_machine_stats(s->pipeline, &stats, &n));
    if (n)
        snprintf(part, sizeof part, "machine %s", hp_machine_name(s->parts.machine));
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_profile_add_stat(profile, part, stats[i].name, HP_STAT_COUNT, stats[i].value));
    if (n && !s->addressed)
        HP_TRY(hp_profile_note(
            profile, 1, "no data",
            "the machine saw no accesses to data: their addresses were not recorded"));
    return s->parts.program ? add_cycles(s, profile) : HP_OK;
}

static enum hp_err finish_profile(struct session *s, const struct hp_trace_run *about,
                                  struct hp_profile *profile)
{
    HP_TRY(finish_profilers(s, about, profile));
    profile->run.arch = hp_code_arch(s->code);
    profile->run.runs = 1;
    if (s->pipeline) {
        const struct hp_pipeline_stats *stats = hp_pipeline_stats(s->pipeline);
        profile->run.lost = stats->cursor.losses;
        HP_TRY(hp_note_losses(profile, stats));
        HP_TRY(add_machine(s, profile));
    }
    const char *what;
    HP_TRY(hp_profile_mend(profile, &what));
    if (what)
        hp_cli_note(NULL, what);
    return hp_profile_normalize(profile);
}

/* --- A live run ------------------------------------------------------------------------------- */

static int shell_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static enum hp_err store_strings(struct session *s, struct hp_live *live)
{
    const uint32_t *ids;
    size_t n = hp_pipeline_execs(s->pipeline, &ids);
    for (size_t i = 0; i < n && s->writer; i++) {
        const char *text = hp_live_string(live, ids[i]);
        if (text)
            HP_TRY(hp_trace_writer_string(s->writer, ids[i], text));
    }
    return HP_OK;
}

static enum hp_err note_live_execs(struct session *s, struct hp_live *live, bool follow,
                                   const char *engine, struct hp_profile *profile)
{
    const uint32_t *ids;
    size_t n = hp_pipeline_execs(s->pipeline, &ids);
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_note_exec(profile, hp_live_string(live, ids[i]), engine, !follow));
    return HP_OK;
}

/* Everything after the program has ended. */
static enum hp_err finish_live(struct session *s, struct hp_live *live, struct hp_run_about *about,
                               const struct hp_live_stats *stats,
                               const struct hp_session_options *options, struct hp_profile *profile)
{
    bool follow = options->follow;
    if (s->writer) {
        trace_result(s, store_strings(s, live));
        struct hp_trace_writer *writer = s->writer;
        s->writer = NULL;
        if (writer) {
            enum hp_err err =
                hp_trace_writer_finish(writer, about->run.seconds, about->run.exit_status);
            trace_result(s, err);
        }
    }
    if (s->trace_failure != HP_OK)
        return hp_fail(s->trace_failure, "%s", s->trace_error);
    if (!profile)
        return HP_OK;
    HP_TRY(hp_describe_profile(profile, &about->run));
    HP_TRY(hp_note_engine(profile, live, s->code));
    if (!s->parts.n)
        HP_TRY(hp_profile_note(profile, 1, "nothing",
                               "nothing was profiled, as was asked for: no counts, no code"));
    if (s->pipeline)
        HP_TRY(note_live_execs(s, live, follow, about->run.engine, profile));
    if (stats->unobserved_threads)
        HP_TRY(hp_profile_note(profile, stats->unobserved_threads, "unobserved",
                               "threads were not observed: too many at the same time"));
    if (!options->randomize && s->is_native && !hp_native_can_fix_addresses())
        HP_TRY(hp_profile_note(profile, 1, "randomized",
                               "addresses were randomized, which this system does not let hotpath "
                               "turn off: counts may differ a little from run to run"));
    if (stats->natively)
        HP_TRY(hp_profile_note(profile, stats->natively, "natively",
                               "programs that were executed ran outside hotpath: %s", stats->why));
    return finish_profile(s, &about->run, profile);
}

/* The engine ended, or never began, before it could run the first instruction. */
static enum hp_err fail_unattached(enum hp_plan_engine engine, int status)
{
    if (engine == HP_PLAN_QEMU)
        return hp_fail(HP_ERR_UNSUPPORTED, "the engine did not start: see QEMU's message above");
    return hp_fail(HP_ERR_UNSUPPORTED,
                   "the native engine ended (%s %d) before the program began; --engine qemu may be "
                   "able to run it",
                   WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static enum hp_err start_engine(enum hp_plan_engine engine,
                                const struct hp_session_options *options,
                                const struct hp_executable *program, struct hp_live *live,
                                pid_t *pid)
{
    if (engine == HP_PLAN_QEMU)
        return hp_qemu_start(program, options->sysroot, hp_live_fd(live), pid);
    return hp_native_start(program, hp_live_fd(live), options->randomize, pid);
}

static void watch(struct session *s, struct hp_onlooker *onlooker, const char *engine, pid_t pid)
{
    s->onlooker = onlooker;
    s->ongoing = (struct hp_ongoing){.pid = pid,
                                     .engine = engine,
                                     .code = s->code,
                                     .functions = s->functions,
                                     .pipeline = s->pipeline,
                                     .wanted = s->wanted,
                                     .parts = &s->parts};
}

static enum hp_err run_live(struct session *s, const struct hp_session_options *options,
                            const struct hp_plan *plan, const struct hp_executable *program,
                            struct hp_live *live, struct hp_run_about *about,
                            struct hp_profile *profile, int *status)
{
    struct hp_live_stats stats;
    pid_t pid;
    double started = hp_now();
    if (!hp_wanted_nothing(&plan->wanted))
        HP_TRY(open_pipeline(s, options, hp_live_source(live, s->code)));
    if (plan->wanted.counts)
        HP_TRY(hp_pipeline_expect_counts(s->pipeline));
    if (s->pipeline && plan->mode == HP_RECORD_MEMORY)
        expect_addresses(s);
    hp_signals_catch();
    enum hp_err err = start_engine(plan->engine, options, program, live, &pid);
    if (err != HP_OK) {
        hp_signals_restore();
        return err;
    }
    hp_signals_pass_to(pid);
    s->started = true;
    s->is_native = plan->engine == HP_PLAN_NATIVE;
    watch(s, options->onlooker, about->run.engine, pid);
    err = hp_live_run(live, pid, &s->consumer, &stats);
    show(s, true);
    hp_signals_restore();
    hp_progress_end(&s->progress);
    about->run.seconds = hp_now() - started;
    about->run.exit_status = *status = shell_status(stats.status);
    HP_TRY(err);
    if (!stats.attached && stats.natively)
        return hp_fail(HP_ERR_UNOBSERVED, "the program ran unobserved: %s", stats.why);
    if (!stats.attached) {
        *status = HP_EXIT_FAILED;
        return fail_unattached(plan->engine, stats.status);
    }
    return finish_live(s, live, about, &stats, options, profile);
}

/* --- Without an engine ------------------------------------------------------------------------ */

/* Runs the program as if hotpath were not there, because of the last failure. */
static enum hp_err run_natively(const struct hp_executable *program, int *status)
{
    char why[256];
    int ended = 0;
    pid_t pid;
    snprintf(why, sizeof why, "%s", hp_error_text());
    hp_signals_catch();
    enum hp_err err =
        hp_spawn(program->path, program->argv,
                 program->environment ? program->environment : environ, NULL, 0, &pid);
    if (err == HP_OK) {
        hp_signals_pass_to(pid);
        while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
            ;
        *status = shell_status(ended);
        err = hp_fail(HP_ERR_UNOBSERVED, "the program ran unobserved: %s", why);
    }
    hp_signals_restore();
    return err;
}

/* Whether the program is none of the reasons for the failure, and can do without us. */
static bool can_run_natively(enum hp_err err, const struct hp_executable *program)
{
    return (err == HP_ERR_IO || err == HP_ERR_NOMEM) && program->elf.arch == HP_ARCH_X86_64;
}

/* With the program found. */
static enum hp_err run_program(const struct hp_session_options *options, struct hp_plan *plan,
                               const struct hp_executable *program, char *const *argv,
                               const char *trace_path, struct hp_profile *profile, int *status)
{
    struct hp_live_options live_options = {
        .follow = options->follow, .mode = plan->mode, .cache_size = options->cache_size};
    struct hp_live *live = NULL;
    struct session s = {0};
    struct hp_run_about about;
    hp_describe_start(&about, argv, program->elf.arch, hp_plan_engine_name(plan->engine));
    about.run.addresses = plan->mode == HP_RECORD_MEMORY;
    enum hp_err err =
        open_session(&s, program->elf.arch, profile ? &plan->wanted : NULL, options->lines);
    if (err == HP_OK && trace_path)
        err = hp_trace_writer_new(trace_path, &about.run, s.code, &s.writer);
    bool asked_right = err == HP_OK;
    if (asked_right)
        err = hp_live_new(&live_options, &live);
    if (err == HP_OK)
        err = run_live(&s, options, plan, program, live, &about, profile, status);
    bool started = s.started;
    close_session(&s);
    hp_live_free(live);
    if (err != HP_OK && asked_right && !started && can_run_natively(err, program))
        err = run_natively(program, status);
    return err;
}

static int not_run_status(enum hp_err err)
{
    return err == HP_ERR_NOTFOUND ? HP_EXIT_NOT_FOUND : HP_EXIT_CANNOT_RUN;
}

enum hp_err hp_session_run(const struct hp_session_options *options, char *const *argv,
                           const char *trace_path, struct hp_profile *profile, int *status)
{
    struct hp_executable program;
    struct hp_plan plan;
    *status = HP_EXIT_FAILED;
    HP_TRY(hp_plan_options(options, &plan));
    enum hp_err err = hp_executable_find(argv, &program);
    program.environment = options->environment;
    if (err == HP_ERR_UNOBSERVED) {
        err = run_natively(&program, status);
        hp_executable_fini(&program);
        return err;
    }
    if (err != HP_OK) {
        *status = not_run_status(err);
        return err;
    }
    err = hp_plan_choose(options, &program, &plan);
    if (err == HP_OK)
        err = run_program(options, &plan, &program, argv, trace_path, profile, status);
    else
        *status = not_run_status(err);
    hp_executable_fini(&program);
    return err;
}

/* --- A replay --------------------------------------------------------------------------------- */

static enum hp_err note_trace_execs(struct session *s, struct hp_trace_reader *reader,
                                    const char *engine, struct hp_profile *profile)
{
    const uint32_t *ids;
    size_t n = hp_pipeline_execs(s->pipeline, &ids);
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_note_exec(profile, hp_trace_reader_string(reader, ids[i]), engine, false));
    return HP_OK;
}

/* What a trace can give: the order of execution, no counters, addresses if they were recorded. */
static enum hp_err read_wanted(const struct hp_session_options *options, bool has_addresses,
                               struct hp_wanted *wanted)
{
    HP_TRY(hp_wanted_parse(&options->wanted, wanted));
    if (wanted->counts || hp_wanted_nothing(wanted))
        return hp_fail(HP_ERR_INVALID, "a trace is profiled with --profile exact, paths or "
                                       "predictions");
    if (wanted->addresses && !has_addresses)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the trace holds no addresses of data, which this needs: record it with "
                       "--addresses, or give the program");
    return HP_OK;
}

static enum hp_err replay(struct session *s, const struct hp_session_options *options,
                          struct hp_trace_reader *reader, bool salvage, struct hp_profile *profile)
{
    const struct hp_trace_info *info = hp_trace_reader_info(reader);
    struct hp_wanted wanted;
    uint64_t damaged;
    HP_TRY(read_wanted(options, info->run.addresses, &wanted));
    HP_TRY(open_session(s, info->run.arch, &wanted, options->lines));
    HP_TRY(open_pipeline(s, options, NULL));
    if (info->run.addresses && (s->parts.machine || wanted.addresses)) {
        hp_trace_reader_want_addresses(reader);
        expect_addresses(s);
    }
    HP_TRY(hp_replay(reader, s->code, &s->consumer, salvage, &damaged));
    HP_TRY(hp_describe_profile(profile, &info->run));
    HP_TRY(note_trace_execs(s, reader, info->run.engine, profile));
    if (!info->complete)
        HP_TRY(hp_profile_note(profile, 1, "damaged",
                               "the trace has no index, so how long the program ran and its exit "
                               "status are not known"));
    if (damaged)
        HP_TRY(hp_profile_note(profile, damaged, "damaged", "parts of the trace are damaged"));
    return finish_profile(s, &info->run, profile);
}

enum hp_err hp_session_replay(const struct hp_session_options *options, const char *trace_path,
                              bool salvage, struct hp_profile *profile)
{
    struct hp_trace_reader *reader;
    struct session s = {0};
    HP_TRY(hp_trace_reader_open(trace_path, &reader));
    enum hp_err err = replay(&s, options, reader, salvage, profile);
    close_session(&s);
    hp_trace_reader_close(reader);
    return err;
}
