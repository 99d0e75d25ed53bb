// SPDX-License-Identifier: MIT
/* Designs of experiments, and reading curves. */
#include "lab/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static int product(const struct hp_design *design, size_t a, size_t b)
{
    int sum = 0;
    for (size_t r = 0; r < design->runs; r++)
        sum += design->level[r][a] * design->level[r][b];
    return sum;
}

static void assert_orthogonal(const struct hp_design *design)
{
    for (size_t a = 0; a < design->factors; a++) {
        int sum = 0;
        for (size_t r = 0; r < design->runs; r++) {
            assert_true(design->level[r][a] == 1 || design->level[r][a] == -1);
            sum += design->level[r][a];
        }
        assert_int_equal(sum, 0); /* each level as often as the other */
        for (size_t b = 0; b < design->factors; b++)
            assert_int_equal(product(design, a, b), a == b ? (int)design->runs : 0);
    }
}

static void columns_are_orthogonal(void **state)
{
    (void)state;
    struct hp_design design;
    for (size_t runs = 8; runs <= 12; runs += 4)
        for (size_t factors = 1; factors < runs; factors++)
            for (int foldover = 0; foldover < 2; foldover++) {
                assert_int_equal(hp_design_plackett_burman(factors, runs, foldover, &design),
                                 HP_OK);
                assert_int_equal(design.runs, runs << foldover);
                assert_orthogonal(&design);
            }
    for (size_t factors = 1; factors <= 6; factors++) {
        assert_int_equal(hp_design_full(factors, &design), HP_OK);
        assert_int_equal(design.runs, 1 << factors);
        assert_orthogonal(&design);
    }
}

/* How many pairs have a column that looks like that of a factor. */
static unsigned aliases(const struct hp_design *design)
{
    unsigned found = 0;
    for (size_t f = 0; f < design->factors; f++)
        for (size_t a = 0; a < design->factors; a++)
            for (size_t b = a + 1; b < design->factors; b++) {
                int sum = 0;
                for (size_t r = 0; r < design->runs; r++)
                    sum += design->level[r][f] * design->level[r][a] * design->level[r][b];
                found += sum != 0 && f != a && f != b;
            }
    return found;
}

static void a_foldover_clears_pairs(void **state)
{
    (void)state;
    struct hp_design design;
    assert_int_equal(hp_design_plackett_burman(6, 8, false, &design), HP_OK);
    assert_true(aliases(&design) > 0);
    assert_int_equal(hp_design_plackett_burman(6, 8, true, &design), HP_OK);
    assert_int_equal(aliases(&design), 0);
    assert_int_equal(hp_design_plackett_burman(6, 12, true, &design), HP_OK);
    assert_int_equal(aliases(&design), 0);
}

/* The design of 12 as it was published. */
static void the_first_row_is_the_published_one(void **state)
{
    (void)state;
    static const char published[] = "++-+++---+-";
    struct hp_design design;
    assert_int_equal(hp_design_plackett_burman(11, 12, false, &design), HP_OK);
    for (size_t f = 0; f < 11; f++) {
        assert_int_equal(design.level[0][f], published[f] == '+' ? 1 : -1);
        assert_int_equal(design.level[11][f], -1);
    }
}

static void effects_of_a_known_response(void **state)
{
    (void)state;
    struct hp_design design;
    double results[HP_DESIGN_RUNS], effects[6];
    unsigned ranks[6];
    assert_int_equal(hp_design_plackett_burman(6, 12, true, &design), HP_OK);
    for (size_t r = 0; r < design.runs; r++)
        results[r] = 50 + 10 * design.level[r][1] - 3 * design.level[r][4] + design.level[r][5];
    hp_design_effects(&design, results, effects);
    static const double expected[] = {0, 20, 0, 0, -6, 2};
    static const unsigned expected_ranks[] = {4, 1, 5, 6, 2, 3};
    hp_design_rank(effects, 6, ranks);
    for (size_t f = 0; f < 6; f++) {
        assert_true(fabs(effects[f] - expected[f]) < 1e-12);
        assert_int_equal(ranks[f], expected_ranks[f]);
    }
}

static void other_designs_are_refused(void **state)
{
    (void)state;
    struct hp_design design;
    assert_int_equal(hp_design_plackett_burman(0, 8, false, &design), HP_ERR_INVALID);
    assert_int_equal(hp_design_plackett_burman(8, 8, true, &design), HP_ERR_INVALID);
    assert_int_equal(hp_design_plackett_burman(12, 12, true, &design), HP_ERR_INVALID);
    assert_int_equal(hp_design_plackett_burman(4, 16, true, &design), HP_ERR_INVALID);
    assert_int_equal(hp_design_full(0, &design), HP_ERR_INVALID);
    assert_int_equal(hp_design_full(7, &design), HP_ERR_INVALID);
}

static void curves_are_read_between_points(void **state)
{
    (void)state;
    static const double xs[] = {40, 10, 20, 10}, ys[] = {1, 6, 5, 8};
    assert_true(hp_interpolate(xs, ys, 4, 20) == 5);
    assert_true(hp_interpolate(xs, ys, 4, 30) == 3);
    assert_true(hp_interpolate(xs, ys, 4, 10) == 7); /* the mean of two */
    assert_true(hp_interpolate(xs, ys, 4, 15) == 6);
    assert_true(hp_interpolate(xs, ys, 4, 40) == 1);
    assert_true(isnan(hp_interpolate(xs, ys, 4, 9.9)));
    assert_true(isnan(hp_interpolate(xs, ys, 4, 40.1)));
    assert_true(isnan(hp_interpolate(xs, ys, 0, 20)));
    static const double holes[] = {1, NAN, 5, NAN};
    assert_true(hp_interpolate(xs, holes, 4, 30) == 3);
    assert_true(isnan(hp_interpolate(xs, holes, 4, 15)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_orthogonal),
        cmocka_unit_test(a_foldover_clears_pairs),
        cmocka_unit_test(the_first_row_is_the_published_one),
        cmocka_unit_test(effects_of_a_known_response),
        cmocka_unit_test(other_designs_are_refused),
        cmocka_unit_test(curves_are_read_between_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
