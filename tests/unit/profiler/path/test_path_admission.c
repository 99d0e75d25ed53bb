// SPDX-License-Identifier: MIT
/*
 * The hot path table with random admission, floating accumulators and packed entries: against a
 * naive table that is written from the description in docs/better.md, and the properties for which
 * it was made.
 */
#include "profiler/path/hpt_admission.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

static struct hp_hpt_config config_of(const char *text)
{
    struct hp_hpt_config config;
    if (hp_hpt_parse(text, &config) != HP_OK)
        fail_msg("%s: %s", text, hp_error_text());
    return config;
}

static void give(struct hp_hpt *t, const struct hp_path *path)
{
    struct hp_paths paths = {.paths = path, .n = 1};
    hp_hpt_sink(t)->paths(hp_hpt_sink(t), &paths);
}

/* --- A naive table ---------------------------------------------------------------------------- */

#define MOST 1024

struct naive {
    struct hp_hpt_config config;
    struct hp_path paths[MOST];
    uint64_t counts[MOST]; /* 0: empty */
    uint64_t random;
};

static uint64_t naive_draw(struct naive *n)
{
    n->random ^= n->random << 13;
    n->random ^= n->random >> 7;
    n->random ^= n->random << 17;
    return n->random;
}

/* Bit i of the index: the parity of every bits_th bit of address and outcomes, from bit i on. */
static uint32_t naive_set(const struct naive *n, const struct hp_path *path)
{
    uint32_t sets = n->config.entries / n->config.ways, index = 0;
    unsigned bits = 0;
    while (1u << bits < sets)
        bits++;
    for (unsigned i = 0; i < bits; i++)
        for (unsigned b = i; b < 64; b += bits) {
            unsigned outcome = b == path->length ? 1 : (unsigned)(path->outcomes >> b & 1);
            index ^= ((unsigned)(path->start >> b & 1) ^ outcome) << i;
        }
    return index;
}

/* All values that an accumulator can have, tried one power of two after another. */
static uint64_t naive_add(struct naive *n, uint64_t count, uint64_t events)
{
    unsigned mantissa = n->config.accumulator_bits - n->config.exponent_bits;
    uint64_t sum = count + events, step = 1;
    if (!n->config.exponent_bits)
        return sum >> mantissa ? (UINT64_C(1) << mantissa) - 1 : sum;
    uint64_t most = (UINT64_C(1) << (mantissa + 1)) - 1;
    for (unsigned e = 2; e < 1u << n->config.exponent_bits; e++)
        most *= 2;
    if (sum > most)
        sum = most;
    uint64_t random = naive_draw(n);
    while (sum >= step << (mantissa + 1))
        step *= 2;
    return sum / step * step + (random % step < sum % step ? step : 0);
}

static void naive_give(struct naive *n, const struct hp_path *path)
{
    uint32_t first = naive_set(n, path) * n->config.ways, least = first;
    for (uint32_t i = first; i < first + n->config.ways; i++)
        if (n->counts[i] && hp_path_same(&n->paths[i], path)) {
            n->counts[i] = naive_add(n, n->counts[i], path->events);
            return;
        }
    if (path->events == 0)
        return;
    for (uint32_t i = first; i < first + n->config.ways; i++)
        if (n->counts[i] < n->counts[least])
            least = i;
    if (n->counts[least]) {
        uint64_t range = 1;
        while (range * 2 <= n->counts[least] + path->events)
            range *= 2;
        if (naive_draw(n) % range >= path->events)
            return;
    }
    n->paths[least] = *path;
    n->counts[least] = naive_add(n, n->counts[least], path->events);
}

static void assert_same(const struct naive *n, struct hp_hpt *t)
{
    static struct hp_path_count found[MOST];
    size_t n_found = hp_hpt_paths(t, found), n_naive = 0;
    for (uint32_t i = 0; i < n->config.entries; i++) {
        bool there = n->counts[i] == 0;
        n_naive += n->counts[i] != 0;
        for (size_t k = 0; k < n_found && !there; k++)
            there = hp_path_same(&found[k].path, &n->paths[i]) && found[k].count == n->counts[i];
        assert_true(there);
    }
    assert_int_equal(n_found, n_naive);
}

/* Skewed: the smaller the number, the more frequent. */
static struct hp_path random_path(uint64_t *random, uint32_t kinds)
{
    uint32_t kind = (uint32_t)(next_random(random) % kinds);
    kind = (uint32_t)(next_random(random) % (kind + 1));
    struct hp_path path = {.start = 0x400000 + kind / 3 * 7,
                           .length = (uint8_t)(1 + kind % 32),
                           .events = (uint32_t)(next_random(random) % 4)};
    path.outcomes = kind * UINT64_C(0x9e3779b9) & ((UINT64_C(1) << path.length) - 1);
    return path;
}

static void same_as_naive(const char *text, uint32_t kinds, size_t n_paths, bool large)
{
    static struct naive naive;
    struct hp_hpt *t;
    uint64_t random = 1;
    naive = (struct naive){.config = config_of(text), .random = HP_HPT_SEED};
    assert_int_equal(hp_hpt_new(&naive.config, &t), HP_OK);
    for (size_t i = 0; i < n_paths; i++) {
        struct hp_path path = random_path(&random, kinds);
        if (large)
            path.events *= 1000003;
        give(t, &path);
        naive_give(&naive, &path);
        if (i % 997 == 0)
            assert_same(&naive, t);
    }
    assert_same(&naive, t);
    assert_int_equal(hp_hpt_stats(t)->paths, n_paths);
    hp_hpt_free(t);
}

static void does_what_the_naive_table_does(void **state)
{
    (void)state;
    same_as_naive("random-admission", 3000, 100000, false);
    same_as_naive("random-admission", 3000, 100000, true);
    same_as_naive("12x3,index=fold,policy=rap,bits=8,exponent=3", 100, 50000, false);
    same_as_naive("12x3,index=fold,policy=rap,bits=8,exponent=3", 100, 50000, true);
    same_as_naive("64x64,index=fold,policy=rap,bits=16", 500, 50000, false);
    same_as_naive("5x5,index=fold,policy=rap,bits=24,exponent=5,packed", 40, 50000, true);
}

/* --- What it is for --------------------------------------------------------------------------- */

/* Twenty frequent paths in a crowd of which each comes once: how many executions of them hit. */
static double hits_in_a_crowd(const char *text)
{
    struct hp_hpt_config config = config_of(text);
    struct hp_hpt *t;
    uint64_t random = 7, hits = 0, last = 0;
    assert_int_equal(hp_hpt_new(&config, &t), HP_OK);
    for (uint32_t i = 0; i < 200000; i++) {
        bool hot = next_random(&random) % 4 == 0;
        struct hp_path path = {.start = hot ? 0x1000 + next_random(&random) % 20 * 36
                                            : UINT64_C(0x100000) + 4 * (uint64_t)i,
                               .length = 1,
                               .outcomes = 1,
                               .events = 1};
        give(t, &path);
        hits += hp_hpt_stats(t)->hits - last;
        last = hp_hpt_stats(t)->hits;
    }
    hp_hpt_free(t);
    return 100.0 * (double)hits / 50000;
}

static void a_crowd_does_not_disturb(void **state)
{
    (void)state;
    assert_true(hits_in_a_crowd("32x32,index=fold,policy=rap") > 98);
    assert_true(hits_in_a_crowd("32x32,index=fold,policy=lru") < 80);
}

/* A new phase gets its places: what came a hundred times makes room for what comes a thousand
 * times. */
static void a_new_phase_gets_in(void **state)
{
    struct hp_hpt_config config = config_of("8x8,index=fold,policy=rap");
    struct hp_path_count found[8];
    struct hp_hpt *t;
    (void)state;
    assert_int_equal(hp_hpt_new(&config, &t), HP_OK);
    for (uint32_t i = 0; i < 8 * 100 + 8 * 2000; i++) {
        uint64_t start = i < 800 ? 0x1000 + i % 8 : 0x2000 + i % 8;
        give(t, &(struct hp_path){.start = start, .length = 1, .events = 1});
    }
    assert_int_equal(hp_hpt_paths(t, found), 8);
    for (size_t i = 0; i < 8; i++) {
        assert_true(found[i].path.start >= 0x2000);
        assert_in_range(found[i].count, 1700, 2300); /* about what it was executed */
    }
    hp_hpt_free(t);
}

static void accumulators_are_right_on_average(void **state)
{
    struct hp_hpt_config config = config_of("1x1,policy=rap,bits=12,exponent=4");
    double sum = 0;
    uint64_t random = HP_HPT_SEED;
    (void)state;
    for (unsigned run = 0; run < 50; run++) {
        uint64_t count = 0;
        for (uint32_t i = 0; i < 20000; i++)
            count = hp_hpt_round(&config, count + 3, hp_hpt_draw(&random));
        assert_in_range(count, 40000, 80000);
        sum += (double)count;
    }
    assert_true(fabs(sum / 50 - 60000) < 1000);
}

static void accumulators_saturate(void **state)
{
    struct hp_hpt_config config = config_of("1x1,policy=rap,bits=8,exponent=2");
    struct hp_path_count found;
    struct hp_hpt *t;
    (void)state;
    assert_int_equal(hp_hpt_most(&config), 127 << 2);
    assert_int_equal(hp_hpt_new(&config, &t), HP_OK);
    for (unsigned i = 0; i < 1000; i++)
        give(t, &(struct hp_path){.start = 1, .events = 3});
    assert_int_equal(hp_hpt_paths(t, &found), 1);
    assert_int_equal(found.count, 127 << 2);
    hp_hpt_free(t);
}

/* --- Its size --------------------------------------------------------------------------------- */

/* Paths that differ in the index bits of the address only are in different sets: so a set tells
 * these bits. */
static void a_set_tells_the_lowest_bits(void **state)
{
    static const char *const indexes[] = {"64x1,index=fold,policy=lru", "64x1,index=xor,policy=lru",
                                          "64x1,index=address,policy=lru"};
    uint64_t random = 3;
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned n = 0; n < 200; n++) {
            struct hp_hpt_config config = config_of(indexes[i]);
            struct hp_path path = {.start = next_random(&random) & ~UINT64_C(255),
                                   .length = (uint8_t)(next_random(&random) % 33),
                                   .events = 1};
            struct hp_hpt *t;
            path.outcomes = next_random(&random) & ((UINT64_C(1) << path.length) - 1);
            assert_int_equal(hp_hpt_new(&config, &t), HP_OK);
            for (uint64_t low = 0; low < 64; low++) {
                struct hp_path other = path;
                other.start += i ? low << 2 : low;
                give(t, &other);
            }
            assert_int_equal(hp_hpt_stats(t)->replacements, 0);
            hp_hpt_free(t);
        }
}

static void sizes_in_bytes(void **state)
{
    struct hp_hpt_config better = config_of("random-admission"), paper = config_of("vaswani");
    (void)state;
    /* 47 bits of an address without the 5 of the set, 32 outcomes behind a leading one, 23 of the
     * accumulator; and the generator. */
    assert_int_equal(hp_hpt_bytes(&better), (608 * (42 + 33 + 23) + 64) / 8);
    assert_true(hp_hpt_bytes(&better) <= hp_hpt_bytes(&paper));
    better.policy = HP_HPT_LFU;
    better.exponent_bits = 0;
    assert_int_equal(hp_hpt_bytes(&better), 608 * (42 + 33 + 23) / 8);
}

static void is_written_as_it_is_read(void **state)
{
    static const char *const texts[] = {"random-admission", "608x19,index=fold,policy=rap",
                                        "64x8,policy=rap,bits=20,exponent=4",
                                        "96x3,index=fold,policy=lru,packed"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hp_hpt_config config = config_of(texts[i]);
        char text[128];
        hp_hpt_format(&config, text, sizeof text);
        assert_string_equal(text, texts[i]);
    }
}

static void illegal_ones_are_refused(void **state)
{
    static const char *const texts[] = {"600x19",
                                        "608x19,exponent=6",
                                        "608x19,bits=8,exponent=5",
                                        "608x19,bits=60,exponent=5",
                                        "608x19,packed=1",
                                        "608x19,policy=random",
                                        "608x0",
                                        "random"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hp_hpt_config config;
        assert_int_equal(hp_hpt_parse(texts[i], &config), HP_ERR_INVALID);
        assert_null(strchr(hp_error_text(), '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_what_the_naive_table_does),
        cmocka_unit_test(a_crowd_does_not_disturb),
        cmocka_unit_test(a_new_phase_gets_in),
        cmocka_unit_test(accumulators_are_right_on_average),
        cmocka_unit_test(accumulators_saturate),
        cmocka_unit_test(a_set_tells_the_lowest_bits),
        cmocka_unit_test(sizes_in_bytes),
        cmocka_unit_test(is_written_as_it_is_read),
        cmocka_unit_test(illegal_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
