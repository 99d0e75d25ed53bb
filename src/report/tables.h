// SPDX-License-Identifier: MIT
/* What a report prints, as text, JSON or CSV: names, totals and the rows of each view in order. */
#ifndef HP_REPORT_TABLES_H
#define HP_REPORT_TABLES_H

#include "base/strings.h"
#include "hotpath/metric.h"
#include "hotpath/profile.h"
#include "report/cycles/cycles.h"
#include "report/loops/loops.h"
#include "report/report.h"
#include "report/view.h"
#include "text/strbuf.h"

/* A source line that was executed. */
struct hp_source_line {
    const char *file;
    uint32_t line;
    uint32_t range;       /* the first of it, a line of the profile */
    const char *function; /* the one (inlined ones included) that most of it was executed for */
};

struct hp_summary {
    uint64_t instructions;                      /* executed, over all threads */
    uint64_t branches;                          /* likewise */
    uint64_t block_executions;                  /* likewise */
    uint64_t functions, blocks, edges, modules; /* distinct, executed at least once */
    uint64_t threads;
    uint64_t paths;    /* distinct, of all kinds but those of samples */
    uint64_t loops;    /* executed */
    uint64_t hotspots; /* detected */
    uint64_t beyond;   /* instructions in calling contexts beyond the limit */
};

/* The paths of a kind: `n` of them from `first` on. The sums are over all of them. */
struct hp_path_kind {
    const char *name;
    enum hp_metric metric;
    bool by_events; /* they are weighed by the events of the metric, not by instructions */
    uint32_t first, n;
    uint64_t distinct; /* executed */
    uint64_t count, insns, events;
    uint64_t timed, parts; /* instructions along measured executions, and their cycles */
};

/* Appends how much of the run is in calling contexts that were not kept, a sentence; nothing when
 * that is nothing. */
void hp_put_contexts_beyond(const struct hp_summary *summary, struct hp_strbuf *text);

/* Made by hp_tables_init(). The strings live as long as this and the profile. */
struct hp_tables {
    const struct hp_profile *profile;
    struct hp_summary summary;
    bool inclusive_known;   /* false: a run was counted only, without its order */
    const char **modules;   /* names by module: the file's, or the path where that is not unique */
    const char **functions; /* names by function: the symbol's, else module+0xoffset */
    uint32_t *block_lines;  /* by block: the line of its start, HP_PROFILE_NONE unknown */
    struct hp_source_line *lines; /* set by hp_rows_init() for the view lines */
    size_t n_lines;
    struct hp_path_kind *kinds; /* in the order of their paths */
    size_t n_kinds;
    struct hp_loops loops;
    /* by block, over all threads; this and the next one: see hp_tables_count_blocks() */
    uint64_t *block_counts;
    uint64_t executed;               /* static instructions of all blocks that were executed */
    struct hp_partition_costs costs; /* set by hp_report() */
    enum hp_report_by by;            /* likewise */
    bool no_run;                     /* likewise: nothing may differ between equal runs */
    const struct hp_query *query;    /* set by hp_query_open(); NULL: everything is asked for */
    struct hp_partition_estimate *partition; /* by loop; set by hp_rows_init() for partition */
    struct hp_insns insns;
    struct hp_cpi_item *cpi;      /* set by hp_rows_init() for cpi */
    struct hp_sampling_way *ways; /* likewise for sampling */
    size_t n_ways;
    struct hp_path_difference *differences; /* by path: see paths/label.h */
    struct hp_caller *callers;              /* likewise for callers */
    size_t n_callers;
    struct hp_strings names; /* made here */
};

/* Checks references and prepares what every view needs. On failure there is nothing to release. */
enum hp_err hp_tables_init(struct hp_tables *tables, const struct hp_profile *profile);
void hp_tables_fini(struct hp_tables *tables);

/* Makes block_counts and what stands below it, once. */
enum hp_err hp_tables_count_blocks(struct hp_tables *tables);

/* The line of a block's start; NULL: not known. */
const struct hp_pline *hp_tables_block_line(const struct hp_tables *tables, uint32_t block);

/* Appends "module+0xoffset"; nothing for a place that is nowhere. */
void hp_tables_place(const struct hp_tables *tables, struct hp_place place, struct hp_strbuf *text);

/* The function that contains a place, HP_PROFILE_NONE when there is none. */
uint32_t hp_tables_function_at(const struct hp_tables *tables, struct hp_place place);

/* The kind of a path. */
const struct hp_path_kind *hp_tables_kind(const struct hp_tables *tables, uint32_t path);

/* Of an array whose elements begin with the index of what they belong to, and are sorted by it: the
 * elements that belong to `owner`, `*n` of them; NULL when there are none. */
const void *hp_items_of(const void *items, size_t n_items, size_t size, uint32_t owner, size_t *n);
/* The same of a profile's rows. */
const void *hp_items(const struct hp_profile *profile, enum hp_row_kind kind, uint32_t owner,
                     size_t *n);

/* The line that the byte `offset` of a block comes from; NULL: it is not known. */
const struct hp_pline *hp_line_at(const struct hp_profile *profile, uint32_t block,
                                  uint32_t offset);

/* Orders places by module, then offset; nowhere is last. */
int hp_place_compare(struct hp_place a, struct hp_place b);

/* The part of a path behind its last slash (the path itself when nothing is). */
const char *hp_base_name(const char *path);

/* A text of the profile, which should not be NULL, as one that is not. */
static inline const char *hp_text(const char *text)
{
    return text ? text : "";
}

/* A row of a view. `item` is an index into the profile's rows of the view's kind (of lines, cycles
 * and ways of sampling into the arrays of hp_tables). */
struct hp_row {
    uint32_t item;
    uint32_t thread; /* index; HP_PROFILE_NONE: all threads together */
    uint32_t list;   /* that it is in: see hp_view.same_list */
    uint64_t v[HP_ROW_VALUES];
};

struct hp_rows {
    /* by weight, descending, then by address; paths by kind before that, and so on */
    struct hp_row *rows;
    size_t n;
    size_t n_left_out;  /* by hp_rows_keep() */
    size_t n_asked_out; /* by what is asked for */
    bool sorted;        /* by a column that was asked for: the order is to stay */
    bool per_thread;
    struct hp_row *parts; /* with `per_thread`: each item's values by thread, in order of both */
    size_t n_parts;
};

/* Makes the rows of a view; items never executed have none. What was made stays on failure. */
enum hp_err hp_rows_init(struct hp_rows *rows, struct hp_tables *tables, const struct hp_view *view,
                         bool per_thread);
void hp_rows_fini(struct hp_rows *rows);

/* Makes a row without values for each of `n` items: for a view's `make`. */
enum hp_err hp_rows_of_items(struct hp_rows *rows, size_t n);

/* Keeps the first `top` rows of each list; 0: all. */
void hp_rows_keep(struct hp_rows *rows, size_t top);

/* The parts of an item: the first of `*n`; NULL and 0 when there are none. */
const struct hp_row *hp_rows_parts(const struct hp_rows *rows, uint32_t item, size_t *n);

#endif
