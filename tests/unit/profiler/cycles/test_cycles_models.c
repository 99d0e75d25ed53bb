// SPDX-License-Identifier: MIT
/* Windowed IPC, and an event counter that interrupts. */
#include "cycles_fixture.h"

#include "profiler/cycles/ipc.h"
#include "profiler/cycles/skid.h"

#include <math.h>

static struct hp_timing retired_in(uint64_t fetched, uint64_t cycle, uint32_t insn)
{
    return (struct hp_timing){.insn = insn,
                              .fetched = fetched,
                              .mapped = 2,
                              .ready = 3,
                              .issued = 3,
                              .done = 4,
                              .loaded = HP_NEVER,
                              .left = (uint32_t)(cycle - fetched),
                              .producer = HP_NO_ID,
                              .events = HP_TIMING_RETIRED | HP_TIMING_MEASURED};
}

/* --- Windowed IPC ----------------------------------------------------------------------------- */

static void feed_cycles(struct hp_windowed_ipc *ipc, uint64_t fetched, const uint64_t *cycles,
                        size_t n, uint32_t events)
{
    for (size_t i = 0; i < n; i++) {
        struct hp_timing t = retired_in(fetched, cycles[i], 0);
        t.events = HP_TIMING_RETIRED | events;
        hp_windowed_ipc_timings(ipc, &t, 1);
    }
}

static void is_close(double value, double expected)
{
    if (fabs(value - expected) > 1e-9)
        fail_msg("%.12f, not %.12f", value, expected);
}

/* Windows of 10 from 5 on: 5-14 has 4, 15-24 has 1, 25-34 none, 35-44 has 3, and 45-54 is not over.
 */
static void windows_of_ten_cycles(void **state)
{
    (void)state;
    static const uint64_t cycles[] = {9, 9, 10, 14, 15, 35, 44, 44, 45, 46};
    struct hp_windowed_ipc ipc;
    assert_int_equal(hp_windowed_ipc_init(&ipc, 10, 4), HP_OK);
    feed_cycles(&ipc, 5, cycles, 10, HP_TIMING_MEASURED);
    hp_windowed_ipc_end(&ipc);
    struct hp_ipc_summary s = hp_windowed_ipc_summary(&ipc);
    assert_int_equal(s.windows, 4);
    assert_int_equal(s.empty, 1);
    is_close(s.mean, 0.2);
    is_close(s.least, 0.1);
    is_close(s.most, 0.4);
    /* 0.4 four times, 0.1 once, 0.3 three times */
    is_close(s.weighed_mean, 2.6 / 8);
    is_close(s.deviation,
             sqrt((4 * 0.4 * 0.4 + 0.1 * 0.1 + 3 * 0.3 * 0.3) / 8 - 2.6 / 8 * 2.6 / 8));
    hp_windowed_ipc_fini(&ipc);
}

/* One that ends with the last cycle is whole. */
static void the_last_window(void **state)
{
    (void)state;
    static const uint64_t cycles[] = {3, 9};
    struct hp_windowed_ipc ipc;
    assert_int_equal(hp_windowed_ipc_init(&ipc, 10, 4), HP_OK);
    feed_cycles(&ipc, 0, cycles, 2, HP_TIMING_MEASURED);
    hp_windowed_ipc_end(&ipc);
    struct hp_ipc_summary s = hp_windowed_ipc_summary(&ipc);
    assert_int_equal(s.windows, 1);
    is_close(s.mean, 0.2);
    is_close(s.deviation, 0);
    hp_windowed_ipc_fini(&ipc);
}

/* 0-9 with two; what is not measured ends the next; from 42 on: 42-51 with one, and one that is not
 * over. */
static void windows_begin_anew_when_measuring_does(void **state)
{
    (void)state;
    static const uint64_t first[] = {3, 4, 11, 12}, between[] = {15, 41}, second[] = {41, 44, 60};
    struct hp_windowed_ipc ipc;
    assert_int_equal(hp_windowed_ipc_init(&ipc, 10, 4), HP_OK);
    feed_cycles(&ipc, 0, first, 4, HP_TIMING_MEASURED);
    feed_cycles(&ipc, 11, between, 2, 0);
    feed_cycles(&ipc, 38, second, 1, HP_TIMING_MEASURED | HP_TIMING_WINDOW);
    feed_cycles(&ipc, 38, second + 1, 2, HP_TIMING_MEASURED);
    hp_windowed_ipc_end(&ipc);
    struct hp_ipc_summary s = hp_windowed_ipc_summary(&ipc);
    assert_int_equal(s.windows, 2);
    is_close(s.mean, 0.15);
    is_close(s.least, 0.1);
    is_close(s.most, 0.2);
    hp_windowed_ipc_fini(&ipc);
}

static void nothing_retired(void **state)
{
    (void)state;
    struct hp_windowed_ipc ipc;
    assert_int_equal(hp_windowed_ipc_init(&ipc, 0, 4), HP_ERR_INVALID);
    assert_int_equal(hp_windowed_ipc_init(&ipc, UINT32_MAX, 4), HP_ERR_INVALID);
    assert_int_equal(hp_windowed_ipc_init(&ipc, 10, 4), HP_OK);
    hp_windowed_ipc_end(&ipc);
    struct hp_ipc_summary s = hp_windowed_ipc_summary(&ipc);
    assert_int_equal(s.windows, 0);
    is_close(s.mean, 0);
    hp_windowed_ipc_fini(&ipc);
}

/* Counts of random pipelines, window by window. */
static void windows_of_random_pipelines(void **state)
{
    (void)state;
    static uint64_t counts[100000];
    struct pipeline p = {.seed = 3, .insns = 10, .mispredicts = 5, .misses = 10, .measured = true};
    struct hp_windowed_ipc ipc;
    assert_int_equal(hp_windowed_ipc_init(&ipc, HP_IPC_WINDOW, WIDTH), HP_OK);
    pipeline_run(&p, 20000);
    hp_windowed_ipc_timings(&ipc, p.timings, p.n);
    hp_windowed_ipc_end(&ipc);
    uint64_t first = p.timings[0].fetched, n = (p.retire + 1 - first) / HP_IPC_WINDOW;
    for (size_t i = 0; i < p.n; i++)
        if (p.timings[i].events & HP_TIMING_RETIRED)
            counts[(p.timings[i].fetched + p.timings[i].left - first) / HP_IPC_WINDOW]++;
    struct hp_ipc_summary s = hp_windowed_ipc_summary(&ipc);
    double retired = 0, mean = 0, variance = 0;
    for (uint64_t i = 0; i < n; i++)
        retired += (double)counts[i];
    for (uint64_t i = 0; i < n; i++)
        mean += (double)counts[i] / retired * (double)counts[i] / HP_IPC_WINDOW;
    for (uint64_t i = 0; i < n; i++)
        variance += (double)counts[i] / retired * pow((double)counts[i] / HP_IPC_WINDOW - mean, 2);
    assert_int_equal(s.windows, n);
    is_close(s.mean, retired / (double)n / HP_IPC_WINDOW);
    is_close(s.weighed_mean, mean);
    is_close(s.deviation, sqrt(variance));
    hp_windowed_ipc_fini(&ipc);
    free(p.timings);
}

/* --- The event counter ------------------------------------------------------------------------ */

#define HITS 4096
struct hits {
    struct hp_skid_hit hits[HITS];
    size_t n;
};

static void take_hit(void *context, const struct hp_skid_hit *hit)
{
    struct hits *hits = context;
    assert_true(hits->n < HITS);
    hits->hits[hits->n++] = *hit;
}

static void run_skid(struct hits *hits, struct hp_skid_config config,
                     const struct hp_timing *timings, size_t n, size_t at_once)
{
    struct hp_skid *skid;
    hits->n = 0;
    assert_int_equal(hp_skid_new(&config, take_hit, hits, &skid), HP_OK);
    for (size_t i = 0; i < n; i += at_once)
        assert_int_equal(hp_skid_timings(skid, timings + i, n - i < at_once ? n - i : at_once),
                         HP_OK);
    assert_int_equal(hp_skid_end(skid), HP_OK);
    hp_skid_free(skid);
}

static struct hp_timing load_at(uint64_t fetched, uint32_t issued, uint64_t cycle, uint32_t insn)
{
    struct hp_timing t = retired_in(fetched, cycle, insn);
    t.issued = issued;
    t.loaded = issued + 1;
    t.data_from = HP_FROM_L1;
    return t;
}

/* One instruction a cycle, issued 3 and retired 4 cycles after its fetch; every 20th is a load. It
 * is issued when the one before it retires: 6 cycles later the fifth behind it does. Always. */
static void in_order_the_distance_is_always_the_same(void **state)
{
    (void)state;
    struct hp_timing timings[2000];
    static struct hits hits;
    for (uint32_t i = 0; i < 2000; i++)
        timings[i] = i % 20 ? retired_in(i, i + 4, i % 20) : load_at(i, 3, i + 4, 0);
    run_skid(&hits, (struct hp_skid_config){.every = 3, .delay = 6, .in_order = true}, timings,
             2000, 64);
    assert_int_equal(hits.n, 33);
    for (size_t i = 0; i < hits.n; i++) {
        assert_int_equal(hits.hits[i].cause, 0);
        assert_int_equal(hits.hits[i].seen, 5);
        assert_int_equal(hits.hits[i].distance, 5);
        assert_false(hits.hits[i].aborted);
    }
}

/* 0 is slow; 2 loads early, 1 late; 3 is of a wrong path, 4 stores. In order of time: 3 (cycle 5),
 * 2 (6), 1 (30), 4 (41). */
static void references_count_in_the_order_of_time(void **state)
{
    (void)state;
    struct hp_timing timings[] = {
        retired_in(0, 20, 0), load_at(0, 30, 40, 1), load_at(1, 5, 40, 2),   load_at(2, 3, 40, 3),
        retired_in(1, 41, 4), retired_in(30, 60, 5), retired_in(41, 100, 6),
    };
    static struct hits hits;
    static const struct hp_skid_hit expected[] = {
        {.cause = 3, .seen = 0, .distance = 0 - 2, .aborted = true},  /* 15 */
        {.cause = 2, .seen = 0, .distance = 0 - 2, .aborted = false}, /* 16 */
        {.cause = 1, .seen = 1, .distance = 0, .aborted = false},     /* 40 */
        {.cause = 4, .seen = 5, .distance = 1, .aborted = false},     /* 51 */
    };
    timings[3].events = HP_TIMING_WRONG_PATH | HP_TIMING_MEASURED;
    timings[4].data_from = HP_FROM_L2; /* does not load */
    for (size_t at_once = 1; at_once <= 7; at_once++) {
        run_skid(&hits, (struct hp_skid_config){.every = 1, .delay = 10}, timings, 7, at_once);
        assert_int_equal(hits.n, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(hits.hits[i].cause, expected[i].cause);
            assert_int_equal(hits.hits[i].seen, expected[i].seen);
            assert_int_equal(hits.hits[i].distance, expected[i].distance);
            assert_int_equal(hits.hits[i].aborted, expected[i].aborted);
        }
        run_skid(&hits, (struct hp_skid_config){.every = 2, .delay = 10}, timings, 7, at_once);
        assert_int_equal(hits.n, 2);
        assert_int_equal(hits.hits[0].cause, 2);
        assert_int_equal(hits.hits[1].cause, 4);
    }
}

/* On an in-order core a store accesses when it is issued; what is not measured does not count, and
 * behind the last nobody sees. */
static void what_counts(void **state)
{
    (void)state;
    struct hp_timing timings[] = {retired_in(0, 10, 0), retired_in(0, 20, 1), load_at(1, 3, 20, 2),
                                  load_at(10, 9, 20, 3)};
    static struct hits hits;
    timings[0].data_from = HP_FROM_L1; /* a store: in 3, or in 10 */
    timings[2].events &= ~(uint32_t)HP_TIMING_MEASURED;
    run_skid(&hits, (struct hp_skid_config){.every = 1, .delay = 6, .in_order = true}, timings, 4,
             4);
    assert_int_equal(hits.n, 1); /* 19 + 6 is too late */
    assert_int_equal(hits.hits[0].seen, 0);
    run_skid(&hits, (struct hp_skid_config){.every = 1, .delay = 6}, timings, 4, 4);
    assert_int_equal(hits.n, 1);
    assert_int_equal(hits.hits[0].seen, 1);
    struct hp_skid *skid;
    assert_int_equal(hp_skid_new(&(struct hp_skid_config){0}, take_hit, &hits, &skid),
                     HP_ERR_INVALID);
}

/* Against all references sorted, and all that retire searched, of random pipelines. */
struct moment {
    uint64_t cycle;
    size_t index;
};

static int by_cycle(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->cycle != y->cycle)
        return x->cycle < y->cycle ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void interrupts_of_random_pipelines(void **state)
{
    (void)state;
    static struct moment moments[20000];
    static struct hits hits;
    struct pipeline p = {.seed = 9, .insns = 50, .mispredicts = 5, .misses = 30, .measured = true};
    size_t n = 0, n_hits = 0;
    pipeline_run(&p, 5000);
    for (size_t i = 0; i < p.n; i++) {
        const struct hp_timing *t = &p.timings[i];
        bool retires = t->events & HP_TIMING_RETIRED;
        if (t->data_from && t->loaded != HP_NEVER && t->issued != HP_NEVER)
            moments[n++] = (struct moment){t->fetched + t->issued, i};
        else if (t->data_from && t->loaded == HP_NEVER && retires)
            moments[n++] = (struct moment){t->fetched + t->left, i};
    }
    qsort(moments, n, sizeof *moments, by_cycle);
    run_skid(&hits, (struct hp_skid_config){.every = 7, .delay = 12}, p.timings, p.n, 100);
    for (size_t i = 6; i < n; i += 7) {
        size_t seen = 0;
        while (seen < p.n &&
               (!(p.timings[seen].events & HP_TIMING_RETIRED) ||
                p.timings[seen].fetched + p.timings[seen].left < moments[i].cycle + 12))
            seen++;
        if (seen == p.n)
            continue;
        assert_true(n_hits < hits.n);
        assert_int_equal(hits.hits[n_hits].cause, p.timings[moments[i].index].insn);
        assert_int_equal(hits.hits[n_hits].seen, p.timings[seen].insn);
        n_hits++;
    }
    assert_int_equal(hits.n, n_hits);
    assert_true(n_hits > 100);
    free(p.timings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_ten_cycles),
        cmocka_unit_test(the_last_window),
        cmocka_unit_test(windows_begin_anew_when_measuring_does),
        cmocka_unit_test(nothing_retired),
        cmocka_unit_test(windows_of_random_pipelines),
        cmocka_unit_test(in_order_the_distance_is_always_the_same),
        cmocka_unit_test(references_count_in_the_order_of_time),
        cmocka_unit_test(what_counts),
        cmocka_unit_test(interrupts_of_random_pipelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
