// SPDX-License-Identifier: MIT
/* Measures of loop profilers, worked out by hand. */
#include "stream_fixture.h"

#include "lab/loops/code_sizes.h"
#include "lab/loops/comparison.h"

#include <math.h>

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%g instead of %g", value, expected);
}

/* --- Four loops, a run of 2000 instructions / ------------------------------------------------- */

enum { OUTER, INNER, FAR, MIDST, N };

/* The outer one calls something; the inner one has two back edges; the third is too long to be
 * seen; into the fourth one gets at 2003, so what goes back to there is no branch. */
static const struct hp_exact_back_edge outer_edges[] = {{0x1200, 0x1000, 9}};
static const struct hp_exact_back_edge inner_edges[] = {{0x1080, 0x1040, 60}, {0x1090, 0x1040, 30}};
static const struct hp_exact_back_edge far_edges[] = {{0x5400, 0x5000, 40}};
static const struct hp_exact_back_edge midst_edges[] = {{0x2001, 0x2003, 3}};
static const uint32_t midst_nodes[] = {4, 5};
static const struct hp_exact_loop four[] = {
    [OUTER] = {.parent = HP_NO_ID,
               .counts = {.executions = 1, .back_edges = 9, .self = 1000, .inclusive = 1500},
               .back_edges = outer_edges,
               .n_back_edges = 1},
    [INNER] = {.parent = OUTER,
               .counts = {.executions = 12, .back_edges = 90, .self = 600, .inclusive = 600},
               .once = 2,
               .back_edges = inner_edges,
               .n_back_edges = 2},
    [FAR] = {.header = 3,
             .parent = HP_NO_ID,
             .counts = {.executions = 9, .back_edges = 40, .self = 200, .inclusive = 200},
             .back_edges = far_edges,
             .n_back_edges = 1},
    [MIDST] = {.header = 5,
               .parent = HP_NO_ID,
               .counts = {.executions = 4, .back_edges = 3, .self = 100, .inclusive = 100},
               .once = 2,
               .back_edges = midst_edges,
               .n_back_edges = 1,
               .nodes = midst_nodes,
               .n_nodes = 2},
};

/* The blocks that end with their branches. */
static void make(struct stream *s, struct hp_lab_loops *loops)
{
    stream_init(s);
    add_segment(s, 1, 0x11ff, "90 0f 85 fa fd ff ff"); /* jne 1000 */
    add_segment(s, 2, 0x107f, "90 75 be");             /* jne 1040 */
    add_segment(s, 3, 0x1090, "75 ae");                /* jne 1040 */
    add_segment(s, 4, 0x5400, "0f 85 fa fb ff ff");    /* jne 5000 */
    add_segment(s, 5, 0x2000, "90 74 10");             /* je 2013 */
    add_segment(s, 6, 0x2003, "90 75 fa");             /* jne 2000 */
    assert_int_equal(hp_lab_loops_init(loops, s->code, four, N, 2000), HP_OK);
}

static void clear(struct stream *s, struct hp_lab_loops *loops)
{
    hp_lab_loops_fini(loops);
    stream_fini(s);
}

static void own_instructions_are_without_nested_loops(void **state)
{
    (void)state;
    struct stream s;
    struct hp_lab_loops loops;
    size_t top[HP_LAB_TOP];
    make(&s, &loops);
    assert_int_equal(loops.loops[OUTER].own, 400);
    assert_int_equal(loops.loops[INNER].own, 600);
    assert_int_equal(loops.loops[INNER].executions, 10);
    assert_int_equal(loops.loops[FAR].own, 200);
    assert_true(loops.loops[OUTER].calls && !loops.loops[INNER].calls);
    assert_true(loops.loops[INNER].seen && !loops.loops[FAR].seen); /* 1024 bytes are too many */
    assert_true(loops.loops[MIDST].seen && !loops.loops[MIDST].closed);
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_ANY, top), 4);
    assert_int_equal(top[3], MIDST);
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_HOT, top),
                     3); /* 3 back edges in 4 executions */
    assert_int_equal(top[0], INNER);
    assert_int_equal(top[1], OUTER);
    assert_int_equal(top[2], FAR);
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_SEEN, top), 2);
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_CALM, top), 1);
    assert_int_equal(top[0], INNER);
    clear(&s, &loops);
}

static void a_branch_stands_for_a_loop(void **state)
{
    (void)state;
    struct stream s;
    struct hp_lab_loops loops;
    make(&s, &loops);
    assert_int_equal(hp_lab_loops_find(&loops, 0x1090, 0x1040), INNER);
    assert_int_equal(hp_lab_loops_find(&loops, 0x1090, 0x1041), N);
    assert_int_equal(hp_lab_loops_find(&loops, 0x5400, 0x5000), FAR);
    assert_int_equal(hp_lab_loops_find(&loops, 0x2004, 0x2000), MIDST);
    assert_int_equal(hp_lab_loops_find(&loops, 0x2001, 0x2003), MIDST);
    assert_int_equal(hp_lab_loops_find(&loops, 0x2004, 0x2003),
                     MIDST); /* no edge, but its header */
    assert_int_equal(hp_lab_loops_find(&loops, 0x2004, 0x1000), N);
    assert_int_equal(hp_lab_loops_find(&loops, 0x2005, 0x2000), N);
    clear(&s, &loops);
}

static void loops_with_less_than_a_thousandth_do_not_count(void **state)
{
    (void)state;
    struct stream s;
    struct hp_lab_loops loops;
    size_t top[HP_LAB_TOP];
    make(&s, &loops);
    loops.instructions = 200000;
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_HOT, top), 3);
    loops.instructions = 200001;
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_HOT, top), 2);
    clear(&s, &loops);
}

static void sizes_are_those_of_executed_code(void **state)
{
    (void)state;
    struct stream s;
    struct hp_lab_loops loops;
    struct hp_lab_code_sizes sizes;
    make(&s, &loops);
    assert_int_equal(hp_lab_code_sizes_init(&sizes, s.code), HP_OK);
    assert_int_equal(hp_lab_code_sizes_count(&sizes, 0x2000, 0x2004), 4);
    assert_int_equal(hp_lab_code_sizes_count(&sizes, 0x2001, 0x2003), 2);
    assert_int_equal(hp_lab_code_sizes_count(&sizes, 0x1040, 0x1090), 3);
    assert_int_equal(hp_lab_code_sizes_count(&sizes, 0, UINT64_MAX - 1), 10);
    assert_int_equal(hp_lab_code_sizes_count(&sizes, 0x2004, 0x2003), 0);
    hp_lab_code_sizes_fini(&sizes);
    clear(&s, &loops);
}

static void a_perfect_report_has_no_errors(void **state)
{
    (void)state;
    const struct hp_loop_entry entries[] = {
        {.address = 0x1200,
         .target = 0x1000,
         .executions = 1,
         .average = 9,
         .iterations = 9,
         .instructions = 400},
        {.address = 0x1080,
         .target = 0x1040,
         .executions = 10,
         .average = 6,
         .iterations = 60,
         .instructions = 450},
        {.address = 0x1090,
         .target = 0x1040,
         .executions = 8,
         .average = 3.75,
         .iterations = 30,
         .instructions = 150},
        {.address = 0x5400,
         .target = 0x5000,
         .executions = 9,
         .average = 40 / 9.,
         .iterations = 40,
         .instructions = 200},
    };
    struct stream s;
    struct hp_lab_loops loops;
    struct hp_lab_report report;
    struct hp_lab_errors errors;
    make(&s, &loops);
    assert_int_equal(hp_lab_report_init(&report, &loops, entries, 4), HP_OK);
    assert_near(report.all, 1200);
    for (int choice = HP_LAB_HOT; choice <= HP_LAB_CALM; choice++) {
        hp_lab_errors(&loops, &report, (enum hp_lab_choice)choice, 2000, &errors);
        assert_near(errors.iterations, 0);
        assert_near(errors.executions, 0);
        assert_near(errors.time, 0);
    }
    assert_near(hp_lab_captured(&loops, &report), 60);
    assert_near(hp_lab_captured_all(&loops, &report), 60);
    hp_lab_report_fini(&report);
    clear(&s, &loops);
}

static void errors_are_those_of_the_paper(void **state)
{
    (void)state;
    /* The inner loop's second back edge is not there; the outer loop's executions are three times
     * too many; something is no loop; the far one is not reported. */
    const struct hp_loop_entry entries[] = {
        {.address = 0x1080,
         .target = 0x1040,
         .executions = 12,
         .iterations = 60,
         .instructions = 300},
        {.address = 0x1200,
         .target = 0x1000,
         .executions = 3,
         .iterations = 9,
         .instructions = 600},
        {.address = 0x1200,
         .target = 0x1001,
         .executions = 7,
         .iterations = 7,
         .instructions = 100},
    };
    struct stream s;
    struct hp_lab_loops loops;
    struct hp_lab_report report;
    struct hp_lab_errors errors;
    make(&s, &loops);
    assert_int_equal(hp_lab_report_init(&report, &loops, entries, 3), HP_OK);
    assert_int_equal(report.n_heaviest, 3);
    assert_int_equal(report.heaviest[0], OUTER);
    assert_int_equal(report.heaviest[1], INNER);
    assert_int_equal(report.heaviest[2], N);
    hp_lab_errors(&loops, &report, HP_LAB_HOT, report.all, &errors);
    /* 5 for 9, 3 for 9, 0 for 40 / 9 */
    assert_near(errors.iterations, 100 * (4 + 6 + 40 / 9.) / (9 + 9 + 40 / 9.));
    /* 12/15 for 10/20, 3/15 for 1/20, 0 for 9/20 */
    assert_near(errors.executions, 100 * (.3 + .15 + .45) / 3);
    /* .3 for .3, .6 for .2, 0 for .1 */
    assert_near(errors.time, 100 * (0 + .4 + .1) / 3);
    hp_lab_errors(&loops, &report, HP_LAB_SEEN, 2000, &errors);
    assert_near(errors.iterations, 100 * (4 + 6) / 18.);
    assert_near(errors.executions, 100 * (fabs(12 / 15. - 10 / 11.) + fabs(3 / 15. - 1 / 11.)) / 2);
    assert_near(errors.time, 100 * (.15 + .1) / 2); /* .15 for .3, .3 for .2 */
    assert_near(hp_lab_captured(&loops, &report), 50);
    hp_lab_report_fini(&report);
    clear(&s, &loops);
}

static void nothing_reported_is_all_wrong(void **state)
{
    (void)state;
    struct stream s;
    struct hp_lab_loops loops;
    struct hp_lab_report report;
    struct hp_lab_errors errors;
    make(&s, &loops);
    assert_int_equal(hp_lab_report_init(&report, &loops, NULL, 0), HP_OK);
    hp_lab_errors(&loops, &report, HP_LAB_HOT, report.all, &errors);
    assert_near(errors.iterations, 100);
    assert_near(errors.executions, 100 / 3.);
    assert_near(errors.time, 20); /* 60 % of the run, three loops */
    assert_near(hp_lab_captured(&loops, &report), 0);
    hp_lab_report_fini(&report);
    clear(&s, &loops);
    stream_init(&s);
    assert_int_equal(hp_lab_loops_init(&loops, s.code, NULL, 0, 2000), HP_OK);
    assert_int_equal(hp_lab_report_init(&report, &loops, NULL, 0), HP_OK);
    hp_lab_errors(&loops, &report, HP_LAB_HOT, report.all, &errors);
    assert_true(isnan(errors.iterations) && isnan(errors.executions) && isnan(errors.time));
    hp_lab_report_fini(&report);
    clear(&s, &loops);
}

/* A model that knows the header of a loop which is entered in its midst says what the loop is. */
static void who_names_the_header_speaks_for_the_loop(void **state)
{
    (void)state;
    static const struct hp_loop_entry entries[] = {
        {.address = 0x2004, .target = 0x2000, .executions = 50, .iterations = 60},
        {.address = 0x2004, .target = 0x2003, .executions = 2, .iterations = 3},
    };
    struct stream s;
    struct hp_lab_loops loops;
    struct hp_lab_report report;
    make(&s, &loops);
    assert_int_equal(hp_lab_report_init(&report, &loops, entries, 1), HP_OK);
    assert_near(report.said[MIDST].executions, 50);
    hp_lab_report_fini(&report);
    assert_int_equal(hp_lab_report_init(&report, &loops, entries, 2), HP_OK);
    assert_near(report.said[MIDST].executions, 2);
    assert_near(report.said[MIDST].iterations, 3);
    hp_lab_report_fini(&report);
    clear(&s, &loops);
}

/* --- More than ten / -------------------------------------------------------------------------- */

static void ten_are_the_heaviest(void **state)
{
    (void)state;
    enum { MANY = 25 };
    struct hp_exact_loop many[MANY];
    struct hp_exact_back_edge edges[MANY];
    struct hp_loop_entry entries[MANY];
    struct stream s;
    struct hp_lab_loops loops;
    struct hp_lab_report report;
    size_t top[HP_LAB_TOP];
    for (unsigned i = 0; i < MANY; i++) {
        unsigned weight = 1 + i * 7 % MANY; /* each of 1 to 25 once */
        edges[i] = (struct hp_exact_back_edge){0x1000 + 16 * i, 0x1000 + 16 * i, 1};
        many[i] =
            (struct hp_exact_loop){.parent = HP_NO_ID,
                                   .counts = {.executions = 1, .back_edges = 1, .self = weight},
                                   .back_edges = &edges[i],
                                   .n_back_edges = 1};
        /* The model takes the lightest for the heaviest. */
        entries[i] = (struct hp_loop_entry){
            .address = edges[i].branch, .target = edges[i].target, .instructions = 100 - weight};
    }
    stream_init(&s);
    add_segment(&s, 1, 0x1000, "c3"); /* the header of all of them: it does not matter */
    assert_int_equal(hp_lab_loops_init(&loops, s.code, many, MANY, 1000), HP_OK);
    assert_int_equal(hp_lab_loops_top(&loops, HP_LAB_HOT, top), HP_LAB_TOP);
    for (unsigned k = 0; k < HP_LAB_TOP; k++)
        assert_int_equal(loops.loops[top[k]].own, 25 - k);
    assert_int_equal(hp_lab_report_init(&report, &loops, entries, MANY), HP_OK);
    assert_int_equal(report.n_heaviest, HP_LAB_TOP);
    assert_near(hp_lab_captured(&loops, &report), 5.5); /* 1 + ... + 10 */
    assert_near(hp_lab_captured_all(&loops, &report), 32.5);
    hp_lab_report_fini(&report);
    clear(&s, &loops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_instructions_are_without_nested_loops),
        cmocka_unit_test(a_branch_stands_for_a_loop),
        cmocka_unit_test(loops_with_less_than_a_thousandth_do_not_count),
        cmocka_unit_test(sizes_are_those_of_executed_code),
        cmocka_unit_test(a_perfect_report_has_no_errors),
        cmocka_unit_test(errors_are_those_of_the_paper),
        cmocka_unit_test(nothing_reported_is_all_wrong),
        cmocka_unit_test(who_names_the_header_speaks_for_the_loop),
        cmocka_unit_test(ten_are_the_heaviest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
