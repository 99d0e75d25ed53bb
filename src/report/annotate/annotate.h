// SPDX-License-Identifier: MIT
/*
 * Functions instruction by instruction, with their source: how often each was executed and, where a
 * machine in cycles ran them, what each cost.
 */
#ifndef HP_REPORT_ANNOTATE_H
#define HP_REPORT_ANNOTATE_H

#include "hotpath/profile.h"

#include <stdbool.h>
#include <stdio.h>

/* All zero: the hottest three functions as text, no colour, as wide as it gets. */
struct hp_annotate_options {
    const char *const *names; /* functions: by name, or linkage name; all of that name */
    size_t n_names;           /* 0: the hottest */
    size_t top;               /* of the hottest; 0: HP_ANNOTATE_TOP */
    bool all;                 /* every function that was executed, hottest first */
    bool lines;               /* source lines, without instructions */
    bool json;
    bool color;
    int width;               /* text: columns of the terminal; <= 0: no limit */
    const char *source_path; /* where sources are looked for first; NULL: nowhere else */
};
#define HP_ANNOTATE_TOP 3

/*
 * Prints to `out` and flushes it. HP_ERR_NOTFOUND: no function of that name was executed.
 * HP_ERR_INVALID: the profile's references do not fit together. HP_ERR_IO: `out` could not be
 * written. HP_ERR_NOMEM.
 */
enum hp_err hp_annotate(const struct hp_profile *profile, const struct hp_annotate_options *options,
                        FILE *out);

#endif
