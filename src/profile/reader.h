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

#include "profile/profile_impl.h"
#include "profile/schema.h"

#include <sqlite3.h>

struct hp_reader {
    sqlite3 *db;
    const char *path;
    struct hp_profile *profile; /* which its texts belong to */
    const char **strings;       /* the string table, as far as it was read */
    size_t n_strings;
    enum hp_err err;
    char text[256]; /* of HP_ERR_FORMAT */

    /* The table at hand. */
    sqlite3_stmt *select;
    size_t table;
    const struct hp_row_format *format;
    int column;   /* the next one to read */
    uint64_t row; /* the first is 1 */
    uint64_t sum; /* checksum of the values read */
    bool waits;   /* a row of SQLite's, behind rows that are missing */

    uint64_t max_rows;
    uint64_t steps_left;                                /* of SQLite, in thousands */
    struct hp_schema_contents stored[HP_SCHEMA_TABLES]; /* what they should be */
    bool missing[HP_SCHEMA_TABLES];                     /* tables that are not there */
    bool verify;

    bool rescue;
    size_t n_gaps;
    struct hp_mending mending; /* what was wrong; rows that could not be read are left out */
};

/* Opens the database at `path`, which must outlive the reader, and checks its version and schema.
 * Call hp_reader_close() in any case. Not to be moved while it is open. */
void hp_reader_open(struct hp_reader *reader, const char *path, struct hp_profile *profile,
                    bool rescue);
void hp_reader_close(struct hp_reader *reader);

/* Records HP_ERR_FORMAT with the path and the text, unless there was an error before. */
void hp_reader_fail(struct hp_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* The rows of a table, in the order of its primary key. Read all of them: hp_reader_end() compares
 * with what was stored. */
void hp_reader_begin(struct hp_reader *reader, size_t table);
bool hp_reader_next(struct hp_reader *reader);
void hp_reader_row(struct hp_reader *reader, void *row);
void hp_reader_end(struct hp_reader *reader);

#endif
