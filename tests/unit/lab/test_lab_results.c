// SPDX-License-Identifier: MIT
/* Sheets: what they keep, how they look, what is written. */
#include "lab/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fill(struct hp_lab_results *results)
{
    hp_lab_results_init(results, "overlap", "Overlap, percent", "program");
    results->mean = true;
    assert_int_equal(hp_lab_results_column(results, "paths", NULL, 0), 0);
    assert_int_equal(hp_lab_results_column(results, "512x4", "512 x 4", 1), 1);
    assert_int_equal(hp_lab_results_set(results, "gzip", 0, 1234567), HP_OK);
    assert_int_equal(hp_lab_results_set(results, "gzip", 1, 90.25), HP_OK);
    assert_int_equal(hp_lab_results_set(results, "lua", 1, 80), HP_OK);
    hp_lab_results_paper(results, "paper", "512x4", 88);
    hp_lab_results_paper(results, "paper", "no such column", 1);
}

static char *printed(const struct hp_lab_results *results)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    hp_lab_results_print(results, out);
    fclose(out);
    return text;
}

static char *written(const struct hp_lab_results *results)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct hp_json json = {.out = out};
    assert_non_null(out);
    hp_lab_results_write(results, &json);
    assert_int_equal(hp_json_finish(&json), HP_OK);
    fclose(out);
    return text;
}

static void columns_are_aligned(void **state)
{
    (void)state;
    struct hp_lab_results results;
    fill(&results);
    char *text = printed(&results);
    assert_string_equal(text, "Overlap, percent\n"
                              "  program   paths  512 x 4\n"
                              "  gzip     1.23 M     90.3\n"
                              "  lua           -     80.0\n"
                              "  mean     1.23 M     85.1\n"
                              "  paper         -     88.0\n");
    free(text);
    hp_lab_results_fini(&results);
}

static void json_has_rows_by_name(void **state)
{
    (void)state;
    struct hp_lab_results results;
    fill(&results);
    char *text = written(&results);
    assert_string_equal(text, "{\"title\":\"Overlap, percent\",\"rows_are\":\"program\",\"rows\":{"
                              "\"gzip\":{\"paths\":1234567,\"512x4\":90.2500},\"lua\":{\"paths\":"
                              "null,\"512x4\":80.0000}},"
                              "\"mean\":{\"paths\":1234567,\"512x4\":85.1250},"
                              "\"paper\":{\"paper\":{\"paths\":null,\"512x4\":88.0000}}}\n");
    free(text);
    hp_lab_results_fini(&results);
}

static void rows_and_columns_are_found(void **state)
{
    (void)state;
    struct hp_lab_results results;
    struct hp_lab_results_row *row;
    fill(&results);
    assert_int_equal(hp_lab_results_find(&results, "512x4"), 1);
    assert_int_equal(hp_lab_results_find(&results, "512 x 4"), HP_LAB_RESULTS_COLUMNS);
    assert_int_equal(hp_lab_results_row(&results, "lua", &row), HP_OK);
    assert_int_equal(results.n_rows, 2);
    assert_true(row->values[1] == 80);
    assert_int_equal(hp_lab_results_row(&results, "perl", &row), HP_OK);
    assert_int_equal(results.n_rows, 3);
    assert_true(isnan(row->values[0]) && isnan(row->values[1]));
    assert_true(hp_lab_results_mean(&results, 1) == (90.25 + 80) / 2);
    results.whole = true; /* gzip alone has all values */
    assert_true(hp_lab_results_mean(&results, 1) == 90.25);
    hp_lab_results_fini(&results);
    assert_true(isnan(hp_lab_results_mean(&results, 1)));
}

/* More of the paper's lines than there is room for are left out. */
static void the_paper_has_room(void **state)
{
    (void)state;
    struct hp_lab_results results;
    fill(&results);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "line %d", i);
        hp_lab_results_paper(&results, name, "paths", i);
    }
    assert_int_equal(results.n_paper, sizeof results.paper / sizeof *results.paper);
    assert_string_equal(results.paper[1].name, "line 0");
    hp_lab_results_fini(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(json_has_rows_by_name),
        cmocka_unit_test(rows_and_columns_are_found),
        cmocka_unit_test(the_paper_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
