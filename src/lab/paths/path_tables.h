// SPDX-License-Identifier: MIT
/*
 * Shared by the experiments on paths: path profilers attached to a program, and how well their
 * tables did.
 */
#ifndef HP_LAB_PATHS_PATH_TABLES_H
#define HP_LAB_PATHS_PATH_TABLES_H

#include "lab/lab.h"
#include "profiler/path/paths.h"

#define HP_LAB_TABLE "512x4" /* the paper's choice */
#define HP_LAB_BEST  512     /* entries of the best possible table */

/* The compared tables, as texts for hp_hpt_parse(): the paper's, and ours of the same size in
 * bytes. */
struct hp_lab_table {
    const char *key;   /* of a column */
    const char *title; /* shorter, for people; NULL: the key */
    const char *text;  /* for hp_hpt_parse() */
};
extern const struct hp_lab_table hp_lab_tables[];
extern const size_t hp_lab_n_tables;
/* Of these, 512x4 and those of its size. */
extern const struct hp_lab_table *const hp_lab_main_tables;
extern const size_t hp_lab_n_main_tables;

/* Adds a column for each table. */
void hp_lab_table_columns(struct hp_lab_results *results, const struct hp_lab_table *tables,
                          size_t n);

/* Creates a path profiler with those of the `n` tables. `window` 0: no dynamic profile. */
enum hp_err hp_lab_paths_new(struct hp_session *session, const char *ppcr,
                             const struct hp_lab_table *tables, size_t n, uint64_t window,
                             struct hp_profiler **profiler);

/* How well the tables of a path profiler did, in percent. */
struct hp_lab_overlaps {
    uint64_t executions, distinct; /* paths */
    double complete[HP_PATHS_TABLES];
    double dynamic[HP_PATHS_TABLES]; /* NAN: no window was complete */
    uint64_t windows;
    double best;      /* the share of all events of the HP_LAB_BEST heaviest paths */
    double frequency; /* overlap of the profile of events with that of executions */
};
enum hp_err hp_lab_overlaps(const struct hp_profiler *profiler, struct hp_lab_overlaps *overlaps);

/* All paths of a profiler, freed with free(). HP_ERR_NOMEM: there were too many, and some are
 * missing. */
enum hp_err hp_lab_all_paths(const struct hp_profiler *profiler, struct hp_path_count **paths,
                             size_t *n);

/* --- With a machine --------------------------------------------------------------------------- */

/* The paper's machine ("vaswani"), with path profilers for the named metrics and the given tables.
 * The session owns the group. */
enum hp_err hp_lab_metrics_new(struct hp_session *session, const char *const *metrics,
                               size_t n_metrics, const struct hp_lab_table *tables, size_t n_tables,
                               uint64_t window, struct hp_profiler **group);

/* The PPCR of Ball-Larus paths that count a metric. */
void hp_lab_ppcr(const char *metric, char *text, size_t size);

#endif
