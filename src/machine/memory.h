// SPDX-License-Identifier: MIT
/*
 * The memory hierarchy of a core: L1 instruction and data caches, up to two unified levels below
 * them, memory, and TLBs.
 *
 * Caches are neither inclusive nor exclusive: a line is brought into every level that missed, and
 * an eviction touches only its own level. An access is an instruction or a memory operand. One that
 * crosses lines uses each of them, and counts as one miss if any of them was missing. Each line
 * missing in an L1 is one access of the next level, and so on down. Written lines are passed down
 * when they are evicted, or with every write (`through`). They are counted separately, not as
 * misses of the code that happens to evict them.
 *
 * All events are added to those of the block being run.
 */
#ifndef HP_MACHINE_MEMORY_H
#define HP_MACHINE_MEMORY_H

#include "hotpath/pipe.h"
#include "machine/machine.h"
#include "machine/tlb.h"

struct hp_level {
    struct hp_cache cache;
    unsigned line_bits;
    bool through, no_allocate;
    uint32_t cost, ports; /* sixteenths */
    uint64_t cycle;       /* of the last access */
    uint32_t in_cycle;    /* accesses in that */
    /* Counts. The first four are unused for an L1: the owner counts its accesses, the events its
     * misses. */
    uint64_t reads, writes;     /* from the level above */
    uint64_t misses;            /* reads, and writes that a store passed down */
    uint64_t write_misses;      /* evicted lines from above that were not here */
    uint64_t fills, writebacks; /* lines brought in; written lines evicted */
};

struct hp_memory {
    struct hp_level l1i, l1d, lower[2];
    unsigned n_lower;
    struct hp_tlb itlb, dtlb, tlb2;
    bool has_itlb, has_dtlb, has_tlb2;
    uint32_t memory_cost;
    uint64_t memory_reads, memory_writes;
    uint64_t last_fetched; /* line: the L1I has it; fetching from it again changes nothing */
    bool fetch_missed, fetch_page_missed; /* the last hp_memory_fetch() */
    bool fetch_page2_missed;              /* ... in the second level, too */
    uint8_t fetch_level;                  /* enum hp_source_level: where it found the line */
    uint64_t data_write_misses;           /* of operands that are only written */
    uint64_t cycle; /* set by the owner: accesses in one cycle share their cost (power) */
    struct hp_events *events;
};

/* HP_ERR_NOMEM; hp_memory_fini() is safe then too. */
enum hp_err hp_memory_init(struct hp_memory *memory, const struct hp_machine *machine);
void hp_memory_fini(struct hp_memory *memory);

/* Fetches from a line of the L1I that is not the last one. `same`: for the same instruction as the
 * previous call, so that a miss is not counted twice. */
void hp_memory_fetch(struct hp_memory *memory, uint64_t line, bool same);

enum { HP_ACCESS_READ = 1, HP_ACCESS_WRITE = 2 };

/* A memory operand: HP_ACCESS_* and its size in bytes, at least 1. */
void hp_memory_access(struct hp_memory *memory, uint64_t address, uint32_t size, unsigned access);

/* The same for one that lies in one line, which is in the L1D and need not be passed on: it has no
 * effects but on the DTLB and the order of use. False: it is none. The page has been used then, and
 * hp_memory_access() does the rest. */
static inline bool hp_memory_access_hit(struct hp_memory *memory, uint64_t address, uint32_t size,
                                        unsigned access)
{
    struct hp_level *l1d = &memory->l1d;
    uint64_t line = address >> l1d->line_bits, page = address >> memory->dtlb.page_bits;
    bool write = access & HP_ACCESS_WRITE;
    if ((address + (size - 1)) >> l1d->line_bits != line || (write && l1d->through))
        return false;
    if (memory->has_dtlb && !hp_tlb_use(&memory->dtlb, page))
        memory->events->count[HP_METRIC_DTLB_MISSES]++;
    return hp_cache_touch(&l1d->cache, line, write);
}

/* Its parts, for the model in cycles, which counts misses of the L1D and the DTLB itself. */

/* The last byte of an operand, limited to the address space. */
static inline uint64_t hp_operand_last(uint64_t address, uint32_t size)
{
    return address + (size - 1) < address ? UINT64_MAX : address + (size - 1);
}

/* Uses the pages of the operand from `address` to `last`. Returns whether one was missing in the
 * DTLB, and in the second level; false without a DTLB. */
struct hp_pages {
    bool missed, missed2;
};
struct hp_pages hp_memory_pages(struct hp_memory *memory, uint64_t address, uint64_t last);

/* Accesses `size` bytes of one line of the L1D. Returns where it was found: HP_FROM_L1, or farther,
 * and it is in the L1 now; HP_FROM_NOWHERE: a write that missed and does not allocate. */
enum hp_source_level hp_memory_line(struct hp_memory *memory, uint64_t line, unsigned access,
                                    uint64_t size);

#endif
