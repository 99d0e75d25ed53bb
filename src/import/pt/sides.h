// SPDX-License-Identifier: MIT
/*
 * What a perf.data file says beside a trace of Intel PT: which threads there were and when they
 * ran, and what the kernel lost.
 */
#ifndef HP_IMPORT_PT_SIDES_H
#define HP_IMPORT_PT_SIDES_H

#include "base/map64.h"
#include "hotpath/stream.h"
#include "import/reader.h"
#include "import/samples.h"

/* A thread did something. */
struct hp_pt_act {
    enum hp_pt_act_kind { HP_PT_FORKS, HP_PT_EXECUTES, HP_PT_EXITS } kind;
    uint64_t time, number; /* those of the same time are in the order of the file */
    uint32_t task;
    int32_t other; /* the child, if it is a process */
};

/* A thread, as the kernel numbers them. */
struct hp_pt_task {
    int32_t pid, tid, parent;
    size_t first, n, next;       /* acts; `next`: of these, the next one */
    struct hp_pt_thread *thread; /* of that number, now; NULL: none yet */
};

/* From then on a processor runs a thread. */
struct hp_pt_slice {
    uint64_t time, number;
    uint32_t cpu;
    uint32_t task; /* HP_NO_ID: none, or an unknown one */
};

/* The kernel had no room for what a buffer got, from an offset on. */
struct hp_pt_loss {
    uint64_t offset;
    int32_t tid, cpu;
};

struct hp_pt_sides {
    struct hp_pt_task *tasks;
    size_t n_tasks, cap_tasks;
    struct hp_map64 task_of; /* tid -> which */
    struct hp_pt_act *acts;
    size_t n_acts, cap_acts;
    struct hp_pt_slice *slices; /* in the order of time */
    size_t n_slices, cap_slices;
    struct hp_pt_loss *losses;
    size_t n_losses, cap_losses;
};
void hp_pt_sides_fini(struct hp_pt_sides *sides);

/* Takes a record, if it is of interest. HP_ERR_NOMEM. */
enum hp_err hp_pt_sides_take(struct hp_pt_sides *sides, const struct hp_perf_attrs *attrs,
                             const struct hp_perf_record *record);

/* When all are taken. */
void hp_pt_sides_settle(struct hp_pt_sides *sides);

/* The number of a thread's task. HP_ERR_NOMEM. */
enum hp_err hp_pt_sides_task(struct hp_pt_sides *sides, int32_t pid, int32_t tid, uint32_t *task);

#endif
