// SPDX-License-Identifier: MIT
/*
 * The file format of profiles (docs/profile.md): what saving and loading agree on.
 */
#ifndef HP_PROFILE_SCHEMA_H
#define HP_PROFILE_SCHEMA_H

#include "hotpath/isa.h"

#include <stddef.h>

#define HP_SCHEMA_APPLICATION_ID 0x48745074 /* "HtPt" */
#define HP_SCHEMA_VERSION        1
#define HP_SCHEMA_MAX_TEXT       (16 << 20) /* bytes of one text */

struct hp_schema_table {
    const char *name;
    const char *sql; /* the CREATE TABLE statement, as SQLite keeps it */
};

/* Every table a profile has, in the order they are written and read; ended by a NULL name. */
extern const struct hp_schema_table hp_schema_tables[];

/* Views for people, and the names of the flows; hotpath itself does not read them. */
extern const char hp_schema_views[];

/* Names of architectures in files; NULL when there is none for the number. */
const char *hp_schema_arch_name(enum hp_arch arch);

#endif
