// SPDX-License-Identifier: MIT
/* Lanes: each profiler gets every batch, in order, and in one thread at a time. */
#include "profiler/lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PROFILERS 5
#define THREADS   3 /* of the program */
#define BATCHES   3000

/* Checks what it gets: batch number i of a thread has the blocks i, i + 1, ... Takes its time. */
struct slow {
    struct hp_profiler base; /* first */
    unsigned pace;
    int at_work; /* threads that bring it something */
    unsigned overlaps, wrong;
    uint64_t all; /* batches */
    struct slow_thread {
        struct slow *slow;
        uint64_t seen;
    } threads[THREADS];
};

static void linger(const struct slow *s, uint64_t number)
{
    for (volatile unsigned i = 0; i < s->pace * (1 + number % 7); i++)
        ;
    if (s->pace && number % 500 == 499)
        usleep(300); /* now and then longer than the others together */
}

static void take(struct slow_thread *t, uint64_t first, uint64_t last, size_t n)
{
    struct slow *s = t->slow;
    s->overlaps += __atomic_add_fetch(&s->at_work, 1, __ATOMIC_ACQ_REL) != 1;
    s->wrong += first != t->seen || last != t->seen + n;
    linger(s, t->seen);
    t->seen++;
    __atomic_add_fetch(&s->all, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&s->at_work, 1, __ATOMIC_ACQ_REL);
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct slow_thread *t = state;
    t->slow->wrong += batch->n && batch->taken[batch->n - 1] != (uint8_t)t->seen;
    take(t, batch->blocks[0], batch->blocks[batch->n], batch->n);
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    take(state, steps->steps[0].unit, steps->steps[steps->n].unit, steps->n);
}

static const struct hp_profiler_ops slow_ops = {
    .name = "slow", .independent = true, .batch = take_batch, .steps = take_steps};

/* What is pushed; overwritten each time. */
static struct hp_step steps[HP_STEPS_MAX + 1];
static uint32_t blocks[HP_BATCH_MAX + 1];
static uint8_t taken[HP_BATCH_MAX + 1];

static void push(struct hp_lanes *lanes, uint64_t number, size_t n, bool by_steps, void **states)
{
    struct hp_steps s = {.steps = steps, .n = n};
    struct hp_batch b = {.blocks = blocks, .taken = taken, .n = n};
    struct hp_delivery d = {.states = states};
    for (size_t i = 0; i <= n; i++) {
        steps[i].unit = blocks[i] = (uint32_t)(number + i);
        taken[i] = (uint8_t)number;
    }
    if (by_steps)
        d.steps = &s;
    else
        d.batch = &b;
    hp_lanes_push(lanes, &d);
    memset(steps, 0xff, (n + 1) * sizeof *steps); /* lanes have a copy */
    memset(blocks, 0xff, (n + 1) * sizeof *blocks);
    memset(taken, 0xff, n + 1);
}

struct stage {
    struct slow slows[PROFILERS];
    struct hp_profiler *profilers[PROFILERS];
    bool independent[PROFILERS];
    struct hp_lanes *lanes;
};

static void begin(struct stage *s, size_t n, unsigned threads, const unsigned *paces)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < n; i++) {
        s->slows[i] = (struct slow){.base.ops = &slow_ops, .pace = paces[i]};
        s->profilers[i] = &s->slows[i].base;
        s->independent[i] = i != 1; /* that one gets nothing */
        for (size_t t = 0; t < THREADS; t++)
            s->slows[i].threads[t].slow = &s->slows[i];
    }
    assert_int_equal(hp_lanes_new(s->profilers, s->independent, n, threads, &s->lanes), HP_OK);
}

static void check(const struct stage *s, size_t n, const uint64_t *pushed)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s->slows[i].overlaps, 0);
        assert_int_equal(s->slows[i].wrong, 0);
        for (size_t t = 0; t < THREADS; t++)
            assert_int_equal(s->slows[i].threads[t].seen, s->independent[i] ? pushed[t] : 0);
    }
}

static void run(size_t n, unsigned threads, const unsigned *paces)
{
    static struct stage s;
    uint64_t pushed[THREADS] = {0};
    unsigned random = threads + (unsigned)n;
    begin(&s, n, threads, paces);
    for (size_t i = 0; i < BATCHES; i++) {
        random = random * 1103515245u + 12345;
        size_t thread = random >> 16 & 0x7fff;
        size_t length = thread % 11 == 0 ? HP_BATCH_MAX : thread % 60;
        bool by_steps = thread / 7 % 2;
        void *states[PROFILERS];
        for (size_t k = 0; k < n; k++)
            states[k] = &s.slows[k].threads[thread % THREADS];
        push(s.lanes, pushed[thread % THREADS], length, by_steps, states);
        memset(states, 0, sizeof states);
        pushed[thread % THREADS]++;
        if (thread % 97 < 3) {
            hp_lanes_settle(s.lanes);
            check(&s, n, pushed);
        }
    }
    hp_lanes_settle(s.lanes);
    check(&s, n, pushed);
    hp_lanes_free(s.lanes);
}

/* Profilers and the threads beside the owner: as many, fewer, more; the fast ones first or last. */
static void all_batches_arrive_in_order(void **state)
{
    (void)state;
    static const unsigned fast[] = {0, 0, 0, 0, 0}, first[] = {3000, 0, 100, 0, 0},
                          last[] = {0, 0, 10, 300, 3000}, same[] = {500, 500, 500, 500, 500};
    const unsigned *paces[] = {fast, first, last, same};
    for (size_t i = 0; i < sizeof paces / sizeof *paces; i++)
        for (unsigned threads = 2; threads < 7; threads++) {
            run(1, threads, paces[i]);
            run(3, threads, paces[i]);
            run(PROFILERS, threads, paces[i]);
        }
}

static void the_owner_is_only_some_batches_ahead(void **state)
{
    (void)state;
    static struct stage s;
    static const unsigned paces[] = {2000};
    void *states[] = {&s.slows[0].threads[0]};
    begin(&s, 1, 2, paces);
    for (uint64_t i = 0; i < 300; i++) {
        push(s.lanes, i, 3, true, states);
        assert_true(i + 1 - __atomic_load_n(&s.slows[0].all, __ATOMIC_RELAXED) <=
                    HP_LANES_DEPTH + 1); /* one may be done but not counted */
    }
    hp_lanes_free(s.lanes); /* whatever is under way */
    assert_int_equal(s.slows[0].overlaps, 0);
    assert_int_equal(s.slows[0].wrong, 0);
    assert_true(s.slows[0].all <= 300);
}

static void without_a_second_thread_there_are_none(void **state)
{
    (void)state;
    struct slow slow = {.base.ops = &slow_ops};
    struct hp_profiler *profilers[] = {&slow.base};
    struct hp_lanes *lanes;
    assert_int_equal(hp_lanes_new(profilers, (bool[]){true}, 1, 1, &lanes), HP_ERR_UNSUPPORTED);
    assert_int_equal(hp_lanes_new(profilers, (bool[]){false}, 1, 2, &lanes), HP_ERR_UNSUPPORTED);
    hp_lanes_free(NULL);
}

static void threads_as_the_environment_says(void **state)
{
    (void)state;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    unsetenv("HOTPATH_THREADS");
    assert_int_equal(hp_lanes_threads(), n);
    setenv("HOTPATH_THREADS", "1", 1);
    assert_int_equal(hp_lanes_threads(), 1);
    setenv("HOTPATH_THREADS", "-7", 1);
    assert_int_equal(hp_lanes_threads(), 1);
    setenv("HOTPATH_THREADS", "100000", 1);
    assert_int_equal(hp_lanes_threads(), n);
    unsetenv("HOTPATH_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_batches_arrive_in_order),
        cmocka_unit_test(the_owner_is_only_some_batches_ahead),
        cmocka_unit_test(without_a_second_thread_there_are_none),
        cmocka_unit_test(threads_as_the_environment_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
