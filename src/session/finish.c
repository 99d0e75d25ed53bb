// SPDX-License-Identifier: MIT
/*
 * The end of a session: from its profilers to a profile, with notes about what its reader must
 * know: what was not seen, and why.
 */
#include "base/base.h"
#include "engine/elf_file.h"
#include "engine/native/native.h"
#include "profiler/inlined.h"
#include "profiler/sample/profiler.h"
#include "session/session_impl.h"

#include <sys/stat.h>

/* --- Profilers and the machine ---------------------------------------------------------------- */

/* Samplers that saw windows of the run speak of the whole run. */
static void scale_samplers(struct hp_session *s)
{
    struct hp_runner_stats stats = hp_pipeline_cycles_stats(s->pipeline);
    double scale =
        stats.measured ? 1000.0 * (double)stats.instructions / (double)stats.measured : 1000.0;
    for (size_t i = 0; i < s->profilers.n_samplers; i++)
        hp_sample_profiler_set_scale(s->profilers.samplers[i], (uint64_t)(scale + 0.5));
}

HP_CLEANUP_POINTER(free_result, struct hp_result, hp_result_free)

static enum hp_err finish_profilers(struct hp_session *s, struct hp_profile *profile)
{
    bool in_cycles = s->profilers.program && s->pipeline;
    struct hp_result *result HP_CLEANUP(free_result) = NULL;
    if (in_cycles)
        scale_samplers(s);
    HP_TRY(hp_result_new(s->code, s->functions, profile, &result));
    HP_TRY(hp_profilers_finish(&s->profilers, &s->plan.selection, s->run, result));
    if (!s->settings->physical || hp_functions_lines_wanted(s->functions) == HP_LINES_ALL)
        HP_TRY(hp_result_inlined(result));
    HP_TRY(hp_names_add(&s->names, result, profile));
    if (in_cycles)
        hp_pipeline_place_windows(s->pipeline, profile);
    return HP_OK;
}

/* How much of the run was measured in cycles. */
static enum hp_err add_cycles(struct hp_session *s, struct hp_profile *profile)
{
    struct hp_runner_stats stats = hp_pipeline_cycles_stats(s->pipeline);
    char part[128];
    snprintf(part, sizeof part, "cycles %s", hp_machine_name(s->profilers.machine));
    if (stats.instructions && !stats.measured)
        HP_TRY(hp_profile_note(profile, 1, "no window",
                               "the run ended before its first window in cycles: --windows all "
                               "runs all of it in cycles"));
    HP_TRY(
        hp_profile_add_stat(profile, part, "run.instructions", HP_STAT_COUNT, stats.instructions));
    return hp_profile_add_stat(profile, part, "run.measured", HP_STAT_COUNT, stats.measured);
}

/* What the machine did, if there is one. */
static enum hp_err add_machine(struct hp_session *s, struct hp_profile *profile)
{
    const struct hp_core_stat *stats;
    size_t n;
    char part[128];
    HP_TRY(hp_pipeline_machine_stats(s->pipeline, &stats, &n));
    if (n)
        snprintf(part, sizeof part, "machine %s", hp_machine_name(s->profilers.machine));
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_profile_add_stat(profile, part, stats[i].name, HP_STAT_COUNT, stats[i].value));
    if (n && !s->addressed)
        HP_TRY(hp_profile_note(
            profile, 1, "no data",
            "the machine saw no accesses to data: their addresses were not recorded"));
    return s->profilers.program ? add_cycles(s, profile) : HP_OK;
}

/* --- What was not seen ------------------------------------------------------------------------ */

/* A note that is made where `n` is not 0. */
struct note {
    uint64_t n;
    const char *kind, *text; /* NULL ends the list */
};

static enum hp_err add_notes(struct hp_profile *profile, const struct note *notes)
{
    for (; notes->kind; notes++)
        if (notes->n)
            HP_TRY(hp_profile_note(profile, notes->n, notes->kind, "%s", notes->text));
    return HP_OK;
}

/* What was lost, the threads that outlived observation, a region that never came. */
static enum hp_err note_losses(struct hp_profile *profile, const struct hp_pipeline_stats *stats)
{
    /* Those that the engine let go are noted with what the engine said about them. */
    uint64_t let_go = profile->run.work.detached, detached = stats->detached_threads;
    for (int i = 0; i < HP_LOST_REASON_COUNT_; i++)
        if (stats->losses_by_reason[i])
            HP_TRY(hp_profile_note(profile, stats->losses_by_reason[i], "lost",
                                   "gaps in the stream: %s",
                                   hp_lost_reason_text((enum hp_lost_reason)i)));
    const struct note notes[] = {
        {stats->cursor.discontinuities, "discontinuity",
         "transfers of control that no branch explains"},
        {detached > let_go ? detached - let_go : 0, "detached",
         "threads still ran when observation ended; what they did after that is not in the "
         "profile"},
        {!stats->region_reached, "region", "the program ended before the region asked for began"},
        {0},
    };
    return add_notes(profile, notes);
}

/* Why the native engine lets a program go; as far as the file, if it is still there, tells. */
static const char *why_not_native(const char *path)
{
    struct stat status;
    struct hp_elf_file elf;
    if (!path || path[0] != '/' || stat(path, &status) != 0)
        return "the native engine did not follow it";
    if (status.st_mode & (S_ISUID | S_ISGID))
        return "the native engine does not follow setuid programs";
    if (hp_elf_file_read(path, &elf) == HP_OK && elf.arch != HP_ARCH_X86_64)
        return "the native engine follows 64-bit x86 programs only";
    return "the native engine did not follow it";
}

/* A program that was executed and not observed. `path` may end in a newline and the reason. */
static enum hp_err note_exec(struct hp_session *s, struct hp_profile *profile, const char *path)
{
    const char *newline = path ? strrchr(path, '\n') : NULL;
    const char *name = path && *path ? path : "another program", *why;
    int length = (int)strlen(name);
    if (newline && newline[1]) {
        length = (int)(newline - path);
        why = newline + 1;
    } else if (s->run->engine && strcmp(s->run->engine, "qemu") == 0) {
        why = "the qemu engine cannot follow exec";
    } else {
        bool unwanted = !s->reader && s->settings->no_follow;
        why = unwanted ? "children are not followed (--no-follow)" : why_not_native(path);
    }
    return hp_profile_note(profile, 1, "exec", "%.*s was executed and ran outside hotpath: %s",
                           length, name, why);
}

static enum hp_err note_execs(struct hp_session *s, struct hp_profile *profile)
{
    const uint32_t *ids;
    size_t n = s->pipeline ? hp_pipeline_execs(s->pipeline, &ids) : 0;
    for (size_t i = 0; i < n; i++)
        HP_TRY(note_exec(s, profile, hp_session_text(s, ids[i])));
    return HP_OK;
}

/* --- The engine ------------------------------------------------------------------------------- */

/* The watched processes can write anything there; profiles hold numbers up to 2^63-1. */
static void take_work(struct hp_engine_work *work, const struct hp_engine_stats *stats)
{
    _Static_assert(offsetof(struct hp_engine_stats, waited_ns) ==
                       offsetof(struct hp_engine_work, waited_ns),
                   "both have the same members, in the same order");
    for (const struct hp_engine_work_field *f = hp_engine_work_fields; f->name; f++) {
        uint64_t n = *(const _Atomic uint64_t *)((const char *)stats + f->offset);
        *(uint64_t *)((char *)work + f->offset) = n > INT64_MAX ? INT64_MAX : n;
    }
}

/* Executions of traces: the reader sees them, unless it was not to read everything. */
static void take_executions(struct hp_session *s, struct hp_engine_work *work)
{
    const struct hp_session_settings *settings = s->settings;
    if (!s->pipeline || settings->from || settings->after || settings->length)
        return;
    const struct hp_cursor_stats *stats = &hp_pipeline_stats(s->pipeline)->cursor;
    work->trace_entries += stats->trace_entries;
    work->trace_completions += stats->trace_completions;
    work->trace_insns_run += stats->trace_insns;
}

static enum hp_err take_traces_events(struct hp_session *s, struct hp_profile *profile)
{
    struct hp_traces_event event;
    for (uint32_t i = 0; hp_live_traces_event(s->live, i, &event); i++) {
        struct hp_ptraces_event *row;
        const char *kind = hp_profile_string(profile, hp_traces_events[event.kind].name);
        HP_TRY(kind ? hp_profile_add_traces_event(profile, &row) : HP_ERR_NOMEM);
        *row = (struct hp_ptraces_event){.process = event.process,
                                         .ns = event.ns,
                                         .kind = kind,
                                         .traces = event.traces,
                                         .bytes = event.bytes};
    }
    return HP_OK;
}

/* "libc.so.6+0x1234", or the bare address where no module that was seen is there. */
static void describe_address(const struct hp_code *code, uint64_t address, char *text, size_t size)
{
    snprintf(text, size, "address 0x%llx", (unsigned long long)address);
    for (uint32_t i = 0; i < hp_code_n_modules(code); i++) {
        const struct hp_module *module = hp_code_module(code, i);
        if (address < module->low || address >= module->high)
            continue;
        const char *slash = strrchr(module->path, '/');
        snprintf(text, size, "%.200s+0x%llx", slash ? slash + 1 : module->path,
                 (unsigned long long)(address - module->base));
        return;
    }
}

/* Takes over what the engine counted, and notes the threads that it let go on natively. */
static enum hp_err note_engine(struct hp_session *s, struct hp_profile *profile)
{
    struct hp_engine_stats stats;
    char place[256];
    hp_live_engine_stats(s->live, &stats);
    take_work(&profile->run.work, &stats);
    take_executions(s, &profile->run.work);
    HP_TRY(take_traces_events(s, profile));
    HP_TRY(hp_steered_events(s, profile));
    if (!profile->run.work.detached)
        return HP_OK;
    describe_address(s->code, stats.detach_address, place, sizeof place);
    const char *reason = hp_live_string(s->live, stats.detach_reason);
    return hp_profile_note(profile, profile->run.work.detached, "detached",
                           "a thread went on natively and was not seen any more, the first from %s "
                           "on: %.400s",
                           place, reason ? reason : "the engine did not say why");
}

static enum hp_err note_live(struct hp_session *s, struct hp_profile *profile)
{
    const struct hp_live_stats *stats = &s->live_stats;
    bool fixed =
        s->settings->randomize || s->plan.engine != HP_PLAN_NATIVE || hp_native_can_fix_addresses();
    const struct note notes[] = {
        {!s->profilers.n, "nothing", "nothing was profiled, as was asked for: no counts, no code"},
        {stats->left, "ended",
         "observation was ended before the program, which went on; its exit status is not known"},
        {stats->unobserved_threads, "unobserved",
         "threads were not observed: too many at the same time"},
        {!fixed, "randomized",
         "addresses were randomized, which this system does not let hotpath turn off: counts may "
         "differ a little from run to run"},
        {stats->traces_events_lost, "traces",
         "flushes and bail-outs of traces found no room in their time line"},
        {stats->wishes_lost, "traces",
         "blocks of hot spots could not become traces: there were too many"},
        {0},
    };
    HP_TRY(note_engine(s, profile));
    HP_TRY(note_execs(s, profile));
    HP_TRY(add_notes(profile, notes));
    if (stats->natively)
        HP_TRY(hp_profile_note(profile, stats->natively, "natively",
                               "programs that were executed ran outside hotpath: %s", stats->why));
    return HP_OK;
}

static enum hp_err note_replay(struct hp_session *s, struct hp_profile *profile)
{
    const struct note notes[] = {
        {!hp_trace_reader_info(s->reader)->complete, "damaged",
         "the trace has no index, so how long the program ran and its exit status are not known"},
        {s->damaged, "damaged", "parts of the trace are damaged"},
        {0},
    };
    HP_TRY(note_execs(s, profile));
    return add_notes(profile, notes);
}

/* --- The profile ------------------------------------------------------------------------------ */

/* Command, place and time; texts are copied. */
static enum hp_err describe(struct hp_profile *profile, const struct hp_trace_run *run)
{
    profile->run.version = hp_profile_string(profile, run->version);
    profile->run.engine = hp_profile_string(profile, run->engine);
    profile->run.directory = hp_profile_string(profile, run->directory);
    profile->run.machine = hp_profile_string(profile, run->machine);
    profile->run.arch = run->arch;
    profile->run.started = run->started;
    profile->run.seconds = run->seconds;
    profile->run.exit_status = run->exit_status;
    bool copied = profile->run.version && profile->run.engine && profile->run.directory &&
                  profile->run.machine;
    return copied ? hp_profile_set_command(profile, run->command) : hp_fail_nomem();
}

static enum hp_err fill(struct hp_session *s, struct hp_profile *profile)
{
    const char *what;
    HP_TRY(describe(profile, s->run));
    HP_TRY(s->recorded ? s->recorded->note(s->recorded, profile)
           : s->reader ? note_replay(s, profile)
                       : note_live(s, profile));
    HP_TRY(hp_name_generated(s, profile));
    HP_TRY(finish_profilers(s, profile));
    profile->run.arch = hp_code_arch(s->code);
    profile->run.runs = 1;
    if (s->pipeline) {
        const struct hp_pipeline_stats *stats = hp_pipeline_stats(s->pipeline);
        profile->run.lost = stats->cursor.losses;
        HP_TRY(note_losses(profile, stats));
        HP_TRY(add_machine(s, profile));
    }
    HP_TRY(hp_profile_settle(profile, &what));
    if (what && s->settings->warn)
        s->settings->warn(s->settings->context, what);
    return HP_OK;
}

HP_CLEANUP_POINTER(free_profile, struct hp_profile, hp_profile_free)

enum hp_err hp_session_profile(struct hp_session *s, struct hp_profile **profile)
{
    struct hp_profile *made HP_CLEANUP(free_profile) = NULL;
    HP_TRY(hp_profile_new(&made));
    HP_TRY(fill(s, made));
    *profile = made;
    made = NULL;
    return HP_OK;
}
