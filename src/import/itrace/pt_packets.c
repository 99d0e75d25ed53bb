// SPDX-License-Identifier: MIT
#include "import/itrace/pt_packets.h"

#include "base/base.h"

#include <endian.h>

#define LONGEST 16 /* bytes of a packet */

void hp_pt_packets_open(const struct hp_itrace_buffer *buffer, const struct hp_pt_clock *clock,
                        struct hp_pt_packets *p)
{
    *p = (struct hp_pt_packets){.buffer = *buffer, .searches = true, .clock = *clock};
}

static void forget_decoder(struct hp_pt_packets *p)
{
    pt_pkt_free_decoder(p->decoder);
    p->decoder = NULL;
}

void hp_pt_packets_close(struct hp_pt_packets *p)
{
    forget_decoder(p);
    hp_itrace_buffer_close(&p->buffer);
}

/* --- Time ------------------------------------------------------------------------------------- */

struct hp_pt_clock hp_pt_clock_of(const struct hp_aux *aux, uint64_t config)
{
    const uint64_t *info = aux->info;
    uint64_t period = info[HP_PERF_PT_MTC_PERIOD_BITS];
    struct hp_pt_clock clock = {.shift = info[HP_PERF_PT_TIME_SHIFT] & 63,
                                .multiplier = info[HP_PERF_PT_TIME_MULTIPLIER],
                                .zero = info[HP_PERF_PT_TIME_ZERO],
                                .per_ctc = info[HP_PERF_PT_TSC_PER_CTC],
                                .per_ctc_denominator = info[HP_PERF_PT_TSC_PER_CTC_DENOMINATOR],
                                .known = info[HP_PERF_PT_TIME_IS_KNOWN] & 0xff};
    clock.known = clock.known && (config & info[HP_PERF_PT_TSC_BIT]);
    if (period)
        clock.mtc_shift = (config & period) >> __builtin_ctzll(period) & 15;
    if (!(config & info[HP_PERF_PT_MTC_BIT]) || !clock.per_ctc_denominator)
        clock.per_ctc = 0;
    return clock;
}

static void set_time(struct hp_pt_packets *p, uint64_t ticks)
{
    const struct hp_pt_clock *clock = &p->clock;
    p->ticks = ticks;
    if (clock->known)
        p->ns = hp_aux_ns(ticks, clock->shift, clock->multiplier, clock->zero);
}

static uint64_t ticks_of_ctc(const struct hp_pt_packets *p, uint64_t n)
{
    return (uint64_t)((unsigned __int128)n * p->clock.per_ctc / p->clock.per_ctc_denominator);
}

/* The crystal's clock at the last time: its low 16 bits. */
static void take_tma(struct hp_pt_packets *p, const struct pt_packet_tma *tma)
{
    if (!p->clock.per_ctc)
        return;
    p->has_ctc = true;
    p->ctc = tma->ctc;
    p->ctc_ticks = p->ticks - tma->fc;
}

/* It has ticked: 8 of its bits, from the 16 on that the other packet has. */
static void take_mtc(struct hp_pt_packets *p, const struct pt_packet_mtc *mtc)
{
    unsigned shift = p->clock.mtc_shift;
    if (!p->has_ctc)
        return;
    uint64_t mask = UINT64_C(0xff) << shift;
    uint64_t now = (p->ctc & ~(mask | ((UINT64_C(1) << shift) - 1))) | (uint64_t)mtc->ctc << shift;
    if (now < p->ctc)
        now += UINT64_C(0x100) << shift;
    uint64_t ticks = p->ctc_ticks + ticks_of_ctc(p, now - p->ctc);
    p->ctc_ticks = ticks;
    p->ctc = now;
    if (ticks > p->ticks)
        set_time(p, ticks);
}

/* --- The window ------------------------------------------------------------------------------- */

/* What follows an interruption; false: there was none. */
static bool go_on(struct hp_pt_packets *p)
{
    if (!hp_itrace_buffer_go_on(&p->buffer))
        return false;
    p->searches = true;
    return true;
}

/* Makes a whole packet available, if there is one. */
static bool has_packet(struct hp_pt_packets *p)
{
    if (p->buffer.n - p->buffer.at < LONGEST)
        forget_decoder(p);
    return hp_itrace_buffer_has(&p->buffer, LONGEST);
}

/* --- Packets ---------------------------------------------------------------------------------- */

static const uint8_t sync_bytes[LONGEST] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                            2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

/* Goes to the next place where reading can begin. */
static bool search(struct hp_pt_packets *p)
{
    while (has_packet(p) || go_on(p)) {
        const uint8_t *from = p->buffer.window + p->buffer.at;
        const uint8_t *found = memmem(from, p->buffer.n - p->buffer.at, sync_bytes, LONGEST);
        p->buffer.at = found                                  ? (size_t)(found - p->buffer.window)
                       : p->buffer.n - p->buffer.at < LONGEST ? p->buffer.n
                                                              : p->buffer.n - LONGEST + 1;
        if (found)
            return true;
    }
    return false;
}

/* An address of which some bits are those of the last one. */
static bool take_ip(struct hp_pt_packets *p, unsigned compression, const uint8_t *bytes,
                    size_t left, struct hp_pt_packet *packet)
{
    static const uint8_t sizes[8] = {0, 2, 4, 6, 6, 0xff, 8, 0xff};
    uint64_t value = 0;
    size_t size = sizes[compression];
    if (size > 8 || size > left)
        return false;
    memcpy(&value, bytes, size);
    value = le64toh(value);
    packet->has_ip = size > 0;
    switch (compression) {
    case 1: p->last_ip = (p->last_ip & ~UINT64_C(0xffff)) | value; break;
    case 2: p->last_ip = (p->last_ip & ~UINT64_C(0xffffffff)) | value; break;
    case 3: p->last_ip = (uint64_t)((int64_t)(value << 16) >> 16); break;
    case 4: p->last_ip = (p->last_ip & (UINT64_C(0xffff) << 48)) | value; break;
    case 6: p->last_ip = value; break;
    default: break;
    }
    packet->ip = p->last_ip;
    p->buffer.at += 1 + size;
    return true;
}

/* False: it is none of the short ones. */
static bool take_short(struct hp_pt_packets *p, struct hp_pt_packet *packet)
{
    const uint8_t *bytes = p->buffer.window + p->buffer.at;
    uint8_t first = *bytes;
    if (!(first & 1)) {
        if (first == 0 || first == 2)
            return false;
        unsigned n = 30 - (unsigned)__builtin_clz(first); /* behind the highest bit, before bit 0 */
        packet->kind = HP_PT_OUTCOMES;
        packet->n_outcomes = n;
        packet->outcomes = first >> 1 & ((1u << n) - 1);
        p->buffer.at++;
        return true;
    }
    switch (first & 0x1f) {
    case 0x0d: packet->kind = HP_PT_TO; break;
    case 0x11: packet->kind = HP_PT_ENTER; break;
    case 0x01: packet->kind = HP_PT_LEAVE; break;
    case 0x1d: packet->kind = HP_PT_AT; break;
    default: return false;
    }
    return take_ip(p, first >> 5, bytes + 1, p->buffer.n - p->buffer.at - 1, packet);
}

/* False: it is of no interest. */
static bool translate(struct hp_pt_packets *p, const struct pt_packet *from,
                      struct hp_pt_packet *packet)
{
    switch (from->type) {
    case ppt_tnt_64:
        packet->kind = HP_PT_OUTCOMES;
        packet->outcomes = from->payload.tnt.payload;
        packet->n_outcomes = from->payload.tnt.bit_size;
        return packet->n_outcomes > 0;
    case ppt_psb:
        packet->kind = HP_PT_SYNC;
        p->last_ip = 0;
        return true;
    case ppt_psbend: packet->kind = HP_PT_SYNCED; return true;
    case ppt_ovf: packet->kind = HP_PT_OVERFLOW; return true;
    case ppt_stop: packet->kind = HP_PT_STOP; return true;
    case ppt_mode:
        if (from->payload.mode.leaf == pt_mol_exec) {
            packet->kind = HP_PT_MODE;
            packet->is_64 = pt_get_exec_mode(&from->payload.mode.bits.exec) == ptem_64bit;
            return true;
        }
        packet->kind = from->payload.mode.bits.tsx.abrt ? HP_PT_ABORT : HP_PT_AT_IS_NO_TRANSFER;
        return true;
    case ppt_exstop: packet->kind = HP_PT_AT_IS_NO_TRANSFER; return from->payload.exstop.ip;
    case ppt_ptw: packet->kind = HP_PT_AT_IS_NO_TRANSFER; return from->payload.ptw.ip;
    case ppt_mwait: packet->kind = HP_PT_AT_IS_NO_TRANSFER; return true;
    case ppt_tsc:
        p->has_ctc = false;
        set_time(p, from->payload.tsc.tsc);
        packet->kind = HP_PT_TIME;
        return true;
    case ppt_tma: take_tma(p, &from->payload.tma); return false;
    case ppt_mtc:
        take_mtc(p, &from->payload.mtc);
        packet->kind = HP_PT_TIME;
        return true;
    default: return false;
    }
}

static bool open_decoder(struct hp_pt_packets *p)
{
    struct pt_config config;
    if (p->decoder)
        return true;
    pt_config_init(&config);
    config.begin = p->buffer.window;
    config.end = p->buffer.window + p->buffer.n;
    p->decoder = pt_pkt_alloc_decoder(&config);
    p->no_memory |= !p->decoder;
    return p->decoder;
}

/* The bytes are no packet, or one is missing. */
static void lose(struct hp_pt_packets *p, struct hp_pt_packet *packet)
{
    p->searches = true;
    p->n_gaps++;
    packet->kind = HP_PT_GAP;
}

/* A packet for libipt; false: it is of no interest. */
static bool take_other(struct hp_pt_packets *p, struct hp_pt_packet *packet)
{
    struct pt_packet from;
    int n = -pte_internal;
    if (open_decoder(p))
        n = pt_pkt_sync_set(p->decoder, p->buffer.at);
    if (n >= 0)
        n = pt_pkt_next(p->decoder, &from, sizeof from);
    if (n > 0) {
        p->buffer.at += (size_t)n;
        return translate(p, &from, packet);
    }
    p->buffer.at++;
    lose(p, packet);
    return true;
}

void hp_pt_packets_next(struct hp_pt_packets *p, struct hp_pt_packet *packet)
{
    *packet = (struct hp_pt_packet){.kind = HP_PT_END};
    while (!p->no_memory) {
        if (p->searches && !search(p))
            return;
        p->searches = false;
        if (p->buffer.n - p->buffer.at < LONGEST && !has_packet(p)) {
            if (!go_on(p))
                return;
            lose(p, packet);
            return;
        }
        if (p->buffer.window[p->buffer.at] == 0) {
            p->buffer.at++;
            continue;
        }
        if (take_short(p, packet) || take_other(p, packet))
            return;
    }
}
