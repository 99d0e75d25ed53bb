// SPDX-License-Identifier: MIT
/* The parts of sampling that can be checked by hand: configurations, tallies, overlaps, estimates.
 */
#include "sample_fixture.h"

#include <math.h>

/* --- Configurations / ------------------------------------------------------------------------- */

static void says(const char *text, const char *expected)
{
    struct hp_sample_config a = config_of(text);
    char out[256];
    hp_sample_config_format(&a, out, sizeof out);
    assert_string_equal(out, expected);
    struct hp_sample_config b = config_of(out);
    assert_true(a.mode == b.mode && a.interval == b.interval && a.window == b.window &&
                a.seed == b.seed && a.buffer == b.buffer &&
                a.interrupt_cycles == b.interrupt_cycles && a.sample_cycles == b.sample_cycles &&
                a.near == b.near && a.history == b.history);
}

static void configs_have_one_form(void **state)
{
    (void)state;
    says("profileme", "profileme");
    says("profileme,interval=10000,mode=instructions,window=0", "profileme");
    says("profileme,pairs", "profileme,pairs");
    says("profileme,pairs,window=0", "profileme,pairs");
    says("profileme,window=100,pairs", "profileme,window=100");
    says("profileme,history=32,near=7,sample=0,interrupt=4294967295,buffer=65536,"
         "seed=18446744073709551615,window=4294967296,interval=1099511627776,mode=slots",
         "profileme,mode=slots,interval=1099511627776,window=4294967296,"
         "seed=18446744073709551615,buffer=65536,interrupt=4294967295,sample=0,near=7,history=32");
    char small[8];
    struct hp_sample_config config = config_of("profileme,mode=slots");
    hp_sample_config_format(&config, small, sizeof small);
    assert_string_equal(small, "profile");
}

static void bad_configs_are_rejected_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "there is no ''; there are profileme"},
        {"profilem", "there is no 'profilem'; there are profileme"},
        {"profileme,", "profileme has no setting ''; there are mode, pairs, interval, window,"},
        {"profileme,interval=1", "interval: 1 is not between 2 and 1099511627776"},
        {"profileme,interval=", "interval: '' is not a number"},
        {"profileme,interval=-5", "interval: '-5' is not a number"},
        {"profileme,interval=99999999999999999999999",
         "interval: 99999999999999999999999 is not between 2 and 1099511627776"},
        {"profileme,seed=18446744073709551616",
         "seed: 18446744073709551616 is not between 0 and 18446744073709551615"},
        {"profileme,interval", "'interval' needs a value"},
        {"profileme,pairs=1", "'pairs' takes no value"},
        {"profileme,mode=", "mode: '' is none of instructions, slots"},
        {"profileme,mode=cycles", "mode: 'cycles' is none of instructions, slots"},
        {"profileme,buffer=0", "buffer: 0 is not between 1 and 65536"},
        {"profileme,history=33", "history: 33 is not between 0 and 32"},
        {"profileme,near=30 ", "near: '30 ' is not a number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hp_sample_config config = {.interval = 5};
        assert_int_equal(hp_sample_config_parse(bad[i].text, &config), HP_ERR_INVALID);
        assert_non_null(strstr(hp_error_text(), bad[i].why));
        assert_int_equal(config.interval, 5);
    }
}

static void distances_of_pairs_are_half_as_long(void **state)
{
    (void)state;
    assert_true(hp_sample_distance(1000, 0) == 1000);
    assert_true(hp_sample_distance(1000, 96) == 500);
}

/* --- Tallies / -------------------------------------------------------------------------------- */

static void names_are_there_for_all(void **state)
{
    (void)state;
    assert_string_equal(hp_insn_event_name(HP_INSN_L1I), "l1i");
    assert_string_equal(hp_insn_event_name(HP_INSN_NO_MEMORY_QUEUE), "no-memory-queue");
    assert_string_equal(hp_insn_event_name(HP_INSN_UNIT_BUSY), "unit-busy");
    assert_string_equal(hp_stage_name(HP_STAGE_MAP), "map");
    assert_string_equal(hp_stage_name(HP_STAGE_LOAD), "load");
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        assert_non_null(hp_insn_event_name((enum hp_insn_event)i));
    for (int i = 0; i < HP_STAGES; i++)
        assert_non_null(hp_stage_name((enum hp_stage)i));
    assert_string_equal(hp_insn_event_name(HP_INSN_EVENTS), "?");
    assert_string_equal(hp_stage_name(HP_STAGES), "?");
}

static const struct hp_timing load = {
    .fetched = 1000,
    .mapped = 4,
    .ready = 9,
    .issued = 11,
    .loaded = 31,
    .done = 33,
    .left = 40,
    .data_from = HP_FROM_L3,
    .events = HP_TIMING_RETIRED | HP_TIMING_MEASURED | HP_TIMING_L1D | HP_TIMING_DTLB |
              HP_TIMING_NO_QUEUE | HP_TIMING_TLB2,
};

static void check_stages(const struct hp_insn_tally *tally, const uint64_t *cycles)
{
    for (int i = 0; i < HP_STAGES; i++)
        assert_int_equal(tally->stages[i], cycles[i]);
}

static void stages_lie_between_the_points_of_a_timing(void **state)
{
    (void)state;
    struct hp_insn_tally tally = {0};
    hp_insn_tally_add(&tally, &load);
    check_stages(&tally, (const uint64_t[]){4, 5, 2, 22, 7, 20});
    hp_insn_tally_add(&tally, &load);
    check_stages(&tally, (const uint64_t[]){8, 10, 4, 44, 14, 40});
    assert_int_equal(tally.stage_squares[HP_STAGE_EXECUTE], 2 * 22 * 22);
    assert_int_equal(tally.stage_squares[HP_STAGE_LOAD], 2 * 20 * 20);

    /* A nop is never ready and never issued. */
    struct hp_timing nop = {.mapped = 4,
                            .ready = HP_NEVER,
                            .issued = HP_NEVER,
                            .loaded = HP_NEVER,
                            .done = 5,
                            .left = 8,
                            .events = HP_TIMING_RETIRED};
    memset(&tally, 0, sizeof tally);
    hp_insn_tally_add(&tally, &nop);
    check_stages(&tally, (const uint64_t[]){4, 0, 0, 1, 3, 0});
}

static void events_are_counted_by_name(void **state)
{
    (void)state;
    struct hp_insn_tally tally = {0};
    struct hp_timing timing = load;
    hp_insn_tally_add(&tally, &timing);
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        assert_int_equal(tally.events[i], i == HP_INSN_L1D || i == HP_INSN_L2 ||
                                              i == HP_INSN_DTLB || i == HP_INSN_NO_QUEUE);
    timing.events = HP_TIMING_RETIRED | HP_TIMING_MERGED; /* its line is on its way from memory */
    timing.data_from = HP_FROM_MEMORY;
    hp_insn_tally_add(&tally, &timing);
    assert_int_equal(tally.events[HP_INSN_L1D], 2);
    assert_int_equal(tally.events[HP_INSN_L2], 2);
    assert_int_equal(tally.events[HP_INSN_L3], 1);
    timing.data_from = HP_FROM_L1;
    timing.events = HP_TIMING_RETIRED | HP_TIMING_L1I | HP_TIMING_ITLB | HP_TIMING_TAKEN |
                    HP_TIMING_MISPREDICTED | HP_TIMING_BTB | HP_TIMING_FORWARDED |
                    HP_TIMING_BLOCKED | HP_TIMING_NO_REORDER | HP_TIMING_NO_MEMORY_QUEUE |
                    HP_TIMING_NO_REGISTER | HP_TIMING_UNIT_BUSY;
    memset(&tally, 0, sizeof tally);
    hp_insn_tally_add(&tally, &timing);
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        assert_int_equal(tally.events[i], i != HP_INSN_L1D && i != HP_INSN_L2 && i != HP_INSN_L3 &&
                                              i != HP_INSN_DTLB && i != HP_INSN_NO_QUEUE);
}

static void aborted_ones_are_only_counted(void **state)
{
    (void)state;
    struct hp_insn_tally tally = {0}, both = {0};
    struct hp_timing timing = load;
    timing.events = HP_TIMING_WRONG_PATH | HP_TIMING_L1D;
    hp_insn_tally_add(&tally, &timing);
    timing.events = HP_TIMING_TRAPPED | HP_TIMING_L1D;
    hp_insn_tally_add(&tally, &timing);
    hp_insn_tally_add(&tally, &timing);
    assert_int_equal(tally.fetched, 3);
    assert_int_equal(tally.wrong_path, 1);
    assert_int_equal(tally.trapped, 2);
    assert_int_equal(tally.retired + tally.events[HP_INSN_L1D] + tally.stages[HP_STAGE_MAP], 0);
    hp_insn_tally_merge(&both, &tally);
    hp_insn_tally_add(&both, &load);
    hp_insn_tally_add(&tally, &load);
    assert_memory_equal(&both, &tally, sizeof tally);
    hp_insn_tally_merge(&both, &tally);
    assert_int_equal(both.fetched, 8);
    assert_int_equal(both.events[HP_INSN_L2], 2);
    assert_int_equal(both.stages[HP_STAGE_LOAD], 40);
    assert_int_equal(both.stage_squares[HP_STAGE_LOAD], 800);
}

/* --- Overlaps / ------------------------------------------------------------------------------- */

/* Fetched at 0: mapped 4, issued 11, done 33, left 40. */
static struct hp_sample sample_of(uint32_t mapped, uint32_t issued, uint32_t done, uint32_t left)
{
    struct hp_sample sample = {.timing = load};
    sample.timing.mapped = mapped;
    sample.timing.issued = issued;
    sample.timing.done = done;
    sample.timing.left = left;
    return sample;
}

static void useful_overlap_is_issue_while_in_progress(void **state)
{
    (void)state;
    struct hp_sample it = sample_of(4, 11, 33, 40), other = sample_of(3, 5, 7, 50);
    assert_int_equal(hp_sample_progress(&it), 33);
    assert_true(hp_overlap_useful(&it, &other, 27, NULL) == 1); /* in cycle 32 */
    assert_true(hp_overlap_useful(&it, &other, 28, NULL) == 0);
    assert_true(hp_overlap_useful(&it, &other, -5, NULL) == 1); /* in cycle 0 */
    assert_true(hp_overlap_useful(&it, &other, -6, NULL) == 0);
    assert_true(hp_overlap_useful(&other, &it, -10, NULL) == 1); /* the other way round: in 1 */
    assert_true(hp_overlap_useful(&other, &it, -4, NULL) == 0);  /* in 7: it is done */
    other.timing.events &= ~(uint32_t)HP_TIMING_RETIRED;
    assert_true(hp_overlap_useful(&it, &other, 27, NULL) == 0);
    assert_true(hp_overlap_useful(&other, &it, -10, NULL) == 1); /* only the other has to retire */
    other = sample_of(3, HP_NEVER, 4, 50);
    assert_true(hp_overlap_useful(&it, &other, 0, NULL) == 0); /* a nop */
    /* What did not become ready is in progress until its end. */
    it.timing.done = HP_NEVER;
    other = sample_of(3, 5, 7, 50);
    assert_int_equal(hp_sample_progress(&it), 40);
    assert_true(hp_overlap_useful(&it, &other, 34, NULL) == 1);
    assert_true(hp_overlap_useful(&it, &other, 35, NULL) == 0);
}

static void near_is_retirement_within_some_cycles(void **state)
{
    (void)state;
    struct hp_sample it = sample_of(4, 11, 33, 40), other = sample_of(3, 5, 7, 50);
    uint32_t cycles = 30;
    assert_true(hp_overlap_near(&it, &other, 20, &cycles) == 1);
    assert_true(hp_overlap_near(&it, &other, 21, &cycles) == 0);
    assert_true(hp_overlap_near(&it, &other, -40, &cycles) == 1);
    assert_true(hp_overlap_near(&it, &other, -41, &cycles) == 0);
    assert_true(hp_overlap_near(&other, &it, 40, &cycles) == 1);
    it.timing.events &= ~(uint32_t)HP_TIMING_RETIRED;
    assert_true(hp_overlap_near(&it, &other, 0, &cycles) == 0);
    assert_true(hp_overlap_near(&other, &it, 0, &cycles) == 0);
}

static void around_is_issue_while_it_waits_in_the_queue(void **state)
{
    (void)state;
    struct hp_sample it = sample_of(4, 11, 33, 40), other = sample_of(3, 5, 7, 50);
    assert_true(hp_overlap_around(&it, &other, -1, NULL) == 1); /* in cycle 4 */
    assert_true(hp_overlap_around(&it, &other, -2, NULL) == 0);
    assert_true(hp_overlap_around(&it, &other, 5, NULL) == 1); /* in 10 */
    assert_true(hp_overlap_around(&it, &other, 6, NULL) == 0);
    it = sample_of(4, HP_NEVER, HP_NEVER, 20); /* aborted in the queue */
    assert_true(hp_overlap_around(&it, &other, 14, NULL) == 1);
    assert_true(hp_overlap_around(&it, &other, 15, NULL) == 0);
    it = sample_of(HP_NEVER, HP_NEVER, HP_NEVER, 20);
    assert_true(hp_overlap_around(&it, &other, 10, NULL) == 0);
}

static void busy_is_cycles_of_both_executing(void **state)
{
    (void)state;
    struct hp_sample it = sample_of(4, 11, 33, 40), other = sample_of(3, 5, 15, 50);
    enum hp_unit_kind unit = HP_UNIT_MUL;
    other.timing.unit = HP_UNIT_MUL;
    assert_true(hp_overlap_busy(&it, &other, 6, &unit) == 10); /* 11 to 21 */
    assert_true(hp_overlap_busy(&it, &other, 0, &unit) == 4);  /* 5 to 15 */
    assert_true(hp_overlap_busy(&it, &other, 25, &unit) == 3); /* 30 to 40 */
    assert_true(hp_overlap_busy(&it, &other, 28, &unit) == 0);
    assert_true(hp_overlap_busy(&it, &other, -9, &unit) == 0);
    assert_true(hp_overlap_busy(&other, &it, -6, NULL) == 10);
    unit = HP_UNIT_FP;
    assert_true(hp_overlap_busy(&it, &other, 6, &unit) == 0);
}

static void empty_samples_overlap_with_nothing(void **state)
{
    (void)state;
    struct hp_sample it = sample_of(0, 0, 33, 40), empty = {.empty = true};
    uint32_t cycles = 1000;
    assert_int_equal(hp_sample_progress(&empty), 0);
    assert_true(
        hp_overlap_useful(&it, &empty, 0, NULL) + hp_overlap_useful(&empty, &it, 0, NULL) +
            hp_overlap_near(&it, &empty, 0, &cycles) + hp_overlap_near(&empty, &it, 0, &cycles) +
            hp_overlap_around(&it, &empty, 0, NULL) + hp_overlap_around(&empty, &it, 0, NULL) +
            hp_overlap_busy(&it, &empty, 0, NULL) + hp_overlap_busy(&empty, &it, 0, NULL) ==
        0);
}

/* A measure of one's own: which way round it is asked. */
static double cycles_later(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                           void *context)
{
    assert_int_equal((int64_t)(other->timing.fetched - it->timing.fetched), later);
    return *(double *)context + (double)later;
}

static void sums_are_made_both_ways_round(void **state)
{
    (void)state;
    struct hp_overlap_tally *tally;
    struct hp_overlap_sum sum;
    double base = 100;
    struct hp_sample_pair pairs[4] = {0};
    for (int i = 0; i < 4; i++) {
        pairs[i].paired = true;
        pairs[i].fetch_latency = 10;
        pairs[i].first.timing = pairs[i].second.timing = load;
        pairs[i].second.timing.fetched += 10;
        pairs[i].first.timing.insn = 7;
        pairs[i].second.timing.insn =
            i ? UINT32_MAX - 1 : 7; /* any id; the first pair has it twice */
    }
    pairs[2].second.empty = true; /* an empty slot: asked one way only */
    pairs[3].paired = false;
    assert_int_equal(hp_overlap_tally_new(cycles_later, &base, &tally), HP_OK);
    hp_overlap_tally_pairs(tally, pairs, 1);
    hp_overlap_tally_pairs(tally, pairs + 1, 3);
    assert_int_equal(hp_overlap_tally_get(tally, 7, &sum), HP_OK);
    assert_int_equal(sum.pairs, 4);
    assert_true(sum.sum == 110 + 90 + 110 + 110);
    assert_true(sum.squares == 3 * 110 * 110 + 90 * 90);
    assert_int_equal(hp_overlap_tally_get(tally, UINT32_MAX - 1, &sum), HP_OK);
    assert_int_equal(sum.pairs, 1);
    assert_true(sum.sum == 90);
    assert_int_equal(hp_overlap_tally_get(tally, 8, &sum), HP_OK);
    assert_int_equal(sum.pairs, 0);
    hp_overlap_tally_free(tally);
}

/* --- Estimates / ------------------------------------------------------------------------------ */

static void is_near(double value, double expected, double error)
{
    if (fabs(value - expected) > error)
        fail_msg("%g is not %g", value, expected);
}

/* Garwood's exact bounds, from tables. Byar's are within 0.5 % of them, or 0.02 of a count. */
static void bounds_of_counts_are_the_exact_ones(void **state)
{
    (void)state;
    static const struct {
        uint64_t k;
        double low, high;
    } exact[] = {{0, 0, 3.689},        {1, 0.0253, 5.572},   {2, 0.2422, 7.225},
                 {3, 0.6187, 8.767},   {5, 1.623, 11.668},   {10, 4.795, 18.390},
                 {20, 12.217, 30.888}, {50, 37.111, 65.919}, {100, 81.364, 121.627}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        struct hp_estimate e = hp_estimate_count(exact[i].k, 500, 2);
        is_near(e.value, (double)exact[i].k * 1000, 0);
        is_near(e.low, exact[i].low * 1000, fmax(20, exact[i].low * 5));
        is_near(e.high, exact[i].high * 1000, exact[i].high * 5);
    }
}

static void totals_of_equal_quantities_are_counts(void **state)
{
    (void)state;
    for (uint64_t k = 1; k < 200; k += 7) {
        struct hp_estimate count = hp_estimate_count(k, 1000, 1);
        struct hp_estimate total = hp_estimate_total(3.0 * (double)k, 9.0 * (double)k, 1000, 1);
        is_near(total.value, 3 * count.value, 1e-6);
        is_near(total.low, 3 * count.low, 1e-6);
        is_near(total.high, 3 * count.high, 1e-6);
    }
    /* For large counts: 1.96 standard deviations. */
    struct hp_estimate e = hp_estimate_total(1e6, 4e7, 10, 0.5);
    is_near(e.value, 5e6, 0);
    is_near(e.high - e.low, 2 * 1.96 * sqrt(4e7) * 5, 300);
    struct hp_estimate nothing = hp_estimate_total(0, 0, 10, 1);
    is_near(nothing.value + nothing.low, 0, 0);
    is_near(nothing.high, 36.89, 0.01);
}

static void shares_stay_between_0_and_1(void **state)
{
    (void)state;
    struct hp_estimate e = hp_estimate_share(3, 10);
    is_near(e.value, 0.3, 1e-9);
    is_near(e.low, 0.1078, 1e-4); /* Wilson */
    is_near(e.high, 0.6032, 1e-4);
    e = hp_estimate_share(0, 10);
    is_near(e.low, 0, 0);
    is_near(e.high, 0.2775, 1e-4);
    e = hp_estimate_share(10, 10);
    is_near(e.low, 0.7225, 1e-4);
    is_near(e.high, 1, 0);
    e = hp_estimate_share(0, 0);
    is_near(e.low, 0, 0);
    is_near(e.high, 1, 0);
}

/* L C S / 2 - U W S. */
static void wasted_slots_are_as_in_the_paper(void **state)
{
    (void)state;
    struct hp_estimate e = hp_estimate_wasted(3000, 25, 100, 4, 80, 1000, 1);
    is_near(e.value, 3000 * 4 * 500.0 - 25 * 80 * 1000.0, 1e-3);
    assert_true(e.low < e.value && e.value < e.high);
    is_near(e.value - e.low, e.high - e.value, 1e-3);
    struct hp_estimate twice = hp_estimate_wasted(3000, 25, 100, 4, 80, 1000, 2);
    is_near(twice.value, 2 * e.value, 1e-3);
    is_near(twice.high, 2 * e.high, 1e-3);
    e = hp_estimate_wasted(0, 0, 0, 4, 80, 1000, 1);
    is_near(e.low, 0, 0);
    is_near(e.high, 0, 0);
}

/* 2 of 8 pairs: a quarter of 2 * 80 around it, in 61 cycles, with itself. */
static void ipc_is_what_retires_nearby(void **state)
{
    (void)state;
    struct hp_estimate e = hp_estimate_ipc(2, 8, 80, 30);
    is_near(e.value, (40 + 1) / 61.0, 1e-9);
    assert_true(e.low < e.value && e.value < e.high);
    e = hp_estimate_ipc(0, 0, 80, 30);
    is_near(e.high, 161 / 61.0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configs_have_one_form),
        cmocka_unit_test(bad_configs_are_rejected_with_a_reason),
        cmocka_unit_test(distances_of_pairs_are_half_as_long),
        cmocka_unit_test(names_are_there_for_all),
        cmocka_unit_test(stages_lie_between_the_points_of_a_timing),
        cmocka_unit_test(events_are_counted_by_name),
        cmocka_unit_test(aborted_ones_are_only_counted),
        cmocka_unit_test(useful_overlap_is_issue_while_in_progress),
        cmocka_unit_test(near_is_retirement_within_some_cycles),
        cmocka_unit_test(around_is_issue_while_it_waits_in_the_queue),
        cmocka_unit_test(busy_is_cycles_of_both_executing),
        cmocka_unit_test(empty_samples_overlap_with_nothing),
        cmocka_unit_test(sums_are_made_both_ways_round),
        cmocka_unit_test(bounds_of_counts_are_the_exact_ones),
        cmocka_unit_test(totals_of_equal_quantities_are_counts),
        cmocka_unit_test(shares_stay_between_0_and_1),
        cmocka_unit_test(wasted_slots_are_as_in_the_paper),
        cmocka_unit_test(ipc_is_what_retires_nearby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
