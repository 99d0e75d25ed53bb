// SPDX-License-Identifier: MIT
/*
 * What the experiments on instructions make of a profile: weights, and how far two ways to
 * attribute are apart; by hand.
 */
#include "lab/sampling/weights.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INSNS   5
#define SAMPLER "profileme,interval=1000"

/* Two functions: instructions 0 and 1, and 2; nobody knows those of 3 and 4. */
static struct hp_profile *make_profile(void)
{
    struct hp_profile *profile;
    struct hp_pfunction *function;
    struct hp_pinsn *insn;
    const uint32_t of[INSNS] = {0, 0, 1, HP_PROFILE_NONE, HP_PROFILE_NONE};
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hp_profile_add_function(profile, &function), HP_OK);
    for (uint32_t i = 0; i < INSNS; i++) {
        assert_int_equal(hp_profile_add_insn(profile, &insn), HP_OK);
        insn->function = of[i];
    }
    return profile;
}

static void add_cycles(struct hp_profile *profile, uint32_t insn, enum hp_cause cause,
                       uint64_t parts)
{
    struct hp_pinsn_cycles *item;
    assert_int_equal(hp_profile_add_insn_cycles(profile, &item), HP_OK);
    *item = (struct hp_pinsn_cycles){.insn = insn, .cause = (uint8_t)cause, .parts = parts};
}

static void add_way(struct hp_profile *profile, const char *scheme, uint32_t insn, uint64_t weight)
{
    struct hp_pattribution *item;
    assert_int_equal(hp_profile_add_attribution(profile, &item), HP_OK);
    *item = (struct hp_pattribution){.scheme = scheme, .insn = insn, .weight = weight};
}

/* Its stages are 1, 10, 100 ... times `unit`. */
static void add_tally(struct hp_profile *profile, const char *seen, uint32_t insn, uint64_t unit)
{
    struct hp_pinsn_tally *item;
    assert_int_equal(hp_profile_add_insn_tally(profile, &item), HP_OK);
    *item = (struct hp_pinsn_tally){.seen = seen, .insn = insn};
    for (int stage = 0; stage < HP_STAGES; stage++, unit *= 10)
        item->tally.stages[stage] = unit;
}

static void expect_weights(double *weights, double a, double b, double c, double d, double e)
{
    const double expected[INSNS] = {a, b, c, d, e};
    assert_non_null(weights);
    for (size_t i = 0; i < INSNS; i++)
        assert_true(weights[i] == expected[i]);
    free(weights);
}

static double error_of(const struct hp_profile *profile, const double *a, const double *b,
                       enum hp_agreement_by level)
{
    double percent = -1;
    assert_int_equal(hp_lab_weights_error(profile, a, b, level, &percent), HP_OK);
    return percent;
}

/* --- Weights ---------------------------------------------------------------------------------- */

static void causes_are_added_up(void **state)
{
    struct hp_profile *profile = make_profile();
    (void)state;
    add_cycles(profile, 0, HP_CAUSE_RETIRE, 5);
    add_cycles(profile, 0, HP_CAUSE_MEMORY, 7);
    add_cycles(profile, 3, HP_CAUSE_L2, 4);
    expect_weights(hp_lab_exact_weights(profile), 12, 0, 0, 4, 0);
    hp_profile_free(profile);
}

static void ways_are_told_apart(void **state)
{
    struct hp_profile *profile = make_profile();
    (void)state;
    add_way(profile, "next", 1, 3);
    add_way(profile, "dispatch", 1, 100);
    add_way(profile, "next", 4, 2);
    expect_weights(hp_lab_way_weights(profile, "next"), 0, 3, 0, 0, 2);
    expect_weights(hp_lab_way_weights(profile, "dispatch"), 0, 100, 0, 0, 0);
    expect_weights(hp_lab_way_weights(profile, "another"), 0, 0, 0, 0, 0);
    hp_profile_free(profile);
}

/* From fetch to retire ready: what it waits to retire is not its own, its load is in the execution
 * already. */
static void samplers_weigh_by_progress(void **state)
{
    struct hp_profile *profile = make_profile();
    (void)state;
    add_tally(profile, "exact", 0, 7);
    add_tally(profile, SAMPLER, 0, 1);
    add_tally(profile, SAMPLER, 2, 3);
    expect_weights(hp_lab_sampler_weights(profile, SAMPLER), 1111, 0, 3333, 0, 0);
    expect_weights(hp_lab_sampler_weights(profile, "exact"), 7777, 0, 0, 0, 0);
    assert_true(hp_lab_in_progress(&profile->insn_tallies[2].tally) == 3333);
    hp_profile_free(profile);
}

static void tallies_by_instruction(void **state)
{
    struct hp_profile *profile = make_profile();
    (void)state;
    add_tally(profile, "exact", 4, 1);
    add_tally(profile, SAMPLER, 4, 1);
    add_tally(profile, "exact", 1, 1);
    const struct hp_pinsn_tally **tallies = hp_lab_tallies(profile, "exact");
    assert_non_null(tallies);
    assert_null(tallies[0]);
    assert_ptr_equal(tallies[1], &profile->insn_tallies[2]);
    assert_null(tallies[2]);
    assert_null(tallies[3]);
    assert_ptr_equal(tallies[4], &profile->insn_tallies[0]);
    free(tallies);
    hp_profile_free(profile);
}

static void names_of_samplers(void **state)
{
    char name[256], again[256];
    (void)state;
    assert_int_equal(hp_lab_sampler_name("profileme,seed=7,interval=1000", name, sizeof name),
                     HP_OK);
    assert_int_equal(hp_lab_sampler_name("profileme,interval=1000,seed=7", again, sizeof again),
                     HP_OK);
    assert_string_equal(name, again);
    assert_int_equal(hp_lab_sampler_name("profileme,interval=no", name, sizeof name),
                     HP_ERR_INVALID);
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void the_same_is_not_wrong(void **state)
{
    struct hp_profile *profile = make_profile();
    const double a[INSNS] = {1, 2, 3, 0, 4}, b[INSNS] = {10, 20, 30, 0, 40};
    (void)state;
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_INSN)) < 1e-9); /* in another unit */
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_FUNCTION)) < 1e-9);
    hp_profile_free(profile);
}

static void half_of_what_is_apart(void **state)
{
    struct hp_profile *profile = make_profile();
    /* Shares 1/4 1/4 1/2 0 0, and 1/4 0 1/2 1/4 0: a quarter is elsewhere, in another function too.
     */
    const double a[INSNS] = {1, 1, 2, 0, 0}, b[INSNS] = {5, 0, 10, 5, 0};
    (void)state;
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_INSN) - 25) < 1e-9);
    assert_true(fabs(error_of(profile, b, a, HP_AGREE_BY_INSN) - 25) < 1e-9);
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_FUNCTION) - 25) < 1e-9);
    hp_profile_free(profile);
}

/* Within a function, or within what has none, it does not matter to functions. */
static void within_a_function(void **state)
{
    struct hp_profile *profile = make_profile();
    const double a[INSNS] = {3, 1, 0, 4, 0}, b[INSNS] = {1, 3, 0, 1, 3};
    (void)state;
    /* 3/8 1/8 0 1/2 0, and 1/8 3/8 0 1/8 3/8. */
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_INSN) - 62.5) < 1e-9);
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_FUNCTION)) < 1e-9);
    hp_profile_free(profile);
}

static void nothing_in_common(void **state)
{
    struct hp_profile *profile = make_profile();
    const double a[INSNS] = {3, 0, 0, 0, 0}, b[INSNS] = {0, 0, 1, 0, 1};
    (void)state;
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_INSN) - 100) < 1e-9);
    assert_true(fabs(error_of(profile, a, b, HP_AGREE_BY_FUNCTION) - 100) < 1e-9);
    hp_profile_free(profile);
}

static void of_nothing_nobody_knows(void **state)
{
    struct hp_profile *profile = make_profile();
    const double some[INSNS] = {1, 0, 0, 0, 0}, none[INSNS] = {0};
    (void)state;
    assert_true(isnan(error_of(profile, some, none, HP_AGREE_BY_INSN)));
    assert_true(isnan(error_of(profile, none, some, HP_AGREE_BY_FUNCTION)));
    hp_profile_free(profile);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    assert_true(isnan(error_of(profile, some, none, HP_AGREE_BY_INSN)));
    assert_true(isnan(error_of(profile, some, none, HP_AGREE_BY_FUNCTION)));
    double *weights = hp_lab_exact_weights(profile);
    assert_non_null(weights);
    free(weights);
    hp_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes_are_added_up),        cmocka_unit_test(ways_are_told_apart),
        cmocka_unit_test(samplers_weigh_by_progress), cmocka_unit_test(tallies_by_instruction),
        cmocka_unit_test(names_of_samplers),          cmocka_unit_test(the_same_is_not_wrong),
        cmocka_unit_test(half_of_what_is_apart),      cmocka_unit_test(within_a_function),
        cmocka_unit_test(nothing_in_common),          cmocka_unit_test(of_nothing_nobody_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
