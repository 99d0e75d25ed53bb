// SPDX-License-Identifier: MIT
/* What is asked of a report: which rows of which view remain, in which order, and what is said. */
#include "report_fixture.h"

#include "report/fields.h"

static char *ask(const struct hp_view *view, enum hp_report_format format,
                 struct hp_report_query query)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_paths(&profile);
    fixture_add_loops(&profile);
    fixture_add_insns(&profile);
    fixture_add_contexts(&profile);
    fixture_add_traces(&profile);
    fixture_add_syscalls(&profile);
    return render(&profile,
                  &(struct hp_report_options){.view = view, .format = format, .query = query});
}

/* The error; "" where there is none. */
static const char *refusal(const struct hp_view *view, enum hp_report_format format,
                           struct hp_report_query query)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_loops(&profile);
    FILE *out = fopen("/dev/null", "w");
    enum hp_err err = hp_report(
        &profile, &(struct hp_report_options){.view = view, .format = format, .query = query}, out);
    fclose(out);
    return err == HP_OK ? "" : hp_error_text();
}

static void check(const struct hp_view *view, struct hp_report_query query, const char *expected)
{
    char *text = ask(view, HP_REPORT_CSV, query);
    const char *rows = strchr(text, '\n') + 1; /* behind the header */
    assert_string_equal(rows, expected);
    free(text);
}

#define ASK(...) ((struct hp_report_query){__VA_ARGS__})

static void rows_keep_the_shares_of_the_run(void **state)
{
    (void)state;
    check(&hp_view_functions, ASK(.filter = "self < 500 and share > 10%"),
          "helper,libx.so,libx.so+0x500,,0,300,300,100,0.300000\r\n");
    check(&hp_view_functions, ASK(.filter = "name ~ +0x or module = libx.so", .sort = "self"),
          "helper,libx.so,libx.so+0x500,,0,300,300,100,0.300000\r\n"
          "demo+0x2000,demo,demo+0x2000,,0,40,40,5,0.040000\r\n");
}

static void order(void **state)
{
    (void)state;
    static const char work[] = "work,demo,demo+0x1000,/src/demo.c,10,660,1000,10,0.660000\r\n";
    static const char helper[] = "helper,libx.so,libx.so+0x500,,0,300,300,100,0.300000\r\n";
    static const char none[] = "demo+0x2000,demo,demo+0x2000,,0,40,40,5,0.040000\r\n";
    char text[300];
    snprintf(text, sizeof text, "%s%s%s", helper, work, none);
    check(&hp_view_functions, ASK(.sort = "calls"), text);
    snprintf(text, sizeof text, "%s%s%s", none, work, helper);
    check(&hp_view_functions, ASK(.sort = "-calls"), text);
    snprintf(text, sizeof text, "%s%s%s", none, helper, work);
    check(&hp_view_functions, ASK(.sort = "name"), text);
    snprintf(text, sizeof text, "%s%s%s", work, none, helper);
    check(&hp_view_functions, ASK(.sort = "module"), text); /* equal ones as they were */
}

static void names(void **state)
{
    (void)state;
    check(&hp_view_calls, ASK(.function = "helper"), "work,helper,100,300\r\n");
    check(&hp_view_calls, ASK(.function = "elpe"), "work,helper,100,300\r\n");
    check(&hp_view_calls, ASK(.module = "libx"), "work,helper,100,300\r\n");
    check(&hp_view_modules, ASK(.module = "libx"),
          "libx.so,/usr/lib/libx.so,,300,100,0.300000\r\n");
    check(&hp_view_edges, ASK(.function = "helper"),
          "libx.so+0x508,demo+0x1030,return,true,100\r\n");
    check(&hp_view_lines, ASK(.function = "twice"), "/src/demo.c,13,420,105,0.420000,twice\r\n");
    check(&hp_view_blocks, ASK(.module = "demo", .filter = "count > 5 and count < 100"),
          "demo+0x1000,16,4,10,40,0.040000,jump,work,/src/demo.c,11,0\r\n");
}

/* Only what the thread did; shares are still of the run, 1000 instructions. */
static void threads(void **state)
{
    (void)state;
    check(&hp_view_functions, ASK(.thread = "1"),
          "work,demo,demo+0x1000,/src/demo.c,10,256,376,4,0.256000\r\n"
          "helper,libx.so,libx.so+0x500,,0,120,120,40,0.120000\r\n");
    check(&hp_view_functions, ASK(.thread = "101", .function = "helper"),
          "helper,libx.so,libx.so+0x500,,0,120,120,40,0.120000\r\n");
    check(&hp_view_calls, ASK(.thread = "1"), ",work,4,376\r\nwork,helper,40,120\r\n");
    check(&hp_view_functions, ASK(.process = "100", .filter = "calls = 5"),
          "demo+0x2000,demo,demo+0x2000,,0,40,40,5,0.040000\r\n");
    check(&hp_view_threads, ASK(.thread = "1"),
          "1,100,101,worker,./demo -x,376,84,80,0.376000,1000000000,900000030,0.900000\r\n");
    check(&hp_view_threads, ASK(.thread = "work", .process = "demo -x"),
          "1,100,101,worker,./demo -x,376,84,80,0.376000,1000000000,900000030,0.900000\r\n");
    check(&hp_view_lines, ASK(.thread = "1", .filter = "line = 11"),
          "/src/demo.c,11,16,4,0.016000,work\r\n");
}

static void callers(void **state)
{
    (void)state;
    check(&hp_view_callers, ASK(.function = "work"),
          "work,caller,,,10,1000,1.000000,1.000000\r\n"
          "work,function,work,demo+0x1000,10,1000,1.000000,1.000000\r\n"
          "work,callee,helper,libx.so+0x500,100,300,0.300000,0.300000\r\n"
          "work,callee,demo+0x2000,demo+0x2000,5,40,0.040000,0.040000\r\n");
    check(&hp_view_callers, ASK(.function = "helper"),
          "helper,caller,work,demo+0x1000,100,300,0.300000,1.000000\r\n"
          "helper,function,helper,libx.so+0x500,100,300,0.300000,1.000000\r\n");
    check(&hp_view_callers, ASK(.function = "helper", .thread = "1"),
          "helper,caller,work,demo+0x1000,40,120,0.120000,1.000000\r\n"
          "helper,function,helper,libx.so+0x500,40,120,0.120000,1.000000\r\n");
    check(&hp_view_callers, ASK(.function = "work", .filter = "calls < 10"),
          "work,function,work,demo+0x1000,10,1000,1.000000,1.000000\r\n"
          "work,callee,demo+0x2000,demo+0x2000,5,40,0.040000,0.040000\r\n");
    check(&hp_view_callers, ASK(.function = "never_called"), "");
    char *text = ask(&hp_view_callers, HP_REPORT_TEXT, ASK(.function = "work"));
    static const char *const lines[] = {
        "    caller  100.0%  100.0%      1,000     10  (a thread or a signal handler begins) ->",
        "\n  function  100.0%  100.0%      1,000     10    work ",
        "\n    callee   30.0%   30.0%        300    100      -> helper ",
        "\n    callee    4.0%    4.0%         40      5      -> demo+0x2000 "};
    for (size_t i = 0; i < 4; i++)
        assert_non_null(strstr(text, lines[i]));
    free(text);
}

static void what_is_left_out_is_said(void **state)
{
    (void)state;
    char *text = ask(&hp_view_functions, HP_REPORT_TEXT, ASK(.filter = "self > 100"));
    assert_non_null(strstr(text, "\n  (1 of 3 rows left out by --filter)\n"));
    free(text);
    text = ask(&hp_view_functions, HP_REPORT_TEXT, ASK(.filter = "self > 1M", .module = "demo"));
    assert_non_null(strstr(text, "  (nothing passes --filter, --module: 3 rows left out)\n"));
    free(text);
    text = ask(&hp_view_functions, HP_REPORT_JSON, ASK(.filter = "self > 100"));
    assert_non_null(strstr(text, "\"left_out\": {\n  \"functions\": 1\n }"));
    free(text);
    /* Without a view: those that have the columns. */
    text = ask(NULL, HP_REPORT_TEXT, ASK(.filter = "iterations > 1 and executions > 0"));
    assert_null(strstr(text, "Functions"));
    assert_non_null(strstr(text, "loops, executed"));
    free(text);
}

static void mistakes(void **state)
{
    (void)state;
    assert_string_equal(refusal(&hp_view_calls, HP_REPORT_TEXT, ASK(.filter = "x > 1")),
                        "--filter: view calls has no column 'x': there are caller, callee, count, "
                        "inclusive");
    assert_string_equal(refusal(&hp_view_calls, HP_REPORT_CSV, ASK(.sort = "-x")),
                        "--sort: view calls has no column 'x': there are caller, callee, count, "
                        "inclusive");
    assert_string_equal(refusal(NULL, HP_REPORT_JSON, ASK(.filter = "x > 1")),
                        "--filter: no view has a column 'x' (hotpath help columns lists them)");
    assert_string_equal(refusal(NULL, HP_REPORT_TEXT, ASK(.function = "x!")),
                        "no function has 'x!' in its name (view functions lists them)");
    assert_string_equal(refusal(NULL, HP_REPORT_TEXT, ASK(.module = "x!")),
                        "no module has 'x!' in its path (view modules lists them)");
    assert_string_equal(refusal(NULL, HP_REPORT_TEXT, ASK(.thread = "7")),
                        "no thread 7 in this profile (view threads lists them)");
    assert_string_equal(refusal(NULL, HP_REPORT_TEXT, ASK(.thread = "nobody")),
                        "no thread nobody in this profile (view threads lists them)");
    assert_string_equal(refusal(NULL, HP_REPORT_TEXT, ASK(.process = "nobody")),
                        "no process nobody in this profile (view processes lists them)");
    assert_non_null(strstr(refusal(&hp_view_machine, HP_REPORT_TEXT, ASK(.function = "work")),
                           "--function is not for the view machine: it is for functions, "));
    assert_non_null(strstr(refusal(&hp_view_instructions, HP_REPORT_TEXT, ASK(.thread = "1")),
                           "--thread is not for the view instructions: it is for "));
    assert_string_equal(refusal(&hp_view_summary, HP_REPORT_JSON, ASK(.filter = "self > 1")),
                        "nothing can be asked of the view summary: it is no table");
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text in order, joined again. */
static void sort_lines(char *text)
{
    char *lines[400], *copy = strdup(text);
    size_t n = 0;
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, compare_lines);
    *text = 0;
    for (size_t i = 0; i < n; i++)
        strcat(strcat(text, lines[i]), "\n");
    free(copy);
}

/* Any column orders a view, and nothing but the order changes; text has all rows, too. */
static void every_column_of_every_view(void **state)
{
    (void)state;
    for (size_t i = 0; hp_views[i]; i++) {
        const char *function = hp_views[i]->of_function ? "work" : NULL;
        for (const struct hp_field *f = hp_views[i]->fields; f && f->name; f++) {
            if (f->needs) /* a profile of samples */
                continue;
            char *plain = ask(hp_views[i], HP_REPORT_CSV, ASK(.function = function));
            char *sorted =
                ask(hp_views[i], HP_REPORT_CSV, ASK(.function = function, .sort = f->name));
            sort_lines(plain);
            sort_lines(sorted);
            assert_string_equal(plain, sorted);
            free(plain);
            free(sorted);
            free(ask(hp_views[i], HP_REPORT_TEXT, ASK(.function = function, .sort = f->name)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_keep_the_shares_of_the_run),
        cmocka_unit_test(order),
        cmocka_unit_test(names),
        cmocka_unit_test(threads),
        cmocka_unit_test(callers),
        cmocka_unit_test(what_is_left_out_is_said),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(every_column_of_every_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
