// SPDX-License-Identifier: MIT
/*
 * What the commands share.
 */
#ifndef HP_CLI_CLI_H
#define HP_CLI_CLI_H

#include "cli/options.h"
#include "hotpath/profile.h"
#include "hotpath/session.h"
#include "report/report.h"

/* The commands: argv[0] is the command's name. Return the exit status. */
int hp_cmd_run(int argc, char **argv);
int hp_cmd_record(int argc, char **argv);
int hp_cmd_top(int argc, char **argv);
int hp_cmd_report(int argc, char **argv);
int hp_cmd_export(int argc, char **argv);
int hp_cmd_annotate(int argc, char **argv);
int hp_cmd_html(int argc, char **argv);
int hp_cmd_compare(int argc, char **argv);
int hp_cmd_diff(int argc, char **argv);
int hp_cmd_ci(int argc, char **argv);
int hp_cmd_merge(int argc, char **argv);
int hp_cmd_trace(int argc, char **argv);
int hp_cmd_wpp(int argc, char **argv);
int hp_cmd_lab(int argc, char **argv);

/* Prints "hotpath: " and the last error's text on stderr; returns the status for it. */
int hp_cli_fail(enum hp_err err);

/* Likewise, of a command that ran a program which ended with `status`: that status stays, unless it
 * is 0 and hides what failed. A program that ran unobserved is no failure of its. */
int hp_cli_ran(enum hp_err err, int status);

/* Prints a note about a file, or, with NULL, about what is at hand, as one line. */
void hp_cli_note(const char *path, const char *text);

/* Reads a profile; of a damaged one what can be read, and says so. */
enum hp_err hp_cli_load(const char *path, struct hp_profile **profile);

/* How a report should look on `file`: colour and width only for a terminal (NO_COLOR is
 * honoured). */
void hp_cli_style(struct hp_report_options *options, FILE *file);

/* What a report command line may say about the output. */
struct hp_cli_output {
    uint64_t top; /* UINT64_MAX: not said */
    bool json, csv;
    const char *threads; /* "each" or "all" */
    const char *view;
};

/* Checks and translates into report options. */
enum hp_err hp_cli_report_options(const struct hp_cli_output *output,
                                  struct hp_report_options *options);

/* Which source lines such a report shows: only they have to be found. */
enum hp_line_detail hp_cli_lines(const struct hp_report_options *options);

#endif
