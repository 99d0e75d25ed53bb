// SPDX-License-Identifier: MIT
/*
 * The views of a report, one table of them: what --help, manual pages, completion and errors list.
 */
#ifndef HP_REPORT_VIEW_H
#define HP_REPORT_VIEW_H

struct hp_view {
    const char *name; /* "loop-models" */
    const char *help; /* a few words */
};

/* In the order in which they are listed and printed, "all" last; ended by NULL. */
extern const struct hp_view *const hp_views[];

#endif
