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

struct hp_perf_file {
    FILE *out;
    uint64_t at;          /* where the next byte goes */
    uint64_t first, last; /* times of samples */
    bool chains;          /* samples have them */
    char event[32];       /* what is sampled */
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

/* Begins. `taken`: the event is taken branches, else instructions. HP_ERR_INVALID: one cannot go
 * back in the file, as in a pipe. */
enum hp_err hp_perf_file_begin(struct hp_perf_file *file, FILE *out, bool taken, uint64_t period,
                               bool chains);

void hp_perf_put_mapping(struct hp_perf_file *file, const struct hp_perf_who *who,
                         const struct hp_perf_mapping *mapping);
void hp_perf_put_name(struct hp_perf_file *file, const struct hp_perf_who *who, const char *name,
                      bool exec);
void hp_perf_put_fork(struct hp_perf_file *file, const struct hp_perf_who *who, int32_t parent_pid,
                      int32_t parent_tid);
void hp_perf_put_exit(struct hp_perf_file *file, const struct hp_perf_who *who, int32_t parent_pid);
void hp_perf_put_sample(struct hp_perf_file *file, const struct hp_perf_sample *sample);

/* Writes the features and completes the header. */
enum hp_err hp_perf_file_end(struct hp_perf_file *file, const struct hp_perf_about *about);

#endif
