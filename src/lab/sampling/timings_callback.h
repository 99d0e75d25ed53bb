// SPDX-License-Identifier: MIT
/*
 * A callback: a profiler that hands the timings of a program's threads to a function of the
 * experiment. Threads are not told apart: for programs that have one, or measures to which it does
 * not matter.
 */
#ifndef HP_LAB_SAMPLING_TIMINGS_CALLBACK_H
#define HP_LAB_SAMPLING_TIMINGS_CALLBACK_H

#include "hotpath/profiler.h"

struct hp_timings_callback {
    struct hp_profiler base; /* first */
    enum hp_err (*timings)(void *context, const struct hp_timing *timings, size_t n);
    void *context;
    enum hp_err failure; /* the first of timings(): for whoever asks for no profile */
};

/* The callback stays the caller's; freeing the profiler does nothing. */
void hp_timings_callback_init(struct hp_timings_callback *callback,
                              enum hp_err (*timings)(void *context, const struct hp_timing *timings,
                                                     size_t n),
                              void *context);

#endif
