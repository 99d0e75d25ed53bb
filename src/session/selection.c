// SPDX-License-Identifier: MIT
#include "session/selection.h"
#include "base/base.h"
#include "profiler/path/prefixes.h"

/* --- The list --------------------------------------------------------------------------------- */

static const struct hp_session_profiler profilers[] = {
    {"exact", "blocks, edges, calls and functions, exactly (the default)", "3 times", "order"},
    {"counts", "the same with counters: cheaper, without the order", "1.5 times", ""},
    {"loops", "loops: iterations, trip counts, nesting", "6 times, with counts 2 times", "order"},
    {"paths", "hot paths, hot path tables", "2 times, with a table 4 times", "order"},
    {"predictions", "how early hot paths can be predicted", "3 times", "order"},
    {"hotspots", "hot spots as hardware detects them, and phases", "3 times", "order"},
    {"cycles", "where the cycles of a machine model go", "100 times", "machine"},
    {"instructions", "instructions, sampled on a machine model", "100 times", "machine"},
    {"none", "nothing: the program under the engine alone", "1.2 times", ""},
    {0},
};

/* In the same order: what each asks for. */
static const size_t flags[] = {
    offsetof(struct hp_selection, exact),       offsetof(struct hp_selection, counts),
    offsetof(struct hp_selection, loops),       offsetof(struct hp_selection, paths),
    offsetof(struct hp_selection, predictions), offsetof(struct hp_selection, hotspots),
    offsetof(struct hp_selection, cycles),      offsetof(struct hp_selection, instructions),
    offsetof(struct hp_selection, none),
};

const struct hp_session_profiler *hp_session_profilers(void)
{
    return profilers;
}

static enum hp_err select_profiler(struct hp_selection *selection, const char *word, size_t length)
{
    char list[256] = "";
    for (size_t i = 0; profilers[i].name; i++) {
        const char *name = profilers[i].name;
        if (strlen(name) == length && memcmp(name, word, length) == 0) {
            *(bool *)((char *)selection + flags[i]) = true;
            return HP_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", name);
    }
    return hp_fail(HP_ERR_INVALID, "there is no profile '%.*s'; there are: %s", (int)length, word,
                   list);
}

static bool needs_order(const struct hp_selection *selection)
{
    return selection->exact || (selection->loops && !selection->counts) || selection->paths ||
           selection->predictions || selection->hotspots || selection->cycles ||
           selection->instructions || selection->settings->loop_models.n ||
           selection->settings->attach;
}

/* What is said in a list; what is asked for in detail need not be listed. */
static enum hp_err read_list(struct hp_selection *selection)
{
    const struct hp_session_settings *o = selection->settings;
    for (const char *word = o->profile; word && *word;) {
        size_t length = strcspn(word, ",");
        HP_TRY(select_profiler(selection, word, length));
        word += length + (word[length] == ',');
    }
    selection->paths |= o->paths || o->metric || o->tables.n || o->window || o->wpp;
    selection->predictions |= o->schemes.n > 0;
    selection->loops |= o->loop_models.n > 0;
    selection->hotspots |= o->hotspots != NULL || hp_selection_steers(selection);
    selection->instructions |= o->samplers.n > 0;
    if (o->machine && !o->profile && !needs_order(selection)) /* nothing else was said of it */
        selection->exact = selection->cycles = selection->instructions = true;
    bool ordered = needs_order(selection);
    if (selection->none && (ordered || selection->counts))
        return hp_fail(HP_ERR_INVALID, "--profile none goes with no other profile");
    if (selection->counts && (ordered || o->machine))
        return hp_fail(
            HP_ERR_INVALID,
            "--profile counts goes with loops only: the others need the order of execution");
    if (!selection->none && !ordered && !selection->counts)
        selection->exact = true;
    if (hp_selection_steers(selection) && !o->profile) /* which is no wish for a profile */
        selection->exact = true;
    return HP_OK;
}

#define STEERED "hotspots"

bool hp_selection_steers(const struct hp_selection *selection)
{
    const char *traces = selection->settings->traces;
    size_t length = strlen(STEERED);
    return traces && strncmp(traces, STEERED, length) == 0 && strchr(":,", traces[length]);
}

/* "hotspots:DETECTOR" says which detector steers, "--hotspots DETECTOR" likewise. */
static enum hp_err read_detector(struct hp_selection *selection)
{
    const struct hp_session_settings *o = selection->settings;
    const char *detector = o->hotspots ? o->hotspots : "merten", *option = "hotspots";
    if (!selection->hotspots)
        return HP_OK;
    if (hp_selection_steers(selection) && o->traces[strlen(STEERED)] == ':') {
        if (o->hotspots)
            return hp_fail(HP_ERR_INVALID,
                           "--traces hotspots:DETECTOR and --hotspots DETECTOR are one too many");
        detector = o->traces + strlen(STEERED) + 1;
        option = "traces";
    }
    return hp_in_setting(hp_hotspot_config_parse(detector, &selection->hotspot_config), option);
}

enum hp_err hp_in_setting(enum hp_err err, const char *option)
{
    return err == HP_OK ? HP_OK : hp_fail(err, "--%s: %s", option, hp_error_text());
}

/* --- Paths ------------------------------------------------------------------------------------ */

static enum hp_err read_paths(struct hp_selection *selection)
{
    const struct hp_session_settings *o = selection->settings;
    struct hp_paths_config *config = &selection->paths_config;
    const char *type = o->paths ? o->paths : o->wpp ? "wpp" : "bl";
    HP_TRY(hp_in_setting(hp_ppcr_parse(type, &config->ppcr), "paths"));
    if (o->metric) {
        HP_TRY(hp_in_setting(hp_metric_parse(o->metric, &config->ppcr.metric), "metric"));
        if (config->ppcr.metric > HP_METRIC_EXECUTIONS)
            config->ppcr.counter_bits = 32; /* a profile is to be exact */
    }
    if (hp_metric_needs_machine(config->ppcr.metric) &&
        (selection->cycles || selection->instructions))
        return hp_fail(
            HP_ERR_INVALID,
            "--metric %s counts on a machine without cycles: not with --profile cycles or "
            "instructions",
            o->metric);
    if (hp_metric_needs_machine(config->ppcr.metric) && !o->machine)
        return hp_fail(HP_ERR_INVALID, "counting %s takes a machine: --machine vaswani, for one",
                       hp_metric_title(config->ppcr.metric));
    selection->addresses = hp_metric_needs_addresses(config->ppcr.metric);
    config->max_paths = o->max_paths;
    config->window = o->window;
    for (size_t i = 0; i < o->tables.n; i++)
        HP_TRY(hp_in_setting(hp_hpt_parse(o->tables.items[i], &config->tables[config->n_tables++]),
                             "table"));
    if (o->window && !o->tables.n)
        HP_TRY(hp_hpt_parse("vaswani", &config->tables[config->n_tables++]));
    return HP_OK;
}

/* --- Models ----------------------------------------------------------------------------------- */

static const struct hp_texts usual_schemes = {{"net:50", "path-profile:50"}, 2};
static const struct hp_texts usual_samplers = {{"profileme,pairs,interval=1000"}, 1};

static enum hp_err read_schemes(struct hp_selection *selection)
{
    const struct hp_session_settings *o = selection->settings;
    const struct hp_texts *texts = o->schemes.n ? &o->schemes : &usual_schemes;
    struct hp_judge_config *config = &selection->judge_config;
    for (size_t i = 0; i < texts->n; i++)
        HP_TRY(hp_in_setting(
            hp_scheme_parse(texts->items[i], &config->schemes[config->n_schemes++]), "predict"));
    config->max_paths = o->max_paths;
    return HP_OK;
}

static enum hp_err read_loop_models(struct hp_selection *selection)
{
    const struct hp_texts *texts = &selection->settings->loop_models;
    struct hp_loop_config *models = selection->loop_models;
    for (size_t *n = &selection->n_loop_models; *n < texts->n; ++*n)
        HP_TRY(hp_in_setting(hp_loop_config_parse(texts->items[*n], &models[*n]), "loop-model"));
    return HP_OK;
}

/* --- A machine in cycles ---------------------------------------------------------------------- */

static enum hp_err read_samplers(struct hp_selection *selection)
{
    const struct hp_texts *said = &selection->settings->samplers;
    const struct hp_texts *texts = said->n ? said : &usual_samplers;
    if (texts->n > HP_SAMPLERS_MAX)
        return hp_fail(HP_ERR_INVALID, "more than %d samplers at once", HP_SAMPLERS_MAX);
    for (size_t i = 0; i < texts->n; i++)
        HP_TRY(hp_in_setting(hp_sample_config_parse(texts->items[i], &selection->samplers[i]),
                             "sample"));
    selection->n_samplers = texts->n;
    return HP_OK;
}

bool hp_selection_is_in_cycles(const struct hp_selection *selection)
{
    return selection->cycles || selection->instructions || selection->settings->timings;
}

/* What was asked for by name is run in cycles from end to end; a machine alone, in windows. */
static enum hp_err read_cycles(struct hp_selection *selection)
{
    const struct hp_session_settings *o = selection->settings;
    bool in_cycles = hp_selection_is_in_cycles(selection);
    if (o->windows && !in_cycles)
        return hp_fail(HP_ERR_INVALID, "--windows is for --profile cycles or instructions");
    if (!in_cycles)
        return HP_OK;
    if (!selection->machine)
        selection->machine = "modern";
    if (o->windows)
        HP_TRY(hp_in_setting(hp_windows_parse(o->windows, &selection->windows), "windows"));
    else if (!o->profile && !o->samplers.n && !o->attach)
        selection->windows = hp_windows_usual();
    return selection->instructions ? read_samplers(selection) : HP_OK;
}

enum hp_err hp_selection_parse(const struct hp_session_settings *settings,
                               struct hp_selection *selection)
{
    *selection = (struct hp_selection){.settings = settings, .machine = settings->machine};
    HP_TRY(read_list(selection));
    if (selection->paths)
        HP_TRY(read_paths(selection));
    if (selection->predictions)
        HP_TRY(read_schemes(selection));
    HP_TRY(read_loop_models(selection));
    HP_TRY(read_cycles(selection));
    HP_TRY(read_detector(selection));
    selection->addresses |= settings->addresses;
    if (settings->max_paths && !selection->paths && !selection->predictions)
        return hp_fail(HP_ERR_INVALID, "--max-paths is for --profile paths or predictions");
    if (settings->contexts && !selection->exact && !(selection->loops && !selection->counts))
        return hp_fail(HP_ERR_INVALID, "--contexts is for --profile exact");
    if (settings->wpp_memory && !settings->wpp)
        return hp_fail(HP_ERR_INVALID, "--wpp-memory is for --wpp FILE");
    return HP_OK;
}

bool hp_selection_counts_paths(const struct hp_selection *s, struct hp_path_rules *rules)
{
    const struct hp_session_settings *o = s->settings;
    bool others = s->exact || s->loops || s->predictions || s->hotspots || s->cycles ||
                  s->instructions || s->n_loop_models || s->machine || s->addresses || o->attach;
    bool ordered = s->paths_config.n_tables || s->paths_config.window || o->wpp || o->max_paths ||
                   o->from || o->after || o->length;
    return s->paths && !others && !ordered && !o->record && !o->traces &&
           hp_path_can_count(&s->paths_config.ppcr, rules);
}

bool hp_selection_is_empty(const struct hp_selection *selection)
{
    return !needs_order(selection) && !selection->counts;
}
