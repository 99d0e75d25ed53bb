// SPDX-License-Identifier: MIT
/*
 * The sentence why an instruction takes its time: one for each cause and stage.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "report/cycles/cycles.h"

#include <string.h>

static void expect(struct hp_why why, const char *expected)
{
    struct hp_strbuf text = {0};
    hp_why_put(&why, &text);
    assert_string_equal(hp_strbuf_text(&text), expected);
    assert_false(text.failed);
    hp_strbuf_fini(&text);
}

static void nothing_known_says_nothing(void **state)
{
    (void)state;
    expect((struct hp_why){0}, "");
    expect((struct hp_why){.causes_known = true}, "");
    expect((struct hp_why){.causes_known = true, .producer = "the load at a.c:1", .wait = 9}, "");
}

static void loads_name_the_level_that_is_missed(void **state)
{
    (void)state;
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_L2] = 6},
                           .rates = {[HP_INSN_L1D] = 0.5}},
           "its load misses L1 in 50 % of executions: 12 cycles each");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_L3] = 4},
                           .rates = {[HP_INSN_L1D] = 0.5, [HP_INSN_L2] = 0.1}},
           "its load misses L2 in 10 % of executions: 40 cycles each");
    struct hp_why memory = {
        .causes_known = true,
        .causes = {[HP_CAUSE_MEMORY] = 15.6, [HP_CAUSE_RETIRE] = 1},
        .rates = {[HP_INSN_L1D] = 0.9, [HP_INSN_L2] = 0.38, [HP_INSN_L3] = 0.38}};
    expect(memory, "its load misses L2 in 38 % of executions: 41 cycles each");
    memory.has_l3 = true;
    expect(memory, "its load misses L3 in 38 % of executions: 41 cycles each");
    memory.rates[HP_INSN_DTLB] = 1;
    memory.rates[HP_INSN_L3] = 1;
    expect(memory, "its load misses L3 always: 16 cycles, and the DTLB always");
    expect((struct hp_why){.causes_known = true, .causes = {[HP_CAUSE_L1] = 3}},
           "waits for the L1: 3 cycles");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_L1] = 2.5},
                           .rates = {[HP_INSN_FORWARDED] = 0.9}},
           "waits for the value of a store in flight: 2.5 cycles");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_DTLB] = 1},
                           .rates = {[HP_INSN_DTLB] = 0.05}},
           "the page of its data is not in the DTLB in 5.0 % of executions: 20 cycles each");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_BLOCKED] = 1},
                           .rates = {[HP_INSN_BLOCKED] = 0.125}},
           "its load waits for an older store in 13 % of executions: 8 cycles each");
}

static void every_other_cause_has_its_sentence(void **state)
{
    (void)state;
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_MISPREDICT] = 4.34},
                           .rates = {[HP_INSN_MISPREDICTED] = 0.31}},
           "mispredicted in 31 % of executions: 14 cycles each");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_L1I] = 1.2},
                           .rates = {[HP_INSN_L1I] = 0.12}},
           "its line is not in the L1I in 12 % of executions: 10 cycles each");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_ITLB] = 0.3},
                           .rates = {[HP_INSN_ITLB] = 0.0001}},
           "its page is not in the ITLB in <0.1 % of executions: 3000 cycles each");
    expect((struct hp_why){.causes_known = true, .causes = {[HP_CAUSE_TRAP] = 2}, .trapped = 0.25},
           "is too early in 25 % of executions: 8 cycles each (memory trap)");
    expect((struct hp_why){.causes_known = true, .causes = {[HP_CAUSE_QUEUE] = 1}},
           "is done, but the profiler's branch queue is full: 1 cycle");
    expect((struct hp_why){.causes_known = true, .causes = {[HP_CAUSE_FETCH] = 1.5}},
           "is fetched late: 1.5 cycles");
    expect((struct hp_why){.op = HP_OP_SYSTEM,
                           .causes_known = true,
                           .causes = {[HP_CAUSE_SERIAL] = 9}},
           "runs alone: 9 cycles");
    expect((struct hp_why){.causes_known = true, .causes = {[HP_CAUSE_SERIAL] = 9}},
           "waits for an instruction that runs alone: 9 cycles");
    expect((struct hp_why){.op = HP_OP_DIV,
                           .causes_known = true,
                           .causes = {[HP_CAUSE_UNIT] = 10},
                           .rates = {[HP_INSN_UNIT_BUSY] = 0.5}},
           "the divider is busy in 50 % of executions: 20 cycles each");
    expect((struct hp_why){.op = HP_OP_ALU,
                           .causes_known = true,
                           .causes = {[HP_CAUSE_UNIT] = 1},
                           .rates = {[HP_INSN_UNIT_BUSY] = 1}},
           "no unit is free for it always: 1 cycle");
    expect((struct hp_why){.causes_known = true, .causes = {[HP_CAUSE_UNIT] = 1}},
           "waits 1 cycle to be issued");
    expect((struct hp_why){.op = HP_OP_FDIV,
                           .causes_known = true,
                           .causes = {[HP_CAUSE_EXECUTE] = 12.4},
                           .stages = {[HP_STAGE_EXECUTE] = 25}},
           "takes 25 cycles in the divider, 12 of them not hidden");
    expect((struct hp_why){.op = HP_OP_MUL,
                           .causes_known = true,
                           .causes = {[HP_CAUSE_EXECUTE] = 3},
                           .stages = {[HP_STAGE_EXECUTE] = 3}},
           "takes 3 cycles to execute");
    expect((struct hp_why){.causes_known = true,
                           .causes = {[HP_CAUSE_RETIRE] = 0.25, [HP_CAUSE_FETCH] = 0.05}},
           "does not stall: it is executed often");
}

static void what_it_waits_for_is_named(void **state)
{
    (void)state;
    struct hp_why why = {.causes_known = true,
                         .causes = {[HP_CAUSE_RETIRE] = 0.5},
                         .producer = "the load at foo.c:12",
                         .producer_loads = true,
                         .producer_rates = {[HP_INSN_L1D] = 0.5, [HP_INSN_L2] = 0.38},
                         .wait = 41,
                         .waiting = 1};
    expect(why, "waits 41 cycles for the load at foo.c:12, which misses L2 in 38 % of executions");
    why.causes[HP_CAUSE_EXECUTE] = 2;
    expect(
        why,
        "takes 2 cycles to execute; waits 41 cycles for the load at foo.c:12, which misses L2 in "
        "38 % of executions");
    why.waiting = 0.5;
    why.producer_rates[HP_INSN_L2] = 0.01;
    expect(why, "takes 2 cycles to execute; waits 41 cycles for the load at foo.c:12 in 50 % of "
                "executions, which misses L1 in 50 % of executions");
    why.producer_rates[HP_INSN_L1D] = 0;
    why.causes[HP_CAUSE_EXECUTE] = 0;
    expect(why, "waits 41 cycles for the load at foo.c:12 in 50 % of executions");
    why.producer_loads = false;
    why.producer_rates[HP_INSN_L1D] = 1;
    expect(why, "waits 41 cycles for the load at foo.c:12 in 50 % of executions");
    why.waiting = 0.01; /* 0.4 cycles an execution: nothing */
    expect(why, "does not stall: it is executed often");
    why.waiting = 1;
    why.causes[HP_CAUSE_MISPREDICT] = 50; /* its own cycles are more */
    why.rates[HP_INSN_MISPREDICTED] = 1;
    expect(why, "mispredicted always: 50 cycles");
}

static void samples_name_the_longest_stage(void **state)
{
    (void)state;
    expect((struct hp_why){.stages = {[HP_STAGE_MAP] = 12, [HP_STAGE_EXECUTE] = 1},
                           .rates = {[HP_INSN_NO_QUEUE] = 0.1, [HP_INSN_NO_MEMORY_QUEUE] = 0.4}},
           "waits 12 cycles between fetch and map: the memory queue is full in 40 % of executions");
    expect((struct hp_why){.stages = {[HP_STAGE_MAP] = 4}}, "waits 4 cycles between fetch and map");
    expect((struct hp_why){.stages = {[HP_STAGE_OPERANDS] = 40}},
           "waits 40 cycles for its operands");
    expect((struct hp_why){.stages = {[HP_STAGE_OPERANDS] = 40},
                           .producer = "the division at a.c:9",
                           .wait = 40,
                           .waiting = 1},
           "waits 40 cycles for the division at a.c:9");
    expect((struct hp_why){.op = HP_OP_DIV,
                           .stages = {[HP_STAGE_ISSUE] = 6},
                           .rates = {[HP_INSN_UNIT_BUSY] = 0.5}},
           "the divider is busy in 50 % of executions: 12 cycles each");
    expect((struct hp_why){.op = HP_OP_DIV, .stages = {[HP_STAGE_EXECUTE] = 25}},
           "takes 25 cycles in the divider");
    expect((struct hp_why){.op = HP_OP_LOAD,
                           .stages = {[HP_STAGE_EXECUTE] = 60, [HP_STAGE_LOAD] = 60},
                           .rates = {[HP_INSN_L1D] = 0.5, [HP_INSN_L2] = 0.25}},
           "its load takes 60 cycles: it misses L2 in 25 % of executions");
    expect((struct hp_why){.stages = {[HP_STAGE_RETIRE] = 30},
                           .rates = {[HP_INSN_MISPREDICTED] = 0.2}},
           "mispredicted in 20 % of executions; retires 30 cycles late, behind older instructions");
}

static void causes_have_meanings(void **state)
{
    (void)state;
    for (int i = 0; i < HP_CAUSES; i++) {
        const char *meaning = hp_cause_meaning((enum hp_cause)i);
        assert_true(meaning && strlen(meaning) > 3);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(meaning, hp_cause_meaning((enum hp_cause)k));
    }
    assert_string_equal(hp_cause_meaning(HP_CAUSES), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_says_nothing),
        cmocka_unit_test(loads_name_the_level_that_is_missed),
        cmocka_unit_test(every_other_cause_has_its_sentence),
        cmocka_unit_test(what_it_waits_for_is_named),
        cmocka_unit_test(samples_name_the_longest_stage),
        cmocka_unit_test(causes_have_meanings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
