// SPDX-License-Identifier: MIT
/*
 * Loop models of any size on any branches: they do what the slow reference does, one branch at a
 * time and behind the stream by batches or by steps, whatever the pieces it comes in.
 */
#include "program_fixture.h"
#include "support/daprof_reference.h"

#include "profiler/loop/models.h"

#define N_MODELS 6

/* --- Random models ---------------------------------------------------------------------------- */

static uint32_t between(uint64_t *seed, uint32_t low, uint32_t high)
{
    return low + random_below(seed, high - low + 1);
}

static struct hp_loop_config random_config(uint64_t *seed)
{
    static const char *const presets[] = {"daprof", "daprof-16way", "daprof-full", "frequent"};
    struct hp_loop_config c;
    assert_int_equal(hp_loop_config_parse(presets[random_below(seed, 4)], &c), HP_OK);
    if (random_below(seed, 4)) { /* small, so that everything happens */
        c.ways = between(seed, 1, 6);
        c.entries = c.ways << between(seed, 0, 2);
    }
    if (random_below(seed, 2))
        c.fifo = between(seed, 0, 3);
    c.fifo_service = between(seed, 1, 5);
    if (random_below(seed, 2))
        c.max_offset = between(seed, 1, 300);
    if (random_below(seed, 2))
        c.execution_bits = between(seed, 2, 5);
    c.insn_bytes = random_below(seed, 2) ? 1 : between(seed, 0, 4);
    if (c.kind == HP_LOOP_FREQUENT)
        return c;
    c.freshness = between(seed, 0, c.ways / 2);
    c.fraction_bits = between(seed, 1, 5);
    if (random_below(seed, 2))
        c.iteration_bits = between(seed, 1, 5);
    if (random_below(seed, 2))
        c.depth_bits = between(seed, 1, 3);
    c.contexts = between(seed, 0, 4);
    c.calls = random_below(seed, 3) > 0;
    c.first_average = random_below(seed, 2);
    c.exact_average = random_below(seed, 5) == 0;
    c.tasks = random_below(seed, 2);
    return c;
}

/* What was compared, to be sure that it happened. */
static struct hp_loop_stats seen;

static void compare(const struct hp_loop_config *config, const struct hp_loop_model *model,
                    const struct daprof_reference *reference)
{
    struct hp_loop_entry *entries, *expected = calloc(config->entries, sizeof *expected);
    const struct hp_loop_stats *stats = hp_loop_model_stats(model);
    const struct hp_loop_stats *wanted = daprof_reference_stats(reference);
    size_t n, n_expected;
    assert_non_null(expected);
    assert_memory_equal(stats, wanted, sizeof *stats);
    n_expected = daprof_reference_entries(reference, expected);
    assert_int_equal(hp_loop_model_entries(model, &entries, &n), HP_OK);
    assert_int_equal(n, n_expected);
    assert_memory_equal(entries, expected, n * sizeof *entries);
    free(entries);
    free(expected);
    seen.branches += stats->branches;
    seen.overflows += stats->overflows;
    seen.replacements += stats->replacements;
    seen.halvings += stats->halvings;
    seen.saturations += stats->saturations;
    seen.context_overflows += stats->context_overflows;
}

static void assert_everything_happened(void)
{
    assert_true(seen.branches > 100000 && seen.overflows > 1000 && seen.replacements > 1000 &&
                seen.halvings > 1000 && seen.saturations > 1000 && seen.context_overflows > 1000);
}

/* --- Branches --------------------------------------------------------------------------------- */

/* Loops lie in one another or side by side; most branches come again soon. */
static struct hp_branch random_branch(uint64_t *seed, const struct hp_branch *before)
{
    static const enum hp_flow flows[] = {HP_FLOW_COND,    HP_FLOW_COND,   HP_FLOW_JUMP,
                                         HP_FLOW_CALL,    HP_FLOW_RETURN, HP_FLOW_CALL_IND,
                                         HP_FLOW_JUMP_IND};
    if (random_below(seed, 100) < 55) {
        struct hp_branch again = *before;
        again.insns = random_below(seed, 3) ? again.insns : between(seed, 1, 9);
        again.taken = random_below(seed, 10) > 0;
        return again;
    }
    uint64_t address = 0x1000 + 8 * random_below(seed, 24);
    return (struct hp_branch){.address = address,
                              .target = address - 8 * (address / 8 % 5) * (address / 8 % 7),
                              .insns = between(seed, 1, 9),
                              .flow = (uint8_t)flows[random_below(seed, 7)],
                              .taken = 1,
                              .end = random_below(seed, 4) ? 0 : address};
}

static void branches_one_by_one(void **state)
{
    (void)state;
    seen = (struct hp_loop_stats){0};
    for (uint64_t i = 1; i <= 600; i++) {
        uint64_t seed = i;
        struct hp_loop_config config = random_config(&seed), again;
        struct hp_branch branch = {.insns = 1};
        struct hp_loop_model *model;
        uint32_t thread = 0;
        char text[256];
        hp_loop_config_format(&config, text, sizeof text);
        assert_int_equal(hp_loop_config_parse(text, &again), HP_OK);
        assert_memory_equal(&config, &again, sizeof config);
        assert_int_equal(hp_loop_model_new(&config, &model), HP_OK);
        struct daprof_reference *reference = daprof_reference_new(&config);
        for (int k = 0; k < 2000; k++) {
            branch = random_branch(&seed, &branch);
            thread = random_below(&seed, 50) ? thread : random_below(&seed, 3);
            hp_loop_model_branch(model, thread, &branch);
            daprof_reference_branch(reference, thread, &branch);
            if (k % 100 == 0)
                compare(&config, model, reference);
        }
        compare(&config, model, reference);
        daprof_reference_free(reference);
        hp_loop_model_free(model);
    }
    assert_everything_happened();
}

/* --- Behind the stream ------------------------------------------------------------------------ */

enum way { BY_BATCH, BY_STEPS, BY_BRANCH };

/* One thread's sink. */
struct watcher {
    struct hp_sink sink; /* first */
    enum way way;
    uint32_t thread;
    struct hp_profiler *profiler;
    void *state;
    struct hp_loop_model **models;
    struct daprof_reference **references;
    struct hp_cursor *cursor;
};

static void show(struct watcher *w, const struct hp_branch *branch)
{
    for (size_t i = 0; i < N_MODELS; i++) {
        hp_loop_model_branch(w->models[i], w->thread, branch);
        daprof_reference_branch(w->references[i], w->thread, branch);
    }
}

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct watcher *w = (struct watcher *)sink;
    struct hp_branch branch;
    if (w->way == BY_BATCH) {
        w->profiler->ops->batch(w->state, batch);
        return;
    }
    for (size_t i = 0; i < batch->n; i++) {
        hp_batch_branch(batch, i, &branch);
        show(w, &branch);
    }
}

static void on_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    struct watcher *w = (struct watcher *)sink;
    w->profiler->ops->steps(w->state, steps);
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct watcher *w = (struct watcher *)sink;
    const struct hp_branch call = {.flow = HP_FLOW_CALL, .taken = 1, .target = 1};
    if (w->way != BY_BRANCH)
        w->profiler->ops->event(w->state, event);
    else if (event->kind == HP_EVENT_SIGNAL)
        show(w, &call);
}

#define N_THREADS 2

/* The same words to two threads, by turns, in pieces that depend on the seed. */
static void feed_all(struct watcher *watchers, const struct program *p, uint64_t seed)
{
    size_t at[N_THREADS] = {0};
    while (at[0] < p->n_words || at[1] < p->n_words) {
        uint32_t t = random_below(&seed, N_THREADS);
        size_t n = 1 + random_below(&seed, random_below(&seed, 3) ? 30 : 2000);
        n = n < p->n_words - at[t] ? n : p->n_words - at[t];
        assert_int_equal(hp_cursor_feed(watchers[t].cursor, p->words + at[t], n), HP_OK);
        at[t] += n;
    }
    for (uint32_t t = 0; t < N_THREADS; t++)
        assert_int_equal(hp_cursor_end(watchers[t].cursor, HP_END_EXIT), HP_OK);
}

static void watch(enum way way, struct hp_profiler *profiler, struct hp_loop_model **models,
                  struct daprof_reference **references, struct hp_code *code,
                  const struct program *p, uint64_t seed)
{
    struct watcher watchers[N_THREADS];
    for (uint32_t t = 0; t < N_THREADS; t++) {
        struct hp_thread thread = {.id = t, .pid = 1, .tid = (int32_t)t + 1};
        watchers[t] = (struct watcher){.sink = {.batch = on_batch, .event = on_event},
                                       .way = way,
                                       .thread = t,
                                       .profiler = profiler,
                                       .models = models,
                                       .references = references};
        if (way == BY_STEPS)
            watchers[t].sink.steps = on_steps;
        if (profiler)
            assert_int_equal(profiler->ops->start_thread(profiler, &thread, &watchers[t].state),
                             HP_OK);
        assert_int_equal(hp_cursor_new(code, NULL, &watchers[t].sink, &watchers[t].cursor), HP_OK);
    }
    feed_all(watchers, p, seed);
    for (uint32_t t = 0; t < N_THREADS; t++)
        hp_cursor_free(watchers[t].cursor);
}

static void run_seed(uint64_t seed, bool native, bool spoiled)
{
    struct program p;
    struct stream s;
    struct hp_loop_config configs[N_MODELS];
    struct hp_loop_model *models[N_MODELS];
    struct daprof_reference *references[N_MODELS];
    struct hp_profiler *batches, *steps;
    program_init(&p, seed);
    if (native)
        program_make_native(&p);
    stream_init(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 2000));
    if (spoiled)
        spoil(&p, 1 + random_below(&p.seed, 10));
    for (size_t i = 0; i < N_MODELS; i++) {
        configs[i] = random_config(&p.seed);
        configs[i].insn_bytes = configs[i].insn_bytes ? configs[i].insn_bytes : 1;
        assert_int_equal(hp_loop_model_new(&configs[i], &models[i]), HP_OK);
        references[i] = daprof_reference_new(&configs[i]);
    }
    assert_int_equal(hp_loop_models_new(s.code, NULL, configs, N_MODELS, &batches), HP_OK);
    assert_int_equal(hp_loop_models_new(s.code, NULL, configs, N_MODELS, &steps), HP_OK);
    watch(BY_BRANCH, NULL, models, references, s.code, &p, seed);
    watch(BY_BATCH, batches, NULL, NULL, s.code, &p, seed);
    watch(BY_STEPS, steps, NULL, NULL, s.code, &p, seed);
    for (size_t i = 0; i < N_MODELS; i++) {
        compare(&configs[i], models[i], references[i]);
        compare(&configs[i], hp_loop_models_get(batches, i), references[i]);
        compare(&configs[i], hp_loop_models_get(steps, i), references[i]);
        hp_loop_model_free(models[i]);
        daprof_reference_free(references[i]);
    }
    assert_null(hp_loop_models_get(steps, N_MODELS));
    batches->ops->free(batches);
    steps->ops->free(steps);
    stream_fini(&s);
    program_fini(&p);
}

static void batches_and_steps(void **state)
{
    (void)state;
    seen = (struct hp_loop_stats){0};
    for (uint64_t seed = 1; seed <= 400; seed++)
        run_seed(seed, seed % 4 != 0, false);
    assert_everything_happened();
}

static void batches_and_steps_of_nonsense(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        run_seed(seed, seed % 4 != 0, true);
}

static void as_many_models_as_there_may_be(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profiler *profiler;
    struct hp_loop_config configs[HP_LOOP_MODELS + 1];
    stream_init(&s);
    for (size_t i = 0; i <= HP_LOOP_MODELS; i++)
        assert_int_equal(hp_loop_config_parse("daprof", &configs[i]), HP_OK);
    assert_int_equal(hp_loop_models_new(s.code, NULL, configs, 0, &profiler), HP_ERR_INVALID);
    assert_int_equal(hp_loop_models_new(s.code, NULL, configs, HP_LOOP_MODELS + 1, &profiler),
                     HP_ERR_INVALID);
    assert_int_equal(hp_loop_models_new(s.code, NULL, configs, HP_LOOP_MODELS, &profiler), HP_OK);
    profiler->ops->free(profiler);
    stream_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_one_by_one),
        cmocka_unit_test(batches_and_steps),
        cmocka_unit_test(batches_and_steps_of_nonsense),
        cmocka_unit_test(as_many_models_as_there_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
