// SPDX-License-Identifier: MIT
#include "export/samples/settings.h"

#include "base/perf_data.h"

/* A prime: a loop whose length divides the period would always be sampled at the same place. */
static const struct hp_samples_settings usual = {.period = 10007, .depth = 16};

static const struct hp_preset presets[] = {
    {"perf", &usual, "a sample every 10007 taken branches, with the last 16 of them", NULL},
};

static const char *const events[] = {
    [HP_SAMPLES_OF_BRANCHES] = "branches", [HP_SAMPLES_OF_INSTRUCTIONS] = "instructions", NULL};

static const struct hp_setting keys[] = {
    {"period", HP_SETTING_COUNT, HP_MEMBER(struct hp_samples_settings, period), 1, UINT32_MAX,
     "how many from one sample of a thread to the next"},
    {"of", HP_SETTING_CHOICE, HP_MEMBER(struct hp_samples_settings, of), .choices = events,
     .help = "what the period counts: taken branches or instructions"},
    {"depth", HP_SETTING_NUMBER, HP_MEMBER(struct hp_samples_settings, depth), 1,
     HP_PERF_MAX_BRANCHES, "branches in a stack"},
    {"consecutive", HP_SETTING_FLAG, HP_MEMBER(struct hp_samples_settings, consecutive),
     .help = "each stack begins where the last one ended: every branch is in one"},
    {"overlap", HP_SETTING_FLAG, HP_MEMBER(struct hp_samples_settings, overlap),
     .help = "of consecutive stacks: each begins with the last branch of the one before"},
    {"chains", HP_SETTING_FLAG, HP_MEMBER(struct hp_samples_settings, chains),
     .help = "with call chains"},
};

static const struct hp_model model = {
    .name = "perf",
    .presets = presets,
    .n_presets = sizeof presets / sizeof *presets,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
static const struct hp_model *const models[] = {&model};

const struct hp_model_family hp_samples_family = {
    .name = "samples",
    .label = "--format",
    .option = "--format",
    .help = "samples for perf and what reads its files (docs/export-samples.md)",
    .size = sizeof(struct hp_samples_settings),
    .models = models,
    .n_models = sizeof models / sizeof *models,
};

enum hp_err hp_samples_parse(const char *text, struct hp_samples_settings *settings)
{
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_samples_family, text, settings, &said));
    if (settings->consecutive &&
        (hp_settings_said(&said, "period") || settings->of != HP_SAMPLES_OF_BRANCHES))
        return hp_fail(HP_ERR_INVALID, "--format: consecutive stacks have a period of their own: "
                                       "leave out period and of");
    if (settings->overlap && !settings->consecutive)
        return hp_fail(HP_ERR_INVALID, "--format: overlap is of consecutive stacks");
    if (settings->overlap && settings->depth < 2)
        return hp_fail(HP_ERR_INVALID, "--format: overlap needs a depth of 2 or more");
    return HP_OK;
}
