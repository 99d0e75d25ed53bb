// SPDX-License-Identifier: MIT
#include "report_fixture.h"
#include "report_parse.h"

#include "text/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>

/* --- The checker can fail --------------------------------------------------------------------- */

static void checker_refuses_what_is_not_json(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "{",         "[1,]", "{\"a\":1,}",  "{\"a\"}",
                                      "[1 2]",   "\"\n\"",    "01",   "1.",          "nul",
                                      "\"\\x\"", "{a:1}",     "[1]]", "\"\\u12g4\"", "-",
                                      "[nan]",   "{\"a\":1}{"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(json_valid(bad[i]));
    assert_true(json_valid(" {\"a\": [1, -2.5, \"x\\u00e9\\n\", true, null, {}]} "));
}

/* --- The writer ------------------------------------------------------------------------------- */

static char *text;
static size_t size;

static struct hp_json start(void)
{
    return (struct hp_json){.out = open_memstream(&text, &size)};
}

static void expect(struct hp_json *json, const char *expected)
{
    assert_int_equal(hp_json_finish(json), HP_OK);
    fclose(json->out);
    assert_string_equal(text, expected);
    assert_true(json_valid(text));
    free(text);
}

static void expect_escaped(const char *value, const char *expected)
{
    struct hp_json json = start();
    hp_json_string(&json, value);
    expect(&json, expected);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    expect_escaped("", "\"\"\n");
    expect_escaped("a\"b\\c/d", "\"a\\\"b\\\\c/d\"\n");
    expect_escaped("\n\r\t\b\x01\x1f\x7f", "\"\\n\\r\\t\\u0008\\u0001\\u001f\x7f\"\n");
    expect_escaped("é€😀", "\"é€😀\"\n");
    expect_escaped(NULL, "null\n");
}

static void invalid_utf8_is_replaced(void **state)
{
    (void)state;
    expect_escaped("a\xff"
                   "b",
                   "\"a\xef\xbf\xbd"
                   "b\"\n");
    expect_escaped("\xc3", "\"\xef\xbf\xbd\"\n");                 /* cut off */
    expect_escaped("\xe2\x82", "\"\xef\xbf\xbd\"\n");             /* one beginning, one mark */
    expect_escaped("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"); /* overlong */
    expect_escaped("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"); /* surrogate */
    expect_escaped("\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");
    expect_escaped("\xe2\"", "\"\xef\xbf\xbd\\\"\"\n"); /* the quote is not swallowed */
}

static void numbers_are_exact(void **state)
{
    (void)state;
    struct hp_json json = start();
    hp_json_begin_array(&json);
    hp_json_uint(&json, 0);
    hp_json_uint(&json, UINT64_C(1) << 63);
    hp_json_uint(&json, UINT64_MAX);
    hp_json_int(&json, INT64_MIN);
    hp_json_int(&json, -7);
    hp_json_fixed(&json, 0.5, 6);
    hp_json_fixed(&json, -0.0000001, 6);
    hp_json_fixed(&json, 0.9999999, 6);
    hp_json_fixed(&json, NAN, 6);
    hp_json_fixed(&json, INFINITY, 6);
    hp_json_fixed(&json, DBL_MAX, 0);
    hp_json_bool(&json, false);
    hp_json_end_array(&json);
    expect(&json, "[0,9223372036854775808,18446744073709551615,-9223372036854775808,-7,0.500000,"
                  "0.000000,1.000000,null,null,9000000000000000,false]\n");
}

static void containers_nest_and_break_lines(void **state)
{
    (void)state;
    struct hp_json json = start();
    json.lines = 2;
    hp_json_begin_object(&json);
    hp_json_key(&json, "a");
    hp_json_begin_array(&json);
    hp_json_begin_object(&json);
    hp_json_key(&json, "x");
    hp_json_uint(&json, 1);
    hp_json_key(&json, "y");
    hp_json_uint(&json, 2);
    hp_json_end_object(&json);
    hp_json_begin_array(&json);
    hp_json_end_array(&json);
    hp_json_end_array(&json);
    hp_json_key(&json, "b");
    hp_json_begin_object(&json);
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    expect(&json, "{\n \"a\": [\n  {\"x\":1,\"y\":2},\n  []\n ],\n \"b\": {}\n}\n");
}

static void expect_misuse(struct hp_json *json)
{
    assert_int_equal(hp_json_finish(json), HP_ERR_INTERNAL);
    fclose(json->out);
    free(text);
}

static void misuse_is_found(void **state)
{
    (void)state;
    struct hp_json json = start();
    expect_misuse(&json); /* nothing at all */
    json = start();
    hp_json_begin_object(&json);
    expect_misuse(&json); /* not closed */
    json = start();
    hp_json_begin_object(&json);
    hp_json_uint(&json, 1); /* no key */
    hp_json_end_object(&json);
    expect_misuse(&json);
    json = start();
    hp_json_begin_object(&json);
    hp_json_key(&json, "a");
    hp_json_end_object(&json); /* no value */
    expect_misuse(&json);
    json = start();
    hp_json_begin_array(&json);
    hp_json_end_object(&json);
    expect_misuse(&json);
    json = start();
    hp_json_uint(&json, 1);
    hp_json_uint(&json, 2); /* two values */
    expect_misuse(&json);
    json = start();
    for (int i = 0; i < 100; i++)
        hp_json_begin_array(&json);
    for (int i = 0; i < 100; i++)
        hp_json_end_array(&json);
    expect_misuse(&json);
}

/* --- The report ------------------------------------------------------------------------------- */

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

static char *render_json(const struct hp_profile *profile, struct hp_report_options options)
{
    options.format = HP_REPORT_JSON;
    char *report = render(profile, &options);
    assert_true(json_valid(report));
    return report;
}

static void everything_is_there_under_its_name(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *report = render_json(&profile, (struct hp_report_options){0});
    assert_null(strstr(report, "engine_stats")); /* this engine does not say */
    free(report);
    profile.run.work = (struct hp_engine_work){.segments = 12, .translate_ns = 34, .detached = 56};
    report = render_json(&profile, (struct hp_report_options){0});
    expect_at(report, "run/engine_stats/segments", "12");
    expect_at(report, "run/engine_stats/translate_ns", "34");
    expect_at(report, "run/engine_stats/detached", "56");
    expect_at(report, "run/engine_stats/links", "0");
    expect_at(report, "run/engine_stats/traces", "0");
    expect_at(report, "hotpath", "\"" HP_VERSION "\"");
    expect_at(report, "run/command", "[\"./demo\",\"two words\",\"it's\"]");
    expect_at(report, "run/seconds", "1.840000");
    expect_at(report, "run/exit_status", "3");
    expect_at(report, "run/started", "1700000000");
    expect_at(report, "summary/instructions", "1000");
    expect_at(report, "summary/branches", "205");
    expect_at(report, "summary/blocks", "5");
    expect_at(report, "summary/edges", "5");
    expect_at(report, "summary/threads", "2");
    expect_at(report, "summary/functions", "3");
    expect_at(report, "summary/modules", "2");
    expect_at(report, "summary/block_executions", "220");
    expect_at(report, "functions/0",
              "{\"name\":\"work\",\"module\":\"demo\",\"address\":\"demo+0x1000\",\"file\":"
              "\"/src/demo.c\",\"line\":10,\"self\":660,\"inclusive\":1000,\"calls\":10,"
              "\"share\":0.660000}");
    expect_at(report, "functions/2/name", "\"demo+0x2000\"");
    expect_at(report, "blocks/0",
              "{\"address\":\"demo+0x1010\",\"size\":16,\"instructions\":6,\"count\":100,"
              "\"weight\":600,\"share\":0.600000,\"kind\":\"cond\",\"function\":\"work\","
              "\"file\":\"/src/demo.c\",\"line\":12,\"version\":0}");
    expect_at(report, "edges/1",
              "{\"from\":\"demo+0x101e\",\"to\":\"demo+0x1010\",\"kind\":\"cond\",\"taken\":true,"
              "\"count\":95}");
    expect_at(report, "calls/1",
              "{\"caller\":\"work\",\"callee\":\"helper\",\"count\":100,\"inclusive\":300}");
    expect_at(report, "lines/0",
              "{\"file\":\"/src/demo.c\",\"line\":13,\"instructions\":420,\"executions\":105,"
              "\"share\":0.420000,\"function\":\"twice\"}");
    expect_at(report, "threads/1",
              "{\"thread\":1,\"pid\":100,\"tid\":101,\"name\":\"worker\",\"command\":\"./demo "
              "-x\",\"instructions\":376,\"blocks\":84,"
              "\"branches\":80,\"share\":0.376000}");
    expect_at(report, "modules/0",
              "{\"module\":\"demo\",\"path\":\"/opt/demo\",\"build_id\":\"aa11\","
              "\"instructions\":700,\"executions\":120,\"share\":0.700000}");
    expect_at(report, "notes/1",
              "{\"kind\":\"cut\",\"text\":\"the length of a block is uncertain\",\"count\":1234}");
    free(report);
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_counted_profile();
    char *report = render_json(&profile, (struct hp_report_options){.per_thread = true});
    expect_at(
        report, "functions/0",
        "{\"name\":\"work\",\"module\":\"demo\",\"address\":\"demo+0x1000\",\"file\":"
        "\"/src/demo.c\",\"line\":10,\"self\":660,\"calls\":10,\"share\":0.660000,\"threads\":"
        "[{\"thread\":0,\"self\":404,\"calls\":6},{\"thread\":1,\"self\":256,\"calls\":4}]}");
    expect_at(report, "calls/0",
              "{\"caller\":\"work\",\"callee\":\"helper\",\"count\":100,\"threads\":"
              "[{\"thread\":0,\"count\":60},{\"thread\":1,\"count\":40}]}");
    expect_at(report, "blocks/0/count", "100");
    assert_null(strstr(report, "\"inclusive\""));
    free(report);
}

static void a_view_keeps_only_its_member(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    for (size_t view = 0; hp_views[view] != &hp_view_all; view++) {
        struct hp_report_options options = {.view = hp_views[view]};
        char *report = render_json(&profile, options);
        assert_non_null(json_find(report, "hotpath"));
        assert_null(json_find(report, "run"));
        assert_null(json_find(report, "notes"));
        for (size_t other = 0; hp_views[other] != &hp_view_all; other++)
            assert_true((json_find(report, fixture_member(hp_views[other])) != NULL) ==
                        (view == other));
        free(report);
    }
}

static void the_run_can_be_left_out(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *report = render_json(&profile, (struct hp_report_options){.no_run = true});
    assert_null(json_find(report, "run"));
    assert_non_null(json_find(report, "summary"));
    free(report);
}

static void top_limits_every_table(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *report = render_json(&profile, (struct hp_report_options){.top = 2});
    assert_int_equal(json_length(report, "functions"), 2);
    assert_int_equal(json_length(report, "edges"), 2);
    assert_int_equal(json_length(report, "lines"), 2);
    expect_at(report, "summary/edges", "5"); /* not limited */
    free(report);
    report = render_json(&profile, (struct hp_report_options){.top = 100});
    assert_int_equal(json_length(report, "edges"), 5);
    free(report);
}

static void per_thread_splits_every_item(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *report = render_json(&profile, (struct hp_report_options){.per_thread = true});
    expect_at(report, "functions/0/threads",
              "[{\"thread\":0,\"self\":404,\"inclusive\":624,\"calls\":6},"
              "{\"thread\":1,\"self\":256,\"inclusive\":376,\"calls\":4}]");
    expect_at(report, "functions/2/threads",
              "[{\"thread\":0,\"self\":40,\"inclusive\":40,\"calls\":5}]");
    expect_at(report, "blocks/0/threads",
              "[{\"thread\":0,\"count\":60,\"weight\":360},"
              "{\"thread\":1,\"count\":40,\"weight\":240}]");
    expect_at(report, "edges/1/threads",
              "[{\"thread\":0,\"count\":59},{\"thread\":1,\"count\":36}]");
    expect_at(report, "calls/0/threads",
              "[{\"thread\":0,\"count\":6,\"inclusive\":624},"
              "{\"thread\":1,\"count\":4,\"inclusive\":376}]");
    expect_at(report, "lines/0/threads",
              "[{\"thread\":0,\"instructions\":260,\"executions\":65},"
              "{\"thread\":1,\"instructions\":160,\"executions\":40}]");
    expect_at(report, "modules/1/threads",
              "[{\"thread\":0,\"instructions\":180,\"executions\":60},"
              "{\"thread\":1,\"instructions\":120,\"executions\":40}]");
    assert_null(json_find(report, "threads/0/threads"));
    free(report);
}

static void an_empty_profile_is_valid(void **state)
{
    (void)state;
    struct hp_profile profile = {0};
    char *report = render_json(&profile, (struct hp_report_options){.per_thread = true});
    expect_at(report, "run/command", "[]");
    expect_at(report, "run/machine", "\"\"");
    expect_at(report, "summary/instructions", "0");
    for (size_t view = 1; hp_views[view] != &hp_view_all; view++)
        if (!hp_views[view]->of_function)
            expect_at(report, fixture_member(hp_views[view]), "[]");
    expect_at(report, "notes", "[]");
    free(report);
}

static void hostile_names_stay_strings(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pfunction functions[4];
    memcpy(functions, profile.functions, sizeof functions);
    functions[0].name = "\"},{\"x\":\"\n\xff";
    functions[0].file = "\\\x02";
    profile.functions = functions;
    char *report = render_json(&profile, (struct hp_report_options){0});
    expect_at(report, "functions/0/name", "\"\\\"},{\\\"x\\\":\\\"\\n\xef\xbf\xbd\"");
    expect_at(report, "functions/0/file", "\"\\\\\\u0002\"");
    assert_int_equal(json_length(report, "functions"), 3);
    free(report);
}

static void big_counts_are_exact(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pthread threads[] = {{1, 1, UINT64_C(1) << 63, 1, 1}, {1, 2, 5, 1, 1}};
    struct hp_pcount counts[] = {
        {0, 0, UINT64_C(1) << 63}, {0, 1, 3}, {1, 0, UINT64_MAX}, {1, 1, UINT64_MAX}};
    profile.threads = threads;
    profile.edge_counts = counts;
    profile.n_edge_counts = 4;
    profile.block_counts = counts;
    profile.n_block_counts = 4;
    char *report = render_json(&profile, (struct hp_report_options){.per_thread = true});
    expect_at(report, "summary/instructions", "9223372036854775813");
    expect_at(report, "edges/0/count", "18446744073709551615"); /* does not wrap around */
    expect_at(report, "edges/1/count", "9223372036854775811");
    expect_at(report, "edges/1/threads/0/count", "9223372036854775808");
    expect_at(report, "blocks/0/weight", "18446744073709551615");
    expect_at(report, "lines/0/executions", "9223372036854775811"); /* all as heavy: by line */
    expect_at(report, "lines/1/executions", "18446744073709551615");
    free(report);
}

static void the_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
    struct hp_profile profile = fixture_profile();
    char *expected = render_json(&profile, (struct hp_report_options){0});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        char *report = render_json(&profile, (struct hp_report_options){0});
        assert_string_equal(report, expected);
        free(report);
    }
    setlocale(LC_ALL, "C");
    free(expected);
}

static void write_errors_are_reported(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    for (int format = HP_REPORT_TEXT; format <= HP_REPORT_CSV; format++) {
        FILE *full = fopen("/dev/full", "w");
        if (!full)
            skip();
        struct hp_report_options options = {.format = (enum hp_report_format)format};
        assert_int_equal(hp_report(&profile, &options, full), HP_ERR_IO);
        assert_non_null(strstr(hp_error_text(), "No space left"));
        fclose(full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_refuses_what_is_not_json),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(invalid_utf8_is_replaced),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(containers_nest_and_break_lines),
        cmocka_unit_test(misuse_is_found),
        cmocka_unit_test(everything_is_there_under_its_name),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(a_view_keeps_only_its_member),
        cmocka_unit_test(the_run_can_be_left_out),
        cmocka_unit_test(top_limits_every_table),
        cmocka_unit_test(per_thread_splits_every_item),
        cmocka_unit_test(an_empty_profile_is_valid),
        cmocka_unit_test(hostile_names_stay_strings),
        cmocka_unit_test(big_counts_are_exact),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(write_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
