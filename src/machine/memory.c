// SPDX-License-Identifier: MIT
#include "machine/memory.h"

#include "machine/power.h"

/* --- Making and freeing ----------------------------------------------------------------------- */

static enum hp_err init_level(struct hp_level *level, const struct hp_cache_config *config,
                              const struct hp_cache_config *l1i)
{
    *level = (struct hp_level){.line_bits = (unsigned)__builtin_ctzll(config->line),
                               .through = config->through,
                               .no_allocate = config->no_allocate,
                               .ports = (uint32_t)config->ports,
                               .cost = hp_power_cost(config, l1i),
                               .cycle = UINT64_MAX};
    return hp_cache_init(&level->cache, config->size / config->line / config->ways,
                         (uint32_t)config->ways, (enum hp_replacement)config->replacement);
}

static enum hp_err init_tlbs(struct hp_memory *memory, const struct hp_machine *machine)
{
    memory->has_itlb = machine->itlb.present;
    memory->has_dtlb = machine->dtlb.present;
    memory->has_tlb2 = machine->tlb2.present;
    if (memory->has_itlb)
        HP_TRY(hp_tlb_init(&memory->itlb, &machine->itlb));
    if (memory->has_dtlb)
        HP_TRY(hp_tlb_init(&memory->dtlb, &machine->dtlb));
    if (!memory->has_tlb2)
        return HP_OK;
    memory->itlb.next = memory->dtlb.next = &memory->tlb2;
    return hp_tlb_init(&memory->tlb2, &machine->tlb2);
}

enum hp_err hp_memory_init(struct hp_memory *memory, const struct hp_machine *machine)
{
    const struct hp_cache_config *lower[2] = {&machine->l2, &machine->l3};
    *memory = (struct hp_memory){.memory_cost = (uint32_t)machine->memory.power * HP_POWER_ONE,
                                 .last_fetched = UINT64_MAX};
    HP_TRY(init_level(&memory->l1i, &machine->l1i, &machine->l1i));
    HP_TRY(init_level(&memory->l1d, &machine->l1d, &machine->l1i));
    for (; memory->n_lower < 2 && lower[memory->n_lower]->present; memory->n_lower++)
        HP_TRY(init_level(&memory->lower[memory->n_lower], lower[memory->n_lower], &machine->l1i));
    return init_tlbs(memory, machine);
}

void hp_memory_fini(struct hp_memory *memory)
{
    hp_cache_fini(&memory->l1i.cache);
    hp_cache_fini(&memory->l1d.cache);
    hp_cache_fini(&memory->lower[0].cache);
    hp_cache_fini(&memory->lower[1].cache);
    hp_tlb_fini(&memory->itlb);
    hp_tlb_fini(&memory->dtlb);
    hp_tlb_fini(&memory->tlb2);
}

/* --- Power ------------------------------------------------------------------------------------ */

/* Costs that are the same in both models: those not caused by an access of the program. */
static void charge(struct hp_memory *memory, uint32_t cost)
{
    memory->events->count[HP_METRIC_POWER] += cost;
    memory->events->count[HP_METRIC_POWER_CYCLE] += cost;
}

/* An access to a level below the L1s; the owner charges those of the L1s, known in advance. */
static void charge_access(struct hp_memory *memory, struct hp_level *level)
{
    if (level->cycle != memory->cycle) {
        level->cycle = memory->cycle;
        level->in_cycle = 0;
    }
    level->in_cycle++;
    memory->events->count[HP_METRIC_POWER] += level->cost;
    memory->events->count[HP_METRIC_POWER_CYCLE] +=
        hp_power_nth(level->cost, level->ports, level->in_cycle);
}

/* --- The levels behind the first -------------------------------------------------------------- */

static void put(struct hp_memory *memory, unsigned depth, uint64_t address, uint64_t size,
                bool demand);

/* Brings a missing line into a level, once those below have it. `depth`: of the level below. */
static void install(struct hp_memory *memory, struct hp_level *level, unsigned depth, uint64_t line,
                    bool dirty)
{
    uint64_t old = hp_cache_insert(&level->cache, line, dirty);
    level->fills++;
    charge(memory, level->cost);
    if (old & HP_CACHE_DIRTY) {
        level->writebacks++;
        put(memory, depth, old >> 2 << level->line_bits, (uint64_t)1 << level->line_bits, false);
    }
}

/* Reads the line at an address from a level, for an instruction or (not `demand`) for a written
 * line from above that is only part of a line here. Returns where it was found. */
static enum hp_source_level get(struct hp_memory *memory, unsigned depth, uint64_t address,
                                bool demand)
{
    if (depth == memory->n_lower) {
        memory->memory_reads++;
        charge(memory, memory->memory_cost);
        return HP_FROM_MEMORY;
    }
    struct hp_level *level = &memory->lower[depth];
    uint64_t line = address >> level->line_bits;
    level->reads++;
    charge_access(memory, level);
    if (hp_cache_touch(&level->cache, line, false))
        return HP_FROM_L2 + depth;
    level->misses += demand;
    memory->events->count[HP_METRIC_L2_MISSES + depth] += demand;
    enum hp_source_level from = get(memory, depth + 1, address, demand);
    install(memory, level, depth + 1, line, false);
    return from;
}

/* Writes `size` bytes of one line to a level: for a store (`demand`) or an eviction from the level
 * above. */
static void put(struct hp_memory *memory, unsigned depth, uint64_t address, uint64_t size,
                bool demand)
{
    if (depth == memory->n_lower) {
        memory->memory_writes++;
        charge(memory, memory->memory_cost);
        return;
    }
    struct hp_level *level = &memory->lower[depth];
    uint64_t line = address >> level->line_bits;
    level->writes++;
    charge_access(memory, level);
    bool hit = hp_cache_touch(&level->cache, line, !level->through);
    if (!hit) {
        level->misses += demand;
        level->write_misses += !demand;
        memory->events->count[HP_METRIC_L2_MISSES + depth] += demand;
        if (!level->no_allocate) {
            if (size >> level->line_bits == 0)
                get(memory, depth + 1, address, demand);
            install(memory, level, depth + 1, line, !level->through);
        }
    }
    if (level->through || (!hit && level->no_allocate))
        put(memory, depth + 1, address, size, demand);
}

/* --- The first level -------------------------------------------------------------------------- */

/* Whether the page of an instruction was missing. */
static bool fetch_page(struct hp_memory *memory, uint64_t line)
{
    uint64_t page = line >> (memory->itlb.page_bits - memory->l1i.line_bits);
    return !hp_tlb_use(&memory->itlb, page);
}

void hp_memory_fetch(struct hp_memory *memory, uint64_t line, bool same)
{
    struct hp_level *l1i = &memory->l1i;
    uint64_t walks = memory->tlb2.misses;
    bool page_missed = memory->has_itlb && fetch_page(memory, line);
    bool missed = !hp_cache_touch(&l1i->cache, line, false);
    bool page_counted = same && memory->fetch_page_missed;
    bool counted = same && memory->fetch_missed;
    memory->last_fetched = line;
    memory->fetch_page_missed = page_missed;
    memory->fetch_page2_missed = memory->tlb2.misses != walks;
    memory->fetch_level = HP_FROM_L1;
    memory->fetch_missed = missed;
    memory->events->count[HP_METRIC_ITLB_MISSES] += page_missed && !page_counted;
    memory->events->count[HP_METRIC_L1I_MISSES] += missed && !counted;
    if (missed) {
        memory->fetch_level = (uint8_t)get(memory, 0, line << l1i->line_bits, true);
        install(memory, l1i, 0, line, false);
    }
}

enum hp_source_level hp_memory_line(struct hp_memory *memory, uint64_t line, unsigned access,
                                    uint64_t size)
{
    struct hp_level *l1d = &memory->l1d;
    bool write = access & HP_ACCESS_WRITE;
    bool hit = hp_cache_touch(&l1d->cache, line, write && !l1d->through);
    bool pass_on = write && l1d->through;
    enum hp_source_level from = HP_FROM_L1;
    if (!hit) {
        if (access == HP_ACCESS_WRITE && l1d->no_allocate) {
            pass_on = true;
            from = HP_FROM_NOWHERE;
        } else {
            from = get(memory, 0, line << l1d->line_bits, true);
            install(memory, l1d, 0, line, write && !l1d->through);
        }
    }
    if (pass_on)
        put(memory, 0, line << l1d->line_bits, size, true);
    return from;
}

struct hp_pages hp_memory_pages(struct hp_memory *memory, uint64_t address, uint64_t last)
{
    struct hp_tlb *dtlb = &memory->dtlb;
    struct hp_pages pages = {0};
    uint64_t walks = memory->tlb2.misses;
    if (!memory->has_dtlb)
        return pages;
    for (uint64_t page = address >> dtlb->page_bits; page <= last >> dtlb->page_bits; page++)
        pages.missed |= !hp_tlb_use(dtlb, page);
    pages.missed2 = memory->tlb2.misses != walks;
    return pages;
}

void hp_memory_access(struct hp_memory *memory, uint64_t address, uint32_t size, unsigned access)
{
    struct hp_level *l1d = &memory->l1d;
    uint64_t last = hp_operand_last(address, size);
    bool missed = false;
    memory->events->count[HP_METRIC_DTLB_MISSES] += hp_memory_pages(memory, address, last).missed;
    uint64_t first_line = address >> l1d->line_bits, last_line = last >> l1d->line_bits;
    for (uint64_t line = first_line; line <= last_line; line++) {
        uint64_t from = line == first_line ? address : line << l1d->line_bits;
        uint64_t to = line == last_line ? last : ((line + 1) << l1d->line_bits) - 1;
        missed |= hp_memory_line(memory, line, access, to - from + 1) != HP_FROM_L1;
    }
    memory->events->count[HP_METRIC_L1D_MISSES] += missed;
    memory->data_write_misses += missed && !(access & HP_ACCESS_READ);
}
