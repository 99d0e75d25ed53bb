// SPDX-License-Identifier: MIT
/* Loop models by name: presets, options, sizes. */
#include "profiler/loop/model.h"
#include "profiler/loop/ranges.h"
#include "profiler/models.h"

#include <stdio.h>

#define MAX_FRESHNESS 7 /* if unspecified */

static const struct hp_model *const models[] = {
    [HP_LOOP_DAPROF] = &hp_loop_daprof_model,
    [HP_LOOP_FREQUENT] = &hp_loop_frequent_model,
    [HP_LOOP_RANGES] = &hp_loop_ranges_model,
};
#define N_MODELS (sizeof models / sizeof *models)

const struct hp_model_family hp_loop_family = {
    .name = "loop models",
    .label = "loop model",
    .option = "--loop-model",
    .help = "small tables that count loops as hardware would (docs/loops.md)",
    .size = sizeof(struct hp_loop_config),
    .models = models,
    .n_models = N_MODELS,
};

/* --- Reading ---------------------------------------------------------------------------------- */

static uint32_t usual_freshness(const struct hp_loop_config *config)
{
    if (config->kind != HP_LOOP_DAPROF)
        return 0;
    return config->ways / 2 < MAX_FRESHNESS ? config->ways / 2 : MAX_FRESHNESS;
}

enum hp_err hp_loop_config_parse(const char *text, struct hp_loop_config *config)
{
    struct hp_loop_config new;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_loop_family, text, &new, &said));
    if (new.ways == HP_LOOP_FULL)
        new.ways = new.entries;
    if (!hp_settings_said(&said, "freshness"))
        new.freshness = usual_freshness(&new);
    HP_TRY(hp_loop_config_check(&new));
    *config = new;
    return HP_OK;
}

/* --- Checking --------------------------------------------------------------------------------- */

static enum hp_err check_ranges(const struct hp_loop_config *config)
{
    if (config->ways != config->entries)
        return hp_fail(HP_ERR_INVALID, "loop model: ranges is fully associative");
    if (config->calls || config->first_average || config->exact_average || config->tasks)
        return hp_fail(HP_ERR_INVALID, "loop model: ranges has no extensions");
    return HP_OK;
}

enum hp_err hp_loop_config_check(const struct hp_loop_config *config)
{
    if ((unsigned)config->kind >= N_MODELS)
        return hp_fail(HP_ERR_INVALID, "loop model: there is no kind %d", (int)config->kind);
    const struct hp_model *model = models[config->kind];
    for (unsigned i = 0; i < model->n_keys; i++)
        HP_TRY(hp_setting_check(&model->keys[i], "loop model", config));
    if (config->kind == HP_LOOP_RANGES)
        return check_ranges(config);
    uint32_t sets = config->ways ? config->entries / config->ways : 0;
    if (!sets || sets * config->ways != config->entries || (sets & (sets - 1)))
        return hp_fail(HP_ERR_INVALID,
                       "loop model: %u entries cannot be sets of %u ways: their number has to be a "
                       "power of two",
                       config->entries, config->ways);
    if (config->kind == HP_LOOP_FREQUENT) {
        if (config->calls || config->first_average || config->exact_average || config->tasks)
            return hp_fail(HP_ERR_INVALID, "loop model: frequent has no extensions");
        return HP_OK;
    }
    if (config->freshness > config->ways / 2)
        return hp_fail(HP_ERR_INVALID, "loop model: freshness %u is more than half of the %u ways",
                       config->freshness, config->ways);
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* A preset, completed where it leaves values open: ways and freshness follow other settings. */
static struct hp_loop_config preset_for(const struct hp_preset *preset,
                                        const struct hp_loop_config *config)
{
    struct hp_loop_config base = *(const struct hp_loop_config *)preset->config;
    if (base.ways == HP_LOOP_FULL)
        base.ways = config->ways == config->entries ? config->ways : base.entries;
    base.freshness = usual_freshness(config);
    return base;
}

void hp_loop_config_format(const struct hp_loop_config *config, char *text, size_t size)
{
    const struct hp_model *model = models[config->kind];
    struct hp_loop_config base = preset_for(&model->presets[0], config);
    const char *name = model->presets[0].name;
    for (unsigned i = 1; i < model->n_presets; i++) {
        struct hp_loop_config other = preset_for(&model->presets[i], config);
        if (hp_settings_differences(model, config, &other) <
            hp_settings_differences(model, config, &base)) {
            base = other;
            name = model->presets[i].name;
        }
    }
    snprintf(text, size, "%s", name);
    hp_settings_write(model, config, &base, text, size);
}

/* --- Sizes ------------------------------------------------------------------------------------ */

void hp_loop_config_widths(struct hp_loop_config *config, enum hp_arch arch)
{
    uint32_t address = 48, bytes = 4;
    switch (arch) {
    case HP_ARCH_X86_64: bytes = 1; break;
    case HP_ARCH_ARM: address = 32; break;
    case HP_ARCH_RISCV64: bytes = 2; break;
    default: break;
    }
    config->address_bits = config->address_bits ? config->address_bits : address;
    config->insn_bytes = config->insn_bytes ? config->insn_bytes : bytes;
}

/* The bits needed for numbers up to `max`. */
static uint32_t bits_for(uint64_t max)
{
    uint32_t bits = 0;
    for (; max; max >>= 1)
        bits++;
    return bits;
}

uint64_t hp_loop_config_bits(const struct hp_loop_config *config)
{
    struct hp_loop_config c = *config;
    hp_loop_config_widths(&c, HP_ARCH_ARM);
    if (c.kind == HP_LOOP_RANGES)
        return hp_loop_ranges_bits(&c);
    uint32_t tag = c.address_bits - bits_for(c.insn_bytes - 1);
    uint32_t offset = bits_for((c.max_offset - 1) / c.insn_bytes);
    if (c.kind == HP_LOOP_FREQUENT)
        return (uint64_t)c.entries * (tag + c.execution_bits) + (uint64_t)c.fifo * tag;
    uint32_t executions = c.exact_average ? 64 : c.execution_bits;
    uint32_t current = c.exact_average ? 64 : c.iteration_bits;
    uint32_t average = c.exact_average ? 64 : c.iteration_bits + c.fraction_bits;
    uint64_t entry = tag + offset + executions + current + average + 1 + bits_for(c.freshness);
    uint64_t waiting = tag + offset;
    uint64_t aside = 0;
    if (c.calls) {
        entry += c.depth_bits;
        waiting += 2 * c.depth_bits;
        aside = c.contexts * (uint64_t)(bits_for(c.entries - 1) + current + c.depth_bits);
        aside += 2 * 32; /* the depth, and the lowest since the last branch */
    }
    return c.entries * entry + c.fifo * waiting + aside;
}
