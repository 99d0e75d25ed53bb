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

/* --- Traces ----------------------------------------------------------------------------------- */

/* 16 KB: as perf has it. */
static const struct hp_tracing_settings pt_usual = {.slice = 1000000, .sync = 16384};

static const struct hp_preset pt_presets[] = {
    {"perf-pt", &pt_usual, "a buffer for each thread", NULL},
};

#define CPUS_HELP    "buffers are those of so many processors; 0: of threads"
#define SLICE_HELP   "instructions after which a thread goes to the next processor"
#define RETURNS_HELP "returns to where the call came from are compressed"

static const struct hp_setting pt_keys[] = {
    {"cpus", HP_SETTING_NUMBER, HP_MEMBER(struct hp_tracing_settings, cpus), 0, 256, CPUS_HELP},
    {"slice", HP_SETTING_COUNT, HP_MEMBER(struct hp_tracing_settings, slice), 1, UINT32_MAX,
     SLICE_HELP},
    {"psb", HP_SETTING_SIZE, HP_MEMBER(struct hp_tracing_settings, sync), 64, UINT32_MAX,
     "bytes of packets between places where reading can begin"},
    {"returns", HP_SETTING_FLAG, HP_MEMBER(struct hp_tracing_settings, returns),
     .help = RETURNS_HELP},
    {"long", HP_SETTING_FLAG, HP_MEMBER(struct hp_tracing_settings, long_packets),
     .help = "packets hold up to 47 branches, not 6"},
};

static const struct hp_model pt_model = {
    .name = "perf-pt",
    .presets = pt_presets,
    .n_presets = sizeof pt_presets / sizeof *pt_presets,
    .keys = pt_keys,
    .n_keys = sizeof pt_keys / sizeof *pt_keys,
};
static const struct hp_model *const pt_models[] = {&pt_model};

const struct hp_model_family hp_pt_family = {
    .name = "traces of Intel PT",
    .label = "--format",
    .option = "--format",
    .help = "packets of Intel PT for perf and what reads its files (docs/export-samples.md)",
    .size = sizeof(struct hp_tracing_settings),
    .models = pt_models,
    .n_models = sizeof pt_models / sizeof *pt_models,
};

enum hp_err hp_pt_parse(const char *text, struct hp_tracing_settings *settings)
{
    struct hp_said said;
    return hp_settings_parse(&hp_pt_family, text, settings, &said);
}

/* 4 KB: as perf has it. */
static const struct hp_tracing_settings etm_usual = {.slice = 1000000, .sync = 4096};

static const struct hp_preset etm_presets[] = {
    {"perf-etm", &etm_usual, "a buffer for each thread", NULL},
};

/* Ids of processors are from 0x10 on, and end below 0x70. */
static const struct hp_setting etm_keys[] = {
    {"cpus", HP_SETTING_NUMBER, HP_MEMBER(struct hp_tracing_settings, cpus), 0, 96, CPUS_HELP},
    {"slice", HP_SETTING_COUNT, HP_MEMBER(struct hp_tracing_settings, slice), 1, UINT32_MAX,
     SLICE_HELP},
    {"sync", HP_SETTING_SIZE, HP_MEMBER(struct hp_tracing_settings, sync), 64, UINT32_MAX,
     "bytes of packets between places where reading can begin"},
    {"returns", HP_SETTING_FLAG, HP_MEMBER(struct hp_tracing_settings, returns),
     .help = RETURNS_HELP},
    {"raw", HP_SETTING_FLAG, HP_MEMBER(struct hp_tracing_settings, raw),
     .help = "the packets are not in frames"},
    {"switches", HP_SETTING_FLAG, HP_MEMBER(struct hp_tracing_settings, switches),
     .help = "only records of context switches tell which thread runs, not the packets"},
};

static const struct hp_model etm_model = {
    .name = "perf-etm",
    .presets = etm_presets,
    .n_presets = sizeof etm_presets / sizeof *etm_presets,
    .keys = etm_keys,
    .n_keys = sizeof etm_keys / sizeof *etm_keys,
};
static const struct hp_model *const etm_models[] = {&etm_model};

const struct hp_model_family hp_etm_family = {
    .name = "traces of Arm ETM",
    .label = "--format",
    .option = "--format",
    .help = "packets of Arm ETM for perf and what reads its files (docs/export-samples.md)",
    .size = sizeof(struct hp_tracing_settings),
    .models = etm_models,
    .n_models = sizeof etm_models / sizeof *etm_models,
};

enum hp_err hp_etm_parse(const char *text, struct hp_tracing_settings *settings)
{
    struct hp_said said;
    return hp_settings_parse(&hp_etm_family, text, settings, &said);
}
