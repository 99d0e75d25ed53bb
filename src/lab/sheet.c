// SPDX-License-Identifier: MIT
#include "lab/sheet.h"

#include "base/grow.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void hp_sheet_init(struct hp_sheet *sheet, const char *key, const char *title, const char *rows_are)
{
    *sheet = (struct hp_sheet){.title = title, .rows_are = rows_are};
    snprintf(sheet->key, sizeof sheet->key, "%s", key);
}

void hp_sheet_fini(struct hp_sheet *sheet)
{
    free(sheet->rows);
    sheet->rows = NULL;
    sheet->n_rows = sheet->cap_rows = 0;
}

size_t hp_sheet_column(struct hp_sheet *sheet, const char *key, const char *title,
                       unsigned decimals)
{
    struct hp_sheet_column *column = &sheet->columns[sheet->n_columns];
    snprintf(column->key, sizeof column->key, "%s", key);
    snprintf(column->title, sizeof column->title, "%s", title ? title : key);
    column->decimals = decimals;
    return sheet->n_columns++;
}

size_t hp_sheet_find(const struct hp_sheet *sheet, const char *key)
{
    for (size_t i = 0; i < sheet->n_columns; i++)
        if (strcmp(sheet->columns[i].key, key) == 0)
            return i;
    return HP_SHEET_COLUMNS;
}

static void empty_row(struct hp_sheet_row *row, const char *name)
{
    snprintf(row->name, sizeof row->name, "%s", name);
    for (size_t i = 0; i < HP_SHEET_COLUMNS; i++)
        row->values[i] = NAN;
}

enum hp_err hp_sheet_row(struct hp_sheet *sheet, const char *name, struct hp_sheet_row **row)
{
    for (size_t i = 0; i < sheet->n_rows; i++)
        if (strcmp(sheet->rows[i].name, name) == 0) {
            *row = &sheet->rows[i];
            return HP_OK;
        }
    HP_TRY(hp_grow(&sheet->rows, &sheet->cap_rows, sheet->n_rows + 1, sizeof *sheet->rows));
    *row = &sheet->rows[sheet->n_rows++];
    empty_row(*row, name);
    return HP_OK;
}

enum hp_err hp_sheet_set(struct hp_sheet *sheet, const char *name, size_t column, double value)
{
    struct hp_sheet_row *row;
    HP_TRY(hp_sheet_row(sheet, name, &row));
    row->values[column] = value;
    return HP_OK;
}

void hp_sheet_paper(struct hp_sheet *sheet, const char *where, const char *column, double value)
{
    size_t i = 0, c = hp_sheet_find(sheet, column);
    while (i < sheet->n_paper && strcmp(sheet->paper[i].name, where) != 0)
        i++;
    if (c == HP_SHEET_COLUMNS || i == sizeof sheet->paper / sizeof *sheet->paper)
        return;
    if (i == sheet->n_paper)
        empty_row(&sheet->paper[sheet->n_paper++], where);
    sheet->paper[i].values[c] = value;
}

static bool counts(const struct hp_sheet *sheet, const struct hp_sheet_row *row, size_t column)
{
    for (size_t c = 0; sheet->whole && c < sheet->n_columns; c++)
        if (isnan(row->values[c]))
            return false;
    return !isnan(row->values[column]);
}

double hp_sheet_mean(const struct hp_sheet *sheet, size_t column)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < sheet->n_rows; i++)
        if (counts(sheet, &sheet->rows[i], column)) {
            sum += sheet->rows[i].values[column];
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}

static void mean_row(const struct hp_sheet *sheet, struct hp_sheet_row *row)
{
    empty_row(row, "mean");
    for (size_t c = 0; c < sheet->n_columns; c++)
        row->values[c] = hp_sheet_mean(sheet, c);
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

static void widen(const struct hp_sheet *sheet, const struct hp_sheet_row *row, int *widths)
{
    char text[HP_NUMBER_SIZE];
    for (size_t c = 0; c < sheet->n_columns; c++) {
        cell(text, row->values[c], sheet->columns[c].decimals);
        widths[c] = (int)strlen(text) > widths[c] ? (int)strlen(text) : widths[c];
    }
}

static void print_row(const struct hp_sheet *sheet, const struct hp_sheet_row *row, int first,
                      const int *widths, FILE *out)
{
    char text[HP_NUMBER_SIZE];
    fprintf(out, "  %-*s", first, row->name);
    for (size_t c = 0; c < sheet->n_columns; c++) {
        cell(text, row->values[c], sheet->columns[c].decimals);
        fprintf(out, "  %*s", widths[c], text);
    }
    fputc('\n', out);
}

static int name_width(const struct hp_sheet *sheet)
{
    size_t width = strlen(sheet->rows_are);
    for (size_t i = 0; i < sheet->n_rows; i++)
        width = strlen(sheet->rows[i].name) > width ? strlen(sheet->rows[i].name) : width;
    for (size_t i = 0; i < sheet->n_paper; i++)
        width = strlen(sheet->paper[i].name) > width ? strlen(sheet->paper[i].name) : width;
    return (int)width;
}

void hp_sheet_print(const struct hp_sheet *sheet, FILE *out)
{
    int widths[HP_SHEET_COLUMNS] = {0}, first = name_width(sheet);
    struct hp_sheet_row mean;
    mean_row(sheet, &mean);
    for (size_t c = 0; c < sheet->n_columns; c++)
        widths[c] = (int)strlen(sheet->columns[c].title);
    for (size_t i = 0; i < sheet->n_rows; i++)
        widen(sheet, &sheet->rows[i], widths);
    for (size_t i = 0; i < sheet->n_paper; i++)
        widen(sheet, &sheet->paper[i], widths);
    if (sheet->mean)
        widen(sheet, &mean, widths);
    fprintf(out, "%s\n  %-*s", sheet->title, first, sheet->rows_are);
    for (size_t c = 0; c < sheet->n_columns; c++)
        fprintf(out, "  %*s", widths[c], sheet->columns[c].title);
    fputc('\n', out);
    for (size_t i = 0; i < sheet->n_rows; i++)
        print_row(sheet, &sheet->rows[i], first, widths, out);
    if (sheet->mean && sheet->n_rows > 1)
        print_row(sheet, &mean, first, widths, out);
    for (size_t i = 0; i < sheet->n_paper; i++)
        print_row(sheet, &sheet->paper[i], first, widths, out);
}

/* --- For programs ----------------------------------------------------------------------------- */

static void write_row(const struct hp_sheet *sheet, const struct hp_sheet_row *row,
                      struct hp_json *json)
{
    hp_json_begin_object(json);
    for (size_t c = 0; c < sheet->n_columns; c++) {
        double value = row->values[c];
        hp_json_key(json, sheet->columns[c].key);
        if (isnan(value))
            hp_json_null(json);
        else if (sheet->columns[c].decimals == 0 && value >= 0 && value < 0x1p63)
            hp_json_uint(json, (uint64_t)(value + 0.5));
        else
            hp_json_fixed(json, value, 4);
    }
    hp_json_end_object(json);
}

void hp_sheet_write(const struct hp_sheet *sheet, struct hp_json *json)
{
    struct hp_sheet_row mean;
    hp_json_begin_object(json);
    hp_json_key(json, "title");
    hp_json_string(json, sheet->title);
    hp_json_key(json, "rows_are");
    hp_json_string(json, sheet->rows_are);
    hp_json_key(json, "rows");
    hp_json_begin_object(json);
    for (size_t i = 0; i < sheet->n_rows; i++) {
        hp_json_key(json, sheet->rows[i].name);
        write_row(sheet, &sheet->rows[i], json);
    }
    hp_json_end_object(json);
    if (sheet->mean) {
        mean_row(sheet, &mean);
        hp_json_key(json, "mean");
        write_row(sheet, &mean, json);
    }
    hp_json_key(json, "paper");
    hp_json_begin_object(json);
    for (size_t i = 0; i < sheet->n_paper; i++) {
        hp_json_key(json, sheet->paper[i].name);
        write_row(sheet, &sheet->paper[i], json);
    }
    hp_json_end_object(json);
    hp_json_end_object(json);
}
