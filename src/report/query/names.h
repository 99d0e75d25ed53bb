// SPDX-License-Identifier: MIT
/* Functions and modules by what a person calls them. */
#ifndef HP_REPORT_NAMES_H
#define HP_REPORT_NAMES_H

#include "report/tables.h"

#include <stdlib.h>

/* Whether a function of that name is meant: it is its name, the same in the symbol table (may be
 * NULL), its name without parameters, or with `part` any part of its name. */
bool hp_name_is(const char *name, const char *linkage, const char *meant, bool part);

/* What a name stands for. */
struct hp_found {
    bool *is; /* by function or module */
    size_t n;
    bool part; /* by a part of the name, as none has it whole */
};

/* Those of that name or, where there are none, those with it in their name. `among`, by function:
 * only these; NULL: all. n is 0 where there are none. Release it in any case. HP_ERR_NOMEM. */
enum hp_err hp_find_functions(const struct hp_tables *tables, const char *name, const bool *among,
                              struct hp_found *found);
/* The name of a module is its path, the end of that, or as the report has it. */
enum hp_err hp_find_modules(const struct hp_tables *tables, const char *name,
                            struct hp_found *found);

/* Whether more than one name was found, by a part of it. */
bool hp_found_several(const struct hp_tables *tables, const struct hp_found *found);

static inline void hp_found_fini(struct hp_found *found)
{
    free(found->is);
}

/* Prints the functions that were found, one line each. HP_ERR_NOMEM. */
enum hp_err hp_print_found(const struct hp_tables *tables, const struct hp_found *found, FILE *out);

#endif
