// SPDX-License-Identifier: MIT
#include "lab/loops/skip_linker.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct filter_thread {
    struct filter *filter;
    struct filter_thread *next;
    void *state; /* of the profiler */
};

struct filter {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_profiler *profiler;
    struct filter_thread *threads;
    char path[PATH_MAX];
    bool open;
    uint64_t hidden;
    struct hp_step steps[HP_STEPS_MAX + 1]; /* those from where it opens */
};

static bool is_own(const struct filter *filter, uint32_t block)
{
    uint32_t module = hp_code_block(filter->code, block)->module;
    return strcmp(hp_code_module(filter->code, module)->path, filter->path) == 0;
}

static bool unit_is_own(const struct filter *filter, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(filter->code, unit, &n);
    for (uint32_t i = 0; i < n; i++)
        if (is_own(filter, blocks[i]))
            return true;
    return false;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* Passes on everything from the block before the first of the program's own. */
static void open_batch(struct filter_thread *t, const struct hp_batch *batch)
{
    struct filter *filter = t->filter;
    size_t i = 0;
    while (i <= batch->n && !is_own(filter, batch->blocks[i]))
        i++;
    filter->open = i <= batch->n;
    size_t first = i ? i - 1 : 0;
    for (size_t k = 0; k < first; k++)
        filter->hidden += batch->table[batch->blocks[k]].insns;
    if (!filter->open)
        return;
    struct hp_batch rest = *batch;
    rest.blocks += first;
    rest.taken += first;
    rest.n -= first;
    rest.address_at += rest.address_at ? first : 0;
    rest.events += rest.events ? first : 0;
    if (rest.n)
        filter->profiler->ops->batch(t->state, &rest);
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct filter_thread *t = state;
    if (t->filter->open)
        t->filter->profiler->ops->batch(t->state, batch);
    else
        open_batch(t, batch);
}

/* --- Units ------------------------------------------------------------------------------------ */

static uint64_t unit_insns(const struct filter *filter, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(filter->code, unit, &n);
    uint64_t insns = 0;
    for (uint32_t i = 0; i < n; i++)
        insns += hp_code_block(filter->code, blocks[i])->insns;
    return insns;
}

/* The same: the last block of a unit stands for what came before. */
static void open_steps(struct filter_thread *t, const struct hp_steps *steps)
{
    struct filter *filter = t->filter;
    size_t i = 0;
    while (i <= steps->n && !unit_is_own(filter, steps->steps[i].unit))
        i++;
    filter->open = i <= steps->n;
    size_t before = i ? i - 1 : 0;
    for (size_t k = 1; k <= before && k <= steps->n; k++)
        filter->hidden += unit_insns(filter, steps->steps[k].unit);
    if (!filter->open)
        return;
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(filter->code, steps->steps[before].unit, &n);
    uint32_t last = blocks[n - 1];
    memcpy(filter->steps, steps->steps + before, (steps->n - before + 1) * sizeof *filter->steps);
    filter->steps[0] =
        (struct hp_step){.unit = hp_code_unit_of_block(filter->code, last), .first = last};
    if (filter->hidden >= hp_code_block(filter->code, last)->insns)
        filter->hidden -= hp_code_block(filter->code, last)->insns;
    filter->profiler->ops->steps(
        t->state,
        &(struct hp_steps){.code = steps->code, .steps = filter->steps, .n = steps->n - before});
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    struct filter_thread *t = state;
    if (t->filter->open)
        t->filter->profiler->ops->steps(t->state, steps);
    else
        open_steps(t, steps);
}

/* --- Everything else -------------------------------------------------------------------------- */

static void take_event(void *state, const struct hp_event *event)
{
    struct filter_thread *t = state;
    if (t->filter->open || event->kind == HP_EVENT_END)
        t->filter->profiler->ops->event(t->state, event);
    else if (event->kind == HP_EVENT_TAIL)
        t->filter->hidden += event->insns;
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct filter *filter = (struct filter *)profiler;
    struct filter_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->filter = filter;
    t->next = filter->threads;
    filter->threads = t;
    *state = t;
    return filter->profiler->ops->start_thread(filter->profiler, thread, &t->state);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct filter *filter = (struct filter *)profiler;
    return filter->profiler->ops->finish(filter->profiler, result);
}

static void free_filter(struct hp_profiler *profiler)
{
    struct filter *filter = (struct filter *)profiler;
    while (filter->threads) {
        struct filter_thread *t = filter->threads;
        filter->threads = t->next;
        free(t);
    }
    filter->profiler->ops->free(filter->profiler);
    free(filter);
}

static const struct hp_profiler_ops by_blocks = {.name = "skip-linker",
                                                 .start_thread = start_thread,
                                                 .batch = take_batch,
                                                 .event = take_event,
                                                 .finish = finish,
                                                 .free = free_filter};
static const struct hp_profiler_ops by_units = {.name = "skip-linker",
                                                .start_thread = start_thread,
                                                .batch = take_batch,
                                                .steps = take_steps,
                                                .event = take_event,
                                                .finish = finish,
                                                .free = free_filter};

enum hp_err hp_lab_skip_linker_new(struct hp_code *code, const char *path,
                                   struct hp_profiler *profiler, struct hp_profiler **filter)
{
    struct filter *g = calloc(1, sizeof *g);
    if (!g) {
        profiler->ops->free(profiler);
        return hp_fail_nomem();
    }
    g->base.ops = profiler->ops->steps ? &by_units : &by_blocks;
    g->code = code;
    g->profiler = profiler;
    if (!realpath(path, g->path)) /* module names are real paths */
        snprintf(g->path, sizeof g->path, "%s", path);
    *filter = &g->base;
    return HP_OK;
}

uint64_t hp_lab_skip_linker_hidden(const struct hp_profiler *filter)
{
    return ((const struct filter *)filter)->hidden;
}
