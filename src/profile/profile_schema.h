// SPDX-License-Identifier: MIT
/*
 * The file format of profiles (docs/profile.md): what saving and loading agree on.
 */
#ifndef HP_PROFILE_SCHEMA_H
#define HP_PROFILE_SCHEMA_H

#include "base/map64.h"
#include "hotpath/isa.h"

#include <stddef.h>

#define HP_SCHEMA_APPLICATION_ID 0x48745074 /* "HtPt" */
#define HP_SCHEMA_VERSION        1
#define HP_SCHEMA_MAX_TEXT       (16 << 20) /* bytes of one text */

struct hp_schema_table {
    const char *name;
    const char *key; /* columns of its primary key */
    const char *sql; /* the CREATE TABLE statement, as SQLite keeps it */
    int optional;    /* came later: a file without it is as sound as one where it is empty */
};

/* Every table a profile has; ended by a NULL name. HP_SCHEMA_CONTENTS, the first, has for every
 * other one the number of its rows and a checksum of its values. */
#define HP_SCHEMA_TABLES 41
extern const struct hp_schema_table hp_schema_tables[HP_SCHEMA_TABLES + 1];
#define HP_SCHEMA_CONTENTS "contents"

/* The index of a table in hp_schema_tables; HP_SCHEMA_TABLES when there is none of that name. */
size_t hp_schema_find(const char *table);

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
