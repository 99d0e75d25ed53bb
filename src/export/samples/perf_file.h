// SPDX-License-Identifier: MIT
/*
 * Writes a perf.data file: attribute, records, features. The records are one round: readers
 * sort them by their times. Failures of the file are left to its error flag.
 */
#ifndef HP_EXPORT_SAMPLES_PERF_FILE_H
#define HP_EXPORT_SAMPLES_PERF_FILE_H

#include "base/perf_data.h"
#include "hotpath/code.h"

#include <stdio.h>

#define HP_PERF_NAME 16 /* bytes of a thread's name, with its end */

/* What is sampled. */
struct hp_perf_event {
    const char *name;
    uint32_t type;
    uint64_t config, period;
    uint64_t samples; /* what samples have besides who, where and when: PERF_SAMPLE_CALLCHAIN, RAW,
                         BRANCH_STACK */
    const char *pmu, *cpu; /* the part of which processor samples: "ibs_op", "AuthenticAMD,25,97,2";
                              NULL: it is not said */
};

struct hp_perf_file {
    FILE *out;
    uint64_t at;          /* where the next byte goes */
    uint64_t first, last; /* times of samples */
    struct hp_perf_event event;
    bool traced;      /* what is recorded is a trace of instructions */
    bool raw;         /* Arm ETM: it is not in frames */
    uint64_t *traces; /* where the records of traces are */
    size_t n_traces, cap_traces;
    bool unlisted; /* there is no memory for that */
    uint32_t cpu;  /* on which what is written next happened */
    struct perf_event_attr attr;
};

/* Who did something, and when. */
struct hp_perf_who {
    int32_t pid, tid;
    uint64_t time;
};

struct hp_perf_sample {
    struct hp_perf_who who;
    uint64_t ip, period;
    const uint64_t *chain; /* the return addresses, innermost first */
    size_t n_chain;
    const void *raw; /* `n_raw` + 4 is a multiple of 8 */
    size_t n_raw;
    const struct perf_branch_entry *branches; /* newest first */
    size_t n_branches;
};

/* A part of a file that is code, where it is in memory. */
struct hp_perf_mapping {
    uint64_t start, size, file_offset;
    const char *path;
    const char *build_id; /* hexadecimal; "": none */
};

/* What is said of the whole. */
struct hp_perf_about {
    enum hp_arch arch;
    const char *version;
    char *const *command;       /* NULL: not known */
    const struct hp_code *code; /* the build ids are those of its modules */
};

/* Begins. HP_ERR_INVALID: one cannot go back in the file, as in a pipe. */
enum hp_err hp_perf_file_begin(struct hp_perf_file *file, FILE *out,
                               const struct hp_perf_event *event);

void hp_perf_put_mapping(struct hp_perf_file *file, const struct hp_perf_who *who,
                         const struct hp_perf_mapping *mapping);
/* All of a module that is code: its file tells which of its parts are, and where they are in it;
 * without the file, the module is one part. */
void hp_perf_put_module(struct hp_perf_file *file, const struct hp_perf_who *who,
                        const struct hp_module *module);
void hp_perf_put_name(struct hp_perf_file *file, const struct hp_perf_who *who, const char *name,
                      bool exec);
void hp_perf_put_fork(struct hp_perf_file *file, const struct hp_perf_who *who, int32_t parent_pid,
                      int32_t parent_tid);
void hp_perf_put_exit(struct hp_perf_file *file, const struct hp_perf_who *who, int32_t parent_pid);
void hp_perf_put_sample(struct hp_perf_file *file, const struct hp_perf_sample *sample);

/* Begins a file with a trace of Intel PT. `per_cpu`: buffers are those of processors, else of
 * threads; `returns`: they are compressed. HP_ERR_INVALID: as above. */
enum hp_err hp_perf_file_begin_pt(struct hp_perf_file *file, FILE *out, bool per_cpu, bool returns);

/* Likewise, of Arm ETM. The packets of a processor have the id HP_PERF_ETM_ID and its number. */
enum hp_err hp_perf_file_begin_etm(struct hp_perf_file *file, FILE *out, uint32_t cpus,
                                   uint32_t config, bool raw);
#define HP_PERF_ETM_ID 0x10

/* Times in these traces are in ticks. */
#define HP_PERF_TICKS 2

/* The trace of a thread begins; it has left its processor, or comes to it. */
void hp_perf_put_trace_start(struct hp_perf_file *file, const struct hp_perf_who *who);
void hp_perf_put_switch(struct hp_perf_file *file, const struct hp_perf_who *who, bool out);

/* A piece of a trace: how much there is of it, and the data behind that. */
void hp_perf_put_trace(struct hp_perf_file *file, const struct hp_perf_who *who,
                       const struct hp_perf_auxtrace *piece, const void *data);

/* Frees what it keeps of traces. */
void hp_perf_file_fini(struct hp_perf_file *file);

/* Writes the features and completes the header. */
enum hp_err hp_perf_file_end(struct hp_perf_file *file, const struct hp_perf_about *about);

#endif
