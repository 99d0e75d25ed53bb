// SPDX-License-Identifier: MIT
/* Loop models by name: presets, options, sizes. */
#include "profiler/loop/model.h"
#include "profiler/loop/ranges.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FULL          0 /* ways of a preset that is fully associative */
#define MAX_FRESHNESS 7 /* where it is not said */

/* --- Presets ---------------------------------------------------------------------------------- */

static const struct preset {
    const char *name;
    struct hp_loop_config config; /* freshness is put in later */
} presets[] = {
#define DAPROF                                                                                     \
    .kind = HP_LOOP_DAPROF, .entries = 32, .max_offset = 1024, .fifo = 4, .fifo_service = 3,       \
    .execution_bits = 16, .iteration_bits = 10, .fraction_bits = 3, .depth_bits = 8, .contexts = 8
    {"daprof", {DAPROF, .ways = 8}},
    {"daprof-16way", {DAPROF, .ways = 16}},
    {"daprof-full", {DAPROF, .ways = FULL}},
#undef DAPROF
    {"frequent",
     {.kind = HP_LOOP_FREQUENT,
      .entries = 16,
      .ways = FULL,
      .max_offset = 256,
      .fifo_service = 3,
      .execution_bits = 16}},
    {"ranges",
     {.kind = HP_LOOP_RANGES,
      .entries = 21,
      .ways = FULL,
      .max_offset = 4096,
      .execution_bits = 14,
      .iteration_bits = 14,
      .instruction_bits = 12,
      .depth_bits = 6,
      .contexts = 12}},
};
#define N_PRESETS (sizeof presets / sizeof *presets)

/* --- Options ---------------------------------------------------------------------------------- */

#define DAPROF_ONLY (1u << HP_LOOP_DAPROF)
#define RANGES_ONLY (1u << HP_LOOP_RANGES)
#define BOTH        (DAPROF_ONLY | 1u << HP_LOOP_FREQUENT)
#define ALL         (BOTH | RANGES_ONLY)

static const struct number {
    const char *name;
    size_t offset;
    unsigned kinds;
    uint32_t min, max;
} numbers[] = {
#define FIELD(member) offsetof(struct hp_loop_config, member)
    {"entries", FIELD(entries), ALL, 1, 1 << 16},
    {"ways", FIELD(ways), BOTH, 1, 1 << 16},
    {"max-offset", FIELD(max_offset), ALL, 1, 1u << 31},
    {"fifo", FIELD(fifo), BOTH, 0, 4096},
    {"fifo-service", FIELD(fifo_service), BOTH, 1, 4096},
    {"execution-bits", FIELD(execution_bits), ALL, 2, 32},
    {"iteration-bits", FIELD(iteration_bits), DAPROF_ONLY | RANGES_ONLY, 1, 22},
    {"freshness", FIELD(freshness), DAPROF_ONLY, 0, 1 << 15},
    {"address-bits", FIELD(address_bits), ALL, 16, 64},
    {"insn-bytes", FIELD(insn_bytes), ALL, 1, 16},
    {"depth-bits", FIELD(depth_bits), DAPROF_ONLY | RANGES_ONLY, 1, 16},
    {"contexts", FIELD(contexts), DAPROF_ONLY | RANGES_ONLY, 0, 1024},
    {"instruction-bits", FIELD(instruction_bits), RANGES_ONLY, 2, 32},
};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

static const struct flag {
    const char *name;
    size_t offset;
} flags[] = {
    {"calls", FIELD(calls)},
    {"first-average", FIELD(first_average)},
    {"exact-average", FIELD(exact_average)},
    {"tasks", FIELD(tasks)},
#undef FIELD
};
#define N_FLAGS (sizeof flags / sizeof *flags)

#define MIN_FRACTION 1
#define MAX_FRACTION 8

static uint32_t *number_in(const struct hp_loop_config *config, const struct number *number)
{
    return (uint32_t *)((char *)(uintptr_t)config + number->offset);
}

static bool *flag_in(const struct hp_loop_config *config, const struct flag *flag)
{
    return (bool *)((char *)(uintptr_t)config + flag->offset);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* What is being read. */
struct reading {
    const char *text; /* all of it, for messages */
    struct hp_loop_config config;
    bool full, freshness; /* still fully associative; freshness was said */
};

static uint32_t usual_freshness(uint32_t ways)
{
    return ways / 2 < MAX_FRESHNESS ? ways / 2 : MAX_FRESHNESS;
}

/* A preset as a configuration. */
static struct hp_loop_config preset_config(const struct preset *preset)
{
    struct hp_loop_config config = preset->config;
    if (config.ways == FULL)
        config.ways = config.entries;
    if (config.kind == HP_LOOP_DAPROF)
        config.freshness = usual_freshness(config.ways);
    return config;
}

static enum hp_err no_such_preset(const char *name, size_t length)
{
    char names[128];
    size_t at = 0;
    for (size_t i = 0; i < N_PRESETS; i++)
        at +=
            (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", presets[i].name);
    return hp_fail(HP_ERR_INVALID, "no loop model \"%.*s\"; there are %s",
                   length > 40 ? 40 : (int)length, name, names);
}

static enum hp_err bad_option(const struct reading *r, const char *option, size_t length,
                              const char *why)
{
    return hp_fail(HP_ERR_INVALID, "loop model \"%.80s\": \"%.*s\"%s", r->text,
                   length > 40 ? 40 : (int)length, option, why);
}

/* A number and nothing else. */
static bool read_number(const char *text, size_t length, uint32_t *value)
{
    uint64_t sum = 0;
    if (!length || length > 10)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        sum = sum * 10 + (uint64_t)(text[i] - '0');
    }
    *value = (uint32_t)sum;
    return sum <= UINT32_MAX;
}

/* "15/16": the number of bits. */
static bool read_ratio(const char *text, size_t length, uint32_t *bits)
{
    for (uint32_t b = MIN_FRACTION; b <= MAX_FRACTION; b++) {
        char ratio[16];
        int n = snprintf(ratio, sizeof ratio, "%u/%u", (1u << b) - 1, 1u << b);
        if ((size_t)n == length && memcmp(ratio, text, length) == 0) {
            *bits = b;
            return true;
        }
    }
    return false;
}

static enum hp_err parse_number(struct reading *r, const struct number *number, const char *option,
                                size_t length, const char *value, size_t value_length)
{
    char why[64];
    uint32_t n;
    if (!(number->kinds >> r->config.kind & 1))
        return bad_option(r, option, length, ": this model has no such option");
    bool is_ways = strcmp(number->name, "ways") == 0;
    r->full = is_ways ? value_length == 4 && memcmp(value, "full", 4) == 0 : r->full;
    if (is_ways && r->full)
        return HP_OK;
    if (!read_number(value, value_length, &n) || n < number->min || n > number->max) {
        snprintf(why, sizeof why, ": it can be %u to %u", number->min, number->max);
        return bad_option(r, option, length, why);
    }
    *number_in(&r->config, number) = n;
    r->freshness |= strcmp(number->name, "freshness") == 0;
    return HP_OK;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

static enum hp_err parse_option(struct reading *r, const char *option, size_t length)
{
    const char *equals = memchr(option, '=', length);
    size_t name = equals ? (size_t)(equals - option) : length;
    const char *value = equals ? equals + 1 : NULL;
    size_t value_length = equals ? length - name - 1 : 0;
    for (size_t i = 0; equals && i < N_NUMBERS; i++)
        if (is_name(numbers[i].name, option, name))
            return parse_number(r, &numbers[i], option, length, value, value_length);
    bool daprof = r->config.kind == HP_LOOP_DAPROF;
    for (size_t i = 0; !equals && daprof && i < N_FLAGS; i++)
        if (is_name(flags[i].name, option, name)) {
            *flag_in(&r->config, &flags[i]) = true;
            return HP_OK;
        }
    if (!equals || !daprof || !is_name("ratio", option, name))
        return bad_option(r, option, length, ": this model has no such option");
    if (read_ratio(value, value_length, &r->config.fraction_bits))
        return HP_OK;
    return bad_option(r, option, length, ": it can be 1/2, 3/4, 7/8, 15/16, ... 255/256");
}

enum hp_err hp_loop_config_parse(const char *text, struct hp_loop_config *config)
{
    struct reading r = {.text = text};
    size_t length = strcspn(text, ",");
    size_t i = 0;
    while (i < N_PRESETS && !is_name(presets[i].name, text, length))
        i++;
    if (i == N_PRESETS)
        return no_such_preset(text, length);
    r.config = preset_config(&presets[i]);
    r.full = presets[i].config.ways == FULL;
    while (text[length]) {
        text += length + 1;
        length = strcspn(text, ",");
        HP_TRY(parse_option(&r, text, length));
    }
    if (r.full)
        r.config.ways = r.config.entries;
    if (!r.freshness && r.config.kind == HP_LOOP_DAPROF)
        r.config.freshness = usual_freshness(r.config.ways);
    HP_TRY(hp_loop_config_check(&r.config));
    *config = r.config;
    return HP_OK;
}

/* --- Checking --------------------------------------------------------------------------------- */

static enum hp_err check_numbers(const struct hp_loop_config *config)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        uint32_t n = *number_in(config, &numbers[i]);
        bool by_architecture = strcmp(numbers[i].name, "address-bits") == 0 ||
                               strcmp(numbers[i].name, "insn-bytes") == 0;
        if (!(numbers[i].kinds >> config->kind & 1) || (by_architecture && !n))
            continue;
        if (n < numbers[i].min || n > numbers[i].max)
            return hp_fail(HP_ERR_INVALID, "loop model: %s can be %u to %u, not %u",
                           numbers[i].name, numbers[i].min, numbers[i].max, n);
    }
    return HP_OK;
}

static enum hp_err check_ranges(const struct hp_loop_config *config)
{
    if (config->entries > HP_RANGES_MAX || config->ways != config->entries)
        return hp_fail(HP_ERR_INVALID,
                       "loop model: ranges has at most %d entries, fully associative",
                       HP_RANGES_MAX);
    if (config->contexts < 1)
        return hp_fail(HP_ERR_INVALID, "loop model: ranges needs a context at least");
    if (config->calls || config->first_average || config->exact_average || config->tasks)
        return hp_fail(HP_ERR_INVALID, "loop model: ranges has no extensions");
    return HP_OK;
}

enum hp_err hp_loop_config_check(const struct hp_loop_config *config)
{
    if (config->kind != HP_LOOP_DAPROF && config->kind != HP_LOOP_FREQUENT &&
        config->kind != HP_LOOP_RANGES)
        return hp_fail(HP_ERR_INVALID, "loop model: there is no kind %d", (int)config->kind);
    HP_TRY(check_numbers(config));
    if (config->kind == HP_LOOP_RANGES)
        return check_ranges(config);
    uint32_t sets = config->entries / config->ways;
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
    if (config->fraction_bits < MIN_FRACTION || config->fraction_bits > MAX_FRACTION)
        return hp_fail(HP_ERR_INVALID, "loop model: the average has %d to %d fraction bits, not %u",
                       MIN_FRACTION, MAX_FRACTION, config->fraction_bits);
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Adds text to what is there, as far as there is room. */
static void append(char *text, size_t size, const char *more)
{
    size_t at = strlen(text);
    if (at < size)
        snprintf(text + at, size - at, "%s", more);
}

static bool is_full(const struct hp_loop_config *config)
{
    return config->ways == config->entries;
}

/* The configuration as the preset and what is different: how many options that takes. */
static size_t describe(const struct hp_loop_config *config, const struct preset *preset, char *text,
                       size_t size)
{
    struct hp_loop_config base = preset_config(preset);
    char option[64];
    size_t n = 0;
    snprintf(text, size, "%s", preset->name);
    if (preset->config.ways == FULL && is_full(config))
        base.ways = config->ways;
    base.freshness = base.kind == HP_LOOP_DAPROF ? usual_freshness(config->ways) : 0;
    for (size_t i = 0; i < N_NUMBERS; i++) {
        uint32_t value = *number_in(config, &numbers[i]);
        if (!(numbers[i].kinds >> config->kind & 1) || value == *number_in(&base, &numbers[i]))
            continue;
        snprintf(option, sizeof option, ",%s=%u", numbers[i].name, value);
        append(text, size, option);
        n++;
    }
    if (config->kind == HP_LOOP_DAPROF && config->fraction_bits != base.fraction_bits) {
        uint32_t all = 1u << (config->fraction_bits & 31);
        snprintf(option, sizeof option, ",ratio=%u/%u", all - 1, all);
        append(text, size, option);
        n++;
    }
    for (size_t i = 0; i < N_FLAGS; i++)
        if (*flag_in(config, &flags[i])) {
            append(text, size, ",");
            append(text, size, flags[i].name);
        }
    return n;
}

void hp_loop_config_format(const struct hp_loop_config *config, char *text, size_t size)
{
    const struct preset *best = NULL;
    size_t fewest = SIZE_MAX;
    char scratch[512];
    if (!size)
        return;
    text[0] = '\0';
    for (size_t i = 0; i < N_PRESETS; i++) {
        if (presets[i].config.kind != config->kind)
            continue;
        size_t n = describe(config, &presets[i], scratch, sizeof scratch);
        if (n < fewest) {
            fewest = n;
            best = &presets[i];
        }
    }
    if (best)
        describe(config, best, text, size);
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

/* Bits that hold the numbers up to `max`. */
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
        aside += 2 * 32; /* the depth, and the least since the last branch */
    }
    return c.entries * entry + c.fifo * waiting + aside;
}
