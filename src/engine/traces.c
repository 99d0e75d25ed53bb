// SPDX-License-Identifier: MIT
#include "engine/traces.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_AFTER 50
#define MOST_AFTER  1000000

const struct hp_name hp_traces_names[] = {
    [HP_TRACES_NONE] = {"none", "plain segments only"},
    [HP_TRACES_STATIC] = {"static", "long segments by static rules, from the first execution on"},
    [HP_TRACES_NET] = {"net", "what is executed next after a head that has become hot"},
    [HP_TRACES_PATHS] = {"path-profile", "the most frequent path from such a head"},
    {0},
};

const struct hp_name hp_traces_events[] = {
    [HP_TRACES_FLUSHED_FULL] = {"full", "the cache was full"},
    [HP_TRACES_FLUSHED_PHASE] = {"phase", "a new phase began"},
    [HP_TRACES_BAILED_OUT] = {"bail-out", "traces did not pay"},
    {0},
};

/* One line for each mode: what measurements say (docs/native-engine.md). */
static const struct hp_traces_choice usual[] = {
    [HP_RECORD_STREAM] = {HP_TRACES_NET, 5000}, [HP_RECORD_COUNT] = {HP_TRACES_NET, 5000},
    [HP_RECORD_MEMORY] = {HP_TRACES_NET, 5000}, [HP_RECORD_NONE] = {HP_TRACES_NONE, 0},
    [HP_RECORD_PATHS] = {HP_TRACES_NONE, 0}, /* paths are what it translates */
};

struct hp_traces_choice hp_traces_usual(enum hp_record_mode mode)
{
    return usual[mode];
}

static bool takes_number(enum hp_traces how)
{
    return how == HP_TRACES_NET || how == HP_TRACES_PATHS;
}

static enum hp_err read_number(const char *text, uint32_t *number)
{
    char *end = NULL;
    unsigned long value = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    if (!end || *end || value < 1 || value > MOST_AFTER)
        return hp_fail(HP_ERR_INVALID, "'%s' is not a number from 1 to 1,000,000", text);
    *number = (uint32_t)value;
    return HP_OK;
}

enum hp_err hp_traces_parse(const char *text, struct hp_traces_choice *choice)
{
    char name[32];
    const char *colon = strchr(text, ':');
    unsigned how;
    snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - text) : (int)sizeof name, text);
    HP_TRY(hp_name_find(hp_traces_names, "choice", name, &how));
    struct hp_traces_choice read = {(enum hp_traces)how, takes_number(how) ? USUAL_AFTER : 0};
    if (colon && !read.after)
        return hp_fail(HP_ERR_INVALID, "%s takes no number", name);
    if (colon)
        HP_TRY(read_number(colon + 1, &read.after));
    *choice = read;
    return HP_OK;
}

void hp_traces_format(const struct hp_traces_choice *choice, char *text, size_t size)
{
    int n = snprintf(text, size, "%s", hp_traces_names[choice->how].name);
    if (choice->after && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ":%u", choice->after);
}
