// SPDX-License-Identifier: MIT
/*
 * The exact loops against the slow reference, on random programs: blocks that overlap, jumps to
 * anywhere, recursion, signals, losses.
 */
#include "loop_fixture.h"
#include "support/loop_judge.h"

#include "profiler/result.h"

static uint64_t n_loops, n_full, n_irreducible;

/* A profiler behind a cursor of its own, which gets steps instead of batches. */
struct stepping {
    struct hp_sink sink; /* first */
    struct hp_profiler *exact;
    void *state;
};

static void pass_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    struct stepping *s = (struct stepping *)sink;
    s->exact->ops->steps(s->state, steps);
}

static void pass_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct stepping *s = (struct stepping *)sink;
    s->exact->ops->event(s->state, event);
}

/* Its loops must be those of the reference. */
static void judge(const struct run *r, struct hp_profiler *exact, uint64_t seed)
{
    struct loop_verdict v = {.code = r->s.code,
                             .reference = r->loops,
                             .n_reference = r->n,
                             .exact_functions = r->functions,
                             .reference_functions = r->functions};
    struct hp_profile *profile;
    struct hp_result *result;
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    assert_int_equal(hp_result_new(r->s.code, r->functions, profile, &result), HP_OK);
    assert_int_equal(exact->ops->finish(exact, result), HP_OK);
    assert_int_equal(hp_exact_loops(exact, &v.exact, &v.n_exact), HP_OK);
    v.profile = profile;
    loop_judge(&v);
    if (v.differences)
        fail_msg("program %llu: %llu differences", (unsigned long long)seed,
                 (unsigned long long)v.differences);
    n_full += v.full;
    hp_result_free(result);
    hp_profile_free(profile);
}

/* The same words, as steps, a few at a time. */
static void by_steps(const struct run *r, const struct program *p, uint64_t seed)
{
    struct stepping by = {.sink = {.steps = pass_steps, .event = pass_event}};
    const struct hp_thread thread = {.id = 0, .pid = 10, .tid = 10};
    struct hp_cursor *cursor;
    uint64_t random = seed;
    uint32_t most = 1u << random_below(&random, 12);
    assert_int_equal(hp_exact_new(r->s.code, r->functions, true, &by.exact), HP_OK);
    assert_int_equal(by.exact->ops->start_thread(by.exact, &thread, &by.state), HP_OK);
    assert_int_equal(hp_cursor_new(r->s.code, NULL, &by.sink, &cursor), HP_OK);
    for (size_t i = 0, some; i < p->n_words; i += some) {
        some = 1 + random_below(&random, most);
        some = some < p->n_words - i ? some : p->n_words - i;
        assert_int_equal(hp_cursor_feed(cursor, p->words + i, some), HP_OK);
    }
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    judge(r, by.exact, seed);
    hp_cursor_free(cursor);
    by.exact->ops->free(by.exact);
}

static void compare_programs(uint64_t first, uint64_t last, bool native, bool signals)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        struct program p;
        struct run r;
        struct hp_profiler *exact;
        program_init(&p, seed);
        if (native)
            program_make_native(&p);
        if (!signals)
            p.signals = p.faults = 0;
        run_init(&r);
        assert_int_equal(hp_exact_new(r.s.code, r.functions, true, &exact), HP_OK);
        recorder_add(&r.s.recorder, exact);
        program_run(&p, &r.s, 50 + random_below(&p.seed, 400));
        run_words(&r, p.words, p.n_words);
        judge(&r, exact, seed);
        by_steps(&r, &p, seed);
        n_loops += 2 * r.n;
        for (size_t i = 0; i < r.n; i++)
            n_irreducible += r.loops[i].flags & HP_LOOP_IRREDUCIBLE;
        run_fini(&r);
        program_fini(&p);
    }
}

static void random_programs_agree(void **state)
{
    (void)state;
    n_loops = n_full = n_irreducible = 0;
    compare_programs(1001, 1300, false, false);
    compare_programs(1301, 1600, true, false);
    compare_programs(1601, 1900, false, true);
    compare_programs(1901, 2200, true, true);
    print_message("%llu loops, %llu compared in full, %llu irreducible\n",
                  (unsigned long long)n_loops, (unsigned long long)n_full,
                  (unsigned long long)n_irreducible);
    assert_true(n_loops > 3000 && n_irreducible > 300 && n_full > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
