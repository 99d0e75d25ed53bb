// SPDX-License-Identifier: MIT
/* Where the cycles of random pipelines went, against the rules applied cycle by cycle. */
#include "cycles_fixture.h"
#include "cycles_naive.h"

#include "profiler/cycles/attribute.h"
#include "profiler/cycles/schemes.h"
#include "profiler/cycles/waits.h"

#define INSNS 40

/* --- Comparing -------------------------------------------------------------------------------- */

/* Feeds them in pieces of random length. */
static void feed_all(struct pipeline *p, struct hp_attributor *a, struct hp_schemes *schemes,
                     struct hp_cycles_row *rows)
{
    for (size_t at = 0; at < p->n;) {
        size_t n = 1 + random_below(&p->seed, 50);
        n = n < p->n - at ? n : p->n - at;
        assert_int_equal(hp_attributor_timings(a, rows, p->timings + at, n), HP_OK);
        hp_schemes_timings(schemes, rows, p->timings + at, n);
        at += n;
    }
    hp_attributor_end(a, rows);
}

static uint64_t all_parts(const struct hp_cycles_row *rows)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < INSNS; i++)
        for (int cause = 0; cause < HP_CAUSES; cause++)
            sum += rows[i].parts[cause];
    return sum;
}

/* Returns which causes there were, as bits. */
static uint32_t compare_one(struct pipeline *p, size_t length)
{
    struct hp_cycles_row rows[INSNS] = {0}, naive[INSNS] = {0};
    struct hp_attributor a;
    struct hp_schemes schemes;
    uint32_t causes = 0;
    p->insns = INSNS;
    p->front_stages = FRONT_STAGES;
    p->measured = true;
    pipeline_run(p, length);
    hp_attributor_init(&a, FRONT_STAGES);
    hp_schemes_init(&schemes, 0, 1, 0);
    feed_all(p, &a, &schemes, rows);
    naive_all(p, naive, p->retire);
    compare_rows(rows, naive, INSNS);
    uint64_t sum = 0, parts = 0;
    for (size_t i = 0; i < a.n_windows; i++)
        parts += a.windows[i].parts;
    sum = all_parts(rows);
    assert_int_equal(parts, sum);
    if (!p->unmeasured) {
        size_t first = 0;
        while (!is(&p->timings[first], HP_TIMING_RETIRED))
            first++;
        assert_int_equal(sum, (p->retire + 1 - p->timings[first].fetched) * HP_CYCLE_PARTS);
        assert_false(a.unmeasured);
        assert_int_equal(a.windows[0].instructions, length);
    }
    for (size_t i = 0; i < INSNS; i++)
        for (int cause = 0; cause < HP_CAUSES; cause++)
            causes |= rows[i].parts[cause] ? 1u << cause : 0;
    hp_attributor_fini(&a);
    free(p->timings);
    return causes;
}

static void cycles_as_by_the_rules(void **state)
{
    (void)state;
    uint32_t causes = 0;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct pipeline p = {.seed = seed,
                             .mispredicts = seed % 4 * 5,
                             .traps = seed % 3 * 4,
                             .misses = seed % 5 * 10};
        causes |= compare_one(&p, 250);
    }
    assert_int_equal(causes, (1u << HP_CAUSES) - 1); /* all occurred */
}

static void only_what_is_measured_counts(void **state)
{
    (void)state;
    for (uint32_t seed = 100; seed < 160; seed++) {
        struct pipeline p = {.seed = seed,
                             .mispredicts = seed % 4 * 5,
                             .traps = seed % 3 * 4,
                             .misses = 20,
                             .unmeasured = 10 + seed % 200};
        compare_one(&p, 250);
    }
}

/* --- Looking now and then --------------------------------------------------------------------- */

/* Of 200 000 cycles about 2 000 are looked at: a share s of them with a standard deviation of
 * sqrt(2000 s (1 - s)), at most 22.4. So 100 is more than four of them; the sums are what 2 000
 * looks at uniform intervals of 1 ... 199 give: +- 5 x 0.58 x sqrt(2000) = 130. */
static void samples_are_like_all(void **state)
{
    (void)state;
    struct hp_cycles_row all[INSNS] = {0}, some[INSNS] = {0}, again[INSNS] = {0};
    struct pipeline p = {
        .seed = 7, .insns = INSNS, .mispredicts = 5, .misses = 10, .measured = true};
    struct hp_schemes schemes;
    while (p.retire < 200000)
        pipeline_one(&p);
    hp_schemes_init(&schemes, 0, 1, 0);
    hp_schemes_timings(&schemes, all, p.timings, p.n);
    hp_schemes_init(&schemes, 100, 1, 0);
    hp_schemes_timings(&schemes, some, p.timings, p.n);
    hp_schemes_init(&schemes, 100, 1, 0);
    for (size_t i = 0; i < p.n; i++)
        hp_schemes_timings(&schemes, again, p.timings + i, 1);
    assert_memory_equal(some, again, sizeof some);
    for (int way = HP_ATTRIBUTE_DISPATCH; way <= HP_ATTRIBUTE_NEXT; way++) {
        double sum = 0;
        for (size_t i = 0; i < INSNS; i++) {
            double expected = (double)all[i].weights[way] / 100;
            double seen = (double)some[i].weights[way];
            assert_true(seen > expected - 100 && seen < expected + 100);
            sum += seen;
        }
        assert_true(way != HP_ATTRIBUTE_NEXT || (sum > 1870 && sum < 2130));
    }
    uint64_t profileme = 0;
    for (size_t i = 0; i < INSNS; i++)
        profileme += some[i].weights[HP_ATTRIBUTE_PROFILEME];
    assert_true(profileme > 0);
    hp_schemes_init(&schemes, 100, 2, 0); /* another seed looks elsewhere */
    memset(again, 0, sizeof again);
    hp_schemes_timings(&schemes, again, p.timings, p.n);
    assert_memory_not_equal(some, again, sizeof some);
    free(p.timings);
}

/* --- Waits ------------------------------------------------------------------------------------ */

static void waits_as_by_the_rule(void **state)
{
    (void)state;
    static struct hp_wait naive[INSNS][INSNS];
    struct hp_waits waits = {0};
    struct pipeline p = {
        .seed = 5, .insns = INSNS, .mispredicts = 5, .traps = 3, .unmeasured = 5, .measured = true};
    size_t n = 0;
    pipeline_run(&p, 20000);
    for (size_t i = 0; i < p.n; i++) {
        const struct hp_timing *t = &p.timings[i];
        if (is(t, HP_TIMING_RETIRED) && is(t, HP_TIMING_MEASURED) && t->producer != HP_NO_ID &&
            t->ready > t->mapped + 1) {
            n += !naive[t->insn][t->producer].count++;
            naive[t->insn][t->producer].cycles += t->ready - t->mapped;
        }
    }
    for (size_t i = 0; i < p.n; i += 7)
        assert_int_equal(hp_waits_timings(&waits, INSNS, p.timings + i, p.n - i < 7 ? p.n - i : 7),
                         HP_OK);
    assert_int_equal(waits.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct hp_wait *wait = &waits.waits[i];
        assert_int_equal(wait->count, naive[wait->insn][wait->producer].count);
        assert_int_equal(wait->cycles, naive[wait->insn][wait->producer].cycles);
    }
    hp_waits_fini(&waits);
    free(p.timings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_as_by_the_rules),
        cmocka_unit_test(only_what_is_measured_counts),
        cmocka_unit_test(samples_are_like_all),
        cmocka_unit_test(waits_as_by_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
