// SPDX-License-Identifier: MIT
/*
 * Reading the rows of a profile's tables, from a file that may have been made or changed by anyone.
 *
 * Nothing of the file is executed: the tables read must be those of the schema to the letter (so no
 * view, virtual table or generated column stands in for one), and views and triggers are switched
 * off. Every value is checked for type and range, and the values of a table against the number of
 * rows and the checksum that were stored with it: damage is found, not loaded. Pages that refer to
 * each other in circles could give endless rows; the rows and the steps of SQLite are limited by
 * what a file of that size can need. (SQLite's own quick_check is not used: on a file made for it
 * its recursion overflows the stack.)
 *
 * The first error stays in `err`; everything after it does nothing and gives zeroes and "".
 *
 * With `rescue` that is so only to the end of the row, or of the table: what is wrong is
 * remembered, and reading goes on. A table that is not there, or not as it should be, has no rows.
 * Rows that are missing in between are there, and bad.
 */
#ifndef HP_PROFILE_READER_H
#define HP_PROFILE_READER_H

#include "hotpath/profile.h"
#include "profile/schema.h"

#include <sqlite3.h>
#include <stdbool.h>

struct hp_reader {
    sqlite3 *db;
    sqlite3_stmt *select;
    int column; /* the next one to read */
    const char *path;
    size_t table;
    const char *name; /* of the table, for errors */
    uint64_t row;     /* the first is 1 */
    uint64_t max_rows;
    uint64_t steps_left; /* of SQLite, in thousands */
    uint64_t sum;        /* checksum of the values read from the table */
    struct {
        uint64_t rows, sum;
    } stored[HP_SCHEMA_TABLES];     /* what they should be */
    bool missing[HP_SCHEMA_TABLES]; /* optional tables that are not there */
    bool verify;
    enum hp_err err;
    char text[256]; /* of HP_ERR_FORMAT */

    bool rescue;
    bool absent;            /* the table at hand */
    bool has_id;            /* likewise: its rows are numbered */
    bool waits;             /* a row of SQLite's, behind rows that are missing */
    struct hp_bad_row *bad; /* rows that could not be read */
    size_t n_bad, cap_bad;
    size_t n_gaps;
    size_t wrong;    /* rows, and tables, in which something is */
    char first[256]; /* what, of the first */
};

struct hp_bad_row {
    size_t table;
    uint64_t row; /* the first is 0 */
};

/* Opens the database at `path`, which must outlive the reader, and checks its version and schema.
 * Call hp_reader_close() in any case. Not to be moved while it is open. */
void hp_reader_open(struct hp_reader *reader, const char *path, bool rescue);
void hp_reader_close(struct hp_reader *reader);

/* Records HP_ERR_FORMAT with the path and the text, unless there was an error before. */
void hp_reader_fail(struct hp_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Records that the value of the current column cannot be. */
void hp_reader_fail_value(struct hp_reader *reader) __attribute__((cold));

/* Whether the file has that table; false only for an optional one, which must not be read then. */
bool hp_reader_has(const struct hp_reader *reader, size_t table);

/* The rows of a table, in the order of its primary key. Read all columns of all rows:
 * hp_reader_end() compares with what was stored. */
void hp_reader_begin(struct hp_reader *reader, size_t table);
bool hp_reader_next(struct hp_reader *reader);
void hp_reader_end(struct hp_reader *reader);

/* The next column of the row, which must be of that kind and in that range. */
int64_t hp_reader_i64(struct hp_reader *reader, int64_t min, int64_t max);
uint64_t hp_reader_u64(struct hp_reader *reader); /* 0 to 2^63-1 */
uint32_t hp_reader_u32(struct hp_reader *reader);
uint32_t hp_reader_index(struct hp_reader *reader);   /* NULL is HP_PROFILE_NONE */
double hp_reader_seconds(struct hp_reader *reader);   /* finite, not negative */
const char *hp_reader_text(struct hp_reader *reader); /* valid until the next row */

/* The id of the row, which must be its index: rows are numbered from 0 without a gap. */
void hp_reader_id(struct hp_reader *reader);

#endif
