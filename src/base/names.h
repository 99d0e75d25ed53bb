// SPDX-License-Identifier: MIT
/*
 * Things that are chosen by name.
 */
#ifndef HP_BASE_NAMES_H
#define HP_BASE_NAMES_H

#include "hotpath/error.h"

struct hp_name {
    const char *name; /* NULL ends a list */
    const char *help; /* a few words, or NULL */
};

/* The position of a name in a list. HP_ERR_INVALID: "there is no engine 'x'; there are: a, b",
 * where `what` is "engine". */
HP_MUST_CHECK enum hp_err hp_name_find(const struct hp_name *list, const char *what,
                                       const char *name, unsigned *place);

#endif
