// SPDX-License-Identifier: MIT
/*
 * Paths, predictions and what models counted, in every format. Golden texts: to rebase one after a
 * wanted change, see test_report_text.c.
 */
#include "report_fixture.h"
#include "report_parse.h"
// clang-format off: the random profiles bring cmocka along
#include "profile_random.h"
// clang-format on

#include "report/paths/lines.h"
#include "report/tables.h"

#include <unistd.h>

#define NOTES                                                                                      \
    "\n"                                                                                           \
    "note: process 102 started /bin/true, which was not observed\n"                                \
    "note: the length of a block is uncertain (1,234 times)\n"

#define LEGEND "  -> a branch was taken   . it was not\n\n"

static struct hp_profile profile_with_paths(void)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_paths(&profile);
    return profile;
}

static void expect(const struct hp_profile *profile, struct hp_report_options options,
                   const char *expected)
{
    char *text = render(profile, &options);
    assert_string_equal(text, expected);
    free(text);
}

/* --- Text ------------------------------------------------------------------------------------- */

static void a_path_is_read_line_by_line(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    expect(&profile,
           (struct hp_report_options){.view = &hp_view_paths, .top = HP_REPORT_TOP_DEFAULT},
           "bl: 3 paths, executed 105 times: 83.0% of the instructions\n" LEGEND
           "  share  so far  count  instr.  branches  function  along\n"
           "  54.0%   54.0%     90       6         1  work      demo.c:13\n"
           "          demo.c:12\n"
           "          demo.c:13  ->  twice\n"
           "  25.0%   79.0%     10      25         2  work      demo.c:11→13\n"
           "          demo.c:11    ->\n"
           "          demo.c:12\n"
           "          demo.c:13    . -> demo+0x2000  twice\n"
           "          demo+0x2000  -> helper\n"
           "          helper       return            libx.so+0x500\n"
           "   4.0%   83.0%      5       8         1  work      demo.c:11→13\n"
           "          as path 2, but demo.c:11 call work\n"
           "          demo.c:11  call work\n"
           "          demo.c:13  …          twice\n"
           "\n"
           "forward,metric=l1d: 2 paths, executed 103 times: 33.4% of the instructions, "
           "12 L1 data cache misses\n" LEGEND
           "  l1d %  so far  l1d  count  instr.  branches  function   along\n"
           "  75.0%   75.0%    9      3    11.3         2  (unknown)  libx.so+0x500\n"
           "          helper       call demo+0x2000  libx.so+0x500\n"
           "          demo+0x2000  call *\n"
           "  25.0%  100.0%    3    100       3         1  helper     libx.so+0x500\n"
           "          (only the heaviest paths are kept with their lines)\n" NOTES);
}

/* What a machine in cycles measured of the first list; of its second path nothing. */
static void paths_have_cycles(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    struct hp_ppath_time times[] = {{0, 4, 32}, {2, 90, 540}};
    struct hp_ppath_cycles cycles[] = {{0, HP_CAUSE_RETIRE, 8 * HP_CYCLE_PARTS},
                                       {2, HP_CAUSE_RETIRE, 135 * HP_CYCLE_PARTS},
                                       {2, HP_CAUSE_L1, 45 * HP_CYCLE_PARTS},
                                       {2, HP_CAUSE_MEMORY, 720 * HP_CYCLE_PARTS}};
    profile.path_times = times;
    profile.n_path_times = 2;
    profile.path_cycles = cycles;
    profile.n_path_cycles = 4;
    profile.n_paths = 4;
    profile.n_path_counts = 5;
    profile.n_path_steps = 8;
    expect(&profile, (struct hp_report_options){.view = &hp_view_paths, .top = 2},
           "bl: 3 paths, executed 105 times: 83.0% of the instructions; CPI 1.59\n" LEGEND
           "  share  so far  count  instr.  cycles  each   CPI  branches  function  along\n"
           "  54.0%   54.0%     90       6     900  10.0  1.67         1  work      demo.c:13\n"
           "          cycles: memory 80.0%, retire 15.0%, l1 5.0%\n"
           "          demo.c:12\n"
           "          demo.c:13  ->  twice\n"
           "  25.0%   79.0%     10      25                             2  work      demo.c:11→13\n"
           "          demo.c:11    ->\n"
           "          demo.c:12\n"
           "          demo.c:13    . -> demo+0x2000  twice\n"
           "          demo+0x2000  -> helper\n"
           "          helper       return            libx.so+0x500\n"
           "  … and 1 more (--top 0 shows all)\n" NOTES);
}

static void threads_stand_below_their_path(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    profile.n_paths = 4;
    profile.n_path_counts = 5;
    profile.n_path_steps = 8;
    expect(&profile,
           (struct hp_report_options){
               .view = &hp_view_paths, .top = 1, .per_thread = true, .width = 60},
           "bl: 3 paths, executed 105 times: 83.0% of the instructions\n" LEGEND
           "  share  so far  count  instr.  branches  function    along\n"
           "  54.0%   54.0%     90       6         1  work        demo.c:13\n"
           "  32.4%             54       6              thread 0\n"
           "  21.6%             36       6              thread 1\n"
           "          demo.c:12\n"
           "          demo.c:13  ->  twice\n"
           "  … and 2 more (--top 0 shows all)\n" NOTES);
}

/* Source text, indented no more; one that is too long for the terminal is cut. */
static void source_stands_beside_its_line(void **state)
{
    (void)state;
    char name[] = "/tmp/hotpath-report-paths-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    static const char source[] = "\n\n\n\n\n\n\n\n\n\n"
                                 "    go();\n"
                                 "\tfor (;;)\n"
                                 "    if (everything(is, as_it) && should_be(in, the_world))\n";
    assert_int_equal(write(fd, source, sizeof source - 1), sizeof source - 1);
    close(fd);
    struct hp_profile profile = profile_with_paths();
    struct hp_pline lines[4];
    memcpy(lines, fixture_lines, sizeof lines);
    for (size_t i = 0; i < 4; i++)
        lines[i].file = name;
    profile.lines = lines;
    profile.run.started = 0;
    profile.n_notes = 0;
    struct hp_report_options options = {.view = &hp_view_paths, .top = 1, .width = 72};
    char *text = render(&profile, &options);
    char expected[256];
    snprintf(expected, sizeof expected,
             "          %s:12      for (;;)\n"
             "          %s:13  ->  if",
             strrchr(name, '/') + 1, strrchr(name, '/') + 1);
    if (strlen(strrchr(name, '/') + 1) + 3 <= 30)
        assert_non_null(strstr(text, expected));
    assert_non_null(strstr(text, "for (;;)\n"));
    assert_non_null(strstr(text, "if (everything("));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t columns = 0;
        for (const char *c = line; *c != '\n'; c++)
            columns += (*c & 0xc0) != 0x80;
        if (columns > 72 && strncmp(line, "forward", 7) != 0)
            fail_msg("%zu columns: %.*s", columns, (int)strcspn(line, "\n"), line);
    }
    free(text);
    unlink(name);
}

/* In a function that is known already only the offset is said. */
static void blocks_without_lines_have_offsets(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    struct hp_pstep steps[] = {
        {4, 0, 4, HP_STEP_TAKEN}, {4, 1, 0, HP_STEP_TAKEN}, {4, 2, 4, HP_STEP_RETURNED}};
    profile.path_steps = steps;
    profile.n_path_steps = 3;
    profile.n_lines = 0;
    struct hp_report_options options = {.view = &hp_view_paths};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text, "          +0x0    -> work    libx.so+0x500\n"
                                 "          work    -> helper  demo+0x1000\n"
                                 "          helper  return     libx.so+0x500\n"));
    free(text);
}

/* Of a long path the middle is left out. */
static void long_paths_are_shortened(void **state)
{
    (void)state;
    static struct hp_pstep steps[300];
    struct hp_profile profile = profile_with_paths();
    for (uint32_t i = 0; i < 300; i++)
        steps[i] = (struct hp_pstep){2, i, i % 2 ? 3 : 4, HP_STEP_TAKEN};
    profile.path_steps = steps;
    profile.n_path_steps = 300;
    struct hp_report_options options = {.view = &hp_view_paths, .top = 1};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text, "          … 250 more lines …\n"));
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "  -> ")); at++)
        n++;
    assert_int_equal(n, 50 + 2 - 1); /* the legends; the last one leads nowhere */
    free(text);
}

static void predictions_and_machine(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    expect(&profile, (struct hp_report_options){.view = &hp_view_predictions},
           "  scheme    hits   noise  missed  profiled  predicted  counters  ops/branch\n"
           "  net:50   87.5%  112.5%   12.5%     15.0%         35        20       0.100\n"
           "  net:100  75.0%   10.0%   25.0%     25.0%         30        20       0.150\n" NOTES);
    expect(&profile, (struct hp_report_options){.view = &hp_view_machine},
           "  part          name         value\n"
           "  hpt 512x4 bl  bytes        7,488\n"
           "                overlap      98.8%\n"
           "  paths bl      splits   1,234,567\n" NOTES);
    struct hp_profile none = fixture_profile();
    none.n_notes = 0;
    expect(&none, (struct hp_report_options){.view = &hp_view_paths},
           "  (no path was recorded: --profile paths asks for them)\n");
    expect(&none, (struct hp_report_options){.view = &hp_view_machine},
           "  (no model counted anything)\n");
}

static bool shows(const struct hp_profile *profile, enum hp_report_format format,
                  const char *header)
{
    struct hp_report_options options = {.format = format};
    char *text = render(profile, &options);
    bool there = strstr(text, header) != NULL;
    free(text);
    return there;
}

/* What the default is depends on what was recorded. */
static void the_default_is_what_there_is(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    assert_true(shows(&profile, HP_REPORT_TEXT, "  self %"));
    assert_true(shows(&profile, HP_REPORT_TEXT, "Functions\n  self %"));
    assert_true(shows(&profile, HP_REPORT_TEXT, "\nPaths\nbl: 3 paths"));
    assert_true(shows(&profile, HP_REPORT_TEXT, "\nPredictions\n  scheme "));
    assert_false(shows(&profile, HP_REPORT_TEXT, "\nMachine\n"));
    assert_true(shows(&profile, HP_REPORT_TEXT, "   5 paths   2 threads\n"));
    profile.n_block_counts = profile.n_function_counts = 0;
    assert_true(shows(&profile, HP_REPORT_TEXT, "  share  so far"));
    assert_true(shows(&profile, HP_REPORT_TEXT, "205 branches   5 paths   2 threads\n"));
    assert_true(shows(&profile, HP_REPORT_CSV, "kind,start,length,outcomes"));
    struct hp_report_options all = {.view = &hp_view_all}, calls = {.view = &hp_view_calls};
    char *text = render(&profile, &all);
    assert_null(strstr(text, "Functions\n"));
    assert_non_null(strstr(text, "Threads\n"));
    assert_non_null(strstr(text, "Paths\nbl: 3 paths"));
    assert_non_null(strstr(text, "Predictions\n"));
    assert_non_null(strstr(text, "Machine\n"));
    free(text);
    profile.n_call_counts = 0;
    expect(&profile, calls, "  (not counted: --profile exact asks for it)\n" NOTES);
    profile.n_paths = profile.n_path_counts = profile.n_path_steps = 0;
    assert_true(shows(&profile, HP_REPORT_TEXT, "  scheme "));
    assert_false(shows(&profile, HP_REPORT_TEXT, "Predictions\n"));
    profile.n_predictions = 0;
    assert_true(shows(&profile, HP_REPORT_TEXT, "(no function was executed)"));
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

static void expect_at(const char *report, const char *path, const char *expected)
{
    const char *at = json_find(report, path);
    if (!at)
        fail_msg("%s is not there", path);
    const char *end = json_value(at, 0);
    char value[4096];
    snprintf(value, sizeof value, "%.*s", (int)(end - at), at);
    assert_string_equal(value, expected);
}

static void json_has_the_names(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    struct hp_report_options options = {.format = HP_REPORT_JSON, .per_thread = true};
    char *report = render(&profile, &options);
    assert_true(json_valid(report));
    expect_at(report, "summary/paths", "5");
    expect_at(report, "paths/1",
              "{\"kind\":\"bl\",\"start\":\"demo+0x1000\",\"length\":2,\"outcomes\":\"10\","
              "\"targets\":\"\",\"count\":10,\"instructions\":250,\"share\":0.250000,"
              "\"metric\":\"executions\",\"events\":10,\"event_share\":0.095238,"
              "\"function\":\"work\",\"rank\":2,\"written_in\":\"work\","
              "\"label\":\"/src/demo.c:11→13\",\"unlike\":null,\"parts\":\"\","
              "\"mispredicts\":\"\","
              "\"lines\":[\"/src/demo.c:11\",\"/src/demo.c:12\",\"/src/demo.c:13\"],"
              "\"blocks\":[\"demo+0x1000\",\"demo+0x1010\",\"demo+0x1016\",\"demo+0x2000\","
              "\"libx.so+0x500\"],"
              "\"ways\":[\"taken\",\"fell\",\"taken\",\"taken\",\"returned\"],"
              "\"threads\":[{\"thread\":0,\"count\":6,\"instructions\":150,\"events\":6},"
              "{\"thread\":1,\"count\":4,\"instructions\":100,\"events\":4}]}");
    expect_at(report, "paths/3/events", "9"); /* by events, of that kind */
    expect_at(report, "paths/3/event_share", "0.750000");
    expect_at(report, "paths/4/targets", "\"0xabc\"");
    expect_at(report, "paths/4/lines", "[]");
    expect_at(report, "predictions/0",
              "{\"scheme\":\"net:50\",\"delay\":50,\"hit_rate\":0.875000,\"noise_rate\":1.125000,"
              "\"missed_rate\":0.125000,\"profiled_flow\":0.150000,\"counters\":20,"
              "\"operations\":200,\"branches\":2000,\"flow\":1000,\"paths\":40,\"heads\":20,"
              "\"hot_paths\":4,\"hot_flow\":800,\"predicted\":35,\"predicted_hot\":4,\"hits\":700,"
              "\"noise\":900,\"missed\":100,\"profiled\":150,\"closed_hits\":690,"
              "\"closed_noise\":-70,\"closed_missed\":110}");
    expect_at(report, "machine/0",
              "{\"part\":\"hpt 512x4 bl\",\"name\":\"bytes\",\"value\":7488,\"unit\":\"size\"}");
    expect_at(report, "machine/1/value", "0.987650");
    free(report);
    options = (struct hp_report_options){.format = HP_REPORT_JSON, .top = 1};
    report = render(&profile, &options);
    assert_int_equal(json_length(report, "paths"), 2); /* one of each kind */
    expect_at(report, "paths/0/count", "90");
    expect_at(report, "paths/1/kind", "\"forward,metric=l1d\"");
    free(report);
}

static void csv_has_lists_with_blanks(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_paths();
    struct hp_report_options options = {
        .view = &hp_view_paths, .format = HP_REPORT_CSV, .top = 1, .per_thread = true};
    expect(
        &profile, options,
        "kind,start,length,outcomes,targets,count,instructions,share,metric,events,event_share,"
        "function,rank,written_in,label,unlike,parts,mispredicts,lines,blocks,ways,thread\r\n"
        "bl,demo+0x1010,1,1,,90,540,0.540000,executions,90,0.857143,work,1,work,/src/demo.c:13,,,,"
        "/src/demo.c:12 /src/demo.c:13,demo+0x1010,taken,\r\n"
        "bl,demo+0x1010,1,1,,54,324,0.324000,executions,54,0.514286,work,1,work,/src/demo.c:13,,,,"
        "/src/demo.c:12 /src/demo.c:13,demo+0x1010,taken,0\r\n"
        "bl,demo+0x1010,1,1,,36,216,0.216000,executions,36,0.342857,work,1,work,/src/demo.c:13,,,,"
        "/src/demo.c:12 /src/demo.c:13,demo+0x1010,taken,1\r\n"
        "\"forward,metric=l1d\",libx.so+0x500,2,11,,3,34,0.034000,l1d,9,0.750000,,1,,,,,,,"
        "libx.so+0x500 demo+0x2000,entered called,\r\n"
        "\"forward,metric=l1d\",libx.so+0x500,2,11,,3,34,0.034000,l1d,9,0.750000,,1,,,,,,,"
        "libx.so+0x500 demo+0x2000,entered called,1\r\n");
}

/* --- The lines of a path ---------------------------------------------------------------------- */

/* A block of lines 1 2 1 3 1, its branch in the last: 2 3 1. Then one of 1 and 4: that 1 is the
 * same. */
static void lines_of_blocks_are_joined(void **state)
{
    (void)state;
    struct hp_pblock blocks[] = {{{0, 0}, 10, 5, HP_PROFILE_NONE, HP_FLOW_COND, 9, 0},
                                 {{0, 10}, 4, 2, HP_PROFILE_NONE, HP_FLOW_COND, 1, 0}};
    struct hp_pline lines[] = {{0, 0, 2, "f", 1, "", "", 1},  {0, 2, 4, "f", 2, "", "", 1},
                               {0, 4, 6, "f", 1, "", "", 1},  {0, 6, 8, "f", 3, "", "", 1},
                               {0, 8, 10, "f", 1, "", "", 1}, {1, 0, 2, "f", 1, "", "", 1},
                               {1, 2, 4, "f", 4, "", "", 1}};
    struct hp_ppath path = {.kind = "bl", .function = HP_PROFILE_NONE};
    struct hp_pstep steps[] = {{0, 0, 0, HP_STEP_FELL}, {0, 1, 1, HP_STEP_TAKEN}};
    struct hp_pmodule module = {"m", ""};
    struct hp_profile profile = {.modules = &module,
                                 .n_modules = 1,
                                 .blocks = blocks,
                                 .n_blocks = 2,
                                 .lines = lines,
                                 .n_lines = 7,
                                 .paths = &path,
                                 .n_paths = 1,
                                 .path_steps = steps,
                                 .n_path_steps = 2};
    struct hp_tables tables;
    struct hp_path_lines made = {0};
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    assert_int_equal(hp_path_lines_make(&made, &tables, 0), HP_OK);
    const uint32_t expected[][3] = {{2, 0, 0}, {3, 0, 0}, {1, 0, 1}, {4, 0, 0}, {1, 1, 1}};
    assert_int_equal(made.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(made.lines[i].line, expected[i][0]);
        assert_int_equal(made.lines[i].n_exits, expected[i][2]);
        if (expected[i][2])
            assert_int_equal(made.lines[i].first_exit, expected[i][1]);
    }
    /* The branch of the second block in its last line: then the ones that meet are one. */
    blocks[1].branch = 3;
    assert_int_equal(hp_path_lines_make(&made, &tables, 0), HP_OK);
    assert_int_equal(made.n, 4);
    assert_int_equal(made.lines[2].line, 1);
    assert_int_equal(made.lines[3].line, 4);
    assert_int_equal(made.lines[3].first_exit, 1);
    hp_path_lines_fini(&made);
    hp_tables_fini(&tables);
}

/* --- Any profile ------------------------------------------------------------------------------ */

static void every_profile_can_be_printed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct hp_profile *p = random_profile(seed, seed * 30);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (size_t v = 0; v == 0 || hp_views[v - 1]; v++) /* the default last */
            for (int format = HP_REPORT_TEXT; format <= HP_REPORT_CSV; format++) {
                if (hp_views[v] == &hp_view_all && format == HP_REPORT_CSV)
                    continue;
                struct hp_report_options options = {.view = hp_views[v],
                                                    .format = (enum hp_report_format)format,
                                                    .per_thread = seed % 2,
                                                    .color = seed % 3 == 0,
                                                    .width = (int)(seed * 7)};
                char *text = render(p, &options);
                if (format == HP_REPORT_JSON)
                    assert_true(json_valid(text));
                free(text);
            }
        hp_profile_free(p);
    }
}

static void references_of_paths_are_checked(void **state)
{
    (void)state;
    struct hp_report_options options = {0};
    for (int fault = 0; fault < 5; fault++) {
        struct hp_profile profile = profile_with_paths();
        struct hp_ppath path = {"bl", {0, 0}, 0, 0, 0, 0};
        struct hp_pstep step = {0, 0, 0, 0};
        struct hp_ppath_count count = {0, 0, 1, 1, 1};
        profile.paths = &path, profile.path_steps = &step, profile.path_counts = &count;
        profile.n_paths = profile.n_path_steps = profile.n_path_counts = 1;
        switch (fault) {
        case 0: path.start.module = 7; break;
        case 1: path.function = 7; break;
        case 2: step.path = 1; break;
        case 3: step.block = 9; break;
        case 4: count.thread = 2; break;
        }
        assert_int_equal(hp_report(&profile, &options, stdout), HP_ERR_INVALID);
        assert_non_null(strstr(hp_error_text(), "which does not exist"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_read_line_by_line),
        cmocka_unit_test(paths_have_cycles),
        cmocka_unit_test(threads_stand_below_their_path),
        cmocka_unit_test(source_stands_beside_its_line),
        cmocka_unit_test(blocks_without_lines_have_offsets),
        cmocka_unit_test(long_paths_are_shortened),
        cmocka_unit_test(predictions_and_machine),
        cmocka_unit_test(the_default_is_what_there_is),
        cmocka_unit_test(json_has_the_names),
        cmocka_unit_test(csv_has_lists_with_blanks),
        cmocka_unit_test(lines_of_blocks_are_joined),
        cmocka_unit_test(every_profile_can_be_printed),
        cmocka_unit_test(references_of_paths_are_checked),
    };
    return cmocka_run_group_tests_name("report paths", tests, NULL, NULL);
}
