// SPDX-License-Identifier: MIT
/*
 * A profile as the page needs it: one JSON object (docs/page.md), whose numbers are those of the
 * report.
 */
#ifndef HP_PAGE_DATA_H
#define HP_PAGE_DATA_H

#include "hotpath/profile.h"

#include <stdio.h>

/* All zero: sources are looked for where the debug information says. */
struct hp_page_options {
    const char *source_path; /* where sources are looked for first; NULL: nowhere else */
};

/* At most so much of each, the heaviest; `limits` in the data says what was left out. */
#define HP_PAGE_BLOCKS       400000
#define HP_PAGE_EDGES        800000
#define HP_PAGE_PATHS        250000 /* of a kind */
#define HP_PAGE_STEPS        1000000
#define HP_PAGE_CONTEXTS     100000
#define HP_PAGE_CODE         200000 /* instructions of blocks */
#define HP_PAGE_LINES        200000
#define HP_PAGE_INSTRUCTIONS 5000
#define HP_PAGE_CPI          500 /* of each kind */
#define HP_PAGE_SOURCE_BYTES (8u << 20)

/*
 * Writes the data of a normal profile to `out` and flushes it. HP_ERR_INVALID: the profile's
 * references do not fit together. HP_ERR_IO: `out` could not be written. HP_ERR_NOMEM.
 */
enum hp_err hp_page_data(const struct hp_profile *profile, const struct hp_page_options *options,
                         FILE *out);

#endif
