// SPDX-License-Identifier: MIT
/*
 * Instructions on a machine in cycles, where the cycles went, and ways of sampling, in every
 * format.
 */
#include "report_fixture.h"
#include "report_parse.h"
// clang-format off: the random profiles bring cmocka along
#include "profile_random.h"
// clang-format on

#include "report/tables.h"
#include "report/text.h"
#include "text/utf8.h"

#include <math.h>

static const struct hp_view *const cycle_views[] = {&hp_view_instructions, &hp_view_cpi,
                                                    &hp_view_sampling};

static struct hp_profile profile_with_insns(void)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_loops(&profile);
    fixture_add_insns(&profile);
    profile.n_notes = 0;
    return profile;
}

static void expect(const struct hp_profile *profile, struct hp_report_options options,
                   const char *expected)
{
    char *text = render(profile, &options);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_at(const char *json, const char *path, const char *value)
{
    const char *at = json_find(json, path);
    if (!at || strncmp(at, value, strlen(value)) != 0)
        fail_msg("%s is not %s but %.80s", path, value, at ? at : "nothing");
}

/* The expected text, with what the fixture's instructions wasted at most in place of @: the load,
 * then the division, or the other way round. */
static void expect_wasted(const struct hp_profile *profile, struct hp_report_options options,
                          bool division_first, const char *format)
{
    const struct hp_estimate load = hp_estimate_wasted(48, 2, 8, 4, 80, 20, 1);
    const struct hp_estimate division = hp_estimate_wasted(60, 1, 2, 4, 80, 20, 1);
    struct hp_strbuf high[2] = {0};
    hp_strbuf_add(&high[division_first], HP_AMOUNT(load.high));
    hp_strbuf_add(&high[!division_first], HP_AMOUNT(division.high));
    const char *at = format;
    struct hp_strbuf expected = {0};
    for (int i = 0; *at; i++) {
        size_t n = strcspn(at, "@");
        hp_strbuf_bytes(&expected, at, n);
        at += n;
        if (*at == '@') {
            hp_strbuf_add(&expected, hp_strbuf_text(&high[i]));
            at++;
        }
    }
    expect(profile, options, hp_strbuf_text(&expected));
    hp_strbuf_fini(&high[0]);
    hp_strbuf_fini(&high[1]);
    hp_strbuf_fini(&expected);
}

/* --- Instructions ----------------------------------------------------------------------------- */

static void the_worst_instructions_come_first_with_the_reason(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    expect_wasted(&profile,
                  (struct hp_report_options){.view = &hp_view_instructions, .top = 2, .width = 80},
                  false,
                  "1,000 cycles, 400 instructions: CPI 2.500\n"
                  "  share  cycles  times  each  where                instruction\n"
                  "  40.0%     400    100   4.0  demo.c:12 work+0x10  mov rax, [rdi]\n"
                  "          its load misses L2 in 20 % of executions: 15 cycles each\n"
                  "          map 1.0, execute 4.0, retire 0.5, load 4.0; l1d 30.0%, l2 20.0%, l3\n"
                  "          20.0%; wasted slots 0 (0 to @)\n"
                  "  35.0%     350    100   3.5  demo.c:13 work+0x1e  jne 0x1010\n"
                  "          mispredicted in 31 % of executions: 10 cycles each\n"
                  "          map 1.0, execute 1.0; taken 95.0%, mispredicted 31.0%\n"
                  "  … and 2 more (--top 0 shows all)\n");
}

/* Ten of them, when nobody says how many: each has several lines. */
static void people_get_ten(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_pinsn insns[40];
    struct hp_pinsn_cycles cycles[40];
    for (uint32_t i = 0; i < 40; i++) {
        insns[i] = fixture_insns[0];
        insns[i].place.offset = 0x1000 + i;
        cycles[i] = (struct hp_pinsn_cycles){i, HP_CAUSE_L1, 1 + i};
    }
    profile.insns = insns;
    profile.insn_cycles = cycles;
    profile.n_insns = profile.n_insn_cycles = 40;
    char *text = render(&profile, &(struct hp_report_options){.view = &hp_view_instructions,
                                                              .top = HP_REPORT_TOP_DEFAULT});
    assert_non_null(strstr(text, "… and 30 more"));
    free(text);
}

/* From samples alone: by the cycles from fetch to retire ready, with intervals. */
static void samples_alone_rank_too(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    profile.insn_tallies += 4;
    profile.n_insn_tallies = 2;
    profile.n_insn_cycles = profile.n_attributions = profile.n_waits = 0;
    expect_wasted(
        &profile, (struct hp_report_options){.view = &hp_view_instructions}, true,
        "profileme,pairs: 10 samples; cycles are from fetch to retire ready, and overlap\n"
        "  share     cycles     times  each  where                instruction\n"
        "  62.5%  600 ±278%  20 ±261%  30.0  helper               div rcx\n"
        "          takes 25 cycles in the divider\n"
        "          map 2.0 ±261%, issue 3.0 ±456%, execute 25.0 ±261%; wasted slots 800 (0 to "
        "@)\n"
        "  37.5%  360 ±233%  60 ±118%   6.0  demo.c:12 work+0x10  mov rax, [rdi]\n"
        "          its load takes 5 cycles: it misses L2 in 17 % of executions\n"
        "          map 1.0 ±118%, execute 5.0 ±261%, retire 0.5 ±283%, load 5.0 ±261%; l1d "
        "33.3% (9.7% to\n"
        "          70.0%), l2 16.7% (3.0% to 56.4%), l3 16.7% (3.0% to 56.4%); wasted slots 0 (0 "
        "to @)\n");
    char *json = render(&profile, &(struct hp_report_options){.view = &hp_view_instructions,
                                                              .format = HP_REPORT_JSON});
    expect_at(json, "instructions/0/seen", "\"profileme,pairs\"");
    expect_at(json, "instructions/0/retired", "20,");
    expect_at(json, "instructions/0/cycles", "600.0");
    expect_at(json, "instructions/0/share", "0.625");
    free(json);
}

/* Beside exact numbers of windows estimates are of the windows too; alone they are of the run. */
static void estimates_are_of_what_stands_beside_them(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_psampler sampler = fixture_samplers[0];
    sampler.scale = 100000;
    profile.samplers = &sampler;
    struct hp_report_options options = {.view = &hp_view_instructions, .format = HP_REPORT_JSON};
    char *json = render(&profile, &options);
    expect_at(json, "instructions/0/estimates/retired/value", "60.000000");
    free(json);
    profile.insn_tallies += 4;
    profile.n_insn_tallies = 2;
    profile.n_insn_cycles = 0;
    json = render(&profile, &options);
    expect_at(json, "instructions/1/estimates/retired/value", "6000.000000");
    expect_at(json, "instructions/1/retired", "6000,");
    free(json);
}

/* What there is nothing to sum by has no error. */
static void errors_need_lines(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_pinsn insns[4];
    memcpy(insns, fixture_insns, sizeof insns);
    for (int i = 0; i < 4; i++)
        insns[i].file = "";
    profile.insns = insns;
    profile.n_loop_blocks = 0;
    char *json = render(
        &profile, &(struct hp_report_options){.view = &hp_view_sampling, .format = HP_REPORT_JSON});
    expect_at(json, "sampling/1/error_instruction", "0.500000");
    expect_at(json, "sampling/1/error_line", "null");
    expect_at(json, "sampling/1/error_loop", "null");
    expect_at(json, "sampling/1/error_function", "0.000000");
    free(json);
}

static void json_has_everything(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    char *json = render(&profile, &(struct hp_report_options){.view = &hp_view_instructions,
                                                              .format = HP_REPORT_JSON});
    assert_true(json_valid(json));
    expect_at(json, "instructions/0/address", "\"demo+0x1010\"");
    expect_at(json, "instructions/0/samples", "8,");
    expect_at(json, "instructions/0/retired", "100,");
    expect_at(json, "instructions/0/cpi", "4.000000");
    expect_at(json, "instructions/0/causes/memory", "300.000000");
    expect_at(json, "instructions/0/latency/load", "4.000000");
    expect_at(json, "instructions/0/rates/l2", "0.200000");
    /* 48 * 4 * 20 / 2 - 2 * 80 * 20 */
    expect_at(json, "instructions/0/wasted_slots/value", "-1280.000000");
    /* pairs of mean distance 20: a sample every 10 */
    expect_at(json, "instructions/0/estimates/retired/value", "60.000000");
    expect_at(json, "instructions/0/estimates/fetched/value", "80.000000");
    expect_at(json, "instructions/0/estimates/latency/execute/value", "5.000000");
    expect_at(json, "instructions/0/estimates/rates/l1d/value", "0.333333");
    expect_at(json, "instructions/1/estimates", "null");
    expect_at(json, "instructions/1/wasted_slots", "null");
    expect_at(json, "instructions/3/waits/0/producer", "\"demo+0x1010\"");
    expect_at(json, "instructions/3/waits/0/cycles", "4000");
    expect_at(json, "instructions/3/why",
              "\"waits 40 cycles for the load at demo.c:12, which misses L2 in 20 % of "
              "executions\"");
    free(json);
}

static void csv_is_one_table(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    char *csv =
        render(&profile, &(struct hp_report_options){
                             .view = &hp_view_instructions, .format = HP_REPORT_CSV, .top = 1});
    const char *row = csv + strcspn(csv, "\n") + 1;
    assert_int_equal(strncmp(csv, "address,function,file,line,", 27), 0);
    const char *start = "demo+0x1010,work,/src/demo.c,12,,\"mov rax, [rdi]\",load,0,exact,8,100,"
                        "100,0,0,400.000000,0.400000,4.000000,retire:40.000000 l2:60.000000 "
                        "memory:300.000000,";
    assert_int_equal(strncmp(row, start, strlen(start)), 0);
    char wasted[128];
    struct hp_estimate e = hp_estimate_wasted(48, 2, 8, 4, 80, 20, 1);
    assert_true(e.low < e.value && e.value < e.high);
    snprintf(wasted, sizeof wasted, ",%.6f %.6f %.6f,", e.value, e.low, e.high);
    assert_non_null(strstr(row, wasted));
    free(csv);
}

static void nothing_recorded_says_how(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    profile.n_notes = 0;
    expect(&profile, (struct hp_report_options){.view = &hp_view_instructions},
           "  (no machine in cycles ran it: --profile cycles,instructions --machine NAME)\n");
    expect(&profile, (struct hp_report_options){.view = &hp_view_cpi},
           "  (no cycles were attributed: --profile cycles --machine NAME)\n");
    expect(&profile, (struct hp_report_options){.view = &hp_view_sampling},
           "  (nothing was sampled: --profile instructions --machine NAME)\n");
}

/* --- Cycles ----------------------------------------------------------------------------------- */

static void cycles_have_causes(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    expect(&profile, (struct hp_report_options){.view = &hp_view_cpi, .by = HP_REPORT_BY_FUNCTION},
           "1,000 cycles, 400 instructions: CPI 2.500\n"
           "  share    CPI  cycles  cause\n"
           "  31.0%  0.775     310  mispredict  behind a mispredicted branch\n"
           "  30.0%  0.750     300  memory      its load is served by memory\n"
           "  15.0%  0.375     150  execute     the oldest instruction is being executed\n"
           "  13.0%  0.325     130  retire      instructions retire\n"
           "   6.0%  0.150      60  l2          its load is served by the L2\n"
           "   5.0%  0.125      50  unit        the oldest instruction waits to be issued\n"
           "\n"
           "  share  cycles  instr.   CPI  function  causes\n"
           "  80.0%     800     300  2.67  work      mispredict 38.8%, memory 37.5%, retire 16.3%, "
           "l2 7.5%\n"
           "  20.0%     200     100  2.00  helper    execute 75.0%, unit 25.0%\n");
}

/* The blocks of the inner loop are demo+0x1010 to 0x1020; the loop at libx.so+0x504 has the block
 * at 0x500. */
static void cycles_sum_by_loop_and_line(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_report_options options = {
        .view = &hp_view_cpi, .format = HP_REPORT_JSON, .by = HP_REPORT_BY_LOOP};
    char *json = render(&profile, &options);
    expect_at(json, "cpi/0/by", "\"run\"");
    expect_at(json, "cpi/0/cycles", "1000.0");
    expect_at(json, "cpi/0/extrapolated", "null");
    expect_at(json, "cpi/1/name", "\"work demo.c:12-13\"");
    expect_at(json, "cpi/1/address", "\"demo+0x1010\"");
    expect_at(json, "cpi/1/cycles", "800.0");
    expect_at(json, "cpi/1/causes/mispredict", "310.0");
    expect_at(json, "cpi/2/name", "\"helper+0x4\"");
    expect_at(json, "cpi/2/cycles", "200.0");
    assert_null(json_find(json, "cpi/3"));
    free(json);
    options.by = HP_REPORT_BY_LINE;
    json = render(&profile, &options);
    expect_at(json, "cpi/1/name", "\"demo.c:12\"");
    expect_at(json, "cpi/1/instructions", "100,");
    expect_at(json, "cpi/2/line", "13,");
    expect_at(json, "cpi/2/cycles", "400.0");
    expect_at(json, "cpi/3/name", "\"helper (no line)\"");
    free(json);
    profile.n_loop_blocks = 1; /* that of the outer loop: the rest is in none */
    options.by = HP_REPORT_BY_LOOP;
    json = render(&profile, &options);
    expect_at(json, "cpi/1/name", "\"(in no loop)\"");
    expect_at(json, "cpi/1/share", "1.000000");
    free(json);
}

/* What windows say of the run comes first. */
static void windows_are_extrapolated(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_pwindow windows[40];
    for (uint32_t i = 0; i < 40; i++)
        windows[i] = (struct hp_pwindow){i % 2, i * 10, 10, i < 20 ? 20 : 30};
    profile.windows = windows;
    profile.n_windows = 40;
    /* mean 2.5, standard deviation 0.5064, of the mean 0.0801, times 1.96: 0.157 */
    char *text = render(&profile, &(struct hp_report_options){.view = &hp_view_cpi});
    const char *start = "CPI 2.500 (95 %: 2.343 to 2.657), so 2,500 ±6.3% cycles in all\n"
                        "  extrapolated from 40 windows: 400 of 1,000 instructions\n"
                        "  measured: 1,000 cycles, 400 instructions: CPI 2.500\n";
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
    free(text);
    profile.n_windows = 29;
    text = render(&profile, &(struct hp_report_options){.view = &hp_view_instructions});
    assert_non_null(strstr(text, "fewer than 30 windows: the interval is not to be trusted"));
    free(text);
    profile.n_windows = 1;
    profile.n_insn_cycles = 0; /* windows are known all the same */
    char *json = render(
        &profile, &(struct hp_report_options){.view = &hp_view_cpi, .format = HP_REPORT_JSON});
    expect_at(json, "cpi/0/extrapolated/windows", "1,");
    expect_at(json, "cpi/0/extrapolated/trusted", "false");
    expect_at(json, "cpi/0/extrapolated/cpi/value", "2.000000");
    expect_at(json, "cpi/0/extrapolated/cpi/low", "0.000000");
    expect_at(json, "cpi/0/extrapolated/cycles/value", "2000.000000");
    free(json);
}

/* --- Sampling --------------------------------------------------------------------------------- */

static void ways_of_sampling_have_errors(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    expect(&profile, (struct hp_report_options){.view = &hp_view_sampling},
           "profileme,pairs: every 20, pairs within 80; 10 samples, 1 empty, 2 lost; 5 interrupts, "
           "50 cycles\n"
           "error: of the time, how much is said to be at another place than it was, by\n"
           "  instr.   line   loop  function  samples  lost  cost  way\n"
           "   42.5%  42.5%  42.5%     42.5%       10     2  5.0%  profileme,pairs\n"
           "   50.0%  30.0%   0.0%      0.0%                       dispatch\n"
           "    0.0%   0.0%   0.0%      0.0%                       next\n");
    profile.n_insn_cycles = 0; /* nobody knows the truth */
    char *json = render(
        &profile, &(struct hp_report_options){.view = &hp_view_sampling, .format = HP_REPORT_JSON});
    expect_at(json, "sampling/0/error_instruction", "null");
    expect_at(json, "sampling/0/overhead", "null");
    expect_at(json, "sampling/1/kind", "\"attribution\"");
    expect_at(json, "sampling/1/interval", "null");
    free(json);
}

/* --- Hostile ---------------------------------------------------------------------------------- */

static void texts_are_cleaned_and_lines_fit(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_pinsn insns[4];
    memcpy(insns, fixture_insns, sizeof insns);
    insns[0].text = "\033[2Jmov\n\xff\xfe rax, a very long operand that goes on and on and on";
    insns[0].file = "/src/\033]0;evil\007.c";
    profile.insns = insns;
    struct hp_psampler samplers[] = {fixture_samplers[0]};
    samplers[0].name = "\033[31m";
    profile.samplers = samplers;
    for (size_t v = 0; v < 3; v++) {
        char *text =
            render(&profile, &(struct hp_report_options){
                                 .view = cycle_views[v], .by = HP_REPORT_BY_LINE, .width = 80});
        assert_null(strchr(text, '\033'));
        assert_null(strchr(text, '\007'));
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(hp_utf8_width(line) <= 80);
        free(text);
    }
}

static void random_profiles_print(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hp_profile *p = random_profile(seed, 1 + seed * 9);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (size_t v = 0; v < 3; v++)
            for (int format = 0; format < 3; format++) {
                char *text =
                    render(p, &(struct hp_report_options){.view = cycle_views[v],
                                                          .format = (enum hp_report_format)format,
                                                          .by = (enum hp_report_by)(seed % 5)});
                assert_true(*text);
                if (format == HP_REPORT_JSON)
                    assert_true(json_valid(text));
                free(text);
            }
        hp_profile_free(p);
    }
}

static void bad_references_are_refused(void **state)
{
    (void)state;
    for (int fault = 0; fault < 7; fault++) {
        struct hp_profile profile = profile_with_insns();
        struct hp_pinsn insns[4];
        struct hp_pinsn_tally tallies[6];
        struct hp_pinsn_cycles cycles[8];
        struct hp_pattribution attributions[8];
        struct hp_pwait waits[2];
        struct hp_pwindow window = {2, 0, 1, 1};
        memcpy(insns, fixture_insns, sizeof insns);
        memcpy(tallies, fixture_insn_tallies, sizeof tallies);
        memcpy(cycles, fixture_insn_cycles, sizeof cycles);
        memcpy(attributions, fixture_attributions, sizeof attributions);
        memcpy(waits, fixture_waits, sizeof waits);
        profile.insns = insns;
        profile.insn_tallies = tallies;
        profile.insn_cycles = cycles;
        profile.attributions = attributions;
        profile.waits = waits;
        switch (fault) {
        case 0: insns[1].function = 4; break;
        case 1: insns[1].place.module = 2; break;
        case 2: tallies[1].insn = 4; break;
        case 3: cycles[1].cause = HP_CAUSES; break;
        case 4: attributions[1].insn = 4; break;
        case 5: waits[1].producer = HP_PROFILE_NONE; break;
        case 6: profile.windows = &window, profile.n_windows = 1; break;
        }
        FILE *out = fopen("/dev/null", "w");
        assert_int_equal(hp_report(&profile, &(struct hp_report_options){0}, out), HP_ERR_INVALID);
        fclose(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_instructions_come_first_with_the_reason),
        cmocka_unit_test(people_get_ten),
        cmocka_unit_test(samples_alone_rank_too),
        cmocka_unit_test(estimates_are_of_what_stands_beside_them),
        cmocka_unit_test(errors_need_lines),
        cmocka_unit_test(json_has_everything),
        cmocka_unit_test(csv_is_one_table),
        cmocka_unit_test(nothing_recorded_says_how),
        cmocka_unit_test(cycles_have_causes),
        cmocka_unit_test(cycles_sum_by_loop_and_line),
        cmocka_unit_test(windows_are_extrapolated),
        cmocka_unit_test(ways_of_sampling_have_errors),
        cmocka_unit_test(texts_are_cleaned_and_lines_fit),
        cmocka_unit_test(random_profiles_print),
        cmocka_unit_test(bad_references_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
