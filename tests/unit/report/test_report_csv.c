// SPDX-License-Identifier: MIT
#include "report_fixture.h"
#include "report_parse.h"

static char *render_csv(const struct hp_profile *profile, struct hp_report_options options)
{
    options.format = HP_REPORT_CSV;
    return render(profile, &options);
}

static void functions_are_the_default(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *text = render_csv(&profile, (struct hp_report_options){0});
    assert_string_equal(text, "name,module,address,file,line,self,inclusive,calls,share\r\n"
                              "work,demo,demo+0x1000,/src/demo.c,10,660,1000,10,0.660000\r\n"
                              "helper,libx.so,libx.so+0x500,,0,300,300,100,0.300000\r\n"
                              "demo+0x2000,demo,demo+0x2000,,0,40,40,5,0.040000\r\n");
    free(text);
}

static void what_is_not_known_has_no_column(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_counted_profile();
    char *text = render_csv(&profile, (struct hp_report_options){0});
    assert_string_equal(text, "name,module,address,file,line,self,calls,share\r\n"
                              "work,demo,demo+0x1000,/src/demo.c,10,660,10,0.660000\r\n"
                              "helper,libx.so,libx.so+0x500,,0,300,100,0.300000\r\n"
                              "demo+0x2000,demo,demo+0x2000,,0,40,5,0.040000\r\n");
    free(text);
    text = render_csv(&profile, (struct hp_report_options){.view = &hp_view_calls});
    assert_string_equal(text, "caller,callee,count\r\n"
                              "work,helper,100\r\n"
                              ",work,10\r\n"
                              "work,demo+0x2000,5\r\n");
    free(text);
}

static void threads_have_rows_of_their_own(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *text = render_csv(
        &profile, (struct hp_report_options){.view = &hp_view_edges, .per_thread = true, .top = 2});
    assert_string_equal(text, "from,to,kind,taken,count,thread\r\n"
                              "libx.so+0x508,demo+0x1030,return,true,100,\r\n"
                              "libx.so+0x508,demo+0x1030,return,true,60,0\r\n"
                              "libx.so+0x508,demo+0x1030,return,true,40,1\r\n"
                              "demo+0x101e,demo+0x1010,cond,true,95,\r\n"
                              "demo+0x101e,demo+0x1010,cond,true,59,0\r\n"
                              "demo+0x101e,demo+0x1010,cond,true,36,1\r\n");
    free(text);
}

static void quoting(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pfunction functions[4];
    memcpy(functions, profile.functions, sizeof functions);
    functions[0].name = "f<a, \"b\">";
    functions[0].file = "two\r\nlines";
    functions[2].name = " blank";
    functions[2].file = "\xff";
    profile.functions = functions;
    char *text = render_csv(&profile, (struct hp_report_options){.top = 2});
    assert_string_equal(
        text, "name,module,address,file,line,self,inclusive,calls,share\r\n"
              "\"f<a, \"\"b\"\">\",demo,demo+0x1000,\"two\r\nlines\",10,660,1000,10,0.660000\r\n"
              "\" blank\",libx.so,libx.so+0x500,\xef\xbf\xbd,0,300,300,100,0.300000\r\n");
    free(text);
}

static void summary_is_one_row(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *text = render_csv(&profile, (struct hp_report_options){.view = &hp_view_summary});
    assert_string_equal(text, "instructions,branches,blocks,edges,threads,functions,modules,block_"
                              "executions,paths,loops,hotspots,contexts_beyond\r\n"
                              "1000,205,5,5,2,3,2,220,0,0,0,0\r\n");
    free(text);
}

/* The header of each view is the list of names of its JSON objects. */
static void columns_are_those_of_json(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    fixture_add_paths(&profile);
    fixture_add_loops(&profile);
    fixture_add_insns(&profile);
    fixture_add_contexts(&profile);
    fixture_add_traces(&profile);
    fixture_add_syscalls(&profile);
    fixture_add_run_cycles(&profile);
    for (size_t view = 1; hp_views[view] != &hp_view_all; view++) {
        struct hp_report_options options = {
            .view = hp_views[view], .query.function = hp_views[view]->of_function ? "work" : NULL};
        char *csv = render_csv(&profile, options);
        options.format = HP_REPORT_JSON;
        char *json = render(&profile, &options);
        csv[strcspn(csv, "\r")] = 0;
        char path[64], header[512] = "";
        snprintf(path, sizeof path, "%s/0", fixture_member(options.view));
        const char *at = json_find(json, path);
        while (*at == '{' || *at == ',') {
            const char *end = json_string(at + 1);
            size_t used = strlen(header);
            snprintf(header + used, sizeof header - used, "%s%.*s", used ? "," : "",
                     (int)(end - at - 3), at + 2);
            at = json_value(end + 1, 0);
        }
        assert_string_equal(csv, header);
        free(csv);
        free(json);
    }
}

static void an_empty_table_has_its_header(void **state)
{
    (void)state;
    struct hp_profile profile = {0};
    char *text = render_csv(&profile, (struct hp_report_options){.view = &hp_view_calls});
    assert_string_equal(text, "caller,callee,count,inclusive\r\n");
    free(text);
}

static void not_everything_at_once(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_report_options options = {.view = &hp_view_all, .format = HP_REPORT_CSV};
    assert_int_equal(hp_report(&profile, &options, stdout), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "one table"));
}

/* --- Comparisons ------------------------------------------------------------------------------ */

static struct hp_move moves[] = {{"g", "/opt/demo", 100, 600, 0.1, 0.5},
                                 {"f<a, b>", "/opt/demo", 900, 600, 0.9, 0.5},
                                 {"same", "libx.so", 0, 0, 0, 0}};
static const struct hp_comparison comparison = {.block_overlap = 60,
                                                .edge_overlap = 99.95,
                                                .function_overlap = 60.04,
                                                .instructions_a = 1000,
                                                .instructions_b = 1200,
                                                .moves = moves,
                                                .n_moves = 3};

static char *render_comparison(const struct hp_comparison *c, struct hp_report_options options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(hp_report_comparison(c, "old", "new", &options, out), HP_OK);
    fclose(out);
    return text;
}

static void comparison_as_text(void **state)
{
    (void)state;
    char *text = render_comparison(&comparison, (struct hp_report_options){0});
    assert_string_equal(text, "A: old    B: new\n"
                              "  instructions: 1,000 -> 1,200 (+20.0%)\n"
                              "  overlap: blocks 60.0%   edges 100.0%   functions 60.0%\n"
                              "\n"
                              "  change  share A  share B  self A  self B  function  module\n"
                              "   +40.0    10.0%    50.0%     100     600  g         demo\n"
                              "   -40.0    90.0%    50.0%     900     600  f<a, b>   demo\n");
    free(text);
    text = render_comparison(&comparison, (struct hp_report_options){.top = 1});
    assert_non_null(strstr(text, "\n  … and 1 more (--top 0 shows all)\n"));
    free(text);
    struct hp_comparison loops = comparison;
    loops.has_loops = 1;
    loops.loop_instructions = 87.25;
    loops.loop_iterations = 5;
    text = render_comparison(&loops, (struct hp_report_options){0});
    assert_non_null(
        strstr(text, "\n  overlap of loops: 87.3% by instructions   5.0% by iterations\n\n"));
    free(text);
    text = render_comparison(&loops, (struct hp_report_options){.format = HP_REPORT_JSON});
    assert_true(json_valid(text));
    assert_memory_equal(json_find(text, "comparison/loop_overlap/iterations"), "5.000000", 8);
    free(text);
    struct hp_comparison same = {.block_overlap = 100};
    text = render_comparison(&same, (struct hp_report_options){0});
    assert_non_null(strstr(text, "(no function's share changed)"));
    free(text);
}

static void comparison_as_json(void **state)
{
    (void)state;
    char *text = render_comparison(&comparison,
                                   (struct hp_report_options){.format = HP_REPORT_JSON, .top = 2});
    assert_true(json_valid(text));
    assert_int_equal(json_length(text, "comparison/moves"), 2);
    static const char expected[] = "{\"name\":\"f<a, b>\",\"module\":\"/opt/demo\",\"a\":900,"
                                   "\"b\":600,\"share_a\":0.900000,\"share_b\":0.500000}";
    assert_memory_equal(json_find(text, "comparison/moves/1"), expected, sizeof expected - 1);
    assert_memory_equal(json_find(text, "comparison/edge_overlap"), "99.950000,", 10);
    assert_memory_equal(json_find(text, "comparison/instructions_b"), "1200,", 5);
    free(text);
}

static void comparison_as_csv(void **state)
{
    (void)state;
    char *text =
        render_comparison(&comparison, (struct hp_report_options){.format = HP_REPORT_CSV});
    assert_string_equal(text, "name,module,a,b,share_a,share_b\r\n"
                              "g,/opt/demo,100,600,0.100000,0.500000\r\n"
                              "\"f<a, b>\",/opt/demo,900,600,0.900000,0.500000\r\n"
                              "same,libx.so,0,0,0.000000,0.000000\r\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_the_default),
        cmocka_unit_test(what_is_not_known_has_no_column),
        cmocka_unit_test(threads_have_rows_of_their_own),
        cmocka_unit_test(quoting),
        cmocka_unit_test(summary_is_one_row),
        cmocka_unit_test(columns_are_those_of_json),
        cmocka_unit_test(an_empty_table_has_its_header),
        cmocka_unit_test(not_everything_at_once),
        cmocka_unit_test(comparison_as_text),
        cmocka_unit_test(comparison_as_json),
        cmocka_unit_test(comparison_as_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
