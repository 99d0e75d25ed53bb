// SPDX-License-Identifier: MIT
/* The path profiler: threads, tables, windows, and somebody else who wants the paths. */
#include "path_fixture.h"

#include "profiler/path/paths.h"

/* A loop: A branches to C or falls to B; B jumps to C; C branches back to A or falls to D, which
 * returns. Paths: A.011 with 5 instructions, and A.11 with 3. */
static const struct letter loop[] = {
    {.name = 'A', .start = 0x1000, .insns = 2, .flow = HP_FLOW_COND, .target = 'C'},
    {.name = 'B', .start = 0x1007, .insns = 2, .flow = HP_FLOW_JUMP, .target = 'C'},
    {.name = 'C', .start = 0x1010, .insns = 1, .flow = HP_FLOW_COND, .target = 'A'},
    {.name = 'D', .start = 0x1016, .insns = 1, .flow = HP_FLOW_RETURN},
};

struct fixture {
    struct program_of_letters program;
    struct hp_paths_config config;
    struct hp_profiler *profiler;
    void *states[2];
    struct hp_path_sink extra; /* of the second thread */
    uint64_t seen;
};

static struct fixture *of_extra(struct hp_path_sink *sink)
{
    return (struct fixture *)((char *)sink - offsetof(struct fixture, extra));
}

static void see(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    of_extra(sink)->seen += paths->n;
}

static struct hp_path_sink *want(void *context, const struct hp_thread *thread)
{
    struct fixture *f = context;
    return thread->id == 1 ? &f->extra : NULL;
}

static void begin(struct fixture *f, const char *ppcr)
{
    LETTERS(&f->program, loop);
    f->extra.paths = see;
    f->config.extra = want;
    f->config.context = f;
    assert_int_equal(hp_ppcr_parse(ppcr, &f->config.ppcr), HP_OK);
    assert_int_equal(hp_paths_new(f->program.stream.code, NULL, &f->config, &f->profiler), HP_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct hp_thread thread = {.id = i, .pid = 7, .tid = (int32_t)(7 + i)};
        assert_int_equal(f->profiler->ops->start_thread(f->profiler, &thread, &f->states[i]),
                         HP_OK);
    }
}

/* Iterations of the loop in a thread: '0' is A.011, '1' is A.11. */
static void iterate(struct fixture *f, int thread, const char *text)
{
    struct hp_step steps[512];
    size_t n = 0;
    const uint32_t *block = f->program.block;
    for (; *text; text++) {
        steps[n++].first = block['A'];
        if (*text == '0')
            steps[n++].first = block['B'];
        steps[n++].first = block['C'];
    }
    steps[n].first = block['A'];
    for (size_t i = 0; i <= n; i++)
        steps[i].unit = hp_code_unit_of_block(f->program.stream.code, steps[i].first);
    struct hp_steps batch = {.code = f->program.stream.code, .steps = steps, .n = n};
    f->profiler->ops->steps(f->states[thread], &batch);
}

static void event(struct fixture *f, int thread, enum hp_event_kind kind)
{
    struct hp_event e = {.kind = kind, .block = HP_NO_ID, .exact = true};
    f->profiler->ops->event(f->states[thread], &e);
}

static void end(struct fixture *f)
{
    event(f, 0, HP_EVENT_END);
    event(f, 1, HP_EVENT_END);
}

static void fini(struct fixture *f)
{
    f->profiler->ops->free(f->profiler);
    letters_fini(&f->program);
}

static void threads_have_profiles_of_their_own(void **state)
{
    (void)state;
    struct fixture f = {0};
    size_t n;
    struct hp_path_count *all;
    begin(&f, "bl");
    iterate(&f, 0, "0010");
    iterate(&f, 1, "111");
    iterate(&f, 0, "1");
    end(&f);
    assert_int_equal(hp_paths_threads(f.profiler), 2);
    struct hp_paths_thread_view one = hp_paths_thread(f.profiler, 0);
    struct hp_paths_thread_view other = hp_paths_thread(f.profiler, 1);
    assert_int_equal(one.thread->tid, 7);
    assert_int_equal(other.thread->tid, 8);
    assert_int_equal(one.stats->paths, 5);
    assert_int_equal(one.stats->instructions, 5 * 3 + 3 * 2);
    const struct hp_path_count *paths = hp_complete_paths(one.complete, &n);
    assert_int_equal(n, 2);
    assert_int_equal(paths[0].count, 3);
    assert_int_equal(paths[0].insns, 15);
    assert_int_equal(paths[1].count, 2);
    paths = hp_complete_paths(other.complete, &n);
    assert_int_equal(n, 1);
    assert_int_equal(paths[0].count, 3);
    assert_int_equal(hp_paths_all(f.profiler, &all, &n), HP_OK);
    assert_int_equal(n, 2);
    assert_int_equal(all[0].count, 3);
    assert_int_equal(all[0].path.length, 3);
    assert_int_equal(all[1].count, 5);
    assert_int_equal(all[1].insns, 15);
    free(all);
    fini(&f);
}

static void tables_are_shared(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct hp_path_count paths[4];
    assert_int_equal(hp_hpt_parse("4x4", &f.config.tables[0]), HP_OK);
    assert_int_equal(hp_hpt_parse("1x1", &f.config.tables[1]), HP_OK);
    f.config.n_tables = 2;
    begin(&f, "bl");
    iterate(&f, 0, "11");
    iterate(&f, 1, "111");
    end(&f);
    assert_int_equal(hp_hpt_paths(hp_paths_table(f.profiler, 0), paths), 1);
    assert_int_equal(paths[0].count, 5);
    assert_int_equal(hp_hpt_stats(hp_paths_table(f.profiler, 1))->paths, 5);
    fini(&f);
}

static void somebody_else_sees_the_paths_of_a_thread(void **state)
{
    (void)state;
    struct fixture f = {0};
    begin(&f, "bl");
    iterate(&f, 0, "11");
    iterate(&f, 1, "111");
    assert_int_equal(f.seen, 0); /* they wait for a batch to be full */
    event(&f, 1, HP_EVENT_LOST);
    assert_int_equal(f.seen, 3);
    end(&f);
    assert_int_equal(f.seen, 3);
    fini(&f);
}

/* Windows of 10 instructions: "0 0" | "1 1 1 1" (12) | "0 1 1" (11) | "0", which is not over. Of a
 * table of one entry: all of the first and the second; of the third A.011 is replaced by A.11,
 * which is hit once: 2 of 2 in the table against 2 of 3. */
static void windows_are_compared_one_by_one(void **state)
{
    (void)state;
    struct fixture f = {0};
    assert_int_equal(hp_hpt_parse("1x1", &f.config.tables[0]), HP_OK);
    assert_int_equal(hp_hpt_parse("2x2", &f.config.tables[1]), HP_OK);
    f.config.n_tables = 2;
    f.config.window = 10;
    begin(&f, "bl");
    iterate(&f, 0, "0011110110");
    end(&f);
    const struct hp_paths_windows *windows = hp_paths_windows(f.profiler);
    assert_int_equal(windows->n, 3);
    assert_true(windows->overlap[0] > 266.66 && windows->overlap[0] < 266.67);
    assert_true(windows->overlap[1] > 299.99 && windows->overlap[1] < 300.01);
    fini(&f);
}

/* They do not depend on the batches. */
static void windows_of_small_batches(void **state)
{
    (void)state;
    struct fixture f = {0};
    assert_int_equal(hp_hpt_parse("1x1", &f.config.tables[0]), HP_OK);
    f.config.n_tables = 1;
    f.config.window = 10;
    begin(&f, "bl");
    for (const char *text = "0011110110"; *text; text++) {
        iterate(&f, 0, (char[]){*text, 0});
        event(&f, 0, HP_EVENT_LOST);
    }
    end(&f);
    assert_int_equal(hp_paths_windows(f.profiler)->n, 3);
    assert_true(hp_paths_windows(f.profiler)->overlap[0] > 266.66);
    assert_true(hp_paths_windows(f.profiler)->overlap[0] < 266.67);
    fini(&f);
}

static void a_thread_that_ended_takes_nothing_more(void **state)
{
    (void)state;
    struct fixture f = {0};
    begin(&f, "bl");
    iterate(&f, 0, "1");
    end(&f);
    iterate(&f, 0, "1");
    event(&f, 0, HP_EVENT_LOST);
    assert_int_equal(hp_paths_thread(f.profiler, 0).stats->paths, 1);
    fini(&f);
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct hp_profiler *profiler;
    LETTERS(&f.program, loop);
    struct hp_code *code = f.program.stream.code;
    assert_int_equal(hp_paths_new(code, NULL, &f.config, &profiler), HP_ERR_INVALID);
    assert_int_equal(hp_ppcr_parse("bl", &f.config.ppcr), HP_OK);
    f.config.n_tables = HP_PATHS_TABLES + 1;
    assert_int_equal(hp_paths_new(code, NULL, &f.config, &profiler), HP_ERR_INVALID);
    f.config.n_tables = 1; /* of no entries */
    assert_int_equal(hp_paths_new(code, NULL, &f.config, &profiler), HP_ERR_INVALID);
    letters_fini(&f.program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_profiles_of_their_own),
        cmocka_unit_test(tables_are_shared),
        cmocka_unit_test(somebody_else_sees_the_paths_of_a_thread),
        cmocka_unit_test(windows_are_compared_one_by_one),
        cmocka_unit_test(windows_of_small_batches),
        cmocka_unit_test(a_thread_that_ended_takes_nothing_more),
        cmocka_unit_test(bad_configurations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
