// SPDX-License-Identifier: MIT
/*
 * A sheet: a table of numbers, one row a program (or whatever is compared), with the mean and the
 * paper's figures below. Printed for people, or written as JSON.
 */
#ifndef HP_LAB_SHEET_H
#define HP_LAB_SHEET_H

#include "text/json.h"

#include <stdio.h>

#define HP_SHEET_COLUMNS 40
#define HP_SHEET_NAME    40

struct hp_sheet_column {
    char key[HP_SHEET_NAME]; /* in JSON and, when there is no title, on paper */
    char title[HP_SHEET_NAME];
    unsigned decimals;
};

struct hp_sheet_row {
    char name[HP_SHEET_NAME];
    double values[HP_SHEET_COLUMNS]; /* NAN: none */
};

struct hp_sheet {
    char key[HP_SHEET_NAME];
    const char *title;    /* a sentence; must outlive the sheet */
    const char *rows_are; /* "program", "tau", ...; likewise */
    bool detail;          /* too long for people: only in JSON */
    bool whole; /* in the mean only rows that have all values count, so that columns can be compared
                 */
    bool mean;  /* a line with the mean of each column */
    struct hp_sheet_column columns[HP_SHEET_COLUMNS];
    size_t n_columns;
    struct hp_sheet_row *rows;
    size_t n_rows, cap_rows;
    struct hp_sheet_row paper[8]; /* figures of a paper, named by where they are from */
    size_t n_paper;
};

/* All zero but these. */
void hp_sheet_init(struct hp_sheet *sheet, const char *key, const char *title,
                   const char *rows_are);
void hp_sheet_fini(struct hp_sheet *sheet);

/* Adds a column; returns its index. `title` NULL: the key. There must be room. */
size_t hp_sheet_column(struct hp_sheet *sheet, const char *key, const char *title,
                       unsigned decimals);

/* The index of a column by its key; HP_SHEET_COLUMNS when there is none. */
size_t hp_sheet_find(const struct hp_sheet *sheet, const char *key);

/* Adds an empty row, or finds the one of that name. */
enum hp_err hp_sheet_row(struct hp_sheet *sheet, const char *name, struct hp_sheet_row **row);

/* Sets a value: of an existing or a new row. */
enum hp_err hp_sheet_set(struct hp_sheet *sheet, const char *row, size_t column, double value);

/* Sets a value of the paper's: of the line `where`. Without room, or a column, it is left out. */
void hp_sheet_paper(struct hp_sheet *sheet, const char *where, const char *column, double value);

/* The mean of a column over the rows that have a value (or all, see `whole`); NAN when none has. */
double hp_sheet_mean(const struct hp_sheet *sheet, size_t column);

void hp_sheet_print(const struct hp_sheet *sheet, FILE *out);

/* One value: an object. Rows are members by their names, values by their columns' keys. */
void hp_sheet_write(const struct hp_sheet *sheet, struct hp_json *json);

#endif
