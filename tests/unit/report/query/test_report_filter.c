// SPDX-License-Identifier: MIT
/* Expressions over columns: against what they mean, written out, and against random ones. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "report/query/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row: the columns a to f. */
static struct hp_cell row[6];

static const char *name(const void *context, size_t i)
{
    static const char *const names[] = {"a", "b", "share", "name", "flag", "maybe"};
    (void)context;
    return names[i];
}

static struct hp_cell cell(void *context, size_t i)
{
    (void)context;
    return row[i];
}

static const struct hp_filter_columns columns = {"a test", 6, name, cell, NULL, NULL};

static void set_row(void)
{
    row[0] = hp_cell_number(2500);
    row[1] = (struct hp_cell){.kind = HP_CELL_INT, .integer = -3};
    row[2] = hp_cell_fraction(0.25);
    row[3] = hp_cell_text("std::sort(int*, int*)");
    row[4] = (struct hp_cell){.kind = HP_CELL_BOOL, .flag = true};
    row[5] = hp_cell_none();
}

static enum hp_err run(const char *text, bool *passes)
{
    struct hp_filter filter;
    *passes = false;
    enum hp_err err = hp_filter_parse(&filter, text);
    err = err ?: hp_filter_bind(&filter, &columns);
    err = err ?: hp_filter_passes(&filter, &columns, passes);
    hp_filter_fini(&filter);
    return err;
}

static void what_passes(void **state)
{
    (void)state;
    static const char *const yes[] = {"a = 2500",
                                      "a == 2500",
                                      "a=2.5k",
                                      "a >= 2.5k",
                                      "a<=2500",
                                      "a > 2499",
                                      "a < 2501",
                                      "a != 2501",
                                      "b = -3",
                                      "b < 0",
                                      "b > -4",
                                      "share = 25%",
                                      "share > 1%",
                                      "share < 0.3",
                                      "share >= 25.0%",
                                      "name ~ sort",
                                      "name ~ 'int*, int'",
                                      "name != sort",
                                      "name = \"std::sort(int*, int*)\"",
                                      "name ~ std::sort",
                                      "flag",
                                      "flag = true",
                                      "flag != false",
                                      "not flag = false",
                                      "maybe = null",
                                      "not maybe > 0",
                                      "not maybe = 0",
                                      "a < 1 or b < 0",
                                      "a < 1 and b < 0 or flag",
                                      "flag or a < 1 and b > 0",
                                      "not a < 1 and flag",
                                      "not (a < 1 or b > 0)",
                                      "((a = 2500))",
                                      "not not flag",
                                      "a < 0.000003G",
                                      "a < 1T",
                                      "a < 3K",
                                      "name ~ ''"};
    static const char *const no[] = {"a = 2501",
                                     "a < 2500",
                                     "a > 2500",
                                     "share > 25%",
                                     "share > 25",
                                     "name = sort",
                                     "name ~ Sort",
                                     "not flag",
                                     "flag = false",
                                     "maybe != null",
                                     "a = null",
                                     "maybe = 0",
                                     "maybe != 0",
                                     "maybe > 0",
                                     "maybe",
                                     "(flag or a < 1) and b > 0",
                                     "not (flag)",
                                     "name = null",
                                     "flag and flag and not flag"};
    set_row();
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        bool passes;
        if (run(yes[i], &passes) != HP_OK || !passes)
            fail_msg("'%s' does not pass: %s", yes[i], hp_error_text());
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        bool passes;
        if (run(no[i], &passes) != HP_OK || passes)
            fail_msg("'%s' passes, or: %s", no[i], hp_error_text());
    }
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } all[] = {
        {"", "--filter '': a column is missing at the end"},
        {"a <", "--filter 'a <': a value is missing at the end"},
        {"a < < 3", "--filter 'a < < 3': a value is missing at '<'"},
        {"(a < 3", "--filter '(a < 3': ')' is missing at the end"},
        {"a < 3)", "--filter 'a < 3)': 'and' or 'or' is missing at ')'"},
        {"a < 3 b < 4", "--filter 'a < 3 b < 4': 'and' or 'or' is missing at 'b'"},
        {"a < 3 and", "--filter 'a < 3 and': a column is missing at the end"},
        {"and a < 3", "--filter 'and a < 3': a column is missing at 'and'"},
        {"a ! 3", "--filter 'a ! 3': no operator at '!'"},
        {"name = 'x", "--filter 'name = 'x': a quote is not closed"},
        {"'a' < 3", "--filter ''a' < 3': a column is missing at 'a'"},
        {"c < 3", "--filter: a test has no column 'c': there are a, b, share, name, flag, maybe"},
        {"a < x", "--filter: a is a number: compare it with one (examples: 4, 10k, 2.5M, 1%)"},
        {"a ~ 3", "--filter: a is a number: compare it with one (examples: 4, 10k, 2.5M, 1%)"},
        {"a < '3'", "--filter: a is a number: compare it with one (examples: 4, 10k, 2.5M, 1%)"},
        {"a < 0x10", "--filter: a is a number: compare it with one (examples: 4, 10k, 2.5M, 1%)"},
        {"a < 3kk", "--filter: a is a number: compare it with one (examples: 4, 10k, 2.5M, 1%)"},
        {"a", "--filter: a is neither true nor false: compare it with a value"},
        {"name < x", "--filter: name is a text: =, != and ~ (contains) are for texts"},
        {"flag > true", "--filter: flag is true or false"},
        {"flag = 1", "--filter: flag is true or false"},
        {"a < null", "--filter: a is compared with null by = and != only"},
        /* whatever the other test says */
        {"flag or name < x", "--filter: name is a text: =, != and ~ (contains) are for texts"},
    };
    set_row();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool passes;
        assert_int_equal(run(all[i].text, &passes), HP_ERR_INVALID);
        assert_string_equal(hp_error_text(), all[i].error);
    }
}

/* Too many comparisons, too many "not", too many parentheses: an error, whatever comes first. */
static void limits(void **state)
{
    (void)state;
    static const char *const parts[] = {"flag and ", "not ", "(", "not not flag and "};
    set_row();
    for (size_t part = 0; part < 4; part++)
        for (size_t n = 1; n < 200; n++) {
            char text[4000] = "";
            bool passes;
            for (size_t i = 0; i < n; i++)
                strcat(text, parts[part]);
            strcat(text, "flag");
            for (size_t i = 0; part == 2 && i < n; i++)
                strcat(text, ")");
            size_t most = part == 0 || part == 3 ? HP_FILTER_TESTS - 1 : 32;
            assert_int_equal(run(text, &passes), n <= most ? HP_OK : HP_ERR_INVALID);
            assert_int_equal(passes, n <= most && (part != 1 || n % 2 == 0));
        }
}

/* Writes a random expression of the grammar; returns its value. */
static bool grow(char *text, unsigned level, unsigned *left)
{
    bool value = level == 0 ? false : true;
    if (level == 2) {
        unsigned kind = *left ? (unsigned)rand() % 4 : 3;
        if (kind == 0) {
            --*left;
            strcat(text, "not ");
            return !grow(text, 2, left);
        }
        if (kind == 1) {
            --*left;
            strcat(text, "(");
            value = grow(text, 0, left);
            strcat(text, ")");
            return value;
        }
        unsigned number = (unsigned)rand() % 8;
        sprintf(text + strlen(text), "a %s %u", rand() % 2 ? "<" : ">=", number);
        return (strstr(text + strlen(text) - 4, "<") != NULL) == (row[0].number < number);
    }
    for (unsigned i = (unsigned)rand() % 3 + 1; i-- > 0;) {
        bool part = grow(text, level + 1, left);
        value = level == 0 ? value || part : value && part;
        if (i > 0)
            strcat(text, level == 0 ? " or " : " and ");
    }
    return value;
}

static void random_expressions(void **state)
{
    (void)state;
    srand(1);
    size_t passed = 0;
    for (size_t i = 0; i < 20000; i++) {
        char text[8000] = "";
        unsigned left = 4;
        bool passes;
        row[0] = hp_cell_number((uint64_t)rand() % 8);
        bool expected = grow(text, 0, &left);
        if (run(text, &passes) != HP_OK || passes != expected)
            fail_msg("a = %u: %s: %d, %s", (unsigned)row[0].number, text, passes, hp_error_text());
        passed += passes;
    }
    assert_in_range(passed, 2000, 18000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(limits),
        cmocka_unit_test(random_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
