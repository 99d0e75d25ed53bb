// SPDX-License-Identifier: MIT
/*
 * A callback: a profiler that passes the timings of a program's threads to a function of the
 * experiment. Threads are not distinguished: for single-threaded programs, or measures where it
 * does not matter.
 */
#ifndef HP_LAB_SAMPLING_TIMINGS_CALLBACK_H
#define HP_LAB_SAMPLING_TIMINGS_CALLBACK_H

#include "hotpath/profiler.h"

struct hp_timings_callback {
    struct hp_profiler base; /* first */
    enum hp_err (*timings)(void *context, const struct hp_timing *timings, size_t n);
    void *context;
    enum hp_err failure; /* the first of timings(), for users without a profile */
};

/* The caller keeps ownership of the callback; freeing the profiler does nothing. */
void hp_timings_callback_init(struct hp_timings_callback *callback,
                              enum hp_err (*timings)(void *context, const struct hp_timing *timings,
                                                     size_t n),
                              void *context);

#endif
