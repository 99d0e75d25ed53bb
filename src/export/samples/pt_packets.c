// SPDX-License-Identifier: MIT
#include "export/samples/pt_packets.h"

#include "base/base.h"
#include "isa/x86_far.h"

#include <intel-pt.h>

#define STACK 64 /* calls that a processor remembers */

struct pt_packets {
    struct hp_packets base; /* first */
    struct pt_encoder *encoder;
    uint8_t packet[64]; /* what it has encoded */
    uint64_t last_ip;   /* what the next address is compressed with */
    uint64_t outcomes;  /* of branches that are not written yet, the oldest highest */
    unsigned n_outcomes;
    unsigned most_outcomes; /* in a packet: 6, or up to 47 */
    bool returns;           /* are compressed */
    uint64_t stack[STACK];  /* return addresses */
    unsigned top, depth;
};

void hp_pt_packets_free(struct hp_packets *packets)
{
    pt_free_encoder(((struct pt_packets *)packets)->encoder);
    free(packets->bytes);
    free(packets);
}

static void put(struct pt_packets *p, const struct pt_packet *packet)
{
    int n = pt_enc_sync_set(p->encoder, 0);
    if (n >= 0)
        n = pt_enc_next(p->encoder, packet);
    if (p->base.failure == HP_OK && n < 0)
        p->base.failure = hp_fail(HP_ERR_INVALID, "a packet of Intel PT cannot be written: %s",
                                  pt_errstr(pt_errcode(n)));
    if (p->base.failure == HP_OK)
        p->base.failure = hp_grow(&p->base.bytes, &p->base.capacity, p->base.n + (size_t)n, 1);
    if (p->base.failure != HP_OK)
        return;
    memcpy(p->base.bytes + p->base.n, p->packet, (size_t)n);
    p->base.n += (size_t)n;
    p->base.all += (uint64_t)n;
}

static void put_plain(struct pt_packets *p, enum pt_packet_type type)
{
    put(p, &(struct pt_packet){.type = type});
}

static void put_outcomes(struct pt_packets *p)
{
    struct pt_packet packet = {.type = p->n_outcomes > 6 ? ppt_tnt_64 : ppt_tnt_8,
                               .payload.tnt = {(uint8_t)p->n_outcomes, p->outcomes}};
    if (!p->n_outcomes)
        return;
    p->n_outcomes = 0;
    p->outcomes = 0;
    put(p, &packet);
}

/* Only as much of an address as differs from the last one. */
static void put_ip(struct pt_packets *p, enum pt_packet_type type, uint64_t ip)
{
    struct pt_packet packet = {.type = type, .payload.ip = {.ipc = pt_ipc_full, .ip = ip}};
    uint64_t differs = ip ^ p->last_ip;
    put_outcomes(p);
    if (differs >> 16 == 0)
        packet.payload.ip.ipc = pt_ipc_update_16;
    else if (differs >> 32 == 0)
        packet.payload.ip.ipc = pt_ipc_update_32;
    else if (differs >> 48 == 0)
        packet.payload.ip.ipc = pt_ipc_update_48;
    else if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
        packet.payload.ip.ipc = pt_ipc_sext_48;
    p->last_ip = ip;
    put(p, &packet);
}

static void put_branch(struct pt_packets *p, bool taken)
{
    p->outcomes = p->outcomes << 1 | taken;
    if (++p->n_outcomes == p->most_outcomes)
        put_outcomes(p);
}

static void put_call(struct pt_packets *p, uint64_t return_to)
{
    p->top = (p->top + 1) % STACK;
    p->stack[p->top] = return_to;
    p->depth += p->depth < STACK;
}

static void put_jump(struct pt_packets *p, uint64_t target)
{
    put_ip(p, ppt_tip, target);
}

/* One that goes where its call came from is an outcome. */
static void put_return(struct pt_packets *p, uint64_t target)
{
    bool expected = p->depth && p->stack[p->top] == target;
    if (!p->returns || !expected) {
        put_jump(p, target);
        return;
    }
    p->top = (p->top + STACK - 1) % STACK;
    p->depth--;
    put_branch(p, true);
}

static void put_time(struct pt_packets *p, uint64_t ticks)
{
    put(p,
        &(struct pt_packet){.type = ppt_tsc, .payload.tsc.tsc = ticks & ((UINT64_C(1) << 56) - 1)});
}

static void put_mode(struct pt_packets *p)
{
    put(p, &(struct pt_packet){
               .type = ppt_mode,
               .payload.mode = {.leaf = pt_mol_exec, .bits.exec = pt_set_exec_mode(ptem_64bit)}});
}

static void put_leave(struct pt_packets *p)
{
    put_outcomes(p);
    put(p, &(struct pt_packet){.type = ppt_tip_pgd, .payload.ip.ipc = pt_ipc_suppressed});
    p->base.enabled = false;
}

/* --- What threads do -------------------------------------------------------------------------- */

static void enter(struct hp_packets *packets, const struct hp_arrival *arrival)
{
    struct pt_packets *p = (struct pt_packets *)packets;
    put_outcomes(p);
    put_time(p, arrival->ticks);
    put_mode(p);
    put_ip(p, ppt_tip_pge, arrival->address);
    p->base.enabled = true;
}

static void interrupt(struct hp_packets *packets, uint64_t address)
{
    struct pt_packets *p = (struct pt_packets *)packets;
    put_ip(p, ppt_fup, address);
    put_leave(p);
}

static void overflow(struct hp_packets *packets, const struct hp_arrival *arrival)
{
    struct pt_packets *p = (struct pt_packets *)packets;
    p->n_outcomes = 0;
    p->outcomes = 0;
    p->depth = 0;
    put_plain(p, ppt_ovf);
    put_ip(p, ppt_fup, arrival->address);
    p->base.enabled = true;
}

static void sync(struct hp_packets *packets, const struct hp_arrival *arrival)
{
    struct pt_packets *p = (struct pt_packets *)packets;
    put_outcomes(p);
    p->base.synced = p->base.all;
    p->last_ip = 0;
    p->depth = 0;
    put_plain(p, ppt_psb);
    put_time(p, arrival->ticks);
    put_mode(p);
    if (p->base.enabled)
        put_ip(p, ppt_fup, arrival->address);
    put_plain(p, ppt_psbend);
}

static void flush(struct hp_packets *packets)
{
    put_outcomes((struct pt_packets *)packets);
}

static void depart(struct hp_packets *packets, const struct hp_departure *departure)
{
    struct pt_packets *p = (struct pt_packets *)packets;
    const struct hp_block *code = departure->code;
    const uint8_t *insn = departure->bytes + (code->last - code->start);
    bool far = hp_x86_is_far(insn, code->end - code->last);
    switch ((enum hp_flow)code->flow) {
    case HP_FLOW_COND: put_branch(p, departure->taken); break;
    case HP_FLOW_CALL:
        if (code->target != code->end) /* a processor does not take that for a call */
            put_call(p, code->end);
        break;
    case HP_FLOW_CALL_IND:
        put_jump(p, departure->next);
        if (!far)
            put_call(p, code->end);
        break;
    case HP_FLOW_JUMP_IND: put_jump(p, departure->next); break;
    case HP_FLOW_RETURN:
        if (far)
            put_jump(p, departure->next);
        else
            put_return(p, departure->next);
        break;
    case HP_FLOW_SYSCALL: put_leave(p); break;
    case HP_FLOW_TRAP: interrupt(packets, code->last); break;
    case HP_FLOW_NONE:
    case HP_FLOW_JUMP:
    case HP_FLOW_COUNT_: break;
    }
}

static const struct hp_packets_ops ops = {
    .depart = depart,
    .enter = enter,
    .interrupt = interrupt,
    .overflow = overflow,
    .sync = sync,
    .flush = flush,
};

enum hp_err hp_pt_packets_new(const struct hp_tracing_settings *settings, uint32_t cpu,
                              uint64_t ticks, struct hp_packets **packets)
{
    struct pt_config config;
    struct pt_packets *p;
    (void)cpu;
    HP_TRY(hp_new(&p, 1, sizeof *p));
    *p = (struct pt_packets){.base = {.ops = &ops},
                             .most_outcomes = settings->long_packets ? 47 : 6,
                             .returns = settings->returns};
    *packets = &p->base;
    pt_config_init(&config);
    config.begin = p->packet;
    config.end = p->packet + sizeof p->packet;
    p->encoder = pt_alloc_encoder(&config);
    if (!p->encoder)
        return hp_fail_nomem();
    sync(&p->base, &(struct hp_arrival){.ticks = ticks});
    return HP_OK;
}
