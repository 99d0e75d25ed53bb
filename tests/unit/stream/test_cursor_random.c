// SPDX-License-Identifier: MIT
/* The cursor against the truth: random programs, shown as an engine would show them. */
#include "program_fixture.h"

static void feed_in_chunks(struct stream *s, struct program *p)
{
    size_t most = (size_t)1 << random_below(&p->seed, 12);
    for (size_t i = 0; i < p->n_words;) {
        size_t n = 1 + random_below(&p->seed, (uint32_t)most);
        n = n < p->n_words - i ? n : p->n_words - i;
        feed(s, p->words + i, n);
        i += n;
    }
}

static bool same_item(const struct item *a, const struct item *b)
{
    return a->event == b->event && a->taken == b->taken && a->insns == b->insns &&
           a->value == b->value;
}

static void compare(const struct stream *s, const struct program *p, uint64_t seed)
{
    size_t n = s->recorder.n < p->n_truth ? s->recorder.n : p->n_truth, i = 0;
    while (i < n && same_item(&s->recorder.items[i], &p->truth[i]))
        i++;
    if (i == s->recorder.n && i == p->n_truth)
        return;
    fprintf(stderr, "seed %llu, item %zu of %zu and %zu\ntruth: ", (unsigned long long)seed, i,
            p->n_truth, s->recorder.n);
    for (size_t k = i > 4 ? i - 4 : 0; k < i + 6 && k < p->n_truth; k++)
        print_item(&p->truth[k], stderr);
    fprintf(stderr, "\nfound: ");
    for (size_t k = i > 4 ? i - 4 : 0; k < i + 6 && k < s->recorder.n; k++)
        print_item(&s->recorder.items[k], stderr);
    fprintf(stderr, "\n");
    fail();
}

struct sum {
    uint64_t words, blocks, signals, open, reps, cuts;
};

static void run_seed(uint64_t seed, bool native, struct sum *sum)
{
    struct program p;
    struct stream s;
    program_init(&p, seed);
    if (native)
        program_make_native(&p);
    stream_init(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 300));
    feed_in_chunks(&s, &p);
    compare(&s, &p, seed);
    stream_verify(&s);
    const struct hp_cursor_stats *stats = hp_cursor_stats(s.cursor);
    assert_int_equal(stats->discontinuities, 0);
    assert_int_equal(stats->losses, 0);
    assert_int_equal(stats->cuts, 0);
    sum->words += stats->words;
    sum->blocks += stats->blocks;
    for (size_t i = 0; i < p.n_words; i++)
        sum->cuts += p.words[i] >> 24 == (HP_WORD_EVENT >> 24 | HP_WORD_CUT);
    sum->signals += stats->signals;
    sum->reps += stats->rep_iterations;
    sum->open += p.open > 0;
    stream_fini(&s);
    program_fini(&p);
}

static void random_programs_are_reconstructed(void **state)
{
    (void)state;
    struct sum sum = {0};
    for (uint64_t seed = 1; seed <= 2000; seed++)
        run_seed(seed, false, &sum);
    /* the generator has to make what is to be tested */
    assert_true(sum.blocks > 300000);
    assert_true(sum.signals > 10000);
    assert_true(sum.reps > 5000);
    assert_true(sum.open > 1000);
}

static void runs_of_blocks_are_taken_apart(void **state)
{
    (void)state;
    struct sum sum = {0};
    for (uint64_t seed = 1; seed <= 2000; seed++)
        run_seed(seed, true, &sum);
    assert_true(sum.blocks > 300000);
    assert_true(sum.words * 2 < sum.blocks * 3); /* many are signals and cuts */
    assert_true(sum.signals > 10000);
    assert_true(sum.cuts > 5000);
}

/* --- Nonsense --------------------------------------------------------------------------------- */

static void nonsense_is_delivered_consistently(void **state)
{
    (void)state;
    static const uint32_t percents[] = {1, 10, 50, 100};
    uint64_t ends = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct program p;
        struct stream s;
        program_init(&p, seed);
        if (seed % 3 == 0)
            program_make_native(&p);
        stream_init(&s);
        program_run(&p, &s, 200);
        spoil(&p, percents[seed % 4]);
        feed_in_chunks(&s, &p);
        ends += s.recorder.ended;
        assert_int_equal(hp_cursor_end(s.cursor, HP_END_KILLED), HP_OK);
        assert_true(s.recorder.ended);
        stream_verify(&s);
        stream_fini(&s);
        program_fini(&p);
    }
    assert_true(ends > 100); /* and not all of them at once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_are_reconstructed),
        cmocka_unit_test(runs_of_blocks_are_taken_apart),
        cmocka_unit_test(nonsense_is_delivered_consistently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
