// SPDX-License-Identifier: MIT
/*
 * The elements of a trace of Arm ETM (ETMv4, ETE), one after the other. OpenCSD takes frames and
 * packets apart; here what processors did not do after all (speculation) is taken out.
 *
 * OpenCSD could follow the code as well, but does so instruction by instruction: hotpath follows
 * it in blocks that are decoded once, as for Intel PT.
 */
#ifndef HP_IMPORT_ITRACE_ETM_PACKETS_H
#define HP_IMPORT_ITRACE_ETM_PACKETS_H

#include "import/itrace/buffer.h"
#include "import/itrace/sides.h"

#include <opencsd/c_api/opencsd_c_api.h>

/* A processor: how it traced. */
struct hp_etm_cpu {
    uint32_t cpu, id; /* of its packets */
    bool is_ete;
    uint64_t registers[HP_PERF_ETM_REGISTERS_];
};

/* What is the same for all buffers. */
struct hp_etm {
    const struct hp_perf_reader *reader;
    struct hp_etm_cpu *cpus;
    size_t n_cpus;
    bool has_times, knows_time; /* there are times; they are those of the kernel's clock */
    uint64_t shift, multiplier, zero;
};

/* HP_ERR_NOMEM; HP_ERR_FORMAT, HP_ERR_UNSUPPORTED: the text says why. */
enum hp_err hp_etm_new(const struct hp_perf_reader *reader, const struct hp_aux *aux,
                       const struct hp_itrace_sides *sides, struct hp_etm **etm);
void hp_etm_free(struct hp_etm *etm);

/* By the id of its packets; NULL: there is none. */
const struct hp_etm_cpu *hp_etm_of_id(const struct hp_etm *etm, uint32_t id);

/* Which ids the packets of a buffer have; returns how many. Uses up the buffer. */
size_t hp_etm_ids(const struct hp_etm *etm, struct hp_itrace_buffer *buffer,
                  const struct hp_itrace_stop *stops, size_t n_stops, uint32_t ids[128]);

enum hp_etm_kind {
    HP_ETM_END,       /* there are no more */
    HP_ETM_ATOMS,     /* outcomes: `n` of them in `bits`, the oldest lowest */
    HP_ETM_ADDRESS,   /* where the code is, or the last transfer led */
    HP_ETM_EXCEPTION, /* the code is left before `address`; `arrives`: the last transfer led there
                       */
    HP_ETM_SOURCE,    /* the next transfer that is taken is at `address` */
    HP_ETM_UNKNOWN,   /* something ran that packets do not say; also what did not happen at last */
    HP_ETM_NOTHING,   /* counts as one that processors take back, and says nothing */
    HP_ETM_CONTEXT,
    HP_ETM_ON,   /* tracing begins */
    HP_ETM_SYNC, /* reading can begin here */
    HP_ETM_TIME,
    HP_ETM_OVERFLOW,
    HP_ETM_GAP,  /* packets are missing, or are none */
    HP_ETM_LOSS, /* likewise, and said before */
};

struct hp_etm_element {
    uint8_t kind, n;
    bool arrives, user, is_64,
        has_id; /* of the context: user code; the id of its thread is known */
    uint32_t bits, id;
    uint64_t address; /* or the time */
};

enum hp_etm_wait { HP_ETM_WAITS_FOR_NOTHING, HP_ETM_WAITS_FOR_INFO, HP_ETM_WAITS_FOR_SYNC };

struct hp_etm_packets;

/* Where OpenCSD brings the packets of a processor. */
struct hp_etm_channel {
    struct hp_etm_packets *packets;
    const struct hp_etm_cpu *cpu;
};

struct hp_etm_packets {
    const struct hp_etm *etm;
    struct hp_itrace_buffer buffer;
    const struct hp_itrace_stop *stops;
    size_t n_stops;
    uint32_t id; /* of the packets that are read; HP_NO_ID: all */
    dcd_tree_handle_t tree;
    uint32_t fed; /* bytes that it got; as many as it counts */
    bool raw;     /* it is of bytes that are not in frames: those of: */
    const struct hp_etm_cpu *raw_cpu;
    struct hp_etm_channel *channels; /* by processor */
    const struct hp_etm_cpu *cpu;    /* whose packets come */
    struct hp_etm_element *elements;
    size_t at, ready, n, capacity; /* the next, how many are certain, and all */
    uint32_t uncertain;            /* of these, how many processors may take back */
    uint32_t unseen;               /* came before reading began */
    uint32_t most_uncertain;
    enum hp_etm_wait waits;
    bool excepts, arrives; /* an exception waits for its address */
    bool has_id;
    bool ended, no_memory;
};

/* Of a buffer, which it takes over, also on failure. HP_ERR_NOMEM. */
enum hp_err hp_etm_packets_open(const struct hp_etm *etm, const struct hp_itrace_buffer *buffer,
                                const struct hp_itrace_stop *stops, size_t n_stops, uint32_t id,
                                struct hp_etm_packets *packets);
void hp_etm_packets_close(struct hp_etm_packets *packets);

/* Makes more elements certain; false: there are no more. */
bool hp_etm_packets_read(struct hp_etm_packets *packets);

/* The next element: valid until the next call. */
static inline const struct hp_etm_element *hp_etm_packets_next(struct hp_etm_packets *p)
{
    static const struct hp_etm_element end = {.kind = HP_ETM_END};
    if (p->at == p->ready && !hp_etm_packets_read(p))
        return &end;
    return &p->elements[p->at++];
}

/* The time of the first packet that has one before user code is left; 0: there is none. Elements
 * that were returned are not valid any more. */
uint64_t hp_etm_packets_ahead(struct hp_etm_packets *packets);

#endif
