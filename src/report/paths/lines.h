// SPDX-License-Identifier: MIT
/*
 * A path as a person reads it: source line by source line, with the ways its branches went.
 *
 * A block is the lines its instructions come from, each once, that of its last instruction last
 * (compilers mix the instructions of neighbouring lines; the order among them means nothing).
 * Neighbours of the same line are one. A block without debug information is a line by itself.
 */
#ifndef HP_REPORT_PATH_LINES_H
#define HP_REPORT_PATH_LINES_H

#include "report/tables.h"

struct hp_path_line {
    const char *file; /* "": not known, and then it is just the block */
    uint32_t line;
    uint32_t to;                  /* the last of several that were joined; 0: it is one */
    const char *inlined;          /* the function inlined there, "" none */
    uint32_t block;               /* the first one */
    uint32_t first_exit, n_exits; /* steps of the path that end on this line */
};

/* All zero is none. */
struct hp_path_lines {
    const struct hp_pstep *steps;
    size_t n_steps;
    struct hp_path_line *lines;
    size_t n, capacity;
};

/* Makes those of a path, in the place of those before; none if its steps are not known. */
enum hp_err hp_path_lines_make(struct hp_path_lines *lines, const struct hp_tables *tables,
                               uint32_t path);
void hp_path_lines_fini(struct hp_path_lines *lines);

/* Appends the outcomes of its branches, "0" and "1", the first branch first. */
void hp_path_outcomes(const struct hp_ppath *path, struct hp_strbuf *text);

/* "fell", "taken", "called", "entered", "returned", "end". */
const char *hp_step_name(unsigned how);

/* How a step was left, for people: "->" taken, "-> name" into another function, "." not taken,
 * "call name", "return", "…" not known; nothing where there was no choice. */
void hp_put_exit(const struct hp_tables *tables, const struct hp_path_lines *lines, size_t step,
                 struct hp_strbuf *cell);

#endif
