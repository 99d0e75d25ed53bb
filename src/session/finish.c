// SPDX-License-Identifier: MIT
/*
 * The end of a session: from its profilers to a profile with its notes.
 */
#include "engine/native/native.h"
#include "profiler/sample/profiler.h"
#include "session/notes.h"
#include "session/session_impl.h"

#include <stdio.h>

/* Samplers that saw windows of the run speak of the whole run. */
static void scale_samplers(struct hp_session *s)
{
    struct hp_runner_stats stats = hp_pipeline_cycles_stats(s->pipeline);
    double scale =
        stats.measured ? 1000.0 * (double)stats.instructions / (double)stats.measured : 1000.0;
    for (size_t i = 0; i < s->profilers.n_samplers; i++)
        hp_sample_profiler_set_scale(s->profilers.samplers[i], (uint64_t)(scale + 0.5));
}

static enum hp_err finish_profilers(struct hp_session *s, struct hp_profile *profile)
{
    bool in_cycles = s->profilers.program && s->pipeline;
    struct hp_result *result;
    if (in_cycles)
        scale_samplers(s);
    HP_TRY(hp_result_new(s->code, s->functions, profile, &result));
    enum hp_err err = hp_profilers_finish(&s->profilers, &s->plan.selection, s->run, result);
    hp_result_free(result);
    if (err == HP_OK && in_cycles)
        hp_pipeline_place_windows(s->pipeline, profile);
    return err;
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

static const char *string_of(struct hp_session *s, uint32_t id)
{
    return s->reader ? hp_trace_reader_string(s->reader, id) : hp_live_string(s->live, id);
}

/* The programs that were executed and not followed. */
static enum hp_err note_execs(struct hp_session *s, struct hp_profile *profile)
{
    const uint32_t *ids;
    size_t n = s->pipeline ? hp_pipeline_execs(s->pipeline, &ids) : 0;
    bool unwanted = !s->reader && s->settings->no_follow;
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_note_exec(profile, string_of(s, ids[i]), s->run->engine, unwanted));
    return HP_OK;
}

static enum hp_err note_live(struct hp_session *s, struct hp_profile *profile)
{
    const struct hp_live_stats *stats = &s->live_stats;
    HP_TRY(hp_note_engine(profile, s->live, s->code));
    if (!s->profilers.n)
        HP_TRY(hp_profile_note(profile, 1, "nothing",
                               "nothing was profiled, as was asked for: no counts, no code"));
    HP_TRY(note_execs(s, profile));
    if (stats->unobserved_threads)
        HP_TRY(hp_profile_note(profile, stats->unobserved_threads, "unobserved",
                               "threads were not observed: too many at the same time"));
    if (!s->settings->randomize && s->plan.engine == HP_PLAN_NATIVE &&
        !hp_native_can_fix_addresses())
        HP_TRY(hp_profile_note(profile, 1, "randomized",
                               "addresses were randomized, which this system does not let hotpath "
                               "turn off: counts may differ a little from run to run"));
    if (stats->natively)
        HP_TRY(hp_profile_note(profile, stats->natively, "natively",
                               "programs that were executed ran outside hotpath: %s", stats->why));
    return HP_OK;
}

static enum hp_err note_replay(struct hp_session *s, struct hp_profile *profile)
{
    HP_TRY(note_execs(s, profile));
    if (!hp_trace_reader_info(s->reader)->complete)
        HP_TRY(hp_profile_note(profile, 1, "damaged",
                               "the trace has no index, so how long the program ran and its exit "
                               "status are not known"));
    if (s->damaged)
        HP_TRY(hp_profile_note(profile, s->damaged, "damaged", "parts of the trace are damaged"));
    return HP_OK;
}

static enum hp_err fill(struct hp_session *s, struct hp_profile *profile)
{
    const char *what;
    HP_TRY(hp_describe_profile(profile, s->run));
    HP_TRY(s->reader ? note_replay(s, profile) : note_live(s, profile));
    HP_TRY(finish_profilers(s, profile));
    profile->run.arch = hp_code_arch(s->code);
    profile->run.runs = 1;
    if (s->pipeline) {
        const struct hp_pipeline_stats *stats = hp_pipeline_stats(s->pipeline);
        profile->run.lost = stats->cursor.losses;
        HP_TRY(hp_note_losses(profile, stats));
        HP_TRY(add_machine(s, profile));
    }
    HP_TRY(hp_profile_mend(profile, &what));
    if (what && s->settings->warn)
        s->settings->warn(s->settings->context, what);
    return hp_profile_normalize(profile);
}

enum hp_err hp_session_profile(struct hp_session *s, struct hp_profile **profile)
{
    struct hp_profile *made;
    HP_TRY(hp_profile_new(&made));
    enum hp_err err = fill(s, made);
    if (err == HP_OK)
        *profile = made;
    else
        hp_profile_free(made);
    return err;
}
