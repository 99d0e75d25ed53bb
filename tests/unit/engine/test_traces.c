// SPDX-License-Identifier: MIT
/* --traces as text, and on its way into the arena. */
#include "engine/traces.h"

#include "engine/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static bool same(const struct hp_traces_choice *a, const struct hp_traces_choice *b)
{
    return a->how == b->how && a->after == b->after && a->phase == b->phase && a->bail == b->bail &&
           a->then == b->then && a->cache == b->cache;
}

#define NET(...)                                                                                   \
    {                                                                                              \
        HP_TRACES_NET, __VA_ARGS__                                                                 \
    }

static void texts_that_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
        struct hp_traces_choice choice;
    } good[] = {
        {"none", "none", {HP_TRACES_NONE, 0, 0, 0, 0, 0}},
        {"static", "static", {HP_TRACES_STATIC, 0, 0, 0, 0, 0}},
        {"net", "net:50", NET(50, 64, 1000, HP_THEN_PLAIN, 0)},
        {"net:50", "net:50", NET(50, 64, 1000, HP_THEN_PLAIN, 0)},
        {"net:1", "net:1", NET(1, 64, 1000, HP_THEN_PLAIN, 0)},
        {"net:1000000", "net:1000000", NET(1000000, 64, 1000, HP_THEN_PLAIN, 0)},
        {"path-profile", "path-profile:50", {HP_TRACES_PATHS, 50, 64, 0, HP_THEN_PLAIN, 0}},
        {"path-profile:007", "path-profile:7", {HP_TRACES_PATHS, 7, 64, 0, HP_THEN_PLAIN, 0}},
        {"net:50,cache=4M", "net:50,cache=4194304", NET(50, 64, 1000, HP_THEN_PLAIN, 4 << 20)},
        {"net,phase=0,bail=7,then=leave", "net:50,phase=0,bail=7,then=leave",
         NET(50, 0, 7, HP_THEN_LEAVE, 0)},
        {"hotspots", "hotspots", {HP_TRACES_HOTSPOTS, 50, 64, 1000, HP_THEN_PLAIN, 0}},
        {"hotspots,after=7",
         "hotspots,after=7",
         {HP_TRACES_HOTSPOTS, 7, 64, 1000, HP_THEN_PLAIN, 0}},
        {"net,after=7", "net:7", NET(7, 64, 1000, HP_THEN_PLAIN, 0)},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct hp_traces_choice choice = {HP_TRACES_NONE, 77, 77, 77, 77, 77};
        char text[128];
        if (hp_traces_parse(good[i].text, &choice) != HP_OK || !same(&choice, &good[i].choice))
            fail_msg("%s gives %d, %u, %u, %u, %d, %llu", good[i].text, choice.how, choice.after,
                     choice.phase, choice.bail, choice.then, (unsigned long long)choice.cache);
        hp_traces_format(&choice, text, sizeof text);
        assert_string_equal(text, good[i].written);
    }
}

static void texts_that_are_wrong(void **state)
{
    (void)state;
#define NONE   "choice: there is no '%s'; there are none, static, net:N, path-profile:N, hotspots"
#define WHAT   "choice: after: '%s' is not a number"
#define BOUNDS "choice: after: %s is not between 1 and 1000000"
#define KEYS   "choice: net has no setting '%s'; there are after, cache, phase, bail, then"
    static const struct {
        const char *text, *wrong, *about;
    } bad[] = {
        {"", NONE, ""},
        {"ne", NONE, "ne"},
        {"nets", NONE, "nets"},
        {":5", NONE, ":5"},
        {"net,5", KEYS, "5"},
        {"net,hot=5", KEYS, "hot"},
        {"net:", WHAT, ""},
        {"net:0", BOUNDS, "0"},
        {"net:1000001", BOUNDS, "1000001"},
        {"net:-1", WHAT, "-1"},
        {"net: 1", WHAT, " 1"},
        {"net:5x", WHAT, "5x"},
        {"static:5", "choice: %s takes no number", "static"},
        {"none:", "choice: %s takes no number", "none"},
        {"net,then=stay", "choice: then: %s", "'stay' is none of plain, leave"},
        {"net,cache=2G", "choice: cache: %s is not between 0 and 1073741824", "2G"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hp_traces_choice choice = {HP_TRACES_STATIC, 77, 0, 0, 0, 0};
        char expected[128];
        assert_int_equal(hp_traces_parse(bad[i].text, &choice), HP_ERR_INVALID);
        snprintf(expected, sizeof expected, bad[i].wrong, bad[i].about);
        assert_string_equal(hp_error_text(), expected);
        assert_int_equal(choice.after, 77);
    }
}

/* What help says is so, and each mode has a default that can be written and read. */
static void what_is_usual(void **state)
{
    (void)state;
    for (int mode = HP_RECORD_STREAM; mode <= HP_RECORD_NONE; mode++) {
        struct hp_traces_choice usual = hp_traces_usual((enum hp_record_mode)mode), again;
        char text[128];
        hp_traces_format(&usual, text, sizeof text);
        assert_string_equal(text, mode == HP_RECORD_NONE ? "none" : HP_TRACES_USUAL);
        assert_int_equal(hp_traces_parse(text, &again), HP_OK);
        assert_true(same(&again, &usual));
    }
}

static void the_engine_sees_it(void **state)
{
    (void)state;
    struct hp_live *live;
    struct hp_live_options options = {.traces = {HP_TRACES_PATHS, 123, 4, 5, HP_THEN_LEAVE, 6}};
    assert_int_equal(hp_live_new(&options, &live), HP_OK);
    struct hp_arena *arena = hp_arena_map(hp_live_fd(live));
    assert_non_null(arena);
    assert_int_equal(arena->traces, HP_TRACES_PATHS);
    assert_int_equal(arena->traces_after, 123);
    assert_int_equal(arena->traces_phase, 4);
    assert_int_equal(arena->traces_bail, 5);
    assert_int_equal(arena->traces_leave, 1);
    assert_int_equal(arena->traces_cache, 6);
    munmap(arena, arena->shape.size);
    hp_live_free(live);
}

/* --- Wishes ----------------------------------------------------------------------------------- */

/* What the engine does with one. */
static void take_wish(struct hp_arena *arena, uint32_t i, uint32_t process, uint64_t ns,
                      uint32_t traces)
{
    arena->wishes[i].process = process;
    arena->wishes[i].ns = ns;
    arena->wishes[i].traces = traces;
    arena->wishes[i].bytes = 100 * traces;
}

static void wishes_reach_the_engine(void **state)
{
    (void)state;
    struct hp_live *live;
    struct hp_live_options options = {.traces = {HP_TRACES_HOTSPOTS, 1, 0, 0, HP_THEN_PLAIN, 0}};
    struct hp_traces_event event;
    assert_int_equal(hp_live_new(&options, &live), HP_OK);
    struct hp_arena *arena = hp_arena_map(hp_live_fd(live));
    assert_non_null(arena);
    hp_live_wish(live, 0, 0x1000);
    hp_live_wish(live, 0, 0x2000);
    hp_live_wish(live, 1, 0x1000); /* is wished for already */
    hp_live_wish(live, 1, 0x3000);
    assert_int_equal(arena->n_wishes, 3);
    assert_int_equal(arena->wishes[2].address, 0x3000);
    assert_int_equal(arena->wishes[2].hotspot, 1);
    assert_false(hp_live_steered(live, 0, &event)); /* nobody has heard of it */
    take_wish(arena, 0, 2, 500, 3);
    take_wish(arena, 1, 1, 400, 4);
    assert_true(hp_live_steered(live, 0, &event));
    assert_int_equal(event.kind, HP_TRACES_STEERED);
    assert_int_equal(event.process, 1);
    assert_int_equal(event.ns, 400);
    assert_int_equal(event.traces, 7);
    assert_int_equal(event.bytes, 700);
    assert_false(hp_live_steered(live, 1, &event));
    take_wish(arena, 2, 1, UINT64_MAX, UINT32_MAX); /* it can write anything */
    assert_true(hp_live_steered(live, 1, &event));
    assert_int_equal(event.ns, INT64_MAX);
    for (uint64_t i = 0; i < HP_ARENA_WISHES + 10; i++)
        hp_live_wish(live, 2, 0x10000 + i);
    assert_int_equal(arena->n_wishes, HP_ARENA_WISHES);
    munmap(arena, arena->shape.size);
    hp_live_free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_are_read),     cmocka_unit_test(texts_that_are_wrong),
        cmocka_unit_test(what_is_usual),           cmocka_unit_test(the_engine_sees_it),
        cmocka_unit_test(wishes_reach_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
