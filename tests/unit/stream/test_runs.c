// SPDX-License-Identifier: MIT
/* Segments of several blocks: in the code map, through the cursor, from the arena, in a trace. */
#include "stream_fixture.h"

#include "engine/arena.h"
#include "engine/live.h"
#include "hotpath/trace.h"
#include "stream/tally.h"
#include "stream/trace_code.h"

#include <unistd.h>

/*
 * A small program, laid out as runs.
 *   1000  nop; jz 1010          1020  nop; ret
 *   1003  nop; jmp 1020         1030  nop; syscall
 *   1010  nop; call 1020        1033  nop; jmp 1000
 */
struct code {
    uint32_t id, parent;
    uint64_t start;
    const char *hex;
};

enum { A = 1, AB, ABE, B, C, CE, E, S, SX, SXA, NEXT };

static const struct code program[] = {
    {A, 0, 0x1000, "90 74 0d"},    {AB, A, 0x1003, "90 eb 1a"},         {ABE, AB, 0x1020, "90 c3"},
    {B, 0, 0x1003, "90 eb 1a"},    {C, 0, 0x1010, "90 e8 0a 00 00 00"}, {CE, C, 0x1020, "90 c3"},
    {E, 0, 0x1020, "90 c3"},       {S, 0, 0x1030, "90 0f 05"},          {SX, S, 0x1033, "90 eb ca"},
    {SXA, SX, 0x1000, "90 74 0d"},
};

static enum hp_err add_traced(struct stream *s, uint32_t id, uint32_t parent, uint64_t start,
                              const char *hex, enum hp_in_trace trace)
{
    uint8_t bytes[256];
    struct hp_segment segment = {.start = start,
                                 .module = s->module,
                                 .parent = parent,
                                 .trace = (uint8_t)trace,
                                 .bytes = bytes};
    int used;
    unsigned byte;
    for (; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
        bytes[segment.size++] = (uint8_t)byte;
    return hp_code_add_segment(s->code, id, &segment);
}

static enum hp_err add_child(struct stream *s, uint32_t id, uint32_t parent, uint64_t start,
                             const char *hex)
{
    return add_traced(s, id, parent, start, hex, HP_TRACE_NOT);
}

static int setup(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    stream_init(s);
    for (size_t i = 0; i < sizeof program / sizeof *program; i++)
        assert_int_equal(
            add_child(s, program[i].id, program[i].parent, program[i].start, program[i].hex),
            HP_OK);
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

/* --- The code map ----------------------------------------------------------------------------- */

static void a_run_is_made_of_the_same_blocks(void **state)
{
    struct stream *s = *state;
    struct hp_segment segment;
    assert_int_equal(hp_code_n_blocks(s->code), 6); /* A B E C S X */
    assert_int_equal(hp_code_segment(s->code, ABE, &segment), HP_OK);
    assert_int_equal(segment.parent, AB);
    assert_int_equal(segment.start, 0x1020);
    assert_int_equal(segment.size, 2);
    assert_int_equal(hp_code_segment(s->code, A, &segment), HP_OK);
    assert_int_equal(segment.parent, 0);
}

static void wrong_parents_are_refused(void **state)
{
    struct stream *s = *state;
    uint32_t blocks = hp_code_n_blocks(s->code), limit = hp_code_segment_limit(s->code);
    static const struct code wrong[] = {
        {NEXT, NEXT, 0x1003, "90 c3"},                                   /* itself */
        {NEXT, NEXT + 1, 0x1003, "90 c3"},                               /* nobody */
        {NEXT, UINT32_MAX, 0x1003, "90 c3"}, {NEXT, A, 0x1004, "90 c3"}, /* not where A goes */
        {NEXT, AB, 0x1006, "90 c3"},                                     /* behind a jump */
        {NEXT, C, 0x1016, "90 c3"},                                      /* behind a call */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(add_child(s, wrong[i].id, wrong[i].parent, wrong[i].start, wrong[i].hex),
                         HP_ERR_FORMAT);
    assert_int_equal(hp_code_n_blocks(s->code), blocks);
    assert_int_equal(hp_code_segment_limit(s->code), limit);
    assert_int_equal(add_child(s, NEXT, A, 0x1003, "90 90"), HP_OK); /* open: nothing follows it */
    assert_int_equal(add_child(s, NEXT + 1, NEXT, 0x1005, "c3"), HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), "segment 12 continues segment 11, which is unfinished");
    assert_int_equal(add_child(s, NEXT + 1, ABE, 0x5000, "90 c3"),
                     HP_OK); /* a return goes anywhere */
}

/* Blocks that jump to themselves, as many as a run may have. */
static void add_long_run(struct stream *s, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(add_child(s, first + i, i ? first + i - 1 : 0, 0x3000, "90 74 fd"), HP_OK);
}

static void the_longest_run(void **state)
{
    struct stream *s = *state;
    add_long_run(s, 100, HP_RUN_MAX);
    assert_int_equal(add_child(s, 99, 99 + HP_RUN_MAX, 0x3000, "90 74 fd"), HP_ERR_FORMAT);
    uint32_t total = 0;
    for (uint32_t i = 1; i <= HP_RUN_MAX; i++) {
        total += i;
        FEED(s, 99 + i);
    }
    FEED(s, EVENT(END, HP_END_SIGNAL));
    assert_int_equal(s->recorder.blocks, total);
    for (uint32_t i = 0; i + 1 < total; i++)
        assert_int_equal(s->recorder.items[i].taken, 1);
    assert_int_equal(hp_cursor_stats(s->cursor)->instructions, 2 * total);
}

/* Runs that begin alike and go on in different ways. */
static void runs_that_fork(void **state)
{
    struct stream *s = *state;
    const uint32_t other = 20, deep = 21;
    assert_int_equal(add_child(s, other, A, 0x1010, "90 e8 0a 00 00 00"), HP_OK);
    assert_int_equal(add_child(s, deep, other, 0x1020, "90 c3"), HP_OK);
    FEED(s, ABE, deep, AB, E, other, E, ABE);
    expect(s, "1000/2- 1003/2+ 1020/2+ 1000/2+ 1010/2+ 1020/2+ 1000/2- 1003/2+ 1020/2+ 1000/2+ "
              "1010/2+ 1020/2+ 1000/2- 1003/2+");
}

/* --- The cursor ------------------------------------------------------------------------------- */

static void runs_are_blocks_in_order(void **state)
{
    struct stream *s = *state;
    FEED(s, ABE, A, CE, SXA, B, E, SX);
    expect(s, "1000/2- 1003/2+ 1020/2+ 1000/2+ 1010/2+ 1020/2+ 1030/2- 1033/2+ 1000/2- "
              "1003/2+ 1020/2+ 1030/2-");
    FEED(s, EVENT(END, HP_END_EXIT));
    expect(s, "1033/2. end(0)");
}

static void a_run_that_does_not_follow(void **state)
{
    struct stream *s = *state;
    FEED(s, A, SXA, B);
    expect(s, "1000/2? break 1030/2- 1033/2+ 1000/2-");
}

/* Wherever a batch is full, nothing is lost and nothing comes twice. */
static void runs_across_batches(void **state)
{
    struct stream *s = *state;
    add_long_run(s, 100, HP_RUN_MAX);
    uint64_t expected = 0, seed = 1;
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t n = 1 + random_below(&seed, HP_RUN_MAX);
        uint32_t words[3] = {99 + n, 99 + HP_RUN_MAX, 100};
        feed(s, words, 3);
        expected += n + HP_RUN_MAX + 1;
    }
    assert_int_equal(s->recorder.blocks, expected - 1);
}

static void a_run_cut_short_in_its_last_block(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x1021, "c3");
    FEED(s, ABE, EVENT(CUT, 1), NEXT, ABE, EVENT(CUT, 0), E, A);
    expect(s, "1000/2- 1003/2+ 1020/2+ 1000/2- 1003/2+ 1020/2+");
    /* a piece of a piece: what is cut is counted from where the segment starts */
    add_segment(s, NEXT + 1, 0x4000, "90 90 90 90 eb fa");
    add_segment(s, NEXT + 2, 0x4001, "90 90 90 eb fa");
    add_segment(s, NEXT + 3, 0x4003, "90 eb fa");
    FEED(s, EVENT(LOST, 0), 0, 0, NEXT + 1, EVENT(CUT, 1), NEXT + 2, EVENT(CUT, 2), NEXT + 3,
         NEXT + 1, EVENT(CUT, 3), EVENT(END, HP_END_SIGNAL));
    expect(s, "1000/2? lost(0) 4000/5+ 4000/3. end(4)");
}

static void a_run_may_end_open_and_be_cut(void **state)
{
    struct stream *s = *state;
    assert_int_equal(add_child(s, NEXT, A, 0x1003, "90 90 90"), HP_OK);
    assert_int_equal(add_child(s, NEXT + 1, 0, 0x1005, "90 c3"), HP_OK);
    assert_int_equal(add_child(s, NEXT + 2, 0, 0x1006, "c3"), HP_OK);
    FEED(s, NEXT, NEXT + 2, NEXT, EVENT(CUT, 2), NEXT + 1, A);
    expect(s, "1000/2- 1003/4+ 1000/2- 1003/4+");
}

static void a_signal_in_a_run(void **state)
{
    struct stream *s = *state;
    add_segment(s, NEXT, 0x1021, "c3");
    FEED(s, ABE, EVENT(CUT, 1), EVENT(SIGNAL, 11), S, EVENT(SIGRETURN, 0), NEXT, A);
    expect(s, "1000/2- 1003/2+ signal(11) 1030/2. sigreturn 1020/2+");
    /* at the end of a block nothing is cut, though the block leads to itself */
    add_long_run(s, 100, 2);
    FEED(s, EVENT(LOST, 0), 0, 0, 100, EVENT(SIGNAL, 11), S, EVENT(SIGRETURN, 0), 101,
         EVENT(END, HP_END_EXIT));
    expect(s, "1000/2? lost(0) signal(11) 1030/2. sigreturn 3000/2+ 3000/2+ 3000/2. end(0)");
}

static void a_restarted_system_call_in_a_run(void **state)
{
    struct stream *s = *state;
    assert_int_equal(add_child(s, NEXT, 0, 0x1031, "0f 05"), HP_OK);
    assert_int_equal(add_child(s, NEXT + 1, NEXT, 0x1033, "90 eb ca"), HP_OK);
    FEED(s, S, EVENT(SIGNAL, 2), E, EVENT(SIGRETURN, 0), NEXT + 1, A);
    expect(s, "signal(2) 1020/2. sigreturn 1030/2- 1033/2+");
}

static void a_run_that_starts_at_a_handler(void **state)
{
    struct stream *s = *state;
    FEED(s, B, EVENT(HANDLER, 10), 0x1000, 0, ABE, EVENT(SIGRETURN, 0), E);
    expect(s, "signal(0) 1000/2- 1003/2+ 1020/2. sigreturn 1003/2+");
}

static void a_thread_ended_by_a_signal_ends_exactly(void **state)
{
    struct stream *s = *state;
    FEED(s, ABE, EVENT(CUT, 1), EVENT(END, HP_END_SIGNAL));
    expect(s, "1000/2- 1003/2+ 1020/1. end(4)");
}

/* --- From the arena --------------------------------------------------------------------------- */

struct arena_test {
    struct hp_live *live;
    struct hp_arena *arena;
    struct hp_code *code;
    struct hp_segment_source *source;
    uint32_t module;
};

static void arena_init_mode(struct arena_test *t, enum hp_record_mode mode)
{
    const struct hp_live_options options = {.follow = true, .mode = mode};
    assert_int_equal(hp_live_new(&options, &t->live), HP_OK);
    t->arena = hp_arena_map(hp_live_fd(t->live));
    assert_non_null(t->arena);
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &t->code), HP_OK);
    t->source = hp_live_source(t->live, t->code);
    struct hp_arena_record record = {.is_module = 1, .high = UINT64_MAX};
    t->module = hp_arena_add_record(t->arena, &record, "[anon]");
}

static void arena_init(struct arena_test *t)
{
    arena_init_mode(t, HP_RECORD_STREAM);
}

static void arena_fini(struct arena_test *t)
{
    hp_code_free(t->code);
    hp_live_free(t->live);
}

static uint32_t arena_add(struct arena_test *t, uint32_t parent)
{
    const struct hp_arena_segment segment = {
        .start = 0x3000, .module = t->module, .size = 3, .parent = parent};
    return hp_arena_add_segment(t->arena, &segment, "\x90\x74\xfd");
}

static void parents_are_loaded_first(void **state)
{
    (void)state;
    struct arena_test t;
    struct hp_segment segment;
    arena_init(&t);
    uint32_t first = arena_add(&t, 0), last = first;
    for (int i = 1; i < HP_RUN_MAX; i++)
        last = arena_add(&t, last);
    assert_int_equal(t.source->load(t.source, last), HP_OK);
    for (uint32_t id = first; id <= last; id++) {
        assert_int_equal(hp_code_segment(t.code, id, &segment), HP_OK);
        assert_int_equal(segment.parent, id == first ? 0 : id - 1);
    }
    uint32_t too_long = arena_add(&t, last);
    assert_int_equal(t.source->load(t.source, too_long), HP_ERR_FORMAT);
    too_long = arena_add(&t, too_long);
    assert_int_equal(t.source->load(t.source, too_long), HP_ERR_FORMAT);
    arena_fini(&t);
}

/* The watched process can write anything there. */
static void hostile_parents_are_survived(void **state)
{
    (void)state;
    struct arena_test t;
    arena_init(&t);
    uint32_t self = arena_add(&t, 1);
    assert_int_equal(self, 1);
    assert_int_equal(t.source->load(t.source, self), HP_ERR_FORMAT);
    uint32_t a = arena_add(&t, 3), b = arena_add(&t, a); /* each the other's */
    assert_int_equal(t.source->load(t.source, b), HP_ERR_FORMAT);
    uint32_t nobody = arena_add(&t, 1000), far = arena_add(&t, UINT32_MAX);
    assert_int_equal(t.source->load(t.source, nobody), HP_ERR_NOTFOUND);
    assert_int_equal(t.source->load(t.source, far), HP_ERR_FORMAT);
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 3000; i++)
        arena_add(&t, random_below(&seed, 3000));
    for (uint32_t id = 1; id < 3000; id++)
        (void)t.source->load(t.source, id);
    arena_fini(&t);
}

/* --- Counters --------------------------------------------------------------------------------- */

struct counts_reader {
    struct hp_consumer consumer; /* first */
    struct hp_count seen[64];
    size_t n, threads, ends;
};

static enum hp_err see_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    (void)thread;
    ((struct counts_reader *)consumer)->threads++;
    return HP_OK;
}

static enum hp_err see_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                             size_t n)
{
    (void)consumer, (void)thread, (void)words, (void)n;
    return HP_OK;
}

static enum hp_err see_counts(struct hp_consumer *consumer, uint32_t thread,
                              const struct hp_count *counts, size_t n)
{
    struct counts_reader *r = (struct counts_reader *)consumer;
    (void)thread;
    for (size_t i = 0; i < n && r->n < 64; i++)
        r->seen[r->n++] = counts[i];
    return HP_OK;
}

static enum hp_err see_end(struct hp_consumer *consumer, uint32_t thread, enum hp_end_reason reason)
{
    (void)thread, (void)reason;
    ((struct counts_reader *)consumer)->ends++;
    return HP_OK;
}

/* Two threads, one after the other in the same ring; the second is killed. */
static void count_in_child(struct hp_arena *arena, int fd)
{
    struct hp_writer w = {0};
    for (int i = 0; i < 2; i++) {
        hp_writer_put(arena, &w, 1);
        off_t base = (off_t)(arena->shape.counter_data + w.index * arena->shape.counter_bytes);
        const struct hp_counter all = {{3, UINT64_MAX}}, one = {{0, 7}};
        const off_t last = (off_t)((HP_ARENA_COUNTED - 1) * sizeof one);
        if (i == 0 && (pwrite(fd, &all, sizeof all, base + 16) != 16 ||
                       pwrite(fd, &one, sizeof one, base + last) != 16))
            _exit(1);
        if (i == 1 && pwrite(fd, &one, sizeof one, base + 16 * 100000) != 16)
            _exit(1);
        if (i == 0)
            hp_writer_finish(arena, &w, HP_END_EXIT);
        while (i == 0 && atomic_load(&arena->rings[0].state) != HP_RING_FREE)
            usleep(1000);
    }
    _exit(0);
}

static void counters_are_read_and_cleared(void **state)
{
    (void)state;
    struct arena_test t;
    struct counts_reader r = {
        .consumer = {
            .thread = see_thread, .words = see_words, .counts = see_counts, .end = see_end}};
    struct hp_live_stats stats;
    arena_init_mode(&t, HP_RECORD_COUNT);
    pid_t pid = fork();
    if (pid == 0)
        count_in_child(t.arena, hp_live_fd(t.live));
    assert_int_equal(hp_live_run(t.live, pid, &r.consumer, &stats), HP_OK);
    assert_int_equal(stats.status, 0);
    static const struct hp_count expected[] = {
        {1, 0, 3}, {1, 1, UINT64_MAX}, {HP_ARENA_COUNTED - 1, 1, 7}, {100000, 1, 7}};
    assert_int_equal(r.threads, 2);
    assert_int_equal(r.ends, 2);
    assert_int_equal(r.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r.seen[i].segment, expected[i].segment);
        assert_int_equal(r.seen[i].direction, expected[i].direction);
        assert_int_equal(r.seen[i].count, expected[i].count);
    }
    arena_fini(&t);
}

/* --- The tally -------------------------------------------------------------------------------- */

static void tally_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct recorder *r = (struct recorder *)sink;
    *new_item(r) = (struct item){
        .event = (uint8_t)(event->kind + 1), .taken = event->exact, .value = event->value};
}

struct tally_test {
    struct recorder recorder;
    struct hp_tally *tally;
    const struct hp_edge_count *edges;
    size_t n;
};

static void tally_init(struct tally_test *t, struct stream *s)
{
    recorder_init(&t->recorder, s->code);
    t->recorder.sink.event = tally_event;
    assert_int_equal(hp_tally_new(s->code, NULL, &t->recorder.sink, &t->tally), HP_OK);
}

static void tally_fini(struct tally_test *t)
{
    hp_tally_free(t->tally);
    recorder_fini(&t->recorder);
}

/* How often the block at `to` came after the one of `insns` at `from`; to 0: nothing known did. */
static uint64_t tallied(const struct tally_test *t, uint64_t from, uint32_t insns, uint64_t to)
{
    const struct hp_block *table = hp_code_blocks(t->recorder.code);
    uint64_t count = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct hp_edge_count *e = &t->edges[i];
        uint64_t target = e->to == HP_NO_ID ? 0 : table[e->to].start;
        if (table[e->from].start == from && table[e->from].insns == insns && target == to)
            count += e->count;
    }
    return count;
}

static void counters_and_pairs_are_edges(void **state)
{
    struct stream *s = *state;
    struct tally_test t;
    tally_init(&t, s);
    const uint32_t words[] = {ABE,           A,  E, S, E, A, ABE, A, ABE, EVENT(FORK, 0), 77, CE, S,
                              EVENT(PAD, 0), CE, C, E};
    assert_int_equal(hp_tally_words(t.tally, words, 17), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, AB, 1, 5), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, A, 0, 2), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, S, 0, 1), HP_OK);
    assert_int_equal(hp_tally_edges(t.tally, &t.edges, &t.n), HP_OK);
    assert_int_equal(tallied(&t, 0x1000, 2, 0x1003), 3 + 5 + 2);
    assert_int_equal(tallied(&t, 0x1003, 2, 0x1020), 3 + 5);
    assert_int_equal(tallied(&t, 0x1020, 2, 0x1000), 2 + 1);
    assert_int_equal(tallied(&t, 0x1020, 2, 0x1030), 1 + 1);
    assert_int_equal(tallied(&t, 0x1020, 2, 0x1010), 1);
    assert_int_equal(tallied(&t, 0x1020, 2, 0), 1 + 1); /* halves, before an event and at the end */
    assert_int_equal(tallied(&t, 0x1010, 2, 0x1020), 2);
    assert_int_equal(tallied(&t, 0x1030, 2, 0x1033), 1);
    assert_int_equal(hp_tally_stats(t.tally)->blocks, 10 + 8 + 3 + 2 + 1 + 2 + 2 + 1);
    assert_int_equal(t.recorder.n, 1);
    assert_int_equal(t.recorder.items[0].value, 77);
    tally_fini(&t);
}

/* A block that was interrupted twice counts once; one that never went on is a part. */
static void parts_are_put_together(void **state)
{
    struct stream *s = *state;
    struct tally_test t;
    add_segment(s, NEXT, 0x4000, "90 90 90 90 eb fa");
    add_segment(s, NEXT + 1, 0x4001, "90 90 90 eb fa");
    add_segment(s, NEXT + 2, 0x4003, "90 eb fa");
    tally_init(&t, s);
    const uint32_t words[] = {EVENT(PART, 1), NEXT, EVENT(PART, 2), NEXT + 1, EVENT(PART, 3), NEXT,
                              EVENT(PART, 1), ABE,  EVENT(PART, 0), AB,       EVENT(PART, 9), S};
    assert_int_equal(hp_tally_words(t.tally, words, 12), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, NEXT + 2, 1, 1), HP_OK);
    assert_int_equal(hp_tally_edges(t.tally, &t.edges, &t.n), HP_OK);
    assert_int_equal(tallied(&t, 0x4000, 5, 0x4000), 1);
    assert_int_equal(tallied(&t, 0x4000, 3, 0), 1);
    assert_int_equal(tallied(&t, 0x4001, 4, 0x4000), 0);
    assert_int_equal(tallied(&t, 0x4003, 2, 0x4000), 0);
    assert_int_equal(tallied(&t, 0x1000, 2, 0x1003), 2);
    assert_int_equal(tallied(&t, 0x1020, 1, 0), 1);
    assert_int_equal(tallied(&t, 0x1030, 2, 0), 1);
    tally_fini(&t);
}

/* What is jumped and returned to was only ever run in two pieces: the edges lead to the block that
 * they make. */
static void edges_find_blocks_that_were_put_together(void **state)
{
    struct stream *s = *state;
    struct tally_test t;
    add_segment(s, NEXT, 0x4000, "eb 0e");
    add_segment(s, NEXT + 1, 0x4010, "90"); /* open */
    add_segment(s, NEXT + 2, 0x4011, "90 eb 0c");
    tally_init(&t, s);
    const uint32_t words[] = {EVENT(PART, 1), NEXT + 1, EVENT(PART, 1), NEXT + 1, E, NEXT + 1};
    assert_int_equal(hp_tally_words(t.tally, words, 6), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, NEXT, 1, 1), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, NEXT + 2, 1, 2), HP_OK);
    assert_int_equal(hp_tally_edges(t.tally, &t.edges, &t.n), HP_OK);
    assert_int_equal(tallied(&t, 0x4000, 1, 0x4010), 1);
    assert_int_equal(tallied(&t, 0x1020, 2, 0x4010), 1);
    assert_int_equal(tallied(&t, 0x4010, 3, 0), 2); /* where it goes, nothing was ever run */
    assert_int_equal(t.n, 3);
    tally_fini(&t);
}

static void nonsense_is_tallied(void **state)
{
    struct stream *s = *state;
    struct tally_test t;
    uint64_t seed = 1;
    tally_init(&t, s);
    assert_int_equal(add_child(s, NEXT, A, 0x1003, "90 90 90"), HP_OK); /* open */
    for (int i = 0; i < 20000; i++) {
        uint32_t word = random_below(&seed, NEXT + 2);
        if (random_below(&seed, 4) == 0)
            word =
                hp_word_event((enum hp_word_kind)random_below(&seed, 20), random_below(&seed, 5));
        else if (random_below(&seed, 50) == 0)
            word = random_next(&seed);
        assert_int_equal(hp_tally_words(t.tally, &word, 1), HP_OK);
        if (i % 10 == 0)
            assert_int_equal(hp_tally_count(t.tally, word, random_next(&seed), random_next(&seed)),
                             HP_OK);
    }
    assert_int_equal(hp_tally_edges(t.tally, &t.edges, &t.n), HP_OK);
    assert_true(hp_tally_stats(t.tally)->losses > 100);
    assert_true(t.n > 10);
    for (size_t i = 0; i < t.n; i++) {
        assert_true(t.edges[i].from < hp_code_n_blocks(s->code));
        assert_true(t.edges[i].to == HP_NO_ID || t.edges[i].to < hp_code_n_blocks(s->code));
    }
    tally_fini(&t);
}

/* --- In a trace ------------------------------------------------------------------------------- */

static void runs_come_back_from_a_trace(void **state)
{
    struct stream *s = *state, back;
    char path[] = "/tmp/hotpath-test-XXXXXX", *command[] = {path, NULL};
    close(mkstemp(path));
    struct hp_trace_run run = {.arch = HP_ARCH_X86_64, .command = command};
    struct hp_trace_writer *writer;
    const uint32_t words[] = {ABE, CE, SXA, EVENT(CUT, 1)}; /* AB, C, ... are in no word */
    assert_int_equal(hp_trace_writer_new(path, &run, s->code, &writer), HP_OK);
    assert_int_equal(hp_trace_writer_thread(writer, &(struct hp_thread){0}), HP_OK);
    assert_int_equal(hp_trace_writer_words(writer, 0, words, 4), HP_OK);
    assert_int_equal(hp_trace_writer_end(writer, 0, HP_END_SIGNAL), HP_OK);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);

    struct hp_trace_reader *reader;
    struct hp_trace_item item;
    back = (struct stream){0};
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &back.code), HP_OK);
    recorder_init(&back.recorder, back.code);
    assert_int_equal(hp_cursor_new(back.code, NULL, &back.recorder.sink, &back.cursor), HP_OK);
    assert_int_equal(hp_trace_reader_open(path, &reader), HP_OK);
    do {
        assert_int_equal(hp_trace_reader_next(reader, back.code, &item), HP_OK);
        if (item.kind == HP_TRACE_WORDS)
            feed(&back, item.words, item.n_words);
        if (item.kind == HP_TRACE_THREAD_END)
            assert_int_equal(hp_cursor_end(back.cursor, item.reason), HP_OK);
    } while (item.kind != HP_TRACE_END);
    expect(&back, "1000/2- 1003/2+ 1020/2+ 1010/2+ 1020/2+ 1030/2- 1033/2+ 1000/1. end(4)");
    assert_int_equal(hp_trace_reader_info(reader)->segments, 8); /* with their parents */
    hp_trace_reader_close(reader);
    stream_fini(&back);
    unlink(path);
}

/* Segments of format 1 have no parents. */
static void the_first_format_is_read(void **state)
{
    struct stream *s = *state;
    struct hp_bytes_out out = {0};
    static const uint64_t fields[][2] = {{0, 4}, {1, 4},      {NEXT, 4}, {0, 4},
                                         {0, 1}, {0x5000, 8}, {1, 4},    {0xc3, 1}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        assert_int_equal(hp_out_uint(&out, fields[i][0], (unsigned)fields[i][1]), HP_OK);
    struct hp_segment segment;
    assert_int_equal(hp_trace_code_load(out.bytes, out.size, 2, false, s->code), HP_ERR_FORMAT);
    assert_int_equal(hp_trace_code_load(out.bytes, out.size, 1, false, s->code), HP_OK);
    assert_int_equal(hp_code_segment(s->code, NEXT, &segment), HP_OK);
    assert_int_equal(segment.start, 0x5000);
    assert_int_equal(segment.parent, 0);
    free(out.bytes);
}

/* --- Traces ----------------------------------------------------------------------------------- */

enum { TA = 100, TAB, TABE, TB, TBE, LONG }; /* traces ABE, and BE with an unfinished end */

static void add_traces(struct stream *s)
{
    assert_int_equal(add_traced(s, TA, 0, 0x1000, "90 74 0d", HP_TRACE_BEGINNING), HP_OK);
    assert_int_equal(add_traced(s, TAB, TA, 0x1003, "90 eb 1a", HP_TRACE_BEGINNING), HP_OK);
    assert_int_equal(add_traced(s, TABE, TAB, 0x1020, "90 c3", HP_TRACE_WHOLE), HP_OK);
    assert_int_equal(add_traced(s, TB, 0, 0x1003, "90 eb 1a", HP_TRACE_BEGINNING), HP_OK);
    assert_int_equal(add_traced(s, TBE, TB, 0x1020, "90 90", HP_TRACE_WHOLE), HP_OK);
}

static void expect_traced(const struct hp_cursor_stats *stats, uint64_t entries,
                          uint64_t completions, uint64_t insns)
{
    assert_int_equal(stats->trace_entries, entries);
    assert_int_equal(stats->trace_completions, completions);
    assert_int_equal(stats->trace_insns, insns);
}

/* Those of the same blocks that are not in traces do not count. */
static void executions_of_traces_are_counted(void **state)
{
    struct stream *s = *state;
    const struct hp_cursor_stats *stats = hp_cursor_stats(s->cursor);
    struct hp_segment segment;
    add_traces(s);
    assert_int_equal(hp_code_segment(s->code, TABE, &segment), HP_OK);
    assert_int_equal(segment.trace, HP_TRACE_WHOLE);
    FEED(s, ABE, A, B, E);
    expect_traced(stats, 0, 0, 0);
    FEED(s, TABE, TABE, TAB, E, TA, C, E);
    expect_traced(stats, 4, 2, 6 + 6 + 4 + 2);
    for (int i = 0; i < 10000; i++) /* more than fit a batch */
        FEED(s, TABE, ABE);
    expect_traced(stats, 10004, 10002, 60018);
    FEED(s, TABE, EVENT(CUT, 1), EVENT(CUT, 0)); /* left before its end; the second says nothing */
    expect_traced(stats, 10005, 10002, 60023);
    FEED(s, EVENT(LOST, HP_LOST_UNKNOWN), 0, 0, TBE, EVENT(CUT, 2)); /* all of it ran */
    expect_traced(stats, 10006, 10003, 60027);
}

/* Its instructions do not fit what the fast loop sums up. */
static void a_trace_of_many_instructions(void **state)
{
    struct stream *s = *state;
    static uint8_t nops[HP_BLOCK_MAX_INSNS];
    memset(nops, 0x90, sizeof nops);
    struct hp_segment segment = {.start = 0x10000,
                                 .module = s->module,
                                 .size = sizeof nops,
                                 .bytes = nops,
                                 .trace = HP_TRACE_BEGINNING};
    for (uint32_t i = 0; i < 3; i++) {
        segment.trace = i == 2 ? HP_TRACE_WHOLE : HP_TRACE_BEGINNING;
        assert_int_equal(hp_code_add_segment(s->code, LONG + i, &segment), HP_OK);
        segment.start += sizeof nops;
        segment.parent = LONG + i;
    }
    FEED(s, LONG, EVENT(LOST, HP_LOST_UNKNOWN), 0, 0, LONG + 2);
    expect_traced(hp_cursor_stats(s->cursor), 2, 1, 4 * HP_BLOCK_MAX_INSNS);
    FEED(s, EVENT(END, HP_END_SIGNAL));
}

static void executions_of_traces_are_tallied(void **state)
{
    struct stream *s = *state;
    struct tally_test t;
    tally_init(&t, s);
    add_traces(s);
    const uint32_t words[] = {TABE,           A,    TABE, A, ABE, A, TAB, E,
                              EVENT(PART, 1), TABE, /* pairs */
                              EVENT(PART, 2), TBE};
    assert_int_equal(hp_tally_words(t.tally, words, sizeof words / sizeof *words), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, TA, 1, 7), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, A, 1, 7), HP_OK);
    assert_int_equal(hp_tally_count(t.tally, TBE, 0, 10), HP_OK);
    assert_int_equal(hp_tally_edges(t.tally, &t.edges, &t.n), HP_OK);
    expect_traced(hp_tally_stats(t.tally), 2 + 1 + 1 + 1 + 7 + 10, 2 + 1 + 10,
                  12 + 4 + 5 + 4 + 14 + 40);
    tally_fini(&t);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_run_is_made_of_the_same_blocks),
        CASE(wrong_parents_are_refused),
        CASE(the_longest_run),
        CASE(runs_that_fork),
        CASE(runs_are_blocks_in_order),
        CASE(a_run_that_does_not_follow),
        CASE(runs_across_batches),
        CASE(a_run_cut_short_in_its_last_block),
        CASE(a_run_may_end_open_and_be_cut),
        CASE(a_signal_in_a_run),
        CASE(a_restarted_system_call_in_a_run),
        CASE(a_run_that_starts_at_a_handler),
        CASE(a_thread_ended_by_a_signal_ends_exactly),
        cmocka_unit_test(parents_are_loaded_first),
        cmocka_unit_test(hostile_parents_are_survived),
        cmocka_unit_test(counters_are_read_and_cleared),
        CASE(counters_and_pairs_are_edges),
        CASE(parts_are_put_together),
        CASE(edges_find_blocks_that_were_put_together),
        CASE(nonsense_is_tallied),
        CASE(executions_of_traces_are_counted),
        CASE(a_trace_of_many_instructions),
        CASE(executions_of_traces_are_tallied),
        CASE(runs_come_back_from_a_trace),
        CASE(the_first_format_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
