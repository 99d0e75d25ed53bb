// SPDX-License-Identifier: MIT
/* The file format of profiles (docs/profile.md): what saving and loading agree on. */
#ifndef HP_PROFILE_SCHEMA_H
#define HP_PROFILE_SCHEMA_H

#include "base/map64.h"
#include "profile/rows.h"

#include <sqlite3.h>

#define HP_SCHEMA_APPLICATION_ID 0x48745074 /* "HtPt" */
#define HP_SCHEMA_VERSION        1
#define HP_SCHEMA_MAX_TEXT       (16 << 20) /* bytes of one text */

/* Every table that a profile has: those of the rows come behind the others. */
enum {
    HP_SCHEMA_CONTENTS, /* of every other table, to find damage */
    HP_SCHEMA_RUN,
    HP_SCHEMA_ARGUMENT,
    HP_SCHEMA_STRING,
    HP_SCHEMA_ENGINE,
    HP_SCHEMA_ROWS, /* the table of a kind is HP_SCHEMA_ROWS + kind */
    HP_SCHEMA_TABLES = HP_SCHEMA_ROWS + HP_ROW_KINDS
};

/* Their rows, where they are not those of struct hp_profile. */
struct hp_schema_contents {
    const char *name; /* of another table */
    uint64_t rows, checksum;
};
struct hp_schema_run {
    struct hp_run run;
    const char *arch; /* its name */
};
struct hp_schema_text {
    const char *text;
};
struct hp_schema_engine {
    const char *name;
    uint64_t value;
};

const struct hp_row_format *hp_schema_table(size_t table);

/* The table of that name; HP_SCHEMA_TABLES when there is none. */
size_t hp_schema_find(const char *name);

/* The columns of its primary key; its CREATE TABLE statement, as SQLite keeps it. To be released
 * with sqlite3_free(); NULL: no memory. */
char *hp_schema_key(const struct hp_row_format *format);
char *hp_schema_create(const struct hp_row_format *format);

/* For HP_CLEANUP(). */
static inline void hp_schema_free(char **sql)
{
    sqlite3_free(*sql);
}

/* The checksum after one more value, or text; that of no values is 0. Order matters; a change of
 * one value always changes the sum. */
static inline uint64_t hp_schema_sum(uint64_t sum, uint64_t value)
{
    return hp_hash64(sum ^ value) + 0x9e3779b97f4a7c15u;
}

uint64_t hp_schema_sum_text(uint64_t sum, const char *text, size_t length);

/* Views for people, and the names of the flows; hotpath itself does not read them. */
extern const char hp_schema_views[];

#endif
