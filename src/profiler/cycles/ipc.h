// SPDX-License-Identifier: MIT
/*
 * Windowed IPC (ProfileMe, section 6): how many instructions retired in each of successive windows
 * of a fixed number of cycles. One per thread, fed with all its timings in order of fetch; measured
 * ones count.
 *
 * The first window starts in the cycle in which the first instruction was fetched (also the first
 * after something that was not measured). A window that is incomplete at the end, or when measuring
 * stops, is left out.
 */
#ifndef HP_PROFILER_CYCLES_IPC_H
#define HP_PROFILER_CYCLES_IPC_H

#include "hotpath/pipe.h"

struct hp_windowed_ipc {
    uint32_t window;     /* cycles */
    uint64_t *histogram; /* windows by instructions that retired in them: 0 ... window * most */
    size_t n_histogram;
    uint64_t start; /* the first cycle of the current window */
    uint64_t next;  /* the cycle after the latest retirement */
    uint64_t count;
    bool open, begins;
};

struct hp_ipc_summary {
    uint64_t windows, empty; /* empty: nothing retired; these are included in windows */
    double mean;             /* of all windows */
    double least, most;      /* least: of those that are not empty; 0: none */
    /* Weighted by what retired: what an instruction sees around it. */
    double weighed_mean, deviation; /* standard deviation, in the unit of the mean */
};

/* `window` at least 1; `most`: instructions that retire in a cycle. HP_ERR_INVALID, HP_ERR_NOMEM.
 */
#define HP_IPC_WINDOW 30 /* cycles; the paper's */
enum hp_err hp_windowed_ipc_init(struct hp_windowed_ipc *ipc, uint32_t window, uint32_t most);
void hp_windowed_ipc_fini(struct hp_windowed_ipc *ipc);

void hp_windowed_ipc_timings(struct hp_windowed_ipc *ipc, const struct hp_timing *timings,
                             size_t n);
/* After the last timing. */
void hp_windowed_ipc_end(struct hp_windowed_ipc *ipc);

struct hp_ipc_summary hp_windowed_ipc_summary(const struct hp_windowed_ipc *ipc);

#endif
