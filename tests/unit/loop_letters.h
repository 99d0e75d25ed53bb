// SPDX-License-Identifier: MIT
/*
 * For the tests of loop models: branches as letters.
 *
 * A letter is the short backward branch of a loop, taken; a number behind it says how often. In lower case it is one instruction, else three (as many as the
 * profiler takes for one). B and C are in the bounds of A, C at its first instruction; D is just before A, E just behind it; the others are elsewhere.
 *   (  a call     )  a return     .N  N instructions     |  the other thread goes on
 */
#ifndef HP_TEST_LOOP_LETTERS_H
#define HP_TEST_LOOP_LETTERS_H

#include "hotpath/loop.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct letter {
    char name;
    uint64_t address, target;
};

static const struct letter letters[] = {
    {'A', 0x1100, 0x1080}, {'B', 0x10c0, 0x10a0}, {'C', 0x1080, 0x1070}, {'D', 0x107c, 0x1060},
    {'E', 0x1104, 0x10f0}, {'V', 0x5000, 0x4ff8}, {'W', 0x6000, 0x5ff0}, {'X', 0x7000, 0x6ff0},
    {'Y', 0x8000, 0x7ff0}, {'Z', 0x9000, 0x8ff0},
};

static inline const struct letter *letter_named(char name)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].name == name)
            return &letters[i];
    fail_msg("no loop %c", name);
    return NULL;
}

static inline struct hp_loop_model *new_model(const char *text)
{
    struct hp_loop_config config;
    struct hp_loop_model *model;
    if (hp_loop_config_parse(text, &config) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_int_equal(hp_loop_model_new(&config, &model), HP_OK);
    return model;
}

static inline struct hp_branch branch_of(char c)
{
    if (c == '(')
        return (struct hp_branch){.address = 0x200,
                                  .target = 0x300,
                                  .end = 0x204,
                                  .insns = 3,
                                  .flow = HP_FLOW_CALL,
                                  .taken = 1};
    if (c == ')')
        return (struct hp_branch){
            .address = 0x310, .target = 0x204, .insns = 3, .flow = HP_FLOW_RETURN, .taken = 1};
    const struct letter *letter = letter_named((char)toupper(c));
    return (struct hp_branch){.address = letter->address,
                              .target = letter->target,
                              .insns = islower(c) ? 1 : 3,
                              .flow = HP_FLOW_COND,
                              .taken = 1};
}

static inline void run(struct hp_loop_model *model, const char *text)
{
    uint32_t thread = 0;
    while (*text) {
        char c = *text++;
        char *end;
        unsigned long times = strtoul(text, &end, 10);
        times = end == text ? 1 : times;
        text = end;
        if (c == ' ')
            continue;
        if (c == '|') {
            thread = !thread;
            continue;
        }
        struct hp_branch branch = {.insns = (uint32_t)times};
        if (c == '.') {
            hp_loop_model_branch(model, thread, &branch);
            continue;
        }
        branch = branch_of(c);
        while (times--)
            hp_loop_model_branch(model, thread, &branch);
    }
}

static inline const struct hp_loop_entry *entry_at(const struct hp_loop_entry *entries, size_t n,
                                                   uint64_t address)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i].address == address)
            return &entries[i];
    return NULL;
}

/* The entries by letter: "A 2 3": two executions, the average as the hardware has it; of the frequent loop detection profiler "A 5". */
static inline void describe_model(const struct hp_loop_model *model,
                                  const struct hp_loop_config *config, char *text, size_t size)
{
    struct hp_loop_entry *entries;
    size_t n, at = 0;
    assert_int_equal(hp_loop_model_entries(model, &entries, &n), HP_OK);
    text[0] = '\0';
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        const struct hp_loop_entry *e = entry_at(entries, n, letters[i].address);
        if (!e)
            continue;
        assert_int_equal(e->target, letters[i].target);
        at += (size_t)snprintf(text + at, size - at, "%s%c ", at ? ", " : "", letters[i].name);
        if (config->kind == HP_LOOP_FREQUENT)
            at += (size_t)snprintf(text + at, size - at, "%g", e->iterations);
        else
            at += (size_t)snprintf(text + at, size - at, "%g %g", e->executions,
                                   e->average * (1u << config->fraction_bits));
    }
    free(entries);
}

struct loop_case {
    const char *what, *model, *branches, *expected;
};

/* Runs the cases; says which are wrong. */
static inline void check_cases(const struct loop_case *cases, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct hp_loop_config config;
        char text[512];
        struct hp_loop_model *model = new_model(cases[i].model);
        assert_int_equal(hp_loop_config_parse(cases[i].model, &config), HP_OK);
        run(model, cases[i].branches);
        describe_model(model, &config, text, sizeof text);
        if (strcmp(text, cases[i].expected) != 0) {
            print_error("%s: %s: %s: expected %s, not %s\n", cases[i].what, cases[i].model,
                        cases[i].branches, cases[i].expected, text);
            wrong++;
        }
        hp_loop_model_free(model);
    }
    assert_int_equal(wrong, 0);
}

#endif
