// SPDX-License-Identifier: MIT
#include "cli/plan.h"

#include "engine/native/native.h"

#include <string.h>

/* A code cache smaller than this would be flushed all the time; a larger one would be out of reach
 * of branches with 32 bits of distance. */
#define MIN_CACHE (UINT64_C(1) << 20)
#define MAX_CACHE (UINT64_C(1) << 30)

static const char *const engine_names[] = {[HP_PLAN_NATIVE] = "native", [HP_PLAN_QEMU] = "qemu"};

static const char *const profile_names[] = {
    [HP_PLAN_EXACT] = "exact", [HP_PLAN_COUNTS] = "counts", [HP_PLAN_NOTHING] = "none"};

static const char *const record_names[] = {[HP_RECORD_STREAM] = "stream",
                                           [HP_RECORD_COUNT] = "count",
                                           [HP_RECORD_MEMORY] = "memory",
                                           [HP_RECORD_NONE] = "none"};

#define COUNT(names) (sizeof(names) / sizeof *(names))

const char *hp_plan_engine_name(enum hp_plan_engine engine)
{
    return engine_names[engine];
}

/* The place of a word in a list; `n` when it is not there. */
static size_t find(const char *const *names, size_t n, const char *word)
{
    size_t i = 0;
    while (i < n && strcmp(names[i], word) != 0)
        i++;
    return i;
}

/* --- What is wanted --------------------------------------------------------------------------- */

/* What there is to be made of what an engine records, when nothing is said about it. */
static enum hp_plan_profile profile_of(enum hp_record_mode mode)
{
    switch (mode) {
    case HP_RECORD_STREAM: return HP_PLAN_EXACT;
    case HP_RECORD_COUNT: return HP_PLAN_COUNTS;
    case HP_RECORD_MEMORY:
    case HP_RECORD_NONE: break;
    }
    return HP_PLAN_NOTHING;
}

static enum hp_err read_words(const struct hp_session_options *options, struct hp_plan *plan)
{
    size_t profile = HP_PLAN_EXACT, mode = HP_RECORD_STREAM;
    if (options->profile) {
        profile = find(profile_names, COUNT(profile_names), options->profile);
        if (profile == COUNT(profile_names))
            return hp_fail(HP_ERR_INVALID,
                           "there is no profile '%s'; there are: exact, counts, none",
                           options->profile);
        mode = profile == HP_PLAN_COUNTS ? HP_RECORD_COUNT : HP_RECORD_STREAM;
    }
    if (options->record) {
        mode = find(record_names, COUNT(record_names), options->record);
        if (mode == COUNT(record_names))
            return hp_fail(HP_ERR_INVALID,
                           "--record is 'none', 'count', 'stream' or 'memory', not '%s'",
                           options->record);
        if (!options->profile)
            profile = profile_of((enum hp_record_mode)mode);
    }
    plan->profile = (enum hp_plan_profile)profile;
    plan->mode = (enum hp_record_mode)mode;
    return HP_OK;
}

enum hp_err hp_plan_options(const struct hp_session_options *options, struct hp_plan *plan)
{
    if (options->engine &&
        find(engine_names, COUNT(engine_names), options->engine) == COUNT(engine_names))
        return hp_fail(HP_ERR_INVALID, "there is no engine '%s'; there are: native, qemu",
                       options->engine);
    if (options->cache_size < MIN_CACHE || options->cache_size > MAX_CACHE)
        return hp_fail(HP_ERR_INVALID, "--cache-size is from 1M to 1G, not %llu bytes",
                       (unsigned long long)options->cache_size);
    HP_TRY(read_words(options, plan));
    if (plan->profile != HP_PLAN_NOTHING && profile_of(plan->mode) != plan->profile)
        return hp_fail(HP_ERR_INVALID, "--profile %s cannot be made from --record %s",
                       profile_names[plan->profile], record_names[plan->mode]);
    if (plan->profile != HP_PLAN_EXACT && (options->from || options->after || options->length))
        return hp_fail(HP_ERR_INVALID,
                       "--from, --after and --for need the order of execution: --profile exact");
    return HP_OK;
}

/* --- Who can do it ---------------------------------------------------------------------------- */

enum hp_err hp_plan_choose(const struct hp_session_options *options,
                           const struct hp_program *program, struct hp_plan *plan)
{
    enum hp_err native = hp_native_check(program);
    bool is_for_native = native == HP_OK || (native == HP_ERR_NOTFOUND && !options->sysroot);
    if (options->engine)
        plan->engine =
            (enum hp_plan_engine)find(engine_names, COUNT(engine_names), options->engine);
    else
        plan->engine = is_for_native && hp_native_installed() ? HP_PLAN_NATIVE : HP_PLAN_QEMU;
    if (plan->engine == HP_PLAN_NATIVE)
        return hp_native_check(program);
    if (plan->mode != HP_RECORD_STREAM)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the qemu engine, which would run %s, records the stream only: --record %s "
                       "and --profile counts need the native engine",
                       program->path, record_names[plan->mode]);
    return HP_OK;
}
