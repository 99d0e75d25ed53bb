// SPDX-License-Identifier: MIT
/*
 * Samples by path: of code made by hand, with samples whose paths are known.
 */
#include "profiler/sample/segments.h"
#include "reconstruct_fixture.h"

#define KIND     "profileme,interval=100"
#define INTERVAL 100.0
#define BITS     8

static struct machine machine;
static bool alone; /* edges are estimated from samples */

struct fixture {
    struct machine *m;
    struct hp_segments segments;
    struct hp_functions *functions;
    struct hp_profile *profile;
    struct hp_result *result;
};

struct code {
    enum kind kind;
    uint32_t target;
};

/* Runs the code from `start` on; its edges are fed in batches of a few blocks. */
static void begin(struct fixture *f, const struct code *code, size_t n, uint32_t start,
                  const char *script)
{
    struct machine *m = &machine;
    uint32_t blocks[MAX_LOG];
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < n; i++)
        emit(m, code[i].kind, code[i].target);
    link_code(m);
    run_from(m, start, script);
    stream_init(&m->stream);
    define_blocks(m);
    *f = (struct fixture){
        .m = m, .segments = {.thread = {.pid = 7, .tid = 8}, .alone = alone, .bits = BITS}};
    for (size_t i = 0; i < m->n_log; i++)
        blocks[i] = m->log[i].block;
    for (size_t at = 0; at + 1 < m->n_log; at += 7) {
        size_t left = m->n_log - 1 - at;
        const struct hp_batch batch = {.code = m->stream.code,
                                       .table = hp_code_blocks(m->stream.code),
                                       .blocks = blocks + at,
                                       .n = left < 7 ? left : 7};
        assert_int_equal(hp_segments_batch(&f->segments, &batch), HP_OK);
    }
    assert_int_equal(hp_functions_new(m->stream.code, &f->functions), HP_OK);
    assert_int_equal(hp_profile_new(&f->profile), HP_OK);
    assert_int_equal(hp_result_new(m->stream.code, f->functions, f->profile, &f->result), HP_OK);
}

static void end(struct fixture *f)
{
    hp_result_free(f->result);
    hp_profile_free(f->profile);
    hp_functions_free(f->functions);
    hp_segments_fini(&f->segments);
    stream_fini(&f->m->stream);
}

static uint32_t bits_of(const char *history)
{
    uint32_t bits = 0;
    for (; *history; history++)
        bits = bits << 1 | (*history == '1');
    return bits;
}

/* A sample of instruction `at`; histories have the first branch first. */
static void add(struct fixture *f, uint32_t at, const char *history, uint32_t cycles)
{
    const struct hp_sample sample = {.pc = address_of(f->m, at),
                                     .timing = {.insn = at,
                                                .history = bits_of(history),
                                                .done = cycles,
                                                .left = cycles + 1,
                                                .events = HP_TIMING_RETIRED}};
    assert_int_equal(hp_segments_sample(&f->segments, &sample, NULL, 0), HP_OK);
}

static void finish(struct fixture *f)
{
    assert_int_equal(hp_result_code(f->result), HP_OK);
    const char *kind = hp_profile_string(f->profile, KIND);
    assert_int_equal(hp_segments_finish(&f->segments, f->result, kind, INTERVAL), HP_OK);
}

static uint64_t stat(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->profile->n_stats; i++)
        if (strcmp(f->profile->stats[i].part, KIND) == 0 &&
            strcmp(f->profile->stats[i].name, name) == 0)
            return f->profile->stats[i].value;
    fail_msg("there is no %s", name);
    return 0;
}

/* The steps of a path: the first instruction of each, and how it was left: - fell, + taken, (
 * entered, ) returned, . end. */
static void path_text(const struct fixture *f, size_t path, char *text)
{
    static const char how[] = {
        [HP_STEP_FELL] = '-',     [HP_STEP_TAKEN] = '+', [HP_STEP_ENTERED] = '(',
        [HP_STEP_RETURNED] = ')', [HP_STEP_END] = '.',   [HP_STEP_CALLED] = '?'};
    uint32_t position = 0;
    for (size_t i = 0; i < f->profile->n_path_steps; i++) {
        const struct hp_pstep *step = &f->profile->path_steps[i];
        if (step->path != path)
            continue;
        assert_int_equal(step->position, position++);
        text += sprintf(text, "%u%c", index_of(f->m, f->profile->blocks[step->block].place.offset),
                        how[step->how]);
    }
    *text = 0;
}

/* The n-th path of the profile. */
static void expect_path(const struct fixture *f, size_t n, const char *steps, const char *outcomes,
                        uint64_t samples, uint64_t cycles)
{
    char text[512];
    assert_true(n < f->profile->n_paths);
    const struct hp_ppath *path = &f->profile->paths[n];
    const struct hp_ppath_count *count = &f->profile->path_counts[n];
    path_text(f, n, text);
    assert_string_equal(text, steps);
    assert_string_equal(path->kind, KIND);
    assert_int_equal(path->length, strlen(outcomes));
    assert_int_equal(path->outcomes, bits_of(outcomes));
    assert_int_equal(path->start.offset, address_of(f->m, (uint32_t)atoi(steps)));
    assert_int_equal(count->item, n);
    assert_int_equal(count->count, samples);
    assert_int_equal(count->insns, samples * 100);
    assert_int_equal(count->events, cycles * 100);
    assert_int_equal(f->profile->threads[count->thread].tid, 8);
}

/* --- A diamond in a loop ---------------------------------------------------------------------- */

static const struct code diamond[] = {
    {NOP, 0}, {COND, 4}, /* taken: to the right side */
    {NOP, 0}, {JMP, 5},  /* the left side */
    {NOP, 0},            /* the right side, which goes on into the join */
    {NOP, 0}, {COND, 0}, /* the join, and round */
    {RET, 0},
};
#define BEGIN(f, code, start, script) begin(f, code, sizeof(code) / sizeof *(code), start, script)
#define ROUNDS                        "0111011101110111011101110111"

static void sides_are_told_apart(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, diamond, 0, ROUNDS);
    /* In the join, which both sides lead to: a branch of the diamond, one of the loop, and so on.
     */
    add(&f, 5, "10101010", 30); /* always left */
    add(&f, 5, "11111111", 10); /* always right */
    add(&f, 5, "11111111", 10);
    add(&f, 6, "11111111", 5); /* the same place, another instruction */
    finish(&f);
    assert_int_equal(f.profile->n_paths, 2);
    expect_path(&f, 0, "5+0-2+5+0-2+5+0-2+5+0-2+5.", "10101010", 1, 30);
    expect_path(&f, 1, "5+0+4-5+0+4-5+0+4-5+0+4-5.", "11111111", 3, 25);
    assert_int_equal(stat(&f, "path.samples"), 4);
    assert_int_equal(stat(&f, "path.unknown"), 0);
    end(&f);
}

/* Which rounds went which way is in the path, and only eight branches of it. */
static void histories_are_told_apart(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, diamond, 0, ROUNDS);
    add(&f, 2, "10111010", 4);
    add(&f, 2, "0110111010", 3); /* the first two do not count */
    add(&f, 4, "10111011", 1);
    finish(&f);
    assert_int_equal(f.profile->n_paths, 2);
    expect_path(&f, 0, "5+0-2+5+0+4-5+0-2+5+0-2.", "10111010", 2, 7);
    expect_path(&f, 1, "5+0-2+5+0+4-5+0-2+5+0+4.", "10111011", 1, 1);
    end(&f);
}

static void what_cannot_be_is_unknown(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, diamond, 0, ROUNDS);
    add(&f, 2, "11111110", 2);  /* right, but for the last */
    add(&f, 2, "11111111", 2);  /* nobody comes to the left side by going right */
    add(&f, 5, "11111101", 50); /* the loop had been left */
    const struct hp_sample nowhere = {.pc = 0x1234,
                                      .timing = {.insn = 99, .events = HP_TIMING_RETIRED}};
    assert_int_equal(hp_segments_sample(&f.segments, &nowhere, NULL, 0), HP_OK);
    finish(&f);
    assert_int_equal(f.profile->n_paths, 1);
    expect_path(&f, 0, "5+0+4-5+0+4-5+0+4-5+0-2.", "11111110", 1, 2);
    assert_int_equal(stat(&f, "path.samples"), 4);
    assert_int_equal(stat(&f, "path.unknown"), 3);
    end(&f);
}

static void what_did_not_retire_has_no_path(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, diamond, 0, ROUNDS);
    struct hp_sample sample = {.pc = address_of(f.m, 2),
                               .timing = {.insn = 2,
                                          .history = bits_of("11111110"),
                                          .done = HP_NEVER,
                                          .events = HP_TIMING_WRONG_PATH}};
    assert_int_equal(hp_segments_sample(&f.segments, &sample, NULL, 0), HP_OK);
    sample = (struct hp_sample){.empty = true};
    assert_int_equal(hp_segments_sample(&f.segments, &sample, NULL, 0), HP_OK);
    assert_int_equal(f.segments.n_keys, 0);
    finish(&f); /* nothing was sampled: nothing is said */
    assert_int_equal(f.profile->n_paths, 0);
    assert_int_equal(f.profile->n_stats, 0);
    assert_int_equal(f.profile->n_threads, 0);
    end(&f);
}

/* --- Routines --------------------------------------------------------------------------------- */

/* f: 0 ?2  1 n  2 n  3 r    main: 4 c0  5 n  6 ?4  7 r */
static const struct code called[] = {{COND, 2}, {NOP, 0}, {NOP, 0},  {RET, 0},
                                     {CALL, 0}, {NOP, 0}, {COND, 4}, {RET, 0}};

/* A path begins with its routine: what came before does not tell it apart. */
static void a_path_begins_with_its_routine(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, called, 4, "01110111011101110110");
    add(&f, 2, "10101011", 6);
    add(&f, 2, "11101111", 5); /* before: other sides */
    add(&f, 2, "11101110", 4);
    finish(&f);
    assert_int_equal(f.profile->n_paths, 2);
    expect_path(&f, 0, "0+2.", "1", 2, 11);
    expect_path(&f, 1, "0-1-2.", "0", 1, 4);
    end(&f);
}

/* A call that has returned is part of its caller's path. */
static void calls_are_entered_and_left(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, called, 4, "01110111011101110110");
    add(&f, 6, "10111011", 9);
    finish(&f);
    assert_int_equal(f.profile->n_paths, 1);
    expect_path(&f, 0, "5+4(0-1-2)5+4(0+2)5+4(0-1-2)5+4(0+2)5.", "10111011", 1, 9);
    end(&f);
}

/* --- Many ------------------------------------------------------------------------------------- */

/* All histories that can be, of three instructions: more than fit into a few entries; the heaviest
 * come first. */
static void many(void **state)
{
    static const uint32_t at[] = {2, 5, 6};
    struct fixture f;
    uint64_t cycles = 0, samples = 0;
    (void)state;
    BEGIN(&f, diamond, 0, ROUNDS);
    for (uint32_t i = 0; i < 16 * 3; i++) {
        char history[9] = "1_1_1_1_";
        for (uint32_t side = 0; side < 4; side++)
            history[1 + 2 * side] = (char)('0' + (i / 3 >> side & 1));
        for (uint32_t k = 0; k <= i % 5; k++)
            add(&f, at[i % 3], history, 10 + i);
    }
    finish(&f);
    /* 16 in the join, 8 in the left side: there the last branch was not taken. */
    assert_int_equal(f.profile->n_paths, 24);
    for (size_t i = 0; i < 24; i++) {
        const struct hp_ppath_count *count = &f.profile->path_counts[i];
        assert_true(i == 0 || count[-1].events >= count->events);
        cycles += count->events;
        samples += count->count;
    }
    assert_int_equal(samples + stat(&f, "path.unknown"), stat(&f, "path.samples"));
    uint64_t expected = 0;
    for (uint32_t i = 0; i < 16 * 3; i++)
        expected += i % 3 == 0 && i / 3 >> 3 & 1 ? 0 : (uint64_t)(i % 5 + 1) * (10 + i) * 100;
    assert_int_equal(cycles, expected);
    end(&f);
}

/* --- From samples alone ----------------------------------------------------------------------- */

static int without_edges(void **state)
{
    (void)state;
    alone = true;
    return 0;
}

static int with_edges(void **state)
{
    (void)state;
    alone = false;
    return 0;
}

/* f: 0 ?2  1 n  2 n  3 r    main: 4 c0  5 n  6 ?4  7 r. The history of two branches fits both ways
 * through f, round by round; that the sides take turns is known from samples in them. */
static void sides_are_learned_from_samples(void **state)
{
    struct fixture f;
    (void)state;
    BEGIN(&f, called, 4, "01110111011101110110");
    for (int i = 0; i < 6; i++)
        add(&f, i % 3 ? 1 : 2, i % 3 ? "10101010" : "10101011", 1);
    add(&f, 6, "10101010", 9);
    assert_int_equal(f.segments.n_edges, 0); /* the run tells nothing */
    finish(&f);
    assert_int_equal(f.profile->n_paths, 3);
    expect_path(&f, 0, "5+4(0-1-2)5+4(0-1-2)5+4(0-1-2)5+4(0-1-2)5.", "10101010", 1, 9);
    expect_path(&f, 1, "0-1.", "0", 4, 4);
    expect_path(&f, 2, "0+2.", "1", 2, 2);
    end(&f);
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, without_edges, with_edges)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_are_told_apart),
        cmocka_unit_test(histories_are_told_apart),
        cmocka_unit_test(what_cannot_be_is_unknown),
        cmocka_unit_test(what_did_not_retire_has_no_path),
        cmocka_unit_test(a_path_begins_with_its_routine),
        cmocka_unit_test(calls_are_entered_and_left),
        cmocka_unit_test(many),
        ALONE(sides_are_told_apart),
        ALONE(histories_are_told_apart),
        ALONE(what_did_not_retire_has_no_path),
        ALONE(a_path_begins_with_its_routine),
        ALONE(calls_are_entered_and_left),
        ALONE(many),
        ALONE(sides_are_learned_from_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
