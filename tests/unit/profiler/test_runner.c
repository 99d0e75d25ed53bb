// SPDX-License-Identifier: MIT
/*
 * What runs a thread on a machine: which of its instructions go to the pipe, to the core, or
 * nowhere; what is measured of them.
 */
#include "pipe_fixture.h"
#include "profiler/runner.h"

#define BASE   0x400000
#define LOOP   "48 01 d8  48 01 d8  48 01 d8  eb f5" /* three times add rax, rbx; jmp to itself */
#define INSNS  4                                     /* of it */
#define BLOCKS 30

/* The code and what is to be run are the pipe fixture's; its own pipe is not used. */
struct running {
    struct piped p;
    struct hp_cycles_setup setup;
    struct hp_cores cores;
    struct hp_runner runner;
};

static void begin(struct running *r, const char *hex, const struct hp_windows *windows)
{
    memset(r, 0, sizeof *r);
    piped_init(&r->p);
    add_segment(&r->p.s, 1, BASE, hex);
    piped_start(&r->p, PIPE_SMALL, -1);
    assert_int_equal(hp_cores_init(&r->cores, r->p.machine), HP_OK);
    if (windows)
        r->setup = (struct hp_cycles_setup){.program = r->p.program, .windows = *windows};
    assert_int_equal(
        hp_runner_init(&r->runner, r->p.machine, windows ? &r->setup : NULL, piped_take, &r->p),
        HP_OK);
}

static void end(struct running *r)
{
    hp_runner_fini(&r->runner);
    hp_cores_fini(&r->cores);
    piped_fini(&r->p);
}

/* What comes next does not follow. */
static void lose(struct running *r)
{
    const struct hp_event lost = {.kind = HP_EVENT_LOST};
    const struct hp_events *events;
    assert_int_equal(hp_runner_event(&r->runner, &r->cores, r->p.s.code, &lost, true, &events),
                     HP_OK);
    assert_null(events);
}

/* So many rounds of the loop, and what comes after them. */
static void add_rounds(struct running *r, unsigned n)
{
    for (unsigned i = 0; i <= n; i++)
        piped_add(&r->p, BASE, 0, AT());
}

/* Gives blocks first ... last - 1 to the runner. */
static struct hp_batch run_blocks(struct running *r, size_t first, size_t last, bool in_region)
{
    struct piped *p = &r->p;
    struct hp_batch batch = {.code = p->s.code,
                             .table = hp_code_blocks(p->s.code),
                             .blocks = p->blocks + first,
                             .taken = p->taken + first,
                             .n = last - first,
                             .addresses = p->addresses,
                             .address_at = p->address_at + first};
    assert_true(last < p->n_blocks);
    assert_int_equal(hp_runner_batch(&r->runner, &r->cores, p->s.code, &batch, in_region), HP_OK);
    return batch;
}

static uint64_t stat(const struct running *r, const char *name)
{
    for (const struct hp_core_stat *s = hp_core_stats(r->runner.core); s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s->value;
    fail_msg("there is no %s", name);
    return 0;
}

static size_t count_measured(const struct running *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->p.n; i++)
        n += (r->p.timings[i].events & HP_TIMING_MEASURED) != 0;
    return n;
}

/* --- Phases ----------------------------------------------------------------------------------- */

/* Of ten blocks three are skipped, two warm, two fill the pipe, three are measured. */
static const struct hp_windows windows = {.period = 40, .warm = 8, .ramp = 8, .detail = 12};

static void check_windows(const struct running *r)
{
    assert_int_equal(r->runner.stats.instructions, BLOCKS * INSNS);
    assert_int_equal(r->runner.stats.measured, 3 * 12);
    assert_int_equal(r->runner.n_windows, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(r->runner.windows[i], 40 * i + 28);
    assert_int_equal(r->p.n, 3 * 20);
    for (size_t i = 0; i < r->p.n; i++) {
        const struct hp_timing *t = &r->p.timings[i];
        assert_true(t->events & HP_TIMING_RETIRED);
        assert_int_equal(!!(t->events & HP_TIMING_MEASURED), i % 20 >= 8);
        assert_int_equal(!!(t->events & HP_TIMING_WINDOW), i % 20 == 8);
    }
    assert_int_equal(hp_pipe_stats(r->runner.pipe)->retired, 3 * 20);
    assert_int_equal(stat(r, "instructions"), 3 * (20 + 8)); /* those that warm, too */
    assert_int_equal(stat(r, "blocks"), 3 * (5 + 2));
}

static void each_phase_has_its_place(void **state)
{
    struct running r;
    (void)state;
    begin(&r, LOOP, &windows);
    add_rounds(&r, BLOCKS);
    struct hp_batch batch = run_blocks(&r, 0, BLOCKS, true);
    assert_null(batch.events); /* not of every block: then of none */
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    check_windows(&r);
    end(&r);
}

static void batches_make_no_difference(void **state)
{
    struct running whole, parts;
    uint64_t seed = 5;
    (void)state;
    begin(&whole, LOOP, &windows);
    add_rounds(&whole, BLOCKS);
    run_blocks(&whole, 0, BLOCKS, true);
    assert_int_equal(hp_runner_end(&whole.runner), HP_OK);
    for (int round = 0; round < 20; round++) {
        begin(&parts, LOOP, &windows);
        add_rounds(&parts, BLOCKS);
        for (size_t at = 0; at < BLOCKS;) {
            size_t n = 1 + random_below(&seed, 6);
            n = n < BLOCKS - at ? n : BLOCKS - at;
            run_blocks(&parts, at, at + n, true);
            at += n;
        }
        assert_int_equal(hp_runner_end(&parts.runner), HP_OK);
        check_windows(&parts);
        assert_memory_equal(parts.p.timings, whole.p.timings, whole.p.n * sizeof *whole.p.timings);
        end(&parts);
    }
    end(&whole);
}

/* Behind a window nothing is in flight: what comes next is not run in cycles. */
static void a_window_ends_with_its_last_instruction(void **state)
{
    struct running r;
    (void)state;
    begin(&r, LOOP, &windows);
    add_rounds(&r, BLOCKS);
    run_blocks(&r, 0, 10, true);
    assert_true(r.p.n < 20); /* it may go on */
    run_blocks(&r, 10, 11, true);
    assert_int_equal(r.p.n, 20);
    end(&r);
}

static void blocks_are_not_divided(void **state)
{
    static const struct hp_windows odd = {.period = 20, .warm = 5, .ramp = 3, .detail = 4};
    struct running r;
    uint64_t cycles = 0, measured = 0, warm = 0;
    (void)state;
    begin(&r, "90 90 90 90 90 90 eb f8", &odd); /* six nops and the jump */
    add_rounds(&r, 100);
    run_blocks(&r, 0, 100, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t at = i * 7 % 20; /* a block is in the phase in which it begins */
        warm += at >= 8 && at < 13 ? 7 : 0;
        cycles += at >= 13 ? 7 : 0;
        measured += at >= 16 ? 7 : 0;
    }
    assert_int_equal(r.runner.stats.instructions, 700);
    assert_int_equal(r.runner.stats.measured, measured);
    assert_int_equal(r.p.n, cycles);
    assert_int_equal(count_measured(&r), measured);
    assert_int_equal(stat(&r, "instructions"), cycles + warm);
    assert_int_equal(r.runner.n_windows, measured / 7); /* no two of them are next to each other */
    for (size_t i = 0; i < r.runner.n_windows; i++) {
        assert_int_equal(r.runner.windows[i] % 7, 0);
        assert_true(r.runner.windows[i] % 20 >= 16);
    }
    end(&r);
}

static void all_of_it(void **state)
{
    struct running r;
    static const struct hp_windows everything = {0};
    (void)state;
    begin(&r, LOOP, &everything);
    add_rounds(&r, BLOCKS);
    run_blocks(&r, 0, 11, true);
    run_blocks(&r, 11, BLOCKS, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    assert_int_equal(r.p.n, BLOCKS * INSNS);
    assert_int_equal(count_measured(&r), BLOCKS * INSNS);
    assert_int_equal(r.runner.stats.measured, BLOCKS * INSNS);
    assert_int_equal(r.runner.n_windows, 1);
    assert_int_equal(r.runner.windows[0], 0);
    end(&r);
}

/* What warms has the caches ready; what is skipped has not. */
static void what_warms_is_seen_by_the_caches(void **state)
{
    static const struct hp_windows cold = {.period = 20, .ramp = 2, .detail = 2};
    static const struct hp_windows warm = {.period = 20, .warm = 16, .ramp = 2, .detail = 2};
    struct running r;
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(&r, "48 8b 03  eb fb", i ? &warm : &cold); /* mov rax, [rbx] */
        for (int k = 0; k < 11; k++)
            piped_add(&r.p, BASE, 0, AT(0x8000));
        run_blocks(&r, 0, 10, true);
        assert_int_equal(hp_runner_end(&r.runner), HP_OK);
        assert_int_equal(r.p.n, 4);
        assert_int_equal(r.p.timings[0].data_from, i ? HP_FROM_L1 : HP_FROM_MEMORY);
        assert_int_equal(r.p.timings[2].address, 0x8000);
        assert_int_equal(stat(&r, "l1d.misses"), 1);
        assert_int_equal(stat(&r, "instructions"), i ? 20 : 4);
        end(&r);
    }
}

/* --- Outside of the region, and without cycles ------------------------------------------------ */

static void before_the_region_it_only_warms(void **state)
{
    struct running r;
    static const struct hp_windows everything = {0};
    (void)state;
    begin(&r, "48 8b 03  eb fb", &everything);
    for (int k = 0; k < 9; k++)
        piped_add(&r.p, BASE, 0, AT(0x8000));
    struct hp_batch batch = run_blocks(&r, 0, 4, false);
    assert_null(batch.events);
    assert_int_equal(r.runner.stats.instructions, 0);
    assert_int_equal(r.runner.n_windows, 0);
    run_blocks(&r, 4, 8, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    assert_int_equal(r.p.n, 8);
    assert_int_equal(r.p.timings[0].data_from, HP_FROM_L1);
    assert_int_equal(r.runner.stats.instructions, 8);
    assert_int_equal(r.runner.stats.measured, 8);
    assert_int_equal(r.runner.windows[0], 0); /* of the region */
    end(&r);
}

static void without_cycles_there_are_events(void **state)
{
    struct running r;
    const struct hp_events *events;
    (void)state;
    begin(&r, "48 8b 03  eb fb", NULL);
    assert_null(r.runner.pipe);
    for (int k = 0; k < 3; k++)
        piped_add(&r.p, BASE, 0, AT(0x8000));
    struct hp_batch batch = run_blocks(&r, 0, 2, true);
    assert_non_null(batch.events);
    assert_int_equal(batch.events[0].count[HP_METRIC_L1D_MISSES], 1);
    assert_int_equal(batch.events[1].count[HP_METRIC_L1D_MISSES], 0);
    const uint64_t address = 0x9000;
    const struct hp_event tail = {.kind = HP_EVENT_TAIL,
                                  .block = r.p.blocks[0],
                                  .insns = 1,
                                  .addresses = &address,
                                  .n_addresses = 1};
    assert_int_equal(hp_runner_event(&r.runner, &r.cores, r.p.s.code, &tail, true, &events), HP_OK);
    assert_non_null(events);
    assert_int_equal(events->count[HP_METRIC_L1D_MISSES], 1);
    lose(&r);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    assert_int_equal(r.p.n, 0);
    end(&r);
}

/* --- Events in windows ------------------------------------------------------------------------ */

static const struct hp_events *run_tail(struct running *r, uint32_t insns)
{
    const struct hp_events *events;
    const struct hp_event tail = {.kind = HP_EVENT_TAIL, .block = 0, .insns = insns};
    assert_int_equal(hp_runner_event(&r->runner, &r->cores, r->p.s.code, &tail, true, &events),
                     HP_OK);
    return events;
}

/* Tails count, and are in a phase, like blocks. */
static void tails_are_in_phases(void **state)
{
    struct running r;
    (void)state;
    begin(&r, LOOP, &windows);
    for (uint64_t i = 0; i < 60; i++) { /* two instructions each */
        uint64_t seen = stat(&r, "instructions"), at = i * 2 % 40;
        assert_null(run_tail(&r, 2));
        lose(&r);
        if (at < 20) /* skipped, or warm: at once */
            assert_int_equal(stat(&r, "instructions") - seen, at < 12 ? 0 : 2);
    }
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    assert_int_equal(r.runner.stats.instructions, 120);
    assert_int_equal(r.runner.stats.measured, 36);
    assert_int_equal(r.runner.n_windows, 3);
    assert_int_equal(r.p.n, 60);
    assert_int_equal(count_measured(&r), 36);
    end(&r);
}

static void an_empty_tail_begins_no_second_window(void **state)
{
    struct running r;
    static const struct hp_windows everything = {0};
    (void)state;
    begin(&r, LOOP, &everything);
    run_tail(&r, 0);
    run_tail(&r, 0);
    add_rounds(&r, 2);
    run_blocks(&r, 0, 2, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    assert_int_equal(r.runner.n_windows, 1);
    assert_int_equal(r.p.n, 2 * INSNS);
    end(&r);
}

/* In the pipe what follows waits until everything before it has retired; without one there is
 * nothing to wait for. */
static void breaks(void **state)
{
    struct running r;
    (void)state;
    begin(&r, LOOP, &windows);
    add_rounds(&r, BLOCKS);
    run_blocks(&r, 0, 1, true);
    lose(&r);                   /* skipped */
    run_blocks(&r, 1, 8, true); /* one is measured */
    lose(&r);
    run_blocks(&r, 8, 10, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    assert_int_equal(r.p.n, 20);
    const struct hp_timing *last = &r.p.timings[11], *next = &r.p.timings[12];
    assert_true(next->fetched >= last->fetched + last->left);
    assert_true(r.p.timings[16].fetched < r.p.timings[15].fetched + r.p.timings[15].left);
    assert_int_equal(r.runner.n_windows, 1); /* it is still the same window */
    end(&r);
}

/* --- The branch queue ------------------------------------------------------------------------- */

/* The costs of a batch go with their blocks, wherever in it a window begins. */
static void costs_go_with_their_blocks(void **state)
{
    struct running r;
    uint16_t costs[BLOCKS] = {0};
    (void)state;
    begin(&r, LOOP, &windows);
    hp_runner_fini(&r.runner);
    r.setup.has_queue = true;
    assert_int_equal(hp_runner_init(&r.runner, r.p.machine, &r.setup, piped_take, &r.p), HP_OK);
    add_rounds(&r, BLOCKS);
    costs[1] = 1000; /* skipped: nobody takes it */
    costs[17] = 70;  /* the first that is measured in the second window */
    costs[18] = 1;
    r.runner.costs = costs;
    run_blocks(&r, 0, BLOCKS, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    check_windows(&r);
    for (size_t i = 0; i < r.p.n; i++) /* the jump of block 18: of the second window the fourth */
        assert_int_equal(!!(r.p.timings[i].events & HP_TIMING_QUEUE_STALL), i == 20 + 4 * 4 - 1);
    const struct hp_timing *first = &r.p.timings[20 + 3 * 4 - 1], *second = first + 4;
    assert_int_equal(second->fetched + second->left, first->fetched + first->left + 70);
    end(&r);
}

static void what_was_done_stays(void **state)
{
    struct running r;
    (void)state;
    begin(&r, LOOP, &windows);
    add_rounds(&r, BLOCKS);
    run_blocks(&r, 0, BLOCKS, true);
    assert_int_equal(hp_runner_end(&r.runner), HP_OK);
    hp_runner_close(&r.runner);
    assert_null(r.runner.pipe);
    assert_null(r.runner.core);
    assert_int_equal(r.runner.stats.measured, 36);
    assert_int_equal(r.runner.n_windows, 3);
    assert_int_equal(r.runner.windows[2], 108);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_has_its_place),
        cmocka_unit_test(batches_make_no_difference),
        cmocka_unit_test(a_window_ends_with_its_last_instruction),
        cmocka_unit_test(blocks_are_not_divided),
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(what_warms_is_seen_by_the_caches),
        cmocka_unit_test(before_the_region_it_only_warms),
        cmocka_unit_test(without_cycles_there_are_events),
        cmocka_unit_test(tails_are_in_phases),
        cmocka_unit_test(an_empty_tail_begins_no_second_window),
        cmocka_unit_test(breaks),
        cmocka_unit_test(costs_go_with_their_blocks),
        cmocka_unit_test(what_was_done_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
