// SPDX-License-Identifier: MIT
#include "profiler/windows.h"

#include "base/settings.h"
#include "profiler/models.h"

#include <stdio.h>

struct hp_windows hp_windows_usual(void)
{
    return (struct hp_windows){
        .period = 1000000, .warm = 1000000 - 52000, .ramp = 2000, .detail = 50000};
}

/* --- Settings --------------------------------------------------------------------------------- */

#define LONGEST (UINT64_MAX / 16)
#define ALL     UINT64_MAX

/* hp_windows_usual(), with the rest of the period still open. */
static const struct hp_windows open = {
    .period = 1000000, .warm = ALL, .ramp = 2000, .detail = 50000};
static const struct hp_preset presets[] = {
    {"all", &(const struct hp_windows){0}, "no windows: everything is run in cycles", NULL},
};

#define AT(member) HP_MEMBER(struct hp_windows, member)
static const struct hp_setting keys[] = {
    {"period", HP_SETTING_COUNT, AT(period), 0, LONGEST, "instructions from window to window"},
    {"detail", HP_SETTING_COUNT, AT(detail), 1, LONGEST, "of these, run in cycles and measured"},
    {"ramp", HP_SETTING_COUNT, AT(ramp), 1, LONGEST,
     "before them, run in cycles to fill the pipe; it tells windows apart"},
    {"warm", HP_SETTING_COUNT, AT(warm), 0, LONGEST,
     "before those, run to warm caches and predictors; all: nothing is skipped", .word = "all",
     .word_value = ALL},
};
#undef AT

static const struct hp_model model = {
    .name = "a window",
    .help = "a part of each period that is run in cycles",
    .presets = presets,
    .n_presets = 1,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
const struct hp_model_family hp_windows_family = {
    .name = "windows",
    .label = "windows",
    .option = "--windows",
    .help = "which parts of a run a machine runs in cycles (docs/machine.md)",
    .size = sizeof(struct hp_windows),
    .models = (const struct hp_model *const[]){&model},
    .n_models = 1,
    .initial = &open,
    .form = "period=N, detail=N, ramp=N, warm=N",
};

enum hp_err hp_windows_parse(const char *text, struct hp_windows *windows)
{
    struct hp_windows w = open;
    struct hp_said said = {0};
    if (*text)
        HP_TRY(hp_settings_parse(&hp_windows_family, text, &w, &said));
    if (said.preset && !said.keys) {
        *windows = w;
        return HP_OK;
    }
    if (said.preset)
        return hp_fail(HP_ERR_INVALID, "windows: nothing can follow '%s'", said.preset->name);
    if (w.period < w.detail || w.period - w.detail < w.ramp)
        return hp_fail(
            HP_ERR_INVALID,
            "windows: a period of %llu instructions is too short for a ramp of %llu and %llu in "
            "detail",
            (unsigned long long)w.period, (unsigned long long)w.ramp, (unsigned long long)w.detail);
    uint64_t rest = w.period - w.detail - w.ramp;
    if (w.warm > rest)
        w.warm = rest;
    *windows = w;
    return HP_OK;
}

void hp_windows_format(const struct hp_windows *w, char *text, size_t size)
{
    if (w->period)
        snprintf(text, size, "period=%llu,detail=%llu,ramp=%llu,warm=%llu",
                 (unsigned long long)w->period, (unsigned long long)w->detail,
                 (unsigned long long)w->ramp, (unsigned long long)w->warm);
    else
        snprintf(text, size, "all");
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
