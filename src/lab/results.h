// SPDX-License-Identifier: MIT
/*
 * A table of numbers, one row per program (or other item), with the mean and the paper's figures
 * below. Printed for people, or written as JSON.
 */
#ifndef HP_LAB_RESULTS_H
#define HP_LAB_RESULTS_H

#include "text/json.h"

#include <stdio.h>

#define HP_LAB_RESULTS_COLUMNS 40
#define HP_LAB_RESULTS_NAME    40

struct hp_lab_results_column {
    char key[HP_LAB_RESULTS_NAME]; /* in JSON and, without a title, in print */
    char title[HP_LAB_RESULTS_NAME];
    unsigned decimals;
};

struct hp_lab_results_row {
    char name[HP_LAB_RESULTS_NAME];
    double values[HP_LAB_RESULTS_COLUMNS]; /* NAN: none */
};

struct hp_lab_results {
    char key[HP_LAB_RESULTS_NAME];
    const char *title;    /* a sentence; must outlive the table */
    const char *rows_are; /* "program", "tau", ...; likewise */
    bool detail;          /* too long to print: only in JSON */
    bool whole; /* the mean uses only rows with all values, so that columns can be compared */
    bool mean;  /* prints a line with the mean of each column */
    struct hp_lab_results_column columns[HP_LAB_RESULTS_COLUMNS];
    size_t n_columns;
    struct hp_lab_results_row *rows;
    size_t n_rows, cap_rows;
    struct hp_lab_results_row paper[8]; /* figures of a paper, named by their source */
    size_t n_paper;
};

/* All zero but these. */
void hp_lab_results_init(struct hp_lab_results *results, const char *key, const char *title,
                         const char *rows_are);
void hp_lab_results_fini(struct hp_lab_results *results);

/* Adds a column; returns its index. `title` NULL: the key. There must be room. */
size_t hp_lab_results_column(struct hp_lab_results *results, const char *key, const char *title,
                             unsigned decimals);

/* The index of a column by its key; HP_LAB_RESULTS_COLUMNS: none. */
size_t hp_lab_results_find(const struct hp_lab_results *results, const char *key);

/* Adds an empty row, or finds the one of that name. */
enum hp_err hp_lab_results_row(struct hp_lab_results *results, const char *name,
                               struct hp_lab_results_row **row);

/* Sets a value: of an existing or a new row. */
enum hp_err hp_lab_results_set(struct hp_lab_results *results, const char *row, size_t column,
                               double value);

/* Sets one of the paper's values, in the line `where`. Ignored without room or such a column. */
void hp_lab_results_paper(struct hp_lab_results *results, const char *where, const char *column,
                          double value);

/* The mean of a column over the rows that have a value (or all, see `whole`); NAN: none has. */
double hp_lab_results_mean(const struct hp_lab_results *results, size_t column);

void hp_lab_results_print(const struct hp_lab_results *results, FILE *out);

/* One value: an object. Rows are members by their names, values by their columns' keys. */
void hp_lab_results_write(const struct hp_lab_results *results, struct hp_json *json);

#endif
