// SPDX-License-Identifier: MIT
/* Loop models: creating, feeding and reading them. */
#include "profiler/loop/model.h"

#include "base/grow.h"
#include "profiler/loop/ranges.h"

#include <stdlib.h>
#include <string.h>

#define MEAN_INSN_BYTES 4 /* when instructions differ in length */

/* --- Tasks ------------------------------------------------------------------------------------ */

static struct hp_loop_task *new_task(struct hp_loop_model *m)
{
    if (hp_grow(&m->tasks, &m->cap_tasks, m->n_tasks + 1, sizeof *m->tasks) != HP_OK)
        return NULL;
    struct hp_loop_task *task = calloc(1, sizeof *task);
    if (!task)
        return NULL;
    task->live = calloc((size_t)m->config.entries + m->config.contexts, sizeof *task->live);
    if (!task->live) {
        free(task);
        return NULL;
    }
    m->tasks[m->n_tasks++] = task;
    return task;
}

/* The thread runs again: drops its executions in slots that other loops have now. */
static void drop_replaced(const struct hp_loop_model *m, struct hp_loop_task *task)
{
    size_t kept = 0;
    for (size_t i = 0; i < task->n_live; i++)
        if (task->live[i].address == m->slots[task->live[i].slot].address)
            task->live[kept++] = task->live[i];
    task->n_live = kept;
    task->aside = 0;
    for (size_t i = 0; i < kept; i++) {
        size_t k = i + 1;
        while (k < kept && task->live[k].slot != task->live[i].slot)
            k++;
        task->aside += k < kept;
    }
}

/* The state of a thread; NULL: out of memory. */
static struct hp_loop_task *task_of(struct hp_loop_model *m, uint32_t thread)
{
    if (!m->config.tasks)
        return m->tasks[0];
    uint32_t index = hp_map64_get(&m->task_of, thread);
    if (index == HP_MAP64_NONE) {
        if (!new_task(m) ||
            hp_map64_put(&m->task_of, thread, (uint32_t)(m->n_tasks - 1)) != HP_OK) {
            m->out_of_memory = true;
            return NULL;
        }
        index = (uint32_t)(m->n_tasks - 1);
    }
    struct hp_loop_task *task = m->tasks[index];
    if (task != m->task)
        drop_replaced(m, task);
    m->task = task;
    return task;
}

/* --- Creating --------------------------------------------------------------------------------- */

static uint64_t maximum(uint32_t bits)
{
    return (UINT64_C(1) << bits) - 1;
}

enum hp_err hp_loop_model_new(const struct hp_loop_config *config, struct hp_loop_model **model)
{
    HP_TRY(hp_loop_config_check(config));
    struct hp_loop_model *m = calloc(1, sizeof *m);
    if (!m)
        return hp_fail_nomem();
    m->config = *config;
    m->ops = config->kind == HP_LOOP_DAPROF ? &hp_loop_daprof : &hp_loop_frequent;
    m->set_mask = config->entries / config->ways - 1;
    m->execution_max = config->exact_average ? UINT64_MAX : maximum(config->execution_bits);
    m->iteration_max = config->exact_average ? UINT64_MAX : maximum(config->iteration_bits);
    m->depth_max = (int64_t)maximum(config->depth_bits);
    m->slots = calloc(config->entries, sizeof *m->slots);
    bool ranges = config->kind == HP_LOOP_RANGES;
    if (!m->slots || !new_task(m) ||
        (ranges && hp_loop_ranges_new(config, &m->stats, &m->ranges) != HP_OK)) {
        hp_loop_model_free(m);
        return hp_fail_nomem();
    }
    *model = m;
    return HP_OK;
}

void hp_loop_model_free(struct hp_loop_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->n_tasks; i++) {
        free(model->tasks[i]->live);
        free(model->tasks[i]);
    }
    free(model->tasks);
    hp_map64_fini(&model->task_of);
    free(model->slot_of);
    hp_loop_ranges_free(model->ranges);
    free(model->slots);
    free(model);
}

/* --- Feeding ---------------------------------------------------------------------------------- */

void hp_loop_model_consume(struct hp_loop_model *model, uint32_t thread,
                           const struct hp_sbb_chunk *chunk)
{
    if (model->ranges)
        return; /* it is fed by hp_loop_ranges_steps() */
    struct hp_loop_task *task = task_of(model, thread);
    if (task)
        model->ops->consume(model, task, chunk);
}

void hp_loop_model_branch(struct hp_loop_model *model, uint32_t thread,
                          const struct hp_branch *branch)
{
    struct hp_sbb sbb = {.address = branch->address, .target = branch->target, .next = HP_NO_ID};
    struct hp_sbb_event event = {.times = 1, .first = branch->insns};
    struct hp_sbb_chunk chunk = {.sbbs = &sbb, .events = &event};
    if (model->ranges) {
        hp_loop_ranges_branch(model->ranges, branch);
        return;
    }
    if (branch->taken &&
        hp_sbb_is(branch->flow, branch->address, branch->target, model->config.max_offset)) {
        sbb.offset = (uint32_t)(branch->address - branch->target);
        chunk.n = 1;
    } else {
        chunk.insns = branch->insns;
        chunk.depth = branch->taken ? hp_sbb_depth(branch->flow, branch->target, branch->end) : 0;
        chunk.low = chunk.depth < 0 ? chunk.depth : 0;
    }
    hp_loop_model_consume(model, thread, &chunk);
}

enum hp_err hp_loop_model_tags(struct hp_loop_model *model, size_t n)
{
    size_t old = model->cap_slot_of;
    HP_TRY(hp_grow(&model->slot_of, &model->cap_slot_of, n, sizeof *model->slot_of));
    if (model->cap_slot_of > old)
        memset(model->slot_of + old, 0xff, (model->cap_slot_of - old) * sizeof *model->slot_of);
    return HP_OK;
}

void hp_loop_model_take(struct hp_loop_model *model, uint32_t slot, const struct hp_sbb *sbb,
                        uint32_t index)
{
    struct hp_loop_slot *s = &model->slots[slot];
    if (model->slot_of) {
        if (s->used)
            model->slot_of[s->tag] = HP_NO_ID;
        model->slot_of[sbb->tag] = slot;
    }
    model->stats.replacements += s->used;
    s->address = sbb->address;
    s->target = sbb->target;
    s->tag = sbb->tag;
    s->sbb = index;
    s->used = true;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Iterations of executions that have not ended. */
static uint64_t unfinished(const struct hp_loop_model *m, const struct hp_loop_slot *slot)
{
    uint64_t sum = 0;
    for (size_t t = 0; t < m->n_tasks; t++)
        for (size_t i = 0; i < m->tasks[t]->n_live; i++) {
            const struct hp_loop_live *live = &m->tasks[t]->live[i];
            if (&m->slots[live->slot] == slot && live->address == slot->address)
                sum += live->current;
        }
    return sum;
}

struct hp_loop_entry hp_loop_model_entry(const struct hp_loop_model *m,
                                         const struct hp_loop_slot *slot)
{
    struct hp_loop_entry entry = {.address = slot->address, .target = slot->target};
    uint32_t bytes = m->config.insn_bytes > 1 ? m->config.insn_bytes : MEAN_INSN_BYTES;
    if (m->config.kind == HP_LOOP_FREQUENT) {
        entry.iterations = (double)slot->executions;
    } else if (m->config.exact_average) {
        entry.executions = (double)slot->executions;
        entry.iterations = (double)(slot->average + unfinished(m, slot));
        entry.average = entry.iterations / entry.executions;
    } else {
        entry.executions = (double)slot->executions;
        entry.average = (double)slot->average / (double)(UINT64_C(1) << m->config.fraction_bits);
        entry.iterations = entry.average * entry.executions;
    }
    uint64_t insns = (slot->address - slot->target) / bytes + 1;
    entry.instructions = entry.iterations * (double)insns;
    return entry;
}

static int compare_entries(const void *a, const void *b)
{
    const struct hp_loop_entry *x = a, *y = b;
    if (x->iterations != y->iterations)
        return x->iterations < y->iterations ? 1 : -1;
    return (x->address > y->address) - (x->address < y->address);
}

enum hp_err hp_loop_model_entries(const struct hp_loop_model *model, struct hp_loop_entry **entries,
                                  size_t *n)
{
    if (model->out_of_memory)
        return hp_fail_nomem();
    struct hp_loop_entry *found = calloc(model->config.entries, sizeof *found);
    if (!found)
        return hp_fail_nomem();
    *n = model->ranges ? hp_loop_ranges_entries(model->ranges, found) : 0;
    for (uint32_t i = 0; i < model->config.entries; i++)
        if (model->slots[i].used)
            found[(*n)++] = hp_loop_model_entry(model, &model->slots[i]);
    qsort(found, *n, sizeof *found, compare_entries);
    *entries = found;
    return HP_OK;
}

const struct hp_loop_stats *hp_loop_model_stats(const struct hp_loop_model *model)
{
    return &model->stats;
}
