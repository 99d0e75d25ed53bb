// SPDX-License-Identifier: MIT
#include "lab/bank.h"

#include <stdlib.h>

struct bank_thread {
    struct bank *bank;
    struct bank_thread *next;
    struct hp_core *core;
    void *states[HP_BANK_PROFILERS];
};

struct bank {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_profiler *profilers[HP_BANK_PROFILERS];
    size_t n;
    struct bank_thread *threads;
    enum hp_err failure;
    struct hp_events events[HP_BATCH_MAX];
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct bank *bank = (struct bank *)profiler;
    struct bank_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->bank = bank;
    t->next = bank->threads;
    bank->threads = t;
    HP_TRY(hp_core_new(bank->machine, &t->core));
    for (size_t i = 0; i < bank->n; i++)
        HP_TRY(bank->profilers[i]->ops->start_thread(bank->profilers[i], thread, &t->states[i]));
    *state = t;
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct bank_thread *t = state;
    struct bank *bank = t->bank;
    struct hp_batch with_events = *batch;
    enum hp_err err = hp_core_batch(t->core, bank->code, batch, bank->events);
    if (err != HP_OK)
        bank->failure = err;
    with_events.events = bank->events;
    for (size_t i = 0; i < bank->n; i++)
        bank->profilers[i]->ops->batch(t->states[i], &with_events);
}

static void take_event(void *state, const struct hp_event *event)
{
    struct bank_thread *t = state;
    for (size_t i = 0; i < t->bank->n; i++)
        t->bank->profilers[i]->ops->event(t->states[i], event);
}

static void free_bank(struct hp_profiler *profiler)
{
    struct bank *bank = (struct bank *)profiler;
    for (size_t i = 0; i < bank->n; i++)
        bank->profilers[i]->ops->free(bank->profilers[i]);
    while (bank->threads) {
        struct bank_thread *t = bank->threads;
        bank->threads = t->next;
        hp_core_free(t->core);
        free(t);
    }
    hp_machine_free(bank->machine);
    free(bank);
}

static const struct hp_profiler_ops bank_ops = {
    .name = "machine",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .free = free_bank,
};

enum hp_err hp_bank_new(struct hp_code *code, struct hp_machine *machine, struct hp_profiler **bank)
{
    struct bank *b = calloc(1, sizeof *b);
    if (!b) {
        hp_machine_free(machine);
        return hp_fail_nomem();
    }
    b->base.ops = &bank_ops;
    b->code = code;
    b->machine = machine;
    *bank = &b->base;
    return HP_OK;
}

enum hp_err hp_bank_add(struct hp_profiler *profiler, struct hp_profiler *added)
{
    struct bank *bank = (struct bank *)profiler;
    if (bank->n == HP_BANK_PROFILERS) {
        added->ops->free(added);
        return hp_fail(HP_ERR_INVALID, "more than %d profilers behind a machine",
                       HP_BANK_PROFILERS);
    }
    bank->profilers[bank->n++] = added;
    return HP_OK;
}

struct hp_profiler *hp_bank_profiler(const struct hp_profiler *bank, size_t i)
{
    return ((const struct bank *)bank)->profilers[i];
}

enum hp_err hp_bank_check(const struct hp_profiler *bank)
{
    enum hp_err err = ((const struct bank *)bank)->failure;
    return err == HP_OK ? HP_OK : hp_fail(err, "the machine model: %s", hp_errstr(err));
}
