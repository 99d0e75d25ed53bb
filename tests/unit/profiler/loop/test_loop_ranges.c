// SPDX-License-Identifier: MIT
/*
 * The loop model "ranges" on branches worked out by hand.
 */
#include "hotpath/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hp_loop_model *model;

static void start(const char *text)
{
    struct hp_loop_config config;
    assert_int_equal(hp_loop_config_parse(text, &config), HP_OK);
    assert_int_equal(hp_loop_model_new(&config, &model), HP_OK);
}

/* A run of `insns` instructions from `from` to the branch at `at`, which goes to `to`. */
static void go(uint64_t from, uint64_t at, uint64_t to, enum hp_flow flow, uint32_t insns)
{
    struct hp_branch branch = {.start = from,
                               .address = at,
                               .target = to,
                               .end = at + 2,
                               .insns = insns,
                               .flow = (uint8_t)flow,
                               .taken = flow != HP_FLOW_COND || to != at + 2};
    hp_loop_model_branch(model, 0, &branch);
}

/* Do-while at `low`, its branch at `high`: `rounds` of `insns` instructions; entered by falling
 * into it from `from`. */
static void loop(uint64_t from, uint64_t low, uint64_t high, uint32_t rounds, uint32_t insns)
{
    for (uint32_t i = 1; i <= rounds; i++)
        go(i == 1 ? from : low, high, i < rounds ? low : high + 2, HP_FLOW_COND, insns);
}

/* What is known of the loop that is entered there. */
static struct hp_loop_entry entry_at(uint64_t target)
{
    struct hp_loop_entry *entries, found = {0};
    size_t n;
    assert_int_equal(hp_loop_model_entries(model, &entries, &n), HP_OK);
    for (size_t i = 0; i < n; i++)
        if (entries[i].target == target)
            found = entries[i];
    free(entries);
    return found;
}

static size_t count_entries(void)
{
    struct hp_loop_entry *entries;
    size_t n;
    assert_int_equal(hp_loop_model_entries(model, &entries, &n), HP_OK);
    free(entries);
    return n;
}

static void assert_loop(uint64_t target, uint64_t address, double executions, double iterations,
                        double instructions)
{
    struct hp_loop_entry entry = entry_at(target);
    assert_int_equal(entry.address, address);
    assert_true(entry.executions == executions);
    assert_true(entry.iterations == iterations);
    assert_true(entry.average == (executions > 0 ? iterations / executions : 0));
    assert_true(entry.instructions == instructions);
}

static int stop(void **state)
{
    (void)state;
    hp_loop_model_free(model);
    model = NULL;
    return 0;
}

/* Each of `times` calls runs it once. */
static void in_a_function(int times, uint32_t rounds)
{
    for (int i = 0; i < times; i++) {
        go(0x900, 0x902, 0x1000, HP_FLOW_CALL, 2);
        loop(0x1000, 0x1010, 0x1020, rounds, 5);
        go(0x1022, 0x1030, 0x904, HP_FLOW_RETURN, 3);
    }
}

static void executions_and_iterations(void **state)
{
    (void)state;
    start("ranges");
    in_a_function(5, 10);
    assert_loop(0x1010, 0x1020, 5, 5 * 9, 5 * 10 * 5); /* the second round stands for the first */
}

static void executions_that_never_go_back_do_not_count(void **state)
{
    (void)state;
    start("ranges");
    in_a_function(2, 3);
    in_a_function(7, 1);
    assert_loop(0x1010, 0x1020, 2, 2 * 2, 2 * 3 * 5);
}

static void nests_have_their_own(void **state)
{
    (void)state;
    start("ranges");
    for (int i = 0; i < 6; i++) { /* 0x100e: outer, 0x1010: inner */
        loop(0x1000, 0x1010, 0x1020, 4, 5);
        go(0x1022, 0x1030, i < 5 ? 0x1000 : 0x1032, HP_FLOW_COND, 3);
    }
    assert_loop(0x1010, 0x1020, 6, 6 * 3, 6 * 4 * 5);
    /* Known from its first branch back on; five more rounds, the first of them counts twice. */
    assert_loop(0x1000, 0x1030, 1, 5, 6 * 3);
}

static void what_is_called_does_not_end_the_loop(void **state)
{
    (void)state;
    start("ranges");
    for (int i = 0; i < 10; i++) { /* the loop calls a function with a loop at a higher address */
        go(0x1000, 0x1004, 0x2000, HP_FLOW_CALL, 2);
        loop(0x2000, 0x2010, 0x2020, 3, 5);
        go(0x2022, 0x2024, 0x1006, HP_FLOW_RETURN, 1);
        go(0x1006, 0x1010, i < 9 ? 0x1000 : 0x1012, HP_FLOW_COND, 2);
    }
    assert_loop(0x1000, 0x1010, 1, 9, 10 * 4);
    assert_loop(0x2010, 0x2020, 10, 20, 10 * 3 * 5);
}

static void recursion_is_another_activation(void **state)
{
    (void)state;
    start("ranges");
    loop(0x0ff0, 0x1000, 0x1010, 3, 5); /* it is known */
    go(0x1012, 0x1020, 0x900, HP_FLOW_RETURN, 1);
    go(0x900, 0x902, 0x0ff0, HP_FLOW_CALL, 1);
    loop(0x0ff0, 0x1000, 0x1010, 2, 5);
    go(0x1000, 0x1008, 0x0ff0, HP_FLOW_CALL, 4); /* in its third round it calls itself */
    loop(0x0ff0, 0x1000, 0x1010, 4, 5);
    go(0x1012, 0x1020, 0x100a, HP_FLOW_RETURN, 1);
    go(0x100a, 0x1010, 0x1000, HP_FLOW_COND, 1);
    loop(0x1000, 0x1000, 0x1010, 1, 5);
    /* 2 back edges; 1 + the third and the fourth round; 3. */
    assert_loop(0x1000, 0x1010, 3, 2 + 3 + 3, (3 + 2 + 4 + 1) * 5 + 4 + 1);
}

/* A while loop: a jump to the test, which lies behind the body. */
static void entered_at_its_test(void **state)
{
    (void)state;
    start("ranges");
    for (int i = 0; i < 4; i++) {
        go(0x900, 0x902, 0x0ff0, HP_FLOW_CALL, 1);
        go(0x0ff0, 0x0ff8, 0x1010, HP_FLOW_JUMP, 2);
        for (int k = 0; k <= 6; k++)
            go(k ? 0x1000 : 0x1010, 0x1020, k < 6 ? 0x1000 : 0x1022, HP_FLOW_COND, k ? 9 : 3);
        go(0x1022, 0x1030, 0x904, HP_FLOW_RETURN, 3);
    }
    /* What is before the first round of the body is taken for one like it. */
    assert_loop(0x1010, 0x1020, 4, 4 * 6, 4 * 7 * 9);
}

/* The head is learnt from where it is entered when the first branch back did not show it. */
static void its_head_is_learnt(void **state)
{
    (void)state;
    start("ranges");
    for (int i = 0; i < 6; i++) {
        go(0x900, 0x902, 0x0ff0, HP_FLOW_CALL, 1);
        go(0x0ff0, 0x0ff8, 0x1010, HP_FLOW_JUMP, 2);
        go(0x1010, 0x1012, 0x1018, HP_FLOW_COND, 1); /* another branch forward */
        for (int k = 0; k <= 6; k++)
            go(k ? 0x1000 : 0x1018, 0x1020, k < 6 ? 0x1000 : 0x1022, HP_FLOW_COND, 4);
        go(0x1022, 0x1030, 0x904, HP_FLOW_RETURN, 3);
    }
    assert_true(entry_at(0x1010).executions >= 3);
    assert_true(entry_at(0x1010).average == 6);
    assert_int_equal(count_entries(), 1);
}

/* Blocks that lie behind a loop and lead back into it are no loop, and what they execute is the
 * loop's. */
static void blocks_out_of_line(void **state)
{
    (void)state;
    start("ranges");
    for (int i = 0; i < 20; i++) {
        bool aside = i % 2;
        go(0x1000, 0x1008, aside ? 0x1100 : 0x100a, HP_FLOW_COND, 3);
        if (aside)
            go(0x1100, 0x1108, 0x100a, HP_FLOW_JUMP, 4);
        go(0x100a, 0x1010, i < 19 ? 0x1000 : 0x1012, HP_FLOW_COND, 3);
    }
    go(0x1012, 0x1020, 0x904, HP_FLOW_RETURN, 5);
    assert_int_equal(count_entries(), 1);
    /* Until it is known they are taken for a loop, once. */
    assert_loop(0x1000, 0x1010, 1, 19, 2 * (6 + 4) + 18 * 6 + 9 * 4);
}

static void a_branch_back_below_ends_it(void **state)
{
    (void)state;
    start("ranges,max-offset=64");
    for (int i = 0; i < 3; i++) { /* the outer loop is too large to be known */
        go(0x0e00, 0x0e08, 0x1000, HP_FLOW_JUMP, 2);
        loop(0x1000, 0x1010, 0x1020, 4, 5);
        go(0x1022, 0x1030, 0x0e00, HP_FLOW_JUMP, 2);
    }
    assert_int_equal(count_entries(), 1);
    assert_loop(0x1010, 0x1020, 3, 9, 12 * 5);
    assert_int_equal(hp_loop_model_stats(model)->branches, 9);
}

static void counts_that_do_not_fit_are_right_on_average(void **state)
{
    (void)state;
    start("ranges,execution-bits=8,iteration-bits=8,instruction-bits=8");
    in_a_function(20000, 11);
    struct hp_loop_entry entry = entry_at(0x1010);
    assert_true(entry.executions > 17000 && entry.executions < 23000);
    assert_true(entry.iterations > 170000 && entry.iterations < 230000);
    assert_true(entry.instructions > 20000 * 55 * 0.85 && entry.instructions < 20000 * 55 * 1.15);
    assert_true(entry.executions != 20000); /* it is rounded */
}

static void long_executions(void **state)
{
    (void)state;
    start("ranges,iteration-bits=22,instruction-bits=30");
    in_a_function(2, 5000);
    assert_loop(0x1010, 0x1020, 2, 2 * 4999, 2 * 5000 * 5);
}

/* Heavy loops stay when many light ones come by. */
static void light_loops_do_not_replace_heavy_ones(void **state)
{
    (void)state;
    start("ranges,entries=4");
    for (int i = 0; i < 200; i++) {
        in_a_function(1, 1000);
        for (uint64_t k = 1; k <= 50; k++) {
            go(0x900, 0x902, 0x10000 * k, HP_FLOW_CALL, 1);
            loop(0x10000 * k, 0x10000 * k + 4, 0x10000 * k + 8, 2, 2);
            go(0x10000 * k + 10, 0x10000 * k + 12, 0x904, HP_FLOW_RETURN, 1);
        }
    }
    struct hp_loop_entry entry = entry_at(0x1010);
    assert_true(entry.executions == 200);
    assert_true(entry.iterations > 199000 && entry.iterations < 200600);
    assert_int_equal(count_entries(), 4);
}

static void a_late_heavy_loop_gets_in(void **state)
{
    (void)state;
    start("ranges,entries=2");
    for (uint64_t k = 1; k <= 20; k++) {
        go(0x900, 0x902, 0x10000 * k, HP_FLOW_CALL, 1);
        loop(0x10000 * k, 0x10000 * k + 4, 0x10000 * k + 8, 50, 2);
        go(0x10000 * k + 10, 0x10000 * k + 12, 0x904, HP_FLOW_RETURN, 1);
    }
    in_a_function(50, 1000);
    assert_true(entry_at(0x1010).executions > 45);
    assert_true(hp_loop_model_stats(model)->replacements > 0);
}

static void more_loops_on_than_there_is_room_for(void **state)
{
    (void)state;
    start("ranges,contexts=2");
    for (int i = 0; i < 4; i++)
        for (uint64_t k = 1; k <= 5; k++) { /* each calls the next from its loop */
            loop(0x10000 * k, 0x10000 * k + 4, 0x10000 * k + 8, 3, 2);
            go(0x10000 * k + 4, 0x10000 * k + 6, 0x10000 * (k + 1), HP_FLOW_CALL, 1);
        }
    assert_true(hp_loop_model_stats(model)->context_overflows > 0);
    assert_int_equal(count_entries(), 5);
}

/* --- Sizes and names -------------------------------------------------------------------------- */

static uint64_t bits_of(const char *text)
{
    struct hp_loop_config config;
    assert_int_equal(hp_loop_config_parse(text, &config), HP_OK);
    return hp_loop_config_bits(&config);
}

static void bits_by_hand(void **state)
{
    (void)state;
    /* ARM: address 30, two offsets of 13 (8192 instructions), three numbers with exponents of 5,
     * trust 4, a flag. */
    const uint64_t entry = 30 + 2 * 13 + (14 + 5) + (14 + 5) + (12 + 5) + 4 + 1;
    /* Slot, current iterations, calls, two flags; how many are on; instructions, whose, aside, the
     * last jump, where the run began, random. */
    const uint64_t on = 5 + 10 + 6 + 2, rest = 4 + 40 + 5 + 16 + (30 + 13) + 30 + 32;
    assert_int_equal(bits_of("ranges"), 20 * entry + 11 * on + rest);
    assert_true(bits_of("ranges") <= bits_of("daprof"));
    /* x86-64: address 48, offsets of 15. */
    assert_int_equal(bits_of("ranges,address-bits=48,insn-bytes=1"),
                     20 * (entry + 18 + 4) + 11 * on + rest + 18 + 2 + 18);
    assert_true(bits_of("ranges,address-bits=48,insn-bytes=1") <=
                bits_of("daprof,address-bits=48,insn-bytes=1"));
    /* Thumb */
    assert_true(bits_of("ranges,insn-bytes=2") <= bits_of("daprof,insn-bytes=2"));
}

static void names(void **state)
{
    (void)state;
    static const char *const good[] = {"ranges", "ranges,entries=64,max-offset=1024",
                                       "ranges,execution-bits=10,depth-bits=3,contexts=4",
                                       "ranges,iteration-bits=10,instruction-bits=20"};
    static const char *const bad[] = {"ranges,entries=65",
                                      "ranges,ways=4",
                                      "ranges,calls",
                                      "ranges,tasks",
                                      "ranges,ratio=7/8",
                                      "ranges,fifo=4",
                                      "ranges,contexts=0",
                                      "ranges,instruction-bits=1",
                                      "daprof,instruction-bits=12"};
    struct hp_loop_config config, again;
    char text[256];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(hp_loop_config_parse(good[i], &config), HP_OK);
        hp_loop_config_format(&config, text, sizeof text);
        assert_int_equal(hp_loop_config_parse(text, &again), HP_OK);
        assert_memory_equal(&config, &again, sizeof config);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hp_loop_config_parse(bad[i], &config), HP_ERR_INVALID);
    assert_int_equal(hp_loop_config_parse("ranges", &config), HP_OK);
    config.tasks = true;
    assert_int_equal(hp_loop_model_new(&config, &model), HP_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(executions_and_iterations, stop),
        cmocka_unit_test_teardown(executions_that_never_go_back_do_not_count, stop),
        cmocka_unit_test_teardown(nests_have_their_own, stop),
        cmocka_unit_test_teardown(what_is_called_does_not_end_the_loop, stop),
        cmocka_unit_test_teardown(recursion_is_another_activation, stop),
        cmocka_unit_test_teardown(entered_at_its_test, stop),
        cmocka_unit_test_teardown(its_head_is_learnt, stop),
        cmocka_unit_test_teardown(blocks_out_of_line, stop),
        cmocka_unit_test_teardown(a_branch_back_below_ends_it, stop),
        cmocka_unit_test_teardown(counts_that_do_not_fit_are_right_on_average, stop),
        cmocka_unit_test_teardown(long_executions, stop),
        cmocka_unit_test_teardown(light_loops_do_not_replace_heavy_ones, stop),
        cmocka_unit_test_teardown(a_late_heavy_loop_gets_in, stop),
        cmocka_unit_test_teardown(more_loops_on_than_there_is_room_for, stop),
        cmocka_unit_test(bits_by_hand),
        cmocka_unit_test_teardown(names, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
