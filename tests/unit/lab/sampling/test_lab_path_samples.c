// SPDX-License-Identifier: MIT
/*
 * Samples with the way that led to them: against the log of the run they were taken from.
 */
#include "lab/sampling/path_samples.h"
#include "reconstruct_fixture.h"

#define BITS 24 /* so many that no place of the log is like another */

static struct machine machine;

/* A loop with a branch in it and calls: 0 n  1 ?4  2 n  3 n  4 c6  5 j0  : 6 n  7 ?9  8 n  9 r */
static struct machine *make_run(void)
{
    struct machine *m = &machine;
    static const struct {
        enum kind kind;
        uint32_t target;
    } code[] = {{NOP, 0}, {COND, 4}, {NOP, 0},  {NOP, 0}, {CALL, 6},
                {JMP, 0}, {NOP, 0},  {COND, 9}, {NOP, 0}, {RET, 0}};
    memset(m, 0, sizeof *m);
    m->seed = 11;
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        emit(m, code[i].kind, code[i].target);
    for (uint32_t i = 6; i < m->n; i++)
        m->function[i] = 6;
    link_code(m);
    run_from(m, 0, NULL);
    stream_init(&m->stream);
    define_blocks(m);
    return m;
}

/* Blocks first ... end - 1 of the log as batches of odd sizes; block `end` is what comes next. */
static void feed_log(struct machine *m, struct hp_profiler *profiler, void *state, size_t first,
                     size_t end)
{
    uint32_t blocks[MAX_LOG];
    uint8_t taken[MAX_LOG] = {0}; /* nobody asks */
    for (size_t i = 0; i < m->n_log; i++)
        blocks[i] = m->log[i].block;
    for (size_t at = first; at < end;) {
        size_t n = 1 + random_below(&m->seed, 90);
        n = n < end - at ? n : end - at;
        profiler->ops->batch(state, &(struct hp_batch){.code = m->stream.code,
                                                       .table = hp_code_blocks(m->stream.code),
                                                       .blocks = blocks + at,
                                                       .taken = taken,
                                                       .n = n});
        at += n;
    }
}

/* Whether the sample's blocks are those that end at place `at` of the log. */
static bool is_at(const struct machine *m, const struct hp_lab_path_samples *s,
                  const struct hp_lab_path_sample *sample, size_t at)
{
    if (at + 1 < sample->n)
        return false;
    for (uint32_t i = 0; i < sample->n; i++)
        if (m->log[at + 1 - sample->n + i].block != s->blocks[sample->at + i])
            return false;
    return true;
}

static void check_other(const struct machine *m, const struct hp_lab_path_sample *sample, size_t at)
{
    uint32_t here = m->log[at].first + sample->insn;
    for (uint32_t i = 0; i < sample->distance; i++)
        here = here > m->log[at].first ? here - 1 : m->log[--at].last;
    assert_int_equal(m->log[at].block, sample->other);
    assert_int_equal(here - m->log[at].first, sample->other_insn);
}

static void check_history(const struct machine *m, const struct hp_lab_path_samples *s,
                          const struct hp_lab_path_sample *sample, size_t at)
{
    uint32_t history, expected = 0, bits = 0;
    uint32_t known = hp_lab_path_history(s, m->stream.code, sample, &history);
    for (size_t i = at; i-- > at + 1 - sample->n && bits < BITS;)
        if (m->code[m->log[i].last].kind == COND)
            expected |= (uint32_t)(m->log[i + 1].first != m->log[i].last + 1) << bits++;
    assert_int_equal(known, bits);
    assert_int_equal(history, expected);
    /* No further back than was asked for: it begins with the branch that is the last one. */
    if (bits == BITS)
        assert_int_equal(m->code[m->log[at + 1 - sample->n].last].kind, COND);
}

static void samples_are_of_the_run(void **state)
{
    (void)state;
    struct machine *m = make_run();
    struct hp_lab_path_samples *s;
    void *thread;
    assert_int_equal(hp_lab_path_samples_new(20, BITS, 30, &s), HP_OK);
    assert_int_equal(s->profiler.ops->start_thread(&s->profiler, &(struct hp_thread){0}, &thread),
                     HP_OK);
    feed_log(m, &s->profiler, thread, 0, MAX_LOG - 1);
    assert_int_equal(s->profiler.ops->finish(&s->profiler, NULL), HP_OK);
    assert_in_range(s->n, 20, 39);
    assert_true(s->interval > 64); /* some were dropped */
    size_t at = 0, total = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct hp_lab_path_sample *sample = &s->samples[i];
        assert_int_equal(sample->at, total);
        total += sample->n;
        assert_in_range(sample->distance, 1, 30);
        while (at < MAX_LOG && !is_at(m, s, sample, at))
            at++; /* they are in order */
        assert_true(at < MAX_LOG);
        check_other(m, sample, at);
        check_history(m, s, sample, at);
    }
    assert_int_equal(total, s->n_blocks);
    s->profiler.ops->free(&s->profiler);
    stream_fini(&m->stream);
}

/* Nothing reaches back behind an interruption. */
static void interruptions(void **state)
{
    (void)state;
    struct machine *m = make_run();
    struct hp_lab_path_samples *s;
    void *thread;
    assert_int_equal(hp_lab_path_samples_new(1000, BITS, 1, &s), HP_OK);
    assert_int_equal(s->profiler.ops->start_thread(&s->profiler, &(struct hp_thread){0}, &thread),
                     HP_OK);
    for (size_t i = 0; i + 4 < MAX_LOG; i += 3) {
        feed_log(m, &s->profiler, thread, i, i + 3);
        s->profiler.ops->event(thread, &(struct hp_event){.kind = HP_EVENT_SIGNAL});
    }
    assert_true(s->n > 20);
    for (size_t i = 0; i < s->n; i++)
        assert_in_range(s->samples[i].n, 1, 3);
    s->profiler.ops->free(&s->profiler);
    stream_fini(&m->stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_of_the_run),
        cmocka_unit_test(interruptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
