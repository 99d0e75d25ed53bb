// SPDX-License-Identifier: MIT
#include "profiler/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct counter {
    uint64_t own, other; /* counted here, and in the lane */
};

static void count_other(void *context)
{
    struct counter *c = context;
    c->other += c->own; /* as it was when the work began */
}

static struct hp_lane *new_lane(void)
{
    struct hp_lane *lane = NULL;
    enum hp_err err = hp_lane_new(&lane);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        assert_int_equal(err, HP_ERR_UNSUPPORTED);
        skip();
    }
    assert_int_equal(err, HP_OK);
    return lane;
}

static void work_is_done_once_and_in_order(void **state)
{
    (void)state;
    struct hp_lane *lane = new_lane();
    struct counter c = {0};
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= 20000; i++) {
        c.own = i;
        hp_lane_begin(lane, count_other, &c);
        hp_lane_wait(lane);
        sum += i;
        assert_int_equal(c.other, sum);
    }
    hp_lane_free(lane);
}

static void sleep_long(void *context)
{
    usleep(20000); /* longer than anybody spins */
    *(int *)context = 1;
}

static void waiting_outlasts_slow_work(void **state)
{
    (void)state;
    struct hp_lane *lane = new_lane();
    int done = 0;
    hp_lane_begin(lane, sleep_long, &done);
    hp_lane_wait(lane);
    assert_int_equal(done, 1);
    usleep(20000); /* the lane sleeps, too */
    done = 0;
    hp_lane_begin(lane, sleep_long, &done);
    hp_lane_wait(lane);
    assert_int_equal(done, 1);
    hp_lane_free(lane);
    hp_lane_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_done_once_and_in_order),
        cmocka_unit_test(waiting_outlasts_slow_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
