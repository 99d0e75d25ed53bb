// SPDX-License-Identifier: MIT
#include "session/selection.h"

#include "base/debug.h"
#include "engine/native/native.h"

#include <string.h>

/* A smaller code cache would be flushed all the time; branches cannot reach all of a larger one. */
#define MIN_CACHE     (UINT64_C(1) << 20)
#define MAX_CACHE     (UINT64_C(1) << 30)
#define DEFAULT_CACHE (UINT64_C(256) << 20)

/* What a thread records in about a tenth of a millisecond, and in some hundredths of a second. */
#define MIN_LAG     (UINT64_C(256) << 10)
#define MAX_LAG     (UINT64_C(64) << 20)
#define DEFAULT_LAG (UINT64_C(1) << 20)

const struct hp_name hp_plan_engines[] = {
    [HP_PLAN_NATIVE] = {"native", "programs of this machine: fast"},
    [HP_PLAN_QEMU] = {"qemu", "programs of other machines, too"},
    {0},
};

const struct hp_name hp_plan_records[] = {
    [HP_RECORD_STREAM] = {"stream", "the order of execution"},
    [HP_RECORD_COUNT] = {"count", "counters of blocks and edges"},
    [HP_RECORD_MEMORY] = {"memory", "the stream, with the addresses of data"},
    [HP_RECORD_NONE] = {"none", "nothing"},
    {0},
};

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
    unsigned mode;
    HP_TRY(hp_name_find(hp_plan_records, "record", settings->record, &mode));
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
    unsigned engine = HP_PLAN_NATIVE;
    if (settings->engine)
        HP_TRY(hp_name_find(hp_plan_engines, "engine", settings->engine, &engine));
    plan->engine = (enum hp_plan_engine)engine;
    plan->cache_size = settings->cache_size ? settings->cache_size : DEFAULT_CACHE;
    if (plan->cache_size < MIN_CACHE || plan->cache_size > MAX_CACHE)
        return hp_fail(HP_ERR_INVALID, "--cache-size is from 1M to 1G, not %llu bytes",
                       (unsigned long long)plan->cache_size);
    plan->lag = settings->lag ? settings->lag : DEFAULT_LAG;
    if (plan->lag < MIN_LAG || plan->lag > MAX_LAG)
        return hp_fail(HP_ERR_INVALID, "--lag is from 256K to 64M, not %llu bytes",
                       (unsigned long long)plan->lag);
    HP_TRY(read_words(settings, plan));
    plan->traces = hp_traces_usual(plan->mode);
    bool steers = hp_selection_steers(&plan->selection);
    if (steers && strchr(settings->traces, ':')) /* what follows was read with the selection */
        HP_TRY(hp_traces_parse("hotspots", &plan->traces));
    else if (settings->traces)
        HP_TRY(hp_in_setting(hp_traces_parse(settings->traces, &plan->traces), "traces"));
    if ((plan->selection.counts || hp_selection_is_empty(&plan->selection)) &&
        (settings->from || settings->after || settings->length))
        return hp_fail(HP_ERR_INVALID,
                       "--from, --after and --for need the order of execution: --profile exact, "
                       "loops, paths, predictions, hotspots, cycles or instructions");
    return HP_OK;
}

enum hp_err hp_plan_choose(const struct hp_session_settings *settings,
                           const struct hp_executable *program, struct hp_plan *plan)
{
    enum hp_err native = hp_native_check(program);
    bool is_for_native = native == HP_OK || (native == HP_ERR_NOTFOUND && !settings->sysroot);
    if (!settings->engine)
        plan->engine = is_for_native && hp_native_installed() ? HP_PLAN_NATIVE : HP_PLAN_QEMU;
    hp_debug(HP_DEBUG_SESSION, "%s: engine %s (%s), which records: %s; code cache %llu MiB",
             program->path, hp_plan_engines[plan->engine].name,
             settings->engine ? "asked for"
             : is_for_native  ? hp_native_installed() ? "the default" : "native is missing"
                              : "the program is not for the native engine",
             hp_plan_records[plan->mode].name, (unsigned long long)plan->cache_size >> 20);
    plan->counts_paths =
        plan->engine == HP_PLAN_NATIVE && hp_selection_counts_paths(&plan->selection, &plan->rules);
    if (plan->engine == HP_PLAN_NATIVE)
        return hp_native_check(program);
    if (settings->traces)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "--traces needs the native engine, and the qemu engine would run %s",
                       program->path);
    /* Without addresses a machine models the instruction side and the branches. */
    if (plan->mode == HP_RECORD_MEMORY && !settings->record && !plan->selection.addresses)
        plan->mode = HP_RECORD_STREAM;
    if (plan->mode != HP_RECORD_STREAM)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the qemu engine, which would run %s, records the stream only: --record %s, "
                       "--profile counts, addresses and metrics of data need the native engine",
                       program->path, hp_plan_records[plan->mode].name);
    return HP_OK;
}
