// SPDX-License-Identifier: MIT
#include "lab/sampling/timings_callback.h"

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    (void)state;
    (void)batch;
}

static void take_event(void *state, const struct hp_event *event)
{
    (void)state;
    (void)event;
}

static void take_timings(void *state, const struct hp_timing *timings, size_t n)
{
    struct hp_timings_callback *callback = state;
    if (callback->failure == HP_OK)
        callback->failure = callback->timings(callback->context, timings, n);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)result;
    return ((struct hp_timings_callback *)profiler)->failure;
}

static void free_callback(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops callback_ops = {.name = "callback",
                                                    .start_thread = start_thread,
                                                    .batch = take_batch,
                                                    .event = take_event,
                                                    .timings = take_timings,
                                                    .finish = finish,
                                                    .free = free_callback};

void hp_timings_callback_init(struct hp_timings_callback *callback,
                              enum hp_err (*timings)(void *context, const struct hp_timing *timings,
                                                     size_t n),
                              void *context)
{
    *callback = (struct hp_timings_callback){
        .base.ops = &callback_ops, .timings = timings, .context = context};
}
