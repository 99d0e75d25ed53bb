// SPDX-License-Identifier: MIT
#include "base/debug.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const names[HP_DEBUG_DOMAINS] = {
    [HP_DEBUG_SESSION] = "session",   [HP_DEBUG_ENGINE] = "engine",
    [HP_DEBUG_STREAM] = "stream",     [HP_DEBUG_SYMBOLS] = "symbols",
    [HP_DEBUG_PROFILER] = "profiler", [HP_DEBUG_PROFILE] = "profile",
};

static unsigned on; /* one bit per domain */
static double started;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static enum hp_err turn_on(const char *word, size_t length)
{
    for (unsigned i = 0; i < HP_DEBUG_DOMAINS; i++)
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0) {
            on |= 1u << i;
            return HP_OK;
        }
    if (length == 3 && memcmp(word, "all", 3) == 0) {
        on = (1u << HP_DEBUG_DOMAINS) - 1;
        return HP_OK;
    }
    char list[128] = "";
    for (unsigned i = 0; i < HP_DEBUG_DOMAINS; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s, ", names[i]);
    return hp_fail(HP_ERR_INVALID, "HOTPATH_DEBUG: there is no domain '%.*s'; there are: %sall",
                   (int)length, word, list);
}

enum hp_err hp_debug_start(const char *list)
{
    started = now();
    while (list && *list) {
        size_t length = strcspn(list, ",");
        HP_TRY(turn_on(list, length));
        list += length + (list[length] == ',');
    }
    return HP_OK;
}

bool hp_debug_is_on(enum hp_debug_domain domain)
{
    return on & 1u << domain;
}

void hp_debug(enum hp_debug_domain domain, const char *format, ...)
{
    if (!hp_debug_is_on(domain))
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "hotpath: %s: %.3f s: %s\n", names[domain], now() - started, text);
}
