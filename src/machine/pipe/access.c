// SPDX-License-Identifier: MIT
/*
 * Accesses of the L1D, and the lines on their way to it (rule 8).
 */
#include "base/map64.h"
#include "machine/pipe/pipe_impl.h"
#include "machine/pipe/power.h"

#include <stdlib.h>

/* --- Lines on their way ----------------------------------------------------------------------- */

static struct pipe_line *find(const struct pipe_lines *lines, uint64_t line)
{
    uint32_t i = (uint32_t)hp_hash64(line) & lines->mask;
    while (lines->table[i].line && lines->table[i].line != line + 1)
        i = (i + 1) & lines->mask;
    return &lines->table[i];
}

/* Removes lines that have arrived; if they are few, grows the table. */
static bool make_room(struct pipe_lines *lines, uint64_t now)
{
    struct pipe_line *old = lines->table;
    uint32_t n = lines->mask + 1, live = 0;
    for (uint32_t i = 0; i < n; i++)
        live += old[i].line && old[i].arrives > now;
    uint32_t size = live >= n / 4 ? n * 2 : n;
    struct pipe_line *table = calloc(size, sizeof *table);
    if (!table)
        return false;
    lines->table = table;
    lines->mask = size - 1;
    lines->used = live;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].line && old[i].arrives > now)
            *find(lines, old[i].line - 1) = old[i];
    free(old);
    return true;
}

static void put(struct hp_pipe *p, uint64_t line, uint64_t arrives, uint8_t level)
{
    struct pipe_lines *lines = &p->lines;
    if (lines->used > lines->mask / 2 && !make_room(lines, p->now)) {
        p->error = hp_fail_nomem();
        return;
    }
    struct pipe_line *entry = find(lines, line);
    lines->used += !entry->line;
    *entry = (struct pipe_line){.line = line + 1, .arrives = arrives, .level = level};
    if (arrives > lines->last)
        lines->last = arrives;
}

/* Occupies the entry that is free first for `cycles`, from then or from now on; returns the end. */
static uint64_t take_place(struct hp_pipe *p, uint64_t cycles)
{
    uint64_t *heap = p->lines.places;
    uint32_t n = p->lines.n_places, at = 0;
    uint64_t arrives = (heap[0] > p->now ? heap[0] : p->now) + cycles;
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= arrives)
            break;
        heap[at] = heap[child];
    }
    heap[at] = arrives;
    return arrives;
}

/* --- Accesses --------------------------------------------------------------------------------- */

struct access {
    uint64_t done;        /* when all its lines are there */
    uint32_t events, tlb; /* tlb: cycles */
    uint8_t from;
    bool wait, missed;
};

/* A line of the L1D that may still be on its way. */
static uint64_t merge(struct hp_pipe *p, struct access *a, uint64_t line, uint64_t hit,
                      uint8_t *from)
{
    const struct pipe_line *coming = find(&p->lines, line);
    if (!coming->line || coming->arrives <= hit)
        return hit;
    a->events |= HP_TIMING_MERGED;
    *from = coming->level;
    return coming->arrives;
}

static void access_line(struct hp_pipe *p, struct access *a, uint64_t line, unsigned access,
                        uint64_t size)
{
    uint8_t from = (uint8_t)hp_memory_line(&p->core->memory, line, access, size);
    uint64_t done = p->now + p->level_latency[HP_FROM_L1] + a->tlb;
    a->missed |= from != HP_FROM_L1;
    if (from > HP_FROM_L1) {
        uint64_t cycles = p->level_latency[from] + a->tlb;
        done = access == HP_ACCESS_WRITE ? p->now + cycles : take_place(p, cycles);
        put(p, line, done, from);
    } else if (from == HP_FROM_L1 && a->wait && p->lines.last > done) {
        done = merge(p, a, line, done, &from);
    }
    if (from > a->from)
        a->from = from;
    if (done > a->done)
        a->done = done;
}

static void access_pages(struct hp_pipe *p, struct access *a, uint64_t address, uint64_t last)
{
    struct hp_pages pages = hp_memory_pages(&p->core->memory, address, last);
    if (pages.missed) {
        a->events |= HP_TIMING_DTLB;
        a->tlb = p->dtlb_latency;
        p->core->memory.events->count[HP_METRIC_DTLB_MISSES]++;
    }
    if (pages.missed2) {
        a->events |= HP_TIMING_TLB2;
        a->tlb += p->tlb2_latency;
    }
}

static void access_operand(struct hp_pipe *p, struct access *a, uint64_t address, uint32_t size,
                           unsigned access)
{
    const struct hp_tlb *dtlb = &p->core->memory.dtlb;
    unsigned bits = p->data_bits;
    uint64_t last = hp_operand_last(address, size);
    if (address >> dtlb->page_bits != dtlb->last || last >> dtlb->page_bits != dtlb->last)
        access_pages(p, a, address, last);
    if (address >> bits == last >> bits) {
        access_line(p, a, address >> bits, access, last - address + 1);
        return;
    }
    for (uint64_t line = address >> bits; line <= last >> bits; line++) {
        uint64_t first = line == address >> bits ? address : line << bits;
        uint64_t end = line == last >> bits ? last : ((line + 1) << bits) - 1;
        access_line(p, a, line, access, end - first + 1);
    }
}

static void count_miss(struct hp_pipe *p, struct access *a, unsigned access)
{
    a->events |= HP_TIMING_L1D;
    p->core->memory.events->count[HP_METRIC_L1D_MISSES]++;
    p->core->memory.data_write_misses += !(access & HP_ACCESS_READ);
}

uint64_t hp_pipe_access(struct hp_pipe *p, struct pipe_insn *insn, const struct pipe_suop *uop,
                        bool wait)
{
    uint64_t hit = p->now + p->level_latency[HP_FROM_L1];
    struct access a = {.done = hit, .wait = wait && uop->access};
    /* A wrong path writes nothing; nor do its loads on behalf of its stores. */
    unsigned access =
        uop->access && insn->shape.flags & INSN_RIGHT ? uop->access : (unsigned)HP_ACCESS_READ;
    if (!(insn->known >> uop->operand & 1))
        return hit;
    p->core->memory.cycle = p->now;
    if (p->power)
        hp_pipe_power_start(p);
    access_operand(p, &a, insn->address[uop->operand], uop->size, access);
    if (a.missed)
        count_miss(p, &a, access);
    if (p->power)
        hp_pipe_power_end(p, insn, access == (HP_ACCESS_READ | HP_ACCESS_WRITE) ? 2 : 1);
    struct hp_timing *t = insn->timing;
    t->events |= a.events;
    if (a.from > t->data_from)
        t->data_from = a.from;
    return a.wait ? a.done : hit;
}
