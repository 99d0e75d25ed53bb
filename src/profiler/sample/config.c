// SPDX-License-Identifier: MIT
/* Samplers as text. */
#include "profiler/sample/sampler.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- The options ------------------------------------------------------------------------------ */

static const struct hp_sample_config usual = {
    .mode = HP_SAMPLE_INSTRUCTIONS,
    .interval = 10000,
    .seed = 1,
    .buffer = 1,
    .interrupt_cycles = 1000,
    .sample_cycles = 100,
    .near = 30,
    .history = 12,
};

static const struct number {
    const char *name;
    size_t offset;
    bool wide; /* uint64_t, else uint32_t */
    uint64_t min, max;
} numbers[] = {
#define WIDE(member)   offsetof(struct hp_sample_config, member), true
#define NARROW(member) offsetof(struct hp_sample_config, member), false
    {"interval", WIDE(interval), 2, (uint64_t)1 << 40},
    {"window", WIDE(window), 0, (uint64_t)1 << 32},
    {"seed", WIDE(seed), 0, UINT64_MAX},
    {"buffer", NARROW(buffer), 1, 1 << 16},
    {"interrupt", NARROW(interrupt_cycles), 0, UINT32_MAX},
    {"sample", NARROW(sample_cycles), 0, UINT32_MAX},
    {"near", NARROW(near), 1, 1 << 20},
    {"history", NARROW(history), 0, 32},
#undef WIDE
#undef NARROW
};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

static uint64_t get_number(const struct hp_sample_config *config, const struct number *number)
{
    const char *at = (const char *)config + number->offset;
    uint64_t wide;
    uint32_t narrow;
    if (!number->wide) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

static void set_number(struct hp_sample_config *config, const struct number *number, uint64_t value)
{
    char *at = (char *)config + number->offset;
    uint32_t narrow = (uint32_t)value;
    if (number->wide)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}

/* --- Checking --------------------------------------------------------------------------------- */

enum hp_err hp_sample_config_check(const struct hp_sample_config *config)
{
    if (config->mode != HP_SAMPLE_INSTRUCTIONS && config->mode != HP_SAMPLE_SLOTS)
        return hp_fail(HP_ERR_INVALID, "sampling: there is no mode %d", (int)config->mode);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        uint64_t value = get_number(config, &numbers[i]);
        bool of_machine =
            numbers[i].offset == offsetof(struct hp_sample_config, window) && value == UINT64_MAX;
        if (!of_machine && (value < numbers[i].min || value > numbers[i].max))
            return hp_fail(HP_ERR_INVALID,
                           "sampling: %s can be %" PRIu64 " to %" PRIu64 ", not %" PRIu64,
                           numbers[i].name, numbers[i].min, numbers[i].max, value);
    }
    return HP_OK;
}

double hp_sample_distance(uint64_t interval, uint64_t window)
{
    return (double)interval / (window ? 2 : 1);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* A number and nothing else. */
static bool read_number(const char *text, size_t length, uint64_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(text[i] - '0'), &sum))
            return false;
    *value = sum;
    return length != 0;
}

static bool is_text(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

static enum hp_err bad_option(const char *option, size_t length, const char *why)
{
    return hp_fail(HP_ERR_INVALID, "sampling: \"%.*s\"%s", length > 40 ? 40 : (int)length, option,
                   why);
}

static enum hp_err read_option(const char *option, size_t length, struct hp_sample_config *config,
                               bool *pairs)
{
    const char *equals = memchr(option, '=', length);
    size_t name = equals ? (size_t)(equals - option) : length;
    const char *value = equals ? equals + 1 : option;
    size_t value_length = equals ? length - name - 1 : 0;
    if (is_text("pairs", option, length)) {
        *pairs = true;
        return HP_OK;
    }
    if (is_text("mode=slots", option, length) || is_text("mode=instructions", option, length)) {
        config->mode = value[0] == 's' ? HP_SAMPLE_SLOTS : HP_SAMPLE_INSTRUCTIONS;
        return HP_OK;
    }
    for (size_t i = 0; equals && i < N_NUMBERS; i++) {
        uint64_t n;
        char why[96];
        if (!is_text(numbers[i].name, option, name))
            continue;
        snprintf(why, sizeof why, ": it can be %" PRIu64 " to %" PRIu64, numbers[i].min,
                 numbers[i].max);
        if (!read_number(value, value_length, &n) || n < numbers[i].min || n > numbers[i].max)
            return bad_option(option, length, why);
        set_number(config, &numbers[i], n);
        return HP_OK;
    }
    return bad_option(option, length,
                      ": there are mode=slots, interval=N, pairs, window=N, seed=N, buffer=N, "
                      "interrupt=N, sample=N, near=N and history=N");
}

enum hp_err hp_sample_config_parse(const char *text, struct hp_sample_config *config)
{
    struct hp_sample_config read = usual;
    size_t length = strcspn(text, ",");
    bool pairs = false;
    if (!is_text("profileme", text, length))
        return hp_fail(HP_ERR_INVALID, "no way of sampling \"%.*s\"; there is profileme",
                       length > 40 ? 40 : (int)length, text);
    while (text[length]) {
        text += length + 1;
        length = strcspn(text, ",");
        HP_TRY(read_option(text, length, &read, &pairs));
    }
    if (pairs && !read.window)
        read.window = HP_SAMPLE_MACHINE_WINDOW;
    *config = read;
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Adds text to what is there, as far as there is room. */
static void append(char *text, size_t size, const char *more)
{
    size_t at = strlen(text);
    snprintf(text + at, size - at, "%s", more);
}

void hp_sample_config_format(const struct hp_sample_config *config, char *text, size_t size)
{
    if (!size)
        return;
    snprintf(text, size, "profileme");
    if (config->mode == HP_SAMPLE_SLOTS)
        append(text, size, ",mode=slots");
    if (config->window == HP_SAMPLE_MACHINE_WINDOW)
        append(text, size, ",pairs");
    for (size_t i = 0; i < N_NUMBERS; i++) {
        char option[64];
        uint64_t value = get_number(config, &numbers[i]);
        bool of_machine = numbers[i].offset == offsetof(struct hp_sample_config, window) &&
                          value == HP_SAMPLE_MACHINE_WINDOW;
        if (of_machine || value == get_number(&usual, &numbers[i]))
            continue;
        snprintf(option, sizeof option, ",%s=%" PRIu64, numbers[i].name, value);
        append(text, size, option);
    }
}
