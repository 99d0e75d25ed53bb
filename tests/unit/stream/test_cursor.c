// SPDX-License-Identifier: MIT
/* The cursor, case by case: which blocks and events come out of which words. */
#include "stream_fixture.h"

/*
 * A small program; the ids of its segments are used all over.
 *   1  1000  nop; nop; jmp 1010            6  1040  nop; syscall
 *   2  1010  nop; jz 1000                  7  1043  nop; ret
 *   3  1013  nop; call 1030                8  2000  nop; nop; ret      (handler)
 *   4  1019  nop; jmp *rax                 9  2100  nop; syscall       (signal return)
 *   5  1030  nop; ret
 */
enum { JMP = 1, JZ, CALL, JMP_IND, RET, SYS, RET2, HANDLER, RESTORER, NEXT };

static int setup(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    stream_init(s);
    add_segment(s, JMP, 0x1000, "90 90 eb 0c");
    add_segment(s, JZ, 0x1010, "90 74 ed");
    add_segment(s, CALL, 0x1013, "90 e8 17 00 00 00");
    add_segment(s, JMP_IND, 0x1019, "90 ff e0");
    add_segment(s, RET, 0x1030, "90 c3");
    add_segment(s, SYS, 0x1040, "90 0f 05");
    add_segment(s, RET2, 0x1043, "90 c3");
    add_segment(s, HANDLER, 0x2000, "90 90 c3");
    add_segment(s, RESTORER, 0x2100, "90 0f 05");
    *state = s;
    return 0;
}

/* Whatever the case was, the checker must agree with it. */
static int teardown(void **state)
{
    struct stream *s = *state;
    stream_verify(s);
    stream_fini(s);
    free(s);
    return 0;
}

static void announce_handler(struct stream *s)
{
    FEED(s, EVENT(HANDLER, 10), 0x2000, 0);
}

/* --- Whole blocks ----------------------------------------------------------------------------- */

static void blocks_that_follow(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, JZ, JMP, JZ, CALL, RET, JMP_IND, SYS, RET2);
    expect(s, "1000/3+ 1010/2+ 1000/3+ 1010/2- 1013/2+ 1030/2+ 1019/2+ 1040/2-");
    FEED(s, EVENT(END, HP_END_EXIT));
    expect(s, "1043/2. end(0)");
    assert_int_equal(hp_cursor_stats(s->cursor)->instructions, 20);
    assert_int_equal(hp_cursor_stats(s->cursor)->words, 10);
}

static void nothing_at_all_ends(void **state)
{
    struct stream *s = *state;
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect(s, "end(0)");
}

static void one_block_is_a_tail(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP);
    expect(s, "");
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_DETACHED), HP_OK);
    expect(s, "1000/3. end(3)");
}

static void killed_leaves_an_uncertain_tail(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, JZ);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    expect(s, "1000/3+ 1010/2? end(1)");
}

static void killed_in_a_system_call_is_certain(void **state)
{
    struct stream *s = *state;
    FEED(s, SYS);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    expect(s, "1040/2. end(1)");
}

static void a_program_that_became_another_ended_by_that(void **state)
{
    struct stream *s = *state;
    FEED(s, SYS, EVENT(EXEC, 0), 4);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    expect(s, "exec(4) 1040/2. end(2)");
}

static void a_failed_exec_is_no_end(void **state)
{
    struct stream *s = *state;
    FEED(s, SYS, EVENT(EXEC, 0), 4, EVENT(EXEC_FAILED, 0));
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    expect(s, "exec(4) exec_failed 1040/2. end(1)");
}

static void only_the_first_end_counts(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(END, HP_END_EXEC), JZ, EVENT(LOST, 1), 0, 0, EVENT(END, HP_END_EXIT), 77);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    FEED(s, JZ);
    expect(s, "1000/3. end(2)");
}

static void what_does_not_follow_is_no_branch(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, CALL, RET);
    expect(s, "1000/3? break 1013/2+");
    assert_int_equal(hp_cursor_stats(s->cursor)->discontinuities, 1);
}

static void jump_to_the_next_instruction_is_taken(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "eb 00");
    add_segment(s, NEXT + 1, 0x3002, "74 00");
    add_segment(s, NEXT + 2, 0x3004, "c3");
    FEED(s, NEXT, NEXT + 1, NEXT + 2);
    expect(s, "3000/1+ 3002/1-");
}

static void trap_may_only_be_passed(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "cc");
    add_segment(s, NEXT + 1, 0x3001, "c3");
    FEED(s, NEXT, NEXT + 1, NEXT, JMP);
    expect(s, "3000/1- 3001/1+ 3000/1? break");
}

/* --- Batches ---------------------------------------------------------------------------------- */

static void feed_loop(struct stream *s, size_t n)
{
    uint32_t *words = malloc(n * sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = i % 2 ? JZ : JMP;
    feed(s, words, n);
    free(words);
}

static void batch_boundaries(void **state)
{
    (void)state;
    /* words, batches delivered, blocks in them; a batch may be shorter by what a run may have */
    enum { FULL = HP_BATCH_MAX - HP_RUN_MAX + 1 };
    static const size_t cases[][3] = {
        {FULL, 1, FULL - 1},
        {FULL + 1, 1, FULL},
        {FULL + 2, 2, FULL + 1},
        {2 * FULL, 2, 2 * FULL - 1},
        {2 * FULL + 1, 2, 2 * FULL},
        {1, 0, 0},
        {2, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *fresh;
        setup(&fresh);
        struct stream *s = fresh;
        feed_loop(s, cases[i][0]);
        assert_int_equal(s->recorder.batches, cases[i][1]);
        assert_int_equal(s->recorder.blocks, cases[i][2]);
        for (size_t k = 0; k < s->recorder.n; k++)
            assert_int_equal(s->recorder.items[k].value, k % 2 ? 0x1010 : 0x1000);
        teardown(&fresh);
    }
}

/* The same words give the same stream however they are cut up: here one by one. */
static void one_word_at_a_time(void **state)
{
    struct stream *s = *state;
    const uint32_t words[] = {JMP,
                              EVENT(HANDLER, 10),
                              0x2000,
                              0,
                              JZ,
                              EVENT(FORK, 0),
                              0x77,
                              HANDLER,
                              RESTORER,
                              EVENT(SIGRETURN, 0),
                              CALL,
                              RET,
                              EVENT(LOST, HP_LOST_DETACHED),
                              5,
                              0,
                              EVENT(MODULE, 1),
                              3,
                              SYS,
                              RET2};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        feed(s, &words[i], 1);
    expect(s, "1000/3+ fork(119) signal(0) 2000/3+ 2100/2. sigreturn 1010/2- 1013/2+ 1030/2? "
              "lost(3) module(3) 1040/2-");
}

static void events_between_blocks(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(PAD, 0), JZ, EVENT(FORK, 0), 12, JMP, EVENT(EXEC, 0), 4,
         EVENT(EXEC_FAILED, 0), JZ, EVENT(MODULE, 1), 2, EVENT(MODULE, 0), 2, CALL);
    expect(s, "1000/3+ fork(12) 1010/2+ exec(4) exec_failed 1000/3+ module(2) module(-2) 1010/2-");
}

static void an_event_does_not_end_a_partial_block(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90");
    add_segment(s, NEXT + 1, 0x3002, "90 c3");
    FEED(s, NEXT, EVENT(FORK, 0), 1, NEXT + 1, JMP);
    expect(s, "fork(1) 3000/4+");
}

/* --- Losses and nonsense ---------------------------------------------------------------------- */

static void a_loss_ends_everything_pending(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, JZ, EVENT(SIGNAL, 11), HANDLER, EVENT(LOST, HP_LOST_CODE_FULL), 3, 0, JMP, JZ);
    expect(s, "1000/3+ signal(11) 2000/3? 1010/2. lost(1) 1000/3+");
    assert_int_equal(hp_cursor_stats(s->cursor)->losses, 1);
}

static void unknown_code_is_a_loss(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, 500, JZ, 0x7fffffff, 0, CALL);
    expect(s, "1000/3? lost(2) 1010/2? lost(2) lost(2)");
}

static void unknown_events_are_losses(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, HP_WORD_EVENT | (uint32_t)HP_WORD_KIND_COUNT_ << 24, 0xffffffff, JZ);
    expect(s, "1000/3? lost(2) lost(2)");
}

/* --- Open segments ---------------------------------------------------------------------------- */

static void pieces_are_joined(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90");
    add_segment(s, NEXT + 1, 0x3002, "90");
    add_segment(s, NEXT + 2, 0x3003, "90 74 fa"); /* jz 3000 */
    FEED(s, NEXT, NEXT + 1, NEXT + 2, NEXT, NEXT + 1, NEXT + 2, EVENT(END, 0));
    expect(s, "3000/5+ 3000/5. end(0)");
}

static void pieces_of_any_cut_give_the_same_block(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90 90 eb fb");
    add_segment(s, NEXT + 1, 0x3000, "90 90");
    add_segment(s, NEXT + 2, 0x3002, "90 eb fb");
    add_segment(s, NEXT + 3, 0x3000, "90 90 90");
    add_segment(s, NEXT + 4, 0x3003, "eb fb");
    FEED(s, NEXT, NEXT + 1, NEXT + 2, NEXT + 3, NEXT + 4, NEXT);
    expect(s, "3000/4+ 3000/4+ 3000/4+");
    for (uint32_t i = 0; i < hp_code_n_blocks(s->code); i++)
        if (hp_code_block(s->code, i)->start == 0x3000)
            assert_int_equal(hp_code_block(s->code, i)->insns, 4);
}

static void a_piece_left_open_is_a_block_that_falls_through(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x1010, "90");
    FEED(s, JMP, NEXT, JMP, JZ);
    expect(s, "1000/3+ 1010/1? break 1000/3+");
    FEED(s, EVENT(END, 0));
    expect(s, "1010/2. end(0)");
}

static void an_open_piece_at_the_end(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x1010, "90");
    FEED(s, JMP, NEXT);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    expect(s, "1000/3+ 1010/1? end(1)");
}

/* A page ends in the middle of the jump: the translator shows its first byte but does not run it.
 */
static void a_truncated_instruction_belongs_to_the_next_piece(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3ffd, "90 90 e9");
    add_segment(s, NEXT + 1, 0x3fff, "e9 fc cf ff ff"); /* jmp 1000 */
    FEED(s, NEXT, NEXT + 1, JMP, JZ);
    expect(s, "3ffd/3+ 1000/3+");
}

static void an_instruction_nobody_knows_is_one(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90");
    add_segment(s, NEXT + 1, 0x3001, "06"); /* no instruction in 64-bit mode */
    add_segment(s, NEXT + 2, 0x3002, "90 c3");
    FEED(s, NEXT, NEXT + 1, NEXT + 2, JMP, JZ);
    expect(s, "3000/4+ 1000/3+");
    FEED(s, EVENT(LOST, 0), 0, 0);
    s->recorder.n = 0;
    FEED(s, NEXT + 1, NEXT + 2, JMP);
    expect(s, "3001/3+");
}

static void rep_iterations_are_one_instruction(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 f3 a4");
    add_segment(s, NEXT + 1, 0x3001, "f3 a4");
    add_segment(s, NEXT + 2, 0x3003, "90 c3");
    FEED(s, NEXT, NEXT + 1, NEXT + 1, NEXT + 1, NEXT + 2, NEXT, NEXT + 2, NEXT + 1, NEXT + 1,
         NEXT + 2, JMP);
    expect(s, "3000/4+ 3000/4+ 3001/3+");
    assert_int_equal(hp_cursor_stats(s->cursor)->rep_iterations, 4);
}

static void rep_is_folded_across_a_signal(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 f3 a4");
    add_segment(s, NEXT + 1, 0x3001, "f3 a4");
    add_segment(s, NEXT + 2, 0x3003, "c3");
    announce_handler(s);
    FEED(s, NEXT, NEXT + 1, HANDLER, RESTORER, EVENT(SIGRETURN, 0), NEXT + 1, NEXT + 2, JMP);
    expect(s, "signal(0) 2000/3+ 2100/2. sigreturn 3000/3+");
    assert_int_equal(hp_cursor_stats(s->cursor)->rep_iterations, 2);
}

static void a_handler_that_starts_with_rep(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "f3 a4");
    add_segment(s, NEXT + 1, 0x3002, "c3");
    FEED(s, EVENT(HANDLER, 10), 0x3000, 0, JMP, NEXT, NEXT, NEXT, NEXT + 1, RESTORER,
         EVENT(SIGRETURN, 0), JZ, JMP);
    expect(s, "signal(0) 3000/2+ 2100/2. sigreturn 1000/3+ 1010/2+");
}

/* 3 pieces of 2000 no-ops and a return: a block of HP_BLOCK_MAX_INSNS and the rest. */
static void long_code_is_split(void **state)
{
    struct stream *s = *state;
    uint8_t bytes[2001];
    memset(bytes, 0x90, sizeof bytes);
    bytes[2000] = 0xc3;
    for (uint32_t i = 0; i < 3; i++) {
        struct hp_segment segment = {.start = 0x10000 + i * 2000,
                                     .module = s->module,
                                     .size = i == 2 ? 2001 : 2000,
                                     .bytes = bytes};
        assert_int_equal(hp_code_add_segment(s->code, NEXT + i, &segment), HP_OK);
    }
    FEED(s, NEXT, NEXT + 1, NEXT + 2, JMP, JZ);
    expect(s, "10000/4096- 11000/1905+ 1000/3+");
    FEED(s, EVENT(LOST, 0), 0, 0, NEXT + 1, NEXT + 2, JMP);
    expect(s, "1010/2? lost(0) 107d0/4001+");
}

/* --- Blocks cut short ------------------------------------------------------------------------- */

/* An atomic operation is redone by the translator: the rest of the block comes again. */
static void a_block_goes_on_in_its_middle(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90 90 eb fb");
    add_segment(s, NEXT + 1, 0x3001, "90");
    add_segment(s, NEXT + 2, 0x3002, "90 eb fb");
    FEED(s, NEXT, NEXT + 1, NEXT + 2, NEXT, NEXT);
    expect(s, "3000/4+ 3000/4+");
    assert_int_equal(hp_cursor_stats(s->cursor)->discontinuities, 0);
}

static void a_block_starts_again_from_its_start(void **state)
{
    struct stream *s = *state;
    FEED(s, CALL, CALL, RET);
    expect(s, "1013/2+");
}

static void a_piece_goes_on_in_its_middle(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90 90");
    add_segment(s, NEXT + 1, 0x3001, "90");
    add_segment(s, NEXT + 2, 0x3002, "90 c3");
    FEED(s, NEXT, NEXT + 1, NEXT + 2, JMP, JZ);
    expect(s, "3000/4+ 1000/3+");
}

static void a_restarted_system_call_is_one(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x1041, "0f 05");
    announce_handler(s);
    FEED(s, SYS, HANDLER, RESTORER, EVENT(SIGRETURN, 0), NEXT, RET2, JMP);
    expect(s, "signal(0) 2000/3+ 2100/2. sigreturn 1040/2- 1043/2+");
}

/* A fault in the middle of a block; the handler mends it and the code goes on there. */
static void a_fault_in_the_middle_of_a_block(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90 90 eb fb");
    add_segment(s, NEXT + 1, 0x3002, "90 eb fb");
    announce_handler(s);
    FEED(s, NEXT, HANDLER, RESTORER, EVENT(SIGRETURN, 0), NEXT + 1, NEXT, NEXT);
    expect(s, "signal(0) 2000/3+ 2100/2. sigreturn 3000/4+ 3000/4+");
}

static void the_middle_of_an_instruction_is_no_cut(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "48 89 c0 e9 00 00 00 00");
    add_segment(s, NEXT + 1, 0x3001, "89 c0 c3");
    FEED(s, NEXT, NEXT + 1, JMP);
    expect(s, "3000/2? break 3001/2+");
}

static void cut_words(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "90 90 90 eb fb");
    add_segment(s, NEXT + 1, 0x3002, "90 eb fb");
    FEED(s, NEXT, EVENT(CUT, 2), NEXT + 1, NEXT, EVENT(CUT, 4), NEXT, EVENT(CUT, 0), NEXT, NEXT);
    expect(s, "3000/4+ 3000/4+ 3000/4+");
    FEED(s, EVENT(CUT, 1), EVENT(END, HP_END_EXIT));
    expect(s, "3000/1. end(0)");
}

static void cut_words_before_anything(void **state)
{
    struct stream *s = *state;
    FEED(s, EVENT(CUT, 0), EVENT(CUT, 0xffffff), JMP, JZ, EVENT(CUT, 0), CALL, RET);
    expect(s, "1000/3+ break 1013/2+");
}

static void cutting_again_and_again_takes_no_memory(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(CUT, 1));
    s->recorder.n = 0;
    uint32_t blocks = hp_code_n_blocks(s->code);
    for (int i = 0; i < 1000; i++) {
        FEED(s, EVENT(LOST, 0), 0, 0, JMP, EVENT(CUT, 1));
        s->recorder.n = 0;
    }
    assert_in_range(hp_code_n_blocks(s->code), blocks, blocks + 1);
}

/* --- Signals ---------------------------------------------------------------------------------- */

static void a_signal_that_is_announced(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, JZ, EVENT(SIGNAL, 15), HANDLER, RESTORER, EVENT(SIGRETURN, 0), CALL, RET);
    expect(s, "1000/3+ signal(15) 2000/3+ 2100/2. sigreturn 1010/2- 1013/2+");
}

static void a_signal_by_arrival_at_a_handler(void **state)
{
    struct stream *s = *state;
    announce_handler(s);
    FEED(s, JMP, JZ, HANDLER, RESTORER, EVENT(SIGRETURN, 0), CALL, RET, HANDLER, RESTORER,
         EVENT(SIGRETURN, 0), JMP_IND, JMP);
    expect(s, "1000/3+ signal(0) 2000/3+ 2100/2. sigreturn 1010/2- 1013/2+ signal(0) 2000/3+ "
              "2100/2. sigreturn 1030/2+ 1019/2+");
}

static void handlers_are_found_whenever_they_are_announced(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, JZ, HANDLER); /* not known yet */
    expect(s, "1000/3+ 1010/2? break");
    announce_handler(s);
    announce_handler(s);
    FEED(s, RESTORER, RET2, JMP, JZ, HANDLER, RESTORER, EVENT(SIGRETURN, 0), JMP);
    expect(s, "2000/3+ 2100/2. break 1043/2+ 1000/3+ signal(0) 2000/3+ 2100/2. sigreturn 1010/2+");
    add_segment(s, NEXT, 0x2000, "90");
    FEED(s, JZ, NEXT);
    expect(s, "1000/3+ signal(0)");
}

static void a_handler_that_the_program_calls(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3000, "e8 fb ef ff ff");     /* call 2000 */
    add_segment(s, NEXT + 1, 0x3005, "ff d0");          /* call *rax */
    add_segment(s, NEXT + 2, 0x3007, "e8 04 00 00 00"); /* call 3010: a stub */
    add_segment(s, NEXT + 3, 0x3010, "ff e0");
    add_segment(s, NEXT + 4, 0x300c, "c3");
    announce_handler(s);
    FEED(s, NEXT, HANDLER, NEXT + 1, HANDLER, NEXT + 2, NEXT + 3, HANDLER, NEXT + 4, JMP);
    expect(s, "3000/1+ 2000/3+ 3005/1+ 2000/3+ 3007/1+ 3010/1+ 2000/3+ 300c/1+");
    assert_int_equal(hp_cursor_stats(s->cursor)->signals, 0);
}

/* How words are cut up for feeding must not matter. */
static void a_handler_called_through_a_stub_word_by_word(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x3007, "e8 04 00 00 00");
    add_segment(s, NEXT + 1, 0x3010, "ff e0");
    announce_handler(s);
    FEED(s, NEXT);
    FEED(s, NEXT + 1);
    FEED(s, HANDLER);
    FEED(s, JMP);
    expect(s, "3007/1+ 3010/1+ 2000/3+");
    /* not so for a jump that is no call */
    FEED(s, JZ, CALL, RET, JMP_IND);
    FEED(s, HANDLER);
    expect(s, "1000/3+ 1010/2- 1013/2+ 1030/2+ signal(0)");
}

static void a_signal_in_a_partial_block(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x1010, "90");
    add_segment(s, NEXT + 1, 0x1011, "74 ed");
    announce_handler(s);
    FEED(s, JMP, NEXT, HANDLER, RESTORER, EVENT(SIGRETURN, 0), NEXT + 1, JMP);
    expect(s, "signal(0) 2000/3+ 2100/2. sigreturn 1000/3+ 1010/2+");
}

static void signals_nest(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(SIGNAL, 1), HANDLER, EVENT(SIGNAL, 2), HANDLER, RESTORER,
         EVENT(SIGRETURN, 0), RESTORER, EVENT(SIGRETURN, 0), JZ, CALL);
    expect(s, "signal(1) signal(2) 2000/3+ 2100/2. sigreturn 2000/3+ 2100/2. sigreturn 1000/3+ "
              "1010/2-");
}

static void a_signal_straight_after_a_signal_return(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(SIGNAL, 1), HANDLER, RESTORER, EVENT(SIGRETURN, 0), EVENT(SIGNAL, 2),
         HANDLER, RESTORER, EVENT(SIGRETURN, 0), JZ, CALL);
    expect(s, "signal(1) 2000/3+ 2100/2. sigreturn signal(2) 2000/3+ 2100/2. sigreturn 1000/3+ "
              "1010/2-");
}

static void a_signal_straight_after_a_signal_return_by_arrival(void **state)
{
    struct stream *s = *state;
    announce_handler(s);
    FEED(s, JMP, HANDLER, RESTORER, EVENT(SIGRETURN, 0), HANDLER, RESTORER, EVENT(SIGRETURN, 0), JZ,
         CALL);
    expect(s, "signal(0) 2000/3+ 2100/2. sigreturn signal(0) 2000/3+ 2100/2. sigreturn 1000/3+ "
              "1010/2-");
}

static void a_handler_left_by_longjmp(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x2010, "ff e0");
    FEED(s, JMP, EVENT(SIGNAL, 1), NEXT, JZ, CALL, EVENT(SIGNAL, 2), HANDLER, RESTORER,
         EVENT(SIGRETURN, 0), RET, EVENT(END, HP_END_EXIT));
    /* what the first signal interrupted is known to have been retired, no more */
    expect(s, "signal(1) 2010/1+ 1010/2- signal(2) 2000/3+ 2100/2. sigreturn 1013/2+ 1030/2. "
              "1000/3. end(0)");
}

static void a_signal_return_without_a_signal(void **state)
{
    struct stream *s = *state;
    FEED(s, RESTORER, EVENT(SIGRETURN, 0), EVENT(SIGRETURN, 0), JMP, JZ);
    expect(s, "2100/2. break 1000/3+");
}

static void the_end_straight_after_a_signal_return(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(SIGNAL, 1), RESTORER, EVENT(SIGRETURN, 0), EVENT(END, HP_END_EXIT));
    expect(s, "signal(1) 2100/2. 1000/3. end(0)");
}

static void more_signals_than_are_remembered(void **state)
{
    struct stream *s = *state;
    for (uint32_t i = 0; i < 100; i++)
        FEED(s, JMP, EVENT(SIGNAL, i + 1));
    size_t tails = 0, signals = 0;
    for (size_t i = 0; i < s->recorder.n; i++) {
        tails += s->recorder.items[i].event == HP_EVENT_TAIL + 1;
        signals += s->recorder.items[i].event == HP_EVENT_SIGNAL + 1;
    }
    assert_int_equal(signals, 100);
    assert_int_equal(tails, 100 - 64);
    s->recorder.n = 0;
    for (uint32_t i = 0; i < 64; i++)
        FEED(s, RESTORER, EVENT(SIGRETURN, 0), JZ, EVENT(LOST, 0), 0, 0);
    stream_verify(s);
}

static void returning_from_100_signals(void **state)
{
    struct stream *s = *state;
    for (uint32_t i = 0; i < 100; i++)
        FEED(s, JMP, EVENT(SIGNAL, i + 1));
    for (uint32_t i = 0; i < 100; i++)
        FEED(s, RESTORER, EVENT(SIGRETURN, 0), JZ);
    assert_int_equal(hp_cursor_stats(s->cursor)->discontinuities, 100 - 64 + 99);
}

/* --- Other architectures ---------------------------------------------------------------------- */

static void two_blocks(enum hp_arch arch, uint8_t mode, const char *first, const char *second,
                       const char *expected)
{
    struct stream s;
    stream_init_arch(&s, arch);
    assert_int_equal(try_segment(&s, 1, 0x1000, mode, first), HP_OK);
    assert_int_equal(try_segment(&s, 2, 0x1008, mode, second), HP_OK);
    FEED(&s, 1, 2, 1, 2, EVENT(END, HP_END_EXIT));
    expect(&s, expected);
    stream_verify(&s);
    stream_fini(&s);
}

static void other_architectures(void **state)
{
    (void)state;
    /* nop; b.eq 1008 | nop; b 1000 */
    two_blocks(HP_ARCH_AARCH64, HP_MODE_DEFAULT, "1f2003d5 20000054", "1f2003d5 fdffff17",
               "1000/2- 1008/2+ 1000/2- 1008/2. end(0)");
    /* nop; beq 1008 | nop; b 1000 */
    two_blocks(HP_ARCH_ARM, HP_MODE_DEFAULT, "00f020e3 ffffff0a", "00f020e3 fbffffea",
               "1000/2- 1008/2+ 1000/2- 1008/2. end(0)");
    /* nop; nop; nop; b 1008 | bx lr */
    two_blocks(HP_ARCH_ARM, HP_MODE_THUMB, "00bf 00bf 00bf ffe7", "7047",
               "1000/4- 1008/1+ 1000/4- 1008/1. end(0)");
    /* nop; beqz a0, 1008 | c.nop; ret */
    two_blocks(HP_ARCH_RISCV64, HP_MODE_DEFAULT, "13000000 63020500", "0100 8280",
               "1000/2- 1008/2+ 1000/2- 1008/2. end(0)");
    /* nop; beq zero, 1008 | nop; ret */
    two_blocks(HP_ARCH_ALPHA, HP_MODE_DEFAULT, "1f04ff47 0000e0e7", "1f04ff47 0180fa6b",
               "1000/2- 1008/2+ 1000/2- 1008/2. end(0)");
}

/* --- Counted paths ---------------------------------------------------------------------------- */

static void counting_takes_over_from_words_and_gives_back(void **state)
{
    struct stream *s = *state;
    hp_cursor_expect_counting(s->cursor);
    FEED(s, JMP, JZ, EVENT(COUNTING, 0), JMP);
    expect(s, "1000/3+ 1010/2+ counting(1000)");
    FEED(s, EVENT(FORK, 0), 5, EVENT(FRAME, 0), 7, 0x1019, 1, EVENT(HANDED, 0), 9, RET);
    expect(s, "fork(5) frame(7,100001019) handed(9,1030)");
    FEED(s, JMP_IND, EVENT(COUNTING, 0), SYS, EVENT(HANDED, 0), 10, SYS);
    expect(s, "1030/2+ 1019/2+ counting(1040) handed(10,1040)");
    FEED(s, RET2, EVENT(END, HP_END_EXIT));
    expect(s, "1040/2- 1043/2. end(0)");
}

static void a_counted_block_is_cut_by_a_signal(void **state)
{
    struct stream *s = *state;
    hp_cursor_expect_counting(s->cursor);
    add_segment(s, NEXT, 0x1001, "90 eb 0c");
    FEED(s, JZ, EVENT(COUNTING, 0), JMP, EVENT(HANDED, 0), 3, JMP, EVENT(CUT, 1));
    FEED(s, EVENT(SIGNAL, 10), HANDLER, RESTORER, EVENT(SIGRETURN, 0), NEXT, JZ);
    expect(s, "1010/2+ counting(1000) handed(3,1000) signal(10) 2000/3+ 2100/2. sigreturn 1000/3+");
    FEED(s, EVENT(END, HP_END_EXIT));
    expect(s, "1010/2. end(0)");
}

static void counting_that_was_not_announced_is_a_loss(void **state)
{
    struct stream *s = *state;
    FEED(s, JMP, EVENT(COUNTING, 0), JZ, JZ, EVENT(FRAME, 0), 1, 0, 0, JZ, EVENT(HANDED, 0), 1, JZ);
    expect(s, "1000/3? lost(2) 1010/2? lost(2) 1010/2? lost(2)");
}

static void what_cannot_be_counted_is_a_loss(void **state)
{
    struct stream *s = *state;
    hp_cursor_expect_counting(s->cursor);
    add_segment(s, NEXT, 0x1000, "90 90"); /* open */
    FEED(s, EVENT(COUNTING, 0), NEXT, EVENT(COUNTING, 0), 77, EVENT(COUNTING, 0), 0);
    expect(s, "lost(2) lost(2) lost(2)");
    FEED(s, EVENT(COUNTING, 0), JMP, EVENT(HANDED, 0), 1, NEXT, NEXT, EVENT(COUNTING, 0), RET);
    expect(s, "counting(1000) lost(2) 1000/2? break counting(1030)");
}

static void words_while_counting_are_a_loss(void **state)
{
    struct stream *s = *state;
    hp_cursor_expect_counting(s->cursor);
    FEED(s, EVENT(COUNTING, 0), JMP, JZ, EVENT(COUNTING, 0), JMP, EVENT(SIGNAL, 3), JMP);
    expect(s, "counting(1000) lost(7) 1010/2+ counting(1000) lost(7) signal(3)");
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect(s, "1000/3. end(0)");
}

static void the_end_while_counting_is_a_loss(void **state)
{
    struct stream *s = *state;
    hp_cursor_expect_counting(s->cursor);
    FEED(s, EVENT(COUNTING, 0), JMP);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    expect(s, "counting(1000) lost(7) end(1)");
}

static void unless_it_goes_on_unobserved(void **state)
{
    struct stream *s = *state;
    hp_cursor_expect_counting(s->cursor);
    FEED(s, EVENT(COUNTING, 0), JMP);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_DETACHED), HP_OK);
    expect(s, "counting(1000) end(3)");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(blocks_that_follow),
        CASE(nothing_at_all_ends),
        CASE(one_block_is_a_tail),
        CASE(killed_leaves_an_uncertain_tail),
        CASE(killed_in_a_system_call_is_certain),
        CASE(a_program_that_became_another_ended_by_that),
        CASE(a_failed_exec_is_no_end),
        CASE(only_the_first_end_counts),
        CASE(what_does_not_follow_is_no_branch),
        CASE(jump_to_the_next_instruction_is_taken),
        CASE(trap_may_only_be_passed),
        cmocka_unit_test(batch_boundaries),
        CASE(one_word_at_a_time),
        CASE(events_between_blocks),
        CASE(an_event_does_not_end_a_partial_block),
        CASE(a_loss_ends_everything_pending),
        CASE(unknown_code_is_a_loss),
        CASE(unknown_events_are_losses),
        CASE(pieces_are_joined),
        CASE(pieces_of_any_cut_give_the_same_block),
        CASE(a_piece_left_open_is_a_block_that_falls_through),
        CASE(an_open_piece_at_the_end),
        CASE(a_truncated_instruction_belongs_to_the_next_piece),
        CASE(an_instruction_nobody_knows_is_one),
        CASE(rep_iterations_are_one_instruction),
        CASE(rep_is_folded_across_a_signal),
        CASE(a_handler_that_starts_with_rep),
        CASE(long_code_is_split),
        CASE(a_block_goes_on_in_its_middle),
        CASE(a_block_starts_again_from_its_start),
        CASE(a_piece_goes_on_in_its_middle),
        CASE(a_restarted_system_call_is_one),
        CASE(a_fault_in_the_middle_of_a_block),
        CASE(the_middle_of_an_instruction_is_no_cut),
        CASE(cut_words),
        CASE(cut_words_before_anything),
        CASE(cutting_again_and_again_takes_no_memory),
        CASE(a_signal_that_is_announced),
        CASE(a_signal_by_arrival_at_a_handler),
        CASE(handlers_are_found_whenever_they_are_announced),
        CASE(a_handler_that_the_program_calls),
        CASE(a_handler_called_through_a_stub_word_by_word),
        CASE(a_signal_in_a_partial_block),
        CASE(signals_nest),
        CASE(a_signal_straight_after_a_signal_return),
        CASE(a_signal_straight_after_a_signal_return_by_arrival),
        CASE(a_handler_left_by_longjmp),
        CASE(a_signal_return_without_a_signal),
        CASE(the_end_straight_after_a_signal_return),
        CASE(more_signals_than_are_remembered),
        CASE(returning_from_100_signals),
        CASE(counting_takes_over_from_words_and_gives_back),
        CASE(a_counted_block_is_cut_by_a_signal),
        CASE(counting_that_was_not_announced_is_a_loss),
        CASE(what_cannot_be_counted_is_a_loss),
        CASE(words_while_counting_are_a_loss),
        CASE(the_end_while_counting_is_a_loss),
        CASE(unless_it_goes_on_unobserved),
        cmocka_unit_test(other_architectures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
