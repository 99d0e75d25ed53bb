// SPDX-License-Identifier: MIT
/* The grammar alone: what it generates is what was put in, and its invariants hold after every
 * symbol. */
#include "profiler/wpp/grammar.h"
#include "profiler/wpp/grammar_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY ((size_t)1 << 30)

/* Slow and obvious: recursion. */
static size_t expand(const struct hp_grammar *g, uint32_t rule, uint32_t *out, size_t n)
{
    for (uint32_t i = hp_grammar_first(g, rule); i; i = hp_grammar_next(g, i))
        for (uint32_t k = 0; k < hp_grammar_repeat(g, i); k++) {
            uint32_t symbol = hp_grammar_symbol(g, i);
            if (symbol & HP_GRAMMAR_RULE)
                n = expand(g, symbol, out, n);
            else
                out[n++] = symbol;
        }
    return n;
}

static void assert_generates(const struct hp_grammar *g, const uint32_t *in, size_t n)
{
    uint32_t *out = malloc((n + 1) * sizeof *out);
    assert_int_equal(expand(g, hp_grammar_start(g), out, 0), n);
    assert_memory_equal(out, in, n * sizeof *out);
    free(out);
}

static void assert_sound(const struct hp_grammar *g)
{
    enum hp_err err = hp_grammar_check(g);
    if (err != HP_OK)
        fail_msg("%s", hp_error_text());
}

/* Everything of one sequence; with `closely`, after every symbol. */
static struct hp_grammar_stats try_all(const uint32_t *in, size_t n, bool closely)
{
    struct hp_grammar_budget budget = {.max = MANY};
    struct hp_grammar *g;
    assert_int_equal(hp_grammar_new(&budget, 0, &g), HP_OK);
    for (size_t i = 0; i < n && closely; i++) {
        assert_int_equal(hp_grammar_push(g, in + i, 1), 1);
        assert_sound(g);
    }
    if (!closely)
        assert_int_equal(hp_grammar_push(g, in, n), n);
    assert_generates(g, in, n);
    assert_sound(g);
    hp_grammar_close(g);
    assert_generates(g, in, n);
    assert_sound(g);
    struct hp_grammar_stats stats = hp_grammar_stats(g);
    assert_int_equal(stats.symbols, n);
    assert_int_equal(stats.bytes, budget.used);
    assert_int_equal(hp_grammar_push(g, in, n), 0);
    hp_grammar_free(g);
    assert_int_equal(budget.used, 0);
    return stats;
}

static struct hp_grammar_stats try_text(const char *text)
{
    uint32_t in[512];
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        in[i] = (uint8_t)text[i];
    return try_all(in, n, true);
}

static void assert_size(const char *text, uint32_t rules, uint32_t nodes)
{
    struct hp_grammar_stats stats = try_text(text);
    if (stats.rules != rules || stats.nodes != nodes)
        fail_msg("%s: %u rules, %u nodes", text, stats.rules, stats.nodes);
}

/* --- Examples --------------------------------------------------------------------------------- */

static void test_examples(void **state)
{
    (void)state;
    assert_size("", 1, 0);
    assert_size("a", 1, 1);
    assert_size("aaaaaaaaaaaaaaaaaaaaaaaa", 1, 1); /* S: a^24 */
    assert_size("ab", 1, 2);
    assert_size("abab", 2, 3);            /* S: A^2, A: a b */
    assert_size("abcabcabcabc", 2, 4);    /* S: A^4, A: a b c */
    assert_size("abcdbc", 2, 6);          /* the paper's: S: a A d A, A: b c */
    assert_size("abcdbcabcdbc", 3, 7);    /* the paper's: S: A A, A: a B d B, B: b c; A^2 here */
    assert_size("aaabaaabaaab", 2, 3);    /* S: A^3, A: a^3 b */
    assert_size("xaaayxaaayxaaay", 2, 4); /* S: A^3, A: x a^3 y */
    assert_size("abcabcabcdabcabcabcd", 3, 6); /* S: A^2, A: B^3 d, B: a b c */
}

static void test_loop_takes_constant_room(void **state)
{
    (void)state;
    uint32_t in[3000];
    for (size_t i = 0; i < 3000; i++)
        in[i] = (uint32_t)(i % 3);
    struct hp_grammar_stats few = try_all(in, 30, true), many = try_all(in, 3000, true);
    assert_int_equal(few.nodes, many.nodes);
    assert_int_equal(few.rules, many.rules);
}

/* "In adjacent pairs twice" by hand: the checker finds what is wrong. */
static void test_check_can_fail(void **state)
{
    (void)state;
    struct hp_grammar_budget budget = {.max = MANY};
    struct hp_grammar *g;
    const uint32_t in[] = {1, 2, 3, 1, 2, 4, 5, 6, 7, 8};
    assert_int_equal(hp_grammar_new(&budget, 0, &g), HP_OK);
    assert_int_equal(hp_grammar_push(g, in, 10), 10);
    hp_grammar_close(g);
    assert_sound(g);
    uint32_t rule = 0, first = hp_grammar_first(g, hp_grammar_start(g));
    for (uint32_t i = first; i; i = hp_grammar_next(g, i))
        if (hp_grammar_symbol(g, i) & HP_GRAMMAR_RULE)
            rule = hp_grammar_symbol(g, i) & ~HP_GRAMMAR_RULE;
    assert_int_not_equal(rule, 0);
    uint32_t last = g->nodes[g->start].prev, spare;
    struct {
        uint32_t *where, value;
    } faults[] = {
        {&g->nodes[last].symbol, g->nodes[g->nodes[last].prev].symbol}, /* a run in two */
        {&g->nodes[last].repeat, 0},
        {&g->nodes[last].repeat, 2}, /* a digram that the table does not have */
        {&g->nodes[last].symbol, HP_GRAMMAR_RULE | rule}, /* uses */
        {&g->nodes[rule].repeat, 3},
        {&g->n_rules, 3},
        {&g->n_digrams, 3},
        {&g->nodes[g->nodes[rule].next].symbol, HP_GRAMMAR_RULE | rule}, /* a cycle */
        {&g->nodes[last].prev, first},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        spare = *faults[i].where;
        *faults[i].where = faults[i].value;
        assert_int_equal(hp_grammar_check(g), HP_ERR_INTERNAL);
        *faults[i].where = spare;
        assert_sound(g);
    }
    hp_grammar_free(g);
}

/* --- Random sequences ------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % n;
}

/* Copies of what was before, with a fresh symbol now and then. */
static void make_copies(uint32_t *in, size_t n, uint32_t kinds)
{
    for (size_t i = 0; i < n;) {
        size_t length = below(24), from = i ? below((uint32_t)i) : 0;
        while (i && length-- && i < n)
            in[i++] = in[from++];
        if (i < n)
            in[i++] = below(kinds);
    }
}

/* Nested loops with bodies of their own and any number of iterations. */
static size_t make_loops(uint32_t *in, size_t n, size_t at, uint32_t kinds, int depth)
{
    uint32_t first = below(kinds), iterations = 1 + below(5);
    uint64_t keep = seed;
    for (uint32_t k = 0; k < iterations && at < n; k++) {
        if (below(4))
            seed = keep; /* the same again */
        for (uint32_t i = 0, m = 1 + below(5); i < m && at < n; i++) {
            if (depth && below(3) == 0)
                at = make_loops(in, n, at, kinds, depth - 1);
            else
                in[at++] = (first + i) % kinds;
        }
    }
    return at;
}

static void make(uint32_t *in, size_t n, int shape)
{
    uint32_t kinds = 1 + below(shape == 4 ? 300 : 6);
    if (shape == 1 || shape == 4)
        make_copies(in, n, kinds);
    for (size_t at = 0; shape == 2 && at < n;)
        at = make_loops(in, n, at, kinds, 4);
    for (size_t i = 0; shape == 0 && i < n; i++)
        in[i] = below(kinds);
    for (size_t i = 0; shape == 3 && i < n; i++)
        in[i] = i && below(4) ? in[i - 1] : below(kinds);
}

static void test_random_closely(void **state)
{
    (void)state;
    uint32_t in[400];
    for (uint32_t round = 0; round < 1500; round++) {
        seed = round * UINT64_C(2654435761) + 88172645463325252u;
        size_t n = 1 + below(300);
        make(in, n, (int)(round % 5));
        try_all(in, n, true);
    }
}

static void test_all_short_ones(void **state)
{
    (void)state;
    uint32_t in[11];
    for (uint32_t code = 0; code < 177147; code++) { /* 3^11 */
        for (uint32_t i = 0, rest = code; i < 11; i++, rest /= 3)
            in[i] = rest % 3;
        try_all(in, 11, false);
    }
}

static void test_random_long(void **state)
{
    (void)state;
    size_t n = 200000;
    uint32_t *in = calloc(n, sizeof *in);
    for (int shape = 0; shape < 5; shape++) {
        seed = 1234567 + (uint64_t)shape;
        make(in, n, shape);
        struct hp_grammar_stats stats = try_all(in, n, false);
        if (shape == 1)
            assert_true(stats.nodes < n / 4);
    }
    free(in);
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* One grammar after another, as the writer does; all together generate the sequence. */
static uint32_t try_parts(const uint32_t *in, size_t n, size_t max, uint32_t max_repeat)
{
    struct hp_grammar_budget budget = {.max = max};
    uint32_t parts = 0;
    for (size_t at = 0; at < n; parts++) {
        struct hp_grammar *g;
        assert_int_equal(hp_grammar_new(&budget, max_repeat, &g), HP_OK);
        size_t done = hp_grammar_push(g, in + at, n - at);
        assert_true(done > 0);
        assert_true(budget.peak <= (max > 8192 ? max : 8192));
        if (at + done < n && max == MANY)
            assert_true(hp_grammar_full(g));
        assert_sound(g);
        hp_grammar_close(g);
        assert_sound(g);
        assert_generates(g, in + at, done);
        at += done;
        hp_grammar_free(g);
    }
    return parts;
}

static void test_bound_is_kept(void **state)
{
    (void)state;
    size_t n = 50000;
    uint32_t *in = calloc(n, sizeof *in);
    seed = 77;
    make(in, n, 0);
    assert_int_equal(try_parts(in, n, MANY, 0), 1);
    uint32_t few = try_parts(in, n, 100000, 0), many = try_parts(in, n, 20000, 0);
    assert_true(few > 1 && many > 2 * few);
    assert_true(try_parts(in, n, 1, 0) > many); /* each has what it needs at least */
    free(in);
}

static void test_exponents_are_bounded(void **state)
{
    (void)state;
    uint32_t in[600];
    for (uint32_t round = 0; round < 300; round++) {
        seed = 99 + round * 7919;
        size_t n = 1 + below(500);
        make(in, n, round % 2 ? 3 : 2);
        try_parts(in, n, MANY, 3);
    }
    for (size_t i = 0; i < 600; i++)
        in[i] = 5;
    assert_int_equal(try_parts(in, 600, MANY, 100), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),       cmocka_unit_test(test_loop_takes_constant_room),
        cmocka_unit_test(test_check_can_fail), cmocka_unit_test(test_random_closely),
        cmocka_unit_test(test_all_short_ones), cmocka_unit_test(test_random_long),
        cmocka_unit_test(test_bound_is_kept),  cmocka_unit_test(test_exponents_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
