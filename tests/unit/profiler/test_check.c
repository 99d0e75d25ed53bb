// SPDX-License-Identifier: MIT
/* The checker finds what is wrong: a fault of every kind is planted by hand, behind its back. */
#include "stream_fixture.h"

#include "stream/code_impl.h"

/*
 * Blocks 0-4: 1000 nop; jmp 1010 | 1010 jz 1000 | 1012 call 1030 | 1030 ret | 1017 syscall
 */
struct checked {
    struct hp_code *code;
    struct hp_profiler *check;
    void *thread;
};

static int setup(void **state)
{
    struct checked *t = calloc(1, sizeof *t);
    struct stream s;
    struct hp_thread thread = {.id = 4};
    stream_init(&s);
    add_segment(&s, 1, 0x1000, "90 eb 0d");
    add_segment(&s, 2, 0x1010, "74 ee");
    add_segment(&s, 3, 0x1012, "e8 19 00 00 00");
    add_segment(&s, 4, 0x1030, "c3");
    add_segment(&s, 5, 0x1017, "0f 05");
    t->code = s.code;
    hp_cursor_free(s.cursor);
    recorder_fini(&s.recorder);
    assert_int_equal(hp_check_new(t->code, &t->check), HP_OK);
    assert_int_equal(t->check->ops->start_thread(t->check, &thread, &t->thread), HP_OK);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct checked *t = *state;
    t->check->ops->free(t->check);
    hp_code_free(t->code);
    free(t);
    return 0;
}

static void deliver(struct checked *t, const uint32_t *blocks, const uint8_t *taken, size_t n)
{
    struct hp_batch batch = {.code = t->code,
                             .table = hp_code_blocks(t->code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = n};
    t->check->ops->batch(t->thread, &batch);
}

static void deliver_event(struct checked *t, enum hp_event_kind kind)
{
    struct hp_event event = {.kind = kind, .exact = true};
    t->check->ops->event(t->thread, &event);
}

/* One transfer. */
static void transfer(struct checked *t, uint32_t from, uint32_t to, uint8_t taken)
{
    deliver(t, (const uint32_t[]){from, to}, &taken, 1);
}

static void expect_violations(const struct checked *t, uint64_t n, const char *first)
{
    const struct hp_check_stats *stats = hp_check_stats(t->check);
    assert_string_equal(stats->first, first);
    assert_int_equal(stats->violations, n);
}

static void a_good_stream_passes(void **state)
{
    struct checked *t = *state;
    deliver(t, (const uint32_t[]){0, 1, 0, 1, 2, 3, 4}, (const uint8_t[]){1, 1, 1, 0, 1, 1}, 6);
    deliver_event(t, HP_EVENT_SIGNAL);
    transfer(t, 0, 1, 1);
    deliver_event(t, HP_EVENT_TAIL);
    deliver_event(t, HP_EVENT_SIGRETURN);
    deliver_event(t, HP_EVENT_END);
    expect_violations(t, 0, "");
    const struct hp_check_stats *stats = hp_check_stats(t->check);
    assert_int_equal(stats->transfers, 7);
    assert_int_equal(stats->blocks, 5);
    assert_int_equal(stats->calls, 1);
    assert_int_equal(stats->returns, 1);
    assert_int_equal(stats->matched_returns, 1);
    assert_int_equal(stats->signals, 1);
}

static void a_wrong_outcome(void **state)
{
    struct checked *t = *state;
    transfer(t, 1, 0, 0);
    expect_violations(t, 1, "thread 4: the outcome of 0x1010 is wrong");
    deliver_event(t, HP_EVENT_TAIL);
    transfer(t, 1, 2, 1);
    deliver_event(t, HP_EVENT_TAIL);
    transfer(t, 0, 1, 0);
    expect_violations(t, 3, "thread 4: the outcome of 0x1010 is wrong");
}

static void a_wrong_successor(void **state)
{
    struct checked *t = *state;
    transfer(t, 0, 2, 1);
    expect_violations(t, 1, "thread 4: 0x1001 (jump) cannot go to 0x1012");
    deliver_event(t, HP_EVENT_TAIL);
    transfer(t, 4, 0, 1);
    deliver_event(t, HP_EVENT_TAIL);
    transfer(t, 2, 4, 1); /* a call does not go on behind itself */
    assert_int_equal(hp_check_stats(t->check)->violations, 3);
}

static void a_gap_between_batches(void **state)
{
    struct checked *t = *state;
    transfer(t, 0, 1, 1);
    transfer(t, 2, 3, 1);
    expect_violations(t, 1, "thread 4: a batch does not continue the one before");
    /* what announces a gap is none */
    static const enum hp_event_kind gaps[] = {HP_EVENT_TAIL, HP_EVENT_LOST, HP_EVENT_DISCONTINUITY,
                                              HP_EVENT_SIGNAL, HP_EVENT_SIGRETURN};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        deliver_event(t, gaps[i]);
        transfer(t, 0, 1, 1);
    }
    deliver_event(t, HP_EVENT_FORK);
    transfer(t, 0, 1, 1);
    assert_int_equal(hp_check_stats(t->check)->violations, 2);
}

static void signal_returns_without_a_signal(void **state)
{
    struct checked *t = *state;
    deliver_event(t, HP_EVENT_SIGNAL);
    deliver_event(t, HP_EVENT_SIGRETURN);
    expect_violations(t, 0, "");
    deliver_event(t, HP_EVENT_SIGRETURN);
    expect_violations(t, 1, "thread 4: a signal return without a signal");
    deliver_event(t, HP_EVENT_SIGRETURN);
    expect_violations(t, 2, "thread 4: a signal return without a signal");
}

static void anything_after_the_end(void **state)
{
    struct checked *t = *state;
    deliver_event(t, HP_EVENT_END);
    expect_violations(t, 0, "");
    transfer(t, 0, 1, 1);
    expect_violations(t, 1, "thread 4 goes on after its end");
}

/* Blocks that are not what their code says, in every field. */
static void plant(struct checked *t, void (*spoil)(struct hp_block *block), const char *expected)
{
    spoil(&t->code->blocks[0]);
    transfer(t, 3, 0, 1); /* a return may go anywhere */
    expect_violations(t, 1, expected);
}

static void too_many_insns(struct hp_block *block)
{
    block->insns++;
}

static void no_insns(struct hp_block *block)
{
    block->insns = 0;
}

static void wrong_flow(struct hp_block *block)
{
    block->flow = HP_FLOW_CALL;
}

static void wrong_target(struct hp_block *block)
{
    block->target++;
}

static void wrong_last(struct hp_block *block)
{
    block->last = block->start;
}

static void backwards(struct hp_block *block)
{
    block->end = block->start - 1;
}

static void a_block_with_a_wrong_count(void **state)
{
    plant(*state, too_many_insns, "block at 0x1000 is not what its code says");
}

static void a_block_without_instructions(void **state)
{
    plant(*state, no_insns, "block at 0x1000 has impossible bounds");
}

static void a_block_with_a_wrong_end(void **state)
{
    plant(*state, wrong_flow, "block at 0x1000 is not what its code says");
}

static void a_block_with_a_wrong_target(void **state)
{
    plant(*state, wrong_target, "block at 0x1000 is not what its code says");
}

static void a_block_that_ends_backwards(void **state)
{
    plant(*state, backwards, "block at 0x1000 has impossible bounds");
}

static void a_block_that_goes_on_behind_its_end(void **state)
{
    struct checked *t = *state;
    wrong_last(&t->code->blocks[0]);
    transfer(t, 3, 0, 1);
    expect_violations(t, 2, "block at 0x1000 goes on behind the transfer at 0x1001");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_good_stream_passes),
        CASE(a_wrong_outcome),
        CASE(a_wrong_successor),
        CASE(a_gap_between_batches),
        CASE(signal_returns_without_a_signal),
        CASE(anything_after_the_end),
        CASE(a_block_with_a_wrong_count),
        CASE(a_block_without_instructions),
        CASE(a_block_with_a_wrong_end),
        CASE(a_block_with_a_wrong_target),
        CASE(a_block_that_ends_backwards),
        CASE(a_block_that_goes_on_behind_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
