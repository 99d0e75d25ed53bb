// SPDX-License-Identifier: MIT
#include "export/samples/pt_packets.h"

#include "base/base.h"

enum hp_err hp_pt_writer_init(struct hp_pt_writer *p, unsigned most_outcomes, bool returns)
{
    struct pt_config config;
    pt_config_init(&config);
    config.begin = p->packet;
    config.end = p->packet + sizeof p->packet;
    *p = (struct hp_pt_writer){.most_outcomes = most_outcomes, .returns = returns};
    p->encoder = pt_alloc_encoder(&config);
    return p->encoder ? HP_OK : hp_fail_nomem();
}

void hp_pt_writer_fini(struct hp_pt_writer *p)
{
    pt_free_encoder(p->encoder);
    free(p->bytes);
}

static void put(struct hp_pt_writer *p, const struct pt_packet *packet)
{
    int n = pt_enc_sync_set(p->encoder, 0);
    if (n >= 0)
        n = pt_enc_next(p->encoder, packet);
    if (p->failure == HP_OK && n < 0)
        p->failure = hp_fail(HP_ERR_INVALID, "a packet of Intel PT cannot be written: %s",
                             pt_errstr(pt_errcode(n)));
    if (p->failure == HP_OK)
        p->failure = hp_grow(&p->bytes, &p->capacity, p->n + (size_t)n, 1);
    if (p->failure != HP_OK)
        return;
    memcpy(p->bytes + p->n, p->packet, (size_t)n);
    p->n += (size_t)n;
    p->all += (uint64_t)n;
}

static void put_plain(struct hp_pt_writer *p, enum pt_packet_type type)
{
    put(p, &(struct pt_packet){.type = type});
}

/* Only as much of an address as differs from the last one. */
static void put_ip(struct hp_pt_writer *p, enum pt_packet_type type, uint64_t ip)
{
    struct pt_packet packet = {.type = type, .payload.ip = {.ipc = pt_ipc_full, .ip = ip}};
    uint64_t differs = ip ^ p->last_ip;
    hp_pt_put_outcomes(p);
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

void hp_pt_put_outcomes(struct hp_pt_writer *p)
{
    struct pt_packet packet = {.type = p->n_outcomes > 6 ? ppt_tnt_64 : ppt_tnt_8,
                               .payload.tnt = {(uint8_t)p->n_outcomes, p->outcomes}};
    if (!p->n_outcomes)
        return;
    p->n_outcomes = 0;
    p->outcomes = 0;
    put(p, &packet);
}

void hp_pt_put_branch(struct hp_pt_writer *p, bool taken)
{
    p->outcomes = p->outcomes << 1 | taken;
    if (++p->n_outcomes == p->most_outcomes)
        hp_pt_put_outcomes(p);
}

void hp_pt_put_call(struct hp_pt_writer *p, uint64_t return_to)
{
    p->top = (p->top + 1) % HP_PT_STACK;
    p->stack[p->top] = return_to;
    p->depth += p->depth < HP_PT_STACK;
}

/* One that goes where its call came from is an outcome. */
void hp_pt_put_return(struct hp_pt_writer *p, uint64_t target)
{
    bool expected = p->depth && p->stack[p->top] == target;
    if (!p->returns || !expected) {
        hp_pt_put_jump(p, target);
        return;
    }
    p->top = (p->top + HP_PT_STACK - 1) % HP_PT_STACK;
    p->depth--;
    hp_pt_put_branch(p, true);
}

void hp_pt_put_jump(struct hp_pt_writer *p, uint64_t target)
{
    put_ip(p, ppt_tip, target);
}

static void put_time(struct hp_pt_writer *p, uint64_t ticks)
{
    put(p,
        &(struct pt_packet){.type = ppt_tsc, .payload.tsc.tsc = ticks & ((UINT64_C(1) << 56) - 1)});
}

static void put_mode(struct hp_pt_writer *p)
{
    put(p, &(struct pt_packet){
               .type = ppt_mode,
               .payload.mode = {.leaf = pt_mol_exec, .bits.exec = pt_set_exec_mode(ptem_64bit)}});
}

void hp_pt_put_enter(struct hp_pt_writer *p, uint64_t ip, uint64_t ticks)
{
    hp_pt_put_outcomes(p);
    put_time(p, ticks);
    put_mode(p);
    put_ip(p, ppt_tip_pge, ip);
    p->enabled = true;
}

void hp_pt_put_leave(struct hp_pt_writer *p)
{
    hp_pt_put_outcomes(p);
    put(p, &(struct pt_packet){.type = ppt_tip_pgd, .payload.ip.ipc = pt_ipc_suppressed});
    p->enabled = false;
}

void hp_pt_put_interrupt(struct hp_pt_writer *p, uint64_t ip)
{
    put_ip(p, ppt_fup, ip);
    hp_pt_put_leave(p);
}

void hp_pt_put_overflow(struct hp_pt_writer *p, uint64_t ip)
{
    p->n_outcomes = 0;
    p->outcomes = 0;
    p->depth = 0;
    put_plain(p, ppt_ovf);
    put_ip(p, ppt_fup, ip);
    p->enabled = true;
}

void hp_pt_put_sync(struct hp_pt_writer *p, uint64_t ip, uint64_t ticks)
{
    hp_pt_put_outcomes(p);
    p->synced = p->all;
    p->last_ip = 0;
    p->depth = 0;
    put_plain(p, ppt_psb);
    put_time(p, ticks);
    put_mode(p);
    if (p->enabled)
        put_ip(p, ppt_fup, ip);
    put_plain(p, ppt_psbend);
}
