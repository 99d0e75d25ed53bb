// SPDX-License-Identifier: MIT
/*
 * Loops, what models say of them, partitioning and hot spots, in every format.
 */
#include "report_fixture.h"
#include "report_parse.h"
// clang-format off: the random profiles bring cmocka along
#include "profile_random.h"
// clang-format on

#include "report/hotspots/hotspots.h"
#include "report/tables.h"
#include "report/text.h"
#include "text/utf8.h"

#include <math.h>

static struct hp_profile profile_with_loops(void)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_loops(&profile);
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

/* --- Loops ------------------------------------------------------------------------------------ */

static void loops_are_a_nest(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    expect(
        &profile, (struct hp_report_options){.view = &hp_view_loops, .top = HP_REPORT_TOP_DEFAULT},
        "4 loops, executed 115 times: 100.0% of the instructions are in one\n"
        "  ~ irreducible   ! still going on at the end\n"
        "   share   self  times   mean  iterations                predictable  loop\n"
        "  100.0%  66.0%      3    3.3  1-5: 1 33%, 4 33%, 5 33%         0.0%  work demo.c:11-13\n"
        "   92.0%  62.0%     10     10  10                             100.0%    demo.c:12-13\n"
        "   30.0%  30.0%    100  2,001  1-9,000 ▄▅ ▂        █▅          20.4%  !helper+0x4\n"
        "    4.0%   4.0%      2    2.5  1-4: 1 50%, 4 50%                0.0%  ~demo+0x2000\n");
}

static void threads_and_limits_of_loops(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    expect(&profile,
           (struct hp_report_options){
               .view = &hp_view_loops, .top = 2, .per_thread = true, .width = 80},
           "4 loops, executed 115 times: 100.0% of the instructions are in one\n"
           "   share   self  times  mean  iterations          predictable  loop\n"
           "  100.0%  66.0%      3   3.3  1-5: 1 33%, 4 33%…         0.0%  work demo.c:11-13\n"
           "   62.4%  40.4%      2     3  1-5                                thread 0\n"
           "   37.6%  25.6%      1     4  4                                  thread 1\n"
           "   92.0%  62.0%     10    10  10                       100.0%    demo.c:12-13\n"
           "   56.0%  38.0%      6    10  10                                 thread 0\n"
           "   36.0%  24.0%      4    10  10                                 thread 1\n"
           "  … and 2 more (--top 0 shows all)\n");
}

/* In a merged profile: where some executions are not known one by one, nothing is said of single
 * ones, although others are known. */
static void what_is_partly_known_is_unknown(void **state)
{
    (void)state;
    for (uint64_t max = 0; max <= 9; max += 9) { /* 9: a row that was joined */
        struct hp_profile profile = profile_with_loops();
        struct hp_ploop_count counts[16];
        assert_in_range(profile.n_loop_counts, 1, 16);
        memcpy(counts, profile.loop_counts, profile.n_loop_counts * sizeof *counts);
        profile.loop_counts = counts;
        for (size_t i = 0; i < profile.n_loop_counts; i++)
            if (counts[i].item == 0 && counts[i].thread == 1) {
                counts[i].min = counts[i].same = counts[i].stride = 0;
                counts[i].max = max;
            }
        expect(&profile,
               (struct hp_report_options){
                   .view = &hp_view_loops, .top = 1, .per_thread = true, .width = 80},
               "4 loops, executed 115 times: 100.0% of the instructions are in one\n"
               "   share   self  times  mean  iterations  predictable  loop\n"
               "  100.0%  66.0%      3   3.3  ?                        work demo.c:11-13\n"
               "   62.4%  40.4%      2     3  1-5                        thread 0\n"
               "   37.6%  25.6%      1     4  ?                          thread 1\n"
               "  … and 3 more (--top 0 shows all)\n");
        struct hp_report_options options = {.view = &hp_view_loops, .format = HP_REPORT_JSON};
        char *json = render(&profile, &options);
        assert_int_equal(json_length(json, "loops/0/histogram"), 0);
        assert_int_equal(json_length(json, "loops/0/trips"), 0);
        expect_at(json, "loops/0/max", "null");
        free(json);
    }
}

/* Functions come by their heaviest loop, and what is nested follows what it is in, whatever is
 * heavier elsewhere. */
static void the_nest_goes_before_weight(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_ploop loops[] = {
        {{0, 0x1000}, 0, HP_PROFILE_NONE, 0, 9, 0, "a.c", 1, 9},
        {{0, 0x1004}, 0, 0, 0, 3, 0, "a.c", 2, 3},
        {{0, 0x1008}, 0, 0, 0, 3, 0, "a.c", 4, 5},
        {{0, 0x1020}, 0, HP_PROFILE_NONE, 0, 3, 0, "a.c", 20, 20},
        {{1, 0x500}, 2, HP_PROFILE_NONE, 0, 3, 0, "b.c", 7, 0},
    };
    struct hp_ploop_count counts[5];
    const uint64_t weights[] = {500, 100, 300, 200, 400};
    for (uint32_t i = 0; i < 5; i++)
        counts[i] = (struct hp_ploop_count){.item = i,
                                            .executions = 1,
                                            .iterations = 7,
                                            .back_edges = 6,
                                            .min = 7,
                                            .max = 7,
                                            .self = weights[i],
                                            .inclusive = weights[i]};
    profile.loops = loops, profile.n_loops = 5;
    profile.loop_counts = counts, profile.n_loop_counts = 5;
    profile.n_loop_trips = profile.n_loop_blocks = profile.n_model_loops = 0;
    profile.n_hotspots = profile.n_hotspot_blocks = profile.n_hotspot_branches =
        profile.n_hotspot_slices = 0;
    expect(&profile, (struct hp_report_options){.view = &hp_view_loops},
           "5 loops, executed 5 times: 110.0% of the instructions are in one\n"
           "  share   self  times  mean  iterations  predictable  loop\n"
           "  50.0%  50.0%      1     7  7                        work a.c:1-9\n"
           "  30.0%  30.0%      1     7  7                          a.c:4-5\n"
           "  10.0%  10.0%      1     7  7                          a.c:2-3\n"
           "  20.0%  20.0%      1     7  7                        work a.c:20\n"
           "  40.0%  40.0%      1     7  7                        helper b.c:7\n");
}

static void loops_as_json(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_report_options options = {
        .view = &hp_view_loops, .format = HP_REPORT_JSON, .per_thread = true};
    char *json = render(&profile, &options);
    assert_true(json_valid(json));
    assert_int_equal(json_length(json, "loops"), 4);
    expect_at(json, "loops/1",
              "{\"id\":1,\"parent\":0,\"depth\":1,\"function\":\"work\",\"file\":\"/src/demo.c\","
              "\"line\":12,\"last_line\":13,\"written_in\":\"work\","
              "\"header\":\"/src/demo.c:12\",\"branch\":\"demo+0x101e\",\"target\":\"demo+0x1010\","
              "\"version\":0,\"irreducible\":false,\"static_instructions\":10,\"executions\":10,"
              "\"iterations\":100,\"back_edges\":90,\"mean\":10.000000,\"min\":10,\"max\":10,"
              "\"self\":620,\"inclusive\":920,\"share\":0.920000,\"self_share\":0.620000,"
              "\"same\":8,\"stride\":6,\"predictability\":1.000000,\"interrupted\":0,"
              "\"trips\":[{\"iterations\":10,\"count\":10}],"
              "\"histogram\":[{\"from\":8,\"to\":15,\"count\":10}],"
              "\"branches\":[{\"branch\":\"demo+0x101e\",\"count\":95}],"
              "\"blocks\":[\"demo+0x1010\",\"demo+0x1016\"],"
              "\"models\":[{\"model\":\"daprof\",\"branch\":\"demo+0x101e\",\"executions\":10,"
              "\"average\":8.900,\"iterations\":89,\"instructions\":590},{\"model\":\"frequent\",");
    expect_at(json, "loops/0/parent", "null");
    expect_at(json, "loops/0/threads/1",
              "{\"thread\":1,\"executions\":1,\"iterations\":4,\"back_edges\":3,"
              "\"mean\":4.000000,\"min\":4,\"max\":4,\"self\":256,\"inclusive\":376,\"same\":0,"
              "\"stride\":0,\"interrupted\":0}");
    expect_at(json, "loops/2/version", "1");
    expect_at(json, "loops/2/interrupted", "2");
    expect_at(json, "loops/3/irreducible", "true");
    free(json);
    struct hp_ploop_trips widest[] = {{0, 1, 63, 1}};
    profile.loop_trips = widest, profile.n_loop_trips = 1;
    json = render(&profile, &options);
    expect_at(json, "loops/0/histogram/0",
              "{\"from\":9223372036854775808,\"to\":18446744073709551615,\"count\":1}");
    free(json);
}

static void loops_as_csv(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_report_options options = {.view = &hp_view_loops, .format = HP_REPORT_CSV, .top = 2};
    char *csv = render(&profile, &options);
    assert_non_null(
        strstr(csv, "\r\n0,,0,work,/src/demo.c,11,13,work,/src/demo.c:11,,demo+0x1000,"));
    assert_non_null(strstr(csv, ",1:1 4:1 5:1,1:1 4:2,,demo+0x1000,\r\n"));
    assert_non_null(strstr(csv, ",10:10,8:10,demo+0x101e:95,demo+0x1010 demo+0x1016,"
                                "daprof frequent\r\n"));
    free(csv);
}

static void loops_that_were_not_recorded(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    profile.n_notes = 0;
    expect(&profile, (struct hp_report_options){.view = &hp_view_loops},
           "  (no loop was recorded: --profile loops asks for them)\n");
    expect(&profile, (struct hp_report_options){.view = &hp_view_partition},
           "  (no loop was recorded: --profile loops asks for them)\n");
    expect(&profile, (struct hp_report_options){.view = &hp_view_loop_models},
           "  (no model of a loop profiler ran: --loop-model asks for one)\n");
    expect(&profile, (struct hp_report_options){.view = &hp_view_hotspots},
           "  (no hot spot was detected: --profile hotspots looks for them)\n");
}

/* As many as were asked for stand in the default report; a detector that found nothing is
 * mentioned. */
static void loops_and_hotspots_are_there_by_default(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_report_options options = {.top = HP_REPORT_TOP_DEFAULT};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text, "   4 loops   2 hot spots   2 threads\n"));
    const char *at = text;
    static const char *const titles[] = {"\nFunctions\n", "\nLoops\n", "\nHot spots\n"};
    for (size_t i = 0; i < 3; i++) {
        at = strstr(at, titles[i]);
        assert_non_null(at);
    }
    assert_null(strstr(text, "Partition"));
    free(text);
    profile.n_block_counts = profile.n_edge_counts = profile.n_function_counts = 0;
    text = render(&profile, &options);
    assert_null(strstr(text, "Functions"));
    assert_null(strstr(text, " blocks   "));
    free(text);
    options.format = HP_REPORT_CSV;
    text = render(&profile, &options);
    assert_int_equal(strncmp(text, "id,parent,", 10), 0);
    free(text);
    struct hp_profile none = fixture_profile();
    struct hp_pstat stats[] = {{"hotspots merten", "detections", 0, HP_STAT_COUNT}};
    none.stats = stats, none.n_stats = 1, none.n_block_counts = 0;
    options.format = HP_REPORT_TEXT;
    text = render(&none, &options);
    assert_non_null(strstr(text, "\n  (no hot spot was detected"));
    free(text);
}

/* --- Models and partitioning ------------------------------------------------------------------ */

static void models_stand_beside_what_is_true(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    expect(&profile, (struct hp_report_options){.view = &hp_view_loop_models},
           "daprof:\n"
           "  share  exact  times  exact  average  exact  total  exact  loop\n"
           "  59.0%  62.0%     10     10      8.9    9.0     89     90  work demo.c:12-13\n"
           "   3.0%             3             1.5             4         helper\n"
           "\n"
           "frequent:\n"
           "  share  exact  times  exact  average  exact  total  exact  loop\n"
           "         62.0%            10             9.0     90     90  work demo.c:12-13\n");
    struct hp_report_options options = {
        .view = &hp_view_loop_models, .format = HP_REPORT_JSON, .top = 1};
    char *json = render(&profile, &options);
    assert_int_equal(json_length(json, "loop_models"), 2); /* one of each model */
    expect_at(json, "loop_models/0",
              "{\"model\":\"daprof\",\"branch\":\"demo+0x101e\",\"target\":\"demo+0x1010\","
              "\"function\":\"work\",\"loop\":1,\"executions\":10,\"average\":8.900000,"
              "\"iterations\":89,\"instructions\":590,\"share\":0.590000,\"exact_executions\":10,"
              "\"exact_average\":9.000000,\"exact_iterations\":90,\"exact_instructions\":620,"
              "\"exact_share\":0.620000}");
    expect_at(json, "loop_models/1/model", "\"frequent\"");
    free(json);
    options.top = 0;
    json = render(&profile, &options);
    expect_at(json, "loop_models/1/loop", "null");
    expect_at(json, "loop_models/1/exact_average", "null");
    free(json);
}

/* A profile of `n` loops without anything else, of so many instructions. */
static struct hp_profile bare_loops(struct hp_pthread *thread, uint64_t instructions,
                                    struct hp_ploop *loops, struct hp_ploop_count *counts, size_t n)
{
    *thread = (struct hp_pthread){1, 1, instructions, 1, 1};
    return (struct hp_profile){.run = {.runs = 1},
                               .threads = thread,
                               .n_threads = 1,
                               .loops = loops,
                               .n_loops = n,
                               .loop_counts = counts,
                               .n_loop_counts = n};
}

/*
 * Loops A and B of section 2 of the paper: A has 10,000 iterations in 5 executions and takes 33 %
 * of the time, B 12,000 in 6,000 and 40 %. Of 300,000 instructions, hardware ten times as fast, 200
 * for each execution:
 *
 *   A  300,000 - 99,000 + 9,900 + 5 x 200       = 211,900    1.416
 *   B  300,000 - 120,000 + 12,000 + 6,000 x 200 = 1,392,000  0.216
 */
static void iterations_choose_wrongly(void **state)
{
    (void)state;
    struct hp_pthread thread;
    struct hp_ploop loops[] = {
        {{HP_PROFILE_NONE, 0}, HP_PROFILE_NONE, HP_PROFILE_NONE, 0, 20, 0, "a.c", 10, 20},
        {{HP_PROFILE_NONE, 9}, HP_PROFILE_NONE, HP_PROFILE_NONE, 0, 30, 0, "b.c", 30, 40}};
    struct hp_ploop_count counts[] = {
        {0, 0, 5, 10000, 9995, 2000, 2000, 99000, 99000, 4, 3, 0},
        {1, 0, 6000, 12000, 6000, 2, 2, 120000, 120000, 5999, 5998, 0}};
    struct hp_profile profile = bare_loops(&thread, 300000, loops, counts, 2);
    struct hp_report_options options = {.view = &hp_view_partition};
    expect(&profile, options,
           "in hardware: a tenth of the instructions; cost: 100 + 100 each time\n"
           "  best: 1.42x: (unknown) a.c:10-20\n"
           "  iterations would choose: 0.22x instead of 1.42x: (unknown) b.c:30-40\n"
           "  speedup  by iter.   self  times  iterations    cost  instr.  loop\n"
           "    1.42x         2  33.0%      5      10,000    0.3%      20  (unknown) a.c:10-20\n"
           "    0.22x         1  40.0%  6,000      12,000  400.0%      30  (unknown) b.c:30-40\n");
    /* Without communication Amdahl's law is all there is, and iterations choose well: 300,000 /
     * 192,000. */
    options.partition = (struct hp_partition_costs){.set = true, .iteration = -1, .loops = 1};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text, "  best: 1.56x: (unknown) b.c:30-40\n  speedup"));
    free(text);
    /* Two instructions an iteration: A 300,000 - 99,000 + 20,000 + 1,000 = 222,000; both, 300,000 -
     * 219,000 + 44,000 + 3,000 x 2. */
    options.partition =
        (struct hp_partition_costs){.set = true, .iteration = 2, .init = 200, .loops = 2};
    options.format = HP_REPORT_JSON;
    text = render(&profile, &options);
    expect_at(text, "partition/0",
              "{\"loop\":0,\"function\":\"\",\"file\":\"a.c\",\"line\":10,\"target\":\"\","
              "\"speedup\":1.351351,\"iteration_rank\":2,\"executions\":5,\"iterations\":10000,"
              "\"software\":99000.000000,\"hardware\":20000.000000,\"communication\":1000.000000,"
              "\"gain\":78000.000000,\"static_instructions\":20}");
    expect_at(text, "partition/1/gain", "-1104000.000000");
    free(text);
    options.partition.init = 1;
    options.format = HP_REPORT_TEXT;
    text = render(&profile, &options);
    assert_non_null(strstr(text, "in hardware: 2.0 an iteration; cost: 1 + 0 each time\n"));
    assert_non_null(strstr(text, "  best: 2.29x: (unknown) b.c:30-40, (unknown) a.c:10-20\n"));
    free(text);
}

/* 0 contains 1; together with 2 in another function 0 gains most. */
static void nested_loops_are_not_chosen_together(void **state)
{
    (void)state;
    struct hp_pthread thread;
    struct hp_ploop loops[] = {
        {{HP_PROFILE_NONE, 0}, HP_PROFILE_NONE, HP_PROFILE_NONE, 0, 9, 0, "", 0, 0},
        {{HP_PROFILE_NONE, 4}, HP_PROFILE_NONE, 0, 0, 9, 0, "", 0, 0},
        {{HP_PROFILE_NONE, 8}, HP_PROFILE_NONE, HP_PROFILE_NONE, 0, 9, 0, "", 0, 0},
        {{HP_PROFILE_NONE, 12}, HP_PROFILE_NONE, HP_PROFILE_NONE, 0, 9, 0, "", 0, 0}};
    struct hp_ploop_count counts[] = {{0, 0, 1, 5, 4, 5, 5, 6000, 6000, 0, 0, 0},
                                      {1, 0, 1, 50, 49, 50, 50, 5000, 5000, 0, 0, 0},
                                      {2, 0, 1, 7, 6, 7, 7, 3000, 3000, 0, 0, 0},
                                      {3, 0, 9, 9, 0, 1, 1, 100, 100, 0, 0, 0}};
    struct hp_profile profile = bare_loops(&thread, 10000, loops, counts, 4);
    struct hp_tables tables;
    struct hp_rows rows;
    uint32_t *chosen;
    size_t n;
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    tables.costs = (struct hp_partition_costs){.set = true, .iteration = -1, .loops = 10};
    tables.costs.init = 100;
    assert_int_equal(hp_rows_init(&rows, &tables, &hp_view_partition, false), HP_OK);
    assert_int_equal(rows.n, 4);
    assert_int_equal(hp_partition_choose(&tables, &rows, false, &chosen, &n), HP_OK);
    assert_int_equal(n, 2); /* 3 costs more than it gains */
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[1], 2);
    free(chosen);
    assert_int_equal(hp_partition_choose(&tables, &rows, true, &chosen, &n), HP_OK);
    assert_int_equal(n, 3);
    assert_int_equal(chosen[0], 1);
    assert_int_equal(chosen[1], 3);
    assert_int_equal(chosen[2], 2);
    free(chosen);
    hp_rows_fini(&rows);
    hp_tables_fini(&tables);
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static void hotspots_and_when_they_ran(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    expect(&profile, (struct hp_report_options){.view = &hp_view_hotspots},
           "merten: 2 hot spots, 13 static instructions (52.0% of those executed)\n"
           "  92.0% of the run; the first after 40 branches (19.5%)\n"
           "  #  share  after  detected  of run  blocks  instr.  functions\n"
           "  1  62.0%  50.0%       120   60.0%       3      14  work, helper\n"
           "  0  30.0%  25.0%        40   20.0%       1      10  helper\n"
           "  when they ran, since detected; a column is 100 instructions\n"
           "  0 |  ▅█    █▁|\n"
           "  1 |      ▆▃  |\n");
    expect(&profile, (struct hp_report_options){.view = &hp_view_hotspots, .top = 1},
           "merten: 2 hot spots, 13 static instructions (52.0% of those executed)\n"
           "  92.0% of the run; the first after 40 branches (19.5%)\n"
           "  #  share  after  detected  of run  blocks  instr.  functions\n"
           "  1  62.0%  50.0%       120   60.0%       3      14  work, helper\n"
           "  … and 1 more (--top 0 shows all)\n"
           "  when they ran, since detected; a column is 100 instructions\n"
           "  1 |      ▆▃  |\n");
    struct hp_report_options options = {
        .view = &hp_view_hotspots, .format = HP_REPORT_JSON, .no_run = true};
    char *json = render(&profile, &options);
    expect_at(json, "hotspots/0",
              "{\"detector\":\"merten\",\"run\":0,\"id\":1,\"detected_at\":120,"
              "\"detected_at_instructions\":600,\"branches\":1,\"static_instructions\":14,"
              "\"total\":620,\"share\":0.620000,\"after\":500,\"after_share\":0.500000,"
              "\"functions\":[\"work\",\"helper\"],"
              "\"blocks\":[\"demo+0x1010\",\"demo+0x1016\",\"libx.so+0x500\"],"
              "\"candidates\":[{\"branch\":\"demo+0x101e\",\"kind\":\"cond\",\"executed\":20,"
              "\"taken\":18,\"ratio\":0.900000}],\"slice_width\":100,"
              "\"slices\":[{\"slice\":6,\"instructions\":70},{\"slice\":7,\"instructions\":30}]}");
    free(json);
    options.format = HP_REPORT_CSV;
    char *csv = render(&profile, &options);
    assert_non_null(strstr(csv, "work helper,demo+0x1010 demo+0x1016 libx.so+0x500,"
                                "demo+0x101e:18/20,100,6:70 7:30\r\n"));
    free(csv);
}

/* What the profiler counted itself is better than what blocks tell; of several runs it is not known
 * which is whose. */
static void the_detector_knows_best(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_pstat stats[] = {
        {"hotspots merten", "instructions_after_detection", 705, HP_STAT_COUNT},
        {"hotspots merten", "instructions_in_hotspots", 900, HP_STAT_COUNT},
        {"hotspots merten", "static_executed", 100, HP_STAT_SIZE},
        {"hotspots merten", "static_instructions", 12, HP_STAT_SIZE},
        {"hotspots merten2", "static_instructions", 99, HP_STAT_SIZE}};
    profile.stats = stats, profile.n_stats = 5;
    struct hp_report_options options = {.view = &hp_view_hotspots};
    char *text = render(&profile, &options);
    assert_non_null(strstr(
        text, "merten: 2 hot spots, 12 static instructions (12.0% of those executed)\n"
              "  90.0% of the run, 70.5% since detected; the first after 40 branches (19.5%)\n"));
    free(text);
    profile.run.runs = 2;
    text = render(&profile, &options);
    assert_non_null(strstr(text, "  92.0% of the run; the first after 40 branches\n"));
    free(text);
}

/* Ten slices in five columns; the last slice is half as long as the others: then it is full. */
static void slices_are_joined_to_fit(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_pthread threads[] = {{100, 100, 950, 136, 125}, {100, 101, 0, 84, 80}};
    struct hp_photspot_slice slices[] = {
        {0, 0, 100, 25}, {0, 2, 100, 100}, {0, 3, 100, 100}, {0, 9, 100, 50}, {1, 8, 100, 75}};
    profile.threads = threads;
    profile.hotspot_slices = slices, profile.n_hotspot_slices = 5;
    struct hp_tables tables;
    struct hp_timeline line;
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    hp_timeline_fit(&tables, 0, 2, 5, &line);
    assert_int_equal(line.columns, 5);
    assert_true(line.column == 200 && line.end == 950);
    const double expected[2][5] = {{0.125, 1, 0, 0, 50.0 / 150}, {0, 0, 0, 0, 0.5}};
    for (uint32_t h = 0; h < 2; h++) {
        double density[5];
        hp_timeline_fill(&profile, &line, h, density);
        for (size_t i = 0; i < 5; i++)
            assert_true(fabs(density[i] - expected[h][i]) < 1e-12);
    }
    hp_timeline_fit(&tables, 0, 2, 10, &line);
    assert_int_equal(line.columns, 10);
    double density[10];
    hp_timeline_fill(&profile, &line, 0, density);
    assert_true(density[9] == 1);
    hp_timeline_fit(&tables, 0, 2, 7, &line); /* two each; three would need but four columns */
    assert_int_equal(line.columns, 5);
    hp_tables_fini(&tables);
}

static void densities_have_glyphs(void **state)
{
    (void)state;
    assert_string_equal(hp_density_glyph(0), " ");
    assert_string_equal(hp_density_glyph(-1), " ");
    assert_string_equal(hp_density_glyph(NAN), " ");
    assert_string_equal(hp_density_glyph(1e-9), "▁");
    assert_string_equal(hp_density_glyph(0.5), "▅");
    assert_string_equal(hp_density_glyph(0.999), "█");
    assert_string_equal(hp_density_glyph(1e300), "█");
}

/* Each run of a merged profile has its own list; how long each ran is not known. */
static void hotspots_of_merged_runs(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    struct hp_photspot spots[] = {fixture_hotspots[0], fixture_hotspots[1]};
    spots[1].run = 1;
    profile.hotspots = spots;
    profile.run.runs = 2;
    expect(&profile, (struct hp_report_options){.view = &hp_view_hotspots},
           "merten, run 1: 1 hot spot, 3 static instructions (12.0% of those executed)\n"
           "  30.0% of the run; the first after 40 branches\n"
           "  #  share  after  detected  of run  blocks  instr.  functions\n"
           "  0  30.0%  25.0%        40               1      10  helper\n"
           "  when they ran, since detected; a column is 100 instructions\n"
           "  0 |  ▅█    █▁|\n"
           "\n"
           "merten, run 2: 1 hot spot, 13 static instructions (52.0% of those executed)\n"
           "  92.0% of the run; the first after 120 branches\n"
           "  #  share  after  detected  of run  blocks  instr.  functions\n"
           "  1  62.0%  50.0%       120               3      14  work, helper\n"
           "  when they ran, since detected; a column is 100 instructions\n"
           "  1 |      ▆▃|\n");
}

/* --- Hostile profiles ------------------------------------------------------------------------- */

static void assert_clean(const char *text, size_t width)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        char copy[4096];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        for (const char *c = copy; *c; c++)
            assert_true((unsigned char)*c >= 0x20);
        if (hp_utf8_width(copy) > width)
            fail_msg("%zu columns: %s", hp_utf8_width(copy), copy);
    }
}

static void hostile_names_do_no_harm(void **state)
{
    (void)state;
    static const char bad[] =
        "evil\033[2J\n\r\t\"name\" \xff\xfe with, a long tail that goes on and "
        "on and on and on, and then some more of it until it is too long";
    struct hp_profile profile = profile_with_loops();
    struct hp_pfunction functions[4];
    struct hp_ploop loops[4];
    struct hp_pmodel_loop models[3];
    struct hp_photspot spots[2];
    memcpy(functions, fixture_functions, sizeof functions);
    memcpy(loops, fixture_loops, sizeof loops);
    memcpy(models, fixture_model_loops, sizeof models);
    memcpy(spots, fixture_hotspots, sizeof spots);
    for (size_t i = 0; i < 4; i++) {
        functions[i].name = bad;
        loops[i].file = i % 2 ? bad : "";
    }
    for (size_t i = 0; i < 2; i++)
        models[i].model = spots[i].detector = bad;
    profile.functions = functions, profile.loops = loops, profile.model_loops = models;
    profile.hotspots = spots;
    static const struct hp_view *const views[] = {&hp_view_loops, &hp_view_loop_models,
                                                  &hp_view_partition, &hp_view_hotspots};
    for (size_t i = 0; i < 4; i++) {
        struct hp_report_options options = {.view = views[i], .width = 80};
        char *text = render(&profile, &options);
        assert_clean(text, 80);
        free(text);
        options.format = HP_REPORT_JSON;
        text = render(&profile, &options);
        assert_true(json_valid(text));
        free(text);
    }
}

/* The largest numbers there are: neither rubbish nor long waits. */
static void extreme_numbers_do_no_harm(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    uint64_t most = UINT64_MAX;
    struct hp_ploop_count counts[] = {
        {0, 0, most, most, most, 1, most, most, most, most, most, most},
        {1, 0, most, most, most, most, most, most, most, most, most, most},
        {2, 1, 1, most, most, most, most, 1, most, 0, 0, 0}};
    struct hp_ploop_trips trips[] = {
        {0, 0, 1, most}, {0, 0, most, most}, {0, 1, 0, most}, {0, 1, 63, 1}};
    struct hp_pmodel_loop models[] = {{"daprof", {0, most}, {0, 0}, 0, 1, most, most, most, most}};
    struct hp_photspot spots[] = {
        {"merten", UINT32_MAX, UINT32_MAX, INT32_MIN, most, most, UINT32_MAX, most, most}};
    struct hp_photspot_slice slices[] = {{0, 0, 1, most}, {0, UINT32_MAX, most, most}};
    profile.loop_counts = counts, profile.n_loop_counts = 3;
    profile.loop_trips = trips, profile.n_loop_trips = 4;
    profile.model_loops = models, profile.n_model_loops = 1;
    profile.hotspots = spots, profile.n_hotspots = 1;
    profile.hotspot_slices = slices, profile.n_hotspot_slices = 2;
    profile.n_hotspot_branches = profile.n_hotspot_blocks = 0;
    for (size_t v = 0; v == 0 || hp_views[v - 1]; v++) /* the default last */
        for (int format = HP_REPORT_TEXT; format <= HP_REPORT_JSON; format++) {
            struct hp_report_options options = {.view = hp_views[v],
                                                .format = (enum hp_report_format)format,
                                                .per_thread = v % 2,
                                                .width = 100};
            char *text = render(&profile, &options);
            if (format == HP_REPORT_JSON)
                assert_true(json_valid(text));
            else
                assert_clean(text, 200); /* shares of 10^16 are wide */
            free(text);
        }
}

/* As deep as there are loops: neither the stack nor the time may depend on that. */
static void deep_nests_are_printed(void **state)
{
    (void)state;
    size_t n = 100000;
    struct hp_pthread thread;
    struct hp_ploop *loops = calloc(n, sizeof *loops);
    struct hp_ploop_count *counts = calloc(n, sizeof *counts);
    for (uint32_t i = 0; i < n; i++) {
        loops[i] = (struct hp_ploop){.header = {HP_PROFILE_NONE, i},
                                     .function = HP_PROFILE_NONE,
                                     .parent = i ? i - 1 : HP_PROFILE_NONE,
                                     .file = "deep.c",
                                     .first_line = i,
                                     .last_line = i};
        counts[i] = (struct hp_ploop_count){
            .item = i, .executions = 1, .iterations = 1, .min = 1, .max = 1, .self = 1};
    }
    struct hp_profile profile = bare_loops(&thread, n, loops, counts, n);
    static const struct hp_view *const views[] = {&hp_view_loops,       &hp_view_paths,
                                                  &hp_view_predictions, &hp_view_hotspots,
                                                  &hp_view_loop_models, &hp_view_partition};
    for (size_t v = 0; v < 6; v++)
        for (int format = HP_REPORT_TEXT; format <= HP_REPORT_CSV; format++) {
            struct hp_report_options options = {
                .view = views[v],
                .format = (enum hp_report_format)format,
                .partition = {.set = true, .iteration = 0, .loops = SIZE_MAX},
                .width = 80};
            char *text = render(&profile, &options);
            if (v == 0 && format == HP_REPORT_TEXT)
                assert_non_null(strstr(text, "deep.c:99999\n"));
            free(text);
        }
    free(loops);
    free(counts);
}

static void expect_damage(struct hp_profile *profile, const char *what)
{
    struct hp_report_options options = {0};
    assert_int_equal(hp_report(profile, &options, stdout), HP_ERR_INVALID);
    assert_true(strstr(hp_error_text(), "which does not exist") ||
                strstr(hp_error_text(), "nested in each other"));
    if (!strstr(hp_error_text(), what))
        fail_msg("%s: %s", what, hp_error_text());
}

#define COPY(member)                                                                               \
    __typeof__(*profile.member) copy[sizeof fixture_##member / sizeof *fixture_##member];          \
    memcpy(copy, fixture_##member, sizeof copy);                                                   \
    struct hp_profile damaged = profile;                                                           \
    damaged.member = copy

static void damaged_loops_are_refused(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    {
        COPY(loops);
        copy[1].parent = 4;
        expect_damage(&damaged, "loop 1");
        copy[1].parent = 0;
        copy[0].parent = 1;
        expect_damage(&damaged, "nested in each other");
        copy[0].parent = 0;
        expect_damage(&damaged, "nested in each other");
        copy[0].parent = HP_PROFILE_NONE;
        copy[2].function = 4;
        expect_damage(&damaged, "loop 2");
        copy[2].function = 0;
        copy[3].header.module = 2;
        expect_damage(&damaged, "loop 3");
    }
    {
        COPY(loop_counts);
        copy[2].thread = 2;
        expect_damage(&damaged, "loop counter 2");
    }
    {
        COPY(loop_trips);
        copy[3].loop = 4;
        expect_damage(&damaged, "trip count 3");
    }
    {
        COPY(loop_blocks);
        copy[0].block = 5;
        expect_damage(&damaged, "block of a loop 0");
    }
    {
        COPY(model_loops);
        copy[1].branch.module = 2;
        expect_damage(&damaged, "loop of a model 1");
        copy[1].branch.module = 0;
        copy[0].loop = 4;
        expect_damage(&damaged, "loop of a model 0");
    }
}

static void damaged_hotspots_are_refused(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_loops();
    {
        COPY(hotspot_branches);
        copy[1].branch.module = 2;
        expect_damage(&damaged, "branch of a hot spot 1");
    }
    {
        COPY(hotspot_blocks);
        copy[1].block = 5;
        expect_damage(&damaged, "block of a hot spot 1");
    }
    {
        COPY(hotspot_slices);
        copy[5].hotspot = 2;
        expect_damage(&damaged, "slice of a hot spot 5");
    }
}

/* --- Against the slow way --------------------------------------------------------------------- */

static bool is_in(const struct hp_profile *p, uint32_t loop, uint32_t in)
{
    while (loop != HP_PROFILE_NONE && loop != in)
        loop = p->loops[loop].parent;
    return loop == in;
}

static bool closes(const struct hp_profile *p, const struct hp_pedge *edge, uint32_t loop)
{
    if (!same_place(edge->to, p->loops[loop].header))
        return false;
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[p->loop_blocks[i].block];
        if (block->place.module == edge->from.module &&
            block->place.offset + block->branch == edge->from.offset &&
            is_in(p, p->loop_blocks[i].loop, loop))
            return true;
    }
    return false;
}

static void check_edges(const struct hp_profile *p, const struct hp_loops *loops, size_t *found)
{
    for (uint32_t loop = 0; loop < p->n_loops; loop++) {
        size_t n, expected = 0;
        const struct hp_back_edge *edges = hp_loop_edges(loops, loop, &n);
        for (size_t i = 0; i < p->n_edges; i++) {
            uint64_t count = 0;
            for (size_t k = 0; k < p->n_edge_counts; k++)
                count += p->edge_counts[k].item == i ? p->edge_counts[k].count : 0;
            if (count == 0 || !closes(p, &p->edges[i], loop))
                continue;
            bool there = false;
            for (size_t k = 0; k < n; k++)
                there |= edges[k].edge == i && edges[k].count == count;
            assert_true(there);
            expected++;
        }
        assert_int_equal(n, expected);
        *found += n;
    }
}

static void back_edges_equal_the_slow_search(void **state)
{
    (void)state;
    size_t found = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct hp_profile *p = random_profile(seed, 40 + seed * 10);
        for (size_t i = 0; i < p->n_loop_blocks; i++) { /* so that some of the edges close loops */
            const struct hp_pblock *block = &p->blocks[p->loop_blocks[i].block];
            struct hp_pedge *edge = &p->edges[i % p->n_edges];
            if (i % 3)
                edge->from =
                    (struct hp_place){block->place.module, block->place.offset + block->branch};
            edge->to = p->loops[p->loop_blocks[i].loop].header;
        }
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        struct hp_tables tables = {.profile = p};
        assert_int_equal(hp_loops_init(&tables.loops, p), HP_OK);
        assert_int_equal(hp_loops_edges(&tables), HP_OK);
        check_edges(p, &tables.loops, &found);
        hp_loops_fini(&tables.loops);
        hp_profile_free(p);
    }
    assert_true(found > 200);
}

/* Positions are all different, and those of what is nested lie in what it is nested in, behind what
 * is heavier. */
static void positions_are_those_of_a_forest(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct hp_profile *p = random_profile(seed, 40 + seed * 10);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        struct hp_loops loops;
        assert_int_equal(hp_loops_init(&loops, p), HP_OK);
        for (uint32_t i = 0; i < p->n_loops; i++) {
            const struct hp_loop_info *info = &loops.info[i];
            uint32_t parent = p->loops[i].parent, inside = 0;
            assert_true(info->at < info->end && info->end <= p->n_loops);
            assert_int_equal(info->depth,
                             parent == HP_PROFILE_NONE ? 0 : loops.info[parent].depth + 1);
            for (uint32_t k = 0; k < p->n_loops; k++) {
                const struct hp_loop_info *other = &loops.info[k];
                assert_true(k == i || (other->at != info->at && other->rank != info->rank));
                bool in = other->at >= info->at && other->at < info->end;
                assert_true(in == is_in(p, k, i));
                inside += in;
                if (p->loops[k].parent == parent && p->loops[k].function == p->loops[i].function &&
                    other->total.inclusive > info->total.inclusive)
                    assert_true(other->at < info->at);
                if (other->total.iterations > info->total.iterations)
                    assert_true(other->rank < info->rank);
            }
            assert_int_equal(inside, info->end - info->at);
        }
        hp_loops_fini(&loops);
        hp_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_a_nest),
        cmocka_unit_test(threads_and_limits_of_loops),
        cmocka_unit_test(what_is_partly_known_is_unknown),
        cmocka_unit_test(the_nest_goes_before_weight),
        cmocka_unit_test(loops_as_json),
        cmocka_unit_test(loops_as_csv),
        cmocka_unit_test(loops_that_were_not_recorded),
        cmocka_unit_test(loops_and_hotspots_are_there_by_default),
        cmocka_unit_test(models_stand_beside_what_is_true),
        cmocka_unit_test(iterations_choose_wrongly),
        cmocka_unit_test(nested_loops_are_not_chosen_together),
        cmocka_unit_test(hotspots_and_when_they_ran),
        cmocka_unit_test(the_detector_knows_best),
        cmocka_unit_test(slices_are_joined_to_fit),
        cmocka_unit_test(densities_have_glyphs),
        cmocka_unit_test(hotspots_of_merged_runs),
        cmocka_unit_test(hostile_names_do_no_harm),
        cmocka_unit_test(extreme_numbers_do_no_harm),
        cmocka_unit_test(deep_nests_are_printed),
        cmocka_unit_test(damaged_loops_are_refused),
        cmocka_unit_test(damaged_hotspots_are_refused),
        cmocka_unit_test(back_edges_equal_the_slow_search),
        cmocka_unit_test(positions_are_those_of_a_forest),
    };
    return cmocka_run_group_tests_name("report loops", tests, NULL, NULL);
}
