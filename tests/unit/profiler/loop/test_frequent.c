// SPDX-License-Identifier: MIT
/* The frequent loop detection profiler by hand. */
#include "loop_letters.h"

static void frequencies(void **state)
{
    (void)state;
    const struct loop_case cases[] = {
        {"iterations are counted, executions do not matter", "frequent", "A3 Z2 A", "A 4, Z 2"},
        {"the smallest is replaced", "frequent,entries=3", "A3 X2 Y4 Z", "A 3, Y 4, Z 1"},
        {"of equals the first", "frequent,entries=3", "A3 X Y Z", "A 3, Y 1, Z 1"},
        {"a new loop is the next to go", "frequent,entries=2", "A9 X Y X Y", "A 9, Y 1"},
        {"all are halved when one is full", "frequent,execution-bits=2", "Z Y2 A3",
         "A 1, Y 1, Z 0"},
        {"and again", "frequent,execution-bits=2", "A3 A2", "A 1"},
        {"one before it is full", "frequent,execution-bits=2", "Z Y2 A2", "A 2, Y 2, Z 1"},
        {"16 bits", "frequent", "Z9 A65534", "A 65534, Z 9"},
        {"16 bits", "frequent", "Z9 A65535", "A 32767, Z 4"},
        {"only the set of the branch", "frequent,entries=4,ways=2", "A9 Z9 Y E", "E 1, Y 1, Z 9"},
        {"offsets of 256 are too long", "frequent,max-offset=128", "A9 B9", "B 9"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void what_it_does_is_counted(void **state)
{
    (void)state;
    struct hp_loop_model *model = new_model("frequent,entries=2,execution-bits=2");
    run(model, "A3 X Y Z .5 (A)");
    const struct hp_loop_stats *stats = hp_loop_model_stats(model);
    assert_int_equal(stats->branches, 7);
    assert_int_equal(stats->replacements,
                     3); /* A 1, X 1: A goes; Y 1, X 1: Y goes; Z 1, X 1: Z goes */
    assert_int_equal(stats->halvings, 1);
    assert_int_equal(stats->overflows, 0);
    hp_loop_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies),
        cmocka_unit_test(what_it_does_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
