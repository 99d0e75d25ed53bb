// SPDX-License-Identifier: MIT
/* The sampler: what is selected, held against one that counts one by one; delivery; hostile
 * timings. */
#include "sample_fixture.h"

/* --- A sampler that counts / ------------------------------------------------------------------ */

/* Does what the rules say with every single instruction or slot. */
struct naive {
    struct hp_sample_config config;
    struct hp_random random;
    uint64_t major, minor; /* what is left to count; minor 0: no pair is open */
    bool measured;
    uint64_t slot; /* the next to be counted, in mode slots */
    struct hp_sample_pair current;
    uint64_t counted, lost, empty;
    uint64_t left[64]; /* by set of registers: when what it holds leaves */
    uint32_t set;
    struct taken taken;
};

static uint64_t naive_interval(struct naive *v)
{
    uint64_t half = v->config.interval / 2;
    return hp_random_between(&v->random, v->config.interval - half, v->config.interval + half);
}

static void naive_start(struct naive *v, const struct hp_sample_config *config)
{
    *v = (struct naive){.config = *config, .random = hp_random_seed(config->seed, test_thread.id)};
    do
        v->major = hp_random_between(&v->random, 1, config->interval + config->interval / 2);
    while (v->major > naive_interval(v));
}

static void naive_hold(struct naive *v, struct hp_sample *sample, const struct hp_timing *timing,
                       uint64_t cycle)
{
    memset(sample, 0, sizeof *sample);
    sample->pid = test_thread.pid;
    sample->tid = test_thread.tid;
    sample->empty = timing == NULL;
    sample->timing.fetched = cycle;
    v->empty += timing == NULL;
    if (!timing)
        return;
    sample->pc = timing->insn;
    sample->timing = *timing;
    sample->timing.history = (uint32_t)(timing->history % ((uint64_t)1 << v->config.history));
    if (cycle + timing->left > v->left[v->set])
        v->left[v->set] = cycle + timing->left;
}

static bool naive_free(struct naive *v, uint64_t cycle)
{
    for (uint32_t set = v->config.tags; set-- > 0;)
        if (v->left[set] <= cycle)
            v->set = set;
    return v->left[v->set] <= cycle;
}

static void naive_count(struct naive *v, const struct hp_timing *timing, uint64_t cycle)
{
    v->counted++;
    if (v->minor && --v->minor == 0) {
        naive_hold(v, &v->current.second, timing, cycle);
        v->current.paired = true;
        v->current.fetch_latency = cycle - v->current.first.timing.fetched;
        take(&v->taken, &v->current, 1);
    }
    if (--v->major)
        return;
    v->major = naive_interval(v);
    if (v->minor || !naive_free(v, cycle)) {
        v->lost += v->config.window ? 2 : 1;
        return;
    }
    memset(&v->current, 0, sizeof v->current);
    v->current.second.empty = true;
    naive_hold(v, &v->current.first, timing, cycle);
    if (v->config.window)
        v->minor = v->current.distance = hp_random_between(&v->random, 1, v->config.window);
    else
        take(&v->taken, &v->current, 1);
}

static void naive_cut(struct naive *v)
{
    if (v->minor) {
        v->lost += 2;
        v->empty -= v->current.first.empty;
    }
    v->minor = 0;
}

static void naive_timing(struct naive *v, const struct hp_timing *t)
{
    uint64_t slot = t->fetched * SLOTS + t->slot;
    if (!(t->events & HP_TIMING_MEASURED) || t->events & HP_TIMING_WINDOW || !v->measured) {
        naive_cut(v);
        v->slot = slot;
    }
    v->measured = t->events & HP_TIMING_MEASURED;
    if (!v->measured)
        return;
    for (; v->config.mode == HP_SAMPLE_SLOTS && v->slot < slot; v->slot++)
        naive_count(v, NULL, v->slot / SLOTS);
    naive_count(v, t, t->fetched);
    v->slot = slot + 1;
}

static void check_sample(const struct hp_sample *a, const struct hp_sample *b)
{
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->tid, b->tid);
    assert_int_equal(a->empty, b->empty);
    assert_int_equal(a->pc, b->pc);
    assert_memory_equal(&a->timing, &b->timing, sizeof a->timing);
}

/* Batches of any length, so that windows, pairs and stalls lie across their ends. */
static void check_against_naive(const char *text, const struct flow *flow)
{
    struct hp_sample_config config = config_of(text);
    struct hp_random random = hp_random_seed(99, 0);
    struct hp_sampler *sampler;
    struct taken taken = {0};
    struct naive naive;
    naive_start(&naive, &config);
    for (size_t i = 0; i < flow->n; i++)
        naive_timing(&naive, &flow->timings[i]);
    naive_cut(&naive);
    assert_int_equal(
        hp_sampler_new_on(&config, &test_machine, &test_thread, take, &taken, &sampler), HP_OK);
    for (size_t i = 0; i < flow->n;) {
        size_t n = hp_random_between(&random, 1, chance(&random, 50) ? 5 : 3000);
        n = n < flow->n - i ? n : flow->n - i;
        hp_sampler_timings(sampler, flow->timings + i, n);
        i += n;
    }
    hp_sampler_end(sampler);
    const struct hp_sampler_stats *stats = hp_sampler_stats(sampler);
    assert_int_equal(stats->counted, naive.counted);
    assert_int_equal(stats->lost, naive.lost);
    assert_int_equal(stats->empty, naive.empty);
    assert_int_equal(taken.n, naive.taken.n);
    assert_int_equal(stats->samples, taken.n * (config.window ? 2 : 1));
    for (size_t i = 0; i < taken.n; i++) {
        check_sample(&taken.pairs[i].first, &naive.taken.pairs[i].first);
        assert_int_equal(taken.pairs[i].paired, naive.taken.pairs[i].paired);
        assert_int_equal(taken.pairs[i].distance, naive.taken.pairs[i].distance);
        assert_int_equal(taken.pairs[i].fetch_latency, naive.taken.pairs[i].fetch_latency);
        if (config.window)
            check_sample(&taken.pairs[i].second, &naive.taken.pairs[i].second);
    }
    assert_true(taken.n > 10);
    hp_sampler_free(sampler);
    free(taken.pairs);
    free(naive.taken.pairs);
}

static const char *const ways[] = {
    "profileme,interval=300",
    "profileme,interval=301,window=96,history=5",
    "profileme,interval=2",                        /* most are lost */
    "profileme,interval=70,window=64,buffer=7",    /* pairs reach into the next */
    "profileme,interval=3,window=64",              /* likewise, nearly always */
    "profileme,mode=slots,interval=300,buffer=16", /* empty ones */
    "profileme,interval=20,tags=2",                /* several in flight */
    "profileme,interval=2,tags=64",
    "profileme,interval=70,window=64,tags=3",
    "profileme,mode=slots,interval=15,tags=5",
    "profileme,mode=slots,interval=2,history=32",
    "profileme,mode=slots,interval=401,window=200",
    "profileme,mode=slots,interval=10,window=300,history=0",
};

static void selects_as_one_that_counts(void **state)
{
    (void)state;
    struct flow flow = make_flow(60000, 1);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check_against_naive(ways[i], &flow);
    free(flow.timings);
}

/* Stretches that are not measured, and windows right behind each other. */
static void windows_are_counted_as_one_run(void **state)
{
    (void)state;
    struct flow flow = make_flow(60000, 2);
    struct hp_random random = hp_random_seed(3, 0);
    for (size_t i = 0; i < flow.n;) {
        bool measured = chance(&random, 50);
        size_t end = i + hp_random_between(&random, 1, chance(&random, 30) ? 3 : 2000);
        flow.timings[i].events |= measured ? HP_TIMING_WINDOW : 0;
        for (; i < end && i < flow.n; i++)
            if (!measured)
                flow.timings[i].events &= ~(uint32_t)(HP_TIMING_MEASURED | HP_TIMING_WINDOW);
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check_against_naive(ways[i], &flow);
    free(flow.timings);
}

/* --- Delivery / ------------------------------------------------------------------------------- */

/* Timings so far apart that nothing is lost. */
static struct flow idle_flow(size_t n)
{
    struct flow flow = {.timings = calloc(n, sizeof *flow.timings), .n = n};
    assert_non_null(flow.timings);
    for (size_t i = 0; i < n; i++)
        flow.timings[i] = (struct hp_timing){.fetched = 10 * i,
                                             .insn = (uint32_t)(i % 7),
                                             .address = i,
                                             .left = 9,
                                             .events = HP_TIMING_MEASURED | HP_TIMING_RETIRED};
    return flow;
}

static void buffers_are_delivered_full_and_cost(void **state)
{
    (void)state;
    struct flow flow = idle_flow(1000);
    struct hp_sample_config config =
        config_of("profileme,interval=10,buffer=8,interrupt=500,sample=30");
    struct taken taken = {0};
    struct hp_sampler_stats stats = sample_flow(&config, &flow, take, &taken);
    assert_int_equal(stats.lost, 0);
    assert_in_range(stats.samples, 67, 200); /* intervals are 5 to 15 */
    assert_int_equal(stats.samples, taken.n);
    assert_int_equal(taken.largest, 8);
    assert_int_equal(taken.deliveries, (taken.n + 7) / 8);
    assert_int_equal(stats.interrupts, taken.deliveries);
    assert_int_equal(stats.cost, 500 * taken.deliveries + 30 * taken.n);
    free(taken.pairs);

    config = config_of("profileme,interval=20,window=64,buffer=4,interrupt=500,sample=30");
    memset(&taken, 0, sizeof taken);
    stats = sample_flow(&config, &flow, take, &taken);
    assert_int_equal(stats.samples, 2 * taken.n);
    assert_int_equal(stats.interrupts, (taken.n + 3) / 4);
    assert_int_equal(stats.cost, 500 * stats.interrupts + 30 * 2 * taken.n);
    free(taken.pairs);
    free(flow.timings);
}

static void nothing_is_delivered_before_the_buffer_is_full(void **state)
{
    (void)state;
    struct flow flow = idle_flow(1000);
    struct hp_sample_config config = config_of("profileme,interval=10,buffer=1000");
    struct taken taken = {0};
    struct hp_sampler *sampler;
    assert_int_equal(
        hp_sampler_new_on(&config, &test_machine, &test_thread, take, &taken, &sampler), HP_OK);
    hp_sampler_timings(sampler, flow.timings, flow.n);
    assert_int_equal(taken.deliveries, 0);
    hp_sampler_end(sampler);
    assert_int_equal(taken.deliveries, 1);
    hp_sampler_end(sampler); /* once more changes nothing */
    assert_int_equal(taken.deliveries, 1);
    hp_sampler_free(sampler);
    free(taken.pairs);
    free(flow.timings);
}

/* In flight, selected and cut off: all are counted. */
static void what_cannot_be_recorded_is_lost(void **state)
{
    (void)state;
    struct flow flow = idle_flow(100);
    struct hp_sample_config config = config_of("profileme,interval=2");
    struct taken taken = {0};
    for (size_t i = 0; i < flow.n; i++)
        flow.timings[i].left = 100; /* ten later ones are fetched meanwhile */
    struct hp_sampler_stats stats = sample_flow(&config, &flow, take, &taken);
    for (size_t i = 1; i < taken.n; i++)
        assert_true(taken.pairs[i].first.timing.address >=
                    taken.pairs[i - 1].first.timing.address + 10);
    assert_in_range(taken.n, 7, 10); /* every 10 to 13: an interval is 1 to 3 */
    assert_in_range(stats.samples + stats.lost, 33, 100); /* all that were selected */
    assert_true(stats.lost > 2 * stats.samples);
    free(taken.pairs);
    memset(&taken, 0, sizeof taken);
    for (size_t i = 0; i < flow.n; i++)
        flow.timings[i].left = HP_NEVER;
    stats = sample_flow(&config, &flow, take, &taken);
    assert_int_equal(taken.n, 0);
    assert_in_range(stats.lost, 33, 100);
    free(flow.timings);
}

/* --- Repeatable / ----------------------------------------------------------------------------- */

static bool same_samples(const struct taken *a, const struct taken *b)
{
    for (size_t i = 0; a->n == b->n && i < a->n; i++)
        if (memcmp(&a->pairs[i].first.timing, &b->pairs[i].first.timing,
                   sizeof(struct hp_timing)) != 0 ||
            memcmp(&a->pairs[i].second.timing, &b->pairs[i].second.timing,
                   sizeof(struct hp_timing)) != 0)
            return false;
    return a->n == b->n;
}

static void same_seed_same_samples(void **state)
{
    (void)state;
    struct flow flow = make_flow(30000, 5);
    struct taken taken[4] = {{0}};
    static const char *const seeds[] = {"profileme,interval=200,window=64,seed=7",
                                        "profileme,interval=200,window=64,seed=7",
                                        "profileme,interval=200,window=64,seed=8"};
    for (size_t i = 0; i < 3; i++) {
        struct hp_sample_config config = config_of(seeds[i]);
        sample_flow(&config, &flow, take, &taken[i]);
    }
    /* Another thread's, with the first seed. */
    struct hp_sample_config config = config_of(seeds[0]);
    struct hp_thread thread = {.id = 4};
    struct hp_sampler *sampler;
    assert_int_equal(hp_sampler_new_on(&config, &test_machine, &thread, take, &taken[3], &sampler),
                     HP_OK);
    hp_sampler_timings(sampler, flow.timings, flow.n);
    hp_sampler_end(sampler);
    hp_sampler_free(sampler);
    assert_true(taken[0].n > 100);
    assert_true(same_samples(&taken[0], &taken[1]));
    assert_false(same_samples(&taken[0], &taken[2]));
    assert_false(same_samples(&taken[0], &taken[3]));
    for (size_t i = 0; i < 4; i++)
        free(taken[i].pairs);
    free(flow.timings);
}

/* The generator is the published one: xoshiro256** from the state 1, 2, 3, 4, splitmix64 from
 * 1234567. */
static void random_numbers_are_the_published_ones(void **state)
{
    (void)state;
    struct hp_random random = {{1, 2, 3, 4}};
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(hp_random_next(&random), expected[i]);
    uint64_t mix = 1234567;
    assert_int_equal(hp_random_mix(&mix), 6457827717110365317u);
    assert_int_equal(hp_random_mix(&mix), 3203168211198807973u);
}

/* --- Machines / ------------------------------------------------------------------------------- */

static uint64_t pc_of(const void *context, uint32_t insn)
{
    return *(const uint64_t *)context + 4 * (uint64_t)insn;
}

static void samples_say_where_they_are(void **state)
{
    (void)state;
    struct flow flow = idle_flow(1000);
    uint64_t base = 0x400000;
    struct hp_sample_machine machine = {.width = 1, .window = 5, .pc = pc_of, .context = &base};
    struct hp_sample_config config = config_of("profileme,pairs,interval=20");
    struct hp_sampler *sampler;
    struct taken taken = {0};
    assert_int_equal(hp_sampler_new_on(&config, &machine, &test_thread, take, &taken, &sampler),
                     HP_OK);
    assert_int_equal(hp_sampler_config(sampler)->window, 5);
    hp_sampler_timings(sampler, flow.timings, flow.n);
    hp_sampler_end(sampler);
    assert_true(taken.n > 20);
    for (size_t i = 0; i < taken.n; i++) {
        assert_int_equal(taken.pairs[i].first.pc, base + 4 * taken.pairs[i].first.timing.insn);
        assert_int_equal(taken.pairs[i].second.pc, base + 4 * taken.pairs[i].second.timing.insn);
    }
    hp_sampler_free(sampler);
    free(taken.pairs);
    free(flow.timings);
}

static void rejects(struct hp_sample_config config, struct hp_sample_machine machine,
                    const char *text)
{
    struct hp_sampler *sampler;
    assert_int_equal(hp_sampler_new_on(&config, &machine, &test_thread, take, NULL, &sampler),
                     HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), text));
}

static void configs_that_do_not_fit_are_rejected(void **state)
{
    (void)state;
    struct hp_sample_config config = config_of("profileme,window=63");
    rejects(config, test_machine, "a window of 63 is less than the 64 instructions");
    rejects(config, (struct hp_sample_machine){.width = 0}, "fetches 1 to");
    config.window = HP_SAMPLE_MACHINE_WINDOW;
    rejects(config, (struct hp_sample_machine){.width = 1}, "what window pairs have");
    config.interval = 1;
    rejects(config, test_machine, "interval: 1 is not between 2");
    config = config_of("profileme");
    config.buffer = 0;
    rejects(config, test_machine, "buffer: 0 is not between 1");
    config.buffer = 1;
    config.mode = 7;
    rejects(config, test_machine, "no mode has the number 7");
}

/* --- Hostile / -------------------------------------------------------------------------------- */

/* Timings that no pipe makes neither crash nor take for ever. */
static void any_timings_are_survived(void **state)
{
    (void)state;
    struct hp_random random = hp_random_seed(17, 0);
    enum { N = 500 };
    struct hp_timing *timings = calloc(N, sizeof *timings);
    assert_non_null(timings);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < N; i++) {
            uint64_t *words = (uint64_t *)&timings[i];
            for (size_t j = 0; j < sizeof *timings / 8; j++)
                words[j] =
                    hp_random_next(&random) >> (round % 3 ? hp_random_next(&random) % 64 : 0);
            if (round % 2)
                timings[i].events |= HP_TIMING_MEASURED;
        }
        struct flow flow = {timings, N};
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct hp_sample_config config = config_of(ways[i]);
            struct hp_overlap_tally *tally;
            uint32_t near = 30;
            if (config.mode == HP_SAMPLE_SLOTS)
                config.interval = (uint64_t)1 << 30; /* a stall may be 2^32 cycles */
            assert_int_equal(hp_overlap_tally_new(hp_overlap_near, &near, &tally), HP_OK);
            sample_flow(&config, &flow, hp_overlap_tally_pairs, tally);
            hp_overlap_tally_free(tally);
        }
    }
    free(timings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects_as_one_that_counts),
        cmocka_unit_test(windows_are_counted_as_one_run),
        cmocka_unit_test(buffers_are_delivered_full_and_cost),
        cmocka_unit_test(nothing_is_delivered_before_the_buffer_is_full),
        cmocka_unit_test(what_cannot_be_recorded_is_lost),
        cmocka_unit_test(same_seed_same_samples),
        cmocka_unit_test(random_numbers_are_the_published_ones),
        cmocka_unit_test(samples_say_where_they_are),
        cmocka_unit_test(configs_that_do_not_fit_are_rejected),
        cmocka_unit_test(any_timings_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
