// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "base/clock.h"
#include "base/debug.h"
#include "engine/engine.h"
#include "engine/native/native.h"
#include "engine/qemu/qemu.h"
#include "engine/spawn.h"
#include "engine/trace/replay.h"
#include "session/session_impl.h"

#include <errno.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- For callbacks ---------------------------------------------------------------------------- */

struct hp_session_info hp_session_info(struct hp_session *s)
{
    struct hp_session_info info = {.pid = s->pid,
                                   .engine = s->run->engine,
                                   .over = s->over,
                                   .stopped = s->stopped,
                                   .status = s->run->exit_status,
                                   .seconds = s->run->seconds};
    if (s->live) {
        struct hp_engine_stats work;
        hp_live_engine_stats(s->live, &work);
        info.waited = (double)work.waited_ns * 1e-9;
    }
    if (s->pipeline) {
        const struct hp_cursor_stats *stats = &hp_pipeline_stats(s->pipeline)->cursor;
        info.instructions = stats->instructions;
        info.lost = stats->losses;
    }
    return info;
}

bool hp_session_is_over(const struct hp_session *s)
{
    return s->over;
}

struct hp_code *hp_session_code(struct hp_session *s)
{
    return s->code;
}

struct hp_functions *hp_session_functions(struct hp_session *s)
{
    return s->functions;
}

char *const *hp_session_command(const struct hp_session *s)
{
    return s->run->command;
}

const char *hp_session_text(const struct hp_session *s, uint32_t id)
{
    if (s->recorded)
        return NULL;
    return s->reader ? hp_trace_reader_string(s->reader, id) : hp_live_string(s->live, id);
}

struct hp_program *hp_session_program(struct hp_session *s)
{
    return s->profilers.program;
}

enum hp_err hp_session_add(struct hp_session *s, struct hp_profiler *profiler)
{
    return hp_profilers_add(&s->profilers, profiler);
}

/* --- Between the engine and the pipeline ------------------------------------------------------ */

/* The trace could not be written: it ends, and the failure is reported after the run. */
static void take_trace_result(struct hp_session *s, enum hp_err err)
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
    struct hp_session *s = (struct hp_session *)consumer;
    hp_debug(HP_DEBUG_ENGINE, "process %d, thread %d begins", (int)thread->pid, (int)thread->tid);
    HP_TRY(hp_names_begin(&s->names, thread));
    if (s->next)
        HP_TRY(s->next->thread(s->next, thread));
    if (s->writer)
        take_trace_result(s, hp_trace_writer_thread(s->writer, thread));
    return HP_OK;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    if (s->next)
        HP_TRY(s->next->words(s->next, thread, words, n)); /* first: it fills the code map */
    if (s->writer)
        take_trace_result(s, hp_trace_writer_words(s->writer, thread, words, n));
    return HP_OK;
}

static enum hp_err take_counts(struct hp_consumer *consumer, uint32_t thread,
                               const struct hp_count *counts, size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    return s->next ? s->next->counts(s->next, thread, counts, n) : HP_OK;
}

static enum hp_err take_derived(struct hp_consumer *consumer, uint32_t thread,
                                const struct hp_derived *edges, size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    return s->next ? s->next->derived(s->next, thread, edges, n) : HP_OK;
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t thread,
                                  const uint64_t *addresses, size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    if (s->next)
        HP_TRY(s->next->addresses(s->next, thread, addresses, n));
    if (s->writer)
        take_trace_result(s, hp_trace_writer_addresses(s->writer, thread, addresses, n));
    return HP_OK;
}

static enum hp_err take_names(struct hp_consumer *consumer, uint32_t thread,
                              const struct hp_thread_names *names)
{
    struct hp_session *s = (struct hp_session *)consumer;
    return hp_names_take(&s->names, thread, names);
}

static const char *const ends[] = {[HP_END_EXIT] = "exit",
                                   [HP_END_KILLED] = "killed",
                                   [HP_END_EXEC] = "exec",
                                   [HP_END_DETACHED] = "goes on unobserved",
                                   [HP_END_SIGNAL] = "signal"};

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    struct hp_session *s = (struct hp_session *)consumer;
    hp_debug(HP_DEBUG_ENGINE, "thread number %u ends: %s", thread,
             (size_t)reason < sizeof ends / sizeof *ends ? ends[reason] : "unknown");
    if (s->next)
        HP_TRY(s->next->end(s->next, thread, reason));
    if (s->writer)
        take_trace_result(s, hp_trace_writer_end(s->writer, thread, reason));
    return HP_OK;
}

/* While children are waited for, a signal that came after the program's end ends that. */
static bool is_stopped(struct hp_session *s)
{
    int signals = hp_signals_caught();
    if (signals != s->signals && s->live && hp_live_waits(s->live))
        return true;
    s->signals = signals; /* the program was alive */
    return false;
}

/* Whether whoever runs the session has had enough of it, once the program has begun. */
static bool is_ended(struct hp_session *s)
{
    if (s->names.n && !s->ended && s->live && s->settings->ended &&
        s->settings->ended(s->settings->context, s)) {
        s->ended = true;
        hp_live_leave(s->live);
    }
    return s->ended;
}

static bool is_done(struct hp_consumer *consumer)
{
    struct hp_session *s = (struct hp_session *)consumer;
    bool done = is_stopped(s) || is_ended(s) || (s->next && s->next->done(s->next));
    if (done && s->settings->stop && s->pid && !s->stopped) {
        kill(s->pid, SIGKILL);
        s->stopped = true;
    }
    return done;
}

static void call_tick(struct hp_session *s, bool over)
{
    s->over = over;
    if (s->settings->tick && s->pipeline)
        s->settings->tick(s->settings->context, s);
}

static void tick(struct hp_consumer *consumer)
{
    call_tick((struct hp_session *)consumer, is_done(consumer));
}

#define BLOCKS_AHEAD 1000

/* Counted code needs its functions only in the end, but then all of them. */
static bool work_ahead(struct hp_consumer *consumer)
{
    struct hp_session *s = (struct hp_session *)consumer;
    return s->plan.mode == HP_RECORD_COUNT && hp_functions_look_ahead(s->functions, BLOCKS_AHEAD);
}

/* --- Setting up ------------------------------------------------------------------------------- */

/* The default report prints paths by line and loops with their lines, where they are selected. */
static enum hp_line_detail lines_for(const struct hp_session *s)
{
    const struct hp_selection *selection = &s->plan.selection;
    bool by_line =
        selection->paths || selection->loops || selection->cycles || selection->instructions;
    enum hp_line_detail lines = s->settings->lines;
    return by_line && lines == HP_LINES_FUNCTIONS ? HP_LINES_ALL : lines;
}

static enum hp_err open_session(struct hp_session *s)
{
    s->consumer = (struct hp_consumer){.thread = take_thread,
                                       .words = take_words,
                                       .counts = take_counts,
                                       .derived = take_derived,
                                       .addresses = take_addresses,
                                       .named = take_names,
                                       .end = take_end,
                                       .tick = tick,
                                       .ahead = work_ahead,
                                       .done = is_done};
    HP_TRY(hp_code_new(s->run->arch, &s->code));
    HP_TRY(hp_functions_new(s->code, &s->functions));
    if (s->trace_path)
        return hp_trace_writer_new(s->trace_path, s->run, s->code, &s->writer);
    hp_functions_want_lines(s->functions, lines_for(s));
    HP_TRY(hp_profilers_open(&s->plan.selection, s->code, s->functions, s->plan.counts_paths,
                             &s->profilers));
    return s->settings->attach ? s->settings->attach(s->settings->context, s) : HP_OK;
}

static enum hp_err open_pipeline(struct hp_session *s, struct hp_segment_source *source)
{
    const struct hp_session_settings *settings = s->settings;
    const struct hp_profilers *p = &s->profilers;
    struct hp_region region = {
        .from = settings->from, .after = settings->after, .length = settings->length};
    HP_TRY(hp_pipeline_new(s->code, source, s->functions, &region, &s->pipeline));
    s->next = hp_pipeline_consumer(s->pipeline);
    for (size_t i = 0; i < p->n; i++)
        HP_TRY(hp_pipeline_add(s->pipeline, p->list[i]));
    if (p->of_paths)
        hp_pipeline_set_independent(s->pipeline, p->paths);
    if (p->machine)
        HP_TRY(hp_pipeline_set_machine(s->pipeline, p->machine));
    if (p->program)
        hp_pipeline_set_cycles(
            s->pipeline,
            &(struct hp_cycles_setup){.program = p->program, .windows = s->plan.selection.windows});
    return HP_OK;
}

static void expect_addresses(struct hp_session *s)
{
    hp_pipeline_expect_addresses(s->pipeline);
    s->addressed = true;
}

static enum hp_err expect_paths(struct hp_session *s)
{
    hp_live_set_ranges(s->live, hp_paths_ranges(s->profilers.paths));
    HP_TRY(hp_paths_expect_counts(s->profilers.paths, hp_live_paths(s->live)));
    return hp_pipeline_expect_paths(s->pipeline);
}

static void close_session(struct hp_session *s)
{
    if (!s->over)
        call_tick(s, true);
    hp_trace_writer_abort(s->writer);
    hp_steering_free(&s->steering);
    hp_names_free(&s->names);
    hp_pipeline_free(s->pipeline); /* first: it may still be bringing something to the profilers */
    hp_profilers_close(&s->profilers);
    hp_functions_free(s->functions);
    hp_generated_free(s->generated);
    hp_code_free(s->code);
    hp_live_free(s->live);
    s->live = NULL;
    hp_trace_reader_close(s->reader);
}

/* What is done with a run that is over. `profile` NULL: no profile is made of it. */
static enum hp_err use_results(struct hp_session *s, struct hp_profile **profile)
{
    if (s->settings->collect)
        HP_TRY(s->settings->collect(s->settings->context, s));
    if (!profile)
        return HP_OK;
    hp_debug(HP_DEBUG_PROFILER, "%zu profilers finish", s->profilers.n);
    HP_TRY(hp_session_profile(s, profile));
    hp_debug(HP_DEBUG_PROFILER, "finished: %zu blocks, %zu functions, %zu paths, %zu loops",
             (*profile)->n_blocks, (*profile)->n_functions, (*profile)->n_paths,
             (*profile)->n_loops);
    return HP_OK;
}

/* --- A live run ------------------------------------------------------------------------------- */

/* Describes a run that starts now; how it ends is filled in later. */
static void describe_start(struct hp_session *s, char *const *argv, enum hp_arch arch)
{
    struct hp_run_about *about = &s->about;
    struct utsname host;
    if (uname(&host) == 0)
        snprintf(about->machine, sizeof about->machine, "%s %s %s, %ld processors", host.sysname,
                 host.release, host.machine, sysconf(_SC_NPROCESSORS_ONLN));
    if (!getcwd(about->directory, sizeof about->directory))
        about->directory[0] = 0;
    s->run = &about->run;
    about->run = (struct hp_trace_run){.version = HP_VERSION,
                                       .engine = hp_plan_engines[s->plan.engine].name,
                                       .addresses = s->plan.mode == HP_RECORD_MEMORY,
                                       .arch = arch,
                                       .command = argv,
                                       .directory = about->directory,
                                       .machine = about->machine,
                                       .started = (int64_t)time(NULL)};
}

static int shell_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static enum hp_err store_strings(struct hp_session *s)
{
    const uint32_t *ids;
    size_t n = s->live ? hp_pipeline_execs(s->pipeline, &ids) : 0;
    for (size_t i = 0; i < n && s->writer; i++) {
        const char *text = hp_live_string(s->live, ids[i]);
        if (text)
            HP_TRY(hp_trace_writer_string(s->writer, ids[i], text));
    }
    return HP_OK;
}

static enum hp_err finish_trace(struct hp_session *s)
{
    if (s->writer)
        take_trace_result(s, store_strings(s));
    struct hp_trace_writer *writer = s->writer;
    s->writer = NULL;
    if (writer)
        take_trace_result(s, hp_trace_writer_finish(writer, s->run->seconds, s->run->exit_status));
    return s->trace_failure == HP_OK ? HP_OK : hp_fail(s->trace_failure, "%s", s->trace_error);
}

/* The engine ended, or never began, before it could run the first instruction. */
static enum hp_err fail_unattached(const struct hp_session *s)
{
    int status = s->live_stats.status;
    if (s->plan.engine == HP_PLAN_QEMU)
        return hp_fail(HP_ERR_UNSUPPORTED, "the engine did not start: see QEMU's message above");
    return hp_fail(HP_ERR_UNSUPPORTED,
                   "the native engine ended (%s %d) before the program began; --engine qemu may be "
                   "able to run it",
                   WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Without `live` there is no engine. */
static enum hp_err launch(struct hp_session *s, const struct hp_executable *program)
{
    const struct hp_session_settings *settings = s->settings;
    struct hp_standard standard HP_CLEANUP(hp_standard_restore) = HP_STANDARD_UNTOUCHED;
    HP_TRY(hp_standard_redirect(settings->input, settings->output, &standard));
    if (!s->live)
        return hp_spawn(program->path, program->argv,
                        program->environment ? program->environment : environ, NULL, 0, &s->pid);
    int fd = hp_live_fd(s->live);
    return s->plan.engine == HP_PLAN_QEMU
               ? hp_qemu_start(program, settings->sysroot, fd, &s->pid)
               : hp_native_start(program, fd, settings->randomize, &s->pid);
}

/* Signals are passed on from now on. */
static enum hp_err start(struct hp_session *s, const struct hp_executable *program)
{
    if (s->settings->pass_signals)
        hp_signals_catch();
    enum hp_err err = launch(s, program);
    s->started = err == HP_OK;
    if (s->settings->pass_signals && s->started)
        hp_signals_pass_to(s->pid);
    else if (s->settings->pass_signals)
        hp_signals_restore();
    return err;
}

/* The program that was left running by the last session of this thread; 0: none was. */
static _Thread_local struct {
    pid_t pid;
    bool passes_signals;
} left;

/* How the program ended; or it goes on, and nobody knows. */
static void take_status(struct hp_session *s, int *status)
{
    if (s->live_stats.left) {
        left.pid = s->pid;
        left.passes_signals = s->settings->pass_signals;
        *status = HP_STATUS_RUNS;
        hp_debug(HP_DEBUG_SESSION, "the program goes on unobserved after %.3f s",
                 s->about.run.seconds);
        return;
    }
    if (s->settings->pass_signals)
        hp_signals_restore();
    s->about.run.exit_status = *status = shell_status(s->live_stats.status);
    hp_debug(HP_DEBUG_SESSION, "the program ended with status %d after %.3f s", *status,
             s->about.run.seconds);
}

int hp_session_wait(void (*tick)(void *context), void *context)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000000L};
    int status = 0;
    for (pid_t ended; (ended = waitpid(left.pid, &status, tick ? WNOHANG : 0)) != left.pid;) {
        if (ended < 0 && errno != EINTR)
            break;
        if (tick) {
            tick(context);
            nanosleep(&pause, NULL);
        }
    }
    if (left.passes_signals)
        hp_signals_restore();
    left.pid = 0;
    return shell_status(status);
}

static enum hp_err run_live(struct hp_session *s, const struct hp_executable *program, int *status)
{
    double started = hp_now();
    if (!hp_selection_is_empty(&s->plan.selection))
        HP_TRY(open_pipeline(s, hp_live_source(s->live, s->code)));
    if (s->plan.selection.counts)
        HP_TRY(hp_pipeline_expect_counts(s->pipeline));
    if (s->pipeline && s->plan.mode == HP_RECORD_MEMORY)
        expect_addresses(s);
    if (s->plan.counts_paths)
        HP_TRY(expect_paths(s));
    if (s->plan.traces.how == HP_TRACES_HOTSPOTS)
        HP_TRY(hp_steer(s));
    HP_TRY(start(s, program));
    enum hp_err err = hp_live_run(s->live, s->pid, &s->consumer, &s->live_stats);
    call_tick(s, true);
    s->about.run.seconds = hp_now() - started;
    take_status(s, status);
    hp_debug(HP_DEBUG_STREAM, "%llu instructions, %llu gaps",
             (unsigned long long)hp_session_info(s).instructions,
             (unsigned long long)hp_session_info(s).lost);
    HP_TRY(err);
    if (!s->live_stats.attached && s->live_stats.natively)
        return hp_fail(HP_ERR_UNOBSERVED, "the program ran unobserved: %s", s->live_stats.why);
    if (s->live_stats.attached)
        return HP_OK;
    *status = HP_STATUS_FAILED;
    return fail_unattached(s);
}

/* Runs the program as if hotpath were not there, because of the last failure. */
static enum hp_err run_natively(struct hp_session *s, const struct hp_executable *program,
                                int *status)
{
    char why[256];
    int ended = 0;
    snprintf(why, sizeof why, "%s", hp_error_text());
    HP_TRY(start(s, program));
    while (waitpid(s->pid, &ended, 0) < 0 && errno == EINTR)
        ;
    if (s->settings->pass_signals)
        hp_signals_restore();
    *status = shell_status(ended);
    return hp_fail(HP_ERR_UNOBSERVED, "the program ran unobserved: %s", why);
}

static enum hp_err observe(struct hp_session *s, const struct hp_executable *program,
                           struct hp_profile **profile, int *status)
{
    bool counted = s->profilers.exact != NULL; /* which has system calls */
    struct hp_live_options options = {.follow = !s->settings->no_follow,
                                      .calls = counted || s->trace_path || s->settings->attach,
                                      .wait = s->settings->wait,
                                      .mode = s->plan.counts_paths ? HP_RECORD_PATHS : s->plan.mode,
                                      .paths = s->plan.rules,
                                      .cache_size = s->plan.cache_size,
                                      .lag = s->plan.lag,
                                      .traces = s->plan.traces};
    HP_TRY(hp_live_new(&options, &s->live));
    HP_TRY(run_live(s, program, status));
    HP_TRY(finish_trace(s));
    return use_results(s, profile);
}

/* With the program found. Where the engine cannot be had, which is none of the program's fault, and
 * the program can do without it, it runs natively. */
static enum hp_err run_program(struct hp_session *s, const struct hp_executable *program,
                               char *const *argv, struct hp_profile **profile, int *status)
{
    describe_start(s, argv, program->elf.arch);
    s->plan.counts_paths &= !s->trace_path;
    if (s->plan.counts_paths)
        s->plan.traces = hp_traces_usual(HP_RECORD_PATHS);
    enum hp_err err = open_session(s);
    bool asked_right = err == HP_OK;
    if (asked_right)
        err = observe(s, program, profile, status);
    bool started = s->started;
    close_session(s);
    if (asked_right && !started && (err == HP_ERR_IO || err == HP_ERR_NOMEM) &&
        program->elf.arch == HP_ARCH_X86_64)
        return run_natively(s, program, status);
    return err;
}

static enum hp_err run(struct hp_session *s, char *const *argv, struct hp_profile **profile,
                       int *status)
{
    struct hp_executable program HP_CLEANUP(hp_executable_fini) = {0};
    *status = HP_STATUS_FAILED;
    HP_TRY(hp_plan_settings(s->settings, &s->plan));
    enum hp_err err = hp_executable_find(argv, &program);
    program.environment = s->settings->environment;
    if (err == HP_ERR_UNOBSERVED)
        return run_natively(s, &program, status);
    if (err == HP_OK)
        err = hp_plan_choose(s->settings, &program, &s->plan);
    if (err == HP_OK)
        return run_program(s, &program, argv, profile, status);
    *status = err == HP_ERR_NOTFOUND ? HP_STATUS_NOT_FOUND : HP_STATUS_CANNOT_RUN;
    return err;
}

enum hp_err hp_session_run(const struct hp_session_settings *settings, char *const *argv,
                           struct hp_profile **profile, int *status)
{
    if (profile)
        *profile = NULL;
    return run(&(struct hp_session){.settings = settings}, argv, profile, status);
}

enum hp_err hp_session_record(const struct hp_session_settings *settings, char *const *argv,
                              const char *trace_path, int *status)
{
    return run(&(struct hp_session){.settings = settings, .trace_path = trace_path}, argv, NULL,
               status);
}

/* --- A replay --------------------------------------------------------------------------------- */

/* What a trace can give: the order of execution, no counters, addresses if they were recorded. */
static enum hp_err plan_replay(struct hp_session *s)
{
    struct hp_selection *selection = &s->plan.selection;
    HP_TRY(hp_selection_parse(s->settings, selection));
    if (selection->counts || hp_selection_is_empty(selection))
        return hp_fail(HP_ERR_INVALID, "a trace is profiled with --profile exact, paths or "
                                       "predictions");
    if (selection->addresses && !s->run->addresses)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the trace holds no addresses of data, which this needs: record it with "
                       "--addresses, or give the program");
    return HP_OK;
}

static enum hp_err replay(struct hp_session *s)
{
    HP_TRY(plan_replay(s));
    HP_TRY(open_session(s));
    HP_TRY(open_pipeline(s, NULL));
    if (s->run->addresses && (s->profilers.machine || s->plan.selection.addresses)) {
        hp_trace_reader_want_addresses(s->reader);
        expect_addresses(s);
    }
    return hp_replay(s->reader, s->code, &s->consumer, s->settings->salvage, &s->damaged);
}

enum hp_err hp_session_replay(const struct hp_session_settings *settings, const char *trace_path,
                              struct hp_profile **profile)
{
    struct hp_session s HP_CLEANUP(close_session) = {.settings = settings};
    if (profile)
        *profile = NULL;
    HP_TRY(hp_trace_reader_open(trace_path, &s.reader));
    s.run = &hp_trace_reader_info(s.reader)->run;
    enum hp_err err = replay(&s);
    call_tick(&s, true);
    return err == HP_OK ? use_results(&s, profile) : err;
}

/* --- What somebody else recorded -------------------------------------------------------------- */

enum hp_err hp_session_take(const struct hp_session_settings *settings,
                            struct hp_recorded *recorded, struct hp_profile **profile)
{
    struct hp_session s HP_CLEANUP(close_session) = {
        .settings = settings, .recorded = recorded, .run = &recorded->run};
    *profile = NULL;
    HP_TRY(plan_replay(&s));
    HP_TRY(open_session(&s));
    HP_TRY(open_pipeline(&s, NULL));
    enum hp_err err = recorded->deliver(recorded, s.code, &s.consumer);
    call_tick(&s, true);
    return err == HP_OK ? use_results(&s, profile) : err;
}

enum hp_err hp_session_keep(const struct hp_session_settings *settings,
                            struct hp_recorded *recorded, const char *trace_path)
{
    struct hp_session s HP_CLEANUP(close_session) = {.settings = settings,
                                                     .recorded = recorded,
                                                     .run = &recorded->run,
                                                     .trace_path = trace_path};
    HP_TRY(open_session(&s));
    HP_TRY(recorded->deliver(recorded, s.code, &s.consumer));
    return finish_trace(&s);
}
