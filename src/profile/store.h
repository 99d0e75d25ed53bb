// SPDX-License-Identifier: MIT
/*
 * Writing the rows of a profile's tables: the counterpart of reader.h.
 *
 * The first error stays in `err`; everything after it does nothing.
 */
#ifndef HP_PROFILE_STORE_H
#define HP_PROFILE_STORE_H

#include "base/map64.h"
#include "hotpath/profile.h"
#include "profile/schema.h"

#include <sqlite3.h>

struct hp_store {
    sqlite3 *db;
    sqlite3_stmt *insert;
    sqlite3_stmt *insert_one; /* for the rows that do not fill a batch */
    int batch, filled;        /* rows `insert` takes, and has been given */
    int column;               /* the next one to bind */
    size_t rows_left;
    const char *path; /* for errors */
    size_t table;
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
void hp_store_fail(struct hp_store *store);
void hp_store_run(struct hp_store *store, const char *sql);

/* Numbers the texts that the string table is to hold. */
enum hp_err hp_store_strings(struct hp_store *store, const struct hp_profile *profile);

/* A table: between these, for each of its `n` rows, all columns in order and then hp_store_next().
 */
void hp_store_begin(struct hp_store *store, size_t table, int columns, size_t n);
void hp_store_next(struct hp_store *store);
void hp_store_end(struct hp_store *store);

/* The next column. */
void hp_store_i64(struct hp_store *store, int64_t value);
void hp_store_u64(struct hp_store *store, uint64_t value);    /* 0 to 2^63-1, else HP_ERR_INVALID */
void hp_store_index(struct hp_store *store, uint32_t index);  /* HP_PROFILE_NONE is NULL */
void hp_store_text(struct hp_store *store, const char *text); /* must live until the next row */
void hp_store_seconds(struct hp_store *store, double seconds);  /* finite, not negative */
void hp_store_string(struct hp_store *store, const char *text); /* its number in the string table */

#endif
