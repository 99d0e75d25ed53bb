// SPDX-License-Identifier: MIT
/* Records of perf.data, taken apart. */
#ifndef HP_IMPORT_SAMPLES_H
#define HP_IMPORT_SAMPLES_H

#include "import/reader.h"

#define HP_PERF_MAX_STACK 1024 /* branches, or callers, of a sample; there are no longer ones */

/* Of the flags of a branch, in this machine's byte order. */
#define HP_PERF_MISPREDICTED 1u
#define HP_PERF_PREDICTED    2u /* neither: not known */
#define HP_PERF_CYCLES_SHIFT 4  /* 16 bits: since the taken branch before it; 0: not recorded */
#define HP_PERF_SPECULATED   (UINT64_C(3) << 24)
#define HP_PERF_WRONG_PATH   (UINT64_C(1) << 24) /* of these: it was never retired */

/* A sample. What its event does not record is 0. */
struct hp_perf_sampled {
    uint32_t attr; /* which event; HP_PERF_NO_ATTR: one that the file does not describe */
    int32_t pid, tid;
    uint64_t ip, time, period;
    struct hp_perf_bytes chain, branches;
    struct hp_perf_bytes raw; /* what the event's own hardware says */
    uint64_t n_chain, n_branches;
};
#define HP_PERF_NO_ATTR UINT32_MAX

struct hp_perf_layout hp_perf_layout_of(const struct hp_perf_attr *attr);

/* False: the record does not hold what its event says. */
bool hp_perf_take_sample(const struct hp_perf_attrs *attrs, const struct hp_perf_record *record,
                         struct hp_perf_sampled *sample);

/* The branches of a sample, newest first: from, to, flags, in this machine's byte order, where they
 * are in the record or in `room`, which has room for all. */
const uint8_t *hp_perf_branches(const struct hp_perf_sampled *sample, uint64_t *room);

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
