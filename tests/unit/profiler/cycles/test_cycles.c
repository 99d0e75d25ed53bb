// SPDX-License-Identifier: MIT
/* Where the cycles went: every rule and every cause, by timings made by hand. */
#include "stream_fixture.h"

#include "profile/agreement.h"
#include "profiler/cycles/attribute.h"
#include "profiler/cycles/schemes.h"

#define INSNS        8
#define FRONT_STAGES 3
#define PARTS        HP_CYCLE_PARTS

/* Absolute cycles; 0: never. Everything is measured unless `events` has UNMEASURED. */
#define UNMEASURED (1u << 31)
struct at {
    uint32_t insn;
    uint64_t fetched, mapped, issued, loaded, done, left;
    uint32_t events;
    uint8_t data_from;
};

struct run {
    struct hp_cycles_row rows[INSNS];
    struct hp_attributor attributor;
    struct hp_schemes schemes;
};

static uint32_t after(uint64_t cycle, uint64_t fetched)
{
    return cycle ? (uint32_t)(cycle - fetched) : HP_NEVER;
}

static struct hp_timing timing_of(const struct at *at)
{
    bool aborted = at->events & (HP_TIMING_WRONG_PATH | HP_TIMING_TRAPPED);
    uint32_t events = at->events & ~UNMEASURED;
    events |= at->events & UNMEASURED ? 0 : HP_TIMING_MEASURED;
    events |= aborted ? 0 : HP_TIMING_RETIRED;
    return (struct hp_timing){.insn = at->insn,
                              .fetched = at->fetched,
                              .mapped = after(at->mapped, at->fetched),
                              .ready = after(at->issued, at->fetched),
                              .issued = after(at->issued, at->fetched),
                              .loaded = after(at->loaded, at->fetched),
                              .done = after(at->done, at->fetched),
                              .left = after(at->left, at->fetched),
                              .producer = HP_NO_ID,
                              .events = events,
                              .data_from = at->data_from};
}

static void run(struct run *r, const struct at *at, size_t n)
{
    memset(r, 0, sizeof *r);
    hp_attributor_init(&r->attributor, FRONT_STAGES);
    hp_schemes_init(&r->schemes, 0, 0, 0);
    for (size_t i = 0; i < n; i++) {
        struct hp_timing timing = timing_of(&at[i]);
        assert_int_equal(hp_attributor_timings(&r->attributor, r->rows, &timing, 1), HP_OK);
        hp_schemes_timings(&r->schemes, r->rows, &timing, 1);
    }
    hp_attributor_end(&r->attributor, r->rows);
    hp_attributor_fini(&r->attributor);
}
#define RUN(r, ...)                                                                                \
    run(r, (const struct at[]){__VA_ARGS__},                                                       \
        sizeof((const struct at[]){__VA_ARGS__}) / sizeof(struct at))

/* That an instruction has these parts of a cause, and forgets them. */
static void expect_parts(struct run *r, uint32_t insn, enum hp_cause cause, uint64_t parts)
{
    if (r->rows[insn].parts[cause] != parts)
        fail_msg("%u has %llu of %s, not %llu", insn,
                 (unsigned long long)r->rows[insn].parts[cause], hp_cause_name(cause),
                 (unsigned long long)parts);
    r->rows[insn].parts[cause] = 0;
}

static void expect_cycles(struct run *r, uint32_t insn, enum hp_cause cause, uint64_t cycles)
{
    expect_parts(r, insn, cause, cycles * PARTS);
}

/* That nothing else went to anybody. */
static void expect_no_more(struct run *r)
{
    for (uint32_t i = 0; i < INSNS; i++)
        for (int cause = 0; cause < HP_CAUSES; cause++)
            expect_parts(r, i, (enum hp_cause)cause, 0);
}

/* --- Retiring --------------------------------------------------------------------------------- */

/* Fetched in 10, mapped in 12: what a core does at its best. The first has its cycles from its
 * fetch on: 10, 11, 12 FETCH; 13 EXECUTE. */
static void those_that_retire_share_a_cycle(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 10, 12, 13, 0, 14, 14, 0, 0}, {1, 10, 12, 13, 0, 14, 14, 0, 0},
        {2, 10, 12, 13, 0, 14, 14, 0, 0}, {3, 11, 13, 14, 0, 15, 15, 0, 0});
    expect_cycles(&r, 0, HP_CAUSE_FETCH, 3);
    expect_cycles(&r, 0, HP_CAUSE_EXECUTE, 1);
    expect_parts(&r, 0, HP_CAUSE_RETIRE, PARTS / 3);
    expect_parts(&r, 1, HP_CAUSE_RETIRE, PARTS / 3);
    expect_parts(&r, 2, HP_CAUSE_RETIRE, PARTS / 3);
    expect_cycles(&r, 3, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

/* 17 cannot divide the parts: the first has the rest, and nothing is lost. */
static void a_cycle_that_cannot_be_divided(void **state)
{
    (void)state;
    struct run r;
    struct at many[17];
    for (size_t i = 0; i < 17; i++)
        many[i] = (struct at){.insn = i > 0, .mapped = 2, .issued = 3, .done = 4, .left = 4};
    run(&r, many, 17);
    expect_parts(&r, 1, HP_CAUSE_RETIRE, PARTS / 17 * 16);
    expect_parts(&r, 0, HP_CAUSE_RETIRE, PARTS - PARTS / 17 * 16);
}

/* --- The oldest is not done ------------------------------------------------------------------- */

/* Behind 0, which retires in 4: done in 12, retired in 15. */
#define FIRST_ONE                                                                                  \
    {                                                                                              \
        0, 0, 2, 3, 0, 4, 4, 0, 0                                                                  \
    }
#define CLEAR_FIRST(r) memset((r)->rows[0].parts, 0, sizeof(r)->rows[0].parts)

static void executing_and_waiting_for_a_unit(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, FIRST_ONE, {1, 0, 2, 7, 0, 12, 15, 0, 0});
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_UNIT, 2);    /* 5, 6 */
    expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 5); /* 7 ... 11 */
    expect_cycles(&r, 1, HP_CAUSE_QUEUE, 3);   /* 12, 13, 14 */
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

static void a_load_that_was_blocked(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, FIRST_ONE, {1, 0, 2, 8, 11, 13, 13, HP_TIMING_BLOCKED, HP_FROM_L1});
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_BLOCKED,
                  6); /* 5, 6, 7; 8, 9, 10, for it could not begin earlier */
    expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 2);
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

static void where_data_came_from(void **state)
{
    (void)state;
    static const struct {
        uint8_t from;
        uint32_t events;
        enum hp_cause cause;
    } cases[] = {
        {HP_FROM_NOWHERE, 0, HP_CAUSE_L1},
        {HP_FROM_L1, 0, HP_CAUSE_L1},
        {HP_FROM_L2, 0, HP_CAUSE_L2},
        {HP_FROM_L3, 0, HP_CAUSE_L3},
        {HP_FROM_MEMORY, 0, HP_CAUSE_MEMORY},
        {HP_FROM_L1, HP_TIMING_DTLB, HP_CAUSE_DTLB},
        {HP_FROM_L2, HP_TIMING_DTLB, HP_CAUSE_L2},
        {HP_FROM_MEMORY, HP_TIMING_DTLB, HP_CAUSE_MEMORY},
        {HP_FROM_MEMORY, HP_TIMING_FORWARDED, HP_CAUSE_L1},
        {HP_FROM_L1, HP_TIMING_FORWARDED | HP_TIMING_DTLB, HP_CAUSE_L1},
        {HP_FROM_L1, HP_TIMING_BLOCKED, HP_CAUSE_BLOCKED},
        {HP_FROM_L2, HP_TIMING_BLOCKED, HP_CAUSE_L2},
        {HP_FROM_L1, HP_TIMING_BLOCKED | HP_TIMING_DTLB, HP_CAUSE_DTLB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        RUN(&r, FIRST_ONE, {1, 0, 2, 3, 20, 21, 21, cases[i].events, cases[i].from});
        CLEAR_FIRST(&r);
        expect_cycles(&r, 1, cases[i].cause, 15); /* 5 ... 19 */
        expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 1);
        expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
        expect_no_more(&r);
    }
}

/* What was loaded long ago is nobody's fault: 1 waits for its second half alone. */
static void time_before_it_was_the_oldest_is_not_its_own(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 0, 2, 3, 0, 50, 50, 0, 0}, {1, 0, 2, 3, 40, 60, 60, 0, HP_FROM_MEMORY});
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 9); /* 51 ... 59 */
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

/* --- There is none ---------------------------------------------------------------------------- */

/* Next fetched in 10, mapped in 14, done and retired in 16: 5 ... 14 there was nothing, 15 it
 * executes. */
#define LATE(events)                                                                               \
    {                                                                                              \
        1, 10, 14, 15, 0, 16, 16, events, 0                                                        \
    }

static void why_fetch_was_late(void **state)
{
    (void)state;
    static const struct {
        uint32_t events;
        enum hp_cause cause;
    } cases[] = {
        {0, HP_CAUSE_FETCH},
        {HP_TIMING_L1I, HP_CAUSE_L1I},
        {HP_TIMING_ITLB, HP_CAUSE_ITLB},
        {HP_TIMING_L1I | HP_TIMING_ITLB, HP_CAUSE_L1I},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        RUN(&r, FIRST_ONE, LATE(cases[i].events));
        CLEAR_FIRST(&r);
        expect_cycles(&r, 1, cases[i].cause, 10);
        expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 1);
        expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
        expect_no_more(&r);
    }
}

/* It could have been mapped in 12: what comes after that is because it is alone; before, because of
 * its line. */
static void an_instruction_that_runs_alone(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, FIRST_ONE, LATE(HP_TIMING_SERIAL | HP_TIMING_L1I));
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_L1I, 8);    /* 5 ... 12 */
    expect_cycles(&r, 1, HP_CAUSE_SERIAL, 3); /* 13, 14; 15, for it begins only now */
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
    /* It was there all the time, and is mapped as soon as all before it have retired. */
    RUN(&r, FIRST_ONE,
        {1, 0, 4, 6, 8, 9, 9, HP_TIMING_SERIAL | HP_TIMING_BLOCKED | HP_TIMING_L1I, HP_FROM_L1});
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_SERIAL, 4); /* 5 ... 8 */
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
    /* What comes from afar takes long anyway. */
    RUN(&r, FIRST_ONE, {1, 0, 4, 5, 50, 51, 51, HP_TIMING_SERIAL, HP_FROM_MEMORY});
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_MEMORY, 45); /* 5 ... 49 */
    expect_cycles(&r, 1, HP_CAUSE_SERIAL, 1);  /* 50 */
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

/* All of it is the branch's, also what a missing line adds. */
static void a_misprediction(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 0, 2, 3, 0, 4, 4, HP_TIMING_MISPREDICTED, 0},
        {2, 1, 3, 0, 0, 0, 4, HP_TIMING_WRONG_PATH, 0},
        {3, 2, 0, 0, 0, 0, 4, HP_TIMING_WRONG_PATH, 0}, LATE(HP_TIMING_L1I | HP_TIMING_SERIAL));
    expect_cycles(&r, 0, HP_CAUSE_MISPREDICT, 10);
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_SERIAL, 1); /* when it is there */
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

/* That a branch was mispredicted long ago does not matter. */
static void only_the_last_one_that_retired(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 0, 2, 3, 0, 4, 4, HP_TIMING_MISPREDICTED, 0}, {2, 0, 2, 3, 0, 4, 4, 0, 0}, LATE(0));
    r.rows[2].parts[HP_CAUSE_RETIRE] = 0;
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_FETCH, 10);
    expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 1);
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

static void a_trap(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, FIRST_ONE, {1, 0, 2, 3, 0, 0, 6, HP_TIMING_TRAPPED, 0},
        {2, 1, 3, 0, 0, 0, 6, HP_TIMING_TRAPPED, 0}, LATE(HP_TIMING_L1I));
    CLEAR_FIRST(&r);
    expect_cycles(&r, 1, HP_CAUSE_TRAP, 10);
    expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 1);
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
    /* 3 was not fetched first after 0: the trap is of what comes after it. */
    RUN(&r, FIRST_ONE, {3, 0, 2, 3, 0, 4, 4, 0, 0}, {1, 0, 2, 3, 0, 0, 6, HP_TIMING_TRAPPED, 0},
        LATE(0), {4, 10, 14, 15, 0, 16, 17, 0, 0});
    expect_cycles(&r, 1, HP_CAUSE_TRAP, 10);
    expect_parts(&r, 3, HP_CAUSE_RETIRE, PARTS / 2);
    expect_cycles(&r, 4, HP_CAUSE_RETIRE, 1);
}

/* --- Windows ---------------------------------------------------------------------------------- */

static void what_is_not_measured_is_dropped(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 0, 2, 3, 0, 4, 4, UNMEASURED | HP_TIMING_MISPREDICTED, 0}, LATE(HP_TIMING_WINDOW),
        {2, 11, 15, 16, 0, 20, 20, HP_TIMING_MISPREDICTED, 0},
        {3, 24, 26, 27, 0, 30, 30, UNMEASURED, 0});
    assert_true(r.attributor.unmeasured);
    /* From its fetch on: 10 ... 14, for what was before does not count. */
    expect_cycles(&r, 1, HP_CAUSE_FETCH, 5);
    expect_cycles(&r, 1, HP_CAUSE_EXECUTE, 1);
    expect_cycles(&r, 1, HP_CAUSE_RETIRE, 1);
    expect_cycles(&r, 2, HP_CAUSE_EXECUTE, 3);
    expect_cycles(&r, 2, HP_CAUSE_RETIRE, 1);
    expect_cycles(&r, 2, HP_CAUSE_MISPREDICT, 6); /* it is responsible, whoever comes next */
    expect_no_more(&r);
}

/* Of a cycle in which one that is not measured retires too, the other has its half. */
static void a_cycle_shared_with_one_that_is_not_measured(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 0, 2, 3, 0, 4, 4, UNMEASURED, 0}, {1, 0, 2, 3, 0, 4, 4, HP_TIMING_WINDOW, 0},
        {2, 0, 2, 3, 0, 6, 6, 0, 0});
    expect_parts(&r, 1, HP_CAUSE_RETIRE, PARTS / 2);
    expect_cycles(&r, 2, HP_CAUSE_EXECUTE, 1);
    expect_cycles(&r, 2, HP_CAUSE_RETIRE, 1);
    expect_no_more(&r);
}

static void windows_are_counted_apart(void **state)
{
    (void)state;
    struct hp_cycles_row rows[INSNS] = {0};
    struct hp_attributor a;
    static const struct at at[] = {
        {0, 0, 2, 3, 0, 4, 4, 0, 0},
        {1, 0, 2, 3, 0, 9, 9, 0, 0},
        {2, 9, 11, 12, 0, 20, 20, UNMEASURED, 0},
        {3, 20, 22, 23, 0, 24, 24, HP_TIMING_WINDOW, 0},
        /* What is trapped begins no window of its own. */
        {4, 24, 26, 27, 0, 0, 28, HP_TIMING_TRAPPED | HP_TIMING_WINDOW, 0},
        {4, 30, 32, 33, 0, 34, 34, HP_TIMING_WINDOW, 0},
    };
    hp_attributor_init(&a, FRONT_STAGES);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        struct hp_timing timing = timing_of(&at[i]);
        assert_int_equal(hp_attributor_timings(&a, rows, &timing, 1), HP_OK);
    }
    hp_attributor_end(&a, rows);
    assert_int_equal(a.n_windows, 3);
    assert_int_equal(a.windows[0].instructions, 2);
    assert_int_equal(a.windows[0].parts, 10 * (uint64_t)PARTS);
    assert_int_equal(a.windows[1].instructions, 1);
    assert_int_equal(a.windows[1].parts, 4 * (uint64_t)PARTS); /* 20 is of what was not measured */
    assert_int_equal(a.windows[2].instructions, 1);
    assert_int_equal(a.windows[2].parts, 5 * (uint64_t)PARTS); /* 30 ... 34 */
    hp_attributor_fini(&a);
}

/* --- Other ways ------------------------------------------------------------------------------- */

static void expect_weights(const struct run *r, enum hp_attribution way, uint64_t w0, uint64_t w1,
                           uint64_t w2, uint64_t w3)
{
    const uint64_t expected[] = {w0, w1, w2, w3};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(r->rows[i].weights[way], expected[i]);
}

/* 1 is a long load; 2 waits behind it, 3 is fetched down the wrong path of 2 and mapped; then 0
 * again. */
static void what_other_ways_say(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, {0, 0, 2, 3, 0, 4, 4, 0, 0}, {1, 0, 2, 3, 100, 100, 100, 0, HP_FROM_MEMORY},
        {2, 1, 5, 101, 0, 102, 102, HP_TIMING_MISPREDICTED, 0},
        {3, 4, 8, 0, 0, 0, 102, HP_TIMING_WRONG_PATH, 0},
        {3, 5, 0, 0, 0, 0, 102, HP_TIMING_WRONG_PATH, 0}, {0, 105, 107, 108, 0, 109, 109, 0, 0});
    /* mapped in 2, 2, 5, 8 (aborted), 107 */
    expect_weights(&r, HP_ATTRIBUTE_DISPATCH, 3 + 99, 0, 3, 0);
    /* retired in 4, 100, 102, 109 */
    expect_weights(&r, HP_ATTRIBUTE_NEXT, 5 + 7, 96, 2, 0);
    /* fetch to done */
    expect_weights(&r, HP_ATTRIBUTE_PROFILEME, 4 + 4, 100, 101, 0);
    expect_cycles(&r, 1, HP_CAUSE_MEMORY, 95);
    expect_cycles(&r, 2, HP_CAUSE_EXECUTE, 1);
    expect_cycles(&r, 2, HP_CAUSE_MISPREDICT, 5);
}

static void agreement_of_two_ways(void **state)
{
    (void)state;
    struct hp_pinsn insns[] = {
        {.function = 3, .file = "a.c", .line = 1}, {.function = 3, .file = "a.c", .line = 1},
        {.function = 1, .file = "b.c", .line = 1}, {.function = 3, .file = "", .line = 0},
        {.function = 1, .file = "", .line = 0},    {.function = 3, .file = "", .line = 0},
    };
    const struct hp_profile profile = {.insns = insns, .n_insns = 6};
    const double a[] = {100, 0, 0, 0, 50, 50}, b[] = {0, 10, 4, 4, 0, 2}, none[6] = {0};
    static const uint32_t expected[HP_AGREEMENTS] = {6, 4, 2};
    /* By instruction only the last: 1/10 of b. By line the first two, half of a and of b, and the
     * last (2/10 + 1/10 of b, 1/4 of a). By function: 1 has 1/4 of a and 4/20 of b. */
    static const double overlaps[HP_AGREEMENTS] = {0.1, 0.5 + 0.25, 0.75 + 0.2};
    for (int by = 0; by < HP_AGREEMENTS; by++) {
        uint32_t groups[6], n;
        double overlap;
        assert_int_equal(hp_agreement_groups(&profile, (enum hp_agreement_by)by, groups, &n),
                         HP_OK);
        assert_int_equal(n, expected[by]);
        assert_int_equal(hp_agreement_of(groups, n, a, b, 6, &overlap), HP_OK);
        assert_float_equal(overlap, overlaps[by], 1e-9);
        assert_int_equal(hp_agreement_of(groups, n, a, none, 6, &overlap), HP_OK);
        assert_float_equal(overlap, 0, 0);
        assert_int_equal(hp_agreement_of(groups, n, none, none, 6, &overlap), HP_OK);
        assert_float_equal(overlap, 1, 0);
    }
}

static void names(void **state)
{
    (void)state;
    static const char *const causes[] = {
        "retire",  "execute", "unit",       "l1",   "l2",  "l3",   "memory", "dtlb",
        "blocked", "queue",   "mispredict", "trap", "l1i", "itlb", "fetch",  "serial"};
    static const char *const ways[] = {"exact", "profileme", "dispatch", "next"};
    for (int i = 0; i < HP_CAUSES; i++)
        assert_string_equal(hp_cause_name((enum hp_cause)i), causes[i]);
    for (int i = 0; i < HP_ATTRIBUTIONS; i++)
        assert_string_equal(hp_attribution_name((enum hp_attribution)i), ways[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_retire_share_a_cycle),
        cmocka_unit_test(a_cycle_that_cannot_be_divided),
        cmocka_unit_test(executing_and_waiting_for_a_unit),
        cmocka_unit_test(a_load_that_was_blocked),
        cmocka_unit_test(where_data_came_from),
        cmocka_unit_test(time_before_it_was_the_oldest_is_not_its_own),
        cmocka_unit_test(why_fetch_was_late),
        cmocka_unit_test(an_instruction_that_runs_alone),
        cmocka_unit_test(a_misprediction),
        cmocka_unit_test(only_the_last_one_that_retired),
        cmocka_unit_test(a_trap),
        cmocka_unit_test(what_is_not_measured_is_dropped),
        cmocka_unit_test(a_cycle_shared_with_one_that_is_not_measured),
        cmocka_unit_test(windows_are_counted_apart),
        cmocka_unit_test(what_other_ways_say),
        cmocka_unit_test(agreement_of_two_ways),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
