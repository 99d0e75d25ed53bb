// SPDX-License-Identifier: MIT
/*
 * From the packets of a buffer and the code to the words of a thread.
 *
 * Packets say what the code does not: outcomes of branches, targets of indirect transfers, and
 * where user code was left and entered. Blocks become words when a packet shows that they ran to
 * their end.
 */
#ifndef HP_IMPORT_PT_FLOW_H
#define HP_IMPORT_PT_FLOW_H

#include "import/pt/packets.h"
#include "import/pt/threads.h"

#define HP_PT_STACK 64 /* calls that a processor remembers */

/* A buffer that is read. */
struct hp_pt_flow {
    struct hp_pt_packets packets;
    struct hp_pt_code *code;
    struct hp_pt_threads *threads;
    uint32_t task;               /* that runs; HP_NO_ID: nobody knows */
    struct hp_pt_thread *thread; /* that it is; NULL: it has not run yet */
    uint64_t bits;               /* outcomes that are not used yet, the oldest highest */
    unsigned n_bits;
    bool enabled, in_sync, foreign, overflowed;
    bool aborts;   /* the next transfer is that of a transaction */
    bool skips_at; /* the next HP_PT_AT is no transfer */
    bool has_at;   /* the next transfer comes from: */
    uint64_t at;
    uint64_t stack[HP_PT_STACK];
    unsigned top, depth;
    enum hp_err failure;
    struct hp_pt_packet held; /* a packet that is read, and belongs to who runs next */
    bool holds, ended;
};

/* Reads on, until user code is entered at `until` (ns) or later, or to the end of the buffer. */
enum hp_err hp_pt_flow_run(struct hp_pt_flow *flow, uint64_t until);

#endif
