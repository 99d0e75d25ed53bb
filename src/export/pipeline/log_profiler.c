// SPDX-License-Identifier: MIT
/* A log as a profiler: the pipeline gives it the timings of every thread. */
#include "export/pipeline/log.h"

#include <stdlib.h>

struct observer {
    struct hp_profiler base; /* first */
    struct hp_log *log;
    struct thread *threads;
    enum hp_err failure;
    char text[256];
};

struct thread {
    struct thread *next;
    struct observer *observer;
    uint32_t id;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct observer *o = (struct observer *)profiler;
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    *thread = (struct thread){.next = o->threads, .observer = o, .id = info->id};
    o->threads = thread;
    *state = thread;
    return HP_OK;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    (void)state;
    (void)batch;
}

static void on_event(void *state, const struct hp_event *event)
{
    (void)state;
    (void)event;
}

/* A failure is told in finish(). */
static void on_timings(void *state, const struct hp_timing *timings, size_t n)
{
    struct thread *thread = state;
    struct observer *o = thread->observer;
    if (o->failure != HP_OK)
        return;
    o->failure = hp_log_add(o->log, thread->id, timings, n);
    if (o->failure != HP_OK)
        snprintf(o->text, sizeof o->text, "%s", hp_error_text());
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct observer *o = (struct observer *)profiler;
    (void)result;
    if (o->failure != HP_OK)
        return hp_fail(o->failure, "%s", o->text);
    return hp_log_close(o->log);
}

static void free_observer(struct hp_profiler *profiler)
{
    struct observer *o = (struct observer *)profiler;
    while (o->threads) {
        struct thread *next = o->threads->next;
        free(o->threads);
        o->threads = next;
    }
    free(o);
}

static const struct hp_profiler_ops ops = {
    .name = "log",
    .start_thread = start_thread,
    .batch = on_batch,
    .event = on_event,
    .timings = on_timings,
    .finish = finish,
    .free = free_observer,
};

enum hp_err hp_log_profiler_new(struct hp_log *log, struct hp_profiler **profiler)
{
    struct observer *o = calloc(1, sizeof *o);
    if (!o)
        return hp_fail_nomem();
    *o = (struct observer){.base = {.ops = &ops}, .log = log};
    *profiler = &o->base;
    return HP_OK;
}
