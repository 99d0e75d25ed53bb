// SPDX-License-Identifier: MIT
/* Samplers as text. */
#include "base/settings.h"
#include "profiler/models.h"
#include "profiler/sample/sampler.h"

#include <inttypes.h>
#include <stdio.h>

/* --- Settings --------------------------------------------------------------------------------- */

static const struct hp_sample_config usual = {
    .mode = HP_SAMPLE_INSTRUCTIONS,
    .interval = 10000,
    .seed = 1,
    .buffer = 1,
    .interrupt_cycles = 1000,
    .sample_cycles = 100,
    .near = 30,
    .history = 12,
    .tags = 1,
};
static const struct hp_preset presets[] = {
    {"profileme", &usual, "ProfileMe: registers that follow an instruction through the pipe", NULL},
};

/* Applied when the window is known: see hp_sample_config_parse(). */
static enum hp_err read_pairs(const struct hp_setting *setting, const char *text, void *config)
{
    (void)setting, (void)text, (void)config;
    return HP_OK;
}

static void write_pairs(const struct hp_setting *setting, const void *config, char *text,
                        size_t size)
{
    bool pairs = hp_setting_get(setting, config) == HP_SAMPLE_MACHINE_WINDOW;
    snprintf(text, size, "%d", pairs);
}

/* The machine's own window is written as "pairs". */
static void write_window(const struct hp_setting *setting, const void *config, char *text,
                         size_t size)
{
    uint64_t window = hp_setting_get(setting, config);
    snprintf(text, size, "%" PRIu64, window == HP_SAMPLE_MACHINE_WINDOW ? 0 : window);
}

static const char *const modes[] = {
    [HP_SAMPLE_INSTRUCTIONS] = "instructions", [HP_SAMPLE_SLOTS] = "slots", NULL};

static const char *const edges[] = {
    [HP_SAMPLE_EDGES_RUN] = "run", [HP_SAMPLE_EDGES_SAMPLES] = "samples", NULL};

static const char *const units[] = {"no",     "any",  "alu",   "mul",    "fp", "fp_mul",
                                    "vector", "load", "store", "branch", NULL};
_Static_assert(sizeof units / sizeof *units == HP_SAMPLE_BUSY_ON + HP_UNITS + 1,
               "each unit has a name");

#define AT(member) HP_MEMBER(struct hp_sample_config, member)
static const struct hp_setting keys[] = {
    {"mode", HP_SETTING_CHOICE, AT(mode), 0, 0, "what is counted between samples", modes},
    {"pairs", HP_SETTING_FLAG, AT(window), 0, 0, "samples come in pairs, in the machine's window",
     .read = read_pairs, .write = write_pairs},
    {"interval", HP_SETTING_NUMBER, AT(interval), 2, (uint64_t)1 << 40,
     "mean distance of samples, or of the first ones of pairs"},
    {"window", HP_SETTING_NUMBER, AT(window), 0, (uint64_t)1 << 32,
     "most distance of the second of a pair; 0: no pairs, with pairs that of the machine",
     .write = write_window},
    {"seed", HP_SETTING_NUMBER, AT(seed), 0, UINT64_MAX, "of the random numbers"},
    {"buffer", HP_SETTING_NUMBER, AT(buffer), 1, 1 << 16, "samples, or pairs, an interrupt"},
    {"interrupt", HP_SETTING_NUMBER, AT(interrupt_cycles), 0, UINT32_MAX,
     "cycles that an interrupt costs"},
    {"sample", HP_SETTING_NUMBER, AT(sample_cycles), 0, UINT32_MAX,
     "cycles that reading a sample costs"},
    {"near", HP_SETTING_NUMBER, AT(near), 1, 1 << 20,
     "cycles: instructions that retire within this are neighbours"},
    {"history", HP_SETTING_NUMBER, AT(history), 0, 32, "bits of the path register"},
    {"edges", HP_SETTING_CHOICE, AT(edges), 0, 0,
     "how likely the ways to a sample are: by the run's edges, or by what samples tell", edges},
    {"around", HP_SETTING_FLAG, AT(around), 0, 0,
     "of pairs: instructions issued while one waits in the issue queue"},
    {"busy", HP_SETTING_CHOICE, AT(busy), 0, 0,
     "of pairs: cycles in which others execute, on this unit, while one executes", units},
    {"split", HP_SETTING_FLAG, AT(split), 0, 0,
     "these, and useful overlap, apart for loads that hit the L1 and that missed it"},
    {"most", HP_SETTING_NUMBER, AT(most), 0, 1 << 22,
     "samples, or pairs, to keep: then half of them is dropped and the interval doubles; 0: all"},
    {"tags", HP_SETTING_NUMBER, AT(tags), 1, HP_SAMPLE_TAGS,
     "samples, or pairs, that can be in flight at once"},
};
#undef AT

static const struct hp_model model = {
    .name = "profileme",
    .help = "samples of instructions with all that happened to them",
    .presets = presets,
    .n_presets = 1,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
const struct hp_model_family hp_sample_family = {
    .name = "samplers",
    .label = "sampling",
    .option = "--sample",
    .help = "sample instructions on a machine model (docs/instructions.md)",
    .size = sizeof(struct hp_sample_config),
    .models = (const struct hp_model *const[]){&model},
    .n_models = 1,
};

/* --- Checking, reading, writing --------------------------------------------------------------- */

enum hp_err hp_sample_config_check(const struct hp_sample_config *config)
{
    struct hp_sample_config c = *config;
    if (c.window == HP_SAMPLE_MACHINE_WINDOW)
        c.window = 0;
    for (unsigned i = 0; i < model.n_keys; i++)
        HP_TRY(hp_setting_check(&keys[i], "sampling", &c));
    return HP_OK;
}

enum hp_err hp_sample_config_parse(const char *text, struct hp_sample_config *config)
{
    struct hp_sample_config new;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_sample_family, text, &new, &said));
    if (hp_settings_said(&said, "pairs") && !new.window)
        new.window = HP_SAMPLE_MACHINE_WINDOW;
    *config = new;
    return HP_OK;
}

void hp_sample_config_format(const struct hp_sample_config *config, char *text, size_t size)
{
    snprintf(text, size, "%s", presets[0].name);
    hp_settings_write(&model, config, &usual, text, size);
}

double hp_sample_distance(uint64_t interval, uint64_t window)
{
    return (double)interval / (window ? 2 : 1);
}
