// SPDX-License-Identifier: MIT
#include "import/spe.h"

#include "base/base.h"

/* Events of a record. */
enum {
    RETIRED = 1 << 1,
    L1D_ACCESS = 1 << 2,
    L1D_REFILL = 1 << 3,
    TLB_WALK = 1 << 5,
    NOT_TAKEN = 1 << 6,
    MISPREDICTED = 1 << 7,
    LLC_ACCESS = 1 << 8,
    LLC_MISS = 1 << 9,
};

enum kind { PAD, END, TIME, EVENTS, SOURCE, CONTEXT, OPERATION, ADDRESS, COUNTER, BAD, CUT_OFF };

struct packet {
    enum kind kind;
    unsigned index;
    uint64_t payload;
    size_t size;
};

/* What a record says so far. */
struct record {
    uint64_t pc, data, events;
    uint32_t context;
    uint64_t total, issue;
    bool load, store, branch;
};

/* --- Packets ---------------------------------------------------------------------------------- */

/* The payload follows `headers` bytes, the last of which has its size. */
static struct packet with_payload(enum kind kind, unsigned index, const uint8_t *at, size_t left,
                                  size_t headers)
{
    struct packet p = {.kind = kind, .index = index};
    size_t n = (size_t)1 << (at[headers - 1] >> 4 & 3);
    p.size = headers + n;
    if (left < p.size)
        return (struct packet){.kind = CUT_OFF};
    for (size_t i = n; i > 0; i--)
        p.payload = p.payload << 8 | at[headers + i - 1];
    return p;
}

/* Up to the next multiple of a power of two. */
static struct packet alignment(uint8_t header, uint64_t offset, size_t left)
{
    uint64_t unit = UINT64_C(2) << (header & 15);
    struct packet p = {.kind = PAD, .size = unit - (offset & (unit - 1))};
    return left < p.size ? (struct packet){.kind = CUT_OFF} : p;
}

static struct packet take_packet(const uint8_t *at, size_t left, uint64_t offset)
{
    if (!left)
        return (struct packet){.kind = CUT_OFF};
    uint8_t first = at[0];
    if (first == 0 || first == 1)
        return (struct packet){.kind = first ? END : PAD, .size = 1};
    if (first == 0x71)
        return with_payload(TIME, 0, at, left, 1);
    if ((first & 0xcf) == 0x42)
        return with_payload(EVENTS, 0, at, left, 1);
    if ((first & 0xcf) == 0x43)
        return with_payload(SOURCE, 0, at, left, 1);
    if ((first & 0xfc) == 0x64)
        return with_payload(CONTEXT, first & 3, at, left, 1);
    if ((first & 0xfc) == 0x48)
        return with_payload(OPERATION, first & 3, at, left, 1);
    bool extended = (first & 0xfc) == 0x20;
    if (extended && left < 2)
        return (struct packet){.kind = CUT_OFF};
    uint8_t header = extended ? at[1] : first;
    unsigned index = (extended ? (first & 3u) << 3 : 0) | (header & 7);
    if (extended && header == 0)
        return alignment(first, offset, left);
    if ((header & 0xf8) == 0xb0)
        return with_payload(ADDRESS, index, at, left, extended ? 2 : 1);
    if ((header & 0xf8) == 0x98)
        return with_payload(COUNTER, index, at, left, extended ? 2 : 1);
    return (struct packet){.kind = BAD, .size = 1};
}

/* --- Records ---------------------------------------------------------------------------------- */

#define ADDRESS_BITS (UINT64_MAX >> 8)

static void add_address(struct record *r, const struct packet *p)
{
    uint64_t address = p->payload & ADDRESS_BITS;
    if (p->index == 0)
        r->pc = address | (p->payload >> 61 & 3 ? ~ADDRESS_BITS : 0); /* a higher exception level */
    else if (p->index == 2)
        r->data = address;
}

static void add_packet(struct record *r, const struct packet *p)
{
    switch (p->kind) {
    case EVENTS: r->events = p->payload; break;
    case CONTEXT: r->context = (uint32_t)p->payload; break;
    case OPERATION:
        r->load = p->index == 1 && !(p->payload & 1);
        r->store = p->index == 1 && p->payload & 1;
        r->branch = p->index == 2;
        break;
    case ADDRESS: add_address(r, p); break;
    case COUNTER:
        if (p->index == 0)
            r->total = p->payload & 0xffff;
        else if (p->index == 1)
            r->issue = p->payload & 0xffff;
        break;
    default: break;
    }
}

static uint8_t data_from(const struct record *r)
{
    if (!(r->load || r->store) || !(r->events & (L1D_ACCESS | L1D_REFILL)))
        return HP_FROM_NOWHERE;
    return r->events & LLC_MISS     ? HP_FROM_MEMORY
           : r->events & LLC_ACCESS ? HP_FROM_L3
           : r->events & L1D_REFILL ? HP_FROM_L2
                                    : HP_FROM_L1;
}

static uint32_t events_of(const struct record *r)
{
    uint32_t events = HP_TIMING_MEASURED;
    events |= r->events & RETIRED ? HP_TIMING_RETIRED : HP_TIMING_WRONG_PATH;
    events |= r->events & L1D_REFILL ? HP_TIMING_L1D : 0;
    events |= r->events & TLB_WALK ? HP_TIMING_DTLB : 0;
    events |= r->branch && !(r->events & NOT_TAKEN) ? HP_TIMING_TAKEN : 0;
    events |= r->branch && r->events & MISPREDICTED ? HP_TIMING_MISPREDICTED : 0;
    return events;
}

static void set_sample(const struct record *r, struct hp_spe_sample *sample)
{
    uint32_t done = (uint32_t)r->total, issued = (uint32_t)(r->issue < r->total ? r->issue : done);
    *sample = (struct hp_spe_sample){.pc = r->pc,
                                     .context = r->context,
                                     .timing = {.ready = HP_NEVER,
                                                .issued = issued,
                                                .done = done,
                                                .left = done,
                                                .loaded = r->load ? done : HP_NEVER,
                                                .address = r->data,
                                                .events = events_of(r),
                                                .data_from = data_from(r)}};
}

static void move_to(struct hp_spe *spe, const uint8_t *at)
{
    spe->offset += (uint64_t)(at - spe->at);
    spe->at = at;
}

bool hp_spe_next(struct hp_spe *spe, struct hp_spe_sample *sample)
{
    struct record record = {0};
    const uint8_t *at = spe->at;
    bool begun = false;
    for (;;) {
        struct packet p =
            take_packet(at, (size_t)(spe->end - at), spe->offset + (uint64_t)(at - spe->at));
        if (p.kind == CUT_OFF)
            return false;
        at += p.size;
        if (p.kind == BAD) { /* the record goes on somewhere behind it */
            spe->bad++;
            record = (struct record){0};
            begun = false;
            move_to(spe, at);
            continue;
        }
        if (p.kind == PAD && !begun)
            move_to(spe, at);
        begun |= p.kind != PAD;
        add_packet(&record, &p);
        if (p.kind != END && p.kind != TIME)
            continue;
        move_to(spe, at);
        set_sample(&record, sample);
        return true;
    }
}
