// SPDX-License-Identifier: MIT
/* Hot spots by density (docs/hotspots.md, "Density"): worked out by hand, and random streams
 * against the slow reference. */
#include "hotpath/hotspot.h"
#include "support/hotspot_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every branch is sampled, every address marked, nothing ages: with n addresses that were executed
 * the code is 5 (n + 1) instructions. */
#define PLAIN "dense,patience=0,gain=0,reset=0,map=12,map-share=0,entries=16,ways=16,"

struct tested {
    struct hp_hotspots *detector;
    size_t n;
    uint64_t branches; /* at the latest */
    size_t n_candidates;
    struct hp_hotspot_branch candidates[16];
};

static void on_found(void *context, const struct hp_hotspot *hotspot)
{
    struct tested *t = context;
    t->n++;
    t->branches = hotspot->branches;
    t->n_candidates = hotspot->n_candidates;
    for (size_t i = 0; i < hotspot->n_candidates && i < 16; i++)
        t->candidates[i] = hotspot->candidates[i];
}

static struct hp_hotspot_config config_of(const char *text)
{
    struct hp_hotspot_config config;
    if (hp_hotspot_config_parse(text, &config) != HP_OK)
        fail_msg("%s: %s", text, hp_error_text());
    return config;
}

static void start(struct tested *t, const char *text)
{
    struct hp_hotspot_config config = config_of(text);
    *t = (struct tested){0};
    assert_int_equal(hp_hotspots_new(&config, on_found, t, &t->detector), HP_OK);
}

static void stop(struct tested *t)
{
    assert_int_equal(hp_hotspots_check(t->detector), HP_OK);
    hp_hotspots_free(t->detector);
}

static void run(struct tested *t, uint64_t address, bool taken, unsigned insns, uint64_t times)
{
    struct hp_branch branch = {.address = address,
                               .target = taken ? 0x9000 : address + 2,
                               .insns = insns,
                               .flow = HP_FLOW_COND,
                               .taken = taken};
    for (uint64_t i = 0; i < times; i++)
        hp_hotspots_branch(t->detector, 1, &branch);
}

/* --- By hand ---------------------------------------------------------------------------------- */

/* One address: 10 instructions of code; 100 samples of 5: it has to come 2.0 * 500 / 10 times. */
static void test_density_is_reached_and_not_before(void **state)
{
    struct tested t;
    (void)state;
    start(&t, PLAIN "density=20,refresh=100");
    run(&t, 0x100, true, 5, 99);
    assert_int_equal(t.n, 0);
    run(&t, 0x100, true, 5, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.branches, 100);
    assert_int_equal(t.n_candidates, 1);
    assert_int_equal(t.candidates[0].address, 0x100);
    assert_int_equal(t.candidates[0].executed, 100);
    assert_int_equal(t.candidates[0].taken, 100);
    stop(&t);
    start(&t, PLAIN "density=21,refresh=100"); /* 105 times */
    run(&t, 0x100, true, 5, 1000);
    assert_int_equal(t.n, 0);
    stop(&t);
}

/* Instructions are what is dense: with blocks of 6 it would have to come 120 times. Unknown ones
 * are 5. */
static void test_instructions_count(void **state)
{
    struct tested t;
    (void)state;
    start(&t, PLAIN "density=20,refresh=100");
    run(&t, 0x100, true, 6, 1000);
    assert_int_equal(t.n, 0);
    stop(&t);
    start(&t, PLAIN "density=20,refresh=100");
    run(&t, 0x100, true, 0, 100);
    assert_int_equal(t.n, 1);
    stop(&t);
}

/* Three addresses: 20 instructions of code, 25 times or more. Of 100 samples the first has 60,
 * which is 614.4 / 1024. */
static void test_gain(void **state)
{
    struct tested t;
    char text[128];
    (void)state;
    for (unsigned gain = 614; gain <= 615; gain++) {
        snprintf(text, sizeof text, PLAIN "density=10,refresh=100,gain=%u", gain);
        start(&t, text);
        run(&t, 0x100, true, 5, 60);
        run(&t, 0x200, true, 5, 20);
        run(&t, 0x300, false, 5, 20);
        assert_int_equal(t.n, gain == 614);
        if (t.n) {
            assert_int_equal(t.n_candidates, 1);
            assert_int_equal(t.candidates[0].executed, 60);
        }
        stop(&t);
    }
}

/* With n samples it has to come (5 n + 10^6 n / (n + 1)) / 10 times, rounded up: 200,000 of
 * 200,000; but 199,500 of 199,000. */
static void test_patience(void **state)
{
    struct tested t;
    (void)state;
    start(&t, PLAIN "density=10,patience=1,refresh=1000,counter=20");
    run(&t, 0x100, true, 5, 199999);
    assert_int_equal(t.n, 0);
    run(&t, 0x100, true, 5, 1);
    assert_int_equal(t.n, 1);
    stop(&t);
}

/* What is known is not recorded; time goes on. */
static void test_known_branches_are_left_out(void **state)
{
    struct tested t;
    (void)state;
    start(&t, PLAIN "density=20,refresh=100");
    run(&t, 0x100, true, 5, 300);
    assert_int_equal(t.n, 1);
    assert_int_equal(hp_hotspots_stats(t.detector)->profiled, 100);
    assert_int_equal(hp_hotspots_stats(t.detector)->refreshes, 3);
    assert_int_equal(hp_hotspots_stats(t.detector)->monitored, 1);
    stop(&t);
}

/* After 100 samples the counters are a quarter, and branches are sampled half as often: the next 75
 * are among 75 to 225. */
static void test_ageing(void **state)
{
    struct tested t;
    (void)state;
    start(&t, PLAIN "density=1000,refresh=0,reset=100");
    run(&t, 0x100, true, 5, 99);
    assert_int_equal(hp_hotspots_stats(t.detector)->resets, 0);
    run(&t, 0x100, true, 5, 1);
    assert_int_equal(hp_hotspots_stats(t.detector)->resets, 1);
    run(&t, 0x100, true, 5, 74);
    assert_int_equal(hp_hotspots_stats(t.detector)->resets, 1);
    run(&t, 0x100, true, 5, 225 - 74);
    assert_in_range(hp_hotspots_stats(t.detector)->resets, 2, 2);
    assert_in_range(hp_hotspots_stats(t.detector)->profiled, 175, 260);
    stop(&t);
}

/* A set that is full: who comes gets in only by chance, in place of the least, and goes on from its
 * count. */
static void test_rare_branches_do_not_replace_frequent_ones(void **state)
{
    struct tested t;
    (void)state;
    start(&t, "dense,patience=0,gain=0,reset=0,refresh=5200,map=12,map-share=0,entries=2,ways=2,"
              "density=500");
    run(&t, 0x100, true, 5, 2000);
    run(&t, 0x200, true, 5, 2000);
    for (uint64_t i = 0; i < 1200; i++) /* the threshold is 50 * 5200 / 1203 = 217 */
        run(&t, 0x1000 + 16 * i, true, 5, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.n_candidates, 2);
    unsigned kept = 0;
    for (size_t i = 0; i < 2; i++)
        kept += t.candidates[i].address == 0x100 || t.candidates[i].address == 0x200;
    assert_in_range(kept, 1, 2);
    assert_in_range(hp_hotspots_stats(t.detector)->rejected, 1150, 1200);
    stop(&t);
}

/* --- Text and size ---------------------------------------------------------------------------- */

/* 512 entries of 27 + 16 + 16 bits; the map, 4096, and its counter, 12; random number 64; until the
 * next sample 25, period 5; samples 32, instructions 32; threshold 16; timers 12 and 16; monitor
 * counter 12. */
static void test_size(void **state)
{
    struct hp_hotspot_config dense = config_of("dense"), merten = config_of("merten");
    uint64_t monitor, other;
    (void)state;
    assert_int_equal(hp_hotspot_config_bits(&dense, 100, &monitor),
                     512 * 59 + 4096 + 12 + 64 + 25 + 5 + 32 + 32 + 16 + 12 + 16 + 12);
    assert_true(hp_hotspot_config_bits(&dense, 100, &monitor) <
                hp_hotspot_config_bits(&merten, 100, &other));
    assert_int_equal(monitor, other);
}

static void test_text(void **state)
{
    struct hp_hotspot_config config = config_of("dense,density=35,region=whole");
    char text[512];
    (void)state;
    hp_hotspot_config_format(&config, text, sizeof text);
    assert_string_equal(text, "dense,density=35,region=whole");
    assert_int_equal(hp_hotspot_config_parse("dense,monitor=off", &config), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "monitor table"));
    assert_int_equal(hp_hotspot_config_parse("dense,rule=luck", &config), HP_ERR_INVALID);
    assert_int_equal(hp_hotspot_config_parse("dense,density=0", &config), HP_ERR_INVALID);
    assert_int_equal(hp_hotspot_config_parse("dense,map=3", &config), HP_ERR_INVALID);
    assert_int_equal(hp_hotspot_config_parse("dense,map=25", &config), HP_ERR_INVALID);
}

/* --- Random streams --------------------------------------------------------------------------- */

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % below;
}

static struct hp_branch random_branch(uint64_t *random, unsigned phase)
{
    static const uint8_t flows[] = {HP_FLOW_COND, HP_FLOW_JUMP, HP_FLOW_RETURN, HP_FLOW_CALL_IND};
    unsigned hot = draw(random, 8), number = hot ? draw(random, 6) + 6 * phase : draw(random, 400);
    struct hp_branch branch = {.address = 0x1000 + 4 * number,
                               .insns = draw(random, 9),
                               .flow = flows[number % 4],
                               .taken = draw(random, 3) > 0};
    branch.target = branch.taken ? 0x8000 + 64 * number : branch.address + 4;
    return branch;
}

static void compare_spots(const struct tested *t, const struct hotspot_reference *reference)
{
    size_t n;
    const struct reference_spot *spots = hotspot_reference_spots(reference, &n);
    assert_int_equal(t->n, n);
    if (!n)
        return;
    assert_int_equal(t->branches, spots[n - 1].branches);
    assert_int_equal(t->n_candidates, spots[n - 1].n_candidates);
    for (size_t i = 0; i < t->n_candidates && i < 16; i++) {
        const struct hp_hotspot_branch *a = &t->candidates[i], *b = &spots[n - 1].candidates[i];
        assert_int_equal(a->address, b->address);
        assert_int_equal(a->target, b->target);
        assert_int_equal(a->executed, b->executed);
        assert_int_equal(a->taken, b->taken);
        assert_int_equal(a->flow, b->flow);
    }
}

static uint64_t compare_stream(const char *text, uint64_t seed, unsigned processes)
{
    struct tested t;
    struct hp_hotspot_config config = config_of(text);
    struct hotspot_reference *reference = hotspot_reference_new(&config);
    uint64_t random = seed, found;
    start(&t, text);
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t process = draw(&random, processes);
        struct hp_branch branch = random_branch(&random, i / 2500 + process);
        hp_hotspots_branch(t.detector, process, &branch);
        if (hotspot_reference_branch(reference, process, &branch))
            compare_spots(&t, reference);
        if (draw(&random, 4000) == 0) {
            hp_hotspots_end(t.detector, process);
            hotspot_reference_end(reference, process);
        }
    }
    compare_spots(&t, reference);
    assert_memory_equal(hp_hotspots_stats(t.detector), hotspot_reference_stats(reference),
                        sizeof(struct hp_hotspot_stats));
    found = t.n;
    hotspot_reference_free(reference);
    stop(&t);
    return found;
}

static void test_random_streams(void **state)
{
    static const char *const changes[] = {
        "",
        ",ways=2,entries=8,counter=4",
        ",gain=200,monitor-counter=6",
        ",index=target,monitor-up=3",
        ",index=direction,entries=32,ways=4",
        ",only=conditional-indirect,monitor-entries=8",
        ",ranges=3,gap=8,density=20",
        ",map=4,map-share=0,monitor-counter=5",
        ",map-share=16",
        ",patience=1",
    };
    char text[256];
    uint64_t found = 0;
    (void)state;
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++)
        for (unsigned seed = 1; seed <= 6; seed++) {
            snprintf(text, sizeof text,
                     "dense,patience=0,refresh=%u,reset=%u,map-share=1,entries=64%s", 50 * seed,
                     seed == 6 ? 0 : 300 * seed, changes[i]);
            found += compare_stream(text, seed, 1 + seed % 3);
        }
    assert_in_range(found, 100, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_density_is_reached_and_not_before),
        cmocka_unit_test(test_instructions_count),
        cmocka_unit_test(test_gain),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_known_branches_are_left_out),
        cmocka_unit_test(test_ageing),
        cmocka_unit_test(test_rare_branches_do_not_replace_frequent_ones),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_random_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
