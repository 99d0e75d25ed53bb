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

static void texts_that_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
        struct hp_traces_choice choice;
    } good[] = {
        {"none", "none", {HP_TRACES_NONE, 0}},
        {"static", "static", {HP_TRACES_STATIC, 0}},
        {"net", "net:50", {HP_TRACES_NET, 50}},
        {"net:50", "net:50", {HP_TRACES_NET, 50}},
        {"net:1", "net:1", {HP_TRACES_NET, 1}},
        {"net:1000000", "net:1000000", {HP_TRACES_NET, 1000000}},
        {"path-profile", "path-profile:50", {HP_TRACES_PATHS, 50}},
        {"path-profile:007", "path-profile:7", {HP_TRACES_PATHS, 7}},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct hp_traces_choice choice = {HP_TRACES_NONE, 77};
        char text[32];
        if (hp_traces_parse(good[i].text, &choice) != HP_OK || choice.how != good[i].choice.how ||
            choice.after != good[i].choice.after)
            fail_msg("%s gives %d, %u", good[i].text, choice.how, choice.after);
        hp_traces_format(&choice, text, sizeof text);
        assert_string_equal(text, good[i].written);
    }
}

static void texts_that_are_wrong(void **state)
{
    (void)state;
#define NONE "there is no choice '%s'; there are: none, static, net, path-profile"
#define WHAT "'%s' is not a number from 1 to 1,000,000"
    static const struct {
        const char *text, *wrong, *about;
    } bad[] = {
        {"", NONE, ""},
        {"ne", NONE, "ne"},
        {"nets", NONE, "nets"},
        {":5", NONE, ""},
        {"net,5", NONE, "net,5"},
        {"net:", WHAT, ""},
        {"net:0", WHAT, "0"},
        {"net:1000001", WHAT, "1000001"},
        {"net:99999999999999999999", WHAT, "99999999999999999999"},
        {"net:-1", WHAT, "-1"},
        {"net:+1", WHAT, "+1"},
        {"net: 1", WHAT, " 1"},
        {"net:5x", WHAT, "5x"},
        {"path-profile:1k", WHAT, "1k"},
        {"static:5", "%s takes no number", "static"},
        {"none:", "%s takes no number", "none"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hp_traces_choice choice = {HP_TRACES_STATIC, 77};
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
        char text[32];
        hp_traces_format(&usual, text, sizeof text);
        assert_string_equal(text, mode == HP_RECORD_NONE ? "none" : HP_TRACES_USUAL);
        assert_int_equal(hp_traces_parse(text, &again), HP_OK);
        assert_int_equal(again.how, usual.how);
        assert_int_equal(again.after, usual.after);
    }
}

static void the_engine_sees_it(void **state)
{
    (void)state;
    struct hp_live *live;
    struct hp_live_options options = {.traces = {HP_TRACES_PATHS, 123}};
    assert_int_equal(hp_live_new(&options, &live), HP_OK);
    struct hp_arena *arena = hp_arena_map(hp_live_fd(live));
    assert_non_null(arena);
    assert_int_equal(arena->traces, HP_TRACES_PATHS);
    assert_int_equal(arena->traces_after, 123);
    munmap(arena, arena->shape.size);
    hp_live_free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_are_read),
        cmocka_unit_test(texts_that_are_wrong),
        cmocka_unit_test(what_is_usual),
        cmocka_unit_test(the_engine_sees_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
