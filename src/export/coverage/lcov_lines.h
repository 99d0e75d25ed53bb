// SPDX-License-Identifier: MIT
/*
 * What is said of the lines of source files: how often they, their functions and their branches
 * were executed.
 */
#ifndef HP_EXPORT_LCOV_LINES_H
#define HP_EXPORT_LCOV_LINES_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Code of a line. Files are compared by their names. */
struct hp_lcov_line {
    const char *file;
    uint32_t line;
    uint64_t instance; /* of several copies of the line: inlined, or of a template */
    uint64_t entered;  /* from another line, where a statement begins */
    uint64_t most;     /* executions of an instruction */
};

struct hp_lcov_function {
    const char *file;
    uint32_t line;
    const char *name;
    uint64_t count;
};

struct hp_lcov_branch {
    const char *file;
    uint32_t line;
    uint64_t at; /* the instruction */
    uint64_t taken, fell;
};

/* All zero is an empty one. Strings must outlive it. */
struct hp_lcov_lines {
    struct hp_lcov_line *lines;
    size_t n_lines, lines_capacity;
    struct hp_lcov_function *functions;
    size_t n_functions, functions_capacity;
    struct hp_lcov_branch *branches;
    size_t n_branches, branches_capacity;
};

/* What has no line, or a name that cannot be in the text, is left out. HP_ERR_NOMEM. */
enum hp_err hp_lcov_add_line(struct hp_lcov_lines *all, const struct hp_lcov_line *line);
enum hp_err hp_lcov_add_function(struct hp_lcov_lines *all,
                                 const struct hp_lcov_function *function);
enum hp_err hp_lcov_add_branch(struct hp_lcov_lines *all, const struct hp_lcov_branch *branch);

/*
 * Sorts and joins all of it, and writes it, file by file. A line was executed as often as it was
 * entered from another line: so does gcov count. One that never was, because it is only a part of
 * what the compiler made of others, as often as its most often executed instruction, copies added
 * up.
 */
void hp_lcov_write(struct hp_lcov_lines *all, FILE *out);
void hp_lcov_fini(struct hp_lcov_lines *all);

#endif
