// SPDX-License-Identifier: MIT
#include "lab/watch.h"

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
    struct hp_watch *watch = state;
    if (watch->failure == HP_OK)
        watch->failure = watch->timings(watch->context, timings, n);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)result;
    return ((struct hp_watch *)profiler)->failure;
}

static void free_watch(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops watch_ops = {.name = "watch",
                                                 .start_thread = start_thread,
                                                 .batch = take_batch,
                                                 .event = take_event,
                                                 .timings = take_timings,
                                                 .finish = finish,
                                                 .free = free_watch};

void hp_watch_init(struct hp_watch *watch,
                   enum hp_err (*timings)(void *context, const struct hp_timing *timings, size_t n),
                   void *context)
{
    *watch = (struct hp_watch){.base.ops = &watch_ops, .timings = timings, .context = context};
}
