// SPDX-License-Identifier: MIT
/*
 * The packets of a buffer of Intel PT, one after the other: a window of it is in memory. The short
 * ones that are nearly all of them are taken apart here, all others by libipt.
 */
#ifndef HP_IMPORT_ITRACE_PT_PACKETS_H
#define HP_IMPORT_ITRACE_PT_PACKETS_H

#include "import/itrace/buffer.h"

#include <intel-pt.h>

enum hp_pt_packet_kind {
    HP_PT_END,      /* there are no more */
    HP_PT_GAP,      /* some are missing here, or are none; what follows begins with HP_PT_SYNC */
    HP_PT_OUTCOMES, /* of branches */
    HP_PT_TO,       /* a transfer to `ip` */
    HP_PT_ENTER,    /* tracing begins at `ip` */
    HP_PT_LEAVE,    /* and ends */
    HP_PT_AT,       /* this is where the code is: an instruction */
    HP_PT_SYNC,     /* reading can begin here */
    HP_PT_SYNCED,   /* the packets are over that say where all is */
    HP_PT_OVERFLOW,
    HP_PT_STOP,              /* tracing was stopped */
    HP_PT_MODE,              /* which instructions are executed: `is_64` */
    HP_PT_AT_IS_NO_TRANSFER, /* the next HP_PT_AT says where something happened, nothing more */
    HP_PT_ABORT, /* what ran in a transaction did not happen; the next transfer leaves it */
    HP_PT_TIME,  /* `time`, if it is known */
};

struct hp_pt_packet {
    enum hp_pt_packet_kind kind;
    bool has_ip, is_64;
    uint64_t ip;
    uint64_t outcomes; /* the oldest highest */
    unsigned n_outcomes;
};

/* How ticks become nanoseconds, and packets of the crystal's clock ticks. */
struct hp_pt_clock {
    uint64_t shift, multiplier, zero;
    uint64_t per_ctc, per_ctc_denominator; /* 0: not known */
    unsigned mtc_shift;
    bool known;
};
struct hp_pt_clock hp_pt_clock_of(const struct hp_aux *aux, uint64_t config);

struct hp_pt_packets {
    struct hp_itrace_buffer buffer;
    struct pt_packet_decoder *decoder; /* of what is in the window; NULL: not needed yet */
    uint64_t last_ip;
    bool searches; /* for the next place where reading can begin */
    bool no_memory;
    struct hp_pt_clock clock;
    uint64_t ticks, ctc_ticks; /* ticks: now, and when the crystal's clock was last seen */
    uint64_t ctc;              /* that, in full; its packets have some bits */
    bool has_ctc;
    uint64_t ns; /* the time; 0: not known */
    uint64_t n_gaps;
};

/* Of a buffer, which it takes over. */
void hp_pt_packets_open(const struct hp_itrace_buffer *buffer, const struct hp_pt_clock *clock,
                        struct hp_pt_packets *packets);
void hp_pt_packets_close(struct hp_pt_packets *packets);

/* The next packet of interest. */
void hp_pt_packets_next(struct hp_pt_packets *packets, struct hp_pt_packet *packet);

#endif
