// SPDX-License-Identifier: MIT
#include "engine/traces.h"

#include <stdio.h>

#define USUAL_AFTER 50
#define USUAL_BAIL  1000
#define USUAL_PHASE 64

const struct hp_name hp_traces_events[] = {
    [HP_TRACES_FLUSHED_FULL] = {"full", "the cache was full"},
    [HP_TRACES_FLUSHED_PHASE] = {"phase", "a new phase began"},
    [HP_TRACES_BAILED_OUT] = {"bail-out", "traces did not pay"},
    [HP_TRACES_STEERED] = {"hot-spot", "a hot spot was detected, and became traces"},
    {0},
};

/* --- As text ---------------------------------------------------------------------------------- */

static const struct hp_traces_choice none = {.how = HP_TRACES_NONE};
static const struct hp_traces_choice fixed = {.how = HP_TRACES_STATIC};
static const struct hp_traces_choice net = {
    .how = HP_TRACES_NET, .after = USUAL_AFTER, .phase = USUAL_PHASE, .bail = USUAL_BAIL};
/* Is not given up: it is for comparison. */
static const struct hp_traces_choice path_profile = {
    .how = HP_TRACES_PATHS, .after = USUAL_AFTER, .phase = USUAL_PHASE};
static const struct hp_traces_choice hotspots = {
    .how = HP_TRACES_HOTSPOTS, .after = USUAL_AFTER, .phase = USUAL_PHASE, .bail = USUAL_BAIL};

static const struct hp_preset unpredicted[] = {
    {"none", &none, "plain segments only", NULL},
    {"static", &fixed, "long segments by static rules, from the first execution on", NULL},
};
static const struct hp_preset predicted[] = {
    {"net", &net, "what is executed next after a head that has become hot", "after"},
    {"path-profile", &path_profile, "the most frequent path from such a head", "after"},
    {"hotspots", &hotspots, "the same as net in hot spots that were detected, nothing elsewhere",
     NULL},
};

static const char *const thens[] = {[HP_THEN_PLAIN] = "plain", [HP_THEN_LEAVE] = "leave", NULL};

static const struct hp_setting keys[] = {
    {"after", HP_SETTING_NUMBER, HP_MEMBER(struct hp_traces_choice, after), 1, 1000000,
     "executions of a head before its trace is made"},
    {"cache", HP_SETTING_SIZE, HP_MEMBER(struct hp_traces_choice, cache), 0, 1 << 30,
     "bytes of traces before all are dropped; 0: only --cache-size"},
    {"phase", HP_SETTING_NUMBER, HP_MEMBER(struct hp_traces_choice, phase), 0, 1000000,
     "traces in a row, after a quiet time, that are a new phase; 0: none is"},
    {"bail", HP_SETTING_NUMBER, HP_MEMBER(struct hp_traces_choice, bail), 0, 1000000,
     "traces after which it is asked whether they pay; 0: never"},
    {"then", HP_SETTING_CHOICE, HP_MEMBER(struct hp_traces_choice, then), .choices = thens,
     .help = "if they do not: plain segments, or the program unobserved"},
};

static const struct hp_model plain_model = {
    .name = "none",
    .help = "nothing is predicted",
    .presets = unpredicted,
    .n_presets = sizeof unpredicted / sizeof *unpredicted,
};
static const struct hp_model trace_model = {
    .name = "net",
    .help = "hot paths are predicted, and each is translated as one",
    .presets = predicted,
    .n_presets = sizeof predicted / sizeof *predicted,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
static const struct hp_model *const models[] = {&plain_model, &trace_model};

const struct hp_model_family hp_traces_family = {
    .name = "traces",
    .label = "choice",
    .option = "--traces",
    .help = "which code the native engine translates as one (docs/native-engine.md)",
    .size = sizeof(struct hp_traces_choice),
    .models = models,
    .n_models = sizeof models / sizeof *models,
    .may_lack_number = true,
};

enum hp_err hp_traces_parse(const char *text, struct hp_traces_choice *choice)
{
    struct hp_traces_choice read;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_traces_family, text, &read, &said));
    *choice = read;
    return HP_OK;
}

/* The preset of a choice, and its model. */
static const struct hp_preset *preset_of(enum hp_traces how, const struct hp_model **model)
{
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (unsigned i = 0; i < models[m]->n_presets; i++) {
            const struct hp_traces_choice *usual = models[m]->presets[i].config;
            *model = models[m];
            if (usual->how == how)
                return &models[m]->presets[i];
        }
    return &unpredicted[0];
}

void hp_traces_format(const struct hp_traces_choice *choice, char *text, size_t size)
{
    const struct hp_model *model;
    const struct hp_preset *preset = preset_of(choice->how, &model);
    struct hp_traces_choice base = *(const struct hp_traces_choice *)preset->config;
    int n = snprintf(text, size, "%s", preset->name);
    if (preset->number && (size_t)n < size) {
        base.after = choice->after;
        snprintf(text + n, size - (size_t)n, ":%u", choice->after);
    }
    hp_settings_write(model, choice, &base, text, size);
}

/* --- What is usual ---------------------------------------------------------------------------- */

/* What measurements say: docs/native-engine.md. Where paths are counted, they are what is
 * translated. */
struct hp_traces_choice hp_traces_usual(enum hp_record_mode mode)
{
    struct hp_traces_choice usual = net;
    usual.after = 5000;
    return mode == HP_RECORD_NONE || mode == HP_RECORD_PATHS ? none : usual;
}
