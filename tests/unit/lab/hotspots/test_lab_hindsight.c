// SPDX-License-Identifier: MIT
/* The best choice of code in hindsight, on blocks worked out by hand. */
#include "lab/hotspots/hindsight.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A loop of 6 instructions, which a block of 10 enters; others; the same address elsewhere. */
static struct hp_lab_executed blocks[] = {
    {.start = 0x200, .end = 0x208, .count = 5, .insns = 4},
    {.start = 0x100, .end = 0x120, .count = 10, .insns = 10},
    {.start = 0x10c, .end = 0x120, .count = 90, .insns = 6},
    {.start = 0x10c, .end = 0x120, .count = 50, .module = 1, .insns = 10},
};

static void overlapping_code_counts_once(void **state)
{
    (void)state;
    struct hp_lab_hindsight h;
    assert_int_equal(hp_lab_hindsight_init(&h, blocks, 4), HP_OK);
    assert_int_equal(h.insns, 10 + 4 + 10);
    assert_int_equal(h.executed, 6 * 100 + 4 * 10 + 10 * 50 + 4 * 5);
    hp_lab_hindsight_fini(&h);
}

static void the_most_frequent_code_is_chosen(void **state)
{
    (void)state;
    struct hp_lab_hindsight h;
    assert_int_equal(hp_lab_hindsight_init(&h, blocks, 4), HP_OK);
    assert_true(fabs(hp_lab_hindsight_best(&h, 3) - 100 * 300.0 / 1160) < 1e-9);
    assert_true(fabs(hp_lab_hindsight_best(&h, 8) - 100 * (600 + 2 * 50.0) / 1160) < 1e-9);
    assert_true(fabs(hp_lab_hindsight_best(&h, 20) - 100 * 1140.0 / 1160) < 1e-9);
    assert_true(fabs(hp_lab_hindsight_best(&h, 1000) - 100) < 1e-9);
    hp_lab_hindsight_fini(&h);
}

static void nothing_was_executed(void **state)
{
    (void)state;
    struct hp_lab_hindsight h;
    assert_int_equal(hp_lab_hindsight_init(&h, blocks, 0), HP_OK);
    assert_true(isnan(hp_lab_hindsight_best(&h, 1)));
    hp_lab_hindsight_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_code_counts_once),
        cmocka_unit_test(the_most_frequent_code_is_chosen),
        cmocka_unit_test(nothing_was_executed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
