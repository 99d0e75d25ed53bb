// SPDX-License-Identifier: MIT
/*
 * Windows: what they are read from, and which phase an instruction is in.
 */
#include "profiler/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void read_all(void **state)
{
    struct hp_windows w;
    uint64_t left;
    (void)state;
    assert_int_equal(hp_windows_parse("all", &w), HP_OK);
    assert_int_equal(w.period, 0);
    assert_int_equal(hp_windows_at(&w, 123456789, &left), HP_PHASE_DETAIL);
    assert_true(left == UINT64_MAX);
}

static void read_parts(void **state)
{
    struct hp_windows w;
    (void)state;
    assert_int_equal(hp_windows_parse("period=10M,detail=100K,ramp=2K,warm=1M", &w), HP_OK);
    assert_int_equal(w.period, 10000000);
    assert_int_equal(w.detail, 100000);
    assert_int_equal(w.ramp, 2000);
    assert_int_equal(w.warm, 1000000);
    assert_int_equal(hp_windows_parse("period=10K,detail=1K,ramp=1", &w), HP_OK);
    assert_int_equal(w.warm, 8999); /* everything else, unless it is said */
    assert_int_equal(hp_windows_parse("warm=1000G", &w), HP_OK);
    assert_int_equal(w.warm, w.period - w.detail - w.ramp);
    assert_int_equal(hp_windows_parse("warm=5,warm=all", &w), HP_OK);
    assert_int_equal(w.warm, w.period - w.detail - w.ramp);
}

static void refuse(void **state)
{
    static const char *const wrong[] = {
        "some",      "period",    "period=", "period=x",      "detail=0",          "period=10",
        "period=1T", "period=-1", "warm=al", "period=5M,foo", "ramp=99999999999G", "ramp=0"};
    struct hp_windows w = {.period = 7};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(hp_windows_parse(wrong[i], &w), HP_ERR_INVALID);
        assert_non_null(hp_error_text());
        assert_int_equal(w.period, 7); /* unchanged */
    }
}

/* Instruction by instruction through three periods, against the definition. */
static void phases(void **state)
{
    const struct hp_windows w = {.period = 20, .warm = 5, .ramp = 3, .detail = 4};
    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t at = i % 20, left;
        enum hp_phase expected = at < 8    ? HP_PHASE_SKIP
                                 : at < 13 ? HP_PHASE_WARM
                                 : at < 16 ? HP_PHASE_RAMP
                                           : HP_PHASE_DETAIL;
        uint64_t end = at < 8 ? 8 : at < 13 ? 13 : at < 16 ? 16 : 20;
        assert_int_equal(hp_windows_at(&w, i, &left), expected);
        assert_int_equal(left, end - at);
    }
}

static void phases_without_parts(void **state)
{
    const struct hp_windows bare = {.period = 10, .detail = 10};
    const struct hp_windows warm = {.period = 10, .warm = 7, .detail = 3};
    uint64_t left;
    (void)state;
    for (uint64_t i = 0; i < 30; i++)
        assert_int_equal(hp_windows_at(&bare, i, &left), HP_PHASE_DETAIL);
    assert_int_equal(hp_windows_at(&warm, 6, &left), HP_PHASE_WARM);
    assert_int_equal(left, 1);
    assert_int_equal(hp_windows_at(&warm, 7, &left), HP_PHASE_DETAIL);
    assert_int_equal(left, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(read_all), cmocka_unit_test(read_parts),
                                       cmocka_unit_test(refuse), cmocka_unit_test(phases),
                                       cmocka_unit_test(phases_without_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
