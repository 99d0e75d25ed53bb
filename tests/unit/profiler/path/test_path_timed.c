// SPDX-License-Identifier: MIT
/*
 * The cycles of paths: an example by hand, and random programs with random timings, against the
 * slow reference. No cycle is lost.
 */
#include "cycles_fixture.h"
#include "program_fixture.h"

#include "machine/machine.h"
#include "profiler/path/timed.h"
#include "support/path_time_reference.h"

#define FUNCTION_BYTES 64

/* Functions are 64 bytes of code; some have no symbol. */
struct functions {
    struct hp_frame_source source; /* first */
    const struct hp_code *code;
};

static uint32_t function_of(struct hp_frame_source *source, uint32_t block)
{
    const struct functions *f = (const struct functions *)source;
    uint64_t function = hp_code_block(f->code, block)->start / FUNCTION_BYTES;
    return function % 5 == 0 ? HP_NO_ID : (uint32_t)function;
}

static bool is_entry(struct hp_frame_source *source, uint32_t block)
{
    const struct functions *f = (const struct functions *)source;
    return hp_code_block(f->code, block)->start % FUNCTION_BYTES == 0;
}

/* --- A thread --------------------------------------------------------------------------------- */

struct thread {
    struct hp_sink sink; /* first: of the cursor */
    struct pipeline pipe;
    struct hp_path_timer *timer;
    struct path_time_reference *reference;
    size_t given; /* timings */
    uint64_t position;
};

static void give_timings(struct thread *t, size_t end)
{
    while (t->given < end) {
        size_t n = 1 + random_below(&t->pipe.seed, 200);
        n = n < end - t->given ? n : end - t->given;
        hp_path_timer_timings(t->timer, t->pipe.timings + t->given, n);
        path_time_reference_timings(t->reference, t->pipe.timings + t->given, n);
        t->given += n;
    }
}

/* The pipe runs so many instructions of a block, if it is in a window. */
static void run_block(struct thread *t, uint32_t insns)
{
    bool measured;
    bool run = path_time_reference_is_run(t->reference, t->position, &measured);
    t->position += insns;
    if (!run)
        return;
    t->pipe.begins = measured && !t->pipe.measured && t->pipe.n;
    t->pipe.measured = measured;
    pipeline_run(&t->pipe, insns);
}

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct thread *t = (struct thread *)sink;
    hp_path_timer_batch(t->timer, batch);
    path_time_reference_batch(t->reference, batch);
    for (size_t i = 0; i < batch->n; i++)
        run_block(t, batch->table[batch->blocks[i]].insns);
    give_timings(t, t->given + random_below(&t->pipe.seed, (uint32_t)(t->pipe.n - t->given) + 1));
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct thread *t = (struct thread *)sink;
    if (event->kind == HP_EVENT_TAIL)
        run_block(t, event->insns);
    if (event->kind == HP_EVENT_END)
        give_timings(t, t->pipe.n);
    path_time_reference_event(t->reference, event);
    hp_path_timer_event(t->timer, event);
}

/* --- Both ------------------------------------------------------------------------------------- */

static uint64_t all_of(const struct hp_path_costs *costs)
{
    uint64_t sum = 0;
    for (int i = 0; i < HP_PATH_COSTS; i++)
        sum += costs->of[i];
    return sum;
}

static void compare(const struct hp_timed_paths *timed, const struct reference_times *times)
{
    uint64_t executions = 0, sum = 0;
    assert_false(timed->out_of_memory);
    assert_int_equal(timed->n, times->n);
    for (size_t i = 0; i < times->n; i++) {
        const struct reference_time *time = &times->times[i];
        uint32_t place = hp_timed_paths_find(timed, &time->path);
        assert_int_not_equal(place, HP_NO_ID);
        assert_int_equal(timed->paths[place].count, time->count);
        assert_int_equal(timed->paths[place].insns, time->insns);
        for (int cause = 0; cause < HP_CAUSES; cause++)
            assert_int_equal(timed->costs[place].of[cause], time->parts[cause]);
        executions += time->count;
        sum += all_of(&timed->costs[place]);
    }
    assert_int_equal(timed->executions, executions);
    assert_int_equal(all_of(&timed->all), sum);
    assert_int_equal(all_of(&timed->lost), 0);
    assert_int_equal(sum + all_of(&timed->unfinished), timed->attributed);
    assert_int_equal(timed->attributed, times->parts);
}

static uint64_t n_executions, n_signals, n_paths;

static void random_ppcr(struct program *p, struct hp_ppcr *ppcr)
{
    static const char *const presets[] = {"bl", "wpp", "extended-loop:1", "extended-call:1",
                                          "forward"};
    assert_int_equal(hp_ppcr_parse(presets[random_below(&p->seed, 5)], ppcr), HP_OK);
    if (chance(p, 30))
        ppcr->max_length = 1 + random_below(&p->seed, 64);
    if (chance(p, 30))
        ppcr->stack_entries = 1 + random_below(&p->seed, 8);
    if (chance(p, 30))
        ppcr->overflow = HP_OVERFLOW_DROP_OLDEST;
    for (int i = 0; i < HP_CLASSES && chance(p, 20); i++)
        do
            ppcr->ops[i] = (uint8_t)random_below(&p->seed, 16);
        while ((ppcr->ops[i] & 3) == 3);
}

static void run_thread(struct program *p, struct stream *s, const struct hp_ppcr *ppcr,
                       struct hp_frame_source *frames, const struct hp_paths_cycles *cycles,
                       struct hp_timed_paths *timed, struct reference_times *times)
{
    struct hp_cursor *cursor;
    struct thread t = {.sink = {.batch = on_batch, .event = on_event},
                       .pipe = {.seed = p->seed,
                                .insns = 40,
                                .mispredicts = random_below(&p->seed, 4) * 5,
                                .traps = random_below(&p->seed, 3) * 4,
                                .misses = random_below(&p->seed, 5) * 10,
                                .measured = true}};
    t.reference = path_time_reference_new(ppcr, frames, &cycles->windows, FRONT_STAGES);
    assert_int_equal(hp_path_timer_new(ppcr, frames, s->code, cycles, false, timed, &t.timer),
                     HP_OK);
    assert_int_equal(hp_cursor_new(s->code, NULL, &t.sink, &cursor), HP_OK);
    for (size_t at = 0, n; at < p->n_words; at += n) {
        n = 1 + random_below(&p->seed, 200);
        n = n < p->n_words - at ? n : p->n_words - at;
        assert_int_equal(hp_cursor_feed(cursor, p->words + at, n), HP_OK);
    }
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    hp_cursor_free(cursor);
    path_time_reference_finish(t.reference, hp_code_blocks(s->code), times);
    hp_path_timer_free(t.timer);
    free(t.pipe.timings);
}

/* Two threads with the same words and other timings. */
static void run_seed(uint64_t seed, bool in_windows)
{
    struct program p;
    struct stream s;
    struct hp_ppcr ppcr;
    struct hp_timed_paths timed;
    struct reference_times times = {0};
    struct hp_machine machine = {.core.front_stages = FRONT_STAGES};
    struct hp_paths_cycles cycles = {.machine = &machine};
    program_init(&p, seed);
    if (seed % 4)
        program_make_native(&p);
    stream_init(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 800));
    if (seed % 5 == 0)
        spoil(&p, 1 + random_below(&p.seed, 10));
    struct functions functions = {.source = {.function_of = function_of, .is_entry = is_entry},
                                  .code = s.code};
    random_ppcr(&p, &ppcr);
    if (in_windows) {
        cycles.windows.detail = 1 + random_below(&p.seed, 400);
        cycles.windows.ramp = random_below(&p.seed, 30);
        cycles.windows.period =
            cycles.windows.detail + cycles.windows.ramp + random_below(&p.seed, 300);
        cycles.windows.warm =
            random_below(&p.seed, 2)
                ? 0
                : cycles.windows.period - cycles.windows.ramp - cycles.windows.detail;
    }
    hp_timed_paths_init(&timed, 0);
    for (int i = 0; i < 2; i++)
        run_thread(&p, &s, &ppcr, chance(&p, 80) ? &functions.source : NULL, &cycles, &timed,
                   &times);
    compare(&timed, &times);
    n_executions += timed.executions;
    n_paths += timed.n;
    n_signals += p.signals > 0;
    hp_timed_paths_fini(&timed);
    free(times.times);
    stream_fini(&s);
    program_fini(&p);
}

static void as_by_the_reference(void **state)
{
    (void)state;
    n_executions = n_paths = n_signals = 0;
    for (uint64_t seed = 1; seed <= 200; seed++)
        run_seed(seed, false);
    assert_true(n_executions > 20000 && n_paths > 1000 && n_signals > 50);
}

static void as_by_the_reference_in_windows(void **state)
{
    (void)state;
    n_executions = n_paths = n_signals = 0;
    for (uint64_t seed = 1001; seed <= 1200; seed++)
        run_seed(seed, true);
    assert_true(n_executions > 5000 && n_paths > 1000 && n_signals > 50);
}

/* --- By hand ---------------------------------------------------------------------------------- */

#define LOOP   0x1000 /* add, jne LOOP */
#define BEHIND 0x1005 /* nop, ret */

/* Two rounds, of which the second is mispredicted, and a third one with what is behind. */
static const struct hp_timing by_hand[] = {
    /* 0-2 fetch, 3 execute, 4 retires */
    {.fetched = 0, .mapped = 2, .issued = 3, .done = 4, .left = 4, .loaded = HP_NEVER},
    {.fetched = 0, .mapped = 2, .issued = 3, .done = 4, .left = 4, .loaded = HP_NEVER},
    /* 5 memory, 6 retires */
    {.fetched = 1,
     .mapped = 2,
     .issued = 3,
     .done = 5,
     .left = 5,
     .loaded = 5,
     .data_from = HP_FROM_MEMORY},
    {.fetched = 1,
     .mapped = 2,
     .issued = 3,
     .done = 4,
     .left = 5,
     .loaded = HP_NEVER,
     .events = HP_TIMING_MISPREDICTED},
    /* 7-12 mispredict, 13 execute, 14 retires; 15 retires */
    {.fetched = 10, .mapped = 2, .issued = 3, .done = 4, .left = 4, .loaded = HP_NEVER},
    {.fetched = 10, .mapped = 2, .issued = 3, .done = 4, .left = 4, .loaded = HP_NEVER},
    {.fetched = 10, .mapped = 2, .issued = 3, .done = 4, .left = 4, .loaded = HP_NEVER},
    {.fetched = 10, .mapped = 2, .issued = 3, .done = 5, .left = 5, .loaded = HP_NEVER},
};

static void time_by_hand(struct hp_timed_paths *timed, uint64_t max_paths)
{
    const struct hp_machine machine = {.core.front_stages = FRONT_STAGES};
    const struct hp_paths_cycles cycles = {.machine = &machine};
    const uint32_t blocks[] = {0, 0, 0, 1, 0};
    const uint8_t taken[] = {1, 1, 0, 1};
    struct hp_timing timings[sizeof by_hand / sizeof *by_hand];
    struct hp_path_timer *timer;
    struct hp_ppcr ppcr;
    struct stream s;
    stream_init(&s);
    add_segment(&s, 1, LOOP, "48 01 d8 75 fb");
    add_segment(&s, 2, BEHIND, "90 c3");
    assert_int_equal(hp_ppcr_parse("bl", &ppcr), HP_OK);
    hp_timed_paths_init(timed, max_paths);
    assert_int_equal(hp_path_timer_new(&ppcr, NULL, s.code, &cycles, false, timed, &timer), HP_OK);
    struct hp_batch batch = {.code = s.code,
                             .table = hp_code_blocks(s.code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = sizeof taken};
    memcpy(timings, by_hand, sizeof timings);
    for (size_t i = 0; i < sizeof timings / sizeof *timings; i++)
        timings[i].events |= HP_TIMING_RETIRED | HP_TIMING_MEASURED;
    hp_path_timer_batch(timer, &batch);
    hp_path_timer_timings(timer, timings, sizeof timings / sizeof *timings);
    assert_int_equal(timed->n, 1); /* what retired last may still be given more */
    hp_path_timer_event(timer, &(struct hp_event){.kind = HP_EVENT_END});
    hp_path_timer_free(timer);
    stream_fini(&s);
}

static void expect_cycles(const struct hp_path_costs *costs, enum hp_cause cause, uint64_t cycles)
{
    assert_int_equal(costs->of[cause], cycles * HP_CYCLE_PARTS);
}

static void an_example(void **state)
{
    (void)state;
    struct hp_timed_paths timed;
    time_by_hand(&timed, 0);
    assert_int_equal(timed.n, 2);
    const struct hp_path_costs *round = &timed.costs[0], *last = &timed.costs[1];
    assert_int_equal(timed.paths[0].path.start, LOOP);
    assert_int_equal(timed.paths[0].path.outcomes, 1);
    assert_int_equal(timed.paths[0].count, 2);
    assert_int_equal(timed.paths[0].insns, 4);
    expect_cycles(round, HP_CAUSE_FETCH, 3);
    expect_cycles(round, HP_CAUSE_EXECUTE, 1);
    expect_cycles(round, HP_CAUSE_MEMORY, 1);
    expect_cycles(round, HP_CAUSE_RETIRE, 2);
    expect_cycles(round, HP_CAUSE_MISPREDICT, 6);
    assert_int_equal(timed.paths[1].path.outcomes, 0);
    assert_int_equal(timed.paths[1].count, 1);
    assert_int_equal(timed.paths[1].insns, 4);
    expect_cycles(last, HP_CAUSE_EXECUTE, 1);
    expect_cycles(last, HP_CAUSE_RETIRE, 2);
    assert_int_equal(all_of(round) + all_of(last), 16 * HP_CYCLE_PARTS);
    assert_int_equal(timed.attributed, 16 * HP_CYCLE_PARTS);
    assert_int_equal(all_of(&timed.unfinished), 0);
    hp_timed_paths_fini(&timed);
}

static void without_room_cycles_are_lost(void **state)
{
    (void)state;
    struct hp_timed_paths timed;
    time_by_hand(&timed, 1);
    assert_int_equal(timed.n, 1);
    assert_int_equal(timed.executions, 3);
    expect_cycles(&timed.lost, HP_CAUSE_EXECUTE, 1);
    expect_cycles(&timed.lost, HP_CAUSE_RETIRE, 2);
    assert_int_equal(all_of(&timed.all) + all_of(&timed.lost), timed.attributed);
    hp_timed_paths_fini(&timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_example),
        cmocka_unit_test(without_room_cycles_are_lost),
        cmocka_unit_test(as_by_the_reference),
        cmocka_unit_test(as_by_the_reference_in_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
