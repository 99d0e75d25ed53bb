// SPDX-License-Identifier: MIT
/*
 * For the tests of loops: functions that are faked, 64 bytes of code each, and the slow reference behind a cursor.
 */
#ifndef HP_TEST_LOOP_FIXTURE_H
#define HP_TEST_LOOP_FIXTURE_H

#include "../support/loop_reference.h"
#include "functions_fixture.h"

/* Functions with a symbol: what has none is told apart by the reference. */
static inline struct hp_functions *new_named_functions(const struct hp_code *code)
{
    static const struct hp_symbol symbol = {.name = "f", .linkage = "f"};
    struct hp_functions *f = new_functions(code);
    for (uint32_t i = 0; i < MAX_FUNCTIONS; i++)
        f->functions[i].symbol = &symbol;
    return f;
}

/* --- The reference behind a cursor ------------------------------------------------------------ */

struct run {
    struct hp_profiler base; /* first */
    struct stream s;
    struct hp_functions *functions;
    struct loop_reference *reference;
    const struct loop_result *loops;
    size_t n;
};

static inline enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                       void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

static inline void on_batch(void *state, const struct hp_batch *batch)
{
    loop_reference_batch(((struct run *)state)->reference, 0, batch->blocks, batch->n);
}

static inline void on_event(void *state, const struct hp_event *event)
{
    loop_reference_event(((struct run *)state)->reference, 0, event);
}

static inline void free_nothing(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops ops = {.name = "reference",
                                           .start_thread = start_thread,
                                           .batch = on_batch,
                                           .event = on_event,
                                           .free = free_nothing};

static inline void run_init(struct run *r)
{
    *r = (struct run){.base.ops = &ops};
    stream_init(&r->s);
    r->functions = new_named_functions(r->s.code);
    r->reference =
        loop_reference_new(r->s.code, (struct hp_functions *[]){r->functions, r->functions});
    recorder_add(&r->s.recorder, &r->base);
}

static inline void run_words(struct run *r, const uint32_t *words, size_t n)
{
    feed(&r->s, words, n);
    assert_int_equal(hp_cursor_end(r->s.cursor, HP_END_EXIT), HP_OK);
    r->loops = loop_reference_loops(r->reference, &r->n);
}

static inline void run_fini(struct run *r)
{
    loop_reference_free(r->reference);
    free(r->functions);
    stream_fini(&r->s);
}

#endif
