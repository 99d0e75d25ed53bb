// SPDX-License-Identifier: MIT
/*
 * The paths view for people: each path in a row of a table, and below it line by line.
 */
#ifndef HP_REPORT_TEXT_PATHS_H
#define HP_REPORT_TEXT_PATHS_H

#include "report/sources.h"
#include "report/tables.h"

/* The paths of all kinds, at most `limit` (0: all) of each. */
enum hp_err hp_print_paths(struct hp_tables *tables, const struct hp_report_options *options,
                           size_t limit, struct hp_sources *sources, FILE *out);

#endif
