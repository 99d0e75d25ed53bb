// SPDX-License-Identifier: MIT
/*
 * The core: by hand on small code, and against a naive model of caches, TLBs and power that goes
 * from instruction to instruction and takes no short cut. Predictors have tests of their own.
 */
#include "machine/branches.h"
#include "machine/halves.h"
#include "machine/machine.h"
#include "machine/power.h"
#include "machine_naive.h"
#include "stream_fixture.h"

/* --- Machines --------------------------------------------------------------------------------- */

static struct hp_machine *parse(const char *text)
{
    struct hp_machine *machine = NULL;
    if (hp_machine_parse(text, strlen(text), "test.ini", "test", &machine) != HP_OK)
        print_error("%s\n", hp_error_text());
    assert_non_null(machine);
    return machine;
}

/* Without caches and TLBs. */
#define REST                                                                                       \
    "[core]\nwidth = 4\nissue = 4\nretire = 4\nreorder = 64\nmemory_queue = 32\n"                  \
    "[units]\nalu = 4\nmul = 1\nfp = 1\nfp_mul = 1\nload = 2\nstore = 1\n"                         \
    "[memory]\nlatency = 100\npower = 50\n"                                                        \
    "[branch]\npredictor = bimodal\n[btb]\nentries = 64\nways = 2\n"

static uint64_t stat_of(struct hp_core *core, const char *name)
{
    for (const struct hp_core_stat *stat = hp_core_stats(core); stat->name; stat++)
        if (strcmp(stat->name, name) == 0)
            return stat->value;
    print_error("there is no %s\n", name);
    fail();
    return 0;
}

/* --- By hand ---------------------------------------------------------------------------------- */

/* One block run after another, with its addresses; events of the last one. */
struct run {
    struct stream s;
    struct hp_machine *machine;
    struct hp_core *core;
    struct hp_events events;
};

static void run_init(struct run *r, const char *machine)
{
    stream_init(&r->s);
    r->machine = parse(machine);
    assert_int_equal(hp_core_new(r->machine, &r->core), HP_OK);
}

static void run_fini(struct run *r)
{
    hp_core_free(r->core);
    hp_machine_free(r->machine);
    stream_fini(&r->s);
}

static uint32_t block_at(struct run *r, uint64_t start)
{
    for (uint32_t i = 0; i < hp_code_n_blocks(r->s.code); i++)
        if (hp_code_block(r->s.code, i)->start == start)
            return i;
    fail();
    return 0;
}

static void run_block(struct run *r, uint64_t start, uint64_t next, bool taken,
                      const uint64_t *addresses, uint32_t n)
{
    uint32_t blocks[2] = {block_at(r, start), block_at(r, next)}, at[2] = {0, n};
    uint8_t outcome = taken;
    struct hp_batch batch = {.code = r->s.code,
                             .table = hp_code_blocks(r->s.code),
                             .blocks = blocks,
                             .taken = &outcome,
                             .n = 1,
                             .addresses = addresses,
                             .address_at = addresses ? at : NULL};
    memset(&r->events, 0xff, sizeof r->events);
    assert_int_equal(hp_core_batch(r->core, r->s.code, &batch, &r->events), HP_OK);
}

#define ADDRESSES(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8

static void expect_events(const struct run *r, uint32_t l1i, uint32_t l1d, uint32_t l2,
                          uint32_t itlb, uint32_t dtlb)
{
    assert_int_equal(r->events.count[HP_METRIC_L1I_MISSES], l1i);
    assert_int_equal(r->events.count[HP_METRIC_L1D_MISSES], l1d);
    assert_int_equal(r->events.count[HP_METRIC_L2_MISSES], l2);
    assert_int_equal(r->events.count[HP_METRIC_ITLB_MISSES], itlb);
    assert_int_equal(r->events.count[HP_METRIC_DTLB_MISSES], dtlb);
}

/* Two lines of 32 bytes in each L1, direct mapped; an L2 of 8 lines in all. */
static const char small[] = REST "[l1i]\nsize = 64\nline = 32\nways = 1\nlatency = 1\n"
                                 "[l1d]\nsize = 64\nline = 32\nways = 1\nlatency = 1\n"
                                 "[l2]\nsize = 256\nline = 32\nways = full\nlatency = 8\n"
                                 "[itlb]\nentries = 1\nways = 1\n[dtlb]\nentries = 2\nways = 2\n";

static void test_small_machine_by_hand(void **state)
{
    struct run r;
    (void)state;
    run_init(&r, small);
    add_segment(&r.s, 1, 0x1000,
                "48 8b 03  48 89 01  75 f8");        /* mov rax,[rbx]; mov [rcx],rax; jne 0x1000 */
    add_segment(&r.s, 2, 0x1008, "48 01 03  eb f3"); /* add [rbx],rax; jmp 0x1000 */
    add_segment(&r.s, 3, 0x101e, "48 8b 03  c3");    /* mov rax,[rbx]; ret: crosses lines */

    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(0x8000, 0x8020));
    expect_events(&r, 1, 2, 3, 1, 1);
    assert_int_equal(r.events.count[HP_METRIC_INSTRUCTIONS], 3);
    assert_int_equal(r.events.count[HP_METRIC_MISPREDICTIONS],
                     1); /* counters start at "not taken" */
    run_block(&r, 0x1000, 0x1008, false, ADDRESSES(0x8000, 0x8020));
    expect_events(&r, 0, 0, 0, 0, 0);
    assert_int_equal(r.events.count[HP_METRIC_MISPREDICTIONS], 1); /* and say "taken" since */

    /* 0x8040 takes the place of 0x8000, which is clean; the second half is in 0x8060, for 0x8020,
     * which is not. */
    run_block(&r, 0x1008, 0x1000, true, ADDRESSES(0x805c));
    expect_events(&r, 0, 1, 2, 0, 0);
    assert_int_equal(stat_of(r.core, "l1d.writebacks"), 1);
    assert_int_equal(stat_of(r.core, "l1d.fills"), 4);
    assert_int_equal(stat_of(r.core, "l2.writes"), 1);
    assert_int_equal(stat_of(r.core, "l2.write_misses"), 0);
    assert_int_equal(stat_of(r.core, "btb.misses"), 2);

    /* The L2 has 0x8000 still: no miss there. Both lines of the L1D were dirty. */
    run_block(&r, 0x1000, 0x101e, false, ADDRESSES(0x8000, 0x8020));
    expect_events(&r, 0, 2, 0, 0, 0);
    assert_int_equal(stat_of(r.core, "l1d.writebacks"), 3);

    /* The instruction is in the line fetched last, 0x1000, and in 0x1020. The operand is on three
     * lines' pages: two. */
    run_block(&r, 0x101e, 0x1000, true, ADDRESSES(0x8ffc));
    expect_events(&r, 1, 1, 3, 0, 1);
    assert_int_equal(stat_of(r.core, "l1i.accesses"), 3 + 3 + 2 + 3 + 2);
    assert_int_equal(stat_of(r.core, "l1i.misses"), 2);
    assert_int_equal(stat_of(r.core, "l1d.accesses"), 2 + 2 + 1 + 2 + 1 + 1); /* ret reads too */
    run_fini(&r);
}

/* An instruction across lines and pages misses once, and brings in both. */
static void test_crossing_misses_once(void **state)
{
    struct run r;
    (void)state;
    run_init(&r, small);
    add_segment(&r.s, 1, 0x1ffe, "48 8b 03  c3");
    run_block(&r, 0x1ffe, 0x1ffe, true, NULL, 0);
    expect_events(&r, 1, 0, 2, 1, 0);
    assert_int_equal(stat_of(r.core, "l1i.fills"), 2);
    assert_int_equal(stat_of(r.core, "l1i.misses"), 1);
    assert_int_equal(stat_of(r.core, "itlb.misses"), 1);
    /* Without addresses the data side is left alone. */
    assert_int_equal(stat_of(r.core, "l1d.accesses"), 0);
    /* The second time the first line is not the one fetched last, but there; its page is not. */
    run_block(&r, 0x1ffe, 0x1ffe, true, NULL, 0);
    expect_events(&r, 0, 0, 0, 1, 0);
    run_fini(&r);
}

/* After a line that missed, an instruction that starts in it and misses the next line has missed
 * itself. */
static void test_next_instruction_misses_itself(void **state)
{
    struct run r;
    (void)state;
    run_init(&r, small);
    add_segment(&r.s, 1, 0x1010, "eb 0c");       /* jmp 0x101e */
    add_segment(&r.s, 2, 0x101e, "48 8b 03 c3"); /* begins in the same line */
    run_block(&r, 0x1010, 0x101e, true, NULL, 0);
    expect_events(&r, 1, 0, 1, 1, 0);
    run_block(&r, 0x101e, 0x1010, true, NULL, 0);
    expect_events(&r, 1, 0, 1, 0, 0);
    run_fini(&r);
}

static void test_write_policies(void **state)
{
    static const char through[] = REST "[l1i]\nsize = 64\nline = 32\nways = 1\nlatency = 1\n"
                                       "[l1d]\nsize = 64\nline = 32\nways = 1\nlatency = 1\n"
                                       "write = through\nallocate = no\n"
                                       "[l2]\nsize = 256\nline = 64\nways = full\nlatency = 8\n";
    struct run r;
    (void)state;
    run_init(&r, through);
    add_segment(&r.s, 1, 0x1000, "48 89 01  75 fb"); /* mov [rcx],rax; jne */
    add_segment(&r.s, 2, 0x1008, "48 8b 03  75 fb"); /* mov rax,[rbx]; jne */
    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(0x8000));
    expect_events(&r, 1, 1, 2, 0, 0); /* the store misses the L2, which brings the line in */
    assert_int_equal(stat_of(r.core, "l1d.fills"), 0);
    assert_int_equal(stat_of(r.core, "l1d.write_misses"), 1);
    assert_int_equal(stat_of(r.core, "l2.writes"), 1);
    assert_int_equal(stat_of(r.core, "l2.fills"), 2);
    assert_int_equal(stat_of(r.core, "memory.reads"), 2);
    run_block(&r, 0x1008, 0x1000, true, ADDRESSES(0x8000));
    expect_events(&r, 0, 1, 0, 0, 0);
    run_block(&r, 0x1000, 0x1008, true, ADDRESSES(0x8000)); /* hits, and is passed on */
    expect_events(&r, 0, 0, 0, 0, 0);
    assert_int_equal(stat_of(r.core, "l2.writes"), 2);
    assert_int_equal(stat_of(r.core, "l1d.writebacks"), 0);
    assert_int_equal(stat_of(r.core, "memory.writes"), 0); /* the L2 is written back */
    run_fini(&r);
}

/* 8 instructions of one block, two of them with operands in the first cycle of four, three in the
 * second. */
static void test_power_by_hand(void **state)
{
    struct run r;
    (void)state;
    run_init(&r, REST "[l1i]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\n"
                      "[l1d]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\nports = 2\n");
    /* mov rax,[rbx] twice, nop twice; add [rbx],rax; mov rax,[rbx]; nop; jmp */
    add_segment(&r.s, 1, 0x1000, "48 8b 03 48 8b 03 90 90 48 01 03 48 8b 03 90 eb ef");
    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(0x8000, 0x8000, 0x8000, 0x8000));
    /* Both caches are the same, so an access of either costs 16. Misses: the L1I and the L1D bring
     * a line in (16 each) from memory (50 * 16 each). */
    uint32_t misses = 2 * (16 + 50 * 16);
    assert_int_equal(r.events.count[HP_METRIC_POWER], (8 + 2 + 2 + 1) * 16 + misses);
    /* One fetch a cycle; two accesses with two ports are one, three are one and a half. */
    assert_int_equal(r.events.count[HP_METRIC_POWER_CYCLE], 2 * 16 + 16 + 24 + misses);
    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(0x8000, 0x8000, 0x8000, 0x8000));
    assert_int_equal(r.events.count[HP_METRIC_POWER], (8 + 2 + 2 + 1) * 16);
    assert_int_equal(r.events.count[HP_METRIC_POWER_CYCLE], 2 * 16 + 16 + 24);
    run_block(&r, 0x1000, 0x1000, true, NULL, 0);
    assert_int_equal(r.events.count[HP_METRIC_POWER], 8 * 16);
    assert_int_equal(r.events.count[HP_METRIC_POWER_CYCLE], 2 * 16);
    run_fini(&r);
}

static void test_power_costs(void **state)
{
    struct hp_cache_config l1 = {.size = 32768, .line = 32, .ways = 1};
    struct hp_cache_config l2 = {.size = 524288, .line = 64, .ways = 4};
    struct hp_cache_config big = l2;
    (void)state;
    /* W = 256 + 48 - 15 + 2 = 291; 291 * 1028.8 + 128 * sqrt(291 * 1024) = 369253.3 */
    assert_in_range((uint64_t)hp_power_access(&l1), 369253, 369253);
    /* W = 4 * (512 + 48 - 17 + 2) = 2180; 2180 * 1028.8 + 256 * sqrt(2180 * 2048) = 2783704.3 */
    assert_in_range((uint64_t)hp_power_access(&l2), 2783704, 2783704);
    assert_int_equal(hp_power_cost(&l1, &l1), 16);
    assert_int_equal(hp_power_cost(&l2, &l1), 121); /* 7.54 */
    big.size *= 2;
    assert_true(hp_power_cost(&big, &l1) > 121); /* the way is longer */
    big = l2;
    big.ways = 8;
    assert_true(hp_power_cost(&big, &l1) > 121);
    big.line = 128;
    assert_true(hp_power_cost(&big, &l1) > hp_power_cost(&l2, &l1));
    /* n accesses with p ports: one up to p, n / p beyond. */
    for (uint32_t ports = 1; ports < 5; ports++) {
        uint32_t sum = 0;
        for (uint32_t n = 1; n < 20; n++) {
            sum += hp_power_nth(100, ports, n);
            assert_int_equal(sum, n <= ports ? 100 : 100 * n / ports);
        }
    }
}

/* --- The naive memory ------------------------------------------------------------------------- */

struct naive_level {
    struct naive cache;
    const struct hp_cache_config *config;
    uint32_t cost;
    int in_cycle; /* accesses */
};

struct naive_machine {
    const struct hp_machine *machine;
    struct naive_level level[4]; /* l1i, l1d, l2, l3 */
    int n_levels;
    struct naive itlb, dtlb, tlb2;
    uint64_t writebacks, memory_reads, memory_writes, tlb2_misses;
    uint32_t events[HP_METRICS];
};

static void shape(struct naive *cache, uint64_t entries, uint64_t ways, uint64_t replacement)
{
    cache->sets = entries / ways;
    cache->ways = ways;
    cache->replacement = (enum hp_replacement)replacement;
    cache->random = NAIVE_RANDOM;
}

static struct naive_machine *new_naive_machine(const struct hp_machine *m)
{
    struct naive_machine *n = calloc(1, sizeof *n);
    const struct hp_cache_config *configs[4] = {&m->l1i, &m->l1d, &m->l2, &m->l3};
    n->machine = m;
    for (int i = 0; i < 4 && configs[i]->present; i++) {
        struct naive_level *level = &n->level[n->n_levels++];
        level->config = configs[i];
        level->cost = hp_power_cost(configs[i], &m->l1i);
        shape(&level->cache, configs[i]->size / configs[i]->line, configs[i]->ways,
              configs[i]->replacement);
    }
    shape(&n->itlb, m->itlb.entries, m->itlb.ways, m->itlb.replacement);
    shape(&n->dtlb, m->dtlb.entries, m->dtlb.ways, m->dtlb.replacement);
    shape(&n->tlb2, m->tlb2.entries, m->tlb2.ways, m->tlb2.replacement);
    return n;
}

static void naive_power(struct naive_machine *n, uint32_t cost)
{
    n->events[HP_METRIC_POWER] += cost;
    n->events[HP_METRIC_POWER_CYCLE] += cost;
}

/* Level 1 leads to level 2, as level 0 does. */
static int below(int level)
{
    return level < 2 ? 2 : level + 1;
}

static void naive_write(struct naive_machine *n, int at, uint64_t address, uint64_t size,
                        bool demand);

/* A line that is not there comes in; what was written of the one that goes, goes down. */
static void naive_bring(struct naive_machine *n, int at, uint64_t line, bool dirty)
{
    struct naive_level *level = &n->level[at];
    uint64_t evicted;
    assert_false(naive_access(&level->cache, line, dirty, &evicted));
    naive_power(n, level->cost);
    if (evicted & 2) {
        n->writebacks++;
        naive_write(n, below(at), (evicted >> 2) * level->config->line, level->config->line, false);
    }
}

static void naive_read(struct naive_machine *n, int at, uint64_t address, bool demand)
{
    uint64_t ignored;
    if (at >= n->n_levels) {
        n->memory_reads++;
        naive_power(n, 16 * (uint32_t)n->machine->memory.power);
        return;
    }
    struct naive_level *level = &n->level[at];
    uint64_t line = address / level->config->line;
    level->in_cycle++;
    n->events[HP_METRIC_POWER] += level->cost;
    if (naive_find(&level->cache, line) >= 0) {
        naive_access(&level->cache, line, false, &ignored);
        return;
    }
    n->events[at == 2 ? HP_METRIC_L2_MISSES : HP_METRIC_L3_MISSES] += demand;
    naive_read(n, at + 1, address, demand);
    naive_bring(n, at, line, false);
}

static void naive_write(struct naive_machine *n, int at, uint64_t address, uint64_t size,
                        bool demand)
{
    uint64_t ignored;
    if (at >= n->n_levels) {
        n->memory_writes++;
        naive_power(n, 16 * (uint32_t)n->machine->memory.power);
        return;
    }
    struct naive_level *level = &n->level[at];
    uint64_t line = address / level->config->line;
    bool keep = !level->config->through; /* what is written stays here, dirty */
    level->in_cycle++;
    n->events[HP_METRIC_POWER] += level->cost;
    if (naive_find(&level->cache, line) >= 0) {
        naive_access(&level->cache, line, keep, &ignored);
    } else {
        n->events[at == 2 ? HP_METRIC_L2_MISSES : HP_METRIC_L3_MISSES] += demand;
        if (level->config->no_allocate) {
            naive_write(n, at + 1, address, size, demand);
            return;
        }
        if (size < level->config->line)
            naive_read(n, at + 1, address, demand);
        naive_bring(n, at, line, keep);
    }
    if (!keep)
        naive_write(n, at + 1, address, size, demand);
}

/* Bytes first ... last of one L1; `access` 0 for a fetch. */
static bool naive_touch(struct naive_machine *n, int at, uint64_t first, uint64_t last,
                        unsigned access)
{
    struct naive_level *level = &n->level[at];
    uint64_t size = level->config->line, ignored;
    bool missed = false, write = access & 2, dirty = write && !level->config->through;
    for (uint64_t line = first / size; line <= last / size; line++) {
        uint64_t from = line * size > first ? line * size : first;
        uint64_t to = line * size + size - 1 < last ? line * size + size - 1 : last;
        if (naive_find(&level->cache, line) >= 0) {
            naive_access(&level->cache, line, dirty, &ignored);
        } else {
            missed = true;
            if (access == 2 && level->config->no_allocate) {
                naive_write(n, 2, line * size, to - from + 1, true);
                continue;
            }
            naive_read(n, 2, line * size, true);
            naive_bring(n, at, line, dirty);
        }
        if (write && level->config->through)
            naive_write(n, 2, line * size, to - from + 1, true);
    }
    return missed;
}

static bool naive_pages(struct naive_machine *n, struct naive *tlb, uint64_t first, uint64_t last)
{
    bool missed = false;
    uint64_t page_size = n->machine->itlb.page, ignored;
    for (uint64_t page = first / page_size; page <= last / page_size; page++) {
        if (naive_access(tlb, page, false, &ignored))
            continue;
        missed = true;
        n->tlb2_misses += !naive_access(&n->tlb2, page, false, &ignored);
    }
    return missed;
}

/* Ends a cycle: n accesses with p ports are one access, or n / p. */
static void naive_cycle(struct naive_machine *n)
{
    for (int i = 0; i < n->n_levels; i++) {
        uint64_t accesses = (uint64_t)n->level[i].in_cycle, ports = n->level[i].config->ports;
        if (accesses)
            n->events[HP_METRIC_POWER_CYCLE] +=
                (uint32_t)(accesses <= ports ? n->level[i].cost
                                             : n->level[i].cost * accesses / ports);
        n->level[i].in_cycle = 0;
    }
}

static void naive_operand(struct naive_machine *n, const struct hp_mem *mem, uint64_t address)
{
    unsigned access = (mem->read ? 1u : 0u) | (mem->write ? 2u : 0u);
    uint64_t last = address + mem->size - 1;
    int accesses = (mem->read != 0) + (mem->write != 0);
    n->level[1].in_cycle += accesses;
    n->events[HP_METRIC_POWER] += (uint32_t)accesses * n->level[1].cost;
    n->events[HP_METRIC_DTLB_MISSES] += naive_pages(n, &n->dtlb, address, last);
    n->events[HP_METRIC_L1D_MISSES] += naive_touch(n, 1, address, last, access);
}

/* Returns how many addresses it took. */
static uint32_t naive_block(struct naive_machine *n, const struct hp_insn *insns, uint32_t count,
                            const uint64_t *addresses)
{
    uint32_t used = 0;
    uint64_t line = UINT64_MAX, size = n->machine->l1i.line;
    memset(n->events, 0, sizeof n->events);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = insns[i].address, last = first + insns[i].length - 1;
        if (i % n->machine->core.width == 0) {
            naive_cycle(n);
            line = UINT64_MAX;
        }
        if (first / size != line)
            n->level[0].in_cycle++;
        n->level[0].in_cycle += (int)(last / size - first / size);
        line = last / size;
        n->events[HP_METRIC_INSTRUCTIONS]++;
        n->events[HP_METRIC_POWER] += 16;
        n->events[HP_METRIC_ITLB_MISSES] += naive_pages(n, &n->itlb, first, last);
        n->events[HP_METRIC_L1I_MISSES] += naive_touch(n, 0, first, last, 0);
        for (unsigned k = 0; k < insns[i].n_mems; k++)
            naive_operand(n, &insns[i].mems[k], addresses[used++]);
    }
    naive_cycle(n);
    return used;
}

/* --- Against it ------------------------------------------------------------------------------- */

/* Code of many shapes: every block of a few instructions and a jump. */
static const char *const pieces[] = {
    "48 8b 03 ",                         /* mov rax,[rbx] */
    "89 01 ",                            /* mov [rcx],eax */
    "00 03 ",                            /* add [rbx],al */
    "0f 10 00 ",                         /* movups xmm0,[rax] */
    "50 ",                               /* push rax */
    "66 0f 1f 84 00 00 00 00 00 ",       /* nop, long */
    "48 b8 01 02 03 04 05 06 07 08 ",    /* mov rax, imm64 */
    "a4 ",                               /* movsb: two operands */
    "48 81 83 00 01 00 00 34 12 00 00 ", /* add qword [rbx+0x100], 0x1234 */
    "0f ae 03 ",                         /* fxsave [rbx]: 512 bytes */
};

#define N_BLOCKS 60

static void make_code(struct stream *s, uint64_t *seed)
{
    uint64_t at = 0x400000;
    for (uint32_t i = 1; i <= N_BLOCKS; i++) {
        char hex[250] = "";
        uint32_t n = random_below(seed, 12);
        for (uint32_t k = 0; k < n && strlen(hex) < 180; k++) {
            uint32_t which = random_below(seed, sizeof pieces / sizeof *pieces);
            if (which == 9 && random_below(seed, 4))
                which = 0;
            strcat(hex, pieces[which]);
        }
        strcat(hex, "eb 00");
        add_segment(s, i, at, hex);
        at += 70 + random_below(seed, 60) + (random_below(seed, 8) == 0 ? 5000 : 0);
    }
}

static void compare_stats(struct hp_core *core, const struct naive_machine *n)
{
    uint64_t writebacks = stat_of(core, "l1d.writebacks");
    if (n->machine->l2.present)
        writebacks += stat_of(core, "l2.writebacks");
    if (n->machine->l3.present)
        writebacks += stat_of(core, "l3.writebacks");
    assert_int_equal(writebacks, n->writebacks);
    assert_int_equal(stat_of(core, "memory.reads"), n->memory_reads);
    assert_int_equal(stat_of(core, "memory.writes"), n->memory_writes);
    assert_int_equal(stat_of(core, "tlb2.misses"), n->tlb2_misses);
}

#define BATCH 200

static void compare_batch(struct hp_core *core, struct naive_machine *n, struct stream *s,
                          uint64_t *seed, uint64_t totals[HP_METRICS])
{
    static uint64_t addresses[BATCH * 40];
    static uint32_t blocks[BATCH + 1], at[BATCH + 1];
    static uint8_t taken[BATCH];
    static struct hp_events events[BATCH];
    const struct hp_insn *insns;
    uint32_t used = 0;
    for (uint32_t i = 0; i <= BATCH; i++)
        blocks[i] = random_below(seed, 3) && i ? blocks[i - 1] : random_below(seed, N_BLOCKS);
    for (uint32_t i = 0; i < BATCH; i++) {
        at[i] = used;
        taken[i] = 1;
        assert_int_equal(hp_code_insns(s->code, blocks[i], &insns), HP_OK);
        for (uint32_t k = 0; k < hp_code_block(s->code, blocks[i])->insns; k++)
            for (unsigned j = 0; j < insns[k].n_mems; j++)
                addresses[used++] = random_below(seed, 2) ? 0x7000 + random_below(seed, 600)
                                                          : 0x10000 + random_below(seed, 0x10000);
    }
    at[BATCH] = used;
    struct hp_batch batch = {.code = s->code,
                             .table = hp_code_blocks(s->code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = BATCH,
                             .addresses = addresses,
                             .address_at = at};
    assert_int_equal(hp_core_batch(core, s->code, &batch, events), HP_OK);
    for (uint32_t i = 0; i < BATCH; i++) {
        assert_int_equal(hp_code_insns(s->code, blocks[i], &insns), HP_OK);
        uint32_t took =
            naive_block(n, insns, hp_code_block(s->code, blocks[i])->insns, addresses + at[i]);
        assert_int_equal(took, at[i + 1] - at[i]);
        for (int k = 0; k < HP_METRICS; k++) {
            if (k == HP_METRIC_MISPREDICTIONS)
                continue;
            if (events[i].count[k] != n->events[k])
                print_error("block %u, metric %s\n", i, hp_metric_name((enum hp_metric)k));
            assert_int_equal(events[i].count[k], n->events[k]);
            totals[k] += events[i].count[k];
        }
    }
}

static void compare_machine(const char *caches, uint64_t seed)
{
    char text[4000];
    uint64_t totals[HP_METRICS] = {0};
    struct stream s;
    struct hp_core *core;
    snprintf(text, sizeof text, "%s%s", REST, caches);
    struct hp_machine *machine = parse(text);
    struct naive_machine *n = new_naive_machine(machine);
    stream_init(&s);
    make_code(&s, &seed);
    assert_int_equal(hp_core_new(machine, &core), HP_OK);
    for (int i = 0; i < 20; i++)
        compare_batch(core, n, &s, &seed, totals);
    compare_stats(core, n);
    assert_true(totals[HP_METRIC_L1I_MISSES] > 100 && totals[HP_METRIC_L1D_MISSES] > 100);
    assert_true(totals[HP_METRIC_ITLB_MISSES] > 100 && totals[HP_METRIC_DTLB_MISSES] > 100);
    assert_true(!machine->l2.present || totals[HP_METRIC_L2_MISSES] > 100);
    assert_true(!machine->l3.present || totals[HP_METRIC_L3_MISSES] > 100);
    hp_core_free(core);
    stream_fini(&s);
    free(n);
    hp_machine_free(machine);
}

#define TLBS                                                                                       \
    "[itlb]\nentries = 4\nways = 2\n[dtlb]\nentries = 8\nways = full\n"                            \
    "[tlb2]\nentries = 16\nways = 4\nreplacement = plru\n"

static void test_one_level(void **state)
{
    (void)state;
    compare_machine("[l1i]\nsize = 1K\nline = 32\nways = 2\nlatency = 1\n"
                    "[l1d]\nsize = 2K\nline = 64\nways = 4\nlatency = 1\nreplacement = random\n"
                    "ports = 2\nallocate = no\n" TLBS,
                    1);
}

static void test_two_levels(void **state)
{
    (void)state;
    compare_machine("[l1i]\nsize = 1K\nline = 16\nways = 1\nlatency = 1\nports = 2\n"
                    "[l1d]\nsize = 1K\nline = 32\nways = 2\nlatency = 1\nreplacement = plru\n"
                    "[l2]\nsize = 8K\nline = 64\nways = 4\nlatency = 1\nports = 3\n" TLBS,
                    2);
}

static void test_three_levels(void **state)
{
    (void)state;
    compare_machine("[l1i]\nsize = 1K\nline = 64\nways = full\nlatency = 1\n"
                    "[l1d]\nsize = 768\nline = 32\nways = 3\nlatency = 1\nports = 4\n"
                    "[l2]\nsize = 4K\nline = 64\nways = 2\nlatency = 1\nreplacement = random\n"
                    "[l3]\nsize = 8K\nline = 128\nways = 2\nlatency = 1\nports = 2\n" TLBS,
                    3);
}

/* Every pair of write policies, on two levels. */
static void test_write_policies_in_two_levels(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        char caches[1000];
        snprintf(
            caches, sizeof caches,
            "[l1i]\nsize = 1K\nline = 32\nways = 1\nlatency = 1\n"
            "[l1d]\nsize = 1K\nline = 32\nways = 2\nlatency = 1\nwrite = %s\nallocate = %s\n"
            "[l2]\nsize = 4K\nline = %d\nways = 4\nlatency = 1\nwrite = %s\nallocate = %s\n" TLBS,
            i & 1 ? "back" : "through", i & 2 ? "yes" : "no", i & 1 ? 32 : 64,
            i & 4 ? "back" : "through", i & 8 ? "yes" : "no");
        compare_machine(caches, 10 + (uint64_t)i);
    }
}

/* --- Odds and ends ---------------------------------------------------------------------------- */

/* Fewer or more addresses than operands, and any address at all, do no harm. */
static void test_odd_addresses(void **state)
{
    struct run r;
    (void)state;
    run_init(&r, small);
    add_segment(&r.s, 1, 0x1000,
                "0f ae 03  48 89 01  75 f8"); /* fxsave [rbx]; mov [rcx],rax; jne */
    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(UINT64_MAX - 3));
    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(UINT64_MAX, UINT64_MAX - 40, 5, 6, 7));
    run_block(&r, 0x1000, 0x1000, true, ADDRESSES(0, 0));
    assert_int_equal(stat_of(r.core, "l1d.fills"), 1 + 0 + 1 + 16 + 1);
    run_fini(&r);
}

/* The last block of a thread: what was run of it counts, its branch is not predicted. */
static void test_tails(void **state)
{
    struct run r;
    (void)state;
    run_init(&r, small);
    add_segment(&r.s, 1, 0x1018, "48 89 01  48 8b 03  48 8b 03  75 f8");
    struct hp_event tail = {.kind = HP_EVENT_TAIL,
                            .block = block_at(&r, 0x1018),
                            .insns = 2,
                            .addresses = (const uint64_t[]){0x8000, 0x8020},
                            .n_addresses = 2};
    assert_int_equal(hp_core_tail(r.core, r.s.code, &tail, &r.events), HP_OK);
    expect_events(&r, 1, 2, 3, 1, 1); /* the second line of the code was not reached */
    assert_int_equal(r.events.count[HP_METRIC_INSTRUCTIONS], 2);
    tail.insns = 4;
    tail.addresses = NULL;
    assert_int_equal(hp_core_tail(r.core, r.s.code, &tail, &r.events), HP_OK);
    expect_events(&r, 1, 0, 1, 0, 0);
    assert_int_equal(r.events.count[HP_METRIC_INSTRUCTIONS], 4);
    tail.insns = 0;
    assert_int_equal(hp_core_tail(r.core, r.s.code, &tail, &r.events), HP_OK);
    assert_int_equal(r.events.count[HP_METRIC_INSTRUCTIONS], 0);
    assert_int_equal(stat_of(r.core, "branches"), 0);
    assert_int_equal(stat_of(r.core, "l1d.accesses"), 2);
    assert_int_equal(stat_of(r.core, "l1i.accesses"), 6);
    /* The whole block, afterwards, is not the part. */
    run_block(&r, 0x1018, 0x1018, true, ADDRESSES(0x8000, 0x8020, 0x8000));
    assert_int_equal(r.events.count[HP_METRIC_INSTRUCTIONS], 4);
    assert_int_equal(stat_of(r.core, "l1d.accesses"), 5);
    assert_int_equal(stat_of(r.core, "branches"), 1);
    run_fini(&r);
}

/* Batches are only a way of delivery: one at a time gives what all together give. */
static void test_batches_do_not_matter(void **state)
{
    struct hp_machine *machine;
    struct hp_core *one, *all;
    struct stream s;
    uint64_t seed = 77;
    static uint32_t blocks[1001];
    static uint8_t taken[1000];
    static struct hp_events together[1000], alone;
    (void)state;
    assert_int_equal(hp_machine_load("vaswani", &machine), HP_OK);
    assert_string_equal(hp_machine_name(machine), "vaswani");
    assert_int_equal(hp_core_new(machine, &one), HP_OK);
    assert_int_equal(hp_core_new(machine, &all), HP_OK);
    stream_init(&s);
    make_code(&s, &seed);
    for (int i = 0; i <= 1000; i++)
        blocks[i] = random_below(&seed, N_BLOCKS);
    memset(taken, 1, sizeof taken);
    struct hp_batch batch = {.code = s.code,
                             .table = hp_code_blocks(s.code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = 1000};
    assert_int_equal(hp_core_batch(all, s.code, &batch, together), HP_OK);
    for (int i = 0; i < 1000; i++) {
        batch.blocks = blocks + i;
        batch.n = 1;
        assert_int_equal(hp_core_batch(one, s.code, &batch, &alone), HP_OK);
        assert_memory_equal(&alone, &together[i], sizeof alone);
    }
    hp_core_free(one);
    hp_core_free(all);
    stream_fini(&s);
    hp_machine_free(machine);
}

static void same_stats(struct hp_core *a, struct hp_core *b)
{
    const struct hp_core_stat *x = hp_core_stats(a), *y = hp_core_stats(b);
    for (; x->name && y->name; x++, y++) {
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->value, y->value);
    }
    assert_null(x->name);
    assert_null(y->name);
}

/* Branches may be run before everything else of a batch, and events left out. */
static void test_halves_do_not_matter(void **state)
{
    enum { N = 3000, FEW = 100, OTHERS = 40 };
    static const char *const ends[] = {"75 10", "ff e0", "ff d0", "c3"}; /* jne, jmp, call, ret */
    struct hp_machine *machine;
    struct hp_core *whole, *halves, *warmed;
    struct stream s;
    uint64_t seed = 78;
    static uint32_t blocks[N + 1], wrong[FEW];
    static uint8_t taken[N];
    static struct hp_events together[N], apart[N];
    size_t n, n_wrong = 0;
    (void)state;
    assert_int_equal(hp_machine_load("modern", &machine), HP_OK);
    assert_int_equal(hp_core_new(machine, &whole), HP_OK);
    assert_int_equal(hp_core_new(machine, &halves), HP_OK);
    assert_int_equal(hp_core_new(machine, &warmed), HP_OK);
    stream_init(&s);
    make_code(&s, &seed);
    for (uint32_t i = 0; i < OTHERS; i++)
        add_segment(&s, N_BLOCKS + 1 + i, 0x800000 + 64 * i, ends[i % 4]);
    for (int i = 0; i <= N; i++)
        blocks[i] = random_below(&seed, N_BLOCKS + OTHERS);
    for (int i = 0; i < N; i++)
        taken[i] = (uint8_t)random_below(&seed, 2);
    struct hp_batch batch = {
        .code = s.code, .table = hp_code_blocks(s.code), .blocks = blocks, .taken = taken, .n = N};
    assert_int_equal(hp_core_batch(whole, s.code, &batch, together), HP_OK);
    for (size_t i = 0; i < N; i += FEW) {
        struct hp_batch part = hp_batch_part(&batch, i, FEW);
        assert_int_equal(hp_core_prepare(halves, s.code, &part, &n), HP_OK);
        assert_int_equal(n, FEW);
        n = hp_core_run_branches(halves, &part, FEW, wrong);
        hp_core_run_memory(halves, &part, FEW, apart + i);
        hp_core_add_wrong(apart + i, wrong, n);
        n_wrong += n;
        assert_int_equal(hp_core_prepare(warmed, s.code, &part, &n), HP_OK);
        hp_core_run_memory(warmed, &part, FEW, NULL);
        hp_core_run_branches(warmed, &part, FEW, wrong);
    }
    assert_memory_equal(apart, together, sizeof together);
    assert_true(n_wrong > 100);
    assert_int_equal(stat_of(whole, "mispredictions"), n_wrong);
    same_stats(whole, halves);
    same_stats(whole, warmed);
    hp_core_free(whole);
    hp_core_free(halves);
    hp_core_free(warmed);
    stream_fini(&s);
    hp_machine_free(machine);
}

/* Other architectures: the low bits that are always 0 are left out, and conditional returns are
 * predicted. */
static void test_arm_code(void **state)
{
    struct hp_machine *machine;
    struct run r;
    (void)state;
    assert_int_equal(hp_machine_load("arm9", &machine), HP_OK);
    stream_init_arch(&r.s, HP_ARCH_ARM);
    assert_int_equal(hp_core_new(machine, &r.core), HP_OK);
    add_segment(&r.s, 1, 0x1000, "00 00 91 e5  1e ff 2f 01"); /* ldr r0,[r1]; bxeq lr */
    add_segment(&r.s, 2, 0x1008, "fc ff ff 1a");              /* bne 0x1000 */
    run_block(&r, 0x1000, 0x1008, false, ADDRESSES(0x8000));
    assert_int_equal(r.events.count[HP_METRIC_MISPREDICTIONS], 0); /* not backward: not taken */
    run_block(&r, 0x1008, 0x1000, true, NULL, 0);
    assert_int_equal(r.events.count[HP_METRIC_MISPREDICTIONS], 0); /* backward: taken */
    run_block(&r, 0x1000, 0x1008, true, ADDRESSES(0x8000));
    assert_int_equal(r.events.count[HP_METRIC_MISPREDICTIONS], 1);
    assert_int_equal(stat_of(r.core, "branches.conditional"), 3);
    hp_core_free(r.core);
    hp_machine_free(machine);
    stream_fini(&r.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_machine_by_hand),
        cmocka_unit_test(test_crossing_misses_once),
        cmocka_unit_test(test_next_instruction_misses_itself),
        cmocka_unit_test(test_write_policies),
        cmocka_unit_test(test_power_by_hand),
        cmocka_unit_test(test_power_costs),
        cmocka_unit_test(test_one_level),
        cmocka_unit_test(test_two_levels),
        cmocka_unit_test(test_three_levels),
        cmocka_unit_test(test_write_policies_in_two_levels),
        cmocka_unit_test(test_odd_addresses),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_batches_do_not_matter),
        cmocka_unit_test(test_halves_do_not_matter),
        cmocka_unit_test(test_arm_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
