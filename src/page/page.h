// SPDX-License-Identifier: MIT
/*
 * The page: a template, built from page/ with npm, and the data of a profile in it, one JSON object
 * whose numbers are those of the report (docs/page.md).
 */
#ifndef HP_PAGE_PAGE_H
#define HP_PAGE_PAGE_H

#include "diff/diff.h"
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
#define HP_PAGE_PARTS        400000 /* of functions, of contexts: by thread */
#define HP_PAGE_CODE         200000 /* instructions of blocks */
#define HP_PAGE_LINES        200000
#define HP_PAGE_INSTRUCTIONS 5000
#define HP_PAGE_CPI          500 /* of each kind */
#define HP_PAGE_CALL_PATHS   2000
#define HP_PAGE_SOURCE_BYTES (8u << 20)

/*
 * Writes the data of a normal profile to `out` and flushes it. HP_ERR_INVALID: the profile's
 * references do not fit together. HP_ERR_IO: `out` could not be written. HP_ERR_NOMEM.
 */
enum hp_err hp_page_data(const struct hp_profile *profile, const struct hp_page_options *options,
                         FILE *out);

/* The line of the template between whose tags the data goes. */
#define HP_PAGE_DATA_OPEN  "<script id=\"hotpath-data\" type=\"application/octet-stream\">"
#define HP_PAGE_DATA_CLOSE "</script>"

/* Reads the template (malloc'd): from where HOTPATH_PAGE says, beside the command, or
 * installed. HP_ERR_NOTFOUND: there is none, and the error text says how to get it.
 * HP_ERR_FORMAT: it is none. */
enum hp_err hp_page_template(char **text);

/* Writes the page to `out` and flushes it. Errors as hp_page_data(); HP_ERR_FORMAT: `text` is no
 * template. */
enum hp_err hp_page_write(const struct hp_profile *profile, const struct hp_page_options *options,
                          const char *text, FILE *out);

/* Two profiles to compare, of an old and a new version. */
struct hp_page_diff {
    const struct hp_profile *old, *new;
    const char *old_name, *new_name;
    bool unfolded; /* inlined functions are functions in them (profile/unfold.h) */
    struct hp_diff_options sources;
};

/* As the two above, of what changed between them (docs/page.md). */
enum hp_err hp_page_diff_data(const struct hp_page_diff *diff, FILE *out);
enum hp_err hp_page_diff_write(const struct hp_page_diff *diff, const char *text, FILE *out);

/* A stream whose contents end up in `out`, compressed (gzip) and as text (base64). `out` stays
 * open, and must until the stream is closed. Closing it writes what is left; HP_ERR_IO: something
 * could not be written. */
enum hp_err hp_pack_open(FILE *out, FILE **file);
enum hp_err hp_pack_close(FILE *file);

#endif
