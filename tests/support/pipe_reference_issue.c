// SPDX-License-Identifier: MIT
/* The slow pipe's execution: rules 7, 8 and 9. */
#include "pipe_reference_impl.h"

#define PERIOD 16384 /* cycles */

/* --- Memory ----------------------------------------------------------------------------------- */

/* The line, if it is on its way. */
static const struct line *on_its_way(const struct pipe_reference *r, uint64_t line)
{
    for (size_t i = 0; i < r->n_lines; i++)
        if (r->line[i].line == line && r->line[i].arrives > r->cycle)
            return &r->line[i];
    return NULL;
}

/* Occupies the entry that is free first for `latency` cycles. Returns the start. */
static uint64_t take_place(struct pipe_reference *r, uint64_t latency)
{
    uint64_t *place = &r->places[0];
    for (uint64_t i = 1; i < r->machine->core.misses; i++)
        if (r->places[i] < *place)
            place = &r->places[i];
    uint64_t start = *place > r->cycle ? *place : r->cycle;
    *place = start + latency;
    return start;
}

/* Requests a line; a load does so as soon as an entry is free. Returns when it arrives. A line that
 * was on its way and evicted arrives with this request. */
static uint64_t send_for(struct pipe_reference *r, uint64_t line, enum hp_source_level from,
                         uint64_t latency, bool store)
{
    uint64_t start = store ? r->cycle : take_place(r, latency);
    grow(&r->line, &r->cap_lines, r->n_lines + 1, sizeof *r->line);
    size_t n = 0;
    for (size_t i = 0; i < r->n_lines; i++)
        if (r->line[i].arrives > r->cycle && r->line[i].line != line)
            r->line[n++] = r->line[i];
    r->n_lines = n;
    r->line[r->n_lines++] = (struct line){.line = line, .arrives = start + latency, .from = from};
    return start + latency;
}

/* One line of an access, whose pages cost `pages` cycles. `waits`: for a line on its way. */
static uint64_t access_line(struct pipe_reference *r, struct entry *e, uint64_t line,
                            unsigned access, uint64_t size, uint64_t pages, bool waits)
{
    enum hp_source_level from = hp_memory_line(&r->core->memory, line, access, size);
    uint64_t complete = r->cycle + r->machine->l1d.latency + pages;
    if (from == HP_FROM_L1) {
        const struct line *coming = on_its_way(r, line);
        if (waits && coming && coming->arrives > complete) {
            e->timing.events |= HP_TIMING_MERGED;
            from = coming->from;
            complete = coming->arrives;
        }
    } else {
        e->timing.events |= HP_TIMING_L1D;
        if (from != HP_FROM_NOWHERE)
            complete = send_for(r, line, from, level_latency(r->machine, from) + pages,
                                access == HP_ACCESS_WRITE);
    }
    if (from > e->timing.data_from)
        e->timing.data_from = (uint8_t)from;
    return complete;
}

uint64_t access_data(struct pipe_reference *r, struct entry *e, uint64_t address, uint32_t size,
                     unsigned access, bool waits)
{
    struct hp_memory *memory = &r->core->memory;
    unsigned bits = memory->l1d.line_bits;
    uint64_t last = hp_operand_last(address, size), complete = 0, wait = 0;
    memory->cycle = r->cycle;
    struct hp_pages pages = hp_memory_pages(memory, address, last);
    if (pages.missed) {
        e->timing.events |= HP_TIMING_DTLB;
        wait += r->machine->dtlb.latency;
    }
    if (pages.missed2) {
        e->timing.events |= HP_TIMING_TLB2;
        wait += r->machine->tlb2.latency;
    }
    for (uint64_t line = address >> bits; line <= last >> bits; line++) {
        uint64_t from = line == address >> bits ? address : line << bits;
        uint64_t to = line == last >> bits ? last : ((line + 1) << bits) - 1;
        uint64_t then = access_line(r, e, line, access, to - from + 1, wait, waits);
        complete = then > complete ? then : complete;
    }
    return complete;
}

/* --- Order of loads and stores ---------------------------------------------------------------- */

/* The bytes of a load or store; false: unknown. */
static bool bytes_of(const struct pipe_reference *r, const struct uop *u, uint64_t *first,
                     uint64_t *last)
{
    const struct entry *e = &r->entries[u->entry];
    const struct hp_uop *what = what_is(r, u);
    if (!e->has_address[what->operand])
        return false;
    *first = e->address[what->operand];
    *last = hp_operand_last(*first, what->size);
    return true;
}

static bool overlap(const struct pipe_reference *r, const struct uop *a, const struct uop *b)
{
    uint64_t a_first, a_last, b_first, b_last;
    return bytes_of(r, a, &a_first, &a_last) && bytes_of(r, b, &b_first, &b_last) &&
           a_first <= b_last && b_first <= a_last;
}

static bool covers(const struct pipe_reference *r, const struct uop *store, const struct uop *load)
{
    uint64_t s_first, s_last, l_first, l_last;
    return bytes_of(r, store, &s_first, &s_last) && bytes_of(r, load, &l_first, &l_last) &&
           s_first <= l_first && l_last <= s_last;
}

static bool stores_before_issued(const struct pipe_reference *r, const struct uop *load)
{
    for (size_t i = r->oldest; i < load->entry; i++) {
        const struct entry *e = &r->entries[i];
        for (uint32_t k = 0; e->state == MAPPED && k < e->n_uops; k++) {
            const struct uop *u = &r->uops[e->uops + k];
            if (what_is(r, u)->unit == HP_UNIT_STORE && u->issued == NOT_YET)
                return false;
        }
    }
    return true;
}

/* The youngest store before a load that has been issued and overlaps it; HP_NO_ID: none. */
static uint32_t youngest_store(const struct pipe_reference *r, const struct uop *load)
{
    for (size_t i = load->entry; i-- > r->oldest;) {
        const struct entry *e = &r->entries[i];
        for (uint32_t k = e->state == MAPPED ? e->n_uops : 0; k-- > 0;) {
            const struct uop *u = &r->uops[e->uops + k];
            if (what_is(r, u)->unit == HP_UNIT_STORE && u->issued != NOT_YET && overlap(r, u, load))
                return e->uops + k;
        }
    }
    return HP_NO_ID;
}

/* Whether a load that waits for stores still has to. */
static bool still_blocked(const struct pipe_reference *r, const struct uop *load)
{
    if (load->after_stores)
        return !stores_before_issued(r, load);
    return load->blocked && r->entries[r->uops[load->store].entry].state == MAPPED;
}

/* Checks a right-path load that could be issued against older stores. False: it is not issued. */
static bool look_at_stores(struct pipe_reference *r, struct entry *e, struct uop *load)
{
    load->after_stores = load->blocked = false;
    load->store = HP_NO_ID;
    if (known_of(r, e->timing.insn)->early == r->cycle / PERIOD + 1 &&
        !stores_before_issued(r, load)) {
        load->after_stores = true;
    } else {
        load->store = youngest_store(r, load);
        load->forwarded = load->store != HP_NO_ID && covers(r, &r->uops[load->store], load);
        load->blocked = load->store != HP_NO_ID && !load->forwarded;
    }
    if (!load->after_stores && !load->blocked)
        return true;
    e->timing.events |= HP_TIMING_BLOCKED;
    return false;
}

/* A store is issued: were younger loads too early? */
static void find_early_loads(struct pipe_reference *r, const struct uop *store)
{
    uint32_t index = (uint32_t)(store - r->uops);
    for (size_t i = store->entry + 1; i < r->n_entries; i++) {
        const struct entry *e = &r->entries[i];
        for (uint32_t k = 0; e->state == MAPPED && e->right != HP_NO_ID && k < e->n_uops; k++) {
            const struct uop *load = &r->uops[e->uops + k];
            if (what_is(r, load)->unit != HP_UNIT_LOAD || !what_is(r, load)->access ||
                load->issued == NOT_YET || !overlap(r, store, load) ||
                (load->forwarded && load->store > index))
                continue;
            if (r->trapped == HP_NO_ID || i < r->trapped)
                r->trapped = (uint32_t)i;
            return;
        }
    }
}

/* --- Issue ------------------------------------------------------------------------------------ */

bool is_update(const struct pipe_reference *r, const struct entry *e, unsigned operand)
{
    bool load = false, store = false;
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct hp_uop *what = what_is(r, &r->uops[e->uops + i]);
        load |= what->unit == HP_UNIT_LOAD && what->operand == operand;
        store |= what->unit == HP_UNIT_STORE && what->operand == operand;
    }
    return load && store;
}

static bool is_ready(const struct pipe_reference *r, const struct entry *e, const struct uop *u)
{
    const struct hp_uop *what = what_is(r, u);
    if (e->mapped + 1 > r->cycle)
        return false;
    for (uint32_t i = 0; i < u->n_waits; i++)
        if (r->uops[r->waits[u->waits + i]].completes > r->cycle)
            return false;
    for (uint32_t i = 0; i < e->n_uops; i++)
        if (what->after >> i & 1 && r->uops[e->uops + i].completes > r->cycle)
            return false;
    return true;
}

static uint64_t *free_unit(struct pipe_reference *r, unsigned unit)
{
    for (uint64_t i = 0; i < unit_count(r->machine, unit); i++)
        if (r->units[unit][i] <= r->cycle)
            return &r->units[unit][i];
    return NULL;
}

static void issue_load(struct pipe_reference *r, struct entry *e, struct uop *u)
{
    const struct hp_uop *what = what_is(r, u);
    unsigned access = HP_ACCESS_READ;
    bool waits = what->access && !u->forwarded;
    u->completes = r->cycle + r->machine->l1d.latency;
    if (u->forwarded) {
        e->timing.events |= HP_TIMING_FORWARDED;
        r->stats.forwards++;
    }
    if (!e->has_address[what->operand])
        return;
    if (r->machine->core.in_order && e->right != HP_NO_ID && is_update(r, e, what->operand))
        access |= HP_ACCESS_WRITE;
    uint64_t complete = access_data(r, e, e->address[what->operand], what->size, access, waits);
    if (waits)
        u->completes = complete;
}

static void issue_store(struct pipe_reference *r, struct entry *e, struct uop *u)
{
    const struct hp_uop *what = what_is(r, u);
    u->completes = r->cycle + what->latency;
    if (e->right == HP_NO_ID || !e->has_address[what->operand])
        return;
    if (!r->machine->core.in_order)
        find_early_loads(r, u);
    else if (!is_update(r, e, what->operand))
        access_data(r, e, e->address[what->operand], what->size, HP_ACCESS_WRITE, false);
}

/* Issues a ready uop if possible. */
static bool issue(struct pipe_reference *r, struct entry *e, struct uop *u, uint64_t issued)
{
    const struct hp_uop *what = what_is(r, u);
    if (what->unit == HP_UNIT_LOAD && still_blocked(r, u))
        return false;
    uint64_t *unit = free_unit(r, what->unit);
    if (issued == r->machine->core.issue || !unit) {
        e->timing.events |= HP_TIMING_UNIT_BUSY;
        return false;
    }
    bool ordered = what->unit == HP_UNIT_LOAD && what->access && e->right != HP_NO_ID &&
                   e->has_address[what->operand];
    if (ordered && !look_at_stores(r, e, u))
        return false;
    *unit = r->cycle + what->busy;
    u->issued = r->cycle;
    r->stats.uops++;
    if (what->unit == HP_UNIT_LOAD)
        issue_load(r, e, u);
    else if (what->unit == HP_UNIT_STORE)
        issue_store(r, e, u);
    else
        u->completes = r->cycle + what->latency;
    return true;
}

void issue_phase(struct pipe_reference *r)
{
    uint64_t issued = 0;
    for (size_t i = r->oldest; i < r->n_entries; i++) {
        struct entry *e = &r->entries[i];
        for (uint32_t k = 0; e->state == MAPPED && k < e->n_uops; k++) {
            struct uop *u = &r->uops[e->uops + k];
            if (u->issued != NOT_YET)
                continue;
            if (is_ready(r, e, u) && issue(r, e, u, issued))
                issued++;
            else if (r->machine->core.in_order)
                return;
        }
    }
}
