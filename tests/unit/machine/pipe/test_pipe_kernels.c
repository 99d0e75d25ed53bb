// SPDX-License-Identifier: MIT
/*
 * The pipe: cycles counted by hand, on each shipped machine. F is `front_stages`: what is fetched
 * in cycle 0 is issued in cycle F at the earliest. The last instruction retires in the last cycle,
 * so cycles = its cycle of retirement + 1; what is alone at the end of a chain retires when it is
 * done.
 */
#include "pipe_kernel.h"

/* --- Chains and streams ----------------------------------------------------------------------- */

/* The first is issued in F, each `alu` cycles behind the one before: the last of n is done in F + n
 * * alu. */
static void dependent_adds(struct kernel *k)
{
    put(k, 40, ADD_CHAIN);
    run_kernel(k);
    expect_cycles(k, "dependent adds", front(k) + 40 * k->m->latency.alu + 1);
}

/* As many at once as there are units, if so many come: `alu` is at most `width` on all four, and a
 * group is issued in each cycle from F on. */
static void independent_adds(struct kernel *k)
{
    const struct hp_core_config *core = &k->m->core;
    uint64_t at_once = k->m->units.alu, n = 96;
    assert_true(at_once <= core->width && at_once <= core->issue && at_once <= core->retire);
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

/* The units take one in each cycle: n / mul groups, the last of which is issued in F + n / mul - 1.
 */
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

/* A multiplication, what needs it, and what does not: in order that has to wait a cycle more than
 * what is before it. */
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

/* What runs alone is mapped when the one before has retired, in F + alu; it is issued in the cycle
 * after, and retires alu later. Then the next is mapped, issued a cycle later and done alu later.
 */
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

/* Two nops on both sides of a line's end, on a page and in lines that nobody has seen. The first is
 * fetched when its line is there; the second line is read in the next cycle (one port), and comes
 * from memory as well. A nop retires F after it was fetched. */
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

/* Nops by the line, all known: each cycle reads one line, so a line of n instructions takes n /
 * width cycles, rounded up. What was fetched in the last of them retires F later. The fetch queue
 * has room for what is fetched in the F - 1 cycles until it is mapped. */
static void lines_of_code(struct kernel *k)
{
    const struct hp_core_config *core = &k->m->core;
    uint64_t in_line = k->m->l1i.line / 4, lines = 6;
    put(k, lines * in_line, NOP);
    run_kernel(k);
    assert_true(core->retire >= core->width && core->fetch_queue >= core->width * (front(k) - 1));
    uint64_t cycles = lines * ((in_line + core->width - 1) / core->width);
    expect_cycles(k, "lines of code", cycles - 1 + front(k) + 1);
}

static void test_code(void **state)
{
    (void)state;
    on_each(cold_code);
    on_each(lines_of_code);
}

/* --- Branches --------------------------------------------------------------------------------- */

#define JUMPS 6

/* The code of blocks is known, the predictors are not. */
static void warm_code(struct kernel *k, const uint32_t *blocks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct hp_event tail = {.block = blocks[i], .insns = UINT32_MAX, .exact = true};
        pipe_feed_tail(&k->warm, &tail);
    }
}

/* Feeds blocks, each of which goes to the next; of the last, one instruction as a tail. */
static void feed_blocks(struct kernel *k, const uint32_t *blocks, uint32_t n)
{
    uint8_t taken[16];
    memset(taken, 1, sizeof taken);
    struct hp_batch batch = {.code = k->code,
                             .table = hp_code_blocks(k->code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = n - 1};
    warm_code(k, blocks, n);
    pipe_feed_batch(&k->feed, &batch, NULL);
    struct hp_event last = {.block = blocks[n - 1], .insns = 1, .exact = true};
    pipe_feed_tail(&k->feed, &last);
}

/* Jumps to where nobody knows: the right target is fetched `mispredict` after the jump is done,
 * which is F + branch after it was fetched. Behind the last is an add. */
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

/* A forward branch that is taken when it is new: no predictor says so. What is behind it is
 * fetched, and aborted when it is done, without costing anything: the sum is that of a jump. */
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

/* The same branch, run twice before: not taken to what is behind it, which goes back; now it is
 * known code. */
static void wrong_path_known(struct kernel *k)
{
    static const uint32_t branch[] = {0x54000801u};
    static const uint32_t add[] = {ADD, RETURN}, adds[] = {ADD, ADD, ADD, ADD, ADD, ADD, RETURN};
    uint32_t blocks[] = {kernel_block(k, CODE, branch, 1), kernel_block(k, CODE + 4, adds, 7), 0};
    uint64_t resolved = front(k) + k->m->latency.branch, lines = 0;
    blocks[2] = kernel_block(k, CODE + 256, add, 2);
    warm_code(k, blocks, 3);
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

/* --- The branch queue ------------------------------------------------------------------------- */

#define COST 9

/* Jumps that each keep the profiler for COST cycles; one is fetched every other cycle at least (no
 * target is in the BTB), so they wait for it. The first starts when it retires, in F + branch, and
 * they are finished one after the other, every COST cycles. The i-th retires when all but Q of
 * those before it are finished: that many times COST after the first. */
static void branch_queue(struct kernel *k)
{
    static const uint32_t jump[] = {0x14000040u /* b 256 bytes on */}, add[] = {ADD, RETURN};
    const unsigned queue = 2;
    uint16_t costs[JUMPS];
    uint8_t taken[JUMPS];
    uint32_t blocks[JUMPS + 1];
    for (unsigned i = 0; i < JUMPS; i++) {
        blocks[i] = kernel_block(k, CODE + 256 * i, jump, 1);
        costs[i] = COST;
        taken[i] = 1;
    }
    blocks[JUMPS] = kernel_block(k, CODE + 256 * JUMPS, add, 2);
    warm_code(k, blocks, JUMPS + 1);
    struct hp_batch batch = {.code = k->code,
                             .table = hp_code_blocks(k->code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = JUMPS};
    pipe_feed_batch(&k->feed, &batch, costs);
    k->queue = (int)queue;
    run_both(k, false);
    uint64_t first = front(k) + k->m->latency.branch;
    for (unsigned i = 0; i < JUMPS; i++)
        assert_int_equal(left(k, i), first + (i <= queue ? 2 * i : (i - queue) * COST));
    assert_int_equal(with_event(k, HP_TIMING_QUEUE_STALL), JUMPS - 1 - queue);
    /* The first that has to wait is there when it is done; the others in the cycle in which the one
     * before leaves, if they could leave with it. */
    uint64_t waits = COST - (k->m->core.retire == 1);
    assert_int_equal(k->run.stats.queue_stalls,
                     COST - 2 * (queue + 1) + (JUMPS - 2 - queue) * waits);
}

static void test_branch_queue(void **state)
{
    (void)state;
    on_each(branch_queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),         cmocka_unit_test(test_divider),
        cmocka_unit_test(test_order_of_issue), cmocka_unit_test(test_code),
        cmocka_unit_test(test_mispredictions), cmocka_unit_test(test_branch_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
