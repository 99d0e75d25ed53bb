// SPDX-License-Identifier: MIT
#include "cli/wanted.h"

#include "profiler/cycles/profiler.h"
#include "profiler/exact/exact.h"
#include "profiler/sample/profiler.h"

#include <stdio.h>
#include <string.h>

/* --- The list --------------------------------------------------------------------------------- */

static enum hp_err want(struct hp_wanted *wanted, const char *word, size_t length, bool *none)
{
    const struct {
        const char *name;
        bool *flag;
    } names[] = {{"exact", &wanted->exact},
                 {"counts", &wanted->counts},
                 {"loops", &wanted->loops},
                 {"paths", &wanted->paths},
                 {"predictions", &wanted->predictions},
                 {"hotspots", &wanted->hotspots},
                 {"cycles", &wanted->cycles},
                 {"instructions", &wanted->instructions},
                 {"none", none}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, word, length) == 0) {
            *names[i].flag = true;
            return HP_OK;
        }
    }
    return hp_fail(HP_ERR_INVALID,
                   "there is no profile '%.*s'; there are: exact, counts, loops, paths, "
                   "predictions, hotspots, cycles, instructions, none",
                   (int)length, word);
}

static bool needs_order(const struct hp_wanted *wanted)
{
    return wanted->exact || wanted->loops || wanted->paths || wanted->predictions ||
           wanted->hotspots || wanted->cycles || wanted->instructions || wanted->options->observer;
}

/* What is said in a list; what is asked for in detail is wanted without being listed. */
static enum hp_err read_list(struct hp_wanted *wanted)
{
    const struct hp_wanted_options *o = wanted->options;
    bool none = false;
    for (const char *word = o->profile; word && *word;) {
        size_t length = strcspn(word, ",");
        HP_TRY(want(wanted, word, length, &none));
        word += length + (word[length] == ',');
    }
    if (o->paths || o->metric || o->tables.n || o->window || o->wpp)
        wanted->paths = true;
    if (o->schemes.n)
        wanted->predictions = true;
    if (o->loop_models.n)
        wanted->loops = true;
    if (o->hotspots)
        wanted->hotspots = true;
    if (o->samplers.n)
        wanted->instructions = true;
    if (o->machine && !o->profile && !needs_order(wanted)) /* nothing else was said of it */
        wanted->exact = wanted->cycles = wanted->instructions = true;
    bool ordered = needs_order(wanted);
    if (none && (ordered || wanted->counts))
        return hp_fail(HP_ERR_INVALID, "--profile none goes with no other profile");
    if (wanted->counts && (ordered || o->machine))
        return hp_fail(HP_ERR_INVALID,
                       "--profile counts goes with no other: they need the order of execution");
    if (!none && !ordered && !wanted->counts)
        wanted->exact = true;
    return HP_OK;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* An error of a part, with the option it came from. */
static enum hp_err in_option(enum hp_err err, const char *option)
{
    char reason[512];
    if (err == HP_OK)
        return HP_OK;
    snprintf(reason, sizeof reason, "%s", hp_error_text());
    return hp_fail(err, "--%s: %s", option, reason);
}

static enum hp_err read_paths(struct hp_wanted *wanted)
{
    const struct hp_wanted_options *o = wanted->options;
    struct hp_paths_config *config = &wanted->paths_config;
    const char *type = o->paths ? o->paths : o->wpp ? "wpp" : "bl";
    HP_TRY(in_option(hp_ppcr_parse(type, &config->ppcr), "paths"));
    if (o->metric) {
        HP_TRY(in_option(hp_metric_parse(o->metric, &config->ppcr.metric), "metric"));
        if (config->ppcr.metric > HP_METRIC_EXECUTIONS)
            config->ppcr.counter_bits = 32; /* a profile is to be exact */
    }
    if (hp_metric_needs_machine(config->ppcr.metric) && (wanted->cycles || wanted->instructions))
        return hp_fail(
            HP_ERR_INVALID,
            "--metric %s counts on a machine without cycles: not with --profile cycles or "
            "instructions",
            o->metric);
    if (hp_metric_needs_machine(config->ppcr.metric) && !o->machine)
        return hp_fail(HP_ERR_INVALID, "counting %s takes a machine: --machine vaswani, for one",
                       hp_metric_title(config->ppcr.metric));
    wanted->addresses = hp_metric_needs_addresses(config->ppcr.metric);
    config->max_paths = o->max_paths;
    config->window = o->window;
    for (size_t i = 0; i < o->tables.n; i++)
        HP_TRY(in_option(hp_hpt_parse(o->tables.items[i], &config->tables[config->n_tables++]),
                         "table"));
    if (o->window && !o->tables.n)
        HP_TRY(hp_hpt_parse("vaswani", &config->tables[config->n_tables++]));
    return HP_OK;
}

/* --- Predictions ------------------------------------------------------------------------------ */

static enum hp_err read_schemes(struct hp_wanted *wanted)
{
    const struct hp_wanted_options *o = wanted->options;
    struct hp_judge_config *config = &wanted->judge_config;
    static const char *const usual[] = {"net:50", "path-profile:50"};
    const char *const *schemes = o->schemes.n ? o->schemes.items : usual;
    size_t n = o->schemes.n ? o->schemes.n : sizeof usual / sizeof *usual;
    for (size_t i = 0; i < n; i++)
        HP_TRY(in_option(hp_scheme_parse(schemes[i], &config->schemes[config->n_schemes++]),
                         "predict"));
    config->max_paths = o->max_paths;
    return HP_OK;
}

/* --- Loops and hot spots ---------------------------------------------------------------------- */

static enum hp_err read_loop_models(struct hp_wanted *wanted)
{
    const struct hp_texts *models = &wanted->options->loop_models;
    for (size_t i = 0; i < models->n; i++)
        HP_TRY(in_option(
            hp_loop_config_parse(models->items[i], &wanted->loop_models[wanted->n_loop_models++]),
            "loop-model"));
    return HP_OK;
}

static enum hp_err read_hotspots(struct hp_wanted *wanted)
{
    const char *detector = wanted->options->hotspots ? wanted->options->hotspots : "merten";
    return in_option(hp_hotspot_config_parse(detector, &wanted->hotspot_config), "hotspots");
}

/* --- A machine in cycles ---------------------------------------------------------------------- */

static enum hp_err read_samplers(struct hp_wanted *wanted)
{
    static const char *const usual[] = {"profileme,pairs,interval=1000"};
    const struct hp_texts *samplers = &wanted->options->samplers;
    const char *const *names = samplers->n ? samplers->items : usual;
    size_t n = samplers->n ? samplers->n : sizeof usual / sizeof *usual;
    if (n > HP_SAMPLERS_MAX)
        return hp_fail(HP_ERR_INVALID, "more than %d samplers at once", HP_SAMPLERS_MAX);
    for (size_t i = 0; i < n; i++)
        HP_TRY(in_option(hp_sample_config_parse(names[i], &wanted->samplers[i]), "sample"));
    wanted->n_samplers = n;
    return HP_OK;
}

static bool is_in_cycles(const struct hp_wanted *wanted)
{
    const struct hp_observer *observer = wanted->options->observer;
    return wanted->cycles || wanted->instructions || (observer && observer->open);
}

/* What was asked for by name is run in cycles from end to end; where just a machine was named, in windows. */
static enum hp_err read_cycles(struct hp_wanted *wanted)
{
    const struct hp_wanted_options *o = wanted->options;
    bool in_cycles = is_in_cycles(wanted);
    if (o->windows && !in_cycles)
        return hp_fail(HP_ERR_INVALID, "--windows is for --profile cycles or instructions");
    if (!in_cycles)
        return HP_OK;
    if (!wanted->machine)
        wanted->machine = "modern";
    if (o->windows)
        HP_TRY(in_option(hp_windows_parse(o->windows, &wanted->windows), "windows"));
    else if (!o->profile && !o->samplers.n && !o->observer)
        wanted->windows = hp_windows_usual();
    return wanted->instructions ? read_samplers(wanted) : HP_OK;
}

enum hp_err hp_wanted_parse(const struct hp_wanted_options *options, struct hp_wanted *wanted)
{
    *wanted = (struct hp_wanted){.options = options, .machine = options->machine};
    HP_TRY(read_list(wanted));
    if (wanted->paths)
        HP_TRY(read_paths(wanted));
    if (wanted->predictions)
        HP_TRY(read_schemes(wanted));
    HP_TRY(read_loop_models(wanted));
    HP_TRY(read_cycles(wanted));
    if (wanted->hotspots)
        HP_TRY(read_hotspots(wanted));
    if (options->observer && options->observer->addresses)
        wanted->addresses = true;
    if (options->max_paths && !wanted->paths && !wanted->predictions)
        return hp_fail(HP_ERR_INVALID, "--max-paths is for --profile paths or predictions");
    if (options->wpp_memory && !options->wpp)
        return hp_fail(HP_ERR_INVALID, "--wpp-memory is for --wpp FILE");
    return HP_OK;
}

bool hp_wanted_nothing(const struct hp_wanted *wanted)
{
    return !needs_order(wanted) && !wanted->counts;
}

/* --- Making ----------------------------------------------------------------------------------- */

static struct hp_path_sink *wpp_sink(void *context, const struct hp_thread *thread)
{
    struct hp_path_sink *sink;
    /* A failure is remembered: hp_wpp_finish() tells it. */
    return hp_wpp_thread(context, thread, &sink) == HP_OK ? sink : NULL;
}

static enum hp_err open_paths(const struct hp_wanted *wanted, struct hp_code *code,
                              struct hp_functions *functions, struct hp_wanted_parts *parts)
{
    struct hp_paths_config config = wanted->paths_config;
    if (wanted->options->wpp) {
        HP_TRY(hp_wpp_new(wanted->options->wpp, code, wanted->options->wpp_memory, &parts->wpp));
        config.extra = wpp_sink;
        config.context = parts->wpp;
    }
    HP_TRY(hp_paths_new(code, functions, &config, &parts->profilers[parts->n]));
    parts->paths = parts->profilers[parts->n++];
    return HP_OK;
}

/* Exact attribution is there with sampling too: it is the measure of it. */
static enum hp_err open_cycles(const struct hp_wanted *wanted, struct hp_code *code,
                               struct hp_functions *functions, struct hp_wanted_parts *parts)
{
    struct hp_cycles_config config = {.interval = 0};
    struct hp_observer *observer = wanted->options->observer;
    HP_TRY(hp_program_new(parts->machine, code, &parts->program));
    if (observer && observer->open) {
        HP_TRY(observer->open(observer, parts->program, functions, &parts->profilers[parts->n]));
        parts->n++;
    }
    if (!wanted->cycles && !wanted->instructions)
        return HP_OK;
    HP_TRY(hp_cycles_profiler_new(&config, parts->program, &parts->profilers[parts->n]));
    parts->n++;
    for (size_t i = 0; i < wanted->n_samplers; i++) {
        struct hp_profiler **profiler = &parts->profilers[parts->n];
        HP_TRY(in_option(hp_sample_profiler_new(&wanted->samplers[i], parts->program, profiler),
                         "sample"));
        parts->samplers[parts->n_samplers++] = *profiler;
        parts->n++;
    }
    return HP_OK;
}

enum hp_err hp_wanted_open(const struct hp_wanted *wanted, struct hp_code *code,
                           struct hp_functions *functions, struct hp_wanted_parts *parts)
{
    if (wanted->machine)
        HP_TRY(in_option(hp_machine_load(wanted->machine, &parts->machine), "machine"));
    if (wanted->exact || wanted->loops || wanted->counts) {
        HP_TRY(hp_exact_new(code, functions, wanted->loops, &parts->profilers[parts->n]));
        parts->exact = parts->profilers[parts->n++];
    }
    if (wanted->paths)
        HP_TRY(open_paths(wanted, code, functions, parts));
    if (wanted->predictions) {
        HP_TRY(hp_predictions_new(code, &wanted->judge_config, &parts->profilers[parts->n]));
        parts->n++;
    }
    if (wanted->n_loop_models) {
        HP_TRY(hp_loop_models_new(code, functions, wanted->loop_models, wanted->n_loop_models,
                                  &parts->profilers[parts->n]));
        parts->n++;
    }
    if (wanted->hotspots) {
        HP_TRY(hp_hotspot_profiler_new(code, functions, &wanted->hotspot_config,
                                       &parts->profilers[parts->n]));
        parts->hotspots = parts->profilers[parts->n++];
    }
    struct hp_observer *observer = wanted->options->observer;
    if (observer && observer->open_stream) {
        HP_TRY(observer->open_stream(observer, code, functions, &parts->profilers[parts->n]));
        parts->n++;
    }
    return is_in_cycles(wanted) ? open_cycles(wanted, code, functions, parts) : HP_OK;
}

static enum hp_err finish_wpp(const struct hp_wanted *wanted, struct hp_wanted_parts *parts,
                              const struct hp_trace_run *about)
{
    char kind[256];
    struct hp_wpp *wpp = parts->wpp;
    parts->wpp = NULL;
    hp_ppcr_format(&wanted->paths_config.ppcr, kind, sizeof kind);
    return hp_wpp_finish(wpp, about, kind, NULL);
}

enum hp_err hp_wanted_finish(const struct hp_wanted *wanted, struct hp_wanted_parts *parts,
                             const struct hp_trace_run *about, struct hp_result *result)
{
    for (size_t i = 0; i < parts->n; i++)
        HP_TRY(parts->profilers[i]->ops->finish(parts->profilers[i], result));
    return parts->wpp ? finish_wpp(wanted, parts, about) : HP_OK;
}

void hp_wanted_close(struct hp_wanted_parts *parts)
{
    hp_wpp_abort(parts->wpp);
    for (size_t i = 0; i < parts->n; i++)
        parts->profilers[i]->ops->free(parts->profilers[i]);
    hp_program_free(parts->program);
    hp_machine_free(parts->machine);
}
