// SPDX-License-Identifier: MIT
/*
 * Printing a profile, for people (text) and for scripts (JSON, CSV): docs/report.md. One profile
 * gives one output, whatever the locale or the order of equal elements.
 */
#ifndef HP_REPORT_REPORT_H
#define HP_REPORT_REPORT_H

#include "base/names.h"
#include "hotpath/error.h"
#include "hotpath/profile.h"
#include "report/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum hp_report_format { HP_REPORT_TEXT, HP_REPORT_JSON, HP_REPORT_CSV };

/* As many as a person reads: in text HP_REPORT_TEXT_TOP rows, or HP_REPORT_PATHS_TOP paths with
 * their lines, or instructions with the reason; else all. */
#define HP_REPORT_TOP_DEFAULT SIZE_MAX
#define HP_REPORT_TEXT_TOP    20
#define HP_REPORT_PATHS_TOP   10

/* What hardware costs, in instructions. */
struct hp_partition_costs {
    bool set;            /* false: the defaults below, one loop */
    double iteration;    /* of a loop in hardware; < 0: that in software / HP_PARTITION_FASTER */
    uint64_t init, sync; /* before and behind each execution */
    size_t loops;        /* that there is room for */
};
#define HP_PARTITION_FASTER 10
#define HP_PARTITION_INIT   100
#define HP_PARTITION_SYNC   100

/* What cycles are summed by. */
enum hp_report_by {
    HP_REPORT_BY_RUN,
    HP_REPORT_BY_FUNCTION,
    HP_REPORT_BY_LOOP, /* without those nested in it */
    HP_REPORT_BY_LINE,
    HP_REPORT_BY_INSTRUCTION,
    HP_REPORT_BY_COUNT_
};
/* Their names: "run", "function", ... */
extern const struct hp_name hp_report_units[];

/* Which rows are asked for, and in which order, as words of a command line; NULL: all of them. */
struct hp_report_query {
    const char *sort;     /* a column; with '-' before it the other way round */
    const char *filter;   /* an expression: report/query/filter.h */
    const char *function; /* a name, or a part of one */
    const char *module;   /* likewise */
    const char *thread;   /* its number in the profile, or the kernel's */
    const char *process;  /* the kernel's number */
};

/* All zero: text, the default view, every row, no colour, as wide as it gets. */
struct hp_report_options {
    const struct hp_view *view; /* NULL: text: the summary and the overviews there are; JSON:
                                 * everything; CSV: the first overview there is */
    enum hp_report_format format;
    size_t top;      /* rows of each table (of paths: of each kind); 0: all */
    bool color;      /* text: bold headers, shares coloured by heat */
    bool per_thread; /* each item's counts by thread as well */
    bool no_run;     /* JSON: leave out what differs between equal runs: "run", process ids */
    bool full_names; /* text: names of functions are not cut */
    int width;       /* text: columns of the terminal; long names are cut. <= 0: no limit */
    struct hp_partition_costs partition;
    enum hp_report_by by; /* cpi: the run, and each of these */
    bool verbose;         /* text: what the engine did, too */
    struct hp_report_query query;
};

/*
 * Prints a normal profile to `out` and flushes it. In text, notes always come last.
 * HP_ERR_INVALID: the profile's references do not fit together (nothing was printed), CSV was asked
 * for a view that is not one table, or a query does not fit the view. HP_ERR_NOTFOUND: what a query
 * names is not in the profile. HP_ERR_IO: `out` could not be written. HP_ERR_NOMEM.
 */
enum hp_err hp_report(const struct hp_profile *profile, const struct hp_report_options *options,
                      FILE *out);

/*
 * Prints how profile A became profile B; `name_a` and `name_b` say which they are (file names). Of
 * the options, format, top, color, width and the query are used, but not of threads. Errors as
 * hp_report().
 */
enum hp_err hp_report_comparison(const struct hp_comparison *comparison, const char *name_a,
                                 const char *name_b, const struct hp_report_options *options,
                                 FILE *out);

#endif
