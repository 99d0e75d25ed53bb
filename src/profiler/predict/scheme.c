// SPDX-License-Identifier: MIT
/* Schemes by name. */
#include "profiler/predict/scheme.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hp_scheme_kind *const kinds[] = {
    &hp_scheme_net,      &hp_scheme_path_profile, &hp_scheme_boa,
    &hp_scheme_net_rate, &hp_scheme_rate_table,
};

#define N_KINDS (sizeof kinds / sizeof *kinds)

/* "net, path-profile, ..." */
static void list_kinds(char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < N_KINDS && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", kinds[i]->name);
}

static const struct hp_scheme_kind *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (strlen(kinds[i]->name) == length && memcmp(kinds[i]->name, name, length) == 0)
            return kinds[i];
    return NULL;
}

static enum hp_err no_such_scheme(const char *name, size_t length)
{
    char names[256];
    list_kinds(names, sizeof names);
    return hp_fail(HP_ERR_INVALID, "no prediction scheme \"%.*s\"; there are %s",
                   length > 40 ? 40 : (int)length, name, names);
}

/* --- Reading and writing ---------------------------------------------------------------------- */

static enum hp_err parse_delay(const char *text, const char *number, char **end, uint64_t *delay)
{
    if (*number < '0' || *number > '9')
        return hp_fail(HP_ERR_INVALID, "prediction scheme \"%s\": a delay is missing: NAME:DELAY",
                       text);
    errno = 0;
    unsigned long long value = strtoull(number, end, 10);
    if (errno || value > HP_DELAY_MAX)
        return hp_fail(HP_ERR_INVALID, "prediction scheme \"%s\": the delay can be 0 to %llu", text,
                       (unsigned long long)HP_DELAY_MAX);
    *delay = value;
    return HP_OK;
}

static enum hp_err parse_option(const char *text, const struct hp_scheme_kind *kind,
                                const char *option, struct hp_scheme_config *config)
{
    static const char after[] = "after=";
    if (strncmp(option, after, sizeof after - 1) != 0)
        return hp_fail(HP_ERR_INVALID, "prediction scheme \"%s\": no such option: %s", text,
                       option);
    if (!kind->has_after)
        return hp_fail(HP_ERR_INVALID, "prediction scheme \"%s\": %s has no option after", text,
                       kind->name);
    const char *value = option + sizeof after - 1;
    config->keep = strcmp(value, "keep") == 0;
    if (!config->keep && strcmp(value, "reset") != 0)
        return hp_fail(HP_ERR_INVALID,
                       "prediction scheme \"%s\": after is reset or keep, not \"%s\"", text, value);
    return HP_OK;
}

enum hp_err hp_scheme_parse(const char *text, struct hp_scheme_config *config)
{
    struct hp_scheme_config read = {0};
    size_t length = strcspn(text, ":,");
    const struct hp_scheme_kind *kind = find_kind(text, length);
    char *rest;
    if (!kind)
        return no_such_scheme(text, length);
    snprintf(read.name, sizeof read.name, "%s", kind->name);
    if (text[length] != ':')
        return hp_fail(HP_ERR_INVALID, "prediction scheme \"%s\": a delay is missing: NAME:DELAY",
                       text);
    HP_TRY(parse_delay(text, text + length + 1, &rest, &read.delay));
    if (*rest == ',')
        HP_TRY(parse_option(text, kind, rest + 1, &read));
    else if (*rest)
        return hp_fail(HP_ERR_INVALID, "prediction scheme \"%s\": \"%s\" behind the delay", text,
                       rest);
    *config = read;
    return HP_OK;
}

void hp_scheme_format(const struct hp_scheme_config *config, char *text, size_t size)
{
    snprintf(text, size, "%s:%llu%s", config->name, (unsigned long long)config->delay,
             config->keep ? ",after=keep" : "");
}

/* --- Making ----------------------------------------------------------------------------------- */

enum hp_err hp_scheme_new(const struct hp_scheme_config *config, struct hp_scheme **scheme)
{
    size_t length = strnlen(config->name, sizeof config->name);
    const struct hp_scheme_kind *kind = find_kind(config->name, length);
    if (!kind)
        return no_such_scheme(config->name, length);
    if (config->delay > HP_DELAY_MAX)
        return hp_fail(HP_ERR_INVALID, "prediction scheme %s: the delay can be 0 to %llu, not %llu",
                       kind->name, (unsigned long long)HP_DELAY_MAX,
                       (unsigned long long)config->delay);
    if (config->keep && !kind->has_after)
        return hp_fail(HP_ERR_INVALID, "prediction scheme %s has no option after", kind->name);
    HP_TRY(kind->make(config, scheme));
    (*scheme)->max_length = HP_PATH_MAX_LENGTH;
    return HP_OK;
}

void hp_scheme_free(struct hp_scheme *scheme)
{
    if (scheme)
        scheme->ops->free(scheme);
}
