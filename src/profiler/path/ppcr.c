// SPDX-License-Identifier: MIT
/* The path profiler's control register as text. */
#include "hotpath/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STACK     (1u << 20)
#define MAX_EXTENSION 65535u
#define MAX_TEXT      1024

#define UPDATE HP_PATH_UPDATE
#define COUNT  HP_PATH_UPDATE_COUNT
#define POP    HP_PATH_POP
#define PUSH   HP_PATH_PUSH

static const char *const class_names[HP_CLASSES] = {
    [HP_CLASS_CALL] = "call",         [HP_CLASS_RETURN] = "return",
    [HP_CLASS_FORWARD] = "forward",   [HP_CLASS_BACKWARD] = "backward",
    [HP_CLASS_INDIRECT] = "indirect",
};

static const struct operation {
    const char *name;
    uint8_t bit;
} operations[] = {
    {"update", UPDATE},
    {"update_count", COUNT},
    {"pop", POP},
    {"push", PUSH},
};
#define N_OPERATIONS (sizeof operations / sizeof *operations)

/* Tables 1 and 2 of the paper, and the paths of the prediction paper. With `extension` the text goes on with ":N". */
static const struct preset {
    const char *name;
    uint8_t ops[HP_CLASSES];
    enum hp_extension extension;
    bool by_address;
} presets[] = {
    {"bl",
     {COUNT | PUSH, COUNT | POP, UPDATE, UPDATE | POP | PUSH, UPDATE | POP | PUSH},
     HP_EXTEND_NONE,
     false},
    {"wpp",
     {COUNT | POP | PUSH, COUNT | POP | PUSH, UPDATE, UPDATE | POP | PUSH, UPDATE | POP | PUSH},
     HP_EXTEND_NONE,
     false},
    {"extended-loop",
     {COUNT | PUSH, COUNT | POP, UPDATE, UPDATE | POP | PUSH, UPDATE | POP | PUSH},
     HP_EXTEND_LOOP,
     false},
    {"extended-call",
     {COUNT | PUSH, COUNT | POP, UPDATE, UPDATE | POP | PUSH, UPDATE | POP | PUSH},
     HP_EXTEND_CALL,
     false},
    {"forward", {0, 0, UPDATE, UPDATE | POP | PUSH, 0}, HP_EXTEND_NONE, true},
};
#define N_PRESETS (sizeof presets / sizeof *presets)

static const struct hp_ppcr defaults = {
    .max_length = 32, .stack_entries = 32, .counter_bits = 8}; /* the rest: zero */

/* --- Checking --------------------------------------------------------------------------------- */

static enum hp_err check_class(const struct hp_ppcr *ppcr, enum hp_class class)
{
    unsigned ops = ppcr->ops[class];
    if (ops & ~(unsigned)(UPDATE | COUNT | POP | PUSH))
        return hp_fail(HP_ERR_INVALID, "paths: class '%s' has an operation that does not exist",
                       class_names[class]);
    if ((ops & UPDATE) && (ops & COUNT))
        return hp_fail(HP_ERR_INVALID, "paths: class '%s' has both update and update_count",
                       class_names[class]);
    return HP_OK;
}

static enum hp_err check_range(const char *name, uint32_t value, uint32_t low, uint32_t high)
{
    if (value < low || value > high)
        return hp_fail(HP_ERR_INVALID, "paths: %s is %u: %u to %u are possible", name, value, low,
                       high);
    return HP_OK;
}

enum hp_err hp_ppcr_check(const struct hp_ppcr *ppcr)
{
    for (int i = 0; i < HP_CLASSES; i++)
        HP_TRY(check_class(ppcr, (enum hp_class)i));
    if ((unsigned)ppcr->extension > HP_EXTEND_CALL)
        return hp_fail(HP_ERR_INVALID, "paths: no extension has the number %d", ppcr->extension);
    if (ppcr->extension != HP_EXTEND_NONE)
        HP_TRY(check_range("the extension", ppcr->max_extension, 1, MAX_EXTENSION));
    else if (ppcr->max_extension)
        return hp_fail(HP_ERR_INVALID, "paths: %u extensions of no kind", ppcr->max_extension);
    if ((unsigned)ppcr->direction > HP_DIRECTION_STATIC)
        return hp_fail(HP_ERR_INVALID, "paths: no direction has the number %d", ppcr->direction);
    if ((unsigned)ppcr->overflow > HP_OVERFLOW_DROP_OLDEST)
        return hp_fail(HP_ERR_INVALID, "paths: no overflow policy has the number %d",
                       ppcr->overflow);
    if ((unsigned)ppcr->metric >= HP_METRICS)
        return hp_fail(HP_ERR_INVALID, "paths: no metric has the number %d", ppcr->metric);
    HP_TRY(check_range("the length", ppcr->max_length, 1, HP_PATH_MAX_LENGTH));
    HP_TRY(check_range("the stack", ppcr->stack_entries, 1, MAX_STACK));
    return check_range("the counter", ppcr->counter_bits, 1, 32);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* "NAME" has the value "VALUE". */
static enum hp_err parse_number(const char *name, const char *value, uint32_t low, uint32_t high,
                                uint32_t *number)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end)
        return hp_fail(HP_ERR_INVALID, "paths: %s is '%s', which is not a number", name, value);
    if (n < low || n > high)
        return hp_fail(HP_ERR_INVALID, "paths: %s is %s: %u to %u are possible", name, value, low,
                       high);
    *number = (uint32_t)n;
    return HP_OK;
}

/* `count` of the bytes of `text` are `name`. */
static bool is_name(const char *text, size_t count, const char *name)
{
    return strlen(name) == count && memcmp(text, name, count) == 0;
}

/* "update_count+push" */
static enum hp_err parse_operations(const char *class, const char *value, uint8_t *ops)
{
    *ops = 0;
    if (!*value || strcmp(value, "none") == 0)
        return HP_OK;
    for (const char *at = value;;) {
        size_t n = strcspn(at, "+"), i = 0;
        while (i < N_OPERATIONS && !is_name(at, n, operations[i].name))
            i++;
        if (i == N_OPERATIONS)
            return hp_fail(HP_ERR_INVALID,
                           "paths: class '%s' has the operation '%.*s': there are update, "
                           "update_count, pop, push",
                           class, (int)n, at);
        if (*ops & operations[i].bit)
            return hp_fail(HP_ERR_INVALID, "paths: class '%s' has '%s' twice", class,
                           operations[i].name);
        *ops |= operations[i].bit;
        if (!at[n])
            return HP_OK;
        at += n + 1;
    }
}

/* "loop:2" */
static enum hp_err parse_extension(const char *value, struct hp_ppcr *ppcr)
{
    if (strncmp(value, "loop:", 5) == 0)
        ppcr->extension = HP_EXTEND_LOOP;
    else if (strncmp(value, "call:", 5) == 0)
        ppcr->extension = HP_EXTEND_CALL;
    else
        return hp_fail(HP_ERR_INVALID, "paths: extend is '%s': loop:N and call:N are possible",
                       value);
    return parse_number("the extension", value + 5, 1, MAX_EXTENSION, &ppcr->max_extension);
}

/* One of two words: `*second` says which. */
static enum hp_err parse_word(const char *name, const char *value, const char *one,
                              const char *other, bool *second)
{
    *second = strcmp(value, other) == 0;
    if (!*second && strcmp(value, one) != 0)
        return hp_fail(HP_ERR_INVALID, "paths: %s is '%s': %s and %s are possible", name, value,
                       one, other);
    return HP_OK;
}

static enum hp_err parse_option(const char *name, const char *value, struct hp_ppcr *ppcr)
{
    bool second;
    if (strcmp(name, "extend") == 0)
        return parse_extension(value, ppcr);
    if (strcmp(name, "length") == 0)
        return parse_number("the length", value, 1, HP_PATH_MAX_LENGTH, &ppcr->max_length);
    if (strcmp(name, "stack") == 0)
        return parse_number("the stack", value, 1, MAX_STACK, &ppcr->stack_entries);
    if (strcmp(name, "counter") == 0)
        return parse_number("the counter", value, 1, 32, &ppcr->counter_bits);
    if (strcmp(name, "metric") == 0)
        return hp_metric_parse(value, &ppcr->metric);
    if (strcmp(name, "direction") == 0) {
        HP_TRY(parse_word(name, value, "dynamic", "static", &second));
        ppcr->direction = second ? HP_DIRECTION_STATIC : HP_DIRECTION_DYNAMIC;
        return HP_OK;
    }
    if (strcmp(name, "overflow") == 0) {
        HP_TRY(parse_word(name, value, "spill", "drop-oldest", &second));
        ppcr->overflow = second ? HP_OVERFLOW_DROP_OLDEST : HP_OVERFLOW_SPILL;
        return HP_OK;
    }
    if (strcmp(name, "by") == 0)
        return parse_word(name, value, "class", "address", &ppcr->by_address);
    return hp_fail(HP_ERR_INVALID,
                   "paths: '%s' is neither a class (call, return, forward, backward, indirect) nor "
                   "an option (extend, direction, by, length, stack, overflow, metric, counter)",
                   name);
}

/* What has been said so far. */
struct said {
    unsigned classes; /* bits */
    bool preset;
};

static enum hp_err parse_preset(const char *text, struct hp_ppcr *ppcr)
{
    size_t n = strcspn(text, ":"), i = 0;
    while (i < N_PRESETS && !is_name(text, n, presets[i].name))
        i++;
    if (i == N_PRESETS)
        return hp_fail(HP_ERR_INVALID,
                       "paths: no preset is called '%s': there are bl, wpp, extended-loop:N, "
                       "extended-call:N, forward",
                       text);
    memcpy(ppcr->ops, presets[i].ops, sizeof ppcr->ops);
    ppcr->extension = presets[i].extension;
    ppcr->by_address = presets[i].by_address;
    if (ppcr->extension == HP_EXTEND_NONE)
        return text[n] ? hp_fail(HP_ERR_INVALID, "paths: '%s' takes no number", presets[i].name)
                       : HP_OK;
    if (!text[n])
        return hp_fail(HP_ERR_INVALID, "paths: '%s' needs a number: %s:1", text, text);
    return parse_number("the extension", text + n + 1, 1, MAX_EXTENSION, &ppcr->max_extension);
}

/* One part between commas; it is cut at its "=". */
static enum hp_err parse_part(char *part, bool first, struct said *said, struct hp_ppcr *ppcr)
{
    char *equals = strchr(part, '=');
    if (!equals && first) {
        said->preset = true;
        return parse_preset(part, ppcr);
    }
    if (!equals)
        return hp_fail(HP_ERR_INVALID, "paths: '%s' is neither CLASS=OPERATIONS nor OPTION=VALUE",
                       part);
    *equals = 0;
    for (unsigned i = 0; i < HP_CLASSES; i++) {
        if (strcmp(part, class_names[i]) != 0)
            continue;
        if (said->preset || (said->classes & 1u << i))
            return hp_fail(HP_ERR_INVALID, "paths: class '%s' is given twice%s", part,
                           said->preset ? ": the preset has it" : "");
        said->classes |= 1u << i;
        return parse_operations(part, equals + 1, &ppcr->ops[i]);
    }
    return parse_option(part, equals + 1, ppcr);
}

enum hp_err hp_ppcr_parse(const char *text, struct hp_ppcr *ppcr)
{
    char copy[MAX_TEXT];
    struct said said = {0};
    struct hp_ppcr new = defaults;
    if (strlen(text) >= sizeof copy)
        return hp_fail(HP_ERR_INVALID, "paths: a description of more than %d letters",
                       MAX_TEXT - 1);
    strcpy(copy, text);
    char *rest = copy, *part;
    for (bool first = true; (part = strsep(&rest, ",")); first = false)
        HP_TRY(parse_part(part, first, &said, &new));
    for (unsigned i = 0; i < HP_CLASSES && !said.preset; i++)
        if (!(said.classes & 1u << i))
            return hp_fail(HP_ERR_INVALID, "paths: nothing is said of class '%s'", class_names[i]);
    HP_TRY(hp_ppcr_check(&new));
    *ppcr = new;
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void write_class(const struct hp_ppcr *ppcr, unsigned class, FILE *out)
{
    const char *before = "";
    fprintf(out, "%s%s=", class ? "," : "", class_names[class]);
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (ppcr->ops[class] & operations[i].bit) {
            fprintf(out, "%s%s", before, operations[i].name);
            before = "+";
        }
    if (!*before)
        fprintf(out, "none");
}

static const struct preset *preset_of(const struct hp_ppcr *ppcr)
{
    for (int extended = 1; extended >= 0; extended--)
        for (size_t i = 0; i < N_PRESETS; i++)
            if (memcmp(presets[i].ops, ppcr->ops, sizeof ppcr->ops) == 0 &&
                presets[i].by_address == ppcr->by_address &&
                presets[i].extension == (extended ? ppcr->extension : HP_EXTEND_NONE))
                return &presets[i];
    return NULL;
}

static void write_ppcr(const struct hp_ppcr *ppcr, FILE *out)
{
    const struct preset *preset = preset_of(ppcr);
    if (preset)
        fprintf(out, "%s", preset->name);
    for (unsigned i = 0; i < HP_CLASSES && !preset; i++)
        write_class(ppcr, i, out);
    if (preset && preset->extension)
        fprintf(out, ":%u", ppcr->max_extension);
    else if (ppcr->extension)
        fprintf(out, ",extend=%s:%u", ppcr->extension == HP_EXTEND_LOOP ? "loop" : "call",
                ppcr->max_extension);
    if (!preset && ppcr->by_address)
        fprintf(out, ",by=address");
    if (ppcr->direction == HP_DIRECTION_STATIC)
        fprintf(out, ",direction=static");
    if (ppcr->max_length != defaults.max_length)
        fprintf(out, ",length=%u", ppcr->max_length);
    if (ppcr->stack_entries != defaults.stack_entries)
        fprintf(out, ",stack=%u", ppcr->stack_entries);
    if (ppcr->overflow == HP_OVERFLOW_DROP_OLDEST)
        fprintf(out, ",overflow=drop-oldest");
    if (ppcr->metric != HP_METRIC_EXECUTIONS)
        fprintf(out, ",metric=%s", hp_metric_name(ppcr->metric));
    if (ppcr->counter_bits != defaults.counter_bits)
        fprintf(out, ",counter=%u", ppcr->counter_bits);
}

void hp_ppcr_format(const struct hp_ppcr *ppcr, char *text, size_t size)
{
    char whole[MAX_TEXT] = "";
    FILE *out = fmemopen(whole, sizeof whole, "w");
    if (out) {
        write_ppcr(ppcr, out);
        fclose(out);
    }
    snprintf(text, size, "%s", whole);
}
