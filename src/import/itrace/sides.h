// SPDX-License-Identifier: MIT
/*
 * What a perf.data file says beside a trace of instructions: which threads there were and when they
 * ran, and what the kernel lost.
 */
#ifndef HP_IMPORT_ITRACE_SIDES_H
#define HP_IMPORT_ITRACE_SIDES_H

#include "base/map64.h"
#include "hotpath/stream.h"
#include "import/reader.h"
#include "import/samples.h"

/* A thread did something. */
struct hp_itrace_act {
    enum hp_itrace_act_kind { HP_ITRACE_FORKS, HP_ITRACE_EXECUTES, HP_ITRACE_EXITS } kind;
    uint64_t time, number; /* those of the same time are in the order of the file */
    uint32_t task;
    int32_t other; /* the child, if it is a process */
};

/* A thread, as the kernel numbers them. */
struct hp_itrace_task {
    int32_t pid, tid, parent;
    size_t first, n, next;           /* acts; `next`: of these, the next one */
    struct hp_itrace_thread *thread; /* of that number, now; NULL: none yet */
};

/* From then on a processor runs a thread. */
struct hp_itrace_slice {
    uint64_t time, number;
    uint32_t cpu;
    uint32_t task; /* HP_NO_ID: none, or an unknown one */
    uint32_t next; /* of the same processor; HP_NO_ID: this is the last */
};

/* What the kernel put into a buffer at once. */
struct hp_itrace_put {
    uint64_t offset, end;
    uint64_t flags; /* PERF_AUX_FLAG_TRUNCATED: it had no room for more */
    int32_t tid, cpu;
};

/* Which processor the packets with an id of a trace are of. */
struct hp_itrace_id {
    uint32_t id, cpu;
};

struct hp_itrace_sides {
    struct hp_itrace_task *tasks;
    size_t n_tasks, cap_tasks;
    struct hp_map64 task_of; /* tid -> which */
    struct hp_itrace_act *acts;
    size_t n_acts, cap_acts;
    struct hp_itrace_slice *slices; /* in the order of time */
    size_t n_slices, cap_slices;
    struct hp_map64 slice_of;   /* processor -> its first slice */
    struct hp_itrace_put *puts; /* in the order of offsets */
    size_t n_puts, cap_puts;
    struct hp_itrace_id *ids;
    size_t n_ids, cap_ids;
};
void hp_itrace_sides_fini(struct hp_itrace_sides *sides);

/* Takes a record, if it is of interest. HP_ERR_NOMEM. */
enum hp_err hp_itrace_sides_take(struct hp_itrace_sides *sides, const struct hp_perf_attrs *attrs,
                                 const struct hp_perf_record *record);

/* When all are taken. HP_ERR_NOMEM. */
enum hp_err hp_itrace_sides_settle(struct hp_itrace_sides *sides);

/* The number of a thread's task. HP_ERR_NOMEM. */
enum hp_err hp_itrace_sides_task(struct hp_itrace_sides *sides, int32_t pid, int32_t tid,
                                 uint32_t *task);

#endif
