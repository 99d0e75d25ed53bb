// SPDX-License-Identifier: MIT
/*
 * Windows: which parts of a run a machine simulates in cycles. A run is divided into periods. In
 * each period the last `detail` instructions are simulated in cycles and measured; the `ramp`
 * before them is simulated in cycles to fill the pipeline; the `warm` before that is simulated
 * functionally to warm caches and predictors; the rest is skipped.
 */
#ifndef HP_PROFILER_WINDOWS_H
#define HP_PROFILER_WINDOWS_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instructions of a thread. period 0: everything is in detail. warm is at most the rest of the
 * period. Without a ramp, one window's measurements appear to follow directly on the previous
 * window's. */
struct hp_windows {
    uint64_t period, warm, ramp, detail;
};

/* "all", or period=N,detail=N,ramp=N,warm=N (or warm=all: nothing is skipped). Omitted keys are
 * those of hp_windows_usual(). HP_ERR_INVALID: the text says what is wrong. */
enum hp_err hp_windows_parse(const char *text, struct hp_windows *windows);

/* As hp_windows_parse() reads it. */
void hp_windows_format(const struct hp_windows *windows, char *text, size_t size);

/* A twentieth of the run in detail; everything else warms. */
struct hp_windows hp_windows_usual(void);

enum hp_phase { HP_PHASE_SKIP, HP_PHASE_WARM, HP_PHASE_RAMP, HP_PHASE_DETAIL };

/* The phase of an instruction of a thread, and how many more instructions, itself included, are in
 * that phase (UINT64_MAX: all). */
enum hp_phase hp_windows_at(const struct hp_windows *windows, uint64_t position, uint64_t *left);

#endif
