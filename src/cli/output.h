// SPDX-License-Identifier: MIT
/*
 * Writing a report to a stream or a file.
 */
#ifndef HP_CLI_OUTPUT_H
#define HP_CLI_OUTPUT_H

#include "hotpath/profile.h"
#include "report/report.h"

/* Prints to `path`, atomically, or to stdout when it is NULL or "-". */
enum hp_err hp_output_report(const struct hp_profile *profile, struct hp_report_options *options,
                             const char *path);

/* `pattern` with "%p" replaced by `pid` and "%%" by "%". Free the result; NULL without memory. */
char *hp_output_name(const char *pattern, int pid);

/* HP_ERR_IO: a file of that name cannot be written. That should be known before a program runs for
 * an hour. */
enum hp_err hp_output_check(const char *path);

#endif
