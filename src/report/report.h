// SPDX-License-Identifier: MIT
/*
 * Printing a profile, for people (text) and for scripts (JSON, CSV). What each view shows and the
 * names in it: docs/report.md.
 *
 * Nothing here depends on the locale or on the order of equal elements: one profile gives one
 * output.
 */
#ifndef HP_REPORT_REPORT_H
#define HP_REPORT_REPORT_H

#include "hotpath/error.h"
#include "hotpath/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum hp_report_view {
    /* Text: the summary, and functions, loops, paths, predictions, hot spots and instructions as far as they are there; JSON: everything; CSV: the
     * first of those. */
    HP_REPORT_DEFAULT,
    HP_REPORT_SUMMARY,
    HP_REPORT_FUNCTIONS,
    HP_REPORT_BLOCKS,
    HP_REPORT_EDGES,
    HP_REPORT_CALLS,
    HP_REPORT_CONTEXTS, /* who called whom, as a tree */
    HP_REPORT_LINES,
    HP_REPORT_THREADS,
    HP_REPORT_MODULES,
    HP_REPORT_LOOPS,
    HP_REPORT_PATHS,
    HP_REPORT_PREDICTIONS,
    HP_REPORT_HOTSPOTS,
    HP_REPORT_LOOP_MODELS,  /* loops as hardware would report them */
    HP_REPORT_PARTITION,    /* what loops would gain in hardware */
    HP_REPORT_MACHINE,      /* what models counted */
    HP_REPORT_INSTRUCTIONS, /* the worst instructions on a machine in cycles, and why */
    HP_REPORT_CPI,          /* where its cycles went */
    HP_REPORT_SAMPLING,     /* samplers, and how far ways of sampling are from the truth */
    HP_REPORT_ALL,          /* everything; not for CSV, which holds one table */
    HP_REPORT_COUNT_
};

/* "default", "summary", "functions", ..., "all"; NULL for what is no view. */
const char *hp_report_view_name(enum hp_report_view view);

/* The name of a view as a member of JSON: "loop_models". */
const char *hp_report_view_member(enum hp_report_view view);

/* The inverse. HP_ERR_INVALID: no view has this name; the error text lists those there are. */
enum hp_err hp_report_view_from_name(const char *name, enum hp_report_view *view);

enum hp_report_format { HP_REPORT_TEXT, HP_REPORT_JSON, HP_REPORT_CSV };

/* As many as a person reads: in text HP_REPORT_TEXT_TOP rows, or HP_REPORT_PATHS_TOP paths with their lines, or instructions with the reason; else all. */
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
/* "run", "function", "loop", "line", "instruction". */
const char *hp_report_by_name(enum hp_report_by by);
/* The inverse. HP_ERR_INVALID: the error text lists those there are. */
enum hp_err hp_report_by_from_name(const char *name, enum hp_report_by *by);

/* All zero: text, the default view, every row, no colour, as wide as it gets. */
struct hp_report_options {
    enum hp_report_view view;
    enum hp_report_format format;
    size_t top;      /* rows of each table (of paths: of each kind); 0: all */
    bool color;      /* text: bold headers, shares coloured by heat */
    bool per_thread; /* each item's counts by thread as well */
    bool no_run;     /* JSON: leave out what differs between equal runs: "run", process ids */
    int width;       /* text: columns of the terminal; long names are cut. <= 0: no limit */
    struct hp_partition_costs partition;
    enum hp_report_by by; /* cpi: the run, and each of these */
};

/*
 * Prints a normal profile to `out` and flushes it. In text, notes always come last.
 * HP_ERR_INVALID: the profile's references do not fit together (nothing was printed), or CSV was
 * asked for a view that is not one table. HP_ERR_IO: `out` could not be written. HP_ERR_NOMEM.
 */
enum hp_err hp_report(const struct hp_profile *profile, const struct hp_report_options *options,
                      FILE *out);

/*
 * Prints how profile A became profile B; `name_a` and `name_b` say which they are (file names). Of
 * the options, format, top, color and width are used. Errors as hp_report().
 */
enum hp_err hp_report_comparison(const struct hp_comparison *comparison, const char *name_a,
                                 const char *name_b, const struct hp_report_options *options,
                                 FILE *out);

#endif
