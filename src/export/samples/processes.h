// SPDX-License-Identifier: MIT
/*
 * Which processes and threads there were, and what was in their memory: as records of a perf.data
 * file.
 */
#ifndef HP_EXPORT_SAMPLES_PROCESSES_H
#define HP_EXPORT_SAMPLES_PROCESSES_H

#include "export/export.h"
#include "export/samples/perf_file.h"

/* Where a module is in the memory of a process. */
struct hp_perf_mapped {
    uint64_t low, high; /* 0, 0: nowhere */
};

struct hp_perf_process {
    int32_t pid, parent;
    char name[HP_PERF_NAME];
    bool known;                    /* the file knows it */
    bool executed;                 /* another program than its parent, or than before */
    uint32_t program;              /* what it is called, as a text's number; after an exec */
    uint64_t since;                /* when it began, or became this program */
    struct hp_perf_mapped *mapped; /* by module */
    size_t n_mapped;
    struct hp_perf_process *next;
};

struct hp_perf_processes {
    struct hp_perf_file *file;
    const struct hp_stream_setup *setup;
    struct hp_perf_process *first;
};
void hp_perf_processes_fini(struct hp_perf_processes *processes);

/* A thread begins: writes its name, and who it comes from. HP_ERR_NOMEM. */
enum hp_err hp_perf_begin_thread(struct hp_perf_processes *processes, const struct hp_perf_who *who,
                                 const struct hp_thread *info, struct hp_perf_process **process);

/* An event of a thread of a process, as far as it is one of the process. */
void hp_perf_process_event(struct hp_perf_processes *processes, const struct hp_perf_who *who,
                           struct hp_perf_process *process, const struct hp_event *event);

/* The name of a thread is known in the end: it was this one since then. */
void hp_perf_rename_thread(struct hp_perf_processes *processes, const struct hp_thread *info,
                           uint64_t since);

/* Whether the file says where the code of a block is. */
bool hp_perf_is_mapped(const struct hp_perf_process *process, const struct hp_block *block);

/* Whether a module is where another one was. */
bool hp_perf_replaces(const struct hp_perf_processes *processes,
                      const struct hp_perf_process *process, uint32_t module);

/* Writes where a module is: it is executed for the first time in a process, or again after another
 * one was where it is; or more of it is known than before. HP_ERR_NOMEM. */
enum hp_err hp_perf_map_module(struct hp_perf_processes *processes, const struct hp_perf_who *who,
                               struct hp_perf_process *process, uint32_t module);

#endif
