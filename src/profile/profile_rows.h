// SPDX-License-Identifier: MIT
/*
 * Writing the rows of a profile's tables: the counterpart of profile_reader.h.
 *
 * The first error stays in `err`; everything after it does nothing.
 */
#ifndef HP_PROFILE_ROWS_H
#define HP_PROFILE_ROWS_H

#include "base/map64.h"
#include "hotpath/profile.h"
#include "profile/profile_schema.h"

#include <sqlite3.h>

struct hp_rows {
    sqlite3 *db;
    sqlite3_stmt *insert;
    sqlite3_stmt *insert_one; /* for the rows that do not fill a batch */
    int batch, filled;        /* rows `insert` takes, and has been given */
    int column;               /* the next one to bind */
    size_t rows_left;
    const char *path; /* for errors */
    const char *table;
    uint64_t rows, sum; /* written to the table so far; their checksum */
    struct {
        uint64_t rows, sum;
    } done[HP_SCHEMA_TABLES];
    enum hp_err err;
    const char **strings; /* the string table, sorted */
    size_t n_strings;
    struct hp_map64 string_ids; /* from the address of a text to its index in `strings` */
};

/* Records what SQLite says of its last call. */
void hp_rows_fail(struct hp_rows *rows);
void hp_rows_run(struct hp_rows *rows, const char *sql);

/* Numbers the texts that the string table is to hold. */
enum hp_err hp_rows_strings(struct hp_rows *rows, const struct hp_profile *profile);

/* A table: between these, for each of its `n` rows, all columns in order and then hp_rows_next(). */
void hp_rows_begin(struct hp_rows *rows, const char *table, int columns, size_t n);
void hp_rows_next(struct hp_rows *rows);
void hp_rows_end(struct hp_rows *rows);

/* The next column. */
void hp_rows_i64(struct hp_rows *rows, int64_t value);
void hp_rows_u64(struct hp_rows *rows, uint64_t value);   /* 0 to 2^63-1, else HP_ERR_INVALID */
void hp_rows_index(struct hp_rows *rows, uint32_t index); /* HP_PROFILE_NONE is NULL */
void hp_rows_place(struct hp_rows *rows, struct hp_place place);
void hp_rows_text(struct hp_rows *rows, const char *text);   /* must live until the next row */
void hp_rows_seconds(struct hp_rows *rows, double seconds);  /* finite, not negative */
void hp_rows_string(struct hp_rows *rows, const char *text); /* its number in the string table */

#endif
