// SPDX-License-Identifier: MIT
/* The tree of a sample profile, to the letter. */
#include "export/optimizers/llvm_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t node(struct hp_llvm_tree *tree, uint32_t parent, uint32_t line, uint32_t piece,
                     const char *name)
{
    uint32_t made;
    struct hp_llvm_location at = {line, piece};
    assert_int_equal(hp_llvm_tree_node(tree, parent, at, name, &made), HP_OK);
    return made;
}

static void add(struct hp_llvm_tree *tree, uint32_t at, uint32_t line, uint32_t piece,
                const char *target, uint64_t instance, uint64_t count)
{
    struct hp_llvm_entry entry = {at, {line, piece}, target, instance, count};
    assert_int_equal(hp_llvm_tree_add(tree, &entry), HP_OK);
}

static void assert_written(struct hp_llvm_tree *tree, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_int_equal(hp_llvm_tree_write(tree, file), HP_OK);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
    hp_llvm_tree_fini(tree);
}

static void lines_calls_and_inlined_functions(void **state)
{
    (void)state;
    struct hp_llvm_tree tree = {0};
    uint32_t cold = node(&tree, HP_LLVM_NONE, 0, 0, "cold"), f;
    add(&tree, cold, 1, 0, NULL, 1, 1);
    f = node(&tree, HP_LLVM_NONE, 0, 0, "hot");
    assert_int_equal(node(&tree, HP_LLVM_NONE, 7, 7, "hot"), f);
    tree.nodes[f].head = 3;
    add(&tree, f, 10, 0, NULL, 2, 5);
    add(&tree, f, 2, 0, NULL, 2, 7); /* of code on one place the most often executed counts */
    add(&tree, f, 2, 0, NULL, 2, 9);
    add(&tree, f, 2, 0, NULL, 2, 8);
    add(&tree, f, 2, 1, NULL, 2, 0);
    add(&tree, f, 2, 0, "b", 2, 4); /* calls are added up */
    add(&tree, f, 2, 0, "a", 2, 2);
    add(&tree, f, 2, 0, "b", 2, 3);
    uint32_t inner = node(&tree, f, 10, 2, "inner");
    assert_int_equal(node(&tree, f, 10, 2, "inner"), inner);
    add(&tree, node(&tree, inner, 1, 0, "deep"), 4, 0, NULL, 2, 6);
    add(&tree, node(&tree, f, 3, 0, "inner"), 0, 0, NULL, 2, 1);
    add(&tree, node(&tree, f, 4, 0, "idle"), 0, 0, NULL, 2, 0); /* never ran: left out */
    assert_written(&tree, "hot:21:3\n"
                          " 2: 9 a:2 b:7\n"
                          " 2.1: 0\n"
                          " 10: 5\n"
                          " 3: inner:1\n"
                          "  0: 1\n"
                          " 10.2: inner:6\n"
                          "  1: deep:6\n"
                          "   4: 6\n"
                          "cold:1:0\n"
                          " 1: 1\n");
}

static void functions_of_one_name_are_added(void **state)
{
    (void)state;
    struct hp_llvm_tree tree = {0};
    uint32_t f = node(&tree, HP_LLVM_NONE, 0, 0, "twin");
    add(&tree, f, 1, 0, NULL, 100, 4);
    add(&tree, f, 1, 0, NULL, 200, 10);
    add(&tree, f, 1, 0, NULL, 100, 6);
    assert_written(&tree, "twin:16:0\n 1: 16\n");
}

static void names_that_do_not_fit(void **state)
{
    (void)state;
    assert_true(hp_llvm_name_fits("_ZN3foo3barEv"));
    assert_true(hp_llvm_name_fits("a:b<c>\xff"));
    assert_false(hp_llvm_name_fits(""));
    assert_false(hp_llvm_name_fits("a b"));
    assert_false(hp_llvm_name_fits("a\n b"));
    assert_false(hp_llvm_name_fits("#a"));
}

static void nothing_is_an_empty_file(void **state)
{
    (void)state;
    struct hp_llvm_tree tree = {0};
    assert_written(&tree, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_calls_and_inlined_functions),
        cmocka_unit_test(functions_of_one_name_are_added),
        cmocka_unit_test(names_that_do_not_fit),
        cmocka_unit_test(nothing_is_an_empty_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
