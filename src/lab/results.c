// SPDX-License-Identifier: MIT
#include "lab/results.h"

#include "base/grow.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void hp_lab_results_init(struct hp_lab_results *results, const char *key, const char *title,
                         const char *rows_are)
{
    *results = (struct hp_lab_results){.title = title, .rows_are = rows_are};
    snprintf(results->key, sizeof results->key, "%s", key);
}

void hp_lab_results_fini(struct hp_lab_results *results)
{
    free(results->rows);
    results->rows = NULL;
    results->n_rows = results->cap_rows = 0;
}

size_t hp_lab_results_column(struct hp_lab_results *results, const char *key, const char *title,
                             unsigned decimals)
{
    struct hp_lab_results_column *column = &results->columns[results->n_columns];
    snprintf(column->key, sizeof column->key, "%s", key);
    snprintf(column->title, sizeof column->title, "%s", title ? title : key);
    column->decimals = decimals;
    return results->n_columns++;
}

size_t hp_lab_results_find(const struct hp_lab_results *results, const char *key)
{
    for (size_t i = 0; i < results->n_columns; i++)
        if (strcmp(results->columns[i].key, key) == 0)
            return i;
    return HP_LAB_RESULTS_COLUMNS;
}

static void empty_row(struct hp_lab_results_row *row, const char *name)
{
    snprintf(row->name, sizeof row->name, "%s", name);
    for (size_t i = 0; i < HP_LAB_RESULTS_COLUMNS; i++)
        row->values[i] = NAN;
}

enum hp_err hp_lab_results_row(struct hp_lab_results *results, const char *name,
                               struct hp_lab_results_row **row)
{
    for (size_t i = 0; i < results->n_rows; i++)
        if (strcmp(results->rows[i].name, name) == 0) {
            *row = &results->rows[i];
            return HP_OK;
        }
    HP_TRY(hp_grow(&results->rows, &results->cap_rows, results->n_rows + 1, sizeof *results->rows));
    *row = &results->rows[results->n_rows++];
    empty_row(*row, name);
    return HP_OK;
}

enum hp_err hp_lab_results_set(struct hp_lab_results *results, const char *name, size_t column,
                               double value)
{
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(results, name, &row));
    row->values[column] = value;
    return HP_OK;
}

void hp_lab_results_paper(struct hp_lab_results *results, const char *where, const char *column,
                          double value)
{
    size_t i = 0, c = hp_lab_results_find(results, column);
    while (i < results->n_paper && strcmp(results->paper[i].name, where) != 0)
        i++;
    if (c == HP_LAB_RESULTS_COLUMNS || i == sizeof results->paper / sizeof *results->paper)
        return;
    if (i == results->n_paper)
        empty_row(&results->paper[results->n_paper++], where);
    results->paper[i].values[c] = value;
}

static bool counts(const struct hp_lab_results *results, const struct hp_lab_results_row *row,
                   size_t column)
{
    for (size_t c = 0; results->whole && c < results->n_columns; c++)
        if (isnan(row->values[c]))
            return false;
    return !isnan(row->values[column]);
}

double hp_lab_results_mean(const struct hp_lab_results *results, size_t column)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < results->n_rows; i++)
        if (counts(results, &results->rows[i], column)) {
            sum += results->rows[i].values[column];
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}

static void mean_row(const struct hp_lab_results *results, struct hp_lab_results_row *row)
{
    empty_row(row, "mean");
    for (size_t c = 0; c < results->n_columns; c++)
        row->values[c] = hp_lab_results_mean(results, c);
}

/* --- For people ------------------------------------------------------------------------------- */

static void cell(char text[HP_NUMBER_SIZE], double value, unsigned decimals)
{
    if (isnan(value))
        snprintf(text, HP_NUMBER_SIZE, "-");
    else if (decimals == 0 && value >= 0)
        hp_number_human(text, (uint64_t)(value + 0.5));
    else
        hp_number_fixed(text, value, decimals);
}

static void widen(const struct hp_lab_results *results, const struct hp_lab_results_row *row,
                  int *widths)
{
    char text[HP_NUMBER_SIZE];
    for (size_t c = 0; c < results->n_columns; c++) {
        cell(text, row->values[c], results->columns[c].decimals);
        widths[c] = (int)strlen(text) > widths[c] ? (int)strlen(text) : widths[c];
    }
}

static void print_row(const struct hp_lab_results *results, const struct hp_lab_results_row *row,
                      int first, const int *widths, FILE *out)
{
    char text[HP_NUMBER_SIZE];
    fprintf(out, "  %-*s", first, row->name);
    for (size_t c = 0; c < results->n_columns; c++) {
        cell(text, row->values[c], results->columns[c].decimals);
        fprintf(out, "  %*s", widths[c], text);
    }
    fputc('\n', out);
}

static int name_width(const struct hp_lab_results *results)
{
    size_t width = strlen(results->rows_are);
    for (size_t i = 0; i < results->n_rows; i++)
        width = strlen(results->rows[i].name) > width ? strlen(results->rows[i].name) : width;
    for (size_t i = 0; i < results->n_paper; i++)
        width = strlen(results->paper[i].name) > width ? strlen(results->paper[i].name) : width;
    return (int)width;
}

void hp_lab_results_print(const struct hp_lab_results *results, FILE *out)
{
    int widths[HP_LAB_RESULTS_COLUMNS] = {0}, first = name_width(results);
    struct hp_lab_results_row mean;
    mean_row(results, &mean);
    for (size_t c = 0; c < results->n_columns; c++)
        widths[c] = (int)strlen(results->columns[c].title);
    for (size_t i = 0; i < results->n_rows; i++)
        widen(results, &results->rows[i], widths);
    for (size_t i = 0; i < results->n_paper; i++)
        widen(results, &results->paper[i], widths);
    if (results->mean)
        widen(results, &mean, widths);
    fprintf(out, "%s\n  %-*s", results->title, first, results->rows_are);
    for (size_t c = 0; c < results->n_columns; c++)
        fprintf(out, "  %*s", widths[c], results->columns[c].title);
    fputc('\n', out);
    for (size_t i = 0; i < results->n_rows; i++)
        print_row(results, &results->rows[i], first, widths, out);
    if (results->mean && results->n_rows > 1)
        print_row(results, &mean, first, widths, out);
    for (size_t i = 0; i < results->n_paper; i++)
        print_row(results, &results->paper[i], first, widths, out);
}

/* --- For programs ----------------------------------------------------------------------------- */

static void write_row(const struct hp_lab_results *results, const struct hp_lab_results_row *row,
                      struct hp_json *json)
{
    hp_json_begin_object(json);
    for (size_t c = 0; c < results->n_columns; c++) {
        double value = row->values[c];
        hp_json_key(json, results->columns[c].key);
        if (isnan(value))
            hp_json_null(json);
        else if (results->columns[c].decimals == 0 && value >= 0 && value < 0x1p63)
            hp_json_uint(json, (uint64_t)(value + 0.5));
        else
            hp_json_fixed(json, value, 4);
    }
    hp_json_end_object(json);
}

void hp_lab_results_write(const struct hp_lab_results *results, struct hp_json *json)
{
    struct hp_lab_results_row mean;
    hp_json_begin_object(json);
    hp_json_key(json, "title");
    hp_json_string(json, results->title);
    hp_json_key(json, "rows_are");
    hp_json_string(json, results->rows_are);
    hp_json_key(json, "rows");
    hp_json_begin_object(json);
    for (size_t i = 0; i < results->n_rows; i++) {
        hp_json_key(json, results->rows[i].name);
        write_row(results, &results->rows[i], json);
    }
    hp_json_end_object(json);
    if (results->mean) {
        mean_row(results, &mean);
        hp_json_key(json, "mean");
        write_row(results, &mean, json);
    }
    hp_json_key(json, "paper");
    hp_json_begin_object(json);
    for (size_t i = 0; i < results->n_paper; i++) {
        hp_json_key(json, results->paper[i].name);
        write_row(results, &results->paper[i], json);
    }
    hp_json_end_object(json);
    hp_json_end_object(json);
}
