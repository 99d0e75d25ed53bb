// SPDX-License-Identifier: MIT
/*
 * Writes packets of Intel PT, as a processor does that traces user code only.
 */
#ifndef HP_EXPORT_SAMPLES_PT_PACKETS_H
#define HP_EXPORT_SAMPLES_PT_PACKETS_H

#include "hotpath/error.h"

#include <intel-pt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_PT_STACK 64 /* calls that a processor remembers */

struct hp_pt_writer {
    struct pt_encoder *encoder;
    uint8_t packet[64]; /* what it has encoded */
    uint8_t *bytes;
    size_t n, capacity;
    uint64_t all;      /* bytes so far */
    uint64_t synced;   /* of these, before the last PSB */
    uint64_t last_ip;  /* what the next address is compressed with */
    uint64_t outcomes; /* of branches that are not written yet, the oldest highest */
    unsigned n_outcomes;
    unsigned most_outcomes; /* in a packet: 6, or up to 47 */
    bool returns;           /* are compressed */
    bool enabled;           /* user code runs */
    enum hp_err failure;
    uint64_t stack[HP_PT_STACK]; /* return addresses */
    unsigned top, depth;
};

/* `most_outcomes`: 6 for short packets, up to 47 for long ones. HP_ERR_NOMEM. */
enum hp_err hp_pt_writer_init(struct hp_pt_writer *packets, unsigned most_outcomes, bool returns);
void hp_pt_writer_fini(struct hp_pt_writer *packets);

/* Failures are kept in `failure`. */
void hp_pt_put_branch(struct hp_pt_writer *packets, bool taken);
void hp_pt_put_call(struct hp_pt_writer *packets, uint64_t return_to);
void hp_pt_put_return(struct hp_pt_writer *packets, uint64_t target);
void hp_pt_put_jump(struct hp_pt_writer *packets, uint64_t target);
/* User code is entered at `ip`; it is left: at an instruction that does that, or before the one at
 * `ip`. */
void hp_pt_put_enter(struct hp_pt_writer *packets, uint64_t ip, uint64_t ticks);
void hp_pt_put_leave(struct hp_pt_writer *packets);
void hp_pt_put_interrupt(struct hp_pt_writer *packets, uint64_t ip);
/* Packets were lost; user code runs, at `ip`. */
void hp_pt_put_overflow(struct hp_pt_writer *packets, uint64_t ip);
/* Where reading can begin; `ip`: where the code is, if user code runs. */
void hp_pt_put_sync(struct hp_pt_writer *packets, uint64_t ip, uint64_t ticks);
/* Branches that are held back. */
void hp_pt_put_outcomes(struct hp_pt_writer *packets);

#endif
