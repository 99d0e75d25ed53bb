// SPDX-License-Identifier: MIT
/* Hot path tables as text, and their size. */
#include "base/settings.h"
#include "profiler/models.h"
#include "profiler/path/hpt_admission.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_ENTRIES  (1u << 24)
#define ADDRESS_BITS 47 /* of a user's address on x86-64 */

/* --- Settings --------------------------------------------------------------------------------- */

static const struct hp_hpt_config vaswani = {.entries = 512,
                                             .ways = 4,
                                             .shift = 2, /* code is aligned on many machines */
                                             .accumulator_bits = 32,
                                             .address_bits = ADDRESS_BITS,
                                             .max_length = 32};

/* Packed entries and short accumulators save bits, which are spent on more entries. */
static const struct hp_hpt_config random_admission = {.entries = 608,
                                                      .ways = 19,
                                                      .index = HP_HPT_FOLD,
                                                      .shift = 2,
                                                      .policy = HP_HPT_RANDOM_ADMISSION,
                                                      .accumulator_bits = 23,
                                                      .exponent_bits = 4,
                                                      .packed = true,
                                                      .address_bits = ADDRESS_BITS,
                                                      .max_length = 32};

static const struct hp_preset presets[] = {
    {"vaswani", &vaswani, "the table of the paper: 512x4, 32 bits a count", NULL},
    {"random-admission", &random_admission, "the best of as many bytes: 608x19 (docs/better.md)",
     NULL},
};

/* By enum hp_hpt_index and enum hp_hpt_policy. */
static const char *const indexes[] = {"xor", "address", "fold", NULL};
static const char *const policies[] = {"lfu", "lru", "rap", NULL};

#define AT(member) HP_MEMBER(struct hp_hpt_config, member)
static const struct hp_setting keys[] = {
    {"index", HP_SETTING_CHOICE, AT(index), 0, 0, "how a path chooses its set", indexes},
    {"shift", HP_SETTING_NUMBER, AT(shift), 0, 16,
     "low bits of an address that do not choose the set; not with fold"},
    {"policy", HP_SETTING_CHOICE, AT(policy), 0, 0,
     "which path leaves a full set: least frequent, least recent, by chance", policies},
    {"bits", HP_SETTING_NUMBER, AT(accumulator_bits), 8, 64, "bits of a count"},
    {"exponent", HP_SETTING_NUMBER, AT(exponent_bits), 0, 5,
     "of these, bits of an exponent; 0: it counts exactly"},
    {"packed", HP_SETTING_FLAG, AT(packed), 0, 0, "an entry leaves out what its set tells"},
};
#undef AT

static const struct hp_model model = {
    .name = "a table",
    .help = "a set-associative table of paths, each with a count",
    .presets = presets,
    .n_presets = sizeof presets / sizeof *presets,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};

/* "512x4" */
static enum hp_err read_size(const char *text, void *config)
{
    struct hp_hpt_config *c = config;
    char *x = NULL, *end = NULL;
    unsigned long entries = strtoul(text, &x, 10);
    if (text[0] < '0' || text[0] > '9' || x[0] != 'x' || x[1] < '0' || x[1] > '9')
        return HP_ERR_INVALID;
    unsigned long ways = strtoul(x + 1, &end, 10);
    if (*end || entries > UINT32_MAX || ways > UINT32_MAX)
        return HP_ERR_INVALID;
    *c = vaswani;
    c->entries = (uint32_t)entries;
    c->ways = (uint32_t)ways;
    return HP_OK;
}

const struct hp_model_family hp_hpt_family = {
    .name = "hot path tables",
    .label = "hot path table",
    .option = "--table",
    .help = "tables that keep hot paths as hardware would (docs/paths.md)",
    .size = sizeof(struct hp_hpt_config),
    .models = (const struct hp_model *const[]){&model},
    .n_models = 1,
    .form = "ENTRIESxWAYS",
    .read_first = read_size,
};

/* --- Checking --------------------------------------------------------------------------------- */

static bool is_power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

enum hp_err hp_hpt_check(const struct hp_hpt_config *config)
{
    if (config->entries == 0 || config->entries > MAX_ENTRIES)
        return hp_fail(HP_ERR_INVALID, "hot path table: %u entries: 1 to %u are possible",
                       config->entries, MAX_ENTRIES);
    if (config->ways == 0)
        return hp_fail(HP_ERR_INVALID, "hot path table: 0 ways: there must be one at least");
    if (config->ways > config->entries)
        return hp_fail(HP_ERR_INVALID, "hot path table: %u ways are more than %u entries",
                       config->ways, config->entries);
    if (config->entries % config->ways || !is_power_of_two(config->entries / config->ways))
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: %u entries of %u ways: the number of sets is not a power "
                       "of two",
                       config->entries, config->ways);
    for (unsigned i = 0; i < model.n_keys; i++)
        HP_TRY(hp_setting_check(&keys[i], "hot path table", config));
    if (config->exponent_bits &&
        (config->exponent_bits + 4 > config->accumulator_bits ||
         config->accumulator_bits - config->exponent_bits + (1u << config->exponent_bits) > 64))
        return hp_fail(HP_ERR_INVALID,
                       "hot path table: accumulators of %u bits, %u of them the exponent: up to 5 "
                       "bits of it, 4 bits beside it and counts below 2^63 are possible",
                       config->accumulator_bits, config->exponent_bits);
    if (config->address_bits < 1 || config->address_bits > 64)
        return hp_fail(HP_ERR_INVALID, "hot path table: addresses of %u bits: 1 to 64 are possible",
                       config->address_bits);
    if (config->max_length < 1 || config->max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "hot path table: paths of %u branches: 1 to %d are possible",
                       config->max_length, HP_PATH_MAX_LENGTH);
    return HP_OK;
}

/* --- Reading and writing ---------------------------------------------------------------------- */

enum hp_err hp_hpt_parse(const char *text, struct hp_hpt_config *config)
{
    struct hp_hpt_config new;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_hpt_family, text, &new, &said));
    HP_TRY(hp_hpt_check(&new));
    *config = new;
    return HP_OK;
}

void hp_hpt_format(const struct hp_hpt_config *config, char *text, size_t size)
{
    const struct hp_hpt_config *preset = &random_admission;
    if (config->entries == preset->entries && config->ways == preset->ways &&
        hp_settings_differences(&model, config, preset) == 0) {
        snprintf(text, size, "random-admission");
        return;
    }
    snprintf(text, size, "%ux%u", config->entries, config->ways);
    hp_settings_write(&model, config, &vaswani, text, size);
}

/* --- The size --------------------------------------------------------------------------------- */

uint32_t hp_hpt_bits_for(uint32_t n)
{
    uint32_t bits = 0;
    while (UINT64_C(1) << bits < n)
        bits++;
    return bits;
}

/*
 * A descriptor and its accumulator; LRU adds each entry's rank in its set. An accumulator of 0 is
 * an empty entry. Every index is an exclusive or of low bits of the start address with other bits
 * of the descriptor, so a known set makes these low bits redundant (packed).
 */
uint64_t hp_hpt_bytes(const struct hp_hpt_config *config)
{
    uint32_t set_bits = hp_hpt_bits_for(config->entries / config->ways);
    uint64_t bits = config->address_bits + hp_hpt_bits_for(config->max_length + 1) +
                    config->max_length + config->accumulator_bits;
    if (config->packed)
        bits = config->address_bits - (set_bits < config->address_bits ? set_bits : 0) +
               config->max_length + 1 + config->accumulator_bits;
    if (config->policy == HP_HPT_LRU)
        bits += hp_hpt_bits_for(config->ways);
    bits *= config->entries;
    if (config->policy == HP_HPT_RANDOM_ADMISSION || config->exponent_bits)
        bits += HP_HPT_RANDOM_BITS;
    return (bits + 7) / 8;
}
