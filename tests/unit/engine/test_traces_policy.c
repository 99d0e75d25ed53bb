// SPDX-License-Identifier: MIT
/* When the native engine drops its traces, and when it gives them up. */
#include "engine/native/inner/traces_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Makes `n` traces, `apart` from each other, the first after `gap`; returns how many phases began.
 */
static unsigned make(struct hp_traces_policy *p, uint64_t *now, uint64_t gap, unsigned n,
                     uint64_t apart)
{
    unsigned phases = 0;
    for (unsigned i = 0; i < n; i++) {
        *now += i ? apart : gap;
        phases += hp_policy_made(p, *now);
    }
    return phases;
}

static void a_burst_after_a_quiet_time_is_a_phase(void **state)
{
    (void)state;
    struct hp_traces_policy p = {.phase = 8};
    uint64_t now = 0;
    assert_int_equal(make(&p, &now, 100, 20, 10), 0); /* the start is none */
    assert_int_equal(make(&p, &now, 1000, 7, 10), 0);
    assert_int_equal(make(&p, &now, 10, 1, 0), 1);
    assert_int_equal(p.made, 8); /* they stay */
    assert_int_equal(make(&p, &now, 10, 100, 10), 0);
    assert_int_equal(make(&p, &now, 100000, 8, 10), 1); /* another one */
    assert_int_equal(make(&p, &now, 100000, 8, 10), 1); /* the first eight were kept */
}

static void no_phase(void **state)
{
    (void)state;
    struct hp_traces_policy p = {.phase = 8};
    uint64_t now = 0;
    assert_int_equal(make(&p, &now, 100, 1000, 10), 0);    /* always as fast */
    assert_int_equal(make(&p, &now, 1000, 20, 10), 0);     /* no quiet time: a tenth */
    assert_int_equal(make(&p, &now, 10000, 100, 1500), 0); /* 8 take longer than it was quiet */
    p = (struct hp_traces_policy){.phase = 8};
    now = 0;
    assert_int_equal(make(&p, &now, 100, 7, 10), 0);
    assert_int_equal(make(&p, &now, 100000, 20, 10), 0); /* there is not much to drop */
    p = (struct hp_traces_policy){.phase = 0};
    now = 0;
    assert_int_equal(make(&p, &now, 100, 100, 10), 0);
    assert_int_equal(make(&p, &now, 100000, 100, 10), 0); /* not wanted */
}

/* The same in other units of time. */
static void the_clock_does_not_matter(void **state)
{
    (void)state;
    for (uint64_t unit = 1; unit < 1000000000; unit *= 10) {
        struct hp_traces_policy p = {.phase = 3};
        uint64_t now = 77 * unit;
        p.begun = p.last = now;
        assert_int_equal(make(&p, &now, 5 * unit, 10, unit), 0);
        assert_int_equal(make(&p, &now, 20 * unit, 3, unit), 1);
    }
}

/* Traces until a look is due. */
static unsigned until_look(struct hp_traces_policy *p)
{
    unsigned n = 0;
    for (; !hp_policy_looks(p) && n < 1000; n++)
        p->tried++;
    return n;
}

static void traces_that_do_not_pay(void **state)
{
    (void)state;
    struct hp_traces_policy p = {.bail = 100};
    assert_int_equal(until_look(&p), 100);
    assert_false(hp_policy_gives_up(&p, 0, 0)); /* there are none before */
    assert_int_equal(until_look(&p), 100);
    assert_false(hp_policy_gives_up(&p, 49, 51)); /* once is not enough */
    assert_int_equal(until_look(&p), 100);
    assert_false(hp_policy_gives_up(&p, 50, 50));
    until_look(&p);
    assert_false(hp_policy_gives_up(&p, 0, 25));
    until_look(&p);
    assert_false(hp_policy_gives_up(&p, 0, 24)); /* too little is known */
    until_look(&p);
    assert_false(hp_policy_gives_up(&p, 10, 20));
    until_look(&p);
    assert_true(hp_policy_gives_up(&p, 10, 20));
    p = (struct hp_traces_policy){.bail = 0};
    assert_int_equal(until_look(&p), 1000);
}

static void traces_that_cannot_be_made(void **state)
{
    (void)state;
    struct hp_traces_policy p = {.bail = 100};
    for (int round = 0; round < 3; round++) {
        until_look(&p);
        p.abandoned = 50;
        assert_false(hp_policy_gives_up(&p, 50, 0));
    }
    until_look(&p);
    p.abandoned = 51;
    assert_false(hp_policy_gives_up(&p, 49, 0));
    until_look(&p);
    p.abandoned = 51;
    assert_true(hp_policy_gives_up(&p, 49, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_after_a_quiet_time_is_a_phase),
        cmocka_unit_test(no_phase),
        cmocka_unit_test(the_clock_does_not_matter),
        cmocka_unit_test(traces_that_do_not_pay),
        cmocka_unit_test(traces_that_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
