// SPDX-License-Identifier: MIT
/* Records of perf.data, taken apart. */
#ifndef HP_IMPORT_SAMPLES_H
#define HP_IMPORT_SAMPLES_H

#include "import/reader.h"

#define HP_PERF_MAX_STACK 1024 /* branches, or callers, of a sample; there are no longer ones */

/* What a branch stack says of a branch. */
struct hp_perf_branch {
    uint64_t from, to;
    bool mispredicted, predicted; /* neither: not known */
    bool wrong_path;              /* it was never retired */
    uint16_t cycles;              /* since the taken branch before it; 0: not recorded */
};

/* A sample. What its event does not record is 0. */
struct hp_perf_sampled {
    uint32_t attr; /* which event; HP_PERF_NO_ATTR: one that the file does not describe */
    int32_t pid, tid;
    uint64_t ip, time, period;
    struct hp_perf_bytes chain, branches; /* that are left to take */
    struct hp_perf_bytes raw;             /* what the event's own hardware says */
    uint64_t n_chain, n_branches;
};
#define HP_PERF_NO_ATTR UINT32_MAX

/* False: the record does not hold what its event says. */
bool hp_perf_take_sample(const struct hp_perf_attrs *attrs, const struct hp_perf_record *record,
                         struct hp_perf_sampled *sample);

/* Takes the next branch, newest first. */
struct hp_perf_branch hp_perf_take_branch(struct hp_perf_sampled *sample);

/* Who did what a record that is no sample says, and when and where; 0: not known. */
struct hp_perf_trailer {
    int32_t pid, tid;
    uint64_t time;
    uint32_t cpu;
};
struct hp_perf_trailer hp_perf_trailer_of(const struct hp_perf_attrs *attrs,
                                          const struct hp_perf_record *record);

/* Its time. */
uint64_t hp_perf_time_of(const struct hp_perf_attrs *attrs, const struct hp_perf_record *record);

#endif
