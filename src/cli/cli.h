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

/* All commands, ended by NULL. */
extern const struct hp_command *const hp_commands[];

extern const struct hp_command hp_command_run, hp_command_record, hp_command_top, hp_command_report,
    hp_command_export, hp_command_annotate, hp_command_html, hp_command_compare, hp_command_diff,
    hp_command_ci, hp_command_merge, hp_command_trace, hp_command_wpp, hp_command_lab,
    hp_command_help;
extern const struct hp_command hp_command_trace_record, hp_command_trace_info,
    hp_command_trace_check, hp_command_trace_dump, hp_command_trace_replay;
extern const struct hp_command hp_command_wpp_info, hp_command_wpp_expand, hp_command_wpp_hot;

/* Prints "hotpath: " and the last error's text on stderr; returns the status for it. */
int hp_cli_fail(enum hp_err err);

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
