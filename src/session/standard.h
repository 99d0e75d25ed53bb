// SPDX-License-Identifier: MIT
/*
 * The standard descriptors while a program is started that gets others.
 */
#ifndef HP_SESSION_STANDARD_H
#define HP_SESSION_STANDARD_H

#include "hotpath/error.h"

struct hp_standard {
    int saved[3]; /* -1: untouched */
};

/* NULL: stays as it is. HP_ERR_IO: nothing was changed. */
enum hp_err hp_standard_redirect(const char *input, const char *output,
                                 struct hp_standard *standard);
void hp_standard_restore(struct hp_standard *standard);

#endif
