// SPDX-License-Identifier: MIT
#include "session/plan.h"

#include "base/debug.h"
#include "engine/native/native.h"

#include <string.h>

/* A code cache smaller than this would be flushed all the time; a larger one would be out of reach
 * of branches with 32 bits of distance. */
#define MIN_CACHE     (UINT64_C(1) << 20)
#define MAX_CACHE     (UINT64_C(1) << 30)
#define DEFAULT_CACHE (UINT64_C(256) << 20)

static const char *const engine_names[] = {[HP_PLAN_NATIVE] = "native", [HP_PLAN_QEMU] = "qemu"};

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

/* --- What is selected / ----------------------------------------------------------------------- */

/* What the engine has to record. With a machine that is everything that it can. */
static enum hp_record_mode mode_for(const struct hp_selection *selection)
{
    if (selection->counts)
        return HP_RECORD_COUNT;
    return selection->machine || selection->addresses ? HP_RECORD_MEMORY : HP_RECORD_STREAM;
}

static bool fits(const struct hp_selection *selection, enum hp_record_mode mode)
{
    if (hp_selection_is_empty(selection))
        return true;
    if (selection->counts)
        return mode == HP_RECORD_COUNT;
    return mode == HP_RECORD_MEMORY || (mode == HP_RECORD_STREAM && !selection->addresses);
}

static enum hp_err read_words(const struct hp_session_settings *settings, struct hp_plan *plan)
{
    struct hp_selection *selection = &plan->selection;
    HP_TRY(hp_selection_parse(settings, selection));
    plan->mode = mode_for(selection);
    if (!settings->record)
        return HP_OK;
    size_t mode = find(record_names, COUNT(record_names), settings->record);
    if (mode == COUNT(record_names))
        return hp_fail(HP_ERR_INVALID,
                       "--record is 'none', 'count', 'stream' or 'memory', not '%s'",
                       settings->record);
    plan->mode = (enum hp_record_mode)mode;
    if (!settings->profile && selection->exact) { /* nobody asked for it */
        selection->exact = plan->mode == HP_RECORD_STREAM;
        selection->counts = plan->mode == HP_RECORD_COUNT;
    }
    if (!fits(selection, plan->mode))
        return hp_fail(HP_ERR_INVALID, "--profile %s cannot be made from --record %s",
                       settings->profile ? settings->profile
                                         : "paths, predictions, loops, hotspots, cycles "
                                           "or instructions",
                       settings->record);
    return HP_OK;
}

enum hp_err hp_plan_settings(const struct hp_session_settings *settings, struct hp_plan *plan)
{
    if (settings->engine &&
        find(engine_names, COUNT(engine_names), settings->engine) == COUNT(engine_names))
        return hp_fail(HP_ERR_INVALID, "there is no engine '%s'; there are: native, qemu",
                       settings->engine);
    plan->cache_size = settings->cache_size ? settings->cache_size : DEFAULT_CACHE;
    if (plan->cache_size < MIN_CACHE || plan->cache_size > MAX_CACHE)
        return hp_fail(HP_ERR_INVALID, "--cache-size is from 1M to 1G, not %llu bytes",
                       (unsigned long long)plan->cache_size);
    HP_TRY(read_words(settings, plan));
    if ((plan->selection.counts || hp_selection_is_empty(&plan->selection)) &&
        (settings->from || settings->after || settings->length))
        return hp_fail(HP_ERR_INVALID,
                       "--from, --after and --for need the order of execution: --profile exact, "
                       "loops, paths, predictions, hotspots, cycles or instructions");
    return HP_OK;
}

/* --- Who can do it ---------------------------------------------------------------------------- */

enum hp_err hp_plan_choose(const struct hp_session_settings *settings,
                           const struct hp_executable *program, struct hp_plan *plan)
{
    enum hp_err native = hp_native_check(program);
    bool is_for_native = native == HP_OK || (native == HP_ERR_NOTFOUND && !settings->sysroot);
    if (settings->engine)
        plan->engine =
            (enum hp_plan_engine)find(engine_names, COUNT(engine_names), settings->engine);
    else
        plan->engine = is_for_native && hp_native_installed() ? HP_PLAN_NATIVE : HP_PLAN_QEMU;
    hp_debug(HP_DEBUG_SESSION, "%s: engine %s (%s), which records: %s; code cache %llu MiB",
             program->path, engine_names[plan->engine],
             settings->engine ? "asked for"
             : is_for_native  ? hp_native_installed() ? "the default" : "native is missing"
                              : "the program is not for the native engine",
             record_names[plan->mode], (unsigned long long)plan->cache_size >> 20);
    if (plan->engine == HP_PLAN_NATIVE)
        return hp_native_check(program);
    /* Without addresses a machine models the instruction side and the branches. */
    if (plan->mode == HP_RECORD_MEMORY && !settings->record && !plan->selection.addresses)
        plan->mode = HP_RECORD_STREAM;
    if (plan->mode != HP_RECORD_STREAM)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the qemu engine, which would run %s, records the stream only: --record %s, "
                       "--profile counts, addresses and metrics of data need the native engine",
                       program->path, record_names[plan->mode]);
    return HP_OK;
}
