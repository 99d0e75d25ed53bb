// SPDX-License-Identifier: MIT
/*
 * A machine as its parts see it: every parameter of a machine file, checked. keys.c lists the
 * parameters with their bounds, defaults and meaning, those of a predictor are in its own file;
 * docs/machine.md explains them.
 */
#ifndef HP_MACHINE_MACHINE_H
#define HP_MACHINE_MACHINE_H

#include "hotpath/machine.h"
#include "machine/cache.h"
#include "machine/predictors.h"

/* All numbers are 64 bits wide, so that one table can describe them. */

/* An out-of-order or in-order core; used by the cycle model, `width` by power too. */
struct hp_core_config {
    uint64_t width;  /* instructions fetched, and mapped, in a cycle */
    uint64_t issue;  /* issued in a cycle */
    uint64_t retire; /* retired in a cycle */
    uint64_t in_order;
    uint64_t fetch_queue;
    uint64_t reorder;      /* instructions in flight */
    uint64_t memory_queue; /* loads and stores in flight */
    uint64_t int_queue;    /* slots of the issue queues; with fp_queue = 0 one for all */
    uint64_t fp_queue;
    uint64_t int_registers; /* physical */
    uint64_t fp_registers;
    uint64_t front_stages; /* least cycles from fetch to issue */
    uint64_t mispredict;   /* cycles from the detection of a misprediction until fetch resumes */
    uint64_t misses;       /* lines on their way to the L1D at once */
};

/* Number of units, and their latency. */
struct hp_unit_config {
    uint64_t alu, mul, fp, fp_mul, vector, load, store, branch;
};
struct hp_latency_config {
    uint64_t alu, mul, div, fp, fp_mul, fp_div, vector, branch;
};

struct hp_cache_config {
    uint64_t present;
    uint64_t size, line; /* bytes */
    uint64_t ways;       /* in the file also "full" */
    uint64_t replacement;
    uint64_t through;     /* writes are passed on at once */
    uint64_t no_allocate; /* a write that misses does not allocate */
    uint64_t ports;
    uint64_t latency;
};

struct hp_tlb_config {
    uint64_t present;
    uint64_t entries, ways, page;
    uint64_t replacement;
    uint64_t latency; /* cycles of a miss: in the first level, to access the second; in the last, a
                         walk */
};

struct hp_memory_config {
    uint64_t latency;
    uint64_t power; /* of an access, in L1I accesses */
};

enum hp_indirect_kind {
    HP_INDIRECT_BTB,
    HP_INDIRECT_ITTAGE,
};

struct hp_tage_config {
    uint64_t base;              /* entries of the table without history */
    uint64_t tables;            /* with history */
    uint64_t entries;           /* of each */
    uint64_t tag;               /* bits */
    uint64_t shortest, longest; /* history of the first and the last table; geometric between */
    uint64_t reset;             /* predictions after which usefulness is halved */
};

struct hp_branch_config {
    uint64_t predictor; /* enum hp_predictor_id */
    uint64_t indirect;  /* enum hp_indirect_kind */
    /* Settings of each predictor, as its own file describes them. */
    uint64_t settings[HP_N_PREDICTORS][HP_PREDICTOR_SETTINGS];
    struct hp_tage_config ittage;
    uint64_t btb_entries, btb_ways;
    uint64_t ras_entries;
};

struct hp_machine {
    char name[64];
    struct hp_core_config core;
    struct hp_unit_config units;
    struct hp_latency_config latency;
    struct hp_cache_config l1i, l1d, l2, l3;
    struct hp_tlb_config itlb, dtlb, tlb2;
    struct hp_memory_config memory;
    struct hp_branch_config branch;
};

/*
 * Reads a machine from the `size` bytes at `text`. `file` is its name in error messages, `name` the
 * machine's name. HP_ERR_FORMAT, with file and line.
 */
enum hp_err hp_machine_parse(const char *text, size_t size, const char *file, const char *name,
                             struct hp_machine **machine);

#endif
