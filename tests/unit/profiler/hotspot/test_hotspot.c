// SPDX-License-Identifier: MIT
/* The hot spot detector: its rules at their boundaries, and random streams against the slow
 * reference. */
#include "hotpath/hotspot.h"
#include "support/hotspot_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- A detector with what it found ------------------------------------------------------------ */

#define MAX_FOUND 64

struct found {
    uint32_t process;
    uint64_t branches;
    size_t n;
    struct hp_hotspot_branch candidates[64]; /* the first of them */
};

struct tested {
    struct hp_hotspots *detector;
    struct found found[MAX_FOUND];
    size_t n;
};

static void on_found(void *context, const struct hp_hotspot *hotspot)
{
    struct tested *t = context;
    assert_int_equal(hotspot->number, t->n);
    assert_in_range(t->n, 0, MAX_FOUND - 1);
    struct found *f = &t->found[t->n++];
    f->process = hotspot->process;
    f->branches = hotspot->branches;
    f->n = hotspot->n_candidates;
    for (size_t i = 0; i < f->n && i < 64; i++)
        f->candidates[i] = hotspot->candidates[i];
}

static void start(struct tested *t, const char *text)
{
    struct hp_hotspot_config config;
    *t = (struct tested){0};
    assert_int_equal(hp_hotspot_config_parse(text, &config), HP_OK);
    assert_int_equal(hp_hotspots_new(&config, on_found, t, &t->detector), HP_OK);
}

static void stop(struct tested *t)
{
    assert_int_equal(hp_hotspots_check(t->detector), HP_OK);
    hp_hotspots_free(t->detector);
}

static void run_as(struct tested *t, uint32_t process, uint64_t address, bool taken, uint64_t times)
{
    struct hp_branch branch = {.address = address,
                               .target = taken ? 0x9000 : address + 2,
                               .flow = HP_FLOW_COND,
                               .taken = taken};
    for (uint64_t i = 0; i < times; i++)
        hp_hotspots_branch(t->detector, process, &branch);
}

static void run(struct tested *t, uint64_t address, bool taken, uint64_t times)
{
    run_as(t, 1, address, taken, times);
}

static const struct hp_hotspot_stats *stats(const struct tested *t)
{
    return hp_hotspots_stats(t->detector);
}

/* --- Candidates and the detection counter ----------------------------------------------------- */

/* One branch: up to its threshold the counter is at its maximum, then it goes down by one. */
static void test_detects_after_threshold_and_counter(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off");
    run(&t, 0x100, true, 15 + 8190);
    assert_int_equal(t.n, 0);
    run(&t, 0x100, true, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.found[0].branches, 15 + 8191);
    assert_int_equal(t.found[0].n, 1);
    assert_int_equal(t.found[0].candidates[0].address, 0x100);
    assert_int_equal(t.found[0].candidates[0].flow, HP_FLOW_COND);
    /* From the beginning again. */
    run(&t, 0x100, true, 15 + 8190);
    assert_int_equal(t.n, 1);
    run(&t, 0x100, true, 1);
    assert_int_equal(t.n, 2);
    stop(&t);
}

static void test_threshold_is_reached_and_not_before(void **state)
{
    (void)state;
    for (unsigned executed = 3; executed <= 5; executed++) {
        struct tested t;
        start(&t, "merten,monitor=off,candidate=4,detect=1,refresh=0,reset=0");
        run(&t, 0x100, true, executed);
        assert_int_equal(t.n, executed >= 4); /* the counter is 1 at most */
        stop(&t);
    }
}

static void test_threshold_of_one(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,candidate=1,detect=2");
    run(&t, 0x100, true, 2);
    assert_int_equal(t.n, 0);
    run(&t, 0x200, true, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.found[0].n, 2);
    stop(&t);
}

/* Both counters stop when `executed` is saturated: the ratio is frozen. */
static void test_saturation_freezes_the_ratio(void **state)
{
    (void)state;
    for (unsigned n = 510; n <= 512; n++) {
        struct tested t;
        start(&t, "merten,monitor=off,refresh=0,reset=0,detect=11");
        run(&t, 0x100, true, 200);
        run(&t, 0x100, false, n - 200);
        run(&t, 0x100, true, 2047 + 15 - n);
        assert_int_equal(t.n, 1);
        assert_int_equal(t.found[0].candidates[0].executed, 511);
        assert_int_equal(t.found[0].candidates[0].taken, n < 511 ? 201 : 200);
        stop(&t);
    }
}

/* Two of three branches are candidates: down 2, up 2, for ever at the same place. One in four is
 * not: it comes down. */
static void test_two_thirds_are_not_enough(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=0,reset=0,entries=2");
    run(&t, 0x100, true, 16);
    run(&t, 0x104, true, 16); /* the only set is full of candidates */
    for (int i = 0; i < 100000; i++) {
        run(&t, 0x100, true, 2);
        run(&t, 0x108, true, 1);
    }
    assert_int_equal(t.n, 0);
    assert_int_equal(stats(&t)->rejected, 100000);
    for (int i = 0; i < 8190; i++) {
        run(&t, 0x100, true, 3);
        run(&t, 0x108, true, 1);
    }
    assert_int_equal(t.n, 1);
    stop(&t);
}

/* At its maximum it does not go up; at 1, one candidate detects. */
static void test_detection_counter_saturates(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=0,reset=0,detect=3,candidate=2");
    for (uint64_t i = 0; i < 1000; i++)
        run(&t, 0x10000 + i, true, 1); /* up, up: 7 stays 7 */
    run(&t, 0x100, true, 1);
    run(&t, 0x100, true, 6); /* down to 1 */
    assert_int_equal(t.n, 0);
    run(&t, 0x104, true, 1); /* up to 3 */
    run(&t, 0x100, true, 2); /* down to 1 */
    assert_int_equal(t.n, 0);
    run(&t, 0x100, true, 1); /* 0 */
    assert_int_equal(t.n, 1);
    stop(&t);
}

/* Steps that overshoot both ends. */
static void test_steps_beyond_the_counter(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=0,reset=0,detect=2,candidate=2,down=5,up=9");
    run(&t, 0x100, true, 1);
    assert_int_equal(t.n, 0);
    run(&t, 0x100, true, 1);
    assert_int_equal(t.n, 1);
    stop(&t);
}

/* --- The buffer ------------------------------------------------------------------------------- */

/* The non-candidate with the fewest executions makes room, of equals the first. */
static void test_replaces_the_smallest(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=0,reset=0,entries=2,candidate=8,detect=10");
    run(&t, 0x100, true, 3);
    run(&t, 0x102, true, 2);
    run(&t, 0x104, true, 2); /* for 0x102 */
    assert_int_equal(stats(&t)->misses, 3);
    run(&t, 0x100, true, 1);
    assert_int_equal(stats(&t)->hits, 2 + 1 + 1 + 1);
    run(&t, 0x104, true, 2);  /* now 4 and 4 */
    run(&t, 0x106, true, 10); /* for 0x100, and becomes a candidate */
    run(&t, 0x104, true, 1);
    assert_int_equal(stats(&t)->misses, 4);
    assert_int_equal(stats(&t)->rejected, 0);
    run(&t, 0x100, true, 1); /* for 0x104: the candidate stays */
    run(&t, 0x106, true, 1);
    assert_int_equal(stats(&t)->misses, 5);
    stop(&t);
}

static void test_a_set_full_of_candidates_rejects(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=0,reset=0,entries=4,candidate=2");
    run(&t, 0x100, true, 2);
    run(&t, 0x104, true, 2);
    run(&t, 0x108, true, 5);
    assert_int_equal(stats(&t)->rejected, 5);
    assert_int_equal(stats(&t)->misses, 7);
    run(&t, 0x101, true, 5); /* the other set */
    assert_int_equal(stats(&t)->rejected, 5);
    stop(&t);
}

static void test_index_tells_directions_apart(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,index=direction,detect=5,candidate=4");
    for (int i = 0; i < 18; i++) {
        run(&t, 0x100, true, 1);
        run(&t, 0x100, false, 1);
    }
    assert_int_equal(t.n, 0);
    run(&t, 0x100, true, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.found[0].n, 2);
    for (int i = 0; i < 2; i++) {
        const struct hp_hotspot_branch *c = &t.found[0].candidates[i];
        assert_int_equal(c->address, 0x100);
        assert_true((c->taken == 19 && c->executed == 19) || (c->taken == 0 && c->executed == 18));
    }
    stop(&t);
}

static void test_index_tells_targets_apart(void **state)
{
    struct tested t;
    struct hp_branch branch = {.address = 0x100, .flow = HP_FLOW_JUMP_IND, .taken = 1};
    (void)state;
    start(&t, "merten,monitor=off,index=target,detect=4,candidate=3,down=2");
    for (uint64_t i = 0; i < 30 && !t.n; i++) {
        branch.target = 0x1000 + i % 3;
        hp_hotspots_branch(t.detector, 1, &branch);
    }
    assert_int_equal(t.n, 1);
    assert_int_equal(t.found[0].n, 3);
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++)
        seen[t.found[0].candidates[i].target - 0x1000] = true;
    assert_true(seen[0] && seen[1] && seen[2]);
    stop(&t);
}

static void test_only_conditional_and_computed(void **state)
{
    static const uint8_t flows[] = {HP_FLOW_NONE,   HP_FLOW_JUMP,     HP_FLOW_COND,
                                    HP_FLOW_CALL,   HP_FLOW_JUMP_IND, HP_FLOW_CALL_IND,
                                    HP_FLOW_RETURN, HP_FLOW_SYSCALL,  HP_FLOW_TRAP};
    (void)state;
    for (int only = 0; only < 2; only++) {
        struct tested t;
        start(&t, only ? "merten,only=conditional-indirect" : "merten");
        for (size_t i = 0; i < sizeof flows; i++) {
            struct hp_branch branch = {
                .address = 0x100, .target = 0x200, .flow = flows[i], .taken = 1};
            hp_hotspots_branch(t.detector, 1, &branch);
        }
        assert_int_equal(stats(&t)->branches, only ? 4 : 6);
        stop(&t);
    }
}

/* --- Timers ----------------------------------------------------------------------------------- */

/* A branch that is dropped starts anew. */
static void test_refresh_drops_what_is_no_candidate(void **state)
{
    (void)state;
    for (unsigned before = 9; before <= 11; before++) {
        struct tested t;
        start(&t, "merten,monitor=off,refresh=10,reset=0,candidate=11,detect=4");
        run(&t, 0x100, true, before);
        assert_int_equal(stats(&t)->refreshes, before >= 10);
        assert_int_equal(stats(&t)->misses, before == 11 ? 2 : 1);
        stop(&t);
    }
}

static void test_refresh_keeps_candidates(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=10,reset=0,candidate=10,detect=6");
    run(&t, 0x100, true, 9 + 62);
    assert_int_equal(t.n, 0);
    assert_int_equal(stats(&t)->refreshes, 7);
    assert_int_equal(stats(&t)->misses, 1);
    run(&t, 0x100, true, 1);
    assert_int_equal(t.n, 1);
    stop(&t);
}

static void test_reset_clears_everything(void **state)
{
    (void)state;
    for (unsigned reset = 70; reset <= 72; reset++) {
        struct tested t;
        char text[100];
        snprintf(text, sizeof text, "merten,monitor=off,refresh=0,reset=%u,candidate=9,detect=6",
                 reset);
        start(&t, text);
        run(&t, 0x100, true, 71); /* 8 up, 63 down */
        assert_int_equal(t.n, reset > 70);
        /* A branch that detects does not count for the timers. */
        assert_int_equal(stats(&t)->resets, reset == 70);
        stop(&t);
    }
}

/* Both at once: a reset, and the refresh timer starts again too. */
static void test_both_timers_at_once(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=10,reset=30,candidate=500");
    run(&t, 0x100, true, 30);
    assert_int_equal(stats(&t)->refreshes, 2);
    assert_int_equal(stats(&t)->resets, 1);
    run(&t, 0x100, true, 9);
    assert_int_equal(stats(&t)->refreshes, 2);
    run(&t, 0x100, true, 1);
    assert_int_equal(stats(&t)->refreshes, 3);
    stop(&t);
}

static void test_timers_of_zero_never_fire(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,monitor=off,refresh=0,reset=0,candidate=500");
    run(&t, 0x100, true, 200000);
    assert_int_equal(stats(&t)->refreshes + stats(&t)->resets, 0);
    assert_int_equal(stats(&t)->misses, t.n + 1);
    stop(&t);
}

/* --- The monitor ------------------------------------------------------------------------------ */

/* A hot spot once found is not found again; the counter goes to 0 and there it is off. */
static void test_monitor_switches_off_and_on(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten");
    run(&t, 0x100, true, 15 + 8191);
    assert_int_equal(t.n, 1);
    assert_int_equal(stats(&t)->monitored, 1);
    run(&t, 0x100, true, 4094);
    assert_int_equal(stats(&t)->switched_off, 0);
    uint64_t profiled = stats(&t)->profiled;
    run(&t, 0x100, true, 1); /* 0: off, and this one is not seen any more */
    assert_int_equal(stats(&t)->switched_off, 1);
    assert_int_equal(stats(&t)->profiled, profiled);
    run(&t, 0x100, true, 100000); /* stays at 0 */
    assert_int_equal(stats(&t)->profiled, profiled);
    assert_int_equal(stats(&t)->monitor_hits[0], 4095 + 100000);
    run(&t, 0x200, true, 4094);
    assert_int_equal(stats(&t)->switched_on, 0);
    run(&t, 0x200, true, 1); /* the maximum: on, and this one is seen */
    assert_int_equal(stats(&t)->switched_on, 1);
    assert_int_equal(stats(&t)->profiled, profiled + 1);
    run(&t, 0x200, true, 15 + 8191 - 2);
    assert_int_equal(t.n, 1);
    run(&t, 0x200, true, 1);
    assert_int_equal(t.n, 2);
    stop(&t);
}

/* What the buffer knew before is gone when it is switched on. */
static void test_switching_on_clears(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,detect=4,candidate=2,monitor-counter=3,reset=0,refresh=0");
    run(&t, 0x100, true, 16); /* found: 1 up, 15 down */
    assert_int_equal(t.n, 1);
    run(&t, 0x200, true, 2); /* a candidate, when it will be gone */
    run(&t, 0x100, true, 7);
    assert_int_equal(stats(&t)->switched_off, 1);
    uint64_t misses = stats(&t)->misses;
    run(&t, 0x200, true, 7);
    assert_int_equal(stats(&t)->switched_on, 1);
    assert_int_equal(stats(&t)->misses, misses + 1);
    stop(&t);
}

static void test_bounded_monitor_table(void **state)
{
    struct tested t;
    (void)state;
    start(&t,
          "merten,detect=6,candidate=2,monitor-entries=2,monitor-ways=1,monitor-counter=4,reset=0");
    for (int i = 0; i < 16 && !t.n; i++)
        for (uint64_t a = 0x100; a < 0x106 && !t.n; a++)
            run(&t, a, true, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.found[0].n, 6);
    assert_int_equal(stats(&t)->monitored, 2); /* 0x100 and 0x101 */
    assert_int_equal(stats(&t)->monitor_full, 4);
    run(&t, 0x101, true, 15);
    assert_int_equal(stats(&t)->switched_off, 1);
    run(&t, 0x102, true, 15);
    assert_int_equal(stats(&t)->switched_on, 1);
    stop(&t);
}

/* Three neighbours become a range, and what is between them belongs to it. */
static void test_ranges(void **state)
{
    struct tested t;
    static const uint64_t spot[] = {0x100, 0x120, 0x140, 0x1000, 0x1040, 0x9000};
    (void)state;
    start(&t, "merten,detect=8,candidate=2,ranges=2,gap=32,monitor-counter=4,reset=0");
    for (int i = 0; i < 100 && !t.n; i++)
        for (size_t k = 0; k < 6 && !t.n; k++)
            run(&t, spot[k], true, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(stats(&t)->monitored_ranges, 1);
    assert_int_equal(stats(&t)->monitored, 3);
    run(&t, 0x130, true, 5);
    assert_int_equal(stats(&t)->monitor_hits[1], 5);
    run(&t, 0xff, true, 5);
    run(&t, 0x141, true, 5);
    assert_int_equal(stats(&t)->monitor_hits[1], 5);
    run(&t, 0x1040, true, 3);
    assert_int_equal(stats(&t)->monitor_hits[0], 3);
    stop(&t);
}

/* --- Processes -------------------------------------------------------------------------------- */

/* The same addresses in two processes are different branches; the buffer goes round. */
static void test_processes_take_turns(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,detect=6,candidate=2,monitor-counter=5,reset=0,refresh=0");
    run_as(&t, 7, 0x100, true, 10);
    run_as(&t, 8, 0x100, true, 1000); /* waits: the buffer is the other's */
    assert_int_equal(t.n, 0);
    assert_int_equal(stats(&t)->profiled, 10);
    run_as(&t, 7, 0x100, true, 54);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.found[0].process, 7);
    assert_int_equal(t.found[0].branches, 1064);
    assert_int_equal(stats(&t)->passed_on, 1);
    run_as(&t, 7, 0x200, true, 1000); /* its turn is over */
    assert_int_equal(t.n, 1);
    run_as(&t, 8, 0x100, true, 64);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.found[1].process, 8);
    assert_int_equal(stats(&t)->monitored, 2);
    run_as(&t, 7, 0x200, true, 64);
    assert_int_equal(t.n, 3);
    stop(&t);
}

static void test_reset_passes_the_buffer_on(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,reset=100");
    run_as(&t, 1, 0x100, true, 100);
    assert_int_equal(stats(&t)->passed_on, 0); /* there is nobody else */
    run_as(&t, 2, 0x100, true, 10);
    run_as(&t, 3, 0x100, true, 10);
    run_as(&t, 1, 0x100, true, 100);
    assert_int_equal(stats(&t)->passed_on, 1);
    run_as(&t, 3, 0x100, true, 100);
    run_as(&t, 1, 0x100, true, 100);
    assert_int_equal(stats(&t)->profiled, 200);
    run_as(&t, 2, 0x100, true, 100);
    run_as(&t, 3, 0x100, true, 100);
    assert_int_equal(stats(&t)->profiled, 400);
    run_as(&t, 1, 0x100, true, 1);
    assert_int_equal(stats(&t)->profiled, 401);
    stop(&t);
}

static void test_end_of_a_process(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "merten,detect=6,candidate=2,monitor-entries=2,monitor-ways=1,reset=0,refresh=0");
    run_as(&t, 1, 0x100, true, 64);
    assert_int_equal(t.n, 1);
    run_as(&t, 2, 0x100, true, 1);
    hp_hotspots_end(t.detector, 1);
    hp_hotspots_end(t.detector, 1);
    hp_hotspots_end(t.detector, 12345);
    run_as(&t, 2, 0x100, true, 64); /* takes the place of the other's branch */
    assert_int_equal(t.n, 2);
    assert_int_equal(stats(&t)->monitor_full, 0);
    assert_int_equal(stats(&t)->monitored, 1);
    run_as(&t, 1, 0x100, true, 1); /* another process */
    assert_int_equal(stats(&t)->monitor_hits[0], 0);
    hp_hotspots_end(t.detector, 2);
    hp_hotspots_end(t.detector, 1);
    run_as(&t, 9, 0x300, true, 64);
    assert_int_equal(t.n, 3);
    stop(&t);
}

/* --- Text and size ---------------------------------------------------------------------------- */

static void expect_steps(const char *text, uint32_t up, uint32_t down)
{
    struct hp_hotspot_config config;
    assert_int_equal(hp_hotspot_config_parse(text, &config), HP_OK);
    assert_int_equal(config.up, up);
    assert_int_equal(config.down, down);
}

static void test_threshold_as_a_share(void **state)
{
    struct hp_hotspot_config config;
    (void)state;
    expect_steps("threshold=50%", 1, 1);
    expect_steps("threshold=66.7%", 2, 1);
    expect_steps("threshold=66%", 2, 1); /* .6667 is nearer than 9/14 = .643 and 15/23 = .652 */
    expect_steps("threshold=75%", 3, 1);
    expect_steps("threshold=80%", 4, 1);
    expect_steps("threshold=90%", 9, 1);
    expect_steps("threshold=99%", 16, 1);
    expect_steps("threshold=1%", 1, 16);
    expect_steps("threshold=40%", 2, 3);
    assert_int_equal(hp_hotspot_config_parse("merten,monitor-threshold=90%", &config), HP_OK);
    assert_int_equal(config.monitor_up, 9);
    assert_int_equal(config.monitor_down, 1);
}

static void test_text_goes_round(void **state)
{
    static const char *const texts[] = {
        "merten",
        "merten,entries=1024,ways=4,candidate=8",
        "merten,counter=7,refresh=0,reset=100000,detect=12,down=3,up=4",
        "merten,monitor-counter=10,monitor-down=2,monitor-up=3,monitor-entries=512,monitor-ways=4",
        "merten,ranges=16,gap=128,address=48,index=target,only=conditional-indirect,share=thread",
        "merten,monitor=off,shift=2",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hp_hotspot_config config;
        char text[512], cut[8];
        assert_int_equal(hp_hotspot_config_parse(texts[i], &config), HP_OK);
        hp_hotspot_config_format(&config, text, sizeof text);
        assert_string_equal(text, texts[i]);
        hp_hotspot_config_format(&config, cut, sizeof cut);
        assert_int_equal(strlen(cut), texts[i][6] ? 7 : 6);
    }
}

static void test_text_that_is_wrong(void **state)
{
    static const char *const texts[][2] = {
        {"", "there is no ''; there are merten, dense"},
        {"martin", "there is no 'martin'; there are merten, dense"},
        {"entries=10,merten", "'merten' has to come first"},
        {"merten,entries", "'entries' needs a value"},
        {"merten,entries=", "entries: '' is not a number"},
        {"merten,entries=-1", "entries: '-1' is not a number"},
        {"merten,entries=12x", "entries: '12x' is not a number"},
        {"merten,entries=0", "entries: 0 is not between 1 and 1048576"},
        {"merten,entries=99999999999999", "entries: 99999999999999 is not between 1 and 1048576"},
        {"merten,entries=1000", "1000 entries in sets of 2 are 500 sets: only a power of two is"},
        {"merten,entries=1025,ways=2",
         "1025 entries cannot be divided into sets of 2: there are ways left"},
        {"merten,candidate=512", "candidate is 512, and a counter of 9 bits goes up to 511"},
        {"merten,counter=32", "counter: 32 is not between 1 and 31"},
        {"merten,monitor-entries=3,monitor-ways=2",
         "3 entries of the monitor table cannot be divided into sets of 2:"},
        {"merten,monitor-entries=6,monitor-ways=2",
         "6 entries of the monitor table in sets of 2 are 3 sets: only a power"},
        {"merten,monitor=off,ranges=4", "ranges of no monitor table"},
        {"merten,index=colour", "index: 'colour' is none of address, direction, target"},
        {"merten,only=some", "only: 'some' is none of all, conditional-indirect"},
        {"merten,shift=9", "shift: 9 is not between 0 and 8"},
        {"merten,shift=4294967295", "shift: 4294967295 is not between 0 and 8"},
        {"merten,threshold=0%", "threshold: '0%' is not a share between 0% and 100%"},
        {"merten,threshold=100%", "threshold: '100%' is not a share between 0% and 100%"},
        {"merten,threshold=66", "threshold: '66' is not a share between 0% and 100%"},
        {"merten,threshold=nan%", "threshold: 'nan%' is not a share between 0% and 100%"},
        {"merten,colour=3", "the detector has no setting 'colour'; there are entries, ways,"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hp_hotspot_config config = {.entries = 77};
        assert_int_equal(hp_hotspot_config_parse(texts[i][0], &config), HP_ERR_INVALID);
        if (!strstr(hp_error_text(), texts[i][1]))
            fail_msg("'%s': %s", texts[i][0], hp_error_text());
        assert_int_equal(config.entries, 77);
    }
    char much[2000];
    struct hp_hotspot_config config;
    memset(much, 'x', sizeof much - 1);
    much[sizeof much - 1] = 0;
    assert_int_equal(hp_hotspot_config_parse(much, &config), HP_ERR_INVALID);
    assert_int_equal(hp_hotspot_config_parse("merten", &config), HP_OK);
    config.index = (enum hp_hotspot_index)7;
    struct hp_hotspots *none;
    assert_int_equal(hp_hotspots_new(&config, NULL, NULL, &none), HP_ERR_INVALID);
}

static void expect_bits(const char *text, uint64_t bits, uint64_t monitor)
{
    struct hp_hotspot_config config;
    uint64_t found;
    assert_int_equal(hp_hotspot_config_parse(text, &config), HP_OK);
    assert_int_equal(hp_hotspot_config_bits(&config, 100, &found), bits);
    assert_int_equal(found, monitor);
    assert_int_equal(hp_hotspot_config_bits(&config, 100, NULL), bits);
}

/* By hand. */
static void test_size(void **state)
{
    (void)state;
    /* 2048 x (22 tag + 9 + 9 + 1), 13, 12, 16, 12; monitor 100 x 33 */
    expect_bits("merten", 2048 * 41 + 13 + 12 + 16 + 12, 3300);
    /* fixed instructions */
    expect_bits("merten,shift=2", 2048 * 39 + 13 + 12 + 16 + 12, 3100);
    expect_bits("merten,index=direction", 2048 * (23 + 9 + 1) + 53, 3300);
    expect_bits("merten,index=target", 2048 * (54 + 9 + 1) + 53, 3300);
    expect_bits("merten,monitor=off", 2048 * 41 + 13 + 12 + 16, 0);
    /* 512 entries in 256 sets: 24 + 1; four ranges of 65 */
    expect_bits("merten,monitor-entries=512,ranges=4", 2048 * 41 + 53, 512 * 25 + 4 * 65);
    expect_bits("merten,refresh=0,reset=0", 2048 * 41 + 13 + 12, 3300);
}

/* --- Random streams --------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % n;
}

/* A detector small enough for everything to happen. */
static void random_config(struct hp_hotspot_config *config)
{
    assert_int_equal(hp_hotspot_config_parse("merten", config), HP_OK);
    config->ways = 1u << random_below(3);
    config->entries = config->ways << random_below(4);
    config->counter_bits = 3 + random_below(4);
    config->candidate = 1 + random_below((1u << config->counter_bits) - 1);
    config->refresh = random_below(4) ? 1 + random_below(100) : 0;
    config->reset = random_below(4) ? 1 + random_below(1000) : 0;
    config->detect_bits = 2 + random_below(6);
    config->down = 1 + random_below(3);
    config->up = 1 + random_below(3);
    config->monitor_bits = 2 + random_below(6);
    config->monitor_down = 1 + random_below(3);
    config->monitor_up = 1 + random_below(3);
    config->monitor = random_below(5) > 0;
    config->conditional_indirect = random_below(2);
    config->index = (enum hp_hotspot_index)random_below(3);
    config->shift = random_below(3);
    if (config->monitor && random_below(2)) {
        config->monitor_ways = 1 + random_below(2);
        config->monitor_entries = config->monitor_ways << random_below(5);
    }
    if (config->monitor && random_below(2)) {
        config->ranges = random_below(4);
        config->range_gap = random_below(16);
    }
}

/* Phases: some addresses, mostly. */
static void random_branch(struct hp_branch *branch, uint64_t phase)
{
    static const uint8_t flows[] = {HP_FLOW_COND,   HP_FLOW_COND,     HP_FLOW_JUMP,   HP_FLOW_CALL,
                                    HP_FLOW_RETURN, HP_FLOW_JUMP_IND, HP_FLOW_SYSCALL};
    uint64_t place = random_below(8) ? phase * 64 + random_below(6) * 4 : random_below(1000);
    *branch = (struct hp_branch){.address = 0x1000 + place,
                                 .flow = flows[(place * 7 + place / 8) % sizeof flows]};
    branch->taken = branch->flow != HP_FLOW_COND || random_below(3);
    branch->target =
        branch->taken ? 0x5000 + (place * 13 + random_below(2) * 64) : branch->address + 2;
}

struct both {
    const struct hotspot_reference *reference;
    size_t n;
    bool just;
};

static void expect_same(void *context, const struct hp_hotspot *hotspot)
{
    struct both *both = context;
    size_t n;
    const struct reference_spot *spots = hotspot_reference_spots(both->reference, &n);
    assert_int_equal(n, both->n + 1);
    const struct reference_spot *spot = &spots[both->n++];
    assert_int_equal(hotspot->process, spot->process);
    assert_int_equal(hotspot->branches, spot->branches);
    assert_int_equal(hotspot->n_candidates, spot->n_candidates);
    for (size_t i = 0; i < spot->n_candidates; i++) {
        assert_int_equal(hotspot->candidates[i].address, spot->candidates[i].address);
        assert_int_equal(hotspot->candidates[i].target, spot->candidates[i].target);
        assert_int_equal(hotspot->candidates[i].executed, spot->candidates[i].executed);
        assert_int_equal(hotspot->candidates[i].taken, spot->candidates[i].taken);
        assert_int_equal(hotspot->candidates[i].flow, spot->candidates[i].flow);
    }
}

static size_t compare_random(uint64_t number)
{
    struct hp_hotspot_config config;
    struct hp_hotspots *detector;
    seed = number * 0x9e3779b97f4a7c15u + 1;
    random_config(&config);
    struct hotspot_reference *reference = hotspot_reference_new(&config);
    struct both both = {.reference = reference};
    assert_int_equal(hp_hotspots_new(&config, expect_same, &both, &detector), HP_OK);
    uint64_t phase = 0;
    uint32_t process = 1, processes = 1 + random_below(4);
    for (int i = 0; i < 5000; i++) {
        struct hp_branch branch;
        if (!random_below(400))
            phase = random_below(6);
        if (!random_below(50))
            process = 1 + random_below(processes);
        if (!random_below(700)) {
            hotspot_reference_end(reference, process);
            hp_hotspots_end(detector, process);
        }
        random_branch(&branch, phase);
        bool found = hotspot_reference_branch(reference, process, &branch);
        size_t before = both.n;
        hp_hotspots_branch(detector, process, &branch);
        assert_int_equal(both.n, before + found);
    }
    assert_memory_equal(hp_hotspots_stats(detector), hotspot_reference_stats(reference),
                        sizeof(struct hp_hotspot_stats));
    assert_int_equal(hp_hotspots_check(detector), HP_OK);
    hp_hotspots_free(detector);
    hotspot_reference_free(reference);
    return both.n;
}

static void test_random_streams(void **state)
{
    size_t found = 0;
    (void)state;
    for (uint64_t i = 0; i < 400; i++)
        found += compare_random(i);
    assert_true(found > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detects_after_threshold_and_counter),
        cmocka_unit_test(test_threshold_is_reached_and_not_before),
        cmocka_unit_test(test_threshold_of_one),
        cmocka_unit_test(test_saturation_freezes_the_ratio),
        cmocka_unit_test(test_two_thirds_are_not_enough),
        cmocka_unit_test(test_detection_counter_saturates),
        cmocka_unit_test(test_steps_beyond_the_counter),
        cmocka_unit_test(test_replaces_the_smallest),
        cmocka_unit_test(test_a_set_full_of_candidates_rejects),
        cmocka_unit_test(test_index_tells_directions_apart),
        cmocka_unit_test(test_index_tells_targets_apart),
        cmocka_unit_test(test_only_conditional_and_computed),
        cmocka_unit_test(test_refresh_drops_what_is_no_candidate),
        cmocka_unit_test(test_refresh_keeps_candidates),
        cmocka_unit_test(test_reset_clears_everything),
        cmocka_unit_test(test_both_timers_at_once),
        cmocka_unit_test(test_timers_of_zero_never_fire),
        cmocka_unit_test(test_monitor_switches_off_and_on),
        cmocka_unit_test(test_switching_on_clears),
        cmocka_unit_test(test_bounded_monitor_table),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_processes_take_turns),
        cmocka_unit_test(test_reset_passes_the_buffer_on),
        cmocka_unit_test(test_end_of_a_process),
        cmocka_unit_test(test_threshold_as_a_share),
        cmocka_unit_test(test_text_goes_round),
        cmocka_unit_test(test_text_that_is_wrong),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_random_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
