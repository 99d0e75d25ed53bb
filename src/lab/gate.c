// SPDX-License-Identifier: MIT
#include "lab/gate.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gate_thread {
    struct gate *gate;
    struct gate_thread *next;
    void *state; /* of the profiler */
};

struct gate {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_profiler *profiler;
    struct gate_thread *threads;
    char path[PATH_MAX];
    bool open;
    uint64_t hidden;
    struct hp_step steps[HP_STEPS_MAX + 1]; /* those behind where it opens */
};

static bool is_own(const struct gate *gate, uint32_t block)
{
    uint32_t module = hp_code_block(gate->code, block)->module;
    return strcmp(hp_code_module(gate->code, module)->path, gate->path) == 0;
}

static bool unit_is_own(const struct gate *gate, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(gate->code, unit, &n);
    for (uint32_t i = 0; i < n; i++)
        if (is_own(gate, blocks[i]))
            return true;
    return false;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* From the block before the first of the program's own. */
static void open_batch(struct gate_thread *t, const struct hp_batch *batch)
{
    struct gate *gate = t->gate;
    size_t i = 0;
    while (i <= batch->n && !is_own(gate, batch->blocks[i]))
        i++;
    gate->open = i <= batch->n;
    size_t first = i ? i - 1 : 0;
    for (size_t k = 0; k < first; k++)
        gate->hidden += batch->table[batch->blocks[k]].insns;
    if (!gate->open)
        return;
    struct hp_batch rest = *batch;
    rest.blocks += first;
    rest.taken += first;
    rest.n -= first;
    rest.address_at += rest.address_at ? first : 0;
    rest.events += rest.events ? first : 0;
    if (rest.n)
        gate->profiler->ops->batch(t->state, &rest);
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct gate_thread *t = state;
    if (t->gate->open)
        t->gate->profiler->ops->batch(t->state, batch);
    else
        open_batch(t, batch);
}

/* --- Units ------------------------------------------------------------------------------------ */

static uint64_t unit_insns(const struct gate *gate, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(gate->code, unit, &n);
    uint64_t insns = 0;
    for (uint32_t i = 0; i < n; i++)
        insns += hp_code_block(gate->code, blocks[i])->insns;
    return insns;
}

/* The same: the last block of a unit stands for what was before. */
static void open_steps(struct gate_thread *t, const struct hp_steps *steps)
{
    struct gate *gate = t->gate;
    size_t i = 0;
    while (i <= steps->n && !unit_is_own(gate, steps->steps[i].unit))
        i++;
    gate->open = i <= steps->n;
    size_t before = i ? i - 1 : 0;
    for (size_t k = 1; k <= before && k <= steps->n; k++)
        gate->hidden += unit_insns(gate, steps->steps[k].unit);
    if (!gate->open)
        return;
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(gate->code, steps->steps[before].unit, &n);
    uint32_t last = blocks[n - 1];
    memcpy(gate->steps, steps->steps + before, (steps->n - before + 1) * sizeof *gate->steps);
    gate->steps[0] =
        (struct hp_step){.unit = hp_code_unit_of_block(gate->code, last), .first = last};
    if (gate->hidden >= hp_code_block(gate->code, last)->insns)
        gate->hidden -= hp_code_block(gate->code, last)->insns;
    gate->profiler->ops->steps(
        t->state,
        &(struct hp_steps){.code = steps->code, .steps = gate->steps, .n = steps->n - before});
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    struct gate_thread *t = state;
    if (t->gate->open)
        t->gate->profiler->ops->steps(t->state, steps);
    else
        open_steps(t, steps);
}

/* --- All else --------------------------------------------------------------------------------- */

static void take_event(void *state, const struct hp_event *event)
{
    struct gate_thread *t = state;
    if (t->gate->open || event->kind == HP_EVENT_END)
        t->gate->profiler->ops->event(t->state, event);
    else if (event->kind == HP_EVENT_TAIL)
        t->gate->hidden += event->insns;
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct gate *gate = (struct gate *)profiler;
    struct gate_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->gate = gate;
    t->next = gate->threads;
    gate->threads = t;
    *state = t;
    return gate->profiler->ops->start_thread(gate->profiler, thread, &t->state);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct gate *gate = (struct gate *)profiler;
    return gate->profiler->ops->finish(gate->profiler, result);
}

static void free_gate(struct hp_profiler *profiler)
{
    struct gate *gate = (struct gate *)profiler;
    while (gate->threads) {
        struct gate_thread *t = gate->threads;
        gate->threads = t->next;
        free(t);
    }
    gate->profiler->ops->free(gate->profiler);
    free(gate);
}

static const struct hp_profiler_ops by_blocks = {.name = "gate",
                                                 .start_thread = start_thread,
                                                 .batch = take_batch,
                                                 .event = take_event,
                                                 .finish = finish,
                                                 .free = free_gate};
static const struct hp_profiler_ops by_units = {.name = "gate",
                                                .start_thread = start_thread,
                                                .batch = take_batch,
                                                .steps = take_steps,
                                                .event = take_event,
                                                .finish = finish,
                                                .free = free_gate};

enum hp_err hp_lab_gate_new(struct hp_code *code, const char *path, struct hp_profiler *profiler,
                            struct hp_profiler **gate)
{
    struct gate *g = calloc(1, sizeof *g);
    if (!g) {
        profiler->ops->free(profiler);
        return hp_fail_nomem();
    }
    g->base.ops = profiler->ops->steps ? &by_units : &by_blocks;
    g->code = code;
    g->profiler = profiler;
    if (!realpath(path, g->path)) /* modules are named so */
        snprintf(g->path, sizeof g->path, "%s", path);
    *gate = &g->base;
    return HP_OK;
}

uint64_t hp_lab_gate_hidden(const struct hp_profiler *gate)
{
    return ((const struct gate *)gate)->hidden;
}
