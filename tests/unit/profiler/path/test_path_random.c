// SPDX-License-Identifier: MIT
/*
 * Random programs, random control registers: what a detector finds does not depend on whether it is
 * shown batches, steps or branches, and no instruction is lost, whatever the words.
 */
#include "program_fixture.h"

#include "profiler/path/detector_impl.h"

#define FUNCTION_BYTES 64

/* --- A detector behind a cursor --------------------------------------------------------------- */

enum way { BY_BATCH, BY_STEPS, BY_NUMBER, BY_BRANCH };

/* Functions are 64 bytes of code; some have no symbol. */
struct functions {
    struct hp_frame_source source; /* first */
    const struct hp_code *code;
};

struct watcher {
    struct hp_sink sink; /* first */
    struct hp_path_sink path_sink;
    struct hp_detector *detector;
    struct hp_cursor *cursor;
    size_t at; /* words */
    enum way way;
    struct hp_path *paths;
    uint64_t *targets; /* 64 a path */
    size_t n, cap, cap_targets;
    uint64_t insns;         /* in all paths */
    uint32_t before_branch; /* instructions of blocks that ended without one */
    uint64_t start;         /* of the first of them; 0: none */
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

static uint64_t n_known, n_groups;

static struct watcher *of_path_sink(struct hp_path_sink *sink)
{
    return (struct watcher *)((char *)sink - offsetof(struct watcher, path_sink));
}

static void keep(struct watcher *w, const struct hp_path *from, const uint64_t *targets)
{
    assert_int_equal(hp_grow(&w->paths, &w->cap, w->n + 1, sizeof *w->paths), HP_OK);
    assert_int_equal(
        hp_grow(&w->targets, &w->cap_targets, (w->n + 1) * HP_PATH_MAX_LENGTH, sizeof *w->targets),
        HP_OK);
    struct hp_path *path = &w->paths[w->n];
    *path = *from;
    assert_true(path->n_targets <= path->length);
    for (unsigned k = 0; k < path->n_targets; k++)
        w->targets[w->n * HP_PATH_MAX_LENGTH + k] = targets[path->first_target + k];
    path->first_target = 0;
    path->more = 0;
    w->insns += path->insns;
    w->n++;
}

static void on_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct watcher *w = of_path_sink(sink);
    assert_in_range(paths->n, 1, HP_PATHS_MAX);
    for (size_t i = 0; i < paths->n; i++) {
        assert_int_equal(paths->paths[i].more, 0);
        keep(w, &paths->paths[i], paths->targets);
    }
}

static void on_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    struct watcher *w = of_path_sink(sink);
    assert_in_range(known->n, 1, HP_PATHS_MAX);
    for (size_t i = 0; i < known->n; i++) {
        const uint32_t *list = &known->numbers[i];
        uint32_t n = 1;
        if (*list & HP_PATH_GROUP) {
            const struct hp_path_group *group = &known->groups[*list & ~HP_PATH_GROUP];
            assert_true((*list & ~HP_PATH_GROUP) < known->n_groups);
            n = group->n;
            list = known->lists + group->first;
            assert_in_range(n, 2, HP_PATH_GROUP_MAX);
            assert_true(group->first + n <= known->n_lists);
            n_groups++;
        }
        for (uint32_t k = 0; k < n; k++) {
            assert_true(list[k] < known->n_known);
            keep(w, &known->known[list[k]].path, NULL);
        }
        n_known += n;
    }
}

static void show_branches(struct watcher *w, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct hp_branch branch;
        bool is_branch = hp_batch_branch(batch, i, &branch);
        branch.insns += w->before_branch;
        branch.start = w->start ? w->start : branch.start;
        w->start = is_branch ? 0 : branch.start;
        w->before_branch = is_branch ? 0 : branch.insns;
        if (is_branch)
            hp_detector_branch(w->detector, &branch, 0);
    }
}

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct watcher *w = (struct watcher *)sink;
    if (w->way == BY_BRANCH)
        show_branches(w, batch);
    else
        hp_detector_batch(w->detector, batch);
}

static void on_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    hp_detector_steps(((struct watcher *)sink)->detector, steps);
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    hp_detector_event(((struct watcher *)sink)->detector, event);
}

static void watch_begin(struct watcher *w, enum way way, const struct hp_ppcr *ppcr,
                        struct hp_code *code, struct functions *functions,
                        struct hp_path_plan *plan)
{
    *w = (struct watcher){
        .sink = {.batch = on_batch, .event = on_event}, .path_sink.paths = on_paths, .way = way};
    if (way == BY_STEPS || way == BY_NUMBER)
        w->sink.steps = on_steps;
    if (way == BY_NUMBER) {
        w->path_sink.known = on_known;
        w->path_sink.groups = true;
        assert_int_equal(hp_detector_new_shared(plan, &w->path_sink, &w->detector), HP_OK);
    } else {
        assert_int_equal(hp_detector_new(ppcr, functions ? &functions->source : NULL, &w->path_sink,
                                         &w->detector),
                         HP_OK);
    }
    assert_int_equal(hp_cursor_new(code, NULL, &w->sink, &w->cursor), HP_OK);
}

/* Some more words; false: there are none. */
static bool watch_on(struct watcher *w, struct program *p)
{
    size_t n = 1 + random_below(&p->seed, 200), rest = p->n_words - w->at;
    n = n < rest ? n : rest;
    if (n)
        assert_int_equal(hp_cursor_feed(w->cursor, p->words + w->at, n), HP_OK);
    w->at += n;
    return n > 0;
}

static void watch_end(struct watcher *w)
{
    assert_int_equal(hp_cursor_end(w->cursor, HP_END_EXIT), HP_OK);
    hp_cursor_free(w->cursor);
    assert_int_equal(hp_detector_check(w->detector), HP_OK);
    const struct hp_detector_stats *stats = hp_detector_stats(w->detector);
    assert_int_equal(stats->paths, w->n);
    assert_int_equal(stats->instructions, w->insns + stats->unfinished_insns);
}

/* The words, in pieces, to a detector. */
static void watch(struct watcher *w, enum way way, const struct hp_ppcr *ppcr, struct program *p,
                  struct hp_code *code, struct functions *functions, struct hp_path_plan *plan)
{
    watch_begin(w, way, ppcr, code, functions, plan);
    while (watch_on(w, p))
        continue;
    watch_end(w);
}

#define THREADS 3

/* The words to some threads, each as far as it happens to be, that share a memo. */
static void watch_together(struct watcher *threads, const struct hp_ppcr *ppcr, struct program *p,
                           struct hp_code *code, struct functions *functions,
                           struct hp_path_plan *plan)
{
    bool more = true;
    for (int i = 0; i < THREADS; i++)
        watch_begin(&threads[i], BY_NUMBER, ppcr, code, functions, plan);
    while (more) {
        uint32_t one = random_below(&p->seed, THREADS);
        more = watch_on(&threads[one], p);
    }
    for (int i = 0; i < THREADS; i++) {
        while (watch_on(&threads[i], p))
            continue;
        watch_end(&threads[i]);
    }
}

static void watcher_fini(struct watcher *w)
{
    hp_detector_free(w->detector);
    free(w->paths);
    free(w->targets);
}

/* --- Control registers ------------------------------------------------------------------------ */

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
    if (chance(p, 20))
        ppcr->direction = HP_DIRECTION_STATIC;
    if (chance(p, 20))
        ppcr->metric = HP_METRIC_INSTRUCTIONS;
    if (ppcr->extension)
        ppcr->max_extension = 1 + random_below(&p->seed, 4);
    for (int i = 0; i < HP_CLASSES && chance(p, 40); i++)
        do
            ppcr->ops[i] = (uint8_t)random_below(&p->seed, 16);
        while ((ppcr->ops[i] & 3) == 3);
    assert_int_equal(hp_ppcr_check(ppcr), HP_OK);
}

static void compare(const struct watcher *a, const struct watcher *b, bool blocks)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        struct hp_path x = a->paths[i], y = b->paths[i];
        if (!blocks)
            x.block = y.block = 0;
        assert_memory_equal(&x, &y, sizeof x);
        assert_memory_equal(&a->targets[i * HP_PATH_MAX_LENGTH],
                            &b->targets[i * HP_PATH_MAX_LENGTH], x.n_targets * sizeof *a->targets);
    }
    struct hp_detector_stats s = *hp_detector_stats(a->detector);
    struct hp_detector_stats t = *hp_detector_stats(b->detector);
    if (!blocks) {
        t.blocks = s.blocks;
        t.instructions = s.instructions;
        t.unfinished_insns = s.unfinished_insns;
    }
    assert_memory_equal(&s, &t, sizeof s);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static uint64_t n_paths, n_repairs, n_splits, n_signals, n_underflows, n_emptied, n_full;

/* Some bounds so small that they are met all the time. */
static void make_small(struct program *p, struct hp_path_memo *memo)
{
    if (chance(p, 50))
        memo->max_nodes = 2 + random_below(&p->seed, 60);
    if (chance(p, 30))
        memo->max_far = 1 + random_below(&p->seed, 10);
    if (chance(p, 30))
        memo->max_effects = 1 + random_below(&p->seed, 200);
    if (chance(p, 50))
        memo->numbers.max = random_below(&p->seed, 30);
    if (chance(p, 50))
        memo->numbers.max_groups = random_below(&p->seed, 10);
    if (chance(p, 50))
        memo->phrases.max_words = random_below(&p->seed, 300);
    memo->phrases.often = 1 + random_below(&p->seed, 4);
    memo->phrases.pause = random_below(&p->seed, 300);
}

static void run_together(struct program *p, const struct watcher *expected,
                         const struct hp_ppcr *ppcr, struct hp_code *code,
                         struct functions *functions)
{
    struct watcher threads[THREADS];
    struct hp_path_plan plan;
    hp_path_plan_init(&plan, ppcr, functions ? &functions->source : NULL);
    make_small(p, &plan.memo);
    watch_together(threads, ppcr, p, code, functions, &plan);
    n_emptied += plan.memo.generation;
    n_full += plan.memo.numbers.n == plan.memo.numbers.max;
    assert_true(plan.memo.numbers.n <= plan.memo.numbers.max);
    for (int i = 0; i < THREADS; i++) {
        compare(expected, &threads[i], true);
        watcher_fini(&threads[i]);
    }
    hp_path_plan_fini(&plan);
}

static void run_seed(uint64_t seed, bool native, bool spoiled)
{
    struct program p;
    struct stream s;
    struct hp_ppcr ppcr;
    struct watcher batches, steps, first, again;
    struct hp_path_plan plan;
    program_init(&p, seed);
    if (native)
        program_make_native(&p);
    stream_init(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 2000));
    if (spoiled)
        spoil(&p, 1 + random_below(&p.seed, 10));
    struct functions functions = {.source = {.function_of = function_of, .is_entry = is_entry},
                                  .code = s.code};
    struct functions *known = chance(&p, 80) ? &functions : NULL;
    random_ppcr(&p, &ppcr);
    watch(&batches, BY_BATCH, &ppcr, &p, s.code, known, NULL);
    watch(&steps, BY_STEPS, &ppcr, &p, s.code, known, NULL);
    /* The second of two detectors that share a memo knows everything in advance. */
    hp_path_plan_init(&plan, &ppcr, known ? &known->source : NULL);
    plan.memo.phrases.often = 1 + random_below(&p.seed, 4);
    watch(&first, BY_NUMBER, &ppcr, &p, s.code, known, &plan);
    watch(&again, BY_NUMBER, &ppcr, &p, s.code, known, &plan);
    compare(&batches, &steps, true);
    compare(&batches, &first, true);
    compare(&batches, &again, true);
    run_together(&p, &batches, &ppcr, s.code, known);
    n_paths += batches.n;
    n_repairs += hp_detector_stats(batches.detector)->repairs;
    n_splits += hp_detector_stats(batches.detector)->splits;
    n_signals += p.signals > 0;
    n_underflows += hp_detector_stats(batches.detector)->underflows;
    watcher_fini(&again);
    watcher_fini(&first);
    hp_path_plan_fini(&plan);
    watcher_fini(&steps);
    watcher_fini(&batches);
    stream_fini(&s);
    program_fini(&p);
}

static void steps_are_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++)
        run_seed(seed, seed % 4 != 0, false);
    /* There was something to find. */
    assert_true(n_paths > 20000 && n_repairs > 100 && n_splits > 100 && n_signals > 100);
    assert_true(n_known > 20000 && n_groups > 10000 && n_underflows > 1000 && n_emptied > 1000 &&
                n_full > 100);
}

static void steps_are_batches_of_nonsense(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++)
        run_seed(seed, seed % 4 != 0, true);
}

/* Without functions and signals, branches alone give the same. */
static void branches_are_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct program p;
        struct stream s;
        struct hp_ppcr ppcr;
        struct watcher batches, branches;
        program_init(&p, seed);
        program_make_native(&p);
        p.signals = p.faults = p.restarts = 0;
        stream_init(&s);
        program_run(&p, &s, 50 + random_below(&p.seed, 2000));
        random_ppcr(&p, &ppcr);
        watch(&batches, BY_BATCH, &ppcr, &p, s.code, NULL, NULL);
        watch(&branches, BY_BRANCH, &ppcr, &p, s.code, NULL, NULL);
        compare(&batches, &branches, false);
        watcher_fini(&branches);
        watcher_fini(&batches);
        stream_fini(&s);
        program_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_batches),
        cmocka_unit_test(steps_are_batches_of_nonsense),
        cmocka_unit_test(branches_are_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
