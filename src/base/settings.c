// SPDX-License-Identifier: MIT
#include "base/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT  1024
#define MAX_VALUE 128

/* Appends to a text, as far as there is room. */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t at = size ? strnlen(text, size) : 0; /* with no room `text` may be NULL */
    va_list arguments;
    va_start(arguments, format);
    if (at < size)
        vsnprintf(text + at, size - at, format, arguments);
    va_end(arguments);
}

/* --- Members ---------------------------------------------------------------------------------- */

uint64_t hp_setting_get(const struct hp_setting *setting, const void *config)
{
    const char *at = (const char *)config + setting->offset;
    uint64_t wide = 0;
    uint32_t narrow;
    if (setting->size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    if (setting->size == sizeof wide)
        memcpy(&wide, at, sizeof wide);
    else if (setting->size == 1)
        wide = (unsigned char)*at;
    return wide;
}

void hp_setting_set(const struct hp_setting *setting, void *config, uint64_t value)
{
    char *at = (char *)config + setting->offset;
    uint32_t narrow = (uint32_t)value;
    if (setting->size == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else if (setting->size == sizeof value)
        memcpy(at, &value, sizeof value);
    else if (setting->size == 1)
        *at = (char)value;
}

const struct hp_setting *hp_setting_find(const struct hp_model *model, const char *key)
{
    for (unsigned i = 0; i < model->n_keys; i++)
        if (strcmp(model->keys[i].key, key) == 0)
            return &model->keys[i];
    return NULL;
}

/* --- A value ---------------------------------------------------------------------------------- */

void hp_setting_values(const struct hp_setting *setting, char *text, size_t size)
{
    text[0] = '\0';
    if (setting->form) {
        append(text, size, "%s", setting->form);
    } else if (setting->type == HP_SETTING_CHOICE) {
        for (unsigned i = 0; setting->choices[i]; i++)
            append(text, size, "%s%s", i ? ", " : "", setting->choices[i]);
    } else if (setting->type != HP_SETTING_FLAG) {
        append(text, size, "%" PRIu64 " to %" PRIu64, setting->min, setting->max);
        if (setting->word)
            append(text, size, ", or %s", setting->word);
    }
}

static enum hp_err read_choice(const struct hp_setting *setting, const char *text, uint64_t *value)
{
    char list[MAX_TEXT];
    for (*value = 0; setting->choices[*value]; ++*value)
        if (strcmp(setting->choices[*value], text) == 0)
            return HP_OK;
    hp_setting_values(setting, list, sizeof list);
    return hp_fail(HP_ERR_INVALID, "'%.40s' is none of %s", text, list);
}

/* The factor of a suffix; 0: no such suffix. */
static uint64_t factor_of(enum hp_setting_type type, char suffix)
{
    uint64_t step = type == HP_SETTING_COUNT ? 1000 : 1024;
    if (type == HP_SETTING_NUMBER)
        return 0;
    switch (suffix) {
    case 'K': return step;
    case 'M': return step * step;
    case 'G': return step * step * step;
    default: return 0;
    }
}

/* `text` is the value as given. */
static enum hp_err check_bounds(const struct hp_setting *setting, uint64_t value, const char *text)
{
    if (value < setting->min || value > setting->max)
        return hp_fail(HP_ERR_INVALID, "%.40s is not between %" PRIu64 " and %" PRIu64, text,
                       setting->min, setting->max);
    if (setting->type == HP_SETTING_POWER && (value & (value - 1)) != 0)
        return hp_fail(HP_ERR_INVALID, "%s is not a power of two", text);
    return HP_OK;
}

/* Digits, and a suffix. */
static enum hp_err read_number(const struct hp_setting *setting, const char *text, uint64_t *value)
{
    char *end = NULL;
    errno = 0;
    *value = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    uint64_t factor = 1;
    if (end && *end)
        factor = factor_of(setting->type, *end++);
    if (!end || !factor || *end)
        return hp_fail(HP_ERR_INVALID, "'%.40s' is not a number", text);
    if (errno || __builtin_mul_overflow(*value, factor, value))
        return hp_fail(HP_ERR_INVALID, "%.40s is not between %" PRIu64 " and %" PRIu64, text,
                       setting->min, setting->max);
    return check_bounds(setting, *value, text);
}

enum hp_err hp_setting_read(const struct hp_setting *setting, const char *text, void *config)
{
    uint64_t value = 1; /* of a flag */
    if (setting->read)
        return setting->read(setting, text, config);
    if (setting->word && strcmp(setting->word, text) == 0)
        value = setting->word_value;
    else if (setting->type == HP_SETTING_CHOICE)
        HP_TRY(read_choice(setting, text, &value));
    else if (setting->type != HP_SETTING_FLAG)
        HP_TRY(read_number(setting, text, &value));
    hp_setting_set(setting, config, value);
    return HP_OK;
}

void hp_setting_write(const struct hp_setting *setting, const void *config, char *text, size_t size)
{
    if (setting->write) {
        setting->write(setting, config, text, size);
        return;
    }
    uint64_t value = hp_setting_get(setting, config);
    if (setting->word && value == setting->word_value)
        snprintf(text, size, "%s", setting->word);
    else if (setting->type == HP_SETTING_CHOICE)
        snprintf(text, size, "%s", setting->choices[value]);
    else
        snprintf(text, size, "%" PRIu64, value);
}

enum hp_err hp_setting_check(const struct hp_setting *setting, const char *label,
                             const void *config)
{
    uint64_t value = hp_setting_get(setting, config), n = 0;
    if (setting->type == HP_SETTING_CHOICE) {
        while (setting->choices[n])
            n++;
        return value < n ? HP_OK
                         : hp_fail(HP_ERR_INVALID, "%s: no %s has the number %" PRIu64, label,
                                   setting->key, value);
    }
    char text[MAX_VALUE], why[MAX_VALUE];
    bool is_word = setting->word && value == setting->word_value;
    snprintf(text, sizeof text, "%" PRIu64, value);
    if (is_word || setting->max == 0 || check_bounds(setting, value, text) == HP_OK)
        return HP_OK;
    snprintf(why, sizeof why, "%s", hp_error_text());
    return hp_fail(HP_ERR_INVALID, "%s: %s: %s", label, setting->key, why);
}

/* --- Reading a text --------------------------------------------------------------------------- */

/* The state of reading. */
struct reading {
    const struct hp_model_family *family;
    void *config;
    struct hp_said *said;
};

static enum hp_err read_value(struct reading *r, const struct hp_setting *setting, const char *text)
{
    char why[MAX_TEXT];
    r->said->keys |= (uint64_t)1 << (setting - r->said->model->keys);
    if (hp_setting_read(setting, text, r->config) == HP_OK)
        return HP_OK;
    snprintf(why, sizeof why, "%s", hp_error_text());
    return hp_fail(HP_ERR_INVALID, "%s: %s: %s", r->family->label, setting->key, why);
}

static const struct hp_preset *find_preset(const struct hp_model_family *family, const char *name,
                                           size_t length, const struct hp_model **model)
{
    for (unsigned m = 0; m < family->n_models; m++)
        for (unsigned i = 0; i < family->models[m]->n_presets; i++) {
            const struct hp_preset *preset = &family->models[m]->presets[i];
            if (strlen(preset->name) != length || memcmp(preset->name, name, length) != 0)
                continue;
            *model = family->models[m];
            return preset;
        }
    return NULL;
}

static enum hp_err no_such_key(const struct reading *r, const char *key)
{
    const struct hp_model *model = r->said->model, *other;
    char keys[MAX_TEXT] = "";
    if (find_preset(r->family, key, strcspn(key, ":"), &other))
        return hp_fail(HP_ERR_INVALID, "%s: '%s' has to come first", r->family->label, key);
    for (unsigned i = 0; i < model->n_keys; i++)
        append(keys, sizeof keys, "%s%s", i ? ", " : "", model->keys[i].key);
    return hp_fail(HP_ERR_INVALID, "%s: %s has no setting '%.40s'; there are %s", r->family->label,
                   model->name, key, keys);
}

/* "key=value" or a flag; it is cut at the "=". */
static enum hp_err read_setting(struct reading *r, char *part)
{
    char *equals = strchr(part, '=');
    if (equals)
        *equals = '\0';
    const struct hp_setting *setting = hp_setting_find(r->said->model, part);
    if (!setting)
        return no_such_key(r, part);
    if (!equals != (setting->type == HP_SETTING_FLAG))
        return hp_fail(HP_ERR_INVALID, "%s: '%s' %s", r->family->label, part,
                       equals ? "takes no value" : "needs a value");
    return read_value(r, setting, equals ? equals + 1 : "");
}

static enum hp_err no_such_preset(const struct hp_model_family *family, const char *name)
{
    char names[MAX_TEXT] = "";
    for (unsigned m = 0; m < family->n_models; m++)
        for (unsigned i = 0; i < family->models[m]->n_presets; i++) {
            const struct hp_preset *preset = &family->models[m]->presets[i];
            append(names, sizeof names, "%s%s%s", names[0] ? ", " : "", preset->name,
                   preset->number ? ":N" : "");
        }
    if (family->form)
        append(names, sizeof names, ", %s", family->form);
    return hp_fail(HP_ERR_INVALID, "%s: there is no '%.40s'; there are %s", family->label, name,
                   names);
}

/* "bl", "net:50", "512x4" */
static enum hp_err read_first(struct reading *r, const char *part)
{
    const struct hp_model_family *family = r->family;
    size_t length = strcspn(part, ":");
    const struct hp_preset *preset = find_preset(family, part, length, &r->said->model);
    r->said->preset = preset;
    if (!preset)
        return family->read_first && family->read_first(part, r->config) == HP_OK
                   ? HP_OK
                   : no_such_preset(family, part);
    memcpy(r->config, preset->config, family->size);
    if (family->may_lack_number && !part[length])
        return HP_OK;
    if (!preset->number == !part[length])
        return preset->number ? read_value(r, hp_setting_find(r->said->model, preset->number),
                                           part + length + 1)
                              : HP_OK;
    if (preset->number)
        return hp_fail(HP_ERR_INVALID, "%s: %s needs a number: %s:N", family->label, preset->name,
                       preset->name);
    return hp_fail(HP_ERR_INVALID, "%s: %s takes no number", family->label, preset->name);
}

enum hp_err hp_settings_parse(const struct hp_model_family *family, const char *text, void *config,
                              struct hp_said *said)
{
    char copy[MAX_TEXT];
    struct reading r = {.family = family, .config = config, .said = said};
    if (strlen(text) >= sizeof copy)
        return hp_fail(HP_ERR_INVALID, "%s: the text has more than %d characters", family->label,
                       MAX_TEXT - 1);
    *said = (struct hp_said){.model = family->models[0]};
    strcpy(copy, text);
    char *rest = copy, *part = strsep(&rest, ",");
    if (family->initial && strchr(part, '=')) {
        memcpy(config, family->initial, family->size);
        HP_TRY(read_setting(&r, part));
    } else {
        HP_TRY(read_first(&r, part));
    }
    while ((part = strsep(&rest, ",")))
        HP_TRY(read_setting(&r, part));
    return HP_OK;
}

bool hp_settings_said(const struct hp_said *said, const char *key)
{
    const struct hp_setting *setting = hp_setting_find(said->model, key);
    return setting && (said->keys >> (setting - said->model->keys) & 1);
}

/* --- Writing a text --------------------------------------------------------------------------- */

/* Whether the setting is written; its value in `value`. */
static bool differs(const struct hp_setting *setting, const void *config, const void *base,
                    char *value, size_t size)
{
    char usual[MAX_VALUE];
    if (setting->is_shorthand)
        return false;
    hp_setting_write(setting, config, value, size);
    hp_setting_write(setting, base, usual, sizeof usual);
    return strcmp(value, usual) != 0;
}

unsigned hp_settings_differences(const struct hp_model *model, const void *config, const void *base)
{
    char value[MAX_VALUE];
    unsigned n = 0;
    for (unsigned i = 0; i < model->n_keys; i++)
        n += differs(&model->keys[i], config, base, value, sizeof value);
    return n;
}

void hp_settings_write(const struct hp_model *model, const void *config, const void *base,
                       char *text, size_t size)
{
    char value[MAX_VALUE];
    for (unsigned i = 0; i < model->n_keys; i++) {
        const struct hp_setting *setting = &model->keys[i];
        if (!differs(setting, config, base, value, sizeof value))
            continue;
        append(text, size, ",%s", setting->key);
        if (setting->type != HP_SETTING_FLAG)
            append(text, size, "=%s", value);
    }
}
