// SPDX-License-Identifier: MIT
/*
 * The exact attribution of cycles: docs/instructions.md, "Where the cycles went". One attributor
 * per thread; the rows, by static instruction, may be shared by all threads.
 */
#ifndef HP_PROFILER_CYCLES_ATTRIBUTE_H
#define HP_PROFILER_CYCLES_ATTRIBUTE_H

#include "hotpath/cycles.h"

/* The counts of a static instruction. */
struct hp_cycles_row {
    uint64_t weights[HP_ATTRIBUTIONS]; /* schemes.h; of HP_ATTRIBUTE_EXACT: 0 */
    uint64_t parts[HP_CAUSES];         /* of cycles */
};

/* A stretch measured without a break. */
struct hp_cycles_window {
    uint64_t instructions; /* retired */
    uint64_t parts;        /* of cycles attributed to them */
};

#define HP_RETIRE_MAX 64 /* the most a machine retires in a cycle */

struct hp_attributor {
    uint64_t front_stages;
    uint64_t next; /* the first cycle not yet attributed: after the one in which the last retired */
    uint32_t last; /* what retired last; HP_NO_ID: nothing, or not measured */
    bool mispredicted;                /* the last one was */
    bool behind;                      /* something has been fetched after the last one ... */
    bool trapped;                     /* ... of which the first was trapped */
    bool begins;                      /* the next measured one begins a window */
    bool unmeasured;                  /* not everything was measured */
    uint32_t n_group;                 /* instructions that retired in cycle next - 1: */
    uint32_t group[HP_RETIRE_MAX];    /* HP_NO_ID: not measured */
    struct hp_cycles_window *windows; /* the last one is open */
    size_t n_windows, cap_windows;
};

/* `front_stages` of the machine. */
void hp_attributor_init(struct hp_attributor *attributor, uint64_t front_stages);
void hp_attributor_fini(struct hp_attributor *attributor);

/* All timings of a thread in order of fetch; every id has a row. HP_ERR_NOMEM: no room for another
 * window. */
enum hp_err hp_attributor_timings(struct hp_attributor *attributor, struct hp_cycles_row *rows,
                                  const struct hp_timing *timings, size_t n);

/* After the last timing: shares out the cycle in which it retired. */
void hp_attributor_end(struct hp_attributor *attributor, struct hp_cycles_row *rows);

#endif
