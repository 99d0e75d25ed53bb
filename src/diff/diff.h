// SPDX-License-Identifier: MIT
/*
 * What changed between two versions of a program: functions, lines, loops and paths of two digests,
 * matched with each other. The rules: docs/diff.md.
 */
#ifndef HP_DIFF_DIFF_H
#define HP_DIFF_DIFF_H

#include "diff/digest.h"
#include "report/report.h"
#include "report/sources.h"

/* How it is known that two functions are the same. */
enum hp_diff_how {
    HP_DIFF_SAME,      /* same symbol; file and module as far as they tell it from others */
    HP_DIFF_SIGNATURE, /* same name, other parameters or other numbers in the symbol */
    HP_DIFF_RENAMED,   /* a guess: the same lines in the same file, another name */
};

/* A function of both, or of one (the other is HP_PROFILE_NONE). */
struct hp_diff_function {
    uint32_t old, new;
    enum hp_diff_how how;
    uint32_t inlined; /* of one that is gone: the function of the other version that it is inlined
                         in, HP_PROFILE_NONE none */
    uint64_t before, after; /* instructions */
    int64_t delta;
};

/* Likewise. Of the functions that both have. */
struct hp_diff_line {
    uint32_t function; /* in hp_diff.functions */
    uint32_t old, new;
    int64_t delta; /* of instructions */
};

struct hp_diff_loop {
    uint32_t function;
    uint32_t old, new;
    int64_t delta; /* of instructions in it, not in one nested in it */
};

struct hp_diff_path {
    uint32_t old, new;
    int64_t delta; /* of instructions */
};

/* Everything comes with the largest change first. */
struct hp_diff {
    const struct hp_digest *old, *new;
    struct hp_diff_function *functions;
    size_t n_functions;
    struct hp_diff_line *lines;
    size_t n_lines;
    struct hp_diff_loop *loops;
    size_t n_loops;
    struct hp_diff_path *paths;
    size_t n_paths;
    bool has_loops, has_paths, has_cycles; /* both have; of cycles: on the same machine */
    uint32_t *new_function; /* by function of `old`: that of `new`; HP_PROFILE_NONE none */
    uint32_t *old_function; /* and back */
    uint32_t *new_line;     /* by line of `old` */
    uint32_t *old_line;
};

/* Where to find the source of each version. NULL: where the debug information says, unless it was
 * changed after the run. */
struct hp_diff_options {
    const char *old_source, *new_source; /* directories */
};

/* Both digests must outlive it. HP_ERR_NOMEM. */
enum hp_err hp_diff_make(const struct hp_digest *old, const struct hp_digest *new,
                         const struct hp_diff_options *options, struct hp_diff **diff);
void hp_diff_free(struct hp_diff *diff);

/* new - old, at most what a number can be. */
static inline int64_t hp_delta(uint64_t old, uint64_t new)
{
    if (new >= old)
        return new - old > INT64_MAX ? INT64_MAX : (int64_t)(new - old);
    return old - new > INT64_MAX ? -INT64_MAX : -(int64_t)(old - new);
}

/* The size of a change. */
static inline uint64_t hp_change(int64_t delta)
{
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

/* --- Its parts -------------------------------------------------------------------------------- */

/* Text of both versions. */
struct hp_diff_sources {
    struct hp_sources old, new;
};

/* Fills new_function, old_function and `how` (by function of `new`). */
enum hp_err hp_diff_match(struct hp_diff *diff, struct hp_diff_sources *sources,
                          enum hp_diff_how *how);

/* Fills new_line and old_line for the lines of two functions that are the same. */
enum hp_err hp_diff_align(struct hp_diff *diff, struct hp_diff_sources *sources, uint32_t old,
                          uint32_t new);

/* Fills hp_diff.loops and .paths; functions and lines are matched. */
enum hp_err hp_diff_loops(struct hp_diff *diff);
enum hp_err hp_diff_paths(struct hp_diff *diff);

/* Whether two lines of source say the same, but for blanks. */
bool hp_diff_same_text(const char *a, size_t n_a, const char *b, size_t n_b);

/* --- Printing --------------------------------------------------------------------------------- */

/* What the versions are called, and what is shown of the changes. */
struct hp_diff_print {
    const char *old_name, *new_name;
    double
        threshold; /* percent of the old instructions: functions that changed less are left out */
    struct hp_report_options report; /* format (text or JSON), top, color, width */
};

enum hp_err hp_diff_print(const struct hp_diff *diff, const struct hp_diff_print *print, FILE *out);
enum hp_err hp_diff_print_json(const struct hp_diff *diff, const struct hp_diff_print *print,
                               FILE *out);

/* Whether a function changed by the threshold or more. */
bool hp_diff_counts(const struct hp_diff *diff, const struct hp_diff_print *print, int64_t delta);

#endif
