// SPDX-License-Identifier: MIT
/* Circuits by an estimate: gates and levels counted by hand. */
#include "lab/hardware/circuit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double a, double b)
{
    assert_true(a - b < 1e-9 && b - a < 1e-9);
}

static void widths(void **state)
{
    (void)state;
    assert_int_equal(hp_circuit_width(1), 0);
    assert_int_equal(hp_circuit_width(2), 1);
    assert_int_equal(hp_circuit_width(3), 2);
    assert_int_equal(hp_circuit_width(1024), 10);
    assert_int_equal(hp_circuit_width(1025), 11);
}

/* Two comparators of 10 bits, 3 gates a bit; a word of 4 among 3: 2 x 4 choices of 2.25. */
static void gates_add_up(void **state)
{
    (void)state;
    struct hp_circuit c = {.memory = 100, .registers = 10};
    assert_near(hp_circuit_gates(&c), 150 + 80);
    hp_circuit_equal(&c, 2, 10);
    assert_near(c.logic, 60);
    hp_circuit_choose(&c, 1, 4, 3);
    assert_near(c.logic, 60 + 18);
    hp_circuit_multiply(&c, 3, 5, 7);
    assert_near(c.logic, 78 + 3 * 35 * 8.0);
    assert_near(hp_circuit_gates(&c), 230 + c.logic);
}

/* The least of one is that one. */
static void the_least_is_a_tree(void **state)
{
    (void)state;
    struct hp_circuit c = {0};
    hp_circuit_least(&c, 8, 1);
    assert_near(c.logic, 0);
    assert_near(hp_levels_least(8, 1), 0);
    hp_circuit_least(&c, 8, 4); /* three comparisons of 5 gates a bit, and as many choices */
    assert_near(c.logic, 3 * 8 * (5 + 2.25));
    assert_near(hp_levels_least(8, 4), 2 * (2 + 3 + 1));
}

/* Rows of a product, three to two: 9, 6, 4, 3, 2. */
static void a_product_is_a_tree(void **state)
{
    (void)state;
    assert_near(hp_levels_multiply(9, 16), 1 + 4 * 2 + hp_levels_add(25));
    assert_near(hp_levels_multiply(16, 9), hp_levels_multiply(9, 16));
    assert_near(hp_levels_add(25), 3 + 5);
}

static void the_slowest_stage_counts(void **state)
{
    (void)state;
    struct hp_circuit c = {0};
    hp_circuit_stage(&c, 10);
    hp_circuit_stage(&c, 7);
    assert_near(c.levels, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),
        cmocka_unit_test(gates_add_up),
        cmocka_unit_test(the_least_is_a_tree),
        cmocka_unit_test(a_product_is_a_tree),
        cmocka_unit_test(the_slowest_stage_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
