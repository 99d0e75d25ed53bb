// SPDX-License-Identifier: MIT
/* General paths against a list of everything that every FIFO ever held. */
#include "hotpath/general.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX 8

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % n;
}

struct window {
    struct hp_general_step steps[MAX];
    uint32_t n;
};

struct reference {
    uint32_t k;
    struct window fifo[64]; /* of frames */
    uint64_t calls[64];
    uint32_t depth;
    struct window *all; /* after every step */
    size_t n;
};

static void reference_step(struct reference *r, struct hp_general_step step)
{
    struct window *fifo = &r->fifo[r->depth];
    if (fifo->n == r->k)
        memmove(fifo->steps, fifo->steps + 1, --fifo->n * sizeof *fifo->steps);
    fifo->steps[fifo->n++] = step;
    r->all[r->n++] = *fifo;
}

static uint64_t reference_count(const struct reference *r, const struct hp_general_step *steps,
                                uint32_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < r->n; i++)
        count += r->all[i].n >= n &&
                 memcmp(r->all[i].steps + (r->all[i].n - n), steps, n * sizeof *steps) == 0;
    return count;
}

static void feed(struct hp_general *g, uint64_t address, uint64_t target, enum hp_flow flow)
{
    struct hp_branch branch = {
        .address = address, .target = target, .insns = 1, .flow = (uint8_t)flow, .taken = 1};
    hp_general_branch(g, &branch);
}

/* One random event: mostly a branch of few places, sometimes a call, a return, a return over
 * several frames. */
static void event(struct hp_general *g, struct reference *r, bool program)
{
    uint32_t what = below(20);
    if (what == 0 && r->depth < 60) {
        uint64_t address = 0x10000 + below(6) * 0x100;
        feed(g, address, 0x1000, HP_FLOW_CALL);
        if (program)
            reference_step(r, (struct hp_general_step){address, 0x1000});
        r->depth += !program;
        r->fifo[r->depth].n = program ? r->fifo[r->depth].n : 0;
        r->calls[r->depth] = address;
    } else if (what == 1 && r->depth > 0) {
        uint64_t target = r->calls[r->depth] + 5;
        feed(g, 0x2000, target, HP_FLOW_RETURN);
        r->depth--;
    } else if (what == 2 && r->depth > 3 && below(4) == 0) {
        /* Frames in between may have been called from the same place: the nearest is meant. */
        uint64_t target = r->calls[r->depth - 2] + 3;
        uint32_t to = r->depth;
        while (r->calls[to] != r->calls[r->depth - 2])
            to--;
        feed(g, 0x2000, target, HP_FLOW_RETURN);
        r->depth = to - 1;
    } else {
        struct hp_general_step step = {0x100 + below(3) * 8, below(2) ? 0x200 : 0x300};
        feed(g, step.address, step.target, HP_FLOW_COND);
        reference_step(r, step);
    }
}

static void try_random(uint32_t k, bool program, size_t n)
{
    struct hp_general *g;
    struct reference *r = calloc(1, sizeof *r);
    r->all = calloc(n, sizeof *r->all);
    r->k = k;
    assert_int_equal(hp_general_new(k, program ? HP_GENERAL_PROGRAM : HP_GENERAL_FUNCTION, 0, &g),
                     HP_OK);
    for (size_t i = 0; i < n; i++)
        event(g, r, program);
    uint64_t count;
    for (int round = 0; round < 300; round++) {
        /* What was executed, and what was not. */
        struct hp_general_step steps[MAX];
        uint32_t length = 1 + below(k);
        const struct window *window = &r->all[below((uint32_t)r->n)];
        if (window->n < length)
            continue;
        memcpy(steps, window->steps + below(window->n - length + 1), length * sizeof *steps);
        if (round % 3 == 0)
            steps[below(length)].target ^= 0x100;
        assert_int_equal(hp_general_count(g, steps, length, &count), HP_OK);
        assert_int_equal(count, reference_count(r, steps, length));
    }
    /* All states together are all steps. */
    const struct hp_general_stats *stats = hp_general_stats(g);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stats->states; i++) {
        struct hp_general_step steps[MAX];
        uint32_t length = hp_general_path(g, i, steps, &count);
        assert_in_range(length, 1, k);
        sum += count;
        uint64_t all;
        assert_int_equal(hp_general_count(g, steps, length, &all), HP_OK);
        assert_true(length == k ? all == count : all >= count);
    }
    assert_int_equal(sum, r->n);
    assert_int_equal(stats->steps, r->n);
    assert_int_equal(stats->branches, n);
    assert_int_equal(stats->lost, 0);
    hp_general_free(g);
    free(r->all);
    free(r);
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= MAX; k++) {
        seed = 1000 + k;
        try_random(k, false, 4000);
    }
}

/* Without frames; calls and (rarely) returns are steps. */
static void test_program_scope(void **state)
{
    (void)state;
    seed = 5;
    try_random(4, true, 4000);
}

/* The loop of a b b, 100 times: by hand. */
static void test_loop(void **state)
{
    (void)state;
    struct hp_general *g;
    const struct hp_general_step a = {1, 10}, b = {2, 20}, c = {3, 30};
    assert_int_equal(hp_general_new(3, HP_GENERAL_FUNCTION, 0, &g), HP_OK);
    for (int i = 0; i < 100; i++) {
        feed(g, 1, 10, HP_FLOW_COND);
        feed(g, 2, 20, HP_FLOW_JUMP);
        feed(g, 2, 20, HP_FLOW_JUMP_IND);
    }
    const struct {
        struct hp_general_step steps[3];
        uint32_t n;
        uint64_t count;
    } cases[] = {
        {{a}, 1, 100},      {{b}, 1, 200},     {{c}, 1, 0},         {{a, b}, 2, 100},
        {{b, b}, 2, 100},   {{b, a}, 2, 99},   {{a, b, b}, 3, 100}, {{b, b, a}, 3, 99},
        {{b, a, b}, 3, 99}, {{a, b, a}, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t count;
        assert_int_equal(hp_general_count(g, cases[i].steps, cases[i].n, &count), HP_OK);
        assert_int_equal(count, cases[i].count);
    }
    /* a, ab, abb; then bba and bab: five contents. */
    assert_int_equal(hp_general_stats(g)->states, 5);
    hp_general_reset(g);
    feed(g, 1, 10, HP_FLOW_COND);
    uint64_t count;
    assert_int_equal(hp_general_count(g, (struct hp_general_step[]){b, a}, 2, &count), HP_OK);
    assert_int_equal(count, 99);
    hp_general_free(g);
}

static void test_limits(void **state)
{
    (void)state;
    struct hp_general *g;
    uint64_t count, sum = 0;
    struct hp_general_step steps[HP_GENERAL_MAX] = {{1, 1}};
    assert_int_equal(hp_general_new(0, HP_GENERAL_PROGRAM, 0, &g), HP_ERR_INVALID);
    assert_int_equal(hp_general_new(HP_GENERAL_MAX + 1, HP_GENERAL_PROGRAM, 0, &g), HP_ERR_INVALID);
    assert_int_equal(hp_general_new(HP_GENERAL_MAX, HP_GENERAL_PROGRAM, 100, &g), HP_OK);
    assert_int_equal(hp_general_count(g, steps, 1, &count), HP_OK);
    assert_int_equal(count, 0);
    assert_int_equal(hp_general_count(g, steps, 0, &count), HP_ERR_INVALID);
    assert_int_equal(hp_general_count(g, steps, HP_GENERAL_MAX + 1, &count), HP_ERR_INVALID);
    seed = 3;
    for (int i = 0; i < 5000; i++)
        feed(g, below(3), below(3), HP_FLOW_COND);
    /* A return that nobody called for. */
    struct hp_general *f;
    assert_int_equal(hp_general_new(2, HP_GENERAL_FUNCTION, 0, &f), HP_OK);
    feed(f, 1, 10, HP_FLOW_COND);
    feed(f, 2, 99999, HP_FLOW_RETURN);
    feed(f, 1, 10, HP_FLOW_COND);
    assert_int_equal(hp_general_stats(f)->states, 1);
    hp_general_free(f);
    const struct hp_general_stats *stats = hp_general_stats(g);
    assert_int_equal(stats->states, 99);
    assert_true(stats->lost > 0);
    for (uint32_t i = 0; i < stats->states; i++) {
        hp_general_path(g, i, steps, &count);
        sum += count;
    }
    assert_int_equal(sum + stats->lost, 5000);
    hp_general_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_program_scope),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
