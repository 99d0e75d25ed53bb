// SPDX-License-Identifier: MIT
#include "daprof_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An execution suspended by recursion. */
struct context {
    uint32_t entry;
    uint64_t cur_iter;
    uint32_t depth;
};

/* What an operating system would save when it switches to another task. */
struct task {
    uint32_t thread;
    uint64_t *saved_tag; /* whose flags these are */
    bool *in_loop;
    uint64_t *cur_iter;
    uint32_t *depth;
    struct context *contexts;
    uint32_t n_contexts;
    uint32_t calls; /* the depth now */
    uint32_t low;   /* the least since the last branch that entered the FIFO */
};

struct daprof_reference {
    struct hp_loop_config config;
    struct hp_loop_stats stats;
    /* The profile cache, shared by all tasks. tag 0: empty. */
    uint64_t *tag, *offset, *execs, *avg_iter;
    uint32_t *fresh;
    /* Of the tasks. */
    struct task **tasks;
    size_t n_tasks;
    struct task *task;
    /* The FIFO: when the profiler will start each waiting branch; and when it will be idle. */
    uint64_t *waiting;
    size_t n_waiting;
    uint64_t now, idle_at;
};

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (!memory) {
        fprintf(stderr, "daprof_reference: out of memory\n");
        exit(2);
    }
    return memory;
}

static struct task *new_task(const struct hp_loop_config *c, uint32_t thread)
{
    struct task *task = zeroed(1, sizeof *task);
    task->thread = thread;
    task->saved_tag = zeroed(c->entries, sizeof *task->saved_tag);
    task->in_loop = zeroed(c->entries, sizeof *task->in_loop);
    task->cur_iter = zeroed(c->entries, sizeof *task->cur_iter);
    task->depth = zeroed(c->entries, sizeof *task->depth);
    task->contexts = zeroed(c->contexts, sizeof *task->contexts);
    return task;
}

struct daprof_reference *daprof_reference_new(const struct hp_loop_config *config)
{
    struct daprof_reference *r = zeroed(1, sizeof *r);
    r->config = *config;
    r->tag = zeroed(config->entries, sizeof *r->tag);
    r->offset = zeroed(config->entries, sizeof *r->offset);
    r->execs = zeroed(config->entries, sizeof *r->execs);
    r->avg_iter = zeroed(config->entries, sizeof *r->avg_iter);
    r->fresh = zeroed(config->entries, sizeof *r->fresh);
    r->waiting = zeroed(config->fifo, sizeof *r->waiting);
    return r;
}

void daprof_reference_free(struct daprof_reference *r)
{
    for (size_t i = 0; i < r->n_tasks; i++) {
        struct task *task = r->tasks[i];
        free(task->saved_tag);
        free(task->in_loop);
        free(task->cur_iter);
        free(task->depth);
        free(task->contexts);
        free(task);
    }
    free(r->tasks);
    free(r->tag);
    free(r->offset);
    free(r->execs);
    free(r->avg_iter);
    free(r->fresh);
    free(r->waiting);
    free(r);
}

/* --- Tasks ------------------------------------------------------------------------------------ */

static void remove_context(struct task *task, uint32_t i)
{
    for (; i + 1 < task->n_contexts; i++)
        task->contexts[i] = task->contexts[i + 1];
    task->n_contexts--;
}

/* Clears the executions of an entry, suspended ones included. */
static void forget(struct task *task, uint32_t entry)
{
    task->in_loop[entry] = false;
    for (uint32_t i = task->n_contexts; i-- > 0;)
        if (task->contexts[i].entry == entry)
            remove_context(task, i);
}

/* Saves the old task's flags with the tags, and restores the new one's where the tag is still the
 * same. */
static void switch_to(struct daprof_reference *r, uint32_t thread)
{
    struct task *old = r->task;
    if (old && (old->thread == thread || !r->config.tasks))
        return;
    if (old)
        memcpy(old->saved_tag, r->tag, r->config.entries * sizeof *r->tag);
    size_t i = 0;
    while (i < r->n_tasks && r->tasks[i]->thread != thread)
        i++;
    if (i == r->n_tasks) {
        r->tasks = realloc(r->tasks, (r->n_tasks + 1) * sizeof *r->tasks);
        if (!r->tasks)
            exit(2);
        r->tasks[r->n_tasks++] = new_task(&r->config, thread);
    }
    r->task = r->tasks[i];
    for (uint32_t e = 0; e < r->config.entries; e++)
        if (r->task->saved_tag[e] != r->tag[e])
            forget(r->task, e);
}

/* --- The profile cache ------------------------------------------------------------------------ */

static uint64_t insn_bytes(const struct daprof_reference *r)
{
    return r->config.insn_bytes ? r->config.insn_bytes : 4;
}

/* Whether an entry may hold an address. */
static bool in_set(const struct daprof_reference *r, uint64_t address, uint32_t entry)
{
    uint64_t sets = r->config.entries / r->config.ways;
    return address / insn_bytes(r) % sets == entry / r->config.ways;
}

static bool find(const struct daprof_reference *r, uint64_t address, uint32_t *index)
{
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (in_set(r, address, i) && r->tag[i] == address) {
            *index = i;
            return true;
        }
    return false;
}

static uint64_t total(const struct daprof_reference *r, uint32_t i)
{
    return r->config.exact_average ? r->avg_iter[i] : r->avg_iter[i] * r->execs[i];
}

/* replaceIndex: an empty entry, else the one with the least total iterations that is not fresh. */
static uint32_t replace_index(const struct daprof_reference *r, uint64_t address)
{
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (in_set(r, address, i) && !r->tag[i])
            return i;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (in_set(r, address, i) && r->fresh[i] == 0)
            if (best == UINT32_MAX || total(r, i) < total(r, best))
                best = i;
    return best;
}

/* --- The profiler controller ------------------------------------------------------------------ */

static void update_average(struct daprof_reference *r, uint32_t i)
{
    uint64_t cur = r->task->cur_iter[i], one = UINT64_C(1) << r->config.fraction_bits;
    if (r->config.exact_average)
        r->avg_iter[i] += cur;
    else if (r->config.first_average && r->avg_iter[i] == 0)
        r->avg_iter[i] = cur * one;
    else
        r->avg_iter[i] = r->avg_iter[i] - r->avg_iter[i] / one + cur;
}

/* An execution of the loop ends; the newest suspended one resumes. */
static void end_execution(struct daprof_reference *r, uint32_t entry)
{
    struct task *task = r->task;
    update_average(r, entry);
    task->in_loop[entry] = false;
    for (uint32_t i = task->n_contexts; i-- > 0;)
        if (task->contexts[i].entry == entry) {
            task->in_loop[entry] = true;
            task->cur_iter[entry] = task->contexts[i].cur_iter;
            task->depth[entry] = task->contexts[i].depth;
            remove_context(task, i);
            return;
        }
}

static void put_aside(struct daprof_reference *r, uint32_t entry)
{
    struct task *task = r->task;
    if (task->n_contexts == r->config.contexts) {
        r->stats.context_overflows++;
        update_average(r, entry);
        return;
    }
    task->contexts[task->n_contexts++] = (struct context){
        .entry = entry, .cur_iter = task->cur_iter[entry], .depth = task->depth[entry]};
}

static void decrement_freshness(struct daprof_reference *r)
{
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (r->fresh[i])
            r->fresh[i]--;
}

static void iterate(struct daprof_reference *r, uint32_t i)
{
    uint64_t max = (UINT64_C(1) << r->config.iteration_bits) - 1;
    if (r->config.exact_average || r->task->cur_iter[i] < max)
        r->task->cur_iter[i]++;
    else
        r->stats.saturations++;
}

static void new_execution(struct daprof_reference *r, uint32_t i, uint32_t depth)
{
    uint64_t max = (UINT64_C(1) << r->config.execution_bits) - 1;
    decrement_freshness(r);
    r->execs[i]++;
    r->task->cur_iter[i] = 1;
    r->task->in_loop[i] = true;
    r->task->depth[i] = depth;
    r->fresh[i] = r->config.freshness;
    if (r->execs[i] == max && !r->config.exact_average) {
        for (uint32_t k = 0; k < r->config.entries; k++)
            r->execs[k] = r->execs[k] >> 1;
        r->stats.halvings++;
    }
}

static void new_loop(struct daprof_reference *r, uint64_t address, uint64_t offset, uint32_t depth)
{
    uint32_t i = replace_index(r, address);
    if (r->tag[i]) {
        r->stats.replacements++;
        forget(r->task, i);
    }
    decrement_freshness(r);
    r->tag[i] = address;
    r->offset[i] = offset;
    r->task->cur_iter[i] = 1;
    r->avg_iter[i] = 0;
    r->execs[i] = 1;
    r->task->in_loop[i] = true;
    r->task->depth[i] = depth;
    r->fresh[i] = r->config.freshness;
}

static void control(struct daprof_reference *r, uint64_t address, uint64_t offset, uint32_t depth,
                    uint32_t low)
{
    struct task *task = r->task;
    uint32_t i;
    for (uint32_t k = 0; k < r->config.entries; k++) /* activations that have ended */
        while (task->in_loop[k] && task->depth[k] > low)
            end_execution(r, k);
    if (find(r, address, &i)) {
        if (task->in_loop[i] && task->depth[i] == depth) {
            iterate(r, i);
        } else {
            if (task->in_loop[i])
                put_aside(r, i);
            new_execution(r, i, depth);
        }
    } else {
        new_loop(r, address, offset, depth);
    }
    for (uint32_t k = 0; k < r->config.entries; k++)
        while (task->in_loop[k] && task->depth[k] == depth &&
               !(address <= r->tag[k] && address >= r->tag[k] - r->offset[k]))
            end_execution(r, k);
}

/* Frequent loop detection. */
static void count_frequency(struct daprof_reference *r, uint64_t address, uint64_t offset)
{
    uint32_t i;
    if (!find(r, address, &i)) {
        i = UINT32_MAX;
        for (uint32_t k = 0; k < r->config.entries; k++)
            if (in_set(r, address, k) && (i == UINT32_MAX || r->execs[k] < r->execs[i]))
                i = k;
        r->stats.replacements += r->tag[i] != 0;
        r->tag[i] = address;
        r->offset[i] = offset;
        r->execs[i] = 0;
    }
    if (++r->execs[i] == (UINT64_C(1) << r->config.execution_bits) - 1) {
        for (uint32_t k = 0; k < r->config.entries; k++)
            r->execs[k] /= 2;
        r->stats.halvings++;
    }
}

/* --- The profiler FIFO ------------------------------------------------------------------------ */

/* Whether the FIFO accepts a branch that arrives now. */
static bool fifo_takes(struct daprof_reference *r)
{
    if (!r->config.fifo)
        return true;
    while (r->n_waiting && r->waiting[0] <= r->now)
        memmove(r->waiting, r->waiting + 1, --r->n_waiting * sizeof *r->waiting);
    if (r->idle_at <= r->now) {
        r->idle_at = r->now + r->config.fifo_service;
        return true;
    }
    if (r->n_waiting == r->config.fifo) {
        r->stats.overflows++;
        return false;
    }
    r->waiting[r->n_waiting++] = r->idle_at;
    r->idle_at += r->config.fifo_service;
    return true;
}

static void watch_calls(struct daprof_reference *r, const struct hp_branch *branch)
{
    struct task *task = r->task;
    if (branch->flow == HP_FLOW_RETURN && task->calls)
        task->calls--;
    if ((branch->flow == HP_FLOW_CALL || branch->flow == HP_FLOW_CALL_IND) &&
        branch->target != branch->end)
        task->calls++;
    if (task->calls < task->low)
        task->low = task->calls;
}

void daprof_reference_branch(struct daprof_reference *r, uint32_t thread,
                             const struct hp_branch *branch)
{
    uint64_t back = branch->address - branch->target;
    bool direct = branch->flow == HP_FLOW_COND || branch->flow == HP_FLOW_JUMP;
    switch_to(r, thread);
    r->now += branch->insns;
    if (!branch->taken)
        return;
    if (r->config.calls)
        watch_calls(r, branch);
    if (!direct || branch->target > branch->address || back >= r->config.max_offset)
        return;
    r->stats.branches++;
    if (!fifo_takes(r))
        return;
    uint32_t deepest = (1u << r->config.depth_bits) - 1, calls = r->task->calls, low = r->task->low;
    r->task->low = calls;
    if (r->config.kind == HP_LOOP_FREQUENT)
        count_frequency(r, branch->address, back);
    else
        control(r, branch->address, back, calls < deepest ? calls : deepest,
                low < deepest ? low : deepest);
}

/* --- Results ---------------------------------------------------------------------------------- */

static int by_iterations(const void *a, const void *b)
{
    const struct hp_loop_entry *x = a, *y = b;
    if (x->iterations > y->iterations)
        return -1;
    if (x->iterations < y->iterations)
        return 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Iterations of executions that have not ended. */
static uint64_t going_on(const struct daprof_reference *r, uint32_t entry)
{
    uint64_t sum = 0;
    for (size_t t = 0; t < r->n_tasks; t++) {
        const struct task *task = r->tasks[t];
        if (task != r->task && task->saved_tag[entry] != r->tag[entry])
            continue;
        sum += task->in_loop[entry] ? task->cur_iter[entry] : 0;
        for (uint32_t i = 0; i < task->n_contexts; i++)
            if (task->contexts[i].entry == entry)
                sum += task->contexts[i].cur_iter;
    }
    return sum;
}

size_t daprof_reference_entries(const struct daprof_reference *r, struct hp_loop_entry *entries)
{
    size_t n = 0;
    for (uint32_t i = 0; i < r->config.entries; i++) {
        struct hp_loop_entry e = {.address = r->tag[i], .target = r->tag[i] - r->offset[i]};
        if (!r->tag[i])
            continue;
        if (r->config.kind == HP_LOOP_FREQUENT) {
            e.iterations = (double)r->execs[i];
        } else {
            e.executions = (double)r->execs[i];
            e.average = (double)r->avg_iter[i] / (double)(1u << r->config.fraction_bits);
            if (r->config.exact_average)
                e.average = (double)(r->avg_iter[i] + going_on(r, i)) / e.executions;
            e.iterations = r->config.exact_average ? (double)(r->avg_iter[i] + going_on(r, i))
                                                   : e.average * e.executions;
        }
        uint64_t length = insn_bytes(r) == 1 ? 4 : insn_bytes(r);
        e.instructions = e.iterations * (double)(r->offset[i] / length + 1);
        entries[n++] = e;
    }
    qsort(entries, n, sizeof *entries, by_iterations);
    return n;
}

const struct hp_loop_stats *daprof_reference_stats(const struct daprof_reference *r)
{
    return &r->stats;
}
