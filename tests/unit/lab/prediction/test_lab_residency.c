// SPDX-License-Identifier: MIT
/*
 * Prediction with removal: worked out by hand, and against a plain model on random flows.
 */
#include "lab/prediction/residency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATHS 400

/* Paths 0, 1, ..., each with a head of its own. */
static struct hp_index *make_index(void)
{
    struct hp_index *index;
    assert_int_equal(hp_index_new(0, 0, &index), HP_OK);
    for (uint64_t i = 0; i < PATHS; i++) {
        const struct hp_path path = {.start = 0x1000 + 16 * i, .length = 1, .events = 1};
        assert_int_equal(hp_index_intern(index, &path, NULL), i);
    }
    return index;
}

static struct hp_residency *make(const char *scheme, uint64_t window, const struct hp_index *index)
{
    struct hp_scheme_config config;
    struct hp_residency *residency;
    assert_int_equal(hp_scheme_parse(scheme, &config), HP_OK);
    assert_int_equal(hp_residency_new(&config, window, index, &residency), HP_OK);
    return residency;
}

static void execute(struct hp_residency *residency, uint32_t path, unsigned times)
{
    struct hp_flow_sink *sink = hp_residency_sink(residency);
    for (unsigned i = 0; i < times; i++)
        sink->flow(sink, &path, 1);
}

static void a_path_comes_back_after_it_was_removed(void **state)
{
    struct hp_index *index = make_index();
    struct hp_residency *residency = make("net:2", 10, index);
    (void)state;
    execute(residency, 0, 10); /* predicted by its third execution */
    execute(residency, 1, 10); /* the first is idle */
    execute(residency, 0, 5);
    assert_int_equal(hp_residency_finish(residency), HP_OK);
    const struct hp_residency_stats *keep = hp_residency_stats(residency, HP_RESIDENT_KEEP);
    assert_int_equal(keep->flow, 25);
    assert_int_equal(keep->hot_flow, 25);
    assert_int_equal(keep->hits, 7 + 7 + 5);
    assert_int_equal(keep->noise, 0);
    assert_int_equal(keep->profiled, 6);
    assert_int_equal(keep->predictions, 2);
    assert_int_equal(keep->windows, 3);
    assert_int_equal(keep->resident, 1 + 2 + 2);
    assert_int_equal(keep->stale, 0 + 1 + 1);
    const struct hp_residency_stats *idle = hp_residency_stats(residency, HP_RESIDENT_IDLE);
    assert_int_equal(idle->hits, 7 + 7 + 2);
    assert_int_equal(idle->predictions, 3);
    assert_int_equal(idle->removed, 2);
    assert_int_equal(hp_residency_rate(residency, HP_RESIDENT_IDLE)[2], 1);
    hp_residency_free(residency);
    hp_index_free(index);
}

/* A hundred paths, quiet, a hundred others. */
static void a_sharp_rise_removes_what_was_before(void **state)
{
    struct hp_index *index = make_index();
    struct hp_residency *residency = make("net:2", 1000, index);
    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        execute(residency, i, 3);
    execute(residency, 0, 5000);
    for (uint32_t i = 100; i < 200; i++)
        execute(residency, i, 3);
    assert_int_equal(hp_residency_finish(residency), HP_OK);
    const struct hp_residency_stats *rise = hp_residency_stats(residency, HP_RESIDENT_RISE);
    assert_int_equal(rise->flushes, 1);
    assert_int_equal(rise->removed, 100);
    assert_int_equal(hp_residency_stats(residency, HP_RESIDENT_KEEP)->flushes, 0);
    hp_residency_free(residency);
    hp_index_free(index);
}

/* --- A plain model ---------------------------------------------------------------------------- */

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* Executions of a flow with phases. */
static uint32_t *random_flow(size_t n, uint64_t seed)
{
    uint32_t *flow = calloc(n, sizeof *flow);
    assert_non_null(flow);
    for (size_t i = 0; i < n; i++)
        flow[i] = ((uint32_t)(i / 7000) * 90 + below(&seed, below(&seed, 160) + 1)) % PATHS;
    return flow;
}

/* NET with heads of one path each, and a delay: execution `delay` + 1 since it was removed
 * predicts. Removes by window: every 16, or what was idle. */
static void compare(const struct hp_residency *residency, enum hp_residency_policy policy,
                    const uint32_t *flow, size_t n, uint32_t window, uint32_t delay)
{
    static uint32_t counts[PATHS], seen[PATHS], inside[PATHS];
    static bool in[PATHS];
    struct hp_residency_stats s = {0};
    memset(counts, 0, sizeof counts);
    memset(in, 0, sizeof in);
    for (size_t from = 0; from < n; from += window, s.windows++) {
        size_t to = from + window < n ? from + window : n;
        memset(seen, 0, sizeof seen);
        memset(inside, 0, sizeof inside);
        for (size_t i = from; i < to; i++) {
            uint32_t p = flow[i];
            seen[p]++;
            inside[p] += in[p];
            if (in[p])
                continue;
            s.profiled++;
            if (++counts[p] <= delay)
                continue;
            counts[p] = 0;
            in[p] = true;
            s.predictions++;
        }
        for (uint32_t p = 0; p < PATHS; p++) {
            bool hot = seen[p] * 1000.0 > (double)(to - from);
            s.hot_flow += hot ? seen[p] : 0;
            s.hits += hot ? inside[p] : 0;
            s.noise += hot ? 0 : inside[p];
            s.resident += in[p];
            s.stale += in[p] && !hot;
            if (policy == HP_RESIDENT_IDLE && in[p] && !seen[p])
                in[p] = false;
            if (policy == HP_RESIDENT_EVERY && s.windows % 16 == 15)
                in[p] = false;
        }
        s.flow += to - from;
    }
    const struct hp_residency_stats *found = hp_residency_stats(residency, policy);
    assert_int_equal(found->flow, s.flow);
    assert_int_equal(found->hot_flow, s.hot_flow);
    assert_int_equal(found->hits, s.hits);
    assert_int_equal(found->noise, s.noise);
    assert_int_equal(found->profiled, s.profiled);
    assert_int_equal(found->predictions, s.predictions);
    assert_int_equal(found->windows, s.windows);
    assert_int_equal(found->resident, s.resident);
    assert_int_equal(found->stale, s.stale);
}

static void as_the_plain_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        enum { N = 60123, WINDOW = 1500 };
        struct hp_index *index = make_index();
        struct hp_residency *residency = make("net:5", WINDOW, index);
        struct hp_flow_sink *sink = hp_residency_sink(residency);
        uint32_t *flow = random_flow(N, seed);
        for (size_t i = 0; i < N; i += 321)
            sink->flow(sink, flow + i, N - i < 321 ? N - i : 321);
        assert_int_equal(hp_residency_finish(residency), HP_OK);
        compare(residency, HP_RESIDENT_KEEP, flow, N, WINDOW, 5);
        compare(residency, HP_RESIDENT_EVERY, flow, N, WINDOW, 5);
        compare(residency, HP_RESIDENT_IDLE, flow, N, WINDOW, 5);
        free(flow);
        hp_residency_free(residency);
        hp_index_free(index);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_comes_back_after_it_was_removed),
        cmocka_unit_test(a_sharp_rise_removes_what_was_before),
        cmocka_unit_test(as_the_plain_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
