// SPDX-License-Identifier: MIT
/*
 * The pipe and memory: cycles counted by hand, on each shipped machine, as in test_pipe_kernels.c.
 */
#include "pipe_kernel.h"

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

/* Lines of one set, one more than it has ways, round and round: with LRU each has just been
 * evicted. `above`: of the level that they are too many for. All fit the level below, whose sets
 * they share out; the pages fit the DTLB. Twice before, to begin with all of them known. */
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

/* One load more than lines can be on their way: it starts when the first has arrived, in F +
 * memory, and is there `memory` later. If the memory queue is no longer than that, the load is only
 * mapped then, when the first has retired, and starts a cycle later. */
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

/* A store and a load of one place, whose address the load before has. Out of order both are ready
 * when that is done; the store is first, so the load has the value after l1d.latency, although the
 * line is far away. In order they are issued one after the other; when the load is, the store has
 * retired, and the value is in the cache (if it is there: no line is brought in by a store). */
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

/* The store has half of what the load wants, and waits to retire behind a multiplication that is
 * done in F + mul. The load is issued in the cycle in which the store retires: the same, or where
 * one retires a cycle the next. */
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

/* The store waits for its data until F + mul; the load did not wait for it, and is found out then.
 * In the next cycle it is aborted, `mispredict` cycles later fetched again, F later issued; the
 * store has long retired. In order the load is issued a cycle behind the store. */
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

#define PERIOD 16384 /* cycles */

/* Feeds the first `n` instructions of a block as a tail, and what the functional model has to see
 * of them before. */
static void feed_part(struct kernel *k, uint32_t block, uint64_t n, size_t n_addresses)
{
    static const uint64_t addresses[] = {DATA, DATA};
    struct hp_event tail = {.block = block,
                            .insns = (uint32_t)n,
                            .exact = true,
                            .addresses = addresses,
                            .n_addresses = n_addresses};
    pipe_feed_tail(&k->warm, &tail);
    pipe_feed_tail(&k->feed, &tail);
}

/* The kernel `too_early` three times, behind as many dependent adds as it takes to have its load
 * found out in cycle `found`. Each starts in the cycle in which the one before has retired; n adds
 * take F + n cycles. */
static size_t traps_when_found_in(struct kernel *k, uint64_t found)
{
    static const uint32_t early[] = {MUL_DATA, STORE, LOAD_23, RETURN};
    uint32_t chain[KERNEL_MAX], n = KERNEL_MAX - 1;
    for (uint32_t i = 0; i < n; i++)
        chain[i] = ADD_CHAIN;
    chain[n] = RETURN;
    uint32_t adds = kernel_block(k, CODE, chain, n + 1);
    uint32_t block = kernel_block(k, CODE + 0x4000, early, 4);
    uint64_t rest = found - front(k) - k->m->latency.mul;
    assert_int_equal(k->m->latency.alu, 1);
    for (; rest > n + 2 * front(k); rest -= front(k) + n / 2)
        feed_part(k, adds, n / 2, 0);
    feed_part(k, adds, rest - front(k), 0);
    for (unsigned i = 0; i < 3; i++)
        feed_part(k, block, 3, 2);
    run_both(k, false);
    size_t first = k->run.n;
    for (size_t i = k->run.n; i-- > 0;)
        if (timing(k, i)->events & HP_TIMING_TRAPPED)
            first = i;
    if (first < k->run.n)
        assert_int_equal(left(k, first), found + 1);
    return k->run.stats.traps;
}

/* A load that was found too early waits for the stores before it until the period is over in which
 * it was. Found in the last cycle of one, it is found once more; after that, and in the first cycle
 * of the next, it has learnt. */
static void found_at_the_end(struct kernel *k)
{
    assert_int_equal(traps_when_found_in(k, PERIOD - 1), k->m->core.in_order ? 0 : 2);
    assert_int_equal(with_event(k, HP_TIMING_BLOCKED), k->m->core.in_order ? 0 : 1);
}

static void found_at_the_start(struct kernel *k)
{
    assert_int_equal(traps_when_found_in(k, PERIOD), k->m->core.in_order ? 0 : 1);
    assert_int_equal(with_event(k, HP_TIMING_BLOCKED), k->m->core.in_order ? 0 : 2);
}

/* A pointer that steps on does not wait for memory: the updates are a chain of adds, each store is
 * issued with its own (it needs the one before). In order, one a cycle, they take turns: the update
 * first. */
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
    on_each(found_at_the_end);
    on_each(found_at_the_start);
    on_each(stepping_stores);
    on_each(stepping_loads);
}

/* --- Full queues ------------------------------------------------------------------------------ */

/* In all of these the first instruction is a load from memory, issued in F and done in F + memory;
 * what comes after it fills something, and the last instruction needs one more, which is there in
 * the cycle in which that load retires or wakes up the first that waits for it. It has been fetched
 * long before. */
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
    /* They retire in order, so many a cycle, from F + memory on; the last is done by then or alu +
     * 1 after it was mapped. */
    uint64_t slots = front(k) + memory(k) + k->m->core.reorder / k->m->core.retire;
    uint64_t done_in = front(k) + memory(k) + 1 + k->m->latency.alu;
    expect_cycles(k, "reorder buffer", (slots > done_in ? slots : done_in) + 1);
}

/* Adds of what is loaded wait in the queue. Where it has room for all in flight, the reorder buffer
 * is full first. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_chains),
        cmocka_unit_test(test_lines_on_their_way),
        cmocka_unit_test(test_stores_and_loads),
        cmocka_unit_test(test_full_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
