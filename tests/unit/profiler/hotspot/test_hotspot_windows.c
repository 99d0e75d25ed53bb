// SPDX-License-Identifier: MIT
/* The branch behavior buffer by windows: random units against a detector that is told each branch.
 * When a stretch ends, all numbers must be the same; when it is left, everything as it was then. */
#include "profiler/hotspot/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNITS 60
#define MOST  6     /* branches of a unit */
#define ALONE UNITS /* units of one branch of another: MOST for each */
#define LISTS (UNITS + UNITS * MOST)

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

struct totals {
    uint64_t whole, rejected, misses, refreshes, resets, detections, stretches, wrong;
};

/* Units, and the detectors that are told of them. */
struct both {
    struct hp_hotspots *slow, *fast;
    struct hp_spot_counts numbered;
    struct hp_spot_windows windows;
    struct hp_spots_list lists[LISTS];
    struct hp_spots_hit hits[UNITS * MOST];
    struct hp_hotspots then;       /* what `slow` was when all was certain, */
    struct hp_spot_entry *entries; /* its buffer, */
    size_t at;                     /* and the log */
    struct totals *totals;
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
            b->lists[ALONE + i * MOST + k] = (struct hp_spots_list){.start = k == 0 ? i % 2 : 2,
                                                                    .falls = 1,
                                                                    .first = i * MOST + k,
                                                                    .n = k < list->n,
                                                                    .open = k >= list->n};
        }
    }
}

static bool is_taken(const struct both *b, uint32_t unit, uint32_t i, uint32_t next)
{
    const struct hp_spots_list *list = &b->lists[unit];
    return i < list->n ? b->hits[list->first + i].counts >> 16
                       : b->lists[next].start != list->falls;
}

static void expect_same(const struct hp_hotspots *fast, const struct hp_hotspots *slow,
                        const struct hp_spot_entry *entries)
{
    for (uint32_t i = 0; i < slow->config.entries; i++) {
        const struct hp_spot_entry *f = &fast->entries[i], *e = &entries[i];
        assert_int_equal(f->executed, e->executed);
        if (!e->executed)
            continue;
        assert_int_equal(f->address, e->address);
        assert_int_equal(f->taken, e->taken);
    }
    assert_int_equal(fast->detect, slow->detect);
    assert_memory_equal(&fast->stats, &slow->stats, sizeof fast->stats);
}

/* Everything is certain now. */
static void remember(struct both *b)
{
    b->then = *b->slow;
    memcpy(b->entries, b->slow->entries, b->slow->config.entries * sizeof *b->entries);
    b->at = b->windows.n_log;
}

/* Leaves the stretch as it was then. */
static void leave(struct both *b)
{
    hp_spot_windows_leave(&b->windows, b->lists, b->hits, b->at);
    hp_spot_counts_give_back(&b->numbered);
    b->fast->stats.branches = b->then.stats.branches;
    b->fast->stats.profiled = b->then.stats.profiled;
    expect_same(b->fast, &b->then, b->entries);
}

/* The same; then the fast one becomes what the slow one is. */
static void go_back(struct both *b)
{
    struct hp_hotspots *h = b->fast;
    leave(b);
    memcpy(h->entries, b->slow->entries, h->config.entries * sizeof *h->entries);
    memcpy(h->flows, b->slow->flows, h->config.entries);
    h->stats = b->slow->stats;
    h->detect = b->slow->detect;
    h->refresh_left = b->slow->refresh_left;
    h->reset_left = b->slow->reset_left;
    b->totals->wrong++;
}

/* Whether it is certain that nothing was detected; if not, goes back. */
static bool check(struct both *b, struct hp_spot_outcome *outcome)
{
    assert_int_equal(hp_spot_windows_check(&b->windows, b->lists, b->hits, outcome), HP_OK);
    if (outcome->detect > 0) {
        assert_int_equal(b->slow->stats.detections, b->then.stats.detections);
        assert_true(outcome->detect <= b->slow->detect);
        return true;
    }
    go_back(b);
    return false;
}

/* Something that ends a stretch, or makes certain what was run, at any time. */
static void interrupt(struct both *b)
{
    struct hp_spot_outcome outcome;
    uint32_t what = random_below(10);
    if (!check(b, &outcome))
        return;
    remember(b);
    if (what == 0)
        leave(b);
    if (what != 1)
        return;
    hp_spot_windows_drop(&b->windows, b->lists, &outcome); /* as if it was switched off */
    hp_hotspots_pass_on(b->fast);
    hp_hotspots_pass_on(b->slow);
    expect_same(b->fast, b->slow, b->slow->entries);
}

/* Puts a unit down in the log; all its branches are in this window. */
static void put(struct both *b, uint32_t unit, uint32_t next)
{
    struct hp_spot_windows *w = &b->windows;
    struct hp_hotspots *h = b->fast;
    const uint32_t n = b->lists[unit].n + b->lists[unit].open;
    assert_int_equal(hp_spot_windows_reserve(w, 2, LISTS), HP_OK);
    w->log[w->n_log++] = unit;
    w->log[w->n_log++] = HP_SPOT_NEXT | next;
    hp_spot_windows_count(w, unit);
    hp_spot_windows_unit(w, b->lists, unit);
    h->stats.branches += n;
    h->stats.profiled += n;
    h->refresh_left -= n;
    h->reset_left -= n;
}

/* Does what timers say that are due in a stretch. */
static void end_window(struct both *b)
{
    struct hp_hotspots *h = b->fast;
    struct hp_spot_outcome outcome;
    if (h->reset_left && (h->refresh_left || !hp_spot_windows_refresh(&b->windows)))
        return;
    if (!check(b, &outcome))
        return;
    hp_spot_windows_end(&b->windows, b->lists, &outcome);
    remember(b);
    b->totals->stretches++;
    assert_memory_equal(&h->stats, &b->slow->stats, sizeof h->stats);
    assert_true(b->windows.detect <= b->slow->detect);
}

/* Runs a unit in both: as a whole, or its branches alone if a timer may be due within. */
static void run_unit(struct both *b, uint32_t unit, uint32_t next)
{
    const uint32_t n = b->lists[unit].n + b->lists[unit].open;
    const bool whole = b->windows.numbered && n < b->fast->refresh_left && n < b->fast->reset_left;
    b->totals->whole += whole;
    if (whole)
        put(b, unit, next);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = b->hits[b->lists[unit].first + i].number;
        uint32_t alone = ALONE + unit * MOST + i;
        struct hp_branch branch = branch_of(b, number, is_taken(b, unit, i, next));
        hp_hotspots_branch(b->slow, 1, &branch);
        if (!b->windows.numbered) {
            hp_hotspots_branch(b->fast, 1, &branch);
        } else if (!whole) {
            put(b, alone, i + 1 < n ? alone + 1 : next);
            end_window(b);
        }
    }
}

static void begin(struct both *b)
{
    assert_int_equal(hp_spot_counts_take(&b->numbered, b->fast), HP_OK);
    assert_int_equal(hp_spot_windows_begin(&b->windows, &b->numbered), HP_OK);
    remember(b);
}

static void compare_random(uint64_t number, struct totals *totals)
{
    seed = number * 0x9e3779b97f4a7c15u + 1;
    struct hp_hotspot_config config = random_config();
    struct both *b = calloc(1, sizeof *b);
    b->totals = totals;
    b->entries = calloc(config.entries, sizeof *b->entries);
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &b->slow), HP_OK);
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &b->fast), HP_OK);
    make_units(b);
    uint32_t unit = 0, some = 1 + random_below(UNITS);
    for (int i = 0; i < 6000; i++) {
        uint32_t next = random_below(random_below(4) ? some : UNITS);
        if (b->windows.numbered && !random_below(100))
            interrupt(b);
        else if (b->fast->owner && !b->windows.numbered && random_below(4) &&
                 hp_spot_windows_may_begin(b->fast))
            begin(b);
        run_unit(b, unit, next);
        unit = next;
    }
    totals->rejected += b->slow->stats.rejected;
    totals->misses += b->slow->stats.misses;
    totals->refreshes += b->slow->stats.refreshes;
    totals->resets += b->slow->stats.resets;
    totals->detections += b->slow->stats.detections;
    hp_spot_windows_fini(&b->windows);
    hp_spot_counts_fini(&b->numbered);
    hp_hotspots_free(b->slow);
    hp_hotspots_free(b->fast);
    free(b->entries);
    free(b);
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
    assert_true(totals.stretches > 300 && totals.wrong > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
