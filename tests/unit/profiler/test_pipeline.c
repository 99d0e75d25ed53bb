// SPDX-License-Identifier: MIT
/* The pipeline: threads to cursors to profilers, and the region between. Functions are faked: 64
 * bytes of code each, of which every second has a name. */
#include "program_fixture.h"

#include "profiler/pipeline.h"

/* --- Functions -------------------------------------------------------------------------------- */

#define FUNCTION_BYTES 64

struct hp_functions {
    const struct hp_code *code;
    struct hp_function found;
};

struct hp_symbols {
    const char *name; /* of the function at `offset` */
    uint64_t offset;
    unsigned asked;
};

static struct hp_symbols the_symbols;
static struct hp_symbol a_symbol;

static uint64_t function_start(const struct hp_functions *functions, uint32_t block)
{
    return hp_code_block(functions->code, block)->start / FUNCTION_BYTES * FUNCTION_BYTES;
}

uint32_t hp_functions_of_block(struct hp_functions *functions, uint32_t block)
{
    return (uint32_t)(function_start(functions, block) / FUNCTION_BYTES);
}

bool hp_functions_is_entry(struct hp_functions *functions, uint32_t block)
{
    return hp_code_block(functions->code, block)->start == function_start(functions, block);
}

const struct hp_function *hp_functions_get(const struct hp_functions *functions, uint32_t id)
{
    struct hp_function *found = (struct hp_function *)(uintptr_t)&functions->found;
    found->offset = (uint64_t)id * FUNCTION_BYTES;
    found->symbol = id % 2 ? NULL : &a_symbol;
    return found;
}

struct hp_symbols *hp_functions_symbols(struct hp_functions *functions, uint32_t module)
{
    (void)functions, (void)module;
    return &the_symbols;
}

size_t hp_symbols_by_name(const struct hp_symbols *symbols, const char *name, uint64_t *offsets,
                          size_t max)
{
    the_symbols.asked++;
    if (max == 0 || !symbols->name || strcmp(symbols->name, name) != 0)
        return 0;
    offsets[0] = symbols->offset;
    return 1;
}

/* --- A profiler that puts down what it sees --------------------------------------------------- */

struct tape {
    struct hp_profiler base; /* first */
    uint64_t *starts;
    uint32_t *insns;
    size_t n, cap_starts, cap_insns;
    uint64_t instructions;
    unsigned threads, events, ends;
    bool refuses;
};

static void tape_add(struct tape *t, uint64_t start, uint32_t insns)
{
    assert_int_equal(hp_grow(&t->starts, &t->cap_starts, t->n + 1, sizeof *t->starts), HP_OK);
    assert_int_equal(hp_grow(&t->insns, &t->cap_insns, t->n + 1, sizeof *t->insns), HP_OK);
    t->starts[t->n] = start;
    t->insns[t->n++] = insns;
    t->instructions += insns;
}

static enum hp_err tape_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                               void **state)
{
    struct tape *t = (struct tape *)profiler;
    (void)thread;
    t->threads++;
    *state = t;
    return t->refuses ? hp_fail(HP_ERR_NOMEM, "no more") : HP_OK;
}

static void tape_batch(void *state, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct hp_block *block = &batch->table[batch->blocks[i]];
        tape_add(state, block->start, block->insns);
    }
}

static void tape_event(void *state, const struct hp_event *event)
{
    struct tape *t = state;
    t->events++;
    t->ends += event->kind == HP_EVENT_END;
    if (event->kind == HP_EVENT_TAIL)
        tape_add(t, 0, event->insns);
}

static const struct hp_profiler_ops tape_ops = {
    .name = "tape", .start_thread = tape_thread, .batch = tape_batch, .event = tape_event};

static void tape_fini(struct tape *t)
{
    free(t->starts);
    free(t->insns);
}

/* --- Regions ---------------------------------------------------------------------------------- */

/* Runs the words of one thread through a pipeline with that region. */
static void run_region(struct stream *s, const struct program *p, const struct hp_region *region,
                       struct tape *tape, struct hp_pipeline_stats *stats)
{
    struct hp_functions functions = {.code = s->code};
    struct hp_pipeline *pipeline;
    struct hp_thread thread = {.pid = 1, .tid = 1};
    *tape = (struct tape){.base.ops = &tape_ops};
    assert_int_equal(hp_pipeline_new(s->code, NULL, &functions, region, &pipeline), HP_OK);
    assert_int_equal(hp_pipeline_add(pipeline, &tape->base), HP_OK);
    struct hp_consumer *c = hp_pipeline_consumer(pipeline);
    assert_int_equal(c->thread(c, &thread), HP_OK);
    for (size_t i = 0; i < p->n_words; i += 1000) {
        size_t n = p->n_words - i < 1000 ? p->n_words - i : 1000;
        assert_int_equal(c->words(c, 0, p->words + i, n), HP_OK);
    }
    assert_int_equal(c->end(c, 0, HP_END_EXIT), HP_OK);
    if (stats)
        *stats = *hp_pipeline_stats(pipeline);
    hp_pipeline_free(pipeline);
}

/* A tape is the piece of the whole from item `at` on; returns where it ends. */
static size_t assert_part(const struct tape *whole, const struct tape *part, size_t at)
{
    assert_true(at + part->n <= whole->n);
    assert_memory_equal(part->insns, whole->insns + at, part->n * sizeof *part->insns);
    assert_memory_equal(part->starts, whole->starts + at, part->n * sizeof *part->starts);
    return at + part->n;
}

/* The place of the first block that begins at or after instruction `start`. */
static size_t block_at(const struct tape *whole, uint64_t start)
{
    size_t i = 0;
    for (uint64_t clock = 0; i < whole->n && clock < start; i++)
        clock += whole->insns[i];
    return i;
}

/* Three regions, one behind the other, are the whole: not a block twice, none left out. */
static void check_regions(struct stream *s, struct program *p, const struct tape *whole)
{
    struct tape first, second, third;
    struct hp_region region = {.length = 1 + random_below(&p->seed, (uint32_t)whole->instructions)};
    run_region(s, p, &region, &first, NULL);
    size_t at = assert_part(whole, &first, 0);
    assert_int_equal(at, block_at(whole, region.length));

    region.after = region.length;
    region.length = 1 + random_below(&p->seed, 500);
    run_region(s, p, &region, &second, NULL);
    at = assert_part(whole, &second, at);
    assert_int_equal(at, block_at(whole, region.after + region.length));

    region.after += region.length;
    region.length = 0;
    run_region(s, p, &region, &third, NULL);
    at = assert_part(whole, &third, at);
    assert_int_equal(at, whole->n);
    tape_fini(&first);
    tape_fini(&second);
    tape_fini(&third);
}

static void regions_add_up_to_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct program p;
        struct stream s;
        struct tape whole;
        struct hp_region all = {0};
        program_init(&p, seed + 30000);
        stream_init(&s);
        program_run(&p, &s, 1 + random_below(&p.seed, 200));
        run_region(&s, &p, &all, &whole, NULL);
        for (int i = 0; i < 4; i++)
            check_regions(&s, &p, &whole);
        tape_fini(&whole);
        stream_fini(&s);
        program_fini(&p);
    }
}

/*
 * 1  400000 nop; call 400080   2  400080 nop; nop; ret   3  400006 jmp 400000
 * The loop is 6 instructions: 2 + 3 + 1.
 */
static void loop_program(struct stream *s, struct program *p, size_t iterations)
{
    stream_init(s);
    *p = (struct program){0};
    add_segment(s, 1, 0x400000, "90 e8 7a 00 00 00");
    add_segment(s, 2, 0x400080, "90 90 c3");
    add_segment(s, 3, 0x400006, "eb f8");
    for (size_t i = 0; i < iterations; i++)
        for (uint32_t k = 1; k <= 3; k++)
            put_word(p, k);
}

static void regions_by_hand(void **state)
{
    (void)state;
    static const struct {
        struct hp_region region;
        uint64_t instructions, first;
        bool reached;
    } cases[] = {
        {{.after = 6}, 54, 0x400000, true},
        {{.after = 7}, 52, 0x400080, true}, /* the block at 6 began before */
        {{.after = 8}, 52, 0x400080, true},
        {{.length = 6}, 6, 0x400000, true},
        {{.length = 7}, 8, 0x400000, true},
        {{.after = 6, .length = 1}, 2, 0x400000, true},
        {{.after = 7, .length = 1}, 0, 0, true}, /* none begins there */
        {{.after = 7, .length = 2}, 3, 0x400080, true},
        {{.after = 59, .length = 100}, 1, 0, true}, /* only the last block, a tail */
        {{.after = 60}, 0, 0, false},
        {{.from = "f"}, 58, 0x400080, true},
        {{.from = "f", .after = 3}, 55, 0x400006, true},
        {{.from = "f", .after = 4, .length = 3}, 5, 0x400000, true},
        {{.from = "g"}, 0, 0, false},
    };
    struct stream s;
    struct program p;
    loop_program(&s, &p, 10);
    the_symbols = (struct hp_symbols){.name = "f", .offset = 0x400080};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tape tape;
        struct hp_pipeline_stats stats;
        run_region(&s, &p, &cases[i].region, &tape, &stats);
        assert_int_equal(tape.instructions, cases[i].instructions);
        assert_int_equal(stats.region_reached, cases[i].reached);
        if (tape.n)
            assert_int_equal(tape.starts[0], cases[i].first);
        assert_int_equal(tape.ends, 1);
        assert_int_equal(stats.cursor.instructions, 60); /* of the run, not of the region */
        tape_fini(&tape);
    }
    assert_in_range(the_symbols.asked, 5, 20); /* not once a block */
    stream_fini(&s);
    program_fini(&p);
}

static void done_when_the_region_is_over(void **state)
{
    (void)state;
    struct stream s;
    struct program p;
    struct hp_pipeline *pipeline;
    struct hp_region region = {.after = 6, .length = 6};
    struct hp_thread thread = {.pid = 1};
    loop_program(&s, &p, 3);
    assert_int_equal(hp_pipeline_new(s.code, NULL, NULL, &region, &pipeline), HP_OK);
    struct hp_consumer *c = hp_pipeline_consumer(pipeline);
    assert_int_equal(c->thread(c, &thread), HP_OK);
    assert_int_equal(c->words(c, 0, p.words, 6), HP_OK);
    assert_false(c->done(c));
    assert_int_equal(c->words(c, 0, p.words + 6, 3), HP_OK);
    assert_true(c->done(c));
    hp_pipeline_free(pipeline);
    stream_fini(&s);
    program_fini(&p);
}

/* --- Threads ---------------------------------------------------------------------------------- */

struct pipe_test {
    struct stream s;
    struct program p;
    struct tape tape;
    struct hp_pipeline *pipeline;
    struct hp_consumer *c;
};

static int setup(void **state)
{
    struct pipe_test *t = calloc(1, sizeof *t);
    struct hp_region all = {0};
    loop_program(&t->s, &t->p, 2);
    t->tape.base.ops = &tape_ops;
    assert_int_equal(hp_pipeline_new(t->s.code, NULL, NULL, &all, &t->pipeline), HP_OK);
    assert_int_equal(hp_pipeline_add(t->pipeline, &t->tape.base), HP_OK);
    t->c = hp_pipeline_consumer(t->pipeline);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct pipe_test *t = *state;
    hp_pipeline_free(t->pipeline);
    tape_fini(&t->tape);
    stream_fini(&t->s);
    program_fini(&t->p);
    free(t);
    return 0;
}

static enum hp_err start(struct pipe_test *t, uint32_t id)
{
    struct hp_thread thread = {.id = id, .pid = 1, .tid = (int32_t)id};
    return t->c->thread(t->c, &thread);
}

static void threads_interleave(void **state)
{
    struct pipe_test *t = *state;
    for (uint32_t id = 0; id < 3; id++)
        assert_int_equal(start(t, id), HP_OK);
    for (size_t i = 0; i < t->p.n_words; i++)
        for (uint32_t id = 0; id < 3; id++)
            assert_int_equal(t->c->words(t->c, id, &t->p.words[i], 1), HP_OK);
    assert_int_equal(t->c->end(t->c, 0, HP_END_EXIT), HP_OK);
    assert_int_equal(t->c->end(t->c, 1, HP_END_DETACHED), HP_OK);
    assert_int_equal(t->c->end(t->c, 2, HP_END_KILLED), HP_OK);
    const struct hp_pipeline_stats *stats = hp_pipeline_stats(t->pipeline);
    assert_int_equal(stats->threads, 3);
    assert_int_equal(stats->cursor.instructions, 36);
    assert_int_equal(stats->cursor.blocks, 18);
    assert_int_equal(stats->cursor.cuts, 1);
    assert_int_equal(stats->detached_threads, 1);
    assert_int_equal(t->tape.instructions, 36);
    assert_int_equal(t->tape.ends, 3);
}

static void threads_out_of_order_are_refused(void **state)
{
    struct pipe_test *t = *state;
    assert_int_equal(t->c->words(t->c, 0, t->p.words, 1), HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), "words of thread 0, which never began");
    assert_int_equal(t->c->end(t->c, 0, HP_END_EXIT), HP_ERR_FORMAT);
    assert_int_equal(start(t, 0), HP_OK);
    assert_int_equal(start(t, 0), HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), "thread 0 begins twice");
    assert_int_equal(start(t, 70000), HP_ERR_FORMAT);
    assert_int_equal(start(t, UINT32_MAX), HP_ERR_FORMAT);
    assert_int_equal(start(t, 5), HP_OK);
    assert_int_equal(t->c->words(t->c, 3, t->p.words, 1), HP_ERR_FORMAT);
    assert_int_equal(t->c->words(t->c, 5, t->p.words, 1), HP_OK);
}

static void a_profiler_that_fails_stops_the_thread(void **state)
{
    struct pipe_test *t = *state;
    t->tape.refuses = true;
    assert_int_equal(start(t, 0), HP_ERR_NOMEM);
    assert_int_equal(t->c->words(t->c, 0, t->p.words, 1), HP_ERR_FORMAT);
}

static void no_more_than_twelve_profilers(void **state)
{
    struct pipe_test *t = *state;
    for (int i = 0; i < 11; i++)
        assert_int_equal(hp_pipeline_add(t->pipeline, &t->tape.base), HP_OK);
    assert_int_equal(hp_pipeline_add(t->pipeline, &t->tape.base), HP_ERR_INVALID);
}

static void losses_are_counted_by_reason(void **state)
{
    struct pipe_test *t = *state;
    const uint32_t words[] = {EVENT(LOST, HP_LOST_CODE_FULL),
                              0,
                              0,
                              EVENT(LOST, 0xffffff),
                              0,
                              0,
                              EVENT(LOST, HP_LOST_CODE_FULL),
                              0,
                              0,
                              999};
    assert_int_equal(start(t, 0), HP_OK);
    assert_int_equal(t->c->words(t->c, 0, words, sizeof words / 4), HP_OK);
    const struct hp_pipeline_stats *stats = hp_pipeline_stats(t->pipeline);
    assert_int_equal(stats->cursor.losses, 4);
    assert_int_equal(stats->losses_by_reason[HP_LOST_CODE_FULL], 2);
    assert_int_equal(stats->losses_by_reason[HP_LOST_UNKNOWN], 1);
}

static void exec(struct pipe_test *t, uint32_t thread, uint32_t id)
{
    const uint32_t words[] = {EVENT(EXEC, 0), id};
    assert_int_equal(t->c->words(t->c, thread, words, 2), HP_OK);
}

static void exec_failed(struct pipe_test *t, uint32_t thread)
{
    const uint32_t word = EVENT(EXEC_FAILED, 0);
    assert_int_equal(t->c->words(t->c, thread, &word, 1), HP_OK);
}

/* Each thread takes back its own. */
static void failed_execs_are_taken_back(void **state)
{
    struct pipe_test *t = *state;
    const uint32_t *ids;
    for (uint32_t id = 0; id < 3; id++)
        assert_int_equal(start(t, id), HP_OK);
    exec_failed(t, 0); /* of nothing */
    const uint32_t observed[] = {EVENT(EXEC, 1), 9};
    assert_int_equal(t->c->words(t->c, 0, observed, 2), HP_OK);
    exec_failed(t, 0);
    exec(t, 0, 10);
    exec(t, 1, 11);
    exec(t, 2, 12);
    exec_failed(t, 0);
    exec_failed(t, 0);
    exec(t, 0, 13);
    exec_failed(t, 2);
    assert_int_equal(hp_pipeline_execs(t->pipeline, &ids), 2);
    assert_int_equal(ids[0], 11);
    assert_int_equal(ids[1], 13);
    exec_failed(t, 0);
    exec_failed(t, 1);
    assert_int_equal(hp_pipeline_execs(t->pipeline, &ids), 0);
}

/* --- Lanes ------------------------------------------------------------------------------------ */

/* What a profiler saw, as a hash: of the batches, and of the code map when it got them. */
struct witness {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    uint64_t hash, batches;
    unsigned changes; /* of the code map, under it */
    unsigned pace;
};

static void mix(struct witness *w, uint64_t value)
{
    w->hash = hp_hash64(w->hash ^ value);
}

static enum hp_err witness_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                  void **state)
{
    mix((struct witness *)profiler, thread->id);
    *state = profiler;
    return HP_OK;
}

static void witness_batch(void *state, const struct hp_batch *batch)
{
    struct witness *w = state;
    uint32_t n_blocks = hp_code_n_blocks(w->code), n_units = hp_code_n_units(w->code);
    w->changes += batch->table != hp_code_blocks(w->code);
    for (volatile unsigned i = 0; i < w->pace * (w->batches % 5); i++)
        ;
    for (size_t i = 0; i <= batch->n; i++) {
        const struct hp_block *block = &batch->table[batch->blocks[i]];
        mix(w, block->start ^ block->end << 20 ^ (uint64_t)block->flags << 50);
        mix(w, i < batch->n ? batch->taken[i] : 2);
    }
    mix(w, n_blocks);
    w->changes += n_blocks != hp_code_n_blocks(w->code) || n_units != hp_code_n_units(w->code) ||
                  batch->table != hp_code_blocks(w->code);
    w->batches++;
}

static void witness_event(void *state, const struct hp_event *event)
{
    struct witness *w = state;
    mix(w, event->kind);
    mix(w, w->batches);
}

/* A code map that is filled, as words come, from one that is full. */
struct filling {
    struct hp_segment_source source; /* first */
    struct hp_code *from, *to;
};

static enum hp_err fill(struct hp_segment_source *source, uint32_t id)
{
    struct filling *f = (struct filling *)source;
    struct hp_segment segment, parent;
    HP_TRY(hp_code_segment(f->from, id, &segment));
    if (segment.parent && hp_code_segment(f->to, segment.parent, &parent) != HP_OK)
        HP_TRY(fill(source, segment.parent));
    HP_TRY(hp_code_add_module(f->to, hp_code_module(f->from, segment.module), &segment.module));
    return hp_code_add_segment(f->to, id, &segment);
}

static void run_witnesses(const struct program *p, struct filling *f, struct witness *witnesses,
                          size_t n, uint64_t *seed)
{
    struct hp_region all = {0};
    struct hp_pipeline *pipeline;
    assert_int_equal(hp_pipeline_new(f->to, &f->source, NULL, &all, &pipeline), HP_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(hp_pipeline_add(pipeline, &witnesses[i].base), HP_OK);
    hp_pipeline_set_independent(pipeline, &witnesses[n - 1].base);
    struct hp_consumer *c = hp_pipeline_consumer(pipeline);
    struct hp_thread threads[] = {{.id = 0, .pid = 1}, {.id = 1, .pid = 1}};
    assert_int_equal(c->thread(c, &threads[0]), HP_OK);
    assert_int_equal(c->thread(c, &threads[1]), HP_OK);
    for (size_t i = 0, some; i < p->n_words; i += some) {
        some = 1 + random_below(seed, 400);
        some = p->n_words - i < some ? p->n_words - i : some;
        assert_int_equal(c->words(c, 0, p->words + i, some), HP_OK);
        assert_int_equal(c->words(c, 1, p->words + i, some), HP_OK);
        if (random_below(seed, 50) == 0) {
            hp_pipeline_settle(pipeline);
            for (size_t k = 1; k < n; k++)
                assert_int_equal(witnesses[k].hash, witnesses[0].hash);
        }
    }
    assert_int_equal(c->end(c, 0, HP_END_EXIT), HP_OK);
    if (random_below(seed, 2)) /* else it is freed with what is under way */
        assert_int_equal(c->end(c, 1, HP_END_EXIT), HP_OK);
    else
        hp_pipeline_settle(pipeline);
    hp_pipeline_free(pipeline);
}

/* In lanes or not, profilers see the same batches, events and code map, and it never changes under
 * them. The first of them is not independent, the last only here. */
static void lanes_make_no_difference(void **state)
{
    (void)state;
    static const struct hp_profiler_ops plain = {.name = "plain",
                                                 .start_thread = witness_thread,
                                                 .batch = witness_batch,
                                                 .event = witness_event};
    struct hp_profiler_ops independent = plain;
    independent.independent = true;
    uint64_t batches = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct program p;
        struct stream s;
        struct filling f = {.source.load = fill};
        program_init(&p, seed + 70000);
        if (seed % 2)
            program_make_native(&p);
        stream_init(&s);
        program_run(&p, &s, 1 + random_below(&p.seed, 400));
        if (seed % 10 == 0)
            spoil(&p, 3);
        f.from = s.code;
        assert_int_equal(hp_code_new(HP_ARCH_X86_64, &f.to), HP_OK);
        struct witness w[] = {{.base.ops = &plain},
                              {.base.ops = &independent, .pace = 200},
                              {.base.ops = &independent},
                              {.base.ops = &plain, .pace = 50}};
        size_t n = sizeof w / sizeof *w;
        for (size_t i = 0; i < n; i++)
            w[i].code = f.to;
        run_witnesses(&p, &f, w, n, &p.seed);
        batches += w[0].batches;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(w[i].changes, 0);
            assert_int_equal(w[i].batches, w[0].batches);
            assert_int_equal(w[i].hash, w[0].hash);
        }
        hp_code_free(f.to);
        stream_fini(&s);
        program_fini(&p);
    }
    assert_true(batches > 3000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_by_hand),
        cmocka_unit_test(regions_add_up_to_the_whole),
        cmocka_unit_test(done_when_the_region_is_over),
        cmocka_unit_test(lanes_make_no_difference),
        CASE(threads_interleave),
        CASE(threads_out_of_order_are_refused),
        CASE(a_profiler_that_fails_stops_the_thread),
        CASE(no_more_than_twelve_profilers),
        CASE(losses_are_counted_by_reason),
        CASE(failed_execs_are_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
