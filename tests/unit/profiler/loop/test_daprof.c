// SPDX-License-Identifier: MIT
/*
 * DAProf by hand: figure 2 of the paper line by line, its sizes at their limits, and the
 * extensions, on sequences short enough to be worked out on paper. Averages are in eighths.
 */
#include "loop_letters.h"

/* Four entries, fully associative, of which the two executed last are fresh. */
#define FOUR "daprof-full,entries=4"

static void figure_2_line_by_line(void **state)
{
    (void)state;
    const struct loop_case cases[] = {
        {"1-3: found in its loop: one more iteration", "daprof", "A4 Z", "A 1 4, Z 1 0"},
        {"6: a new execution is counted", "daprof", "A Z A Z A", "A 3 2, Z 2 2"},
        {"7: it begins with one iteration", "daprof", "A3 Z A Z", "A 2 4, Z 2 1"},
        {"8: it goes on with the next branch", "daprof", "A Z A2 Z", "A 2 3, Z 2 1"},
        /* V 0, W 0, X 1, Y 2; then V 2, X 0, Y 1; then W 2, V 1, Y 0: X and Y can go, both with 1
           iteration. */
        {"5: a new execution ages all", FOUR, "V W X Y V W A", "A 1 0, V 2 2, W 2 2, Y 1 1"},
        /* V has 2 iterations, the least, but is fresh again; then W. */
        {"9: a new execution is fresh", FOUR, "V W9 X9 Y9 V A", "A 1 0, V 2 2, X 1 9, Y 1 9"},
        /* At most 3 executions: A's third makes 1 of 3 and 1 of Z's 2. */
        {"10-11: all are halved when one is full", "daprof,execution-bits=2", "A Z A Z A Z",
         "A 1 3, Z 2 2"},
        {"11: entries that were executed once have none left", "daprof,execution-bits=2",
         "Y A Z A Z A", "A 1 2, Y 0 1, Z 1 2"},
        {"14: a new loop ages all", FOUR, "V9 W9 X9 Y9 A", "A 1 0, W 1 9, X 1 9, Y 1 9"},
        /* A has 2 executions of 9 eighths when X takes its place. */
        {"15-19: nothing is left of the old loop", "daprof-full,entries=2", "A9 Y A Y X",
         "X 1 0, Y 2 2"},
        {"17: its iterations begin with one", "daprof-full,entries=2", "A9 Y A9 Y X Y",
         "X 1 1, Y 3 2"},
        /* V, with the bounds of A, would end at Z only. */
        {"16: the offset is the new loop's", "daprof-full,entries=2", "Z A Z A B9 V B",
         "B 2 9, V 1 1"},
        {"20: a new loop goes on with the next branch", "daprof", "A2 Z", "A 1 2, Z 1 0"},
        /* Y has no iterations yet, V and W 9 each. */
        {"21: a new loop is fresh", FOUR, "V9 W9 X9 Y A", "A 1 0, W 1 9, X 1 9, Y 1 1"},
        {"23: a branch in the bounds is in the loop", "daprof", "B2 A B2 A Z",
         "A 1 2, B 2 4, Z 1 0"},
        {"24: the first instruction is in the bounds", "daprof", "A C A Z", "A 1 2, C 1 1, Z 1 0"},
        {"24: the one before it is not", "daprof", "A D A Z", "A 2 2, D 1 1, Z 1 0"},
        {"23: the one behind the branch is not", "daprof", "A E A Z", "A 2 2, E 1 1, Z 1 0"},
        {"25: a loop that was left is entered again", "daprof", "A2 Z A2", "A 2 2, Z 1 1"},
        /* 16; 16 - 2 + 16 = 30; 30 - 3 + 1 = 28 */
        {"26: seven eighths of the past", "daprof", "A16 Z A16 Z A Z", "A 3 28, Z 3 2"},
        {"26: only when the loop is left", "daprof", "A16 Z A16", "A 2 16, Z 1 1"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void limits(void **state)
{
    (void)state;
    const struct loop_case cases[] = {
        {"iterations stop at their maximum", "daprof,iteration-bits=2", "A3 Z Y5 Z",
         "A 1 3, Y 1 3, Z 2 1"},
        {"the paper's: 1023", "daprof", "A1022 Z B1023 Z C1024 Z",
         "A 1 1022, B 1 1023, C 1 1023, Z 3 2"},
        /* 8184, whose eighth is 1023: it stays there. */
        {"an average of 1023 is held", "daprof,first-average", "A1023 Z A1023 Z A2000 Z",
         "A 3 8184, Z 3 8"},
        {"the fewest iterations go, not the fewest executions", FOUR ",freshness=0",
         "V9 W2 X9 Y9 V A", "A 1 0, V 2 9, X 1 9, Y 1 9"},
        /* 3 executions of 3 eighths against one of 5. */
        {"average x executions", "daprof-full,entries=2,freshness=0", "V W V W V W5 X W",
         "V 3 3, W 1 0"},
        {"of equals the first", FOUR ",freshness=0", "V W X Y V Z", "V 2 2, X 1 1, Y 1 1, Z 1 0"},
        {"only the set of the branch", "daprof,entries=4,ways=2", "A9 Z9 Y9 E9 D9",
         "D 1 0, E 1 9, Y 1 9, Z 1 9"},
        {"an offset of the maximum is too long", "daprof,max-offset=128", "A9 B9 Z",
         "B 1 9, Z 1 0"},
        {"one less is not", "daprof,max-offset=129", "A9 Z", "A 1 9, Z 1 0"},
        {"15/16 of the past", "daprof,ratio=15/16", "A16 Z A16 Z A Z", "A 3 31, Z 3 2"},
        {"1/2 of the past", "daprof,ratio=1/2", "A16 Z A16 Z A Z", "A 3 13, Z 3 2"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void extensions(void **state)
{
    (void)state;
    const struct loop_case cases[] = {
        {"the first execution is the average", "daprof,first-average", "A4 Z A12 Z",
         "A 2 40, Z 2 8"},
        {"exact: all count the same, what goes on too", "daprof,exact-average", "A4 Z A12 Z A2",
         "A 3 48, Z 2 8"},
        /* Figure 6: a loop in a called function. */
        {"calls interfere", "daprof", "A (X2) A (X2) A Z", "A 3 3, X 2 4, Z 1 0"},
        {"calls are watched", "daprof,calls", "A (X2) A (X2) A Z", "A 1 3, X 2 4, Z 1 0"},
        {"two executions look like one", "daprof", "(X3) (X3) Z", "X 1 6, Z 1 0"},
        {"a return ends what goes on", "daprof,calls", "(X3) (X3) Z", "X 2 6, Z 1 0"},
        {"deeper returns end it as well", "daprof,calls", "((X3) ) ((X3) ) Z", "X 2 6, Z 1 0"},
        {"not what goes on in the caller", "daprof,calls", "A () A () () A Z", "A 1 3, Z 1 0"},
        /* Inner activations first: 1; 1 + 4 = 5; 5 + 2 = 7. */
        {"recursion", "daprof,calls", "A (A2 (A) A2) A Z", "A 3 7, Z 1 0"},
        {"recursion, of two loops", "daprof,calls", "A B (A B A) B A Z", "A 2 4, B 2 3, Z 1 0"},
        {"the outer execution goes on after the inner is over", "daprof,calls", "A (A2 Z) A Z",
         "A 2 4, Z 2 1"},
        {"no context left: the outer execution is over", "daprof,calls,contexts=0", "A (A2) A Z",
         "A 3 4, Z 1 0"},
        /* The middle one ends when the innermost begins: 2; 2 + 2; after the return it begins anew:
           4 + 1; 5 + 2. */
        {"one context", "daprof,calls,contexts=1", "A (A2 (A2) A) A Z", "A 4 7, Z 1 0"},
        {"too deep to be told apart", "daprof,calls,depth-bits=1", "(A (X) A Z)",
         "A 2 2, X 1 1, Z 1 0"},
        {"not too deep", "daprof,calls,depth-bits=2", "(A (X) A Z)", "A 1 2, X 1 1, Z 1 0"},
        {"a return that nobody called for", "daprof,calls", "A ) A Z", "A 1 2, Z 1 0"},
        {"the depth is counted from there", "daprof,calls", "))) A (X) A Z", "A 1 2, X 1 1, Z 1 0"},
        {"threads interfere", "daprof", "A |Z |A |Z |Y |Y", "A 2 2, Y 1 0, Z 2 2"},
        {"one state a thread", "daprof,tasks", "A |Z |A |Z |Y |Y", "A 1 2, Y 2 0, Z 1 2"},
        {"what was replaced meanwhile is lost", "daprof-full,entries=1,tasks", "A3 |Z |A", "A 1 0"},
        /* Y takes A's place and loses it to A again: 3 and 2 iterations of one thread, 1 of the
           other. */
        {"unless it is there again", "daprof-full,entries=2,tasks,exact-average,freshness=0",
         "A3 |Z Y9 A |A2", "A 1 48, Z 1 8"},
        {"the depth is a thread's", "daprof,tasks,calls", "A (|A |X) A |A", "A 2 0, X 1 1"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* --- FIFO, counts ----------------------------------------------------------------------------- */

/* What is written behind the model's numbers. */
static void expect_stats(const char *name, const char *branches, const char *expected)
{
    struct hp_loop_model *model = new_model(name);
    char text[256];
    run(model, branches);
    const struct hp_loop_stats *s = hp_loop_model_stats(model);
    snprintf(text, sizeof text,
             "%d branches, %d overflows, %d replacements, %d halvings, %d saturations, %d contexts",
             (int)s->branches, (int)s->overflows, (int)s->replacements, (int)s->halvings,
             (int)s->saturations, (int)s->context_overflows);
    assert_string_equal(text, expected);
    hp_loop_model_free(model);
}

/* One entry, three instructions a branch; branches at 1, 2, ... The first is taken at once, until
 * 4; the second waits until then, until 7; the third finds it waiting; the fourth comes when it is
 * taken, and waits until 7. So 1, 2, 4, 7, 10 get through. */
static void fifo(void **state)
{
    (void)state;
    const struct loop_case cases[] = {
        {"a burst", "daprof,fifo=1", "a3 .9 Z", "A 1 2, Z 1 0"},
        {"a burst", "daprof,fifo=1", "a4 .9 Z", "A 1 3, Z 1 0"},
        {"a burst", "daprof,fifo=1", "a6 .9 Z", "A 1 3, Z 1 0"},
        {"a burst", "daprof,fifo=1", "a7 .9 Z", "A 1 4, Z 1 0"},
        {"a burst", "daprof,fifo=1", "a9 .9 Z", "A 1 4, Z 1 0"},
        {"a burst", "daprof,fifo=1", "a10 .9 Z", "A 1 5, Z 1 0"},
        {"the paper's", "daprof", "a7 .9 Z", "A 1 7, Z 1 0"}, /* 7 comes when the third is begun */
        {"the paper's", "daprof", "a8 .9 Z", "A 1 7, Z 1 0"}, /* none is before 10 */
        {"no FIFO", "daprof,fifo=0", "a9 Z", "A 1 9, Z 1 0"},
        {"a slower profiler", "daprof,fifo=1,fifo-service=4", "A9 .9 Z", "A 1 8, Z 1 0"},
        {"frequent loop detection has it too", "frequent,fifo=1", "a7", "A 4"},
        /* The second branch of X, at 2, waits; its third, the first at that depth, is lost, and the
           return with it is not. */
        {"what is lost tells no depth, what comes next does", "daprof,calls,fifo=1",
         "(.9 x3) .9 X Z", "X 2 3, Z 1 0"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
    expect_stats("daprof,fifo=1", "a10",
                 "10 branches, 5 overflows, 0 replacements, 0 halvings, 0 saturations, 0 contexts");
}

static void counts(void **state)
{
    (void)state;
    expect_stats("daprof", "A4 (Z) .3",
                 "5 branches, 0 overflows, 0 replacements, 0 halvings, 0 saturations, 0 contexts");
    expect_stats("daprof-full,entries=1,iteration-bits=1", "A3 Z",
                 "4 branches, 0 overflows, 1 replacements, 0 halvings, 2 saturations, 0 contexts");
    expect_stats("daprof,execution-bits=2", "A Z A Z A Z A Z",
                 "8 branches, 0 overflows, 0 replacements, 2 halvings, 0 saturations, 0 contexts");
    expect_stats("daprof,calls,contexts=1", "A (A (A)) A",
                 "4 branches, 0 overflows, 0 replacements, 0 halvings, 0 saturations, 1 contexts");
}

/* --- What is a short backward branch ---------------------------------------------------------- */

static void only_taken_direct_backward_jumps(void **state)
{
    (void)state;
    const struct {
        enum hp_flow flow;
        uint8_t taken;
        uint64_t target;
        unsigned expected;
    } cases[] = {
        {HP_FLOW_COND, 1, 0x1ff0, 1},
        {HP_FLOW_COND, 0, 0x1ff0, 0},
        {HP_FLOW_JUMP, 1, 0x1ff0, 1},
        {HP_FLOW_JUMP_IND, 1, 0x1ff0, 0},
        {HP_FLOW_CALL, 1, 0x1ff0, 0},
        {HP_FLOW_CALL_IND, 1, 0x1ff0, 0},
        {HP_FLOW_RETURN, 1, 0x1ff0, 0},
        {HP_FLOW_NONE, 1, 0x1ff0, 0},
        {HP_FLOW_SYSCALL, 1, 0x1ff0, 0},
        {HP_FLOW_COND, 1, 0x2000, 1},
        {HP_FLOW_COND, 1, 0x2001, 0},
        {HP_FLOW_COND, 1, 0x2100, 0},
        {HP_FLOW_COND, 1, 0x2000 - 1023, 1},
        {HP_FLOW_COND, 1, 0x2000 - 1024, 0},
        {HP_FLOW_COND, 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hp_loop_model *model = new_model("daprof");
        struct hp_branch branch = {.address = 0x2000,
                                   .target = cases[i].target,
                                   .insns = 1,
                                   .flow = (uint8_t)cases[i].flow,
                                   .taken = cases[i].taken};
        hp_loop_model_branch(model, 0, &branch);
        assert_int_equal(hp_loop_model_stats(model)->branches, cases[i].expected);
        hp_loop_model_free(model);
    }
}

static void entries_are_estimated_and_sorted(void **state)
{
    (void)state;
    struct hp_loop_model *model = new_model("daprof");
    struct hp_loop_entry *entries;
    size_t n;
    run(model, "X16 Y8 A16 Z");
    assert_int_equal(hp_loop_model_entries(model, &entries, &n), HP_OK);
    assert_int_equal(n, 4);
    const uint64_t order[] = {0x1100, 0x7000, 0x8000, 0x9000};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(entries[i].address, order[i]);
    /* 2 iterations of the 33 instructions from 0x1080 to 0x1100 */
    assert_true(entries[0].iterations == 2 && entries[0].instructions == 66);
    free(entries);
    hp_loop_model_free(model);
}

/* A call of what is behind it only asks where it is. */
static void a_call_of_what_is_behind_it_is_none(void **state)
{
    (void)state;
    struct hp_loop_config config;
    char text[64];
    struct hp_loop_model *model = new_model("daprof,calls");
    struct hp_branch call = {.address = 0x100,
                             .target = 0x104,
                             .end = 0x104,
                             .insns = 1,
                             .flow = HP_FLOW_CALL,
                             .taken = 1};
    assert_int_equal(hp_loop_config_parse("daprof,calls", &config), HP_OK);
    run(model, "A");
    hp_loop_model_branch(model, 0, &call);
    run(model, "Z"); /* ends A only at the same depth */
    describe_model(model, &config, text, sizeof text);
    assert_string_equal(text, "A 1 1, Z 1 0");
    hp_loop_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_2_line_by_line),
        cmocka_unit_test(limits),
        cmocka_unit_test(extensions),
        cmocka_unit_test(fifo),
        cmocka_unit_test(counts),
        cmocka_unit_test(only_taken_direct_backward_jumps),
        cmocka_unit_test(entries_are_estimated_and_sorted),
        cmocka_unit_test(a_call_of_what_is_behind_it_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
