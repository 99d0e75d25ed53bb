// SPDX-License-Identifier: MIT
/*
 * The pipe: cycles counted by hand, on each shipped machine. F is `front_stages`: what is fetched in cycle 0 is issued in cycle F at the earliest. The last instruction
 * retires in the last cycle, so cycles = its cycle of retirement + 1; what is alone at the end of a chain retires when it is done.
 */
#include "pipe_kernel.h"

static const char *const machines[] = {"vaswani", "alpha21264", "arm9", "modern"};

/* Runs a kernel on each machine. */
static void on_each(void (*test)(struct kernel *k))
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct kernel *k = malloc(sizeof *k);
        assert_non_null(k);
        kernel_init(k, machines[i]);
        test(k);
        kernel_fini(k);
        free(k);
    }
}

static uint64_t front(const struct kernel *k)
{
    return k->m->core.front_stages;
}

/* Latency of a line that is nowhere, whose page is known. */
static uint64_t memory(const struct kernel *k)
{
    return k->m->memory.latency;
}

/* --- Chains and streams ----------------------------------------------------------------------- */

/* The first is issued in F, each `alu` cycles behind the one before: the last of n is done in F + n * alu. */
static void dependent_adds(struct kernel *k)
{
    put(k, 40, ADD_CHAIN);
    run_kernel(k);
    expect_cycles(k, "dependent adds", front(k) + 40 * k->m->latency.alu + 1);
}

/* As many at once as there are units, if so many come: `alu` is at most `width` on all four, and a group is issued in each cycle from F on.
 * But what was fetched stays in the fetch queue for front_stages - 1 cycles: a short one runs dry after what it holds, so no more than that here. */
static void independent_adds(struct kernel *k)
{
    const struct hp_core_config *core = &k->m->core;
    uint64_t at_once = k->m->units.alu, n = 96;
    assert_true(at_once <= core->width && at_once <= core->issue && at_once <= core->retire);
    if (core->fetch_queue < core->width * (front(k) - 1))
        n = core->fetch_queue / at_once * at_once;
    put(k, n, ADD);
    run_kernel(k);
    expect_cycles(k, "independent adds", front(k) + (n / at_once - 1) + k->m->latency.alu + 1);
}

static void dependent_multiplies(struct kernel *k)
{
    put(k, 10, MUL_CHAIN);
    run_kernel(k);
    expect_cycles(k, "dependent multiplies", front(k) + 10 * k->m->latency.mul + 1);
}

/* The units take one in each cycle: n / mul groups, the last of which is issued in F + n / mul - 1. */
static void independent_multiplies(struct kernel *k)
{
    uint64_t n = 16, at_once = k->m->units.mul;
    put(k, n, MUL);
    run_kernel(k);
    expect_cycles(k, "independent multiplies",
                  front(k) + (n / at_once - 1) + k->m->latency.mul + 1);
}

/* A division keeps its unit for its whole latency: the groups follow each other after `div`. */
static void divisions(struct kernel *k)
{
    uint64_t n = 4, at_once = k->m->units.mul;
    put(k, n, DIV);
    run_kernel(k);
    expect_cycles(k, "divisions", front(k) + n / at_once * k->m->latency.div + 1);
    assert_int_equal(with_event(k, HP_TIMING_UNIT_BUSY), n - at_once);
}

static void fp_divisions(struct kernel *k)
{
    uint64_t n = 4, at_once = k->m->units.fp_mul;
    put(k, n, FDIV);
    run_kernel(k);
    expect_cycles(k, "fp divisions", front(k) + n / at_once * k->m->latency.fp_div + 1);
}

/* A multiplication, what needs it, and what does not: in order that has to wait a cycle more than what is before it. */
static void stall_in_order(struct kernel *k)
{
    put(k, 1, MUL);
    put(k, 1, ADD_OF_LOAD); /* of x0, which the multiplication writes */
    put(k, 1, ADD);
    run_kernel(k);
    uint64_t second = front(k) + k->m->latency.mul;
    assert_int_equal(issued(k, 1), second);
    if (k->m->core.in_order) {
        assert_int_equal(issued(k, 2), second + 1);
        expect_cycles(k, "stall in order", second + 1 + k->m->latency.alu + 1);
    } else {
        assert_int_equal(issued(k, 2), front(k));
        expect_cycles(k, "stall in order", second + k->m->latency.alu + 1);
    }
    assert_int_equal(timing(k, 1)->producer, timing(k, 0)->insn);
    assert_int_equal(timing(k, 2)->producer, HP_NO_ID);
}

/* What runs alone is mapped when the one before has retired, in F + alu; it is issued in the cycle after, and retires alu later. Then the next
 * is mapped, issued a cycle later and done alu later. */
static void fence(struct kernel *k)
{
    uint64_t alu = k->m->latency.alu;
    put(k, 1, ADD);
    put(k, 1, FENCE);
    put(k, 1, ADD);
    run_kernel(k);
    expect_cycles(k, "fence", front(k) + alu + 1 + alu + 1 + alu + 1);
    assert_int_equal(with_event(k, HP_TIMING_SERIAL), 2);
}

static void test_chains(void **state)
{
    (void)state;
    on_each(dependent_adds);
    on_each(independent_adds);
    on_each(dependent_multiplies);
    on_each(independent_multiplies);
}

static void test_divider(void **state)
{
    (void)state;
    on_each(divisions);
    on_each(fp_divisions);
}

static void test_order_of_issue(void **state)
{
    (void)state;
    on_each(stall_in_order);
    on_each(fence);
}

/* --- Code ------------------------------------------------------------------------------------- */

/* Two nops on both sides of a line's end, on a page and in lines that nobody has seen. The first is fetched when its line is there; the second
 * line is read in the next cycle (one port), and comes from memory as well. A nop retires F after it was fetched. */
static void cold_code(struct kernel *k)
{
    static const uint32_t nops[] = {NOP, NOP, RETURN};
    struct hp_event tail = {
        .block = kernel_block(k, CODE + 60, nops, 3), .insns = 2, .exact = true};
    uint64_t walk = k->m->itlb.latency + (k->m->tlb2.present ? k->m->tlb2.latency : 0);
    assert_int_equal(k->m->l1i.ports, 1);
    assert_true(k->m->l1i.line <= 64 && (!k->m->l2.present || k->m->l2.line == 64));
    pipe_feed_tail(&k->feed, &tail);
    run_both(k, false);
    assert_int_equal(timing(k, 0)->fetched, walk + memory(k));
    expect_cycles(k, "cold code", walk + memory(k) + 1 + memory(k) + front(k) + 1);
    assert_int_equal(with_event(k, HP_TIMING_L1I), 2);
    assert_int_equal(with_event(k, HP_TIMING_ITLB), 1);
    assert_int_equal(timing(k, 1)->code_from, HP_FROM_MEMORY);
}

/* Nops by the line, all known: each cycle reads one line, so a line of n instructions takes n / width cycles, rounded up. What was fetched in the last
 * of them retires F later, unless so many cannot retire. A fetch queue that is too short is not asked for more than it holds. */
static void lines_of_code(struct kernel *k)
{
    const struct hp_core_config *core = &k->m->core;
    uint64_t in_line = k->m->l1i.line / 4, lines = 4;
    if (core->fetch_queue < core->width * (front(k) - 1))
        lines = core->fetch_queue / in_line;
    if (lines == 0)
        return;
    put(k, lines * in_line, NOP);
    run_kernel(k);
    assert_true(core->retire >= core->width);
    uint64_t cycles = lines * ((in_line + core->width - 1) / core->width);
    expect_cycles(k, "lines of code", cycles - 1 + front(k) + 1);
}

static void test_code(void **state)
{
    (void)state;
    on_each(cold_code);
    on_each(lines_of_code);
}

/* --- Load chains ------------------------------------------------------------------------------ */

#define LOADS 18

/* Each load has the next one's address: n of them take n latencies, whatever that is. */
static void expect_chain(struct kernel *k, const char *what, uint64_t latency,
                         enum hp_source_level from)
{
    expect_cycles(k, what, front(k) + k->n * latency + 1);
    for (size_t i = 0; i < k->n; i++)
        assert_int_equal(timing(k, i)->data_from, from);
}

static void chain_in_l1(struct kernel *k)
{
    for (unsigned i = 0; i < LOADS; i++)
        put_access(k, LOAD_CHAIN, DATA);
    run_kernel_warm(k, 1);
    expect_chain(k, "chain in L1", k->m->l1d.latency, HP_FROM_L1);
}

/* Lines of one set, one more than it has ways, round and round: with LRU each has just been evicted. `above`: of the level that they are too many for.
 * All fit the level below, whose sets they share out; the pages fit the DTLB. Twice before, to begin with all of them known. */
static void chain_behind(struct kernel *k, const struct hp_cache_config *above, const char *what,
                         uint64_t latency, enum hp_source_level from)
{
    uint64_t lines = above->ways + 1, stride = above->size / above->ways;
    for (unsigned i = 0; i < 2 * lines; i++)
        put_access(k, LOAD_CHAIN, DATA + i % lines * stride);
    run_kernel_warm(k, 2);
    expect_chain(k, what, latency, from);
}

static void chain_in_l2(struct kernel *k)
{
    if (k->m->l2.present)
        chain_behind(k, &k->m->l1d, "chain in L2", k->m->l2.latency, HP_FROM_L2);
}

/* The L2's stride is a multiple of the L1's: they share an L1 set too. */
static void chain_in_l3(struct kernel *k)
{
    if (k->m->l3.present)
        chain_behind(k, &k->m->l2, "chain in L3", k->m->l3.latency, HP_FROM_L3);
}

/* Lines that nobody has seen, on a page that is known. */
static void chain_in_memory(struct kernel *k)
{
    touch(k, DATA);
    for (unsigned i = 0; i < LOADS; i++)
        put_access(k, LOAD_CHAIN, DATA + 64 * (i + 1));
    run_kernel(k);
    expect_chain(k, "chain in memory", memory(k), HP_FROM_MEMORY);
}

/* Each on a page of its own: the walk comes first. */
static void chain_of_pages(struct kernel *k)
{
    uint64_t walk = k->m->dtlb.latency + (k->m->tlb2.present ? k->m->tlb2.latency : 0);
    for (unsigned i = 0; i < LOADS; i++)
        put_access(k, LOAD_CHAIN, DATA + i * k->m->dtlb.page);
    run_kernel(k);
    expect_chain(k, "chain of pages", memory(k) + walk, HP_FROM_MEMORY);
    assert_int_equal(with_event(k, HP_TIMING_DTLB), LOADS);
    assert_int_equal(with_event(k, HP_TIMING_TLB2), k->m->tlb2.present ? LOADS : 0);
}

static void test_load_chains(void **state)
{
    (void)state;
    on_each(chain_in_l1);
    on_each(chain_in_l2);
    on_each(chain_in_l3);
    on_each(chain_in_memory);
    on_each(chain_of_pages);
}

/* --- Lines on their way ----------------------------------------------------------------------- */

/* One load more than lines can be on their way: it starts when the first has arrived, in F + memory, and is there `memory` later. If the
 * memory queue is no longer than that, the load is only mapped then, when the first has retired, and starts a cycle later. */
static void too_many_misses(struct kernel *k)
{
    uint64_t n = k->m->core.misses + 1;
    bool queue_first = k->m->core.memory_queue < n;
    for (uint64_t i = 0; i <= n / 63; i++)
        touch(k, DATA + 4096 * i);
    for (uint64_t i = 0; i < n; i++)
        put_access(k, LOAD, DATA + 4096 * (i / 63) + 64 * (i % 63 + 1));
    run_kernel(k);
    expect_cycles(k, "too many misses", front(k) + memory(k) + queue_first + memory(k) + 1);
}

/* Two loads of a line: the second waits for the first one's. */
static void merged_misses(struct kernel *k)
{
    touch(k, DATA);
    put_access(k, LOAD, DATA + 64);
    put_access(k, LOAD_23, DATA + 72);
    run_kernel(k);
    assert_int_equal(done(k, 0), front(k) + memory(k));
    assert_int_equal(done(k, 1), front(k) + memory(k));
    assert_int_equal(with_event(k, HP_TIMING_L1D), 1);
    assert_true(timing(k, 1)->events & HP_TIMING_MERGED);
    assert_int_equal(timing(k, 1)->data_from, HP_FROM_MEMORY);
    /* In order, with one retired a cycle, the second leaves a cycle later. */
    expect_cycles(k, "merged misses", front(k) + memory(k) + (k->m->core.retire == 1) + 1);
}

static void test_lines_on_their_way(void **state)
{
    (void)state;
    on_each(too_many_misses);
    on_each(merged_misses);
}

/* --- Stores and loads ------------------------------------------------------------------------- */

#define PAIRS 8

/* A store and a load of one place, whose address the load before has. Out of order both are ready when that is done; the store is first, so the load
 * has the value after l1d.latency, although the line is far away. In order they are issued one after the other; when the load is, the store
 * has retired, and the value is in the cache (if it is there: no line is brought in by a store). */
static void forwarding(struct kernel *k)
{
    bool in_order = k->m->core.in_order;
    touch(k, DATA);
    for (unsigned i = 0; i < PAIRS; i++) {
        put_access(k, i % 2 ? STORE_3 : STORE, DATA + 64 * (i + 1));
        put_access(k, i % 2 ? LOAD_32 : LOAD_23, DATA + 64 * (i + 1));
    }
    run_kernel_warm(k, in_order);
    expect_cycles(k, "forwarding", front(k) + PAIRS * (k->m->l1d.latency + in_order) + 1);
    assert_int_equal(k->run.stats.forwards, in_order ? 0 : PAIRS);
    assert_int_equal(with_event(k, HP_TIMING_FORWARDED), in_order ? 0 : PAIRS);
    assert_int_equal(k->run.stats.traps, 0);
}

/* The store has half of what the load wants, and waits to retire behind a multiplication that is done in F + mul. The load is issued in the cycle in which the
 * store retires: the same, or where one retires a cycle the next. */
static void half_covered(struct kernel *k)
{
    put(k, 1, MUL);
    put_access(k, STORE_HALF, DATA);
    put_access(k, LOAD_23, DATA);
    run_kernel_warm(k, 1);
    uint64_t retired = front(k) + k->m->latency.mul + (k->m->core.retire == 1);
    assert_int_equal(left(k, 1), retired);
    assert_int_equal(issued(k, 2), retired);
    assert_int_equal(with_event(k, HP_TIMING_BLOCKED), 1);
    expect_cycles(k, "half covered", retired + k->m->l1d.latency + 1);
}

/* The store waits for its data until F + mul; the load did not wait for it, and is found out then. In the next cycle it is aborted, `mispredict` cycles later
 * fetched again, F later issued; the store has long retired. In order the load is issued a cycle behind the store. */
static void too_early(struct kernel *k)
{
    uint64_t stored = front(k) + k->m->latency.mul;
    put(k, 1, MUL_DATA);
    put_access(k, STORE, DATA);
    put_access(k, LOAD_23, DATA);
    run_kernel_warm(k, 1);
    assert_int_equal(issued(k, 1), stored);
    if (k->m->core.in_order) {
        assert_int_equal(k->run.stats.traps, 0);
        expect_cycles(k, "too early", stored + 1 + k->m->l1d.latency + 1);
        return;
    }
    assert_int_equal(k->run.stats.traps, 1);
    assert_int_equal(k->run.stats.trapped, 1);
    assert_true(timing(k, 2)->events & HP_TIMING_TRAPPED);
    assert_int_equal(issued(k, 2), front(k));
    assert_int_equal(left(k, 2), stored + 1);
    assert_int_equal(timing(k, 3)->fetched, stored + 1 + k->m->core.mispredict);
    expect_cycles(k, "too early",
                  stored + 1 + k->m->core.mispredict + front(k) + k->m->l1d.latency + 1);
}

/* A pointer that steps on does not wait for memory: the updates are a chain of adds, each store is issued with its own (it needs the one before). In order, one a
 * cycle, they take turns: the update first. */
static void stepping_stores(struct kernel *k)
{
    for (unsigned i = 0; i < LOADS; i++)
        put_access(k, STORE_STEP, DATA + 8 * i);
    run_kernel_warm(k, 1);
    uint64_t step = k->m->core.in_order ? 2 : k->m->latency.alu;
    uint64_t last = front(k) + (LOADS - 1) * step + k->m->core.in_order;
    expect_cycles(k, "stepping stores", last + 1 + 1);
}

/* Here the load comes before the update, which is done a cycle later in order. */
static void stepping_loads(struct kernel *k)
{
    for (unsigned i = 0; i < LOADS; i++)
        put_access(k, LOAD_STEP, DATA + 8 * i);
    run_kernel_warm(k, 1);
    uint64_t step = k->m->core.in_order ? 2 : k->m->latency.alu;
    uint64_t last = front(k) + (LOADS - 1) * step;
    uint64_t updated = last + k->m->core.in_order + k->m->latency.alu;
    uint64_t loaded = last + k->m->l1d.latency;
    expect_cycles(k, "stepping loads", (loaded > updated ? loaded : updated) + 1);
}

static void test_stores_and_loads(void **state)
{
    (void)state;
    on_each(forwarding);
    on_each(half_covered);
    on_each(too_early);
    on_each(stepping_stores);
    on_each(stepping_loads);
}

/* --- Full queues ------------------------------------------------------------------------------ */

/* In all of these the first instruction is a load from memory, issued in F and done in F + memory; what comes after it fills something, and the last instruction
 * needs one more, which is there in the cycle in which that load retires or wakes up the first that waits for it. It has been fetched long
 * before. */
static void expect_last_mapped(struct kernel *k, const char *what, uint32_t event)
{
    uint64_t expected = front(k) + memory(k);
    size_t last = k->n - 1;
    if (mapped(k, last) != expected || !(timing(k, last)->events & event)) {
        print_error("%s on %s: not mapped in %llu\n", what, hp_machine_name(k->m),
                    (unsigned long long)expected);
        pipe_print_timing(&k->run, last, stderr);
        fail();
    }
    assert_true(mapped(k, last - 1) < expected);
    assert_int_equal(with_event(k, event), 1);
}

static void put_head(struct kernel *k, enum word load)
{
    touch(k, DATA);
    put_access(k, load, DATA + 64);
}

/* Nops take a place in the reorder buffer and nothing else. */
static void reorder_full(struct kernel *k)
{
    put_head(k, LOAD);
    put(k, k->m->core.reorder - 1, NOP);
    put(k, 1, ADD);
    run_kernel(k);
    expect_last_mapped(k, "reorder buffer", HP_TIMING_NO_REORDER);
    /* They retire in order, so many a cycle, from F + memory on; the last is done by then or alu + 1 after it was mapped. */
    uint64_t slots = front(k) + memory(k) + k->m->core.reorder / k->m->core.retire;
    uint64_t done_in = front(k) + memory(k) + 1 + k->m->latency.alu;
    expect_cycles(k, "reorder buffer", (slots > done_in ? slots : done_in) + 1);
}

/* Adds of what is loaded wait in the queue. Where it has room for all in flight, the reorder buffer is full first. */
static void int_queue_full(struct kernel *k)
{
    const struct hp_core_config *core = &k->m->core;
    bool reorder_first = core->reorder - 1 <= core->int_queue;
    put_head(k, LOAD);
    put(k, reorder_first ? core->reorder - 1 : core->int_queue, ADD_OF_LOAD);
    put(k, 1, ADD_OF_LOAD);
    run_kernel(k);
    expect_last_mapped(k, "int queue", reorder_first ? HP_TIMING_NO_REORDER : HP_TIMING_NO_QUEUE);
}

/* Without a queue of its own floating point waits in the other. */
static void fp_queue_full(struct kernel *k)
{
    const struct hp_core_config *core = &k->m->core;
    uint64_t queue = core->fp_queue ? core->fp_queue : core->int_queue;
    bool reorder_first = core->reorder - 1 <= queue;
    put_head(k, LOAD_FP);
    put(k, reorder_first ? core->reorder - 1 : queue, FADD_OF_LOAD);
    put(k, 1, FADD_OF_LOAD);
    run_kernel(k);
    expect_last_mapped(k, "fp queue", reorder_first ? HP_TIMING_NO_REORDER : HP_TIMING_NO_QUEUE);
}

/* Stores that are done keep their slot until they retire. */
static void memory_queue_full(struct kernel *k)
{
    put_head(k, LOAD);
    for (uint64_t i = 0; i < k->m->core.memory_queue; i++)
        put_access(k, STORE, DATA);
    run_kernel(k);
    expect_last_mapped(k, "memory queue", HP_TIMING_NO_MEMORY_QUEUE);
}

/* The load writes a register, too. 32 are always taken. */
static void int_registers_full(struct kernel *k)
{
    uint64_t registers = k->m->core.int_registers - 32;
    bool reorder_first = k->m->core.reorder <= registers;
    put_head(k, LOAD);
    put(k, (reorder_first ? k->m->core.reorder : registers) - 1, ADD);
    put(k, 1, ADD);
    run_kernel(k);
    expect_last_mapped(k, "registers",
                       reorder_first ? HP_TIMING_NO_REORDER : HP_TIMING_NO_REGISTER);
}

static void fp_registers_full(struct kernel *k)
{
    uint64_t registers = k->m->core.fp_registers - 32;
    bool reorder_first = k->m->core.reorder - 1 <= registers;
    put_head(k, LOAD);
    put(k, reorder_first ? k->m->core.reorder - 1 : registers, FADD);
    put(k, 1, FADD);
    run_kernel(k);
    expect_last_mapped(k, "fp registers",
                       reorder_first ? HP_TIMING_NO_REORDER : HP_TIMING_NO_REGISTER);
}

static void test_full_queues(void **state)
{
    (void)state;
    on_each(reorder_full);
    on_each(int_queue_full);
    on_each(fp_queue_full);
    on_each(memory_queue_full);
    on_each(int_registers_full);
    on_each(fp_registers_full);
}

/* --- Branches --------------------------------------------------------------------------------- */

#define JUMPS 6

/* Feeds blocks at the addresses, each of which goes to the next; of the last, one instruction as a tail. The code is known, the predictors are not. */
static void feed_blocks(struct kernel *k, const uint32_t *blocks, uint32_t n)
{
    uint8_t taken[16];
    memset(taken, 1, sizeof taken);
    struct hp_batch batch = {.code = k->code,
                             .table = hp_code_blocks(k->code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = n - 1};
    for (uint32_t i = 0; i < n; i++) {
        struct hp_event tail = {.block = blocks[i], .insns = UINT32_MAX, .exact = true};
        pipe_feed_tail(&k->warm, &tail);
    }
    pipe_feed_batch(&k->feed, &batch, NULL);
    struct hp_event last = {.block = blocks[n - 1], .insns = 1, .exact = true};
    pipe_feed_tail(&k->feed, &last);
}

/* Jumps to where nobody knows: the right target is fetched `mispredict` after the jump is done, which is F + branch after it was fetched. Behind the last
 * is an add. */
static void mispredicted_jumps(struct kernel *k)
{
    static const uint32_t jump[] = {JUMP}, add[] = {ADD, RETURN};
    uint32_t blocks[JUMPS + 1];
    for (unsigned i = 0; i < JUMPS; i++)
        blocks[i] = kernel_block(k, CODE + 256 * i, jump, 1);
    blocks[JUMPS] = kernel_block(k, CODE + 256 * JUMPS, add, 2);
    feed_blocks(k, blocks, JUMPS + 1);
    run_both(k, false);
    uint64_t period = front(k) + k->m->latency.branch + k->m->core.mispredict;
    assert_int_equal(with_event(k, HP_TIMING_MISPREDICTED), JUMPS);
    assert_int_equal(k->run.n, JUMPS + 1);
    expect_cycles(k, "mispredicted jumps", JUMPS * period + front(k) + k->m->latency.alu + 1);
}

/* A forward branch that is taken when it is new: no predictor says so. What is behind it is fetched, and aborted when it is done, without costing
 * anything: the sum is that of a jump. */
static void wrong_path(struct kernel *k, bool none)
{
    static const uint32_t branch[] = {0x54000801u /* b.ne 256 bytes on */};
    static const uint32_t add[] = {ADD, RETURN}, adds[] = {ADD, ADD, ADD, ADD, ADD, ADD, RETURN};
    uint32_t blocks[2] = {kernel_block(k, CODE, branch, 1)};
    kernel_block(k, CODE + 4, adds, 7);
    blocks[1] = kernel_block(k, CODE + 256, add, 2);
    feed_blocks(k, blocks, 2);
    run_both(k, none);
    uint64_t resolved = front(k) + k->m->latency.branch;
    assert_int_equal(with_event(k, HP_TIMING_MISPREDICTED), 1);
    expect_cycles(k, "wrong path",
                  resolved + k->m->core.mispredict + front(k) + k->m->latency.alu + 1);
    assert_int_equal(timing(k, k->run.n - 1)->fetched, resolved + k->m->core.mispredict);
}

/* What is behind it was never run, and is in no file: nothing is known of it. */
static void wrong_path_unknown(struct kernel *k)
{
    wrong_path(k, false);
    assert_int_equal(k->run.stats.wrong_path, 0);
}

static void no_wrong_path(struct kernel *k)
{
    wrong_path(k, true);
    assert_int_equal(k->run.stats.wrong_path, 0);
}

/* The same branch, run twice before: not taken to what is behind it, which goes back; now it is known code. */
static void wrong_path_known(struct kernel *k)
{
    static const uint32_t branch[] = {0x54000801u};
    static const uint32_t add[] = {ADD, RETURN}, adds[] = {ADD, ADD, ADD, ADD, ADD, ADD, RETURN};
    uint32_t blocks[] = {kernel_block(k, CODE, branch, 1), kernel_block(k, CODE + 4, adds, 7), 0};
    uint64_t resolved = front(k) + k->m->latency.branch, lines = 0;
    blocks[2] = kernel_block(k, CODE + 256, add, 2);
    for (unsigned i = 0; i < 3; i++) {
        struct hp_event tail = {.block = blocks[i], .insns = UINT32_MAX, .exact = true};
        pipe_feed_tail(&k->warm, &tail);
    }
    struct hp_event reach = {.block = blocks[1], .insns = 7, .exact = true};
    pipe_feed_tail(&k->feed, &reach);
    pipe_feed_drain(&k->feed);
    feed_blocks(k, (const uint32_t[]){blocks[0], blocks[2]}, 2);
    run_both(k, false);
    const struct hp_timing *mispredicted = timing(k, 7);
    assert_true(mispredicted->events & HP_TIMING_MISPREDICTED);
    assert_true(timing(k, 8)->events & HP_TIMING_WRONG_PATH);
    /* It is fetched with the branch, or in the next cycle where there is one a cycle. */
    assert_int_equal(timing(k, 8)->fetched, mispredicted->fetched + (k->m->core.width == 1));
    for (size_t i = 8; i < k->run.n - 1; i++) {
        assert_true(timing(k, i)->events & HP_TIMING_WRONG_PATH);
        assert_int_equal(left(k, i), mispredicted->fetched + resolved);
        lines++;
    }
    assert_int_equal(k->run.stats.wrong_path, lines);
    assert_int_equal(timing(k, k->run.n - 1)->fetched,
                     mispredicted->fetched + resolved + k->m->core.mispredict);
}

static void test_mispredictions(void **state)
{
    (void)state;
    on_each(mispredicted_jumps);
    on_each(wrong_path_unknown);
    on_each(no_wrong_path);
    on_each(wrong_path_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),           cmocka_unit_test(test_divider),
        cmocka_unit_test(test_order_of_issue),   cmocka_unit_test(test_code),
        cmocka_unit_test(test_load_chains),      cmocka_unit_test(test_lines_on_their_way),
        cmocka_unit_test(test_stores_and_loads), cmocka_unit_test(test_full_queues),
        cmocka_unit_test(test_mispredictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
