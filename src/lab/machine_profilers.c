// SPDX-License-Identifier: MIT
#include "lab/machine_profilers.h"

#include <stdlib.h>

struct group_thread {
    struct group *group;
    struct group_thread *next;
    struct hp_core *core;
    void *states[HP_MACHINE_PROFILERS];
};

struct group {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_profiler *profilers[HP_MACHINE_PROFILERS];
    size_t n;
    struct group_thread *threads;
    enum hp_err failure;
    struct hp_events events[HP_BATCH_MAX];
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct group *group = (struct group *)profiler;
    struct group_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->group = group;
    t->next = group->threads;
    group->threads = t;
    HP_TRY(hp_core_new(group->machine, &t->core));
    for (size_t i = 0; i < group->n; i++)
        HP_TRY(group->profilers[i]->ops->start_thread(group->profilers[i], thread, &t->states[i]));
    *state = t;
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct group_thread *t = state;
    struct group *group = t->group;
    struct hp_batch with_events = *batch;
    enum hp_err err = hp_core_batch(t->core, group->code, batch, group->events);
    if (err != HP_OK)
        group->failure = err;
    with_events.events = group->events;
    for (size_t i = 0; i < group->n; i++)
        group->profilers[i]->ops->batch(t->states[i], &with_events);
}

static void take_event(void *state, const struct hp_event *event)
{
    struct group_thread *t = state;
    for (size_t i = 0; i < t->group->n; i++)
        t->group->profilers[i]->ops->event(t->states[i], event);
}

static void free_group(struct hp_profiler *profiler)
{
    struct group *group = (struct group *)profiler;
    for (size_t i = 0; i < group->n; i++)
        group->profilers[i]->ops->free(group->profilers[i]);
    while (group->threads) {
        struct group_thread *t = group->threads;
        group->threads = t->next;
        hp_core_free(t->core);
        free(t);
    }
    hp_machine_free(group->machine);
    free(group);
}

static const struct hp_profiler_ops group_ops = {
    .name = "machine",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .free = free_group,
};

enum hp_err hp_machine_profilers_new(struct hp_code *code, struct hp_machine *machine,
                                     struct hp_profiler **group)
{
    struct group *b = calloc(1, sizeof *b);
    if (!b) {
        hp_machine_free(machine);
        return hp_fail_nomem();
    }
    b->base.ops = &group_ops;
    b->code = code;
    b->machine = machine;
    *group = &b->base;
    return HP_OK;
}

enum hp_err hp_machine_profilers_add(struct hp_profiler *profiler, struct hp_profiler *added)
{
    struct group *group = (struct group *)profiler;
    if (group->n == HP_MACHINE_PROFILERS) {
        added->ops->free(added);
        return hp_fail(HP_ERR_INVALID, "more than %d profilers behind a machine",
                       HP_MACHINE_PROFILERS);
    }
    group->profilers[group->n++] = added;
    return HP_OK;
}

struct hp_profiler *hp_machine_profilers_get(const struct hp_profiler *group, size_t i)
{
    return ((const struct group *)group)->profilers[i];
}

enum hp_err hp_machine_profilers_check(const struct hp_profiler *group)
{
    enum hp_err err = ((const struct group *)group)->failure;
    return err == HP_OK ? HP_OK : hp_fail(err, "the machine model: %s", hp_errstr(err));
}
