// SPDX-License-Identifier: MIT
/* What takes paths: the complete profile, the hot path table, and the measures that compare them.
 */
#include "profiler/path/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A path that starts at `start`. */
static struct hp_path path_at(uint64_t start, uint64_t outcomes, uint8_t length, uint32_t events)
{
    return (struct hp_path){.start = start,
                            .outcomes = outcomes,
                            .block = (uint32_t)start,
                            .insns = 10,
                            .events = events,
                            .length = length};
}

static void give(struct hp_path_sink *sink, const struct hp_path *paths, size_t n)
{
    struct hp_paths batch = {.paths = paths, .n = n};
    sink->paths(sink, &batch);
}

static void give_one(struct hp_path_sink *sink, uint64_t start, uint32_t events)
{
    struct hp_path path = path_at(start, 0, 0, events);
    give(sink, &path, 1);
}

/* --- The complete profile --------------------------------------------------------------------- */

static void every_distinct_path_is_counted(void **state)
{
    (void)state;
    struct hp_complete *c;
    struct hp_path paths[] = {path_at(4, 1, 2, 5), path_at(4, 1, 3, 5), path_at(4, 1, 2, 7),
                              path_at(8, 1, 2, 1)};
    size_t n;
    assert_int_equal(hp_complete_new(0, &c), HP_OK);
    give(hp_complete_sink(c), paths, 4);
    give(hp_complete_sink(c), paths, 2);
    const struct hp_path_count *found = hp_complete_paths(c, &n);
    assert_int_equal(n, 3); /* in the order of first execution */
    assert_int_equal(found[0].path.length, 2);
    assert_int_equal(found[0].count, 3);
    assert_int_equal(found[0].insns, 30);
    assert_int_equal(found[0].events, 17);
    assert_int_equal(found[1].path.length, 3);
    assert_int_equal(found[1].count, 2);
    assert_int_equal(found[2].path.start, 8);
    assert_int_equal(hp_complete_lost(c).count, 0);
    hp_complete_clear(c);
    hp_complete_paths(c, &n);
    assert_int_equal(n, 0);
    give(hp_complete_sink(c), paths, 4);
    found = hp_complete_paths(c, &n);
    assert_int_equal(n, 3);
    assert_int_equal(found[0].count, 2);
    hp_complete_free(c);
}

/* More paths than there is room for at first, in batches larger than a detector's. */
static void it_grows(void **state)
{
    (void)state;
    enum { PATHS = 20000 };
    struct hp_complete *c;
    struct hp_path *paths = calloc(PATHS, sizeof *paths);
    size_t n;
    for (uint64_t i = 0; i < PATHS; i++)
        paths[i] = path_at(0x1000 + i / 100, i % 100, 7, 1);
    assert_int_equal(hp_complete_new(0, &c), HP_OK);
    for (uint64_t round = 1; round <= 3; round++) {
        give(hp_complete_sink(c), paths, PATHS);
        const struct hp_path_count *found = hp_complete_paths(c, &n);
        assert_int_equal(n, PATHS);
        for (size_t i = 0; i < PATHS; i++) {
            assert_true(hp_path_same(&found[i].path, &paths[i]));
            assert_int_equal(found[i].count, round);
        }
    }
    free(paths);
    hp_complete_free(c);
}

static void what_is_above_the_bound_is_added_up(void **state)
{
    (void)state;
    struct hp_complete *c;
    size_t n;
    assert_int_equal(hp_complete_new(2, &c), HP_OK);
    for (uint64_t i = 0; i < 10; i++)
        give_one(hp_complete_sink(c), i % 5, 3);
    hp_complete_paths(c, &n);
    assert_int_equal(n, 2);
    assert_int_equal(hp_complete_lost(c).count, 6);
    assert_int_equal(hp_complete_lost(c).insns, 60);
    assert_int_equal(hp_complete_lost(c).events, 18);
    hp_complete_free(c);
    assert_int_equal(hp_complete_new(UINT64_MAX, &c), HP_ERR_INVALID);
}

static void targets_are_kept(void **state)
{
    (void)state;
    struct hp_complete *c;
    uint64_t targets[] = {0x10, 0x20, 0x30};
    struct hp_path paths[] = {path_at(4, 1, 2, 1), path_at(4, 1, 2, 1), path_at(4, 1, 2, 1)};
    struct hp_paths batch = {.paths = paths, .n = 3, .targets = targets};
    size_t n;
    paths[0].n_targets = 1;
    paths[0].targets = 11;
    paths[1].n_targets = 2;
    paths[1].first_target = 1;
    paths[1].targets = 12;
    paths[2] = paths[0];
    assert_int_equal(hp_complete_new(0, &c), HP_OK);
    hp_complete_sink(c)->paths(hp_complete_sink(c), &batch);
    const struct hp_path_count *found = hp_complete_paths(c, &n);
    assert_int_equal(n, 2);
    assert_int_equal(hp_complete_targets(c)[found[0].path.first_target], 0x10);
    assert_int_equal(hp_complete_targets(c)[found[1].path.first_target], 0x20);
    assert_int_equal(hp_complete_targets(c)[found[1].path.first_target + 1], 0x30);
    hp_complete_free(c);
}

/* --- The hot path table ----------------------------------------------------------------------- */

static struct hp_hpt *new_table(const char *text)
{
    struct hp_hpt_config config;
    struct hp_hpt *hpt;
    if (hp_hpt_parse(text, &config) != HP_OK)
        fail_msg("%s: %s", text, hp_error_text());
    assert_int_equal(hp_hpt_new(&config, &hpt), HP_OK);
    return hpt;
}

/* The accumulator of the path at `start`; 0: it is not there. */
static uint64_t count_of(struct hp_hpt *hpt, uint64_t start)
{
    struct hp_path_count paths[64];
    size_t n = hp_hpt_paths(hpt, paths);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (paths[i].path.start == start)
            return paths[i].count;
    return 0;
}

static void a_hit_adds_and_a_miss_replaces(void **state)
{
    (void)state;
    struct hp_hpt *t = new_table("2x2");
    struct hp_path_sink *sink = hp_hpt_sink(t);
    give_one(sink, 0x10, 5);
    give_one(sink, 0x20, 1);
    give_one(sink, 0x10, 2);
    assert_int_equal(count_of(t, 0x10), 7);
    assert_int_equal(count_of(t, 0x20), 1);
    give_one(sink, 0x30, 4); /* takes the place of the least frequent */
    assert_int_equal(count_of(t, 0x10), 7);
    assert_int_equal(count_of(t, 0x20), 0);
    assert_int_equal(count_of(t, 0x30), 4);
    give_one(sink, 0x20, 9); /* it begins with its own count, not with what was there */
    assert_int_equal(count_of(t, 0x20), 9);
    assert_int_equal(count_of(t, 0x30), 0);
    const struct hp_hpt_stats *stats = hp_hpt_stats(t);
    assert_int_equal(stats->paths, 5);
    assert_int_equal(stats->hits, 1);
    assert_int_equal(stats->misses, 4);
    assert_int_equal(stats->replacements, 2);
    hp_hpt_clear(t);
    assert_int_equal(count_of(t, 0x10) + count_of(t, 0x20), 0);
    give_one(sink, 0x10, 1);
    assert_int_equal(count_of(t, 0x10), 1);
    hp_hpt_free(t);
}

static void least_recently_used_goes(void **state)
{
    (void)state;
    struct hp_hpt *t = new_table("2x2,policy=lru");
    struct hp_path_sink *sink = hp_hpt_sink(t);
    give_one(sink, 0x10, 100);
    give_one(sink, 0x20, 1);
    give_one(sink, 0x30, 1); /* 0x10 is the oldest, however hot */
    assert_int_equal(count_of(t, 0x10), 0);
    give_one(sink, 0x20, 1);
    give_one(sink, 0x10, 3); /* 0x20 was used again */
    assert_int_equal(count_of(t, 0x20), 2);
    assert_int_equal(count_of(t, 0x30), 0);
    assert_int_equal(count_of(t, 0x10), 3);
    hp_hpt_free(t);
}

/* Of equals the first way goes. */
static void ties_are_broken_by_place(void **state)
{
    (void)state;
    struct hp_hpt *t = new_table("4x4");
    for (uint64_t i = 1; i <= 5; i++)
        give_one(hp_hpt_sink(t), i * 0x10, 2);
    assert_int_equal(count_of(t, 0x10), 0);
    for (uint64_t i = 2; i <= 5; i++)
        assert_int_equal(count_of(t, i * 0x10), 2);
    hp_hpt_free(t);
}

/* A set is chosen by the address alone, or by outcomes and length, too. */
static void the_index_chooses_the_set(void **state)
{
    (void)state;
    struct hp_path a = path_at(0x100, 0, 4, 1), b = path_at(0x100, 1, 4, 1),
                   c = path_at(0x100, 0, 5, 1), d = path_at(0x104, 0, 4, 1);
    struct hp_path_count paths[4];
    struct hp_hpt *t = new_table("2x1,index=address");
    give(hp_hpt_sink(t), &a, 1);
    give(hp_hpt_sink(t), &b, 1); /* the same set, whatever the outcomes */
    assert_int_equal(hp_hpt_paths(t, paths), 1);
    assert_int_equal(paths[0].path.outcomes, 1);
    give(hp_hpt_sink(t), &d, 1);
    assert_int_equal(hp_hpt_paths(t, paths), 2);
    hp_hpt_free(t);
    t = new_table("2x1,index=xor");
    give(hp_hpt_sink(t), &a, 1);
    give(hp_hpt_sink(t), &b, 1);
    assert_int_equal(hp_hpt_paths(t, paths), 2);
    hp_hpt_free(t);
    t = new_table("2x1");
    give(hp_hpt_sink(t), &a, 1);
    give(hp_hpt_sink(t), &c, 1);
    assert_int_equal(hp_hpt_paths(t, paths), 2);
    hp_hpt_free(t);
}

/* Addresses that differ in bit 0 only are in one set, unless the index looks at that bit. */
static void the_index_leaves_low_bits_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t sets;
    } tables[] = {{"2x1,index=address", 1},
                  {"2x1,index=address,shift=1", 1},
                  {"2x1,index=address,shift=0", 2},
                  {"2x1,shift=0", 2}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct hp_path_count paths[2];
        struct hp_hpt *t = new_table(tables[i].text);
        give_one(hp_hpt_sink(t), 0x100, 1);
        give_one(hp_hpt_sink(t), 0x101, 1);
        assert_int_equal(hp_hpt_paths(t, paths), tables[i].sets);
        hp_hpt_free(t);
    }
}

/* All that makes a path another. */
static void descriptors_are_compared_whole(void **state)
{
    (void)state;
    struct hp_path paths[6];
    struct hp_path_count found[8];
    struct hp_hpt *t = new_table("8x8");
    for (int i = 0; i < 6; i++)
        paths[i] = path_at(0x100, 0, 4, 1);
    paths[1].start = 0x101;
    paths[2].outcomes = 8;
    paths[3].length = 5;
    paths[4].targets = 1;
    paths[5].block = 1;
    give(hp_hpt_sink(t), paths, 6);
    give(hp_hpt_sink(t), paths, 6);
    assert_int_equal(hp_hpt_paths(t, found), 6);
    assert_int_equal(hp_hpt_stats(t)->hits, 6);
    hp_hpt_free(t);
}

static void accumulators_saturate(void **state)
{
    (void)state;
    struct hp_hpt *t = new_table("1x1,bits=8");
    give_one(hp_hpt_sink(t), 0x10, 200);
    give_one(hp_hpt_sink(t), 0x10, 55);
    assert_int_equal(count_of(t, 0x10), 255);
    give_one(hp_hpt_sink(t), 0x10, 1);
    assert_int_equal(count_of(t, 0x10), 255);
    give_one(hp_hpt_sink(t), 0x20, 256);
    assert_int_equal(count_of(t, 0x20), 255);
    hp_hpt_free(t);
    t = new_table("1x1,bits=64");
    for (int i = 0; i < 3; i++)
        give_one(hp_hpt_sink(t), 0x10, UINT32_MAX);
    assert_int_equal(count_of(t, 0x10), 3 * (uint64_t)UINT32_MAX);
    hp_hpt_free(t);
}

/* Against a slow model: a list of what is there, set by set. */
static void random_paths_against_a_model(void **state)
{
    (void)state;
    enum { SETS = 4, WAYS = 4, PATHS = 64 };
    struct {
        uint64_t start, count;
    } model[SETS][WAYS] = {0};
    struct hp_hpt *t = new_table("16x4,index=address");
    uint32_t random = 1;
    uint64_t hits = 0;
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525 + 1013904223;
        uint64_t start = 0x1000 + 4 * (random >> 16) % (4 * PATHS) / 4 * 4;
        uint32_t events = 1 + (random >> 8) % 5, least = 0, way = WAYS;
        give_one(hp_hpt_sink(t), start, events);
        for (uint32_t w = WAYS; w-- > 0;) {
            if (model[start / 4 % SETS][w].start == start)
                way = w;
            if (model[start / 4 % SETS][w].count <= model[start / 4 % SETS][least].count)
                least = w;
        }
        hits += way < WAYS;
        if (way == WAYS) {
            way = least;
            model[start / 4 % SETS][way].count = 0;
        }
        model[start / 4 % SETS][way].start = start;
        model[start / 4 % SETS][way].count += events;
    }
    for (int set = 0; set < SETS; set++)
        for (int w = 0; w < WAYS; w++)
            assert_int_equal(count_of(t, model[set][w].start), model[set][w].count);
    assert_int_equal(hp_hpt_stats(t)->hits, hits);
    assert_true(hits > 1000);
    hp_hpt_free(t);
}

static void sizes_in_bytes(void **state)
{
    (void)state;
    struct hp_hpt_config config;
    assert_int_equal(hp_hpt_parse("vaswani", &config), HP_OK);
    assert_int_equal(config.entries, 512);
    assert_int_equal(config.ways, 4);
    /* 47 bits of an address, 6 of a length up to 32, 32 outcomes, 32 bits of accumulator. */
    assert_int_equal(hp_hpt_bytes(&config), 512 * (47 + 6 + 32 + 32) / 8);
    assert_in_range(hp_hpt_bytes(&config), 6900, 7600);
    config.policy = HP_HPT_LRU; /* two more bits an entry */
    assert_int_equal(hp_hpt_bytes(&config), 512 * (47 + 6 + 32 + 32 + 2) / 8);
    config.max_length = 64;
    assert_int_equal(hp_hpt_bytes(&config), 512 * (47 + 7 + 64 + 32 + 2) / 8);
}

static void expect_refused(const char *text, const char *error)
{
    struct hp_hpt_config config;
    assert_int_equal(hp_hpt_parse(text, &config), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), error);
}

static void illegal_tables_are_refused(void **state)
{
    (void)state;
    expect_refused(
        "", "hot path table: there is no ''; there are vaswani, random-admission, ENTRIESxWAYS");
    expect_refused(
        "512",
        "hot path table: there is no '512'; there are vaswani, random-admission, ENTRIESxWAYS");
    expect_refused(
        "512x",
        "hot path table: there is no '512x'; there are vaswani, random-admission, ENTRIESxWAYS");
    expect_refused(
        "x4",
        "hot path table: there is no 'x4'; there are vaswani, random-admission, ENTRIESxWAYS");
    expect_refused(
        "-512x4",
        "hot path table: there is no '-512x4'; there are vaswani, random-admission, ENTRIESxWAYS");
    expect_refused(
        "512x4k",
        "hot path table: there is no '512x4k'; there are vaswani, random-admission, ENTRIESxWAYS");
    expect_refused("99999999999x4", "hot path table: there is no '99999999999x4'; there are "
                                    "vaswani, random-admission, ENTRIESxWAYS");
    expect_refused(
        "500x4", "hot path table: 500 entries of 4 ways: the number of sets is not a power of two");
    expect_refused(
        "512x3", "hot path table: 512 entries of 3 ways: the number of sets is not a power of two");
    expect_refused("0x4", "hot path table: 0 entries: 1 to 16777216 are possible");
    expect_refused("33554432x4", "hot path table: 33554432 entries: 1 to 16777216 are possible");
    expect_refused("512x0", "hot path table: 0 ways: there must be one at least");
    expect_refused("4x8", "hot path table: 8 ways are more than 4 entries");
    expect_refused("512x4,bits=7", "hot path table: bits: 7 is not between 8 and 64");
    expect_refused("512x4,bits=65", "hot path table: bits: 65 is not between 8 and 64");
    expect_refused("512x4,bits=", "hot path table: bits: '' is not a number");
    expect_refused("512x4,policy=fifo", "hot path table: policy: 'fifo' is none of lfu, lru, rap");
    expect_refused("512x4,", "hot path table: a table has no setting ''; there are index, shift, "
                             "policy, bits, exponent, packed");
    struct hp_hpt_config config;
    struct hp_hpt *hpt;
    assert_int_equal(hp_hpt_parse("512x4", &config), HP_OK);
    config.ways = 0;
    assert_int_equal(hp_hpt_new(&config, &hpt), HP_ERR_INVALID);
}

static void tables_are_written_as_they_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"512x4",
                                        "1x1",
                                        "2048x32,index=address",
                                        "128x2,policy=lru,bits=8",
                                        "512x4,shift=0",
                                        "128x128,index=address,policy=lru,bits=64"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        struct hp_hpt_config config;
        assert_int_equal(hp_hpt_parse(texts[i], &config), HP_OK);
        hp_hpt_format(&config, text, sizeof text);
        assert_string_equal(text, texts[i]);
    }
}

/* --- Measures --------------------------------------------------------------------------------- */

static struct hp_path_count counted(uint64_t start, uint64_t count, uint64_t insns, uint64_t events)
{
    return (struct hp_path_count){
        .path = path_at(start, 0, 0, 1), .count = count, .insns = insns, .events = events};
}

static void assert_percent(double found, double expected)
{
    assert_true(found > expected - 1e-9 && found < expected + 1e-9);
}

static double overlap(const struct hp_path_count *table, size_t n_table,
                      const struct hp_path_count *complete, size_t n, enum hp_weight weight)
{
    double percent;
    assert_int_equal(hp_path_overlap(table, n_table, complete, n, weight, &percent), HP_OK);
    return percent;
}

static void overlap_is_the_common_share(void **state)
{
    (void)state;
    struct hp_path_count complete[] = {counted(1, 50, 10, 0), counted(2, 30, 10, 1),
                                       counted(3, 20, 80, 3)};
    struct hp_path_count table[] = {counted(1, 60, 0, 0), counted(3, 20, 0, 0),
                                    counted(9, 20, 0, 0)};
    /* min(60, 50) + min(20, 20) */
    assert_percent(overlap(table, 3, complete, 3, HP_WEIGHT_COUNT), 70.0);
    /* min(60, 10) + min(20, 80) */
    assert_percent(overlap(table, 3, complete, 3, HP_WEIGHT_INSNS), 30.0);
    /* min(60, 0) + min(20, 75) */
    assert_percent(overlap(table, 3, complete, 3, HP_WEIGHT_EVENTS), 20.0);
    assert_percent(overlap(complete, 3, complete, 3, HP_WEIGHT_COUNT), 100.0);
    assert_percent(overlap(table, 0, complete, 3, HP_WEIGHT_COUNT), 0.0);
    assert_percent(overlap(table, 3, complete, 0, HP_WEIGHT_COUNT), 0.0);
    assert_percent(overlap(table, 0, complete, 0, HP_WEIGHT_COUNT), 100.0);
}

static void coverage_is_that_of_the_heaviest(void **state)
{
    (void)state;
    struct hp_path_count complete[] = {counted(1, 20, 10, 0), counted(2, 50, 10, 0),
                                       counted(3, 30, 80, 0)};
    double percent;
    assert_int_equal(hp_path_coverage(complete, 3, HP_WEIGHT_COUNT, 1, &percent), HP_OK);
    assert_percent(percent, 50.0);
    assert_int_equal(hp_path_coverage(complete, 3, HP_WEIGHT_COUNT, 2, &percent), HP_OK);
    assert_percent(percent, 80.0);
    assert_int_equal(hp_path_coverage(complete, 3, HP_WEIGHT_INSNS, 1, &percent), HP_OK);
    assert_percent(percent, 80.0);
    assert_int_equal(hp_path_coverage(complete, 3, HP_WEIGHT_COUNT, 512, &percent), HP_OK);
    assert_percent(percent, 100.0);
    assert_int_equal(hp_path_coverage(complete, 3, HP_WEIGHT_COUNT, 0, &percent), HP_OK);
    assert_percent(percent, 0.0);
    assert_int_equal(hp_path_coverage(complete, 3, HP_WEIGHT_EVENTS, 1, &percent), HP_OK);
    assert_percent(percent, 100.0);
}

/* --- Paths by number -------------------------------------------------------------------------- */

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 33);
}

static void same_contents(struct hp_hpt *a, struct hp_hpt *b)
{
    static struct hp_path_count x[1024], y[1024];
    size_t n = hp_hpt_paths(a, x);
    assert_int_equal(hp_hpt_paths(b, y), n);
    for (size_t i = 0; i < n; i++) {
        assert_true(hp_path_same(&x[i].path, &y[i].path));
        assert_int_equal(x[i].count, y[i].count);
    }
    assert_memory_equal(hp_hpt_stats(a), hp_hpt_stats(b), sizeof(struct hp_hpt_stats));
}

static void same_profile(struct hp_complete *a, struct hp_complete *b)
{
    size_t n, m;
    const struct hp_path_count *x = hp_complete_paths(a, &n), *y = hp_complete_paths(b, &m);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(&x[i], &y[i], sizeof *x);
    struct hp_path_count lost = hp_complete_lost(a), lost_too = hp_complete_lost(b);
    assert_memory_equal(&lost, &lost_too, sizeof lost);
}

/* Paths as they come, and by number. */
struct sequence {
    struct hp_path paths[HP_PATHS_MAX];
    uint32_t numbers[HP_PATHS_MAX];
    size_t n_paths, n;
};

static void add_path(struct sequence *s, struct hp_path_numbers *source, uint32_t which,
                     uint32_t least, uint32_t events)
{
    struct hp_path path =
        path_at(64 + which * 4, which / 3, (uint8_t)(which % 5), least + which % events);
    s->paths[s->n_paths++] = path;
    s->numbers[s->n++] = hp_path_numbers_get(source, &path);
}

/* Paths that follow one another become a group, at last. */
static void add_group(struct sequence *s, struct hp_path_numbers *source, uint32_t phrase,
                      uint32_t n_paths, uint32_t least, uint32_t events)
{
    size_t before = s->n;
    for (uint32_t i = 0; i < 2 + phrase % 9; i++)
        add_path(s, source, (phrase * 5 + i * (1 + phrase % 3)) % n_paths, least, events);
    uint32_t group = hp_path_numbers_group(source, s->numbers + before, s->n - before);
    assert_true((group & ~HP_PATH_GROUP) < source->max_groups);
    if (group) {
        s->numbers[before] = group;
        s->n = before + 1;
    }
}

/* Some random paths, up to `most`, few of them often. */
static void make_sequence(struct sequence *s, struct hp_path_numbers *source, uint64_t *seed,
                          uint32_t n_paths, uint32_t least, uint32_t events, size_t most)
{
    size_t n = 1 + next_random(seed) % most;
    s->n = s->n_paths = 0;
    while (s->n_paths < n) {
        uint32_t which = next_random(seed) % n_paths;
        which = next_random(seed) % 3 ? which % (1 + n_paths / 8) : which;
        if (next_random(seed) % 8 == 0)
            add_group(s, source, which % 24, n_paths, least, events);
        else
            add_path(s, source, which, least, events);
    }
}

/* The same sequence, once as paths and once by number: with numbers of two sources in turn, with
 * paths between that have none, and with a table that is cleared now and then. Paths have `least`
 * events, and up to `events` - 1 more. */
static void numbers_are_paths(const char *text, uint32_t n_paths, uint32_t least, uint32_t events,
                              uint64_t most)
{
    enum { ROUNDS = 800, BATCH = 200 };
    struct hp_hpt_config config;
    struct hp_path_numbers sources[2];
    struct hp_hpt *a, *b;
    struct hp_complete *c, *d;
    uint64_t seed = n_paths;
    assert_int_equal(hp_hpt_parse(text, &config), HP_OK);
    assert_int_equal(hp_hpt_new(&config, &a), HP_OK);
    assert_int_equal(hp_hpt_new(&config, &b), HP_OK);
    assert_int_equal(hp_complete_new(most, &c), HP_OK);
    assert_int_equal(hp_complete_new(most, &d), HP_OK);
    hp_path_numbers_init(&sources[0]);
    hp_path_numbers_init(&sources[1]);
    sources[1].max_groups = 7;
    for (int round = 0; round < ROUNDS; round++) {
        struct hp_path_numbers *source = &sources[round / 37 % 2];
        struct sequence s;
        make_sequence(&s, source, &seed, n_paths, least, events, BATCH);
        give(hp_hpt_sink(a), s.paths, s.n_paths);
        give(hp_complete_sink(c), s.paths, s.n_paths);
        if (next_random(&seed) % 64 == 0) {
            give(hp_hpt_sink(b), s.paths, s.n_paths);
            give(hp_complete_sink(d), s.paths, s.n_paths);
        } else {
            struct hp_known_paths known = {.numbers = s.numbers,
                                           .n = s.n,
                                           .known = source->known,
                                           .n_known = source->n,
                                           .groups = source->groups,
                                           .n_groups = source->n_groups,
                                           .lists = source->lists,
                                           .n_lists = source->n_lists,
                                           .source = source->source};
            hp_path_sink_known(hp_hpt_sink(b), &known);
            hp_path_sink_known(hp_complete_sink(d), &known);
        }
        assert_memory_equal(hp_hpt_stats(a), hp_hpt_stats(b), sizeof(struct hp_hpt_stats));
        if (next_random(&seed) % 8 == 0)
            same_contents(a, b); /* which adds up what is not added up yet */
        if (round % 20 == 19)
            hp_complete_forget_numbers(d);
        if (round % 50 == 49) {
            same_profile(c, d);
            hp_hpt_clear(a);
            hp_hpt_clear(b);
        }
        if (round % 150 == 149) {
            hp_complete_clear(c);
            hp_complete_clear(d);
        }
    }
    assert_true(hp_hpt_stats(a)->hits > 1000);
    assert_true(sources[0].n_groups > 10);
    hp_path_numbers_fini(&sources[0]);
    hp_path_numbers_fini(&sources[1]);
    hp_hpt_free(a);
    hp_hpt_free(b);
    hp_complete_free(c);
    hp_complete_free(d);
}

static void numbers_are_paths_in_any_table(void **state)
{
    (void)state;
    numbers_are_paths("vaswani", 3000, 1, 1, 0);
    numbers_are_paths("vaswani", 100, 1, 1, 0); /* some sets are never full */
    numbers_are_paths("16x4", 100, 1, 1, 50);
    numbers_are_paths("16x4,bits=8", 60, 1, 200, 0); /* counts saturate */
    numbers_are_paths("16x4,bits=8", 60, 0, 200, 0); /* and some paths have no events */
    numbers_are_paths("64x8", 300, 1, 3, 0);
    numbers_are_paths("16x1", 50, 1, 3, 0);
    numbers_are_paths("64x4,index=address,policy=lru", 300, 1, 1, 0);
    numbers_are_paths("64x2", 300, 0, 3, 0);
    numbers_are_paths("16x4,policy=rap", 100, 0, 4, 0);
    numbers_are_paths("12x3,index=fold,policy=rap,bits=8,exponent=3", 100, 0, 50, 0);
    numbers_are_paths("random-admission", 3000, 1, 1, 100);
}

/* Hits are not added to the accumulators at once. None is forgotten, however many there are. */
static void hits_are_added_up(void **state)
{
    (void)state;
    enum { BATCHES = 80000 };
    struct hp_path_numbers source;
    struct hp_hpt_config config;
    struct hp_hpt *hpt;
    static uint32_t numbers[HP_PATHS_MAX];
    hp_path_numbers_init(&source);
    assert_int_equal(hp_hpt_parse("vaswani", &config), HP_OK);
    assert_int_equal(hp_hpt_new(&config, &hpt), HP_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct hp_path path = path_at(16 + 16 * i, 1, 2, 3);
        numbers[i] = hp_path_numbers_get(&source, &path);
    }
    for (uint32_t i = 2; i < HP_PATHS_MAX; i++)
        numbers[i] = numbers[0];
    for (int i = 0; i < BATCHES; i++)
        hp_path_sink_known(hp_hpt_sink(hpt), &(struct hp_known_paths){.numbers = numbers,
                                                                      .n = HP_PATHS_MAX,
                                                                      .known = source.known,
                                                                      .n_known = source.n,
                                                                      .source = source.source});
    struct hp_path_count paths[512];
    assert_int_equal(hp_hpt_paths(hpt, paths), 2);
    bool first = paths[0].path.start == 16;
    assert_int_equal(paths[!first].count, 3 * (HP_PATHS_MAX - 1) * BATCHES);
    assert_int_equal(paths[first].count, 3 * BATCHES);
    assert_int_equal(hp_hpt_stats(hpt)->hits, HP_PATHS_MAX * BATCHES - 2);
    hp_hpt_free(hpt);
    hp_path_numbers_fini(&source);
}

/* A path whose instructions differ from the first execution's has no number. */
static void other_executions_have_no_number(void **state)
{
    (void)state;
    struct hp_path_numbers numbers;
    struct hp_path path = path_at(16, 1, 2, 1);
    hp_path_numbers_init(&numbers);
    assert_int_equal(hp_path_numbers_get(&numbers, &path), 0);
    path.insns++;
    assert_int_equal(hp_path_numbers_get(&numbers, &path), HP_NO_ID);
    path.insns--;
    assert_int_equal(hp_path_numbers_get(&numbers, &path), 0);
    path.outcomes = 0;
    assert_int_equal(hp_path_numbers_get(&numbers, &path), 1);
    hp_path_numbers_fini(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_distinct_path_is_counted),
        cmocka_unit_test(it_grows),
        cmocka_unit_test(what_is_above_the_bound_is_added_up),
        cmocka_unit_test(targets_are_kept),
        cmocka_unit_test(a_hit_adds_and_a_miss_replaces),
        cmocka_unit_test(least_recently_used_goes),
        cmocka_unit_test(ties_are_broken_by_place),
        cmocka_unit_test(the_index_chooses_the_set),
        cmocka_unit_test(the_index_leaves_low_bits_out),
        cmocka_unit_test(descriptors_are_compared_whole),
        cmocka_unit_test(accumulators_saturate),
        cmocka_unit_test(random_paths_against_a_model),
        cmocka_unit_test(sizes_in_bytes),
        cmocka_unit_test(illegal_tables_are_refused),
        cmocka_unit_test(tables_are_written_as_they_are_read),
        cmocka_unit_test(overlap_is_the_common_share),
        cmocka_unit_test(coverage_is_that_of_the_heaviest),
        cmocka_unit_test(numbers_are_paths_in_any_table),
        cmocka_unit_test(hits_are_added_up),
        cmocka_unit_test(other_executions_have_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
