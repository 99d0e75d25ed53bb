// SPDX-License-Identifier: MIT
/* A profiler behind a filter sees the program's own code, and all that comes after its first block.
 */
#include "stream_fixture.h"

#include "lab/loops/skip_linker.h"

/* --- A profiler that counts / ----------------------------------------------------------------- */

struct counter {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    uint64_t insns, blocks;
    uint64_t first; /* address */
    bool by_units, ended;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

static void add(struct counter *c, uint32_t block)
{
    if (!c->blocks++)
        c->first = hp_code_block(c->code, block)->start;
    c->insns += hp_code_block(c->code, block)->insns;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        add(state, batch->blocks[i]);
}

/* Every block but the last, which comes again. */
static void take_steps(void *state, const struct hp_steps *steps)
{
    struct counter *c = state;
    c->by_units = true;
    for (size_t i = 0; i <= steps->n; i++) {
        uint32_t n;
        const uint32_t *blocks = hp_code_unit(c->code, steps->steps[i].unit, &n);
        assert_true(i || n == 1);
        assert_int_equal(steps->steps[i].first, blocks[0]);
        for (uint32_t k = 0; k + (i == steps->n) < n; k++)
            add(c, blocks[k]);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    struct counter *c = state;
    if (event->kind == HP_EVENT_TAIL)
        add(c, event->block);
    c->ended |= event->kind == HP_EVENT_END;
}

static void free_counter(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops with_steps = {.start_thread = start_thread,
                                                  .batch = take_batch,
                                                  .steps = take_steps,
                                                  .event = take_event,
                                                  .free = free_counter};
static const struct hp_profiler_ops without_steps = {
    .start_thread = start_thread, .batch = take_batch, .event = take_event, .free = free_counter};

/* --- A linker (1000: 2, 1003: 3 instructions) and a program (9000: 2, 9003: 1) / -------------- */

enum { LINKER = 1, LAST, MAIN, CALLED };

struct fixture {
    struct stream stream;
    struct counter counter;
    struct hp_profiler *filter;
};

/* For steps: straight from the cursor to the filter. */
struct unit_sink {
    struct hp_sink sink; /* first */
    struct hp_profiler *filter;
    void *state;
};

static void sink_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    struct unit_sink *s = (struct unit_sink *)sink;
    s->filter->ops->steps(s->state, steps);
}

static void sink_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct unit_sink *s = (struct unit_sink *)sink;
    s->filter->ops->event(s->state, event);
}

static void make(struct fixture *f, const struct hp_profiler_ops *ops)
{
    struct hp_module own = {.path = "/no/such/program", .build_id = "", .high = UINT64_MAX};
    *f = (struct fixture){0};
    stream_init(&f->stream);
    add_segment(&f->stream, LINKER, 0x1000, "90 ff e0"); /* jmp *%rax */
    add_segment(&f->stream, LAST, 0x1003, "90 90 ff e0");
    assert_int_equal(hp_code_add_module(f->stream.code, &own, &f->stream.module), HP_OK);
    add_segment(&f->stream, MAIN, 0x9000, "90 ff e0");
    add_segment(&f->stream, CALLED, 0x9003, "c3");
    f->counter = (struct counter){.base.ops = ops, .code = f->stream.code};
    assert_int_equal(hp_lab_skip_linker_new(f->stream.code, own.path, &f->counter.base, &f->filter),
                     HP_OK);
}

static const uint32_t words[] = {LINKER, LINKER, LAST,
                                 MAIN,   LINKER, MAIN,
                                 LAST,   CALLED, HP_WORD_EVENT | HP_WORD_END << 24 | HP_END_EXIT};

static void assert_seen(const struct fixture *f)
{
    /* LAST 3, MAIN 2, LINKER 2, MAIN 2, LAST 3, CALLED 1 */
    assert_int_equal(f->counter.first, 0x1003);
    assert_int_equal(f->counter.insns, 13);
    assert_int_equal(f->counter.blocks, 6);
    assert_true(f->counter.ended);
    assert_in_range(hp_lab_skip_linker_hidden(f->filter), 2,
                    4); /* by units the very first block is not known */
}

static void blocks_before_the_program_are_hidden(void **state)
{
    (void)state;
    struct fixture f;
    make(&f, &without_steps);
    assert_null(f.filter->ops->steps);
    recorder_add(&f.stream.recorder, f.filter);
    feed(&f.stream, words, sizeof words / sizeof *words);
    assert_seen(&f);
    assert_false(f.counter.by_units);
    stream_fini(&f.stream);
}

static void units_before_the_program_are_hidden(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_thread thread = {.pid = 10, .tid = 10};
    struct unit_sink sink = {.sink = {.steps = sink_steps, .event = sink_event}};
    struct hp_cursor *cursor;
    make(&f, &with_steps);
    sink.filter = f.filter;
    assert_int_equal(f.filter->ops->start_thread(f.filter, &thread, &sink.state), HP_OK);
    assert_int_equal(hp_cursor_new(f.stream.code, NULL, &sink.sink, &cursor), HP_OK);
    assert_int_equal(hp_cursor_feed(cursor, words, sizeof words / sizeof *words), HP_OK);
    assert_seen(&f);
    assert_true(f.counter.by_units);
    hp_cursor_free(cursor);
    f.filter->ops->free(f.filter);
    stream_fini(&f.stream);
}

static void it_opens_at_the_end_of_a_batch_as_well(void **state)
{
    (void)state;
    struct fixture f;
    make(&f, &without_steps);
    recorder_add(&f.stream.recorder, f.filter);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        feed(&f.stream, &words[i], 1);
    assert_seen(&f);
    stream_fini(&f.stream);
}

static void a_program_that_never_comes(void **state)
{
    (void)state;
    struct fixture f;
    make(&f, &without_steps);
    recorder_add(&f.stream.recorder, f.filter);
    FEED(&f.stream, LINKER, LAST, LINKER, EVENT(END, HP_END_EXIT));
    assert_int_equal(f.counter.blocks, 0);
    assert_true(f.counter.ended);
    assert_int_equal(hp_lab_skip_linker_hidden(f.filter), 7);
    stream_fini(&f.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_before_the_program_are_hidden),
        cmocka_unit_test(units_before_the_program_are_hidden),
        cmocka_unit_test(it_opens_at_the_end_of_a_batch_as_well),
        cmocka_unit_test(a_program_that_never_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
