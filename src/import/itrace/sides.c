// SPDX-License-Identifier: MIT
#include "import/itrace/sides.h"

#include "base/base.h"

void hp_itrace_sides_fini(struct hp_itrace_sides *s)
{
    free(s->tasks);
    free(s->acts);
    free(s->slices);
    free(s->puts);
    free(s->ids);
    hp_map64_fini(&s->slice_of);
    hp_map64_fini(&s->task_of);
}

enum hp_err hp_itrace_sides_task(struct hp_itrace_sides *s, int32_t pid, int32_t tid,
                                 uint32_t *task)
{
    *task = hp_map64_get(&s->task_of, (uint32_t)tid);
    if (*task != HP_MAP64_NONE) {
        if (s->tasks[*task].pid <= 0)
            s->tasks[*task].pid = pid;
        return HP_OK;
    }
    *task = (uint32_t)s->n_tasks;
    HP_TRY(hp_grow(&s->tasks, &s->cap_tasks, s->n_tasks + 1, sizeof *s->tasks));
    HP_TRY(hp_map64_put(&s->task_of, (uint32_t)tid, *task));
    s->tasks[s->n_tasks++] = (struct hp_itrace_task){.pid = pid, .tid = tid};
    return HP_OK;
}

static enum hp_err add_act(struct hp_itrace_sides *s, enum hp_itrace_act_kind kind, uint64_t time,
                           int32_t pid, int32_t tid, int32_t other)
{
    struct hp_itrace_act act = {.kind = kind, .time = time, .number = s->n_acts, .other = other};
    HP_TRY(hp_itrace_sides_task(s, pid, tid, &act.task));
    HP_TRY(hp_grow(&s->acts, &s->cap_acts, s->n_acts + 1, sizeof *s->acts));
    s->acts[s->n_acts++] = act;
    return HP_OK;
}

static enum hp_err add_slice(struct hp_itrace_sides *s, const struct hp_perf_trailer *trailer,
                             int32_t pid, int32_t tid)
{
    struct hp_itrace_slice slice = {
        .time = trailer->time, .number = s->n_slices, .cpu = trailer->cpu, .task = HP_NO_ID};
    if (tid > 0)
        HP_TRY(hp_itrace_sides_task(s, pid, tid, &slice.task));
    HP_TRY(hp_grow(&s->slices, &s->cap_slices, s->n_slices + 1, sizeof *s->slices));
    s->slices[s->n_slices++] = slice;
    return HP_OK;
}

static enum hp_err take_fork(struct hp_itrace_sides *s, struct hp_perf_bytes body)
{
    uint32_t task;
    int32_t pid = (int32_t)hp_perf_u32(&body), parent = (int32_t)hp_perf_u32(&body);
    int32_t tid = (int32_t)hp_perf_u32(&body), parent_tid = (int32_t)hp_perf_u32(&body);
    uint64_t time = hp_perf_u64(&body);
    if (body.bad)
        return HP_OK;
    HP_TRY(hp_itrace_sides_task(s, pid, tid, &task));
    if (pid == parent)
        return HP_OK;
    s->tasks[task].parent = parent;
    return add_act(s, HP_ITRACE_FORKS, time, parent, parent_tid, pid);
}

static enum hp_err take_put(struct hp_itrace_sides *s, struct hp_perf_bytes body,
                            const struct hp_perf_trailer *trailer)
{
    struct hp_itrace_put put = {.tid = trailer->tid, .cpu = (int32_t)trailer->cpu};
    put.offset = hp_perf_u64(&body);
    put.end = hp_saturating_add(put.offset, hp_perf_u64(&body));
    put.flags = hp_perf_u64(&body);
    if (body.bad)
        return HP_OK;
    HP_TRY(hp_grow(&s->puts, &s->cap_puts, s->n_puts + 1, sizeof *s->puts));
    s->puts[s->n_puts++] = put;
    return HP_OK;
}

static enum hp_err take_id(struct hp_itrace_sides *s, struct hp_perf_bytes body,
                           const struct hp_perf_trailer *trailer)
{
    struct hp_itrace_id id = {(uint32_t)hp_perf_u64(&body) & 0xff, trailer->cpu};
    if (body.bad)
        return HP_OK;
    HP_TRY(hp_grow(&s->ids, &s->cap_ids, s->n_ids + 1, sizeof *s->ids));
    s->ids[s->n_ids++] = id;
    return HP_OK;
}

/* Threads come to a processor; where only the next one is told, the one before leaves it. */
static enum hp_err take_switch(struct hp_itrace_sides *s, const struct hp_perf_record *record,
                               const struct hp_perf_trailer *trailer)
{
    struct hp_perf_bytes body = record->body;
    if (!(record->misc & PERF_RECORD_MISC_SWITCH_OUT))
        return add_slice(s, trailer, trailer->pid, trailer->tid);
    if (record->type != PERF_RECORD_SWITCH_CPU_WIDE)
        return HP_OK;
    int32_t pid = (int32_t)hp_perf_u32(&body), tid = (int32_t)hp_perf_u32(&body);
    return body.bad ? HP_OK : add_slice(s, trailer, pid, tid);
}

enum hp_err hp_itrace_sides_take(struct hp_itrace_sides *s, const struct hp_perf_attrs *attrs,
                                 const struct hp_perf_record *record)
{
    struct hp_perf_bytes body = record->body;
    struct hp_perf_trailer trailer = hp_perf_trailer_of(attrs, record);
    int32_t pid, tid;
    switch (record->type) {
    case PERF_RECORD_FORK: return take_fork(s, body);
    case PERF_RECORD_AUX: return take_put(s, body, &trailer);
    case PERF_RECORD_AUX_OUTPUT_HW_ID: return take_id(s, body, &trailer);
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: return take_switch(s, record, &trailer);
    case PERF_RECORD_COMM:
    case PERF_RECORD_ITRACE_START:
        pid = (int32_t)hp_perf_u32(&body);
        tid = (int32_t)hp_perf_u32(&body);
        if (body.bad)
            return HP_OK;
        if (record->type == PERF_RECORD_ITRACE_START)
            return add_slice(s, &trailer, pid, tid);
        return record->misc & PERF_RECORD_MISC_COMM_EXEC
                   ? add_act(s, HP_ITRACE_EXECUTES, trailer.time, pid, tid, 0)
                   : HP_OK;
    case PERF_RECORD_EXIT:
        pid = (int32_t)hp_perf_u32(&body);
        hp_perf_u32(&body);
        tid = (int32_t)hp_perf_u32(&body);
        return body.bad ? HP_OK : add_act(s, HP_ITRACE_EXITS, trailer.time, pid, tid, 0);
    default: return HP_OK;
    }
}

static int by_task(const void *a, const void *b)
{
    const struct hp_itrace_act *x = a, *y = b;
    return HP_COMPARE(x->task, y->task) ?: HP_COMPARE(x->time, y->time)
                                        ?: HP_COMPARE(x->number, y->number);
}

static int by_time(const void *a, const void *b)
{
    const struct hp_itrace_slice *x = a, *y = b;
    return HP_COMPARE(x->time, y->time) ?: HP_COMPARE(x->number, y->number);
}

static int by_offset(const void *a, const void *b)
{
    const struct hp_itrace_put *x = a, *y = b;
    return HP_COMPARE(x->offset, y->offset) ?: HP_COMPARE(x->end, y->end);
}

/* The slices of each processor, one after the other. */
static enum hp_err link_slices(struct hp_itrace_sides *s)
{
    for (size_t i = s->n_slices; i-- > 0;) {
        struct hp_itrace_slice *slice = &s->slices[i];
        uint32_t next = hp_map64_get(&s->slice_of, slice->cpu);
        slice->next = next == HP_MAP64_NONE ? HP_NO_ID : next;
        HP_TRY(hp_map64_put(&s->slice_of, slice->cpu, (uint32_t)i));
    }
    return HP_OK;
}

enum hp_err hp_itrace_sides_settle(struct hp_itrace_sides *s)
{
    hp_sort(s->acts, s->n_acts, sizeof *s->acts, by_task);
    hp_sort(s->slices, s->n_slices, sizeof *s->slices, by_time);
    hp_sort(s->puts, s->n_puts, sizeof *s->puts, by_offset);
    for (size_t i = 0; i < s->n_acts; i++) {
        struct hp_itrace_task *task = &s->tasks[s->acts[i].task];
        if (!task->n++)
            task->first = task->next = i;
    }
    return link_slices(s);
}
