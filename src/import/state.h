// SPDX-License-Identifier: MIT
/* What is known of a file while it is imported, for the parts of the import. */
#ifndef HP_IMPORT_STATE_H
#define HP_IMPORT_STATE_H

#include "base/map64.h"
#include "import/chains.h"
#include "import/ibs.h"
#include "import/import.h"
#include "import/itrace/itrace.h"
#include "import/sampled.h"
#include "import/stacks.h"
#include "session/selection.h"

/* What was said by a record about which code was where. */
struct hp_import_change {
    uint64_t time, number; /* those of the same time are in the order of the file */
    uint32_t type;         /* of the record */
    int32_t pid, other;    /* of a fork: the parent */
    struct hp_import_mapping mapping;
    char *path, *build_id;
};

/* A name of a thread. */
struct hp_import_named {
    int32_t tid;
    char name[16];
};

/* What the samples of an event add up to. */
struct hp_import_sum {
    uint64_t samples, period, branches;
};

struct hp_import {
    const struct hp_import_request *request;
    struct hp_selection selection;
    struct hp_perf_reader *reader;
    struct hp_import_spaces *spaces;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_import_stacks *stacks; /* NULL: the event has none */
    struct hp_import_chains *chains;
    struct hp_import_sampled *sampled; /* NULL: the event is not of that kind */
    struct hp_ibs_cpu cpu;
    bool spe;               /* it is Arm's SPE */
    struct hp_map64 pid_of; /* tid -> pid */
    struct hp_profiler *exact, *paths;
    struct hp_result *result;
    struct hp_profile *profile;
    struct hp_import_change *changes;
    size_t n_changes, cap_changes;
    struct hp_import_named *names;
    size_t n_names, cap_names;
    struct hp_map64 name_of; /* tid -> name */
    struct hp_import_thread *threads;
    size_t n_threads, cap_threads;
    struct hp_map64 thread_of;  /* pid << 32 | tid */
    uint32_t attr;              /* the event */
    struct hp_import_sum *sums; /* by event */
    size_t cap_sums;
    uint64_t samples, period; /* of the event, and what they stand for */
    bool whole;               /* the stacks show all of it */
    uint64_t seen;            /* of that, what the stacks show; 0: their counts stay as they are */
    uint64_t first, last;     /* times */
    uint64_t lost, bad, unknown_events;
    uint64_t aborted, no_place;   /* samples of given up fetches; of unknown instructions */
    uint64_t filtered;            /* samples of what missed the L3, and of nothing else */
    struct hp_itrace_sides sides; /* of a trace of instructions */
};

/* Says one line to the user. */
void hp_import_say(const struct hp_import *import, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "cycles:u", or what it is in numbers. */
void hp_import_event_name(const struct hp_perf_attr *attr, char *text, size_t size);

/* Whether samples of this event are read. */
bool hp_import_reads(const struct hp_import *import, uint32_t attr);

/* Of a file that does not say its machine (""): x86-64. */
enum hp_arch hp_import_arch(const char *machine);

/* What there is to know beside the counts: of the run, of the names of threads, of the file and of
 * what is missing. They add to `profile`. HP_ERR_NOMEM. */
enum hp_err hp_import_describe(struct hp_import *import);
enum hp_err hp_import_add_names(struct hp_import *import);
enum hp_err hp_import_add_stats(struct hp_import *import);
enum hp_err hp_import_note_files(struct hp_import *import);
enum hp_err hp_import_note_losses(struct hp_import *import);

/* A trace of instructions, when its sides have been read: as hp_import_perf(). */
enum hp_err hp_import_traced(struct hp_import *import, struct hp_profile **profile);

#endif
