// SPDX-License-Identifier: MIT
#include "profiler/windows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct hp_windows hp_windows_usual(void)
{
    return (struct hp_windows){
        .period = 1000000, .warm = 1000000 - 52000, .ramp = 2000, .detail = 50000};
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* A number that may end in K, M or G (thousands, as in --after). */
static bool read_number(const char *text, size_t length, uint64_t *value)
{
    char *end;
    if (length == 0 || !isdigit((unsigned char)*text))
        return false;
    uint64_t n = strtoull(text, &end, 10), factor = 1;
    if (end < text + length) {
        factor = *end == 'K' ? 1000 : *end == 'M' ? 1000000 : *end == 'G' ? 1000000000 : 0;
        end++;
    }
    if (end != text + length || factor == 0 || n > UINT64_MAX / 16 / factor)
        return false;
    *value = n * factor;
    return true;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static enum hp_err read_item(const char *item, size_t length, struct hp_windows *w, bool *all_warm)
{
    const struct {
        const char *name;
        uint64_t *value;
    } names[] = {
        {"period", &w->period}, {"warm", &w->warm}, {"ramp", &w->ramp}, {"detail", &w->detail}};
    const char *equals = memchr(item, '=', length);
    size_t name = equals ? (size_t)(equals - item) : length;
    for (size_t i = 0; equals && i < sizeof names / sizeof *names; i++) {
        if (!is_word(item, name, names[i].name))
            continue;
        if (names[i].value == &w->warm) {
            *all_warm = is_word(equals + 1, length - name - 1, "all");
            if (*all_warm)
                return HP_OK;
        }
        if (read_number(equals + 1, length - name - 1, names[i].value))
            return HP_OK;
        return hp_fail(HP_ERR_INVALID, "'%.*s': the value is a number such as 100K or 10M",
                       (int)length, item);
    }
    return hp_fail(HP_ERR_INVALID,
                   "'%.*s' is not one of: all, period=N, detail=N, ramp=N, warm=N, warm=all",
                   (int)length, item);
}

enum hp_err hp_windows_parse(const char *text, struct hp_windows *windows)
{
    bool all_warm = true;
    struct hp_windows w = hp_windows_usual();
    if (strcmp(text, "all") == 0) {
        *windows = (struct hp_windows){0};
        return HP_OK;
    }
    for (const char *item = text; *item;) {
        size_t length = strcspn(item, ",");
        HP_TRY(read_item(item, length, &w, &all_warm));
        item += length + (item[length] == ',');
    }
    if (w.detail == 0)
        return hp_fail(HP_ERR_INVALID, "detail must be at least 1");
    if (w.ramp == 0)
        return hp_fail(HP_ERR_INVALID, "ramp must be at least 1: it tells windows apart");
    if (w.period < w.detail || w.period - w.detail < w.ramp)
        return hp_fail(HP_ERR_INVALID,
                       "a period of %llu instructions is too short for a ramp of %llu and %llu in "
                       "detail",
                       (unsigned long long)w.period, (unsigned long long)w.ramp,
                       (unsigned long long)w.detail);
    uint64_t rest = w.period - w.detail - w.ramp;
    if (all_warm || w.warm > rest)
        w.warm = rest;
    *windows = w;
    return HP_OK;
}

/* --- Where an instruction is ------------------------------------------------------------------ */

enum hp_phase hp_windows_at(const struct hp_windows *w, uint64_t position, uint64_t *left)
{
    *left = UINT64_MAX;
    if (w->period == 0)
        return HP_PHASE_DETAIL;
    uint64_t to_end = w->period - position % w->period;
    if (to_end <= w->detail) {
        *left = to_end;
        return HP_PHASE_DETAIL;
    }
    to_end -= w->detail;
    if (to_end <= w->ramp) {
        *left = to_end;
        return HP_PHASE_RAMP;
    }
    to_end -= w->ramp;
    if (to_end <= w->warm) {
        *left = to_end;
        return HP_PHASE_WARM;
    }
    *left = to_end - w->warm;
    return HP_PHASE_SKIP;
}
