// SPDX-License-Identifier: MIT
#include "profile/store.h"

#include "base/grow.h"
#include "profile/profile_impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows a statement inserts. Measured on counters: 32 take 0.4 times as long as one at a time. */
#define BATCH 32

void hp_store_fail(struct hp_store *w)
{
    if (w->err != HP_OK)
        return;
    int code = sqlite3_errcode(w->db), error = sqlite3_system_errno(w->db);
    if (code == SQLITE_NOMEM)
        w->err = hp_fail_nomem();
    else if (code == SQLITE_FULL)
        w->err = hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path, strerror(ENOSPC));
    else if (error)
        w->err = hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path, strerror(error));
    else
        w->err = hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path, sqlite3_errmsg(w->db));
}

void hp_store_run(struct hp_store *w, const char *sql)
{
    if (w->err == HP_OK && sqlite3_exec(w->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        hp_store_fail(w);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* "INSERT INTO table VALUES(?,?),(?,?)..." for so many rows. */
static sqlite3_stmt *prepare_insert(struct hp_store *w, int columns, int rows)
{
    char sql[4096]; /* the widest table has 38 columns: 32 rows are 2500 bytes */
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES", hp_schema_name(w->table));
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < columns; i++)
            length += snprintf(sql + length, sizeof sql - (size_t)length, "%s?%s",
                               i     ? ","
                               : row ? ",("
                                     : "(",
                               i == columns - 1 ? ")" : "");
    sqlite3_stmt *insert = NULL;
    if (w->err == HP_OK && sqlite3_prepare_v2(w->db, sql, -1, &insert, NULL) != SQLITE_OK)
        hp_store_fail(w);
    return insert;
}

void hp_store_begin(struct hp_store *w, size_t table, int columns, size_t rows)
{
    w->table = table;
    w->column = 1;
    w->filled = 0;
    w->rows_left = rows;
    w->rows = rows;
    w->sum = 0;
    w->insert = prepare_insert(w, columns, rows < BATCH ? 1 : BATCH);
    w->insert_one = rows < BATCH ? NULL : prepare_insert(w, columns, 1);
    w->batch = rows < BATCH ? 1 : BATCH;
}

void hp_store_end(struct hp_store *w)
{
    sqlite3_finalize(w->insert);
    sqlite3_finalize(w->insert_one);
    w->insert = w->insert_one = NULL;
    w->done[w->table].rows = w->rows;
    w->done[w->table].sum = w->sum;
}

void hp_store_next(struct hp_store *w)
{
    if (w->err != HP_OK || ++w->filled < w->batch)
        return;
    if (sqlite3_step(w->insert) != SQLITE_DONE)
        hp_store_fail(w);
    sqlite3_reset(w->insert);
    w->column = 1;
    w->filled = 0;
    w->rows_left -= (size_t)w->batch;
    if (w->rows_left < BATCH && w->insert_one) {
        sqlite3_finalize(w->insert);
        w->insert = w->insert_one;
        w->insert_one = NULL;
        w->batch = 1;
    }
}

void hp_store_i64(struct hp_store *w, int64_t value)
{
    w->sum = hp_schema_sum(w->sum, (uint64_t)value);
    if (w->err == HP_OK && sqlite3_bind_int64(w->insert, w->column++, value) != SQLITE_OK)
        hp_store_fail(w);
}

/* SQLite's integers are signed: a larger number cannot be stored, and must not become another. */
void hp_store_u64(struct hp_store *w, uint64_t value)
{
    if (w->err == HP_OK && value > INT64_MAX)
        w->err = hp_fail(HP_ERR_INVALID, "cannot write %s: %s has a number above 2^63-1: %llu",
                         w->path, hp_schema_name(w->table), (unsigned long long)value);
    hp_store_i64(w, (int64_t)value);
}

void hp_store_index(struct hp_store *w, uint32_t index)
{
    if (index != HP_PROFILE_NONE) {
        hp_store_i64(w, index);
        return;
    }
    w->sum = hp_schema_sum(w->sum, HP_PROFILE_NONE);
    if (w->err == HP_OK && sqlite3_bind_null(w->insert, w->column++) != SQLITE_OK)
        hp_store_fail(w);
}

void hp_store_text(struct hp_store *w, const char *text)
{
    size_t length = strlen(hp_text(text));
    w->sum = hp_schema_sum_text(w->sum, hp_text(text), length);
    if (w->err == HP_OK && length > HP_SCHEMA_MAX_TEXT)
        w->err = hp_fail(HP_ERR_INVALID, "cannot write %s: %s has a text of %zu bytes", w->path,
                         hp_schema_name(w->table), length);
    if (w->err == HP_OK && sqlite3_bind_text(w->insert, w->column++, hp_text(text), (int)length,
                                             SQLITE_STATIC) != SQLITE_OK)
        hp_store_fail(w);
}

void hp_store_seconds(struct hp_store *w, double seconds)
{
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    w->sum = hp_schema_sum(w->sum, bits);
    if (w->err == HP_OK && !(isfinite(seconds) && seconds >= 0))
        w->err =
            hp_fail(HP_ERR_INVALID, "cannot write %s: the run took %g seconds", w->path, seconds);
    if (w->err == HP_OK && sqlite3_bind_double(w->insert, w->column++, seconds) != SQLITE_OK)
        hp_store_fail(w);
}

void hp_store_string(struct hp_store *w, const char *text)
{
    hp_store_i64(w, hp_map64_get(&w->string_ids, (uint64_t)(uintptr_t)hp_text(text)));
}

/* --- The string table ------------------------------------------------------------------------- */

static enum hp_err note_string(struct hp_store *w, size_t *capacity, const char *text)
{
    uint64_t key = (uint64_t)(uintptr_t)hp_text(text);
    if (hp_map64_get(&w->string_ids, key) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&w->strings, capacity, w->n_strings + 1, sizeof *w->strings));
    HP_TRY(hp_map64_put(&w->string_ids, key, (uint32_t)w->n_strings));
    w->strings[w->n_strings++] = hp_text(text);
    return HP_OK;
}

static int compare_strings(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Collects the texts the string table holds and numbers them in their own order: then the order of
 * lines by number is their order by text, and equal profiles give equal files. */
enum hp_err hp_store_strings(struct hp_store *w, const struct hp_profile *p)
{
    size_t capacity = 0, n = 0;
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        for (size_t k = 0; k < hp_row_formats[kind].n_fields; k++) {
            const struct hp_row_field *field = &hp_row_formats[kind].fields[k];
            size_t rows = field->type == HP_ROW_STRING ? hp_profile_n_rows(p, kind) : 0;
            for (size_t i = 0; i < rows; i++)
                HP_TRY(note_string(w, &capacity, hp_row_text(field, hp_profile_row(p, kind, i))));
        }
    if (w->n_strings)
        qsort(w->strings, w->n_strings, sizeof *w->strings, compare_strings);
    for (size_t i = 0; i < w->n_strings; i++) {
        if (n == 0 || strcmp(w->strings[n - 1], w->strings[i]) != 0)
            n++;
        HP_TRY(hp_map64_put(&w->string_ids, (uint64_t)(uintptr_t)w->strings[i], (uint32_t)(n - 1)));
        w->strings[n - 1] = w->strings[i];
    }
    w->n_strings = n;
    return HP_OK;
}
