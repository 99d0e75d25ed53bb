// SPDX-License-Identifier: MIT
#include "export/samples/etm_packets.h"

#include "base/base.h"

#include <endian.h>

#define STACK   16 /* calls that a processor remembers */
#define HISTORY 3  /* addresses, likewise */
#define FRAME   16 /* bytes */

enum {
    TRACE_INFO = 0x01,
    TIMESTAMP = 0x02,
    TRACE_ON = 0x04,
    OVERFLOW = 0x05, /* behind a zero */
    EXCEPTION = 0x06,
    ADDRESS_CONTEXT = 0x85, /* 64 bits */
    ADDRESS_MATCH = 0x90,
    ADDRESS_SHORT = 0x95,
    ADDRESS_32 = 0x9a,
    ADDRESS_64 = 0x9d,
};

/* Exceptions. */
enum { CALL = 2, INTERRUPT = 14 };

struct etm_packets {
    struct hp_packets base; /* first */
    const struct hp_tracing_settings *settings;
    uint8_t id;     /* of the trace */
    bool begun;     /* it has packets since it was last finished */
    uint64_t atoms; /* outcomes that are not written yet, the oldest lowest */
    unsigned n_atoms;
    uint64_t history[HISTORY]; /* addresses, the newest first */
    unsigned known;            /* of these */
    uint64_t stack[STACK];     /* return addresses */
    unsigned top, depth;
};

uint32_t hp_etm_config(const struct hp_tracing_settings *settings)
{
    return HP_PERF_ETM_CONFIG_TIMES | (settings->switches ? 0 : HP_PERF_ETM_CONFIG_CONTEXT) |
           (settings->returns ? HP_PERF_ETM_CONFIG_RETURNS : 0);
}

void hp_etm_packets_free(struct hp_packets *packets)
{
    free(packets->bytes);
    free(packets);
}

static void put(struct etm_packets *p, const uint8_t *bytes, size_t n)
{
    if (p->base.failure == HP_OK)
        p->base.failure = hp_grow(&p->base.bytes, &p->base.capacity, p->base.n + n, 1);
    if (p->base.failure != HP_OK)
        return;
    memcpy(p->base.bytes + p->base.n, bytes, n);
    p->base.n += n;
    p->base.all += n;
}

static void put_byte(struct etm_packets *p, unsigned byte)
{
    put(p, &(uint8_t){(uint8_t)byte}, 1);
}

/* --- Atoms ------------------------------------------------------------------------------------ */

/* A packet of the oldest ones: up to 23 taken and one more, or the longest of the patterns. Returns
 * how many it has. */
static unsigned put_some_atoms(struct etm_packets *p)
{
    static const struct {
        uint8_t n, atoms, packet;
    } patterns[] = {{5, 0x1e, 0xf5}, {5, 0x00, 0xd5}, {5, 0x0a, 0xd6}, {5, 0x15, 0xd7},
                    {4, 0x0e, 0xdc}, {4, 0x00, 0xdd}, {4, 0x0a, 0xde}, {4, 0x05, 0xdf}};
    unsigned taken = (unsigned)__builtin_ctzll(~p->atoms);
    if (taken > p->n_atoms)
        taken = p->n_atoms;
    if (taken >= 24 || (taken == p->n_atoms && taken >= 4)) {
        taken = taken < 24 ? taken : 24;
        put_byte(p, 0xc0 | (taken - 4));
        return taken;
    }
    if (taken >= 3 && taken < p->n_atoms) {
        put_byte(p, 0xe0 | (taken - 3));
        return taken + 1;
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (p->n_atoms >= patterns[i].n &&
            (p->atoms & ((1u << patterns[i].n) - 1)) == patterns[i].atoms) {
            put_byte(p, patterns[i].packet);
            return patterns[i].n;
        }
    if (p->n_atoms >= 3) {
        put_byte(p, 0xf8 | (p->atoms & 7));
        return 3;
    }
    put_byte(p, (p->n_atoms == 2 ? 0xd8 : 0xf6) | (unsigned)(p->atoms & (p->n_atoms == 2 ? 3 : 1)));
    return p->n_atoms;
}

static void put_atoms_down_to(struct etm_packets *p, unsigned left)
{
    while (p->n_atoms > left) {
        unsigned n = put_some_atoms(p);
        p->atoms >>= n;
        p->n_atoms -= n;
    }
}

static void put_atom(struct etm_packets *p, bool taken)
{
    p->atoms |= (uint64_t)taken << p->n_atoms;
    if (++p->n_atoms == 48)
        put_atoms_down_to(p, 24);
}

static void flush(struct hp_packets *packets)
{
    put_atoms_down_to((struct etm_packets *)packets, 0);
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* Bits 2 to 8 and 9 to 15 are in bytes of their own. */
static size_t fill_address(uint8_t *bytes, uint64_t address, size_t size)
{
    bytes[0] = address >> 2 & 0x7f;
    bytes[1] = address >> 9 & 0x7f;
    for (size_t i = 2; i < size; i++)
        bytes[i] = (uint8_t)(address >> 8 * i);
    return size;
}

static void remember(struct etm_packets *p, uint64_t address)
{
    memmove(p->history + 1, p->history, (HISTORY - 1) * sizeof *p->history);
    p->history[0] = address;
    p->known += p->known < HISTORY;
}

/* Only as much of it as differs from the last one. */
static void put_address(struct etm_packets *p, uint64_t address)
{
    uint8_t packet[9];
    size_t n = 1;
    uint64_t differs = address ^ p->history[0];
    flush(&p->base);
    for (unsigned i = 0; i < p->known; i++)
        if (p->history[i] == address) {
            put_byte(p, ADDRESS_MATCH + i);
            remember(p, address);
            return;
        }
    if (differs >> 9 == 0) {
        packet[0] = ADDRESS_SHORT;
        packet[n++] = address >> 2 & 0x7f;
    } else if (differs >> 17 == 0) {
        packet[0] = ADDRESS_SHORT;
        packet[n++] = (uint8_t)((address >> 2 & 0x7f) | 0x80);
        packet[n++] = (uint8_t)(address >> 9);
    } else if (differs >> 32 == 0) {
        packet[0] = ADDRESS_32;
        n += fill_address(packet + 1, address, 4);
    } else {
        packet[0] = ADDRESS_64;
        n += fill_address(packet + 1, address, 8);
    }
    remember(p, address);
    put(p, packet, n);
}

/* EL0, 64 bits, not secure; and the id of the thread. */
static void put_place(struct etm_packets *p, const struct hp_arrival *arrival)
{
    uint8_t packet[14] = {ADDRESS_CONTEXT};
    size_t n = 1 + fill_address(packet + 1, arrival->address, 8);
    packet[n++] = p->settings->switches ? 0x30 : 0xb0;
    const uint32_t tid = htole32((uint32_t)arrival->tid);
    if (!p->settings->switches) {
        memcpy(packet + n, &tid, sizeof tid);
        n += sizeof tid;
    }
    p->known = 0;
    remember(p, arrival->address);
    put(p, packet, n);
}

static void put_time(struct etm_packets *p, uint64_t ticks)
{
    uint8_t packet[10] = {TIMESTAMP};
    for (unsigned i = 0; i < 8; i++)
        packet[1 + i] = (uint8_t)(ticks >> 7 * i | 0x80);
    packet[9] = (uint8_t)(ticks >> 56);
    put(p, packet, sizeof packet);
}

/* --- What threads do -------------------------------------------------------------------------- */

static void put_sync(struct etm_packets *p)
{
    static const uint8_t packets[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, TRACE_INFO, 1, 0};
    flush(&p->base);
    p->base.synced = p->base.all;
    p->depth = 0;
    p->begun = true;
    put(p, packets, sizeof packets);
}

static void sync(struct hp_packets *packets, const struct hp_arrival *arrival)
{
    struct etm_packets *p = (struct etm_packets *)packets;
    put_sync(p);
    put_place(p, arrival);
    put_time(p, arrival->ticks);
}

static void enter(struct hp_packets *packets, const struct hp_arrival *arrival)
{
    struct etm_packets *p = (struct etm_packets *)packets;
    flush(packets);
    if (!p->begun)
        put_sync(p);
    put_byte(p, TRACE_ON);
    put_place(p, arrival);
    put_time(p, arrival->ticks);
    p->depth = 0;
    packets->enabled = true;
}

static void put_exception(struct etm_packets *p, unsigned type, uint64_t address)
{
    flush(&p->base);
    put(p, (uint8_t[]){EXCEPTION, (uint8_t)(1 | type << 1)}, 2);
    put_address(p, address);
    p->base.enabled = false;
}

static void interrupt(struct hp_packets *packets, uint64_t address)
{
    put_exception((struct etm_packets *)packets, INTERRUPT, address);
}

static void overflow(struct hp_packets *packets, const struct hp_arrival *arrival)
{
    struct etm_packets *p = (struct etm_packets *)packets;
    p->atoms = 0;
    p->n_atoms = 0;
    put(p, (uint8_t[]){0, OVERFLOW}, 2);
    p->begun = false;
    enter(packets, arrival);
}

static void put_call(struct etm_packets *p, uint64_t return_to)
{
    p->top = (p->top + 1) % STACK;
    p->stack[p->top] = return_to;
    p->depth += p->depth < STACK;
}

/* An indirect jump or a return: one that goes where the last call came from has no address. */
static void put_jump(struct etm_packets *p, uint64_t target)
{
    put_atom(p, true);
    if (p->settings->returns && p->depth && p->stack[p->top] == target) {
        p->top = (p->top + STACK - 1) % STACK;
        p->depth--;
        return;
    }
    put_address(p, target);
}

/* ISB counts as a transfer. */
static void pass(struct hp_packets *packets, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t at = 0; at + 4 <= size; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        if ((le32toh(word) & 0xfffff0ff) == 0xd50330df)
            put_atom((struct etm_packets *)packets, true);
    }
}

static void depart(struct hp_packets *packets, const struct hp_departure *departure)
{
    struct etm_packets *p = (struct etm_packets *)packets;
    const struct hp_block *code = departure->code;
    pass(packets, departure->bytes, departure->size);
    switch ((enum hp_flow)code->flow) {
    case HP_FLOW_COND: put_atom(p, departure->taken); break;
    case HP_FLOW_JUMP: put_atom(p, true); break;
    case HP_FLOW_CALL:
        put_atom(p, true);
        put_call(p, code->end);
        break;
    case HP_FLOW_CALL_IND:
        put_atom(p, true);
        put_call(p, code->end);
        put_address(p, departure->next);
        break;
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_RETURN: put_jump(p, departure->next); break;
    case HP_FLOW_SYSCALL: put_exception(p, CALL, code->end); break;
    case HP_FLOW_TRAP: interrupt(packets, code->last); break;
    case HP_FLOW_NONE:
    case HP_FLOW_COUNT_: break;
    }
}

static const struct hp_packets_ops ops = {
    .depart = depart,
    .pass = pass,
    .enter = enter,
    .interrupt = interrupt,
    .overflow = overflow,
    .sync = sync,
    .flush = flush,
};

enum hp_err hp_etm_packets_new(const struct hp_tracing_settings *settings, uint32_t cpu,
                               uint64_t ticks, struct hp_packets **packets)
{
    struct etm_packets *p;
    (void)ticks;
    HP_TRY(hp_new(&p, 1, sizeof *p));
    *p = (struct etm_packets){
        .base = {.ops = &ops}, .settings = settings, .id = (uint8_t)(HP_PERF_ETM_ID + cpu)};
    *packets = &p->base;
    return HP_OK;
}

/* --- Frames ----------------------------------------------------------------------------------- */

/* One of up to 14 bytes, which has the id of the trace first. Where bytes are over, that of no
 * trace comes; if it is before the last one, it counts behind that. Returns how many it took. */
static size_t fill_frame(uint8_t *frame, uint8_t id, const uint8_t *bytes, size_t n)
{
    size_t taken = 0;
    bool over = false;
    memset(frame, 0, FRAME);
    frame[0] = (uint8_t)(id << 1 | 1);
    frame[1] = bytes[taken++];
    for (size_t i = 2; i < FRAME - 1; i += 2) {
        uint8_t flag = (uint8_t)(1u << i / 2);
        size_t left = n - taken;
        if (over)
            break;
        if (left == 0 || (left == 1 && i < FRAME - 2)) {
            over = true;
            frame[i] = 1;
            if (left) {
                frame[FRAME - 1] |= flag;
                frame[i + 1] = bytes[taken++];
            }
            continue;
        }
        frame[i] = bytes[taken] & 0xfe;
        frame[FRAME - 1] |= bytes[taken++] & 1 ? flag : 0;
        if (i < FRAME - 2)
            frame[i + 1] = bytes[taken++];
    }
    return taken;
}

void hp_etm_packets_finish(struct hp_packets *packets)
{
    struct etm_packets *p = (struct etm_packets *)packets;
    uint8_t *frames = NULL;
    size_t n = 0, taken = 0;
    p->begun = false;
    if (p->settings->raw || packets->failure != HP_OK)
        return;
    size_t most = (packets->n / (FRAME - 2) + 1) * FRAME;
    packets->failure = hp_new(&frames, most, 1);
    while (packets->failure == HP_OK && taken < packets->n) {
        taken += fill_frame(frames + n, p->id, packets->bytes + taken, packets->n - taken);
        n += FRAME;
    }
    if (packets->failure != HP_OK)
        return;
    free(packets->bytes);
    packets->bytes = frames;
    packets->n = n;
    packets->capacity = most;
}
