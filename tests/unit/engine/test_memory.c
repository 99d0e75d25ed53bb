// SPDX-License-Identifier: MIT
/*
 * The cursor with addresses: what it delivers against a naive walk over the words. Every address is
 * the number of its operand in the order in which they were run, so each can be told from all
 * others.
 */
#include "program_fixture.h"

/* --- The naive walk --------------------------------------------------------------------------- */

#define FIRST_ADDRESS 0x7000000000u

struct operand {
    uint64_t insn;
    uint32_t nth; /* operand of it */
};

struct walk {
    const struct hp_code *code;
    struct hp_decoder *decoder;
    struct operand *operands;
    uint64_t *addresses;
    size_t n, cap, cap_addresses;
};

static void walk_init(struct walk *w, const struct hp_code *code)
{
    *w = (struct walk){.code = code};
    assert_int_equal(hp_decoder_new(HP_ARCH_X86_64, &w->decoder), HP_OK);
    assert_int_equal(hp_grow(&w->addresses, &w->cap_addresses, 1, sizeof *w->addresses), HP_OK);
}

static void walk_fini(struct walk *w)
{
    hp_decoder_free(w->decoder);
    free(w->operands);
    free(w->addresses);
}

/* A parent's code first; of its own only `insns` instructions. */
static void walk_segment(struct walk *w, uint32_t id, uint32_t insns)
{
    struct hp_segment segment;
    struct hp_insn insn;
    assert_int_equal(hp_code_segment(w->code, id, &segment), HP_OK);
    if (segment.parent)
        walk_segment(w, segment.parent, UINT32_MAX);
    for (uint32_t at = 0; at < segment.size && insns; at += insn.length, insns--) {
        if (hp_decode(w->decoder, HP_MODE_DEFAULT, segment.start + at, segment.bytes + at,
                      segment.size - at, false, &insn) != HP_OK)
            break; /* the beginning of what comes next */
        for (uint32_t i = 0; i < insn.n_mems; i++) {
            assert_int_equal(hp_grow(&w->operands, &w->cap, w->n + 1, sizeof *w->operands), HP_OK);
            assert_int_equal(
                hp_grow(&w->addresses, &w->cap_addresses, w->n + 1, sizeof *w->addresses), HP_OK);
            w->addresses[w->n] = FIRST_ADDRESS + w->n;
            w->operands[w->n++] = (struct operand){insn.address, i};
        }
    }
}

static void walk_words(struct walk *w, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (words[i] & HP_WORD_EVENT) {
            i += (size_t)hp_word_payload(words[i]);
            continue;
        }
        size_t next = i + 1;
        while (next < n && words[next] == EVENT(PAD, 0))
            next++;
        bool is_cut = next < n && words[next] >> 24 == EVENT(CUT, 0) >> 24;
        walk_segment(w, words[i], is_cut ? hp_word_arg(words[next]) : UINT32_MAX);
    }
}

/* --- What was delivered ----------------------------------------------------------------------- */

#define MAX_DEPTH 64

/* Every address came once, with the operand it belongs to, and in order but for what signals
 * interrupted. */
static void check_pairs(const struct stream *s, const struct walk *w)
{
    const struct recorder *r = &s->recorder;
    uint64_t latest[MAX_DEPTH] = {0};
    size_t depth = 0, pairs = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct item *item = &r->items[i];
        depth += item->event == HP_EVENT_SIGNAL + 1;
        depth -= item->event == HP_EVENT_SIGRETURN + 1;
        assert_in_range(depth, 0, MAX_DEPTH - 1);
        if (item->event == HP_EVENT_SIGNAL + 1)
            latest[depth] = 0;
        if (item->event && item->event != HP_EVENT_TAIL + 1)
            continue;
        const struct hp_insn *insns;
        const uint64_t *address = r->addresses + item->addresses;
        assert_true(item->n_addresses >= 0);
        assert_int_equal(hp_code_insns(s->code, item->block, &insns), HP_OK);
        for (uint32_t k = 0; k < item->insns; k++)
            for (uint32_t j = 0; j < insns[k].n_mems; j++, address++, pairs++) {
                assert_in_range(*address, FIRST_ADDRESS, FIRST_ADDRESS + w->n - 1);
                const struct operand *operand = &w->operands[*address - FIRST_ADDRESS];
                assert_int_equal(operand->insn, insns[k].address);
                assert_int_equal(operand->nth, j);
                assert_true(*address > latest[depth]);
                latest[depth] = *address;
            }
    }
    assert_int_equal(pairs, w->n);
}

static void stream_init_memory(struct stream *s)
{
    stream_init(s);
    assert_int_equal(hp_cursor_expect_addresses(s->cursor), HP_OK);
}

static void feed_addresses(struct stream *s, const uint64_t *addresses, size_t n)
{
    assert_int_equal(hp_cursor_feed_addresses(s->cursor, addresses, n), HP_OK);
}

/* --- One example, in every order -------------------------------------------------------------- */

/*
 *   1  1000  mov rax, [rbx]; push rax; nop; call 1030
 *   2  1030  pop rcx; ret                 3  100a  mov [rbx], rax; jmp 1000
 *   4  3, then 1                          5  1003: from the push on
 *   6  2000  push rax; ret     (handler)  7  2100  nop; syscall      (signal return)
 *   8  3000  mov rax, [rbx]; push rax     9  3004  pop rcx; ret
 *  10  1000  mov rax, [rbx]; push rax
 */
enum { MOVE = 1, CALLED, STORE, LOOP, REST, HANDLE, RESTORE, PIECE, PIECE_END, BEGIN };

static void add_example(struct stream *s)
{
    add_segment(s, MOVE, 0x1000, "48 8b 03 50 90 e8 26 00 00 00");
    add_segment(s, CALLED, 0x1030, "59 c3");
    add_segment(s, STORE, 0x100a, "48 89 03 eb f1");
    struct hp_segment loop = {.start = 0x1000,
                              .module = s->module,
                              .parent = STORE,
                              .size = 10,
                              .bytes = (const uint8_t *)"\x48\x8b\x03\x50\x90\xe8\x26\0\0\0"};
    assert_int_equal(hp_code_add_segment(s->code, LOOP, &loop), HP_OK);
    add_segment(s, REST, 0x1003, "50 90 e8 26 00 00 00");
    add_segment(s, HANDLE, 0x2000, "50 c3");
    add_segment(s, RESTORE, 0x2100, "90 0f 05");
    add_segment(s, PIECE, 0x3000, "48 8b 03 50");
    add_segment(s, PIECE_END, 0x3004, "59 c3");
    add_segment(s, BEGIN, 0x1000, "48 8b 03 50");
}

struct example {
    const uint32_t *words;
    size_t n_words;
    const char *expected;
};

/* A new cursor on the same code; without the checker, which takes longer than everything else. */
static void start_again(struct stream *s)
{
    hp_cursor_free(s->cursor);
    recorder_fini(&s->recorder);
    recorder_init(&s->recorder, s->code);
    assert_int_equal(hp_cursor_new(s->code, NULL, &s->recorder.sink, &s->cursor), HP_OK);
    assert_int_equal(hp_cursor_expect_addresses(s->cursor), HP_OK);
}

/* Feeds one at a time, addresses where `order` has a bit. */
static void run_order(struct stream *s, const struct example *e, const struct walk *truth,
                      uint32_t order)
{
    size_t word = 0, address = 0;
    start_again(s);
    for (size_t i = 0; i < e->n_words + truth->n; i++)
        if (order >> i & 1)
            feed_addresses(s, &truth->addresses[address++], 1);
        else
            feed(s, &e->words[word++], 1);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    check_pairs(s, truth);
    expect(s, e->expected);
}

static unsigned run_every_order(const struct example *e)
{
    struct stream s;
    struct walk truth;
    unsigned orders = 0;
    stream_init(&s);
    add_example(&s);
    walk_init(&truth, s.code);
    walk_words(&truth, e->words, e->n_words);
    size_t n = e->n_words + truth.n;
    assert_in_range(n, 1, 20);
    for (uint32_t order = 0; order < 1u << n; order++)
        if ((size_t)__builtin_popcount(order) == truth.n) {
            run_order(&s, e, &truth, order);
            orders++;
        }
    walk_fini(&truth);
    stream_fini(&s);
    return orders;
}

#define EXAMPLE(text, ...)                                                                         \
    &(struct example)                                                                              \
    {                                                                                              \
        (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4, text               \
    }

static void any_order_of_whole_blocks(void **state)
{
    (void)state;
    unsigned orders =
        run_every_order(EXAMPLE("1000/4+ 1030/2+ 100a/2+ 1000/4+ 1030/2. end(0)", MOVE, CALLED,
                                EVENT(PAD, 0), LOOP, CALLED, EVENT(END, HP_END_EXIT)));
    assert_int_equal(orders, 12376); /* 17 over 6 */
}

static void any_order_with_a_signal_inside_a_block(void **state)
{
    (void)state;
    run_every_order(EXAMPLE("signal(10) 2000/2+ 2100/2. sigreturn 1000/4+ 1030/2. end(0)", MOVE,
                            EVENT(CUT, 1), EVENT(SIGNAL, 10), HANDLE, RESTORE, EVENT(SIGRETURN, 0),
                            REST, CALLED));
}

static void any_order_with_a_run_that_is_cut(void **state)
{
    (void)state;
    run_every_order(EXAMPLE("100a/2+ signal(11) 2000/2+ 2100/2. sigreturn 1000/4. end(0)", LOOP,
                            EVENT(PAD, 0), EVENT(CUT, 0), EVENT(SIGNAL, 11), HANDLE, RESTORE,
                            EVENT(SIGRETURN, 0), MOVE));
}

static void any_order_with_pieces(void **state)
{
    (void)state;
    run_every_order(EXAMPLE("signal(10) 2000/2+ 2100/2. sigreturn 3000/4+ 3000/4. end(0)", PIECE,
                            PIECE_END, PIECE, EVENT(CUT, 2), EVENT(SIGNAL, 10), HANDLE, RESTORE,
                            EVENT(SIGRETURN, 0), PIECE_END));
}

static void any_order_with_a_loss(void **state)
{
    (void)state;
    run_every_order(EXAMPLE("1000/4? lost(1) 3000/4+ 3000/2. end(0)", MOVE,
                            EVENT(LOST, HP_LOST_CODE_FULL), 0, 0, PIECE, PIECE_END, PIECE));
}

/* --- Cases ------------------------------------------------------------------------------------ */

static int setup(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    stream_init_memory(s);
    add_example(s);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct stream *s = *state;
    stream_verify(s);
    stream_fini(s);
    free(s);
    return 0;
}

static const uint64_t some[] = {0x100, 0x101, 0x102, 0x103, 0x104,
                                0x105, 0x106, 0x107, 0x108, 0x109};

/* Compares the addresses of the n-th item. */
static void expect_addresses(const struct stream *s, size_t n, const uint64_t *expected,
                             int32_t count)
{
    const struct item *item = &s->recorder.items[n];
    assert_true(n < s->recorder.n);
    assert_int_equal(item->n_addresses, count);
    for (int32_t i = 0; i < count; i++)
        assert_int_equal(s->recorder.addresses[item->addresses + (size_t)i], expected[i]);
}

static void nothing_is_delivered_before_its_addresses(void **state)
{
    struct stream *s = *state;
    FEED(s, MOVE, CALLED, STORE, MOVE);
    expect(s, "");
    feed_addresses(s, some, 2);
    expect(s, "");
    feed_addresses(s, some + 2, 3); /* those of the second block: now the first has a successor */
    expect_addresses(s, 0, some, 3);
    expect(s, "1000/4+");
    feed_addresses(s, some + 5, 1);
    expect_addresses(s, 0, some + 3, 2);
    expect(s, "1030/2+");
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
}

static void surplus_addresses_are_ignored(void **state)
{
    struct stream *s = *state;
    feed_addresses(s, some, 10);
    FEED(s, MOVE, CALLED);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_KILLED), HP_OK);
    feed_addresses(s, some, 10);
    expect_addresses(s, 0, some, 3);
    expect_addresses(s, 1, some + 3, 2);
    expect(s, "1000/4+ 1030/2? end(1)");
}

static void missing_addresses_are_a_loss(void **state)
{
    struct stream *s = *state;
    feed_addresses(s, some, 4);
    FEED(s, MOVE, CALLED, STORE, MOVE);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect_addresses(s, 0, some, 3);
    assert_int_equal(s->recorder.items[2].n_addresses, -1); /* and none from there on */
    expect(s, "1000/4? lost(5) 1030/2+ 100a/2+ 1000/4. end(0)");
}

/* A trace says so, where it cannot give them. */
static void an_engine_may_say_that_there_are_no_more(void **state)
{
    struct stream *s = *state;
    feed_addresses(s, some, 5);
    FEED(s, MOVE, CALLED, EVENT(LOST, HP_LOST_ADDRESSES), 0, 0, STORE, MOVE);
    expect_addresses(s, 0, some, 3);
    expect_addresses(s, 1, some + 3, 2);
    assert_int_equal(s->recorder.items[3].n_addresses, -1);
    expect(s, "1000/4+ 1030/2? lost(5) 100a/2+");
    feed_addresses(s, some, 5);
    FEED(s, EVENT(LOST, HP_LOST_ADDRESSES), 0, 0, CALLED); /* it is known */
    expect(s, "1000/4+");
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect(s, "1030/2. end(0)");
}

static void words_that_wait_for_ever_are_a_loss(void **state)
{
    struct stream *s = *state;
    static uint32_t words[3 << 18];
    for (size_t i = 0; i < 3 << 18; i += 3) {
        words[i] = EVENT(HANDLER, 10);
        words[i + 1] = 0x2000;
    }
    FEED(s, MOVE);
    for (int i = 0; i < 21; i++) /* not quite 16 Mi */
        feed(s, words, 3 << 18);
    expect(s, "");
    feed(s, words, 3 << 18);
    expect(s, "lost(5)");
    FEED(s, CALLED);
    expect(s, "1000/4+");
}

static void an_unknown_segment_loses_its_place(void **state)
{
    struct stream *s = *state;
    feed_addresses(s, some, 10);
    FEED(s, MOVE, CALLED, 1000, STORE, MOVE, CALLED);
    expect_addresses(s, 1, some + 3, 2);
    expect(s, "1000/4+ 1030/2? lost(2) lost(5) 100a/2+ 1000/4+");
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect(s, "1030/2. end(0)");
}

static void a_handler_that_never_returns_gives_up_what_it_interrupted(void **state)
{
    struct stream *s = *state;
    feed_addresses(s, some, 10);
    FEED(s, STORE, BEGIN, EVENT(SIGNAL, 10), HANDLE);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect_addresses(s, 1, some + 3, 2); /* the handler's */
    expect_addresses(s, 2, some, 1);
    expect_addresses(s, 3, some + 1, 2);
    expect(s, "signal(10) 2000/2. 100a/2. 1000/2. end(0)");
}

static void what_too_many_signals_interrupted_is_given_up_in_order(void **state)
{
    struct stream *s = *state;
    uint64_t numbers[300];
    for (size_t i = 0; i < 300; i++)
        numbers[i] = i;
    feed_addresses(s, numbers, 300);
    for (int i = 0; i < 70; i++)
        FEED(s, STORE, BEGIN, EVENT(SIGNAL, 10));
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    bool seen[210] = {false};
    for (size_t i = 0; i < s->recorder.n; i++) {
        const struct item *item = &s->recorder.items[i];
        if (item->event != HP_EVENT_TAIL + 1)
            continue;
        uint64_t first = s->recorder.addresses[item->addresses];
        assert_int_equal(first % 3, item->insns == 2 && item->value == 0x1000);
        for (int32_t k = 0; k < item->n_addresses; k++) {
            assert_int_equal(s->recorder.addresses[item->addresses + (size_t)k],
                             first + (unsigned)k);
            assert_false(seen[first + (unsigned)k]);
            seen[first + (unsigned)k] = true;
        }
    }
    for (size_t i = 0; i < 210; i++)
        assert_true(seen[i]);
}

static void iterations_have_the_addresses_of_the_first(void **state)
{
    struct stream *s = *state;
    add_segment(s, 20, 0x4000, "90 f3 a4");
    add_segment(s, 21, 0x4001, "f3 a4");
    add_segment(s, 22, 0x4003, "59 c3");
    feed_addresses(s, some, 10);
    FEED(s, 20, 21, 21, 22);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    const uint64_t expected[] = {0x100, 0x101, 0x106, 0x107};
    expect_addresses(s, 0, expected, 4);
    expect(s, "4000/4. end(0)");
}

static void a_restarted_system_call_counts_once(void **state)
{
    struct stream *s = *state;
    add_segment(s, 20, 0x4000, "50 0f 05");
    add_segment(s, 21, 0x4001, "0f 05");
    feed_addresses(s, some, 10);
    FEED(s, 20, EVENT(SIGNAL, 10), HANDLE, RESTORE, EVENT(SIGRETURN, 0), 21);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect_addresses(s, 1, some + 1, 2);
    expect_addresses(s, 4, some, 1);
    expect(s, "signal(10) 2000/2+ 2100/2. sigreturn 4000/2. end(0)");
}

static void long_code_is_split_with_its_addresses(void **state)
{
    struct stream *s = *state;
    static uint64_t numbers[6001];
    uint8_t bytes[3000];
    memset(bytes, 0x50, sizeof bytes); /* push rax */
    struct hp_segment segment = {
        .start = 0x10000, .module = s->module, .size = 3000, .bytes = bytes};
    assert_int_equal(hp_code_add_segment(s->code, 30, &segment), HP_OK);
    bytes[2999] = 0xc3;
    segment.start += 3000;
    assert_int_equal(hp_code_add_segment(s->code, 31, &segment), HP_OK);
    for (size_t i = 0; i < 6001; i++)
        numbers[i] = i;
    FEED(s, 30, 31, EVENT(CUT, 2000));
    feed_addresses(s, numbers, 6001);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    expect_addresses(s, 0, numbers, 4096);
    expect_addresses(s, 1, numbers + 4096, 904);
    expect(s, "10000/4096- 11000/904. end(0)");
}

/* A batch may end inside a run. */
static void full_batches_have_their_part(void **state)
{
    struct stream *s = *state;
    struct walk w;
    static uint32_t words[20001];
    for (size_t i = 0; i < 20001; i++)
        words[i] = i % 2 ? CALLED : i ? LOOP : MOVE;
    walk_init(&w, s->code);
    walk_words(&w, words, 20001);
    feed_addresses(s, w.addresses, w.n);
    feed(s, words, 20001);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    check_pairs(s, &w);
    assert_int_equal(s->recorder.blocks, 30001);
    assert_int_equal(s->recorder.batches, 9); /* the last word waits for the end */
    walk_fini(&w);
}

static void steps_are_never_used(void **state)
{
    (void)state;
    struct stream s;
    struct hp_cursor *cursor;
    stream_init(&s);
    add_example(&s);
    s.recorder.sink.steps = (void (*)(struct hp_sink *, const struct hp_steps *))(uintptr_t)1;
    assert_int_equal(hp_cursor_new(s.code, NULL, &s.recorder.sink, &cursor), HP_OK);
    assert_int_equal(hp_cursor_expect_addresses(cursor), HP_OK);
    hp_cursor_free(s.cursor);
    s.cursor = cursor;
    feed_addresses(&s, some, 5);
    FEED(&s, MOVE, CALLED);
    assert_int_equal(hp_cursor_end(s.cursor, HP_END_EXIT), HP_OK);
    expect(&s, "1000/4+ 1030/2. end(0)");
    stream_fini(&s);
}

/* --- Random programs -------------------------------------------------------------------------- */

/* Words and addresses in random parts, one of them ahead by as much as it happens. */
static void feed_both(struct stream *s, struct program *p, const uint64_t *addresses, size_t n)
{
    uint32_t most = 1u << random_below(&p->seed, 12), more = 1u << random_below(&p->seed, 12);
    for (size_t i = 0, k = 0; i < p->n_words || k < n;) {
        size_t words = random_below(&p->seed, most) + 1, others = random_below(&p->seed, more) + 1;
        words = words < p->n_words - i ? words : p->n_words - i;
        others = others < n - k ? others : n - k;
        if (chance(p, 50)) {
            feed(s, p->words + i, words);
            i += words;
        } else {
            feed_addresses(s, addresses + k, others);
            k += others;
        }
    }
}

struct sum {
    uint64_t pairs, signals, cuts;
};

static void run_seed(uint64_t seed, struct sum *sum)
{
    struct program p;
    struct stream s;
    struct walk w;
    program_init(&p, seed);
    program_make_native(&p);
    stream_init_memory(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 300));
    walk_init(&w, s.code);
    walk_words(&w, p.words, p.n_words);
    feed_both(&s, &p, w.addresses, w.n);
    check_pairs(&s, &w);
    stream_verify(&s);
    assert_true(s.recorder.ended);
    assert_int_equal(s.recorder.n, p.n_truth);
    for (size_t i = 0; i < p.n_truth; i++) {
        assert_int_equal(s.recorder.items[i].value, p.truth[i].value);
        assert_int_equal(s.recorder.items[i].insns, p.truth[i].insns);
        assert_int_equal(s.recorder.items[i].event, p.truth[i].event);
    }
    sum->pairs += w.n;
    sum->signals += hp_cursor_stats(s.cursor)->signals;
    for (size_t i = 0; i < p.n_words; i++)
        sum->cuts += p.words[i] >> 24 == EVENT(CUT, 0) >> 24;
    walk_fini(&w);
    stream_fini(&s);
    program_fini(&p);
}

static void random_programs_keep_their_addresses(void **state)
{
    (void)state;
    struct sum sum = {0};
    for (uint64_t seed = 1; seed <= 400; seed++)
        run_seed(seed, &sum);
    assert_true(sum.pairs > 200000);
    assert_true(sum.signals > 2000);
    assert_true(sum.cuts > 1000);
}

static void nonsense_is_delivered_consistently(void **state)
{
    (void)state;
    static const uint32_t percents[] = {0, 1, 10, 50, 100};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct program p;
        struct stream s;
        program_init(&p, seed);
        if (seed % 2)
            program_make_native(&p);
        stream_init_memory(&s);
        program_run(&p, &s, 200);
        spoil(&p, percents[seed % 5]);
        size_t n = random_below(&p.seed, 5000);
        uint64_t *addresses = calloc(n + 1, sizeof *addresses);
        feed_both(&s, &p, addresses, n);
        assert_int_equal(hp_cursor_end(s.cursor, HP_END_KILLED), HP_OK);
        assert_true(s.recorder.ended);
        stream_verify(&s);
        free(addresses);
        stream_fini(&s);
        program_fini(&p);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_whole_blocks),
        cmocka_unit_test(any_order_with_a_signal_inside_a_block),
        cmocka_unit_test(any_order_with_a_run_that_is_cut),
        cmocka_unit_test(any_order_with_pieces),
        cmocka_unit_test(any_order_with_a_loss),
        CASE(nothing_is_delivered_before_its_addresses),
        CASE(surplus_addresses_are_ignored),
        CASE(missing_addresses_are_a_loss),
        CASE(an_engine_may_say_that_there_are_no_more),
        CASE(words_that_wait_for_ever_are_a_loss),
        CASE(an_unknown_segment_loses_its_place),
        CASE(a_handler_that_never_returns_gives_up_what_it_interrupted),
        CASE(what_too_many_signals_interrupted_is_given_up_in_order),
        CASE(iterations_have_the_addresses_of_the_first),
        CASE(a_restarted_system_call_counts_once),
        CASE(long_code_is_split_with_its_addresses),
        CASE(full_batches_have_their_part),
        cmocka_unit_test(steps_are_never_used),
        cmocka_unit_test(random_programs_keep_their_addresses),
        cmocka_unit_test(nonsense_is_delivered_consistently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
