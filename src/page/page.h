// SPDX-License-Identifier: MIT
/*
 * The page: a template, built from page/ with npm, and the data of a profile in it (docs/page.md).
 */
#ifndef HP_PAGE_PAGE_H
#define HP_PAGE_PAGE_H

#include "page/data.h"

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

#endif
