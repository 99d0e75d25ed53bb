// SPDX-License-Identifier: MIT
/* The branch behavior buffer by branch: random branches against a detector that finds them by
 * address. After each branch both must have counted the same, and whenever the contents go back,
 * every entry must be the same. */
#include "profiler/hotspot/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static struct hp_hotspot_config random_config(void)
{
    struct hp_hotspot_config config;
    assert_int_equal(hp_hotspot_config_parse("merten,monitor=off,shift=0", &config), HP_OK);
    config.ways = 1 + random_below(4);
    config.entries = config.ways << random_below(6);
    config.counter_bits = random_below(3) ? 1 + random_below(6) : 16;
    config.candidate =
        1 + random_below((1u << (config.counter_bits < 5 ? config.counter_bits : 5)) - 1);
    config.refresh = random_below(4) ? 1 + random_below(200) : 0;
    config.reset = random_below(4) ? 1 + random_below(3000) : 0;
    config.detect_bits = 4 + random_below(10);
    config.down = 1 + random_below(3);
    config.up = 1 + random_below(3);
    return config;
}

static void expect_same(const struct hp_hotspots *found, const struct hp_hotspots *expected)
{
    for (uint32_t i = 0; i < expected->config.entries; i++) {
        const struct hp_spot_entry *f = &found->entries[i], *e = &expected->entries[i];
        assert_int_equal(f->executed, e->executed);
        if (!e->executed)
            continue;
        assert_int_equal(f->address, e->address);
        assert_int_equal(f->taken, e->taken);
        assert_int_equal(found->flows[i], expected->flows[i]);
    }
}

/* Rule by rule, as the profiler does when nothing is detected. */
static void count(struct hp_spot_counts *numbered, const struct hp_branch *branch)
{
    struct hp_hotspots *h = numbered->of;
    struct hp_spot_branch b = {.address = branch->address, .flow = branch->flow};
    b.place = (uint32_t)(branch->address & h->set_mask) * h->config.ways;
    uint32_t number = hp_spot_counts_add(numbered, &b);
    assert_int_not_equal(number, 0);
    struct hp_spot_counting c = hp_spot_counts_begin(numbered);
    uint64_t misses = h->stats.misses;
    hp_spot_count(&c, number, 1 | (uint32_t)branch->taken << 16);
    h->detect = c.detect;
    h->stats.branches++;
    h->stats.profiled++;
    h->stats.hits += misses == h->stats.misses;
    hp_spot_counts_time(numbered);
}

struct totals {
    uint64_t here, hits, misses, rejected, refreshes, resets, detections;
};

static void compare_random(uint64_t number, struct totals *totals)
{
    seed = number * 0x9e3779b97f4a7c15u + 1;
    struct hp_hotspot_config config = random_config();
    struct hp_hotspots *slow, *fast;
    struct hp_spot_counts numbered = {0};
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &slow), HP_OK);
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &fast), HP_OK);
    assert_true(hp_spot_counts_fits(&config));
    uint32_t spread = 4 + random_below(300);
    for (int i = 0; i < 8000; i++) {
        uint64_t address = 0x1000 + random_below(random_below(3) ? spread / 4 : spread);
        struct hp_branch branch = {.address = address,
                                   .flow = address % 3 ? HP_FLOW_COND : HP_FLOW_RETURN,
                                   .taken = random_below(2) != 0};
        hp_hotspots_branch(slow, 1, &branch);
        if (i && fast->detect > (int32_t)config.down && !numbered.of && !random_below(20))
            assert_int_equal(hp_spot_counts_take(&numbered, fast), HP_OK);
        if (numbered.of && (fast->detect <= (int32_t)config.down || !random_below(500))) {
            hp_spot_counts_give_back(&numbered);
        }
        if (numbered.of) {
            count(&numbered, &branch);
            totals->here++;
        } else {
            hp_hotspots_branch(fast, 1, &branch);
            expect_same(fast, slow);
        }
        assert_int_equal(fast->detect, slow->detect);
        assert_int_equal(fast->refresh_left, slow->refresh_left);
        assert_int_equal(fast->reset_left, slow->reset_left);
        assert_memory_equal(&fast->stats, &slow->stats, sizeof fast->stats);
    }
    hp_spot_counts_give_back(&numbered);
    expect_same(fast, slow);
    totals->hits += slow->stats.hits;
    totals->misses += slow->stats.misses;
    totals->rejected += slow->stats.rejected;
    totals->refreshes += slow->stats.refreshes;
    totals->resets += slow->stats.resets;
    totals->detections += slow->stats.detections;
    hp_spot_counts_fini(&numbered);
    hp_hotspots_free(slow);
    hp_hotspots_free(fast);
}

static void test_random_branches(void **state)
{
    struct totals totals = {0};
    (void)state;
    for (uint64_t i = 0; i < 300; i++)
        compare_random(i, &totals);
    assert_true(totals.here > 500000);
    assert_true(totals.hits > 100000 && totals.misses > 100000 && totals.rejected > 10000);
    assert_true(totals.refreshes > 1000 && totals.resets > 300 && totals.detections > 100);
}

/* An entry needs room for an address alone and for counters of 16 bits. */
static void test_what_fits(void **state)
{
    struct hp_hotspot_config config;
    (void)state;
    assert_int_equal(hp_hotspot_config_parse("merten", &config), HP_OK);
    assert_true(hp_spot_counts_fits(&config));
    assert_int_equal(hp_hotspot_config_parse("merten,counter=17", &config), HP_OK);
    assert_false(hp_spot_counts_fits(&config));
    assert_int_equal(hp_hotspot_config_parse("merten,index=target", &config), HP_OK);
    assert_false(hp_spot_counts_fits(&config));
    assert_int_equal(hp_hotspot_config_parse("dense", &config), HP_OK);
    assert_false(hp_spot_counts_fits(&config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_branches),
        cmocka_unit_test(test_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
