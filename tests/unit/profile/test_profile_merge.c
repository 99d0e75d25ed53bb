// SPDX-License-Identifier: MIT
/* Merging. */
#include "profile_fixture.h"

/* --- Merging ---------------------------------------------------------------------------------- */

static uint64_t total(const struct hp_pcount *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += counts[i].count;
    return sum;
}

/* Makes the threads and runs of a merged profile those of the other order of merging. */
static void rotate_threads(struct hp_profile *p, uint32_t by)
{
    uint32_t n = (uint32_t)p->n_threads;
    uint32_t *order = malloc(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++)
        order[i] = (i + by) % n;
    permute(p, HP_ROW_THREAD, order);
    for (size_t i = 0; i < p->n_block_counts; i++)
        p->block_counts[i].thread = order[p->block_counts[i].thread];
    for (size_t i = 0; i < p->n_edge_counts; i++)
        p->edge_counts[i].thread = order[p->edge_counts[i].thread];
    for (size_t i = 0; i < p->n_function_counts; i++)
        p->function_counts[i].thread = order[p->function_counts[i].thread];
    for (size_t i = 0; i < p->n_call_counts; i++)
        p->call_counts[i].thread = order[p->call_counts[i].thread];
    for (size_t i = 0; i < p->n_path_counts; i++)
        p->path_counts[i].thread = order[p->path_counts[i].thread];
    for (size_t i = 0; i < p->n_loop_counts; i++)
        p->loop_counts[i].thread = order[p->loop_counts[i].thread];
    for (size_t i = 0; i < p->n_hotspots; i++)
        p->hotspots[i].run = 1 - p->hotspots[i].run;
    for (size_t i = 0; i < p->n_traces_events; i++)
        p->traces_events[i].run = 1 - p->traces_events[i].run;
    for (size_t i = 0; i < p->n_windows; i++)
        p->windows[i].thread = order[p->windows[i].thread];
    free(order);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
}

static void merging_commutes_and_counts_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct hp_profile *a = random_profile(seed, 40), *b = random_profile(seed + 99, 55);
        struct hp_profile *a2 = random_profile(seed, 40), *b2 = random_profile(seed + 99, 55);
        uint64_t blocks =
            total(a->block_counts, a->n_block_counts) + total(b->block_counts, b->n_block_counts);
        uint64_t edges =
            total(a->edge_counts, a->n_edge_counts) + total(b->edge_counts, b->n_edge_counts);
        assert_int_equal(hp_profile_merge(a, b), HP_OK);
        assert_int_equal(hp_profile_merge(b2, a2), HP_OK);
        assert_int_equal(hp_profile_check_normal(a), HP_OK);
        assert_int_equal(a->n_threads, 6);
        assert_int_equal(total(a->block_counts, a->n_block_counts), blocks);
        assert_int_equal(total(a->edge_counts, a->n_edge_counts), edges);
        rotate_threads(b2, 3);
        assert_true(same_things(a, b2));
        assert_true(same_counts(a, b2));
        assert_true(same_paths(a, b2));
        assert_true(same_models(a, b2));
        assert_true(same_insns(a, b2));
        assert_true(same_samplers(a, b2));
        assert_true(same_windows(a, b2));
        assert_true(same_traces_events(a, b2));
        hp_profile_free(a);
        hp_profile_free(b);
        hp_profile_free(a2);
        hp_profile_free(b2);
    }
}

static void merging_joins_the_runs(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(3, 4), *b = random_profile(4, 4);
    a->run.exit_status = 0;
    b->run.exit_status = 9;
    a->run.seconds = 1.5;
    b->run.seconds = 2.25;
    a->run.lost = 4;
    b->run.lost = 5;
    b->run.runs = 7;
    a->run.work = (struct hp_engine_work){
        .blocks = 10, .cache_bytes = 100, .memory_bytes = 7, .traces = 2, .trace_insns_run = 1};
    b->run.work = (struct hp_engine_work){.blocks = 3,
                                          .cache_bytes = 60,
                                          .memory_bytes = 8,
                                          .detached = UINT64_MAX,
                                          .traces = 5,
                                          .trace_insns_run = 4};
    a->n_traces_events = b->n_traces_events = 1;
    a->traces_events[0].run = b->traces_events[0].run = 0;
    b->traces_events[0].ns = 77;
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    assert_int_equal(a->run.work.traces, 7);
    assert_int_equal(a->run.work.trace_insns_run, 5);
    assert_int_equal(a->n_traces_events, 2);
    assert_int_equal(a->traces_events[1].run, 1);
    assert_int_equal(a->traces_events[1].ns, 77);
    assert_int_equal(a->run.exit_status, 9);
    assert_true(a->run.seconds == 3.75);
    assert_int_equal(a->run.lost, 9);
    assert_int_equal(a->run.runs, 8);
    assert_int_equal(a->run.work.blocks, 13);
    assert_int_equal(a->run.work.cache_bytes, 100);
    assert_int_equal(a->run.work.memory_bytes, 8);
    assert_true(a->run.work.detached == UINT64_MAX);
    a->run.exit_status = 2;
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    assert_int_equal(a->run.exit_status, 2);
    b->run.arch = HP_ARCH_ALPHA;
    assert_int_equal(hp_profile_merge(a, b), HP_ERR_INVALID);
    hp_profile_free(a);
    hp_profile_free(b);
}

static void merging_outlives_the_other(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(1, 30), *b = random_profile(2, 30);
    struct hp_profile *c = random_profile(1, 30), *d = random_profile(2, 30);
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    hp_profile_free(b);
    assert_int_equal(hp_profile_merge(c, d), HP_OK);
    assert_true(same_profiles(a, c));
    hp_profile_free(a);
    hp_profile_free(c);
    hp_profile_free(d);
}

static void merging_with_itself_doubles(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(8, 50);
    assert_int_equal(hp_profile_normalize(a), HP_OK);
    uint64_t before = total(a->edge_counts, a->n_edge_counts);
    size_t edges = a->n_edges, blocks = a->n_blocks, lines = a->n_lines;
    assert_int_equal(hp_profile_merge(a, a), HP_OK);
    assert_int_equal(total(a->edge_counts, a->n_edge_counts), before * 2);
    assert_int_equal(a->n_edges, edges);
    assert_int_equal(a->n_blocks, blocks);
    assert_int_equal(a->n_lines, lines);
    assert_int_equal(a->n_threads, 6);
    assert_int_equal(a->run.runs, 2);
    hp_profile_free(a);
}

static void merging_something_bad_changes_nothing(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(8, 50), *same = random_profile(8, 50);
    struct hp_profile *bad = random_profile(9, 50);
    bad->edge_counts[7].item = 123456;
    assert_int_equal(hp_profile_merge(a, bad), HP_ERR_INVALID);
    assert_true(same_profiles(a, same));
    hp_profile_free(a);
    hp_profile_free(same);
    hp_profile_free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_commutes_and_counts_add_up),
        cmocka_unit_test(merging_joins_the_runs),
        cmocka_unit_test(merging_outlives_the_other),
        cmocka_unit_test(merging_with_itself_doubles),
        cmocka_unit_test(merging_something_bad_changes_nothing),
    };
    return cmocka_run_group_tests_name("profile merge", tests, NULL, NULL);
}
