// SPDX-License-Identifier: MIT
/*
 * Expressions that choose rows by their columns: "iterations < 4 and share > 1%".
 *
 *   expression  = and-part { "or" and-part }
 *   and-part    = test { "and" test }
 *   test        = "not" test | "(" expression ")" | COLUMN | COLUMN operator VALUE
 *   operator    = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~"
 *
 * A column alone is one that is true or false. A value is a number with k, M, G, T (powers of 1000)
 * or % (hundredths) behind it, true, false, null (not known), or a text, in quotes where it has
 * blanks or operators. Texts are compared with = and !=, and by ~: contains. What is not known
 * passes no comparison but with null.
 */
#ifndef HP_REPORT_FILTER_H
#define HP_REPORT_FILTER_H

#include "report/fields.h"

#define HP_FILTER_TESTS 64 /* the most that an expression may have */

struct hp_filter_test {
    char *column;
    size_t index; /* of the column, as hp_filter_bind() found it */
    uint8_t op;   /* enum of filter.c */
    char *text;   /* the value as it was written, without quotes */
    bool is_number, quoted;
    long double number;
};

/* All zero: there is none. */
struct hp_filter {
    struct hp_filter_test tests[HP_FILTER_TESTS];
    size_t n;
    uint8_t code[4 * HP_FILTER_TESTS]; /* of a stack machine: tests in their order, and, or, not */
    size_t n_code;
};

/* HP_ERR_INVALID: what is wrong, and where. Release it in any case. */
enum hp_err hp_filter_parse(struct hp_filter *filter, const char *text);
void hp_filter_fini(struct hp_filter *filter);

/* What rows consist of. */
struct hp_filter_columns {
    const char *of; /* "view loops", for errors */
    size_t n;
    const char *(*name)(const void *context, size_t column);
    struct hp_cell (*cell)(void *context, size_t column); /* of the row at hand */
    /* The column of a name such as "LIST.NAME", behind the others; SIZE_MAX: there is none. */
    size_t (*member)(void *context, const char *name);
    void *context;
};

/* The column of a name. HP_ERR_INVALID: there is none; the text lists those there are. `option`
 * is what asks for it, "--filter". */
enum hp_err hp_filter_column(const struct hp_filter_columns *columns, const char *option,
                             const char *name, size_t *index);

/* Finds the columns. HP_ERR_INVALID: as hp_filter_column(). */
enum hp_err hp_filter_bind(struct hp_filter *filter, const struct hp_filter_columns *columns);

/* Whether the row at hand passes. HP_ERR_INVALID: a test does not fit its column. */
enum hp_err hp_filter_passes(const struct hp_filter *filter,
                             const struct hp_filter_columns *columns, bool *passes);

/* A number with k, M, G, T or % behind it. Whether it is one. */
bool hp_filter_number(const char *text, long double *number);

#endif
