// SPDX-License-Identifier: MIT
/*
 * A baseline: digests of named benchmarks in a text file that is kept with the source of a program
 * (docs/howto-ci.md shows one). Of a digest it has what is worth comparing: the totals, functions
 * and lines with at least one in HP_BASELINE_PART of the instructions.
 */
#ifndef HP_DIFF_BASELINE_H
#define HP_DIFF_BASELINE_H

#include "diff/digest.h"
#include "text/strbuf.h"

#define HP_BASELINE_PART 1000

struct hp_baseline_section {
    const char *name;
    const char *text; /* as it is in the file, without its first line */
    unsigned line;    /* of its first line in the file */
};

struct hp_baseline {
    char *text;
    struct hp_baseline_section *sections; /* by name */
    size_t n, capacity;
    struct hp_strings strings;
};

/* Reads a baseline. HP_ERR_NOTFOUND: there is no such file. HP_ERR_FORMAT, HP_ERR_VERSION: it is
 * none, or of another version. */
enum hp_err hp_baseline_load(const char *path, struct hp_baseline **baseline);

/* An empty one. */
enum hp_err hp_baseline_new(struct hp_baseline **baseline);
void hp_baseline_free(struct hp_baseline *baseline);

/* The digest of a benchmark, with one more function that stands for all that are not listed; free
 * it, even on failure. `*digest` must be NULL before. HP_ERR_NOTFOUND: the text lists the names
 * there are. HP_ERR_FORMAT: the text says which line is wrong. */
enum hp_err hp_baseline_get(const struct hp_baseline *baseline, const char *name,
                            struct hp_digest **digest);

/* Puts a digest in, in the place of the one of that name. */
enum hp_err hp_baseline_put(struct hp_baseline *baseline, const char *name,
                            const struct hp_digest *digest);

/* Writes the file, whole or not at all. */
enum hp_err hp_baseline_save(const struct hp_baseline *baseline, const char *path);

/* What the function of hp_baseline_get() that stands for the others is called. */
#define HP_BASELINE_REST "(others)"

#endif
