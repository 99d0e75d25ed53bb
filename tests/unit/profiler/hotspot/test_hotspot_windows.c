// SPDX-License-Identifier: MIT
/* The branch behavior buffer by windows: random units against a detector that is told each branch.
 * Whenever a window is left everything must be the same; when one ends, all numbers. */
#include "profiler/hotspot/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNITS 60
#define MOST  6 /* branches of a unit */

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
    config.entries = config.ways << random_below(7);
    config.counter_bits = 2 + random_below(8);
    config.candidate =
        1 + random_below((1u << (config.counter_bits < 5 ? config.counter_bits : 5)) - 1);
    config.refresh = 1 + random_below(300);
    config.reset = random_below(4) ? 1 + random_below(3000) : 0;
    config.detect_bits = 8 + random_below(5);
    config.down = 1 + random_below(2);
    config.up = 1 + random_below(3);
    return config;
}

/* Units, and the detectors that are told of them. */
struct both {
    struct hp_hotspots *slow, *fast;
    struct hp_spot_counts numbered;
    struct hp_spot_windows windows;
    struct hp_spots_list lists[UNITS];
    struct hp_spots_hit hits[UNITS * MOST];
};

static struct hp_branch branch_of(const struct both *b, uint32_t number, bool taken)
{
    const struct hp_spot_branch *branch = &b->numbered.branches[number];
    return (struct hp_branch){.address = branch->address, .flow = branch->flow, .taken = taken};
}

static void make_units(struct both *b)
{
    uint32_t spread = 4 + random_below(200);
    memset(b->lists, 0, sizeof b->lists);
    for (uint32_t i = 0; i < UNITS; i++) {
        struct hp_spots_list *list = &b->lists[i];
        *list = (struct hp_spots_list){.start = i % 2, .falls = 1, .first = i * MOST};
        list->n = (uint8_t)random_below(MOST);
        list->open = random_below(4) != 0;
        for (uint32_t k = 0; k < MOST; k++) {
            uint64_t address = 0x1000 + random_below(spread);
            struct hp_spot_branch branch = {.address = address, .flow = HP_FLOW_COND};
            branch.place = (uint32_t)(address & b->fast->set_mask) * b->fast->config.ways;
            bool taken = k < list->n && random_below(2);
            b->hits[list->first + k] =
                (struct hp_spots_hit){.number = hp_spot_counts_add(&b->numbered, &branch),
                                      .counts = 1 | (uint32_t)taken << 16};
        }
    }
}

static bool is_taken(const struct both *b, uint32_t unit, uint32_t i, uint32_t next)
{
    const struct hp_spots_list *list = &b->lists[unit];
    return i < list->n ? b->hits[list->first + i].counts >> 16
                       : b->lists[next].start != list->falls;
}

static void expect_same(const struct both *b)
{
    for (uint32_t i = 0; i < b->slow->config.entries; i++) {
        const struct hp_spot_entry *f = &b->fast->entries[i], *e = &b->slow->entries[i];
        assert_int_equal(f->executed, e->executed);
        if (!e->executed)
            continue;
        assert_int_equal(f->address, e->address);
        assert_int_equal(f->taken, e->taken);
    }
    assert_int_equal(b->fast->detect, b->slow->detect);
    assert_memory_equal(&b->fast->stats, &b->slow->stats, sizeof b->fast->stats);
}

static void leave(struct both *b)
{
    if (b->windows.numbered)
        hp_spot_windows_leave(&b->windows, b->lists, b->hits);
    hp_spot_counts_give_back(&b->numbered);
    expect_same(b);
}

/* A branch alone, in a window. */
static void log_branch(struct both *b, uint32_t number, bool taken)
{
    struct hp_hotspots *h = b->fast;
    assert_int_equal(hp_spot_windows_branch(&b->windows, number, taken), HP_OK);
    h->stats.branches++;
    h->stats.profiled++;
    h->refresh_left--;
    h->reset_left--;
    if (h->refresh_left && h->reset_left)
        return;
    assert_int_equal(hp_spot_windows_time(&b->windows, b->lists, b->hits), HP_OK);
    assert_memory_equal(&h->stats, &b->slow->stats, sizeof h->stats);
    assert_true(b->windows.detect <= b->slow->detect);
}

/* In a window, unless one of its timers fires. */
static void run_in_window(struct both *b, uint32_t unit, uint32_t next)
{
    struct hp_hotspots *h = b->fast;
    const struct hp_spots_list *list = &b->lists[unit];
    const uint32_t n = list->n + list->open;
    assert_int_equal(hp_spot_windows_reserve(&b->windows, 1), HP_OK);
    if (n < h->refresh_left && n < h->reset_left) {
        b->windows.log[b->windows.n_log++] = unit;
        b->windows.log[b->windows.n_log++] = HP_SPOT_NEXT | next;
        hp_spot_windows_unit(&b->windows, b->lists, unit, 1);
        h->stats.branches += n;
        h->stats.profiled += n;
        h->refresh_left -= n;
        h->reset_left -= n;
    }
}

/* Runs a unit in both. Returns whether it was in a window as a whole. */
static bool run_unit(struct both *b, uint32_t unit, uint32_t next)
{
    const struct hp_spots_list *list = &b->lists[unit];
    const uint32_t n = list->n + list->open;
    struct hp_hotspots *h = b->fast;
    bool whole = b->windows.numbered && n < h->refresh_left && n < h->reset_left;
    if (whole)
        run_in_window(b, unit, next);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = b->hits[list->first + i].number;
        bool taken = is_taken(b, unit, i, next);
        struct hp_branch branch = branch_of(b, number, taken);
        hp_hotspots_branch(b->slow, 1, &branch);
        if (whole)
            continue;
        if (b->windows.numbered)
            log_branch(b, number, taken);
        else
            hp_hotspots_branch(b->fast, 1, &branch);
    }
    return whole;
}

struct totals {
    uint64_t whole, rejected, misses, refreshes, resets, detections;
};

static void compare_random(uint64_t number, struct totals *totals)
{
    seed = number * 0x9e3779b97f4a7c15u + 1;
    struct hp_hotspot_config config = random_config();
    struct both b = {0};
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &b.slow), HP_OK);
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &b.fast), HP_OK);
    make_units(&b);
    uint32_t unit = 0, some = 1 + random_below(UNITS);
    for (int i = 0; i < 6000; i++) {
        uint32_t next = random_below(random_below(4) ? some : UNITS);
        if (b.windows.numbered && (hp_spot_windows_must_leave(&b.windows) || !random_below(700)))
            leave(&b);
        if (b.windows.numbered && !random_below(700)) { /* as if it was switched off */
            assert_int_equal(hp_spot_windows_drop(&b.windows, b.lists, b.hits), HP_OK);
            hp_hotspots_pass_on(b.fast);
            hp_hotspots_pass_on(b.slow);
            expect_same(&b);
        }
        if (b.fast->owner && !b.windows.numbered && random_below(4) &&
            hp_spot_windows_may_begin(b.fast)) {
            assert_int_equal(hp_spot_counts_take(&b.numbered, b.fast), HP_OK);
            assert_int_equal(hp_spot_windows_begin(&b.windows, &b.numbered), HP_OK);
        }
        totals->whole += run_unit(&b, unit, next);
        unit = next;
    }
    leave(&b);
    totals->rejected += b.slow->stats.rejected;
    totals->misses += b.slow->stats.misses;
    totals->refreshes += b.slow->stats.refreshes;
    totals->resets += b.slow->stats.resets;
    totals->detections += b.slow->stats.detections;
    hp_spot_windows_fini(&b.windows);
    hp_spot_counts_fini(&b.numbered);
    hp_hotspots_free(b.slow);
    hp_hotspots_free(b.fast);
}

static void test_random_units(void **state)
{
    struct totals totals = {0};
    (void)state;
    for (uint64_t i = 0; i < 300; i++)
        compare_random(i, &totals);
    assert_true(totals.whole > 300000);
    assert_true(totals.misses > 100000 && totals.rejected > 10000);
    assert_true(totals.refreshes > 10000 && totals.resets > 300 && totals.detections > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
