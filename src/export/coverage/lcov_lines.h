// SPDX-License-Identifier: MIT
/* What is said of source lines: how often they, their functions and their branches ran. */
#ifndef HP_EXPORT_LCOV_LINES_H
#define HP_EXPORT_LCOV_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* In the order of the file. */
enum hp_lcov_kind { HP_LCOV_FUNCTION, HP_LCOV_BRANCH, HP_LCOV_LINE };

struct hp_lcov_row {
    enum hp_lcov_kind kind;
    uint32_t line;
    const char *file; /* files are compared by their names */
    const char *name; /* of a function; else "" */
    /* Of several copies of a line, inlined or of a template, which; of a branch the instruction. */
    uint64_t instance;
    /* A function: calls. A line: how often it was entered from another line, where a statement
     * begins; executions of an instruction. A branch: taken, not taken. */
    uint64_t counts[2];
};

/* All zero is an empty one. Strings must outlive it. `failed`: memory ran out. */
struct hp_lcov_rows {
    struct hp_lcov_row *rows;
    size_t n, capacity;
    bool failed;
};

/* What has no line, or a name that cannot be in the text, is left out. */
void hp_lcov_add(struct hp_lcov_rows *all, const struct hp_lcov_row *row);

/*
 * Sorts and joins all of it, and writes it, file by file. A line was executed as often as it was
 * entered from another line: so does gcov count. One that never was, because it is only a part of
 * what the compiler made of others, as often as its most often executed instruction, copies added
 * up.
 */
void hp_lcov_write(struct hp_lcov_rows *all, FILE *out);

#endif
