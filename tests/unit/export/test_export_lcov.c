// SPDX-License-Identifier: MIT
/* Tracefiles, to the letter. */
#include "export/coverage/lcov_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void line(struct hp_lcov_rows *all, const char *file, uint32_t number, uint64_t instance,
                 uint64_t entered, uint64_t most)
{
    hp_lcov_add(all,
                &(struct hp_lcov_row){HP_LCOV_LINE, number, file, "", instance, {entered, most}});
}

static void function(struct hp_lcov_rows *all, const char *file, uint32_t number, const char *name,
                     uint64_t count)
{
    hp_lcov_add(all, &(struct hp_lcov_row){HP_LCOV_FUNCTION, number, file, name, 0, {count, 0}});
}

static void branch(struct hp_lcov_rows *all, const char *file, uint32_t number, uint64_t at,
                   uint64_t taken, uint64_t fell)
{
    hp_lcov_add(all, &(struct hp_lcov_row){HP_LCOV_BRANCH, number, file, "", at, {taken, fell}});
}

static void assert_written(struct hp_lcov_rows *all, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_false(all->failed);
    hp_lcov_write(all, file);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
    free(all->rows);
}

static void files_are_written_in_order(void **state)
{
    (void)state;
    struct hp_lcov_rows all = {0};
    line(&all, "b.c", 7, 1, 0, 0);
    line(&all, "a.c", 3, 1, 10, 100); /* entered from elsewhere: that counts */
    line(&all, "a.c", 3, 1, 1, 0);
    line(&all, "a.c", 1, 1, 0, 4); /* never entered: its instructions count, copies added up */
    line(&all, "a.c", 1, 1, 0, 6);
    line(&all, "a.c", 1, 2, 0, 5);
    function(&all, "a.c", 1, "f", 2);
    function(&all, "a.c", 1, "f", 3);
    function(&all, "b.c", 6, "g", 0);
    function(&all, "aa.c", 6, "of a file without lines", 0);
    branch(&all, "a.c", 3, 20, 9, 0);
    branch(&all, "a.c", 3, 10, 1, 8);
    branch(&all, "b.c", 7, 30, 0, 0);
    assert_written(&all, "TN:\nSF:a.c\n"
                         "FN:1,f\nFNDA:5,f\nFNF:1\nFNH:1\n"
                         "BRDA:3,0,0,1\nBRDA:3,0,1,8\nBRDA:3,1,0,9\nBRDA:3,1,1,0\nBRF:4\nBRH:3\n"
                         "DA:1,11\nDA:3,11\nLF:2\nLH:2\nend_of_record\n"
                         "TN:\nSF:b.c\n"
                         "FN:6,g\nFNDA:0,g\nFNF:1\nFNH:0\n"
                         "BRDA:7,0,0,-\nBRDA:7,0,1,-\nBRF:2\nBRH:0\n"
                         "DA:7,0\nLF:1\nLH:0\nend_of_record\n");
}

static void what_does_not_fit_is_left_out(void **state)
{
    (void)state;
    struct hp_lcov_rows all = {0};
    line(&all, "", 1, 0, 1, 1);
    line(&all, "a.c", 0, 0, 1, 1);
    line(&all, "evil\nDA:1,1", 1, 0, 1, 1);
    line(&all, "a.c", 1, 0, 1, 1);
    function(&all, "a.c", 1, "evil\nend_of_record", 1);
    branch(&all, "a.c", 0, 0, 1, 1);
    assert_written(&all, "TN:\nSF:a.c\nFNF:0\nFNH:0\nBRF:0\nBRH:0\nDA:1,1\nLF:1\nLH:1\n"
                         "end_of_record\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written_in_order),
        cmocka_unit_test(what_does_not_fit_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
