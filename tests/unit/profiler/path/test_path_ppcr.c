// SPDX-License-Identifier: MIT
/* The control register as text: what is read, what is written, what is refused. */
#include "hotpath/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TABLE_1                                                                                    \
    "call=update_count+push,return=update_count+pop,forward=update,backward=update+pop+push,"      \
    "indirect=update+pop+push"

static struct hp_ppcr parse(const char *text)
{
    struct hp_ppcr ppcr;
    if (hp_ppcr_parse(text, &ppcr) != HP_OK)
        fail_msg("%s: %s", text, hp_error_text());
    return ppcr;
}

static void expect_format(const char *text, const char *expected)
{
    char written[600];
    struct hp_ppcr ppcr = parse(text), again;
    hp_ppcr_format(&ppcr, written, sizeof written);
    assert_string_equal(written, expected);
    again = parse(written);
    assert_memory_equal(ppcr.ops, again.ops, sizeof ppcr.ops);
    assert_int_equal(ppcr.extension, again.extension);
    assert_int_equal(ppcr.max_extension, again.max_extension);
    assert_int_equal(ppcr.direction, again.direction);
    assert_int_equal(ppcr.by_address, again.by_address);
    assert_int_equal(ppcr.max_length, again.max_length);
    assert_int_equal(ppcr.stack_entries, again.stack_entries);
    assert_int_equal(ppcr.overflow, again.overflow);
    assert_int_equal(ppcr.metric, again.metric);
    assert_int_equal(ppcr.counter_bits, again.counter_bits);
}

static void expect_error(const char *text, const char *error)
{
    struct hp_ppcr ppcr = {.max_length = 7}, before = ppcr;
    assert_int_equal(hp_ppcr_parse(text, &ppcr), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), error);
    assert_memory_equal(&ppcr, &before, sizeof ppcr);
}

/* Tables 1 and 2 of the paper. */
static void presets_are_the_tables_of_the_paper(void **state)
{
    (void)state;
    const int u = HP_PATH_UPDATE, c = HP_PATH_UPDATE_COUNT, pop = HP_PATH_POP, push = HP_PATH_PUSH;
    struct hp_ppcr bl = parse("bl"), wpp = parse("wpp"), forward = parse("forward");
    assert_int_equal(bl.ops[HP_CLASS_CALL], c | push);
    assert_int_equal(bl.ops[HP_CLASS_RETURN], c | pop);
    assert_int_equal(bl.ops[HP_CLASS_FORWARD], u);
    assert_int_equal(bl.ops[HP_CLASS_BACKWARD], u | pop | push);
    assert_int_equal(bl.ops[HP_CLASS_INDIRECT], u | pop | push);
    assert_int_equal(wpp.ops[HP_CLASS_CALL], c | pop | push);
    assert_int_equal(wpp.ops[HP_CLASS_RETURN], c | pop | push);
    assert_int_equal(wpp.ops[HP_CLASS_FORWARD], u);
    assert_int_equal(wpp.ops[HP_CLASS_BACKWARD], u | pop | push);
    assert_int_equal(wpp.ops[HP_CLASS_INDIRECT], u | pop | push);
    assert_true(forward.by_address);
    assert_int_equal(forward.ops[HP_CLASS_FORWARD], u);
    assert_int_equal(forward.ops[HP_CLASS_BACKWARD], u | pop | push);
}

static void what_is_not_said_has_a_default(void **state)
{
    (void)state;
    struct hp_ppcr bl = parse("bl");
    assert_int_equal(bl.extension, HP_EXTEND_NONE);
    assert_int_equal(bl.direction, HP_DIRECTION_DYNAMIC);
    assert_false(bl.by_address);
    assert_int_equal(bl.max_length, 32);
    assert_int_equal(bl.stack_entries, 32);
    assert_int_equal(bl.overflow, HP_OVERFLOW_SPILL);
    assert_int_equal(bl.metric, HP_METRIC_EXECUTIONS);
    assert_int_equal(bl.counter_bits, 8);
}

static void options_are_read(void **state)
{
    (void)state;
    struct hp_ppcr p = parse("extended-call:3,length=64,stack=1,overflow=drop-oldest,metric=l1d,"
                             "counter=32,direction=static");
    assert_int_equal(p.extension, HP_EXTEND_CALL);
    assert_int_equal(p.max_extension, 3);
    assert_int_equal(p.max_length, 64);
    assert_int_equal(p.stack_entries, 1);
    assert_int_equal(p.overflow, HP_OVERFLOW_DROP_OLDEST);
    assert_int_equal(p.metric, HP_METRIC_L1D_MISSES);
    assert_int_equal(p.counter_bits, 32);
    assert_int_equal(p.direction, HP_DIRECTION_STATIC);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    expect_format("bl", "bl");
    expect_format("wpp", "wpp");
    expect_format("forward", "forward");
    expect_format("extended-loop:2", "extended-loop:2");
    expect_format("extended-call:1", "extended-call:1");
    expect_format(TABLE_1, "bl");
    expect_format(TABLE_1 ",extend=loop:4", "extended-loop:4");
    expect_format("wpp,extend=call:2", "wpp,extend=call:2");
    expect_format("bl,length=64,stack=8", "bl,length=64,stack=8");
    expect_format("bl,metric=instructions,counter=16,overflow=drop-oldest,direction=static",
                  "bl,direction=static,overflow=drop-oldest,metric=instructions,counter=16");
    expect_format("indirect=pop,call=,return=none,forward=update,backward=push+pop+update_count",
                  "call=none,return=none,forward=update,backward=update_count+pop+push,"
                  "indirect=pop");
    expect_format(TABLE_1 ",by=address", TABLE_1 ",by=address");
}

static void a_text_is_cut_to_its_room(void **state)
{
    (void)state;
    char text[6];
    struct hp_ppcr p = parse("extended-loop:2");
    hp_ppcr_format(&p, text, sizeof text);
    assert_string_equal(text, "exten");
}

static void illegal_tables_are_refused(void **state)
{
    (void)state;
    expect_error(
        "", "paths: there is no ''; there are bl, wpp, extended-loop:N, extended-call:N, forward");
    expect_error(
        "blah",
        "paths: there is no 'blah'; there are bl, wpp, extended-loop:N, extended-call:N, forward");
    expect_error("bl:1", "paths: bl takes no number");
    expect_error("extended-loop", "paths: extended-loop needs a number: extended-loop:N");
    expect_error("extended-loop:", "paths: extend: '' is not a number");
    expect_error("extended-call:x", "paths: extend: 'x' is not a number");
    expect_error("extended-call:0", "paths: extend: 0 is not between 1 and 65535");
    expect_error("extended-call:99999999999999999999999",
                 "paths: extend: 99999999999999999999999 is not between 1 and 65535");
    expect_error("bl,wpp", "paths: 'wpp' has to come first");
    expect_error("bl,",
                 "paths: a path type has no setting ''; there are call, return, forward, backward, "
                 "indirect, extend, by, direction, length, stack, overflow, metric, counter");
    expect_error("bl,call=push", "paths: call: it is given twice, or by the preset");
    expect_error("call=push,call=pop", "paths: call: it is given twice, or by the preset");
    expect_error("call=update", "paths: nothing is said of 'return'");
    expect_error("call=update+update_count", "paths: call has both update and update_count");
    expect_error(
        TABLE_1 ",jump=pop",
        "paths: a path type has no setting 'jump'; there are call, return, forward, backward, "
        "indirect, extend, by, direction, length, stack, overflow, metric, counter");
    expect_error("call=update+update_count,return=,forward=,backward=,indirect=",
                 "paths: call has both update and update_count");
    expect_error("call=pop+pop", "paths: call: 'pop' is given twice");
    expect_error(
        "call=drop",
        "paths: call: there is no operation 'drop'; there are update, update_count, pop, push");
    expect_error(
        "call=pop+",
        "paths: call: there is no operation ''; there are update, update_count, pop, push");
    expect_error("bl,length=0", "paths: length: 0 is not between 1 and 64");
    expect_error("bl,length=65", "paths: length: 65 is not between 1 and 64");
    expect_error("bl,length=-1", "paths: length: '-1' is not a number");
    expect_error("bl,length=4k", "paths: length: '4k' is not a number");
    expect_error("bl,stack=0", "paths: stack: 0 is not between 1 and 1048576");
    expect_error("bl,stack=4294967297", "paths: stack: 4294967297 is not between 1 and 1048576");
    expect_error("bl,counter=0", "paths: counter: 0 is not between 1 and 32");
    expect_error("bl,counter=33", "paths: counter: 33 is not between 1 and 32");
    expect_error("bl,extend=both:1", "paths: extend: 'both:1' is none of loop:N, call:N");
    expect_error("bl,extend=loop:0", "paths: extend: 0 is not between 1 and 65535");
    expect_error("bl,direction=up", "paths: direction: 'up' is none of dynamic, static");
    expect_error("bl,overflow=die", "paths: overflow: 'die' is none of spill, drop-oldest");
    expect_error("bl,by=name", "paths: by: 'name' is none of class, address");
    struct hp_ppcr ppcr;
    assert_int_equal(hp_ppcr_parse("bl,metric=nonsense", &ppcr), HP_ERR_INVALID);
}

static void a_long_text_is_refused(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    expect_error(text, "paths: the text has more than 1023 characters");
}

static void registers_filled_in_by_hand_are_checked(void **state)
{
    (void)state;
    struct hp_ppcr good = parse("bl"), p;
    assert_int_equal(hp_ppcr_check(&good), HP_OK);
#define REFUSED(field, value, text)                                                                \
    p = good;                                                                                      \
    p.field = value;                                                                               \
    assert_int_equal(hp_ppcr_check(&p), HP_ERR_INVALID);                                           \
    assert_string_equal(hp_error_text(), text)
    REFUSED(ops[HP_CLASS_RETURN], 16, "paths: return: there is no such operation");
    REFUSED(ops[HP_CLASS_INDIRECT], 3, "paths: indirect has both update and update_count");
    REFUSED(extension, 7, "paths: no extension has the number 7");
    REFUSED(extension, HP_EXTEND_LOOP, "paths: extend: 0 is not between 1 and 65535");
    REFUSED(max_extension, 2, "paths: 2 extensions of no kind");
    REFUSED(direction, 5, "paths: no direction has the number 5");
    REFUSED(overflow, 5, "paths: no overflow has the number 5");
    REFUSED(metric, HP_METRICS, "paths: no metric has the number 11");
    REFUSED(max_length, 0, "paths: length: 0 is not between 1 and 64");
    REFUSED(stack_entries, 0, "paths: stack: 0 is not between 1 and 1048576");
    REFUSED(counter_bits, 64, "paths: counter: 64 is not between 1 and 32");
    struct hp_detector *d;
    assert_int_equal(hp_detector_new(&p, NULL, NULL, &d), HP_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_the_tables_of_the_paper),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_text_is_cut_to_its_room),
        cmocka_unit_test(illegal_tables_are_refused),
        cmocka_unit_test(a_long_text_is_refused),
        cmocka_unit_test(registers_filled_in_by_hand_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
