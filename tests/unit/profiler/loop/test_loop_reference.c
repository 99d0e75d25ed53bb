// SPDX-License-Identifier: MIT
/*
 * The slow reference of exact loops against what follows from the rules on paper.
 */
#include "loop_fixture.h"

#define RUN(r, ...)                                                                                \
    run_words(r, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* The loop whose header is at 400000 + `offset`. */
static const struct loop_result *loop_at(const struct run *r, uint64_t offset)
{
    for (size_t i = 0; i < r->n; i++)
        if (hp_code_block(r->s.code, r->loops[i].header)->start == PROGRAM_BASE + offset)
            return &r->loops[i];
    fail_msg("no loop at %llx", (unsigned long long)offset);
    return NULL;
}

static void expect_counts(const struct loop_result *l, uint64_t executions, uint64_t iterations,
                          uint64_t min, uint64_t max, uint64_t self, uint64_t inclusive)
{
    assert_int_equal(l->counts.executions, executions);
    assert_int_equal(l->counts.iterations, iterations);
    assert_int_equal(l->counts.back_edges, iterations - executions);
    assert_int_equal(l->counts.min, min);
    assert_int_equal(l->counts.max, max);
    assert_int_equal(l->counts.self, self);
    assert_int_equal(l->counts.inclusive, inclusive);
}

/* --- Rounds ----------------------------------------------------------------------------------- */

/* 400000 nop; 400001: nop; jnz 400001; 400004: ret. The first round is part of the block that leads
 * into the loop. */
static void first_round_counts(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_segment(&r.s, 1, 0x400000, "90 90 75 fd");
    add_segment(&r.s, 2, 0x400001, "90 75 fd");
    add_segment(&r.s, 3, 0x400004, "c3");
    RUN(&r, 1, 2, 2, 2, 3);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.loops[0].insns, 2);
    assert_int_equal(r.loops[0].n_nodes, 1);
    assert_int_equal(r.loops[0].flags, 0);
    expect_counts(loop_at(&r, 1), 1, 4, 4, 4, 8, 8);
    run_fini(&r);
}

/*
 * Rows of 1, 2, 3 and 4: 400000 nop; 400001: nop; 400002: nop; jnz 400002 (inner); 400005: nop; jnz
 * 400001 (outer); ret.
 */
static void triangular_nest(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_segment(&r.s, 1, 0x400000, "90 90 90 75 fd");
    add_segment(&r.s, 2, 0x400001, "90 90 75 fd");
    add_segment(&r.s, 3, 0x400002, "90 75 fd");
    add_segment(&r.s, 4, 0x400005, "90 75 f9");
    add_segment(&r.s, 5, 0x400008, "c3");
    RUN(&r, 1, 4, 2, 3, 4, 2, 3, 3, 4, 2, 3, 3, 3, 4, 5);
    assert_int_equal(r.n, 2);
    const struct loop_result *outer = loop_at(&r, 1), *inner = loop_at(&r, 2);
    expect_counts(outer, 1, 4, 4, 4, 4 * 3 + 10 * 2, 4 * 3 + 10 * 2);
    expect_counts(inner, 4, 10, 1, 4, 20, 20);
    assert_int_equal(outer->parent, HP_NO_ID);
    assert_ptr_equal(&r.loops[inner->parent], outer);
    assert_int_equal(inner->counts.same, 0);
    assert_int_equal(inner->counts.stride, 2);
    assert_int_equal(inner->n_trips, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(inner->trips[i].value, i + 1);
        assert_int_equal(inner->trips[i].count, 1);
    }
    run_fini(&r);
}

/* Two back edges to one header are one loop; leaving in the middle: 400000: jz 400008; nop; jz
 * 400000; jmp 400000; 400008: ret. */
static void two_back_edges_one_loop(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_segment(&r.s, 1, 0x400000, "74 06");
    add_segment(&r.s, 2, 0x400002, "90 74 fb");
    add_segment(&r.s, 3, 0x400005, "eb f9");
    add_segment(&r.s, 4, 0x400008, "c3");
    RUN(&r, 1, 2, 1, 2, 3, 1, 2, 3, 1, 4);
    assert_int_equal(r.n, 1);
    expect_counts(loop_at(&r, 0), 1, 4, 4, 4, 4 + 6 + 2, 4 + 6 + 2);
    assert_int_equal(r.loops[0].n_nodes, 3);
    run_fini(&r);
}

/* Two ways in: 400000 jz 400004; 400002: nop; 400003 is reached both from 400002 and, by the jump,
 * from outside. */
static void irreducible_loop(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_segment(&r.s, 1, 0x400000, "74 03");    /* to 400005 */
    add_segment(&r.s, 2, 0x400002, "90 75 00"); /* to 400005, or there by falling */
    add_segment(&r.s, 3, 0x400005, "75 fb");    /* to 400002 */
    add_segment(&r.s, 4, 0x400007, "c3");
    RUN(&r, 1, 3, 2, 3, 2, 3, 4, EVENT(LOST, 1), 0, 0, 1, 2, 3, 2, 3, 4);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.loops[0].flags, HP_LOOP_IRREDUCIBLE);
    /* Runs of either header are iterations. */
    expect_counts(loop_at(&r, 5), 2, 9, 4, 5, 5 + 4 * 2, 5 + 4 * 2);
    run_fini(&r);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/*
 * 400000: nop; call 400040; 400006: jnz 400000; 400008: ret
 * 400040: nop; jz 40004e; 400047: nop; call 400000 (recursion out of the callee); 40004d: ret;
 * 40004e: nop; ret
 */
static void add_calls(struct stream *s)
{
    add_segment(s, 1, 0x400000, "90 e8 3a 00 00 00");
    add_segment(s, 2, 0x400006, "75 f8");
    add_segment(s, 3, 0x400008, "c3");
    add_segment(s, 4, 0x400040, "90 0f 84 07 00 00 00");
    add_segment(s, 5, 0x400047, "90 e8 b3 ff ff ff");
    add_segment(s, 6, 0x40004d, "c3");
    add_segment(s, 7, 0x40004e, "90 c3");
}

static void calls_are_inside(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_calls(&r.s);
    RUN(&r, 1, 4, 7, 2, 1, 4, 7, 2, 1, 4, 7, 2, 3);
    assert_int_equal(r.n, 1);
    expect_counts(loop_at(&r, 0), 1, 3, 3, 3, 3 * 3, 3 * 3 + 3 * 4);
    run_fini(&r);
}

static void activations_have_their_own(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_calls(&r.s);
    /* Two rounds outside; in the first the callee calls again, and that goes round three times. */
    RUN(&r, 1, 4, 5, 1, 4, 7, 2, 1, 4, 7, 2, 1, 4, 7, 2, 3, 6, 2, 1, 4, 7, 2, 3);
    assert_int_equal(r.n, 1);
    /* All but the last return of each activation is in it, once. */
    expect_counts(loop_at(&r, 0), 2, 5, 2, 3, 5 * 3, 5 * 3 + 2 + 2 + 1 + 4 * 4 + 1);
    assert_true(r.loops[0].overlapping);
    run_fini(&r);
}

/* A computed jump into the middle of a function on the stack is longjmp: it closes no loop where
 * the place is reached otherwise. */
static void longjmp_closes_no_loop(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_segment(&r.s, 1, 0x400000, "90 e8 3a 00 00 00"); /* call 400040 (setjmp) */
    add_segment(&r.s, 2, 0x400006, "90 e8 74 00 00 00"); /* call 400080 */
    add_segment(&r.s, 3, 0x40000c, "c3");
    add_segment(&r.s, 4, 0x400040, "c3");
    add_segment(&r.s, 5, 0x400080, "90 75 05"); /* to 400088 */
    add_segment(&r.s, 6, 0x400083, "ff e0");
    add_segment(&r.s, 7, 0x400088, "c3");
    RUN(&r, 1, 4, 2, 5, 6, 2, 5, 6, 2, 5, 7, 3);
    assert_int_equal(r.n, 0);
    run_fini(&r);
}

/* The same, to a place that nothing else leads to: a landing pad, from where the loop goes on. */
static void landing_pad_is_in_the_loop(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_segment(&r.s, 1, 0x400000, "90 e8 3a 00 00 00"); /* call 400040 */
    add_segment(&r.s, 2, 0x400006, "75 f8");             /* to 400000 */
    add_segment(&r.s, 3, 0x400008, "c3");
    add_segment(&r.s, 4, 0x400010, "90 eb f3"); /* the pad: to 400006 */
    add_segment(&r.s, 5, 0x400040, "90 75 05"); /* to 400048 */
    add_segment(&r.s, 6, 0x400043, "ff e0");
    add_segment(&r.s, 7, 0x400048, "c3");
    RUN(&r, 1, 5, 7, 2, 1, 5, 6, 4, 2, 1, 5, 6, 4, 2, 1, 5, 7, 2, 3);
    assert_int_equal(r.n, 1);
    expect_counts(loop_at(&r, 0), 1, 4, 4, 4, 4 * 3 + 2 * 2, 4 * 3 + 2 * 2 + 4 * 2 + 4);
    assert_int_equal(r.loops[0].n_nodes, 3);
    run_fini(&r);
}

/* --- Beginnings and ends ---------------------------------------------------------------------- */

static void add_rounds(struct stream *s)
{
    add_segment(s, 1, 0x400000, "90 e8 3a 00 00 00"); /* call 400040 */
    add_segment(s, 2, 0x400006, "c3");
    add_segment(s, 3, 0x400040, "90 74 0d"); /* the header: to 400050 */
    add_segment(s, 4, 0x400043, "90 eb fa"); /* to 400040 */
    add_segment(s, 5, 0x400050, "c3");
}

static void a_history_may_begin_inside(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_rounds(&r.s);
    RUN(&r, 1, 3, 4, 3, EVENT(LOST, 1), 0, 0, 4, 3, 4, 3, 5);
    assert_int_equal(r.n, 1);
    expect_counts(loop_at(&r, 0x40), 2, 5, 2, 3, 14, 14);
    assert_int_equal(r.loops[0].counts.interrupted, 1);
    assert_int_equal(r.loops[0].histories, 1);
    run_fini(&r);
}

static void an_end_interrupts_what_is_on_the_stack(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_calls(&r.s);
    /* Ends in the callee, in the third round of the second activation. */
    RUN(&r, 1, 4, 5, 1, 4, 7, 2, 1, 4, 7, 2, 1, 4);
    expect_counts(loop_at(&r, 0), 2, 4, 1, 3, 4 * 2 + 2, 4 * 2 + 2 + 4 * 2 + 2 + 2 * 2);
    assert_int_equal(r.loops[0].counts.interrupted, 2);
    run_fini(&r);
}

static void a_handler_belongs_to_what_it_interrupted(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    add_rounds(&r.s);
    add_segment(&r.s, 6, 0x400080, "90 90 c3");
    add_segment(&r.s, 7, 0x4000c0, "0f 05");
    RUN(&r, 1, 3, 4, EVENT(SIGNAL, 10), 6, 7, EVENT(SIGRETURN, 0), 3, 4, 3, 5, 2);
    expect_counts(loop_at(&r, 0x40), 1, 3, 3, 3, 10, 14);
    run_fini(&r);
}

/* --- Random programs -------------------------------------------------------------------------- */

static uint64_t random_loops, random_nested, random_irreducible;

/* What holds of every loop, whatever was run. */
static void check_loop(const struct run *r, const struct loop_result *l)
{
    uint64_t executions = 0, iterations = 0;
    for (size_t i = 0; i < l->n_trips; i++) {
        executions += l->trips[i].count;
        iterations += l->trips[i].count * l->trips[i].value;
        assert_in_range(l->trips[i].value, l->counts.min, l->counts.max);
    }
    assert_int_equal(l->counts.executions, executions);
    assert_int_equal(l->counts.iterations, iterations);
    assert_int_equal(l->counts.back_edges, iterations - executions);
    assert_true(l->counts.back_edges > 0);
    assert_true(l->counts.self <= l->counts.inclusive);
    assert_true(l->counts.inclusive <= r->s.recorder.instructions);
    assert_true(l->counts.same <= executions && l->counts.stride <= executions);
    if (l->parent != HP_NO_ID) {
        const struct loop_result *p = &r->loops[l->parent];
        assert_true(p < l && p->function == l->function);
        assert_true(p->counts.self > l->counts.self && p->n_nodes > l->n_nodes);
    }
    random_nested += l->parent != HP_NO_ID;
    random_irreducible += l->flags & HP_LOOP_IRREDUCIBLE;
    random_loops++;
}

static void random_programs_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct program p;
        struct run r;
        program_init(&p, seed);
        if (seed % 2)
            program_make_native(&p);
        run_init(&r);
        program_run(&p, &r.s, 50 + random_below(&p.seed, 400));
        if (seed % 5 == 0)
            spoil(&p, 2);
        run_words(&r, p.words, p.n_words);
        for (size_t i = 0; i < r.n; i++)
            check_loop(&r, &r.loops[i]);
        run_fini(&r);
        program_fini(&p);
    }
    print_message("%llu loops, %llu nested, %llu irreducible\n", (unsigned long long)random_loops,
                  (unsigned long long)random_nested, (unsigned long long)random_irreducible);
    assert_true(random_loops > 500 && random_nested > 100 && random_irreducible > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_round_counts),
        cmocka_unit_test(triangular_nest),
        cmocka_unit_test(two_back_edges_one_loop),
        cmocka_unit_test(irreducible_loop),
        cmocka_unit_test(calls_are_inside),
        cmocka_unit_test(activations_have_their_own),
        cmocka_unit_test(longjmp_closes_no_loop),
        cmocka_unit_test(landing_pad_is_in_the_loop),
        cmocka_unit_test(a_history_may_begin_inside),
        cmocka_unit_test(an_end_interrupts_what_is_on_the_stack),
        cmocka_unit_test(a_handler_belongs_to_what_it_interrupted),
        cmocka_unit_test(random_programs_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
