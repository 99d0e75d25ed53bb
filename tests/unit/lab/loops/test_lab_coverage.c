// SPDX-License-Identifier: MIT
/* How much is executed within sets of blocks, on a loop that calls a function, worked out by hand.
 */
#include "stream_fixture.h"

#include "lab/loops/coverage.h"

/*
 *  1000: nop, nop, [1002:] nop, call 1100    the loop's first round begins inside this block
 *  1008: nop, jne 1002
 *  100b: nop, call 1100                      behind the loop
 *  1011: nop, ret
 *  1100: nop, nop, ret
 *  1200: nop, nop, syscall                   a signal handler
 */
enum { ENTRY = 1, AGAIN, CLOSE, FUNCTION, BEHIND, LAST, HANDLER };
enum { LOOP, CALLED, UNUSED };

struct fixture {
    struct stream stream;
    struct hp_lab_block_sets sets;
    struct hp_profiler *coverage;
};

static void make(struct fixture *f)
{
    static const uint64_t others[] = {0x1000, 0x100b, 0x1011, 0x1200};
    *f = (struct fixture){0};
    stream_init(&f->stream);
    add_segment(&f->stream, ENTRY, 0x1000, "90 90 90 e8 f8 00 00 00");
    add_segment(&f->stream, AGAIN, 0x1002, "90 e8 f8 00 00 00");
    add_segment(&f->stream, CLOSE, 0x1008, "90 75 f7");
    add_segment(&f->stream, FUNCTION, 0x1100, "90 90 c3");
    add_segment(&f->stream, BEHIND, 0x100b, "90 e8 ef 00 00 00");
    add_segment(&f->stream, LAST, 0x1011, "90 c3");
    add_segment(&f->stream, HANDLER, 0x1200, "90 90 0f 05");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(hp_lab_block_sets_add(&f->sets, others[i], 0), HP_OK);
    assert_int_equal(hp_lab_block_sets_add(&f->sets, 0x1002, 1 << LOOP), HP_OK);
    assert_int_equal(hp_lab_block_sets_add(&f->sets, 0x1008, 1 << LOOP), HP_OK);
    assert_int_equal(hp_lab_block_sets_add(&f->sets, 0x1100, 0), HP_OK);
    assert_int_equal(hp_lab_block_sets_add(&f->sets, 0x1100, 1 << CALLED), HP_OK);
    assert_int_equal(hp_lab_coverage_new(f->stream.code, &f->sets, &f->coverage), HP_OK);
    recorder_add(&f->stream.recorder, f->coverage);
}

static void clear(struct fixture *f)
{
    stream_fini(&f->stream);
    hp_lab_block_sets_fini(&f->sets);
}

static void assert_within(const struct fixture *f, unsigned set, unsigned part, unsigned whole)
{
    double share;
    assert_int_equal(hp_lab_coverage_share(f->coverage, set, &share), HP_OK);
    assert_true(share > 100.0 * part / whole - 1e-6 && share < 100.0 * part / whole + 1e-6);
}

static void what_is_called_from_a_loop_is_within_it(void **state)
{
    (void)state;
    struct fixture f;
    make(&f);
    FEED(&f.stream, ENTRY, FUNCTION, CLOSE, AGAIN, FUNCTION, CLOSE, BEHIND, FUNCTION, LAST,
         EVENT(END, HP_END_EXIT));
    stream_verify(&f.stream);
    assert_int_equal(f.stream.recorder.instructions, 23);
    assert_within(&f, LOOP, 14, 23); /* not the first two instructions, nor what is behind */
    assert_within(&f, CALLED, 9, 23);
    assert_within(&f, UNUSED, 0, 23);
    clear(&f);
}

static void a_return_that_no_call_expects_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    make(&f);
    /* The function that the loop calls returns to behind the loop. A gap before it ends all calls.
     */
    FEED(&f.stream, BEHIND, FUNCTION, LAST, EVENT(LOST, 0), 0, 0, ENTRY, FUNCTION, BEHIND, FUNCTION,
         LAST, EVENT(END, HP_END_EXIT));
    /* BEHIND 2, FUNCTION 3, LAST 2; then 2 + 2, 3, and as nothing expects 100b the call still goes
     * on: 2, 3, 2. */
    assert_int_equal(f.stream.recorder.instructions, 21);
    assert_within(&f, LOOP, 2 + 3 + 2 + 3 + 2, 21);
    clear(&f);
}

static void a_signal_handler_is_within_the_calls_it_interrupts(void **state)
{
    (void)state;
    struct fixture f;
    make(&f);
    FEED(&f.stream, ENTRY, EVENT(SIGNAL, 10), HANDLER, EVENT(SIGRETURN, 0), FUNCTION, CLOSE, BEHIND,
         EVENT(SIGNAL, 10), HANDLER, EVENT(SIGRETURN, 0), FUNCTION, LAST, EVENT(END, HP_END_EXIT));
    /* ENTRY 4, HANDLER 3, FUNCTION 3, CLOSE 2, BEHIND 2, HANDLER 3, FUNCTION 3, LAST 2. */
    assert_int_equal(f.stream.recorder.instructions, 22);
    assert_within(&f, LOOP, 2 + 3 + 2, 22);
    assert_within(&f, CALLED, 6, 22);
    clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_called_from_a_loop_is_within_it),
        cmocka_unit_test(a_return_that_no_call_expects_changes_nothing),
        cmocka_unit_test(a_signal_handler_is_within_the_calls_it_interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
