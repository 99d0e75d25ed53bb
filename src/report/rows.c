// SPDX-License-Identifier: MIT
#include "report/tables.h"

#include "report/partition.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* --- Counters: where the values of a view come from ------------------------------------------- */

/* Reads counter `i` of a view into `row`; item HP_PROFILE_NONE: it belongs to none. */
typedef void read_counter(const struct hp_profile *profile, size_t i, struct hp_row *row);

static void read_function(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_pfunction_count *count = &p->function_counts[i];
    *row =
        (struct hp_row){count->item, count->thread, {count->self, count->inclusive, count->calls}};
}

static void read_block(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_pcount *count = &p->block_counts[i];
    uint64_t weight = hp_saturating_mul(count->count, p->blocks[count->item].insns);
    *row = (struct hp_row){count->item, count->thread, {weight, count->count, 0}};
}

static void read_edge(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_pcount *count = &p->edge_counts[i];
    *row = (struct hp_row){count->item, count->thread, {count->count, 0, 0}};
}

static void read_call(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_pcall_count *count = &p->call_counts[i];
    *row = (struct hp_row){count->item, count->thread, {count->inclusive, count->count, 0}};
}

/* Of runs that were counted only. */
static void read_counted_call(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_pcall_count *count = &p->call_counts[i];
    *row = (struct hp_row){count->item, count->thread, {count->count, 0, 0}};
}

static void read_module(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    read_block(p, i, row);
    row->item = p->blocks[row->item].place.module;
}

static void read_thread(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_pthread *thread = &p->threads[i];
    *row = (struct hp_row){
        (uint32_t)i, (uint32_t)i, {thread->instructions, thread->blocks, thread->branches}};
}

static void read_path(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_ppath_count *count = &p->path_counts[i];
    *row = (struct hp_row){
        count->item, count->thread, {count->insns, count->count, count->insns, count->events, 0}};
}

static void read_loop(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    const struct hp_ploop_count *count = &p->loop_counts[i];
    *row = (struct hp_row){count->item,
                           count->thread,
                           {count->inclusive, count->self, count->executions, count->iterations}};
}

static void read_model_loop(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    *row = (struct hp_row){(uint32_t)i, HP_PROFILE_NONE, {p->model_loops[i].iterations}};
}

static void read_hotspot(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    *row = (struct hp_row){(uint32_t)i, HP_PROFILE_NONE, {p->hotspots[i].total}};
}

/* Rows without values. */
static void read_nothing(const struct hp_profile *p, size_t i, struct hp_row *row)
{
    (void)p;
    *row = (struct hp_row){.item = (uint32_t)i, .thread = HP_PROFILE_NONE};
}

struct source {
    read_counter *read;
    size_t n_counters;
    size_t n_items;
};

static struct source source_of(const struct hp_tables *tables, enum hp_report_view view)
{
    const struct hp_profile *p = tables->profile;
    switch (view) {
    case HP_REPORT_FUNCTIONS:
        return (struct source){read_function, p->n_function_counts, p->n_functions};
    case HP_REPORT_BLOCKS: return (struct source){read_block, p->n_block_counts, p->n_blocks};
    case HP_REPORT_EDGES: return (struct source){read_edge, p->n_edge_counts, p->n_edges};
    case HP_REPORT_CALLS:
        return (struct source){tables->inclusive_known ? read_call : read_counted_call,
                               p->n_call_counts, p->n_calls};
    case HP_REPORT_THREADS: return (struct source){read_thread, p->n_threads, p->n_threads};
    case HP_REPORT_MODULES: return (struct source){read_module, p->n_block_counts, p->n_modules};
    case HP_REPORT_PATHS: return (struct source){read_path, p->n_path_counts, p->n_paths};
    case HP_REPORT_LOOPS: return (struct source){read_loop, p->n_loop_counts, p->n_loops};
    case HP_REPORT_LOOP_MODELS:
        return (struct source){read_model_loop, p->n_model_loops, p->n_model_loops};
    case HP_REPORT_HOTSPOTS: return (struct source){read_hotspot, p->n_hotspots, p->n_hotspots};
    case HP_REPORT_PREDICTIONS: return (struct source){read_nothing, 0, p->n_predictions};
    case HP_REPORT_MACHINE: return (struct source){read_nothing, 0, p->n_stats};
    default: return (struct source){0};
    }
}

static void add_values(struct hp_row *row, const struct hp_row *other)
{
    for (size_t k = 0; k < HP_ROW_VALUES; k++)
        row->v[k] = hp_saturating_add(row->v[k], other->v[k]);
}

/* Sums the counters by item. Items without any are dropped, except threads: one that executed
 * nothing is worth knowing. */
static enum hp_err sum_items(struct hp_rows *rows, const struct hp_profile *profile,
                             const struct source *source, bool keep_all)
{
    rows->rows = calloc(source->n_items + 1, sizeof *rows->rows);
    if (!rows->rows)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < source->n_items; i++)
        rows->rows[i] = (struct hp_row){.item = i, .thread = HP_PROFILE_NONE};
    for (size_t i = 0; i < source->n_counters; i++) {
        struct hp_row row;
        source->read(profile, i, &row);
        if (row.item != HP_PROFILE_NONE)
            add_values(&rows->rows[row.item], &row);
    }
    for (size_t i = 0; i < source->n_items; i++) {
        const struct hp_row *row = &rows->rows[i];
        if (keep_all || row->v[0] || row->v[1] || row->v[2] || row->v[3])
            rows->rows[rows->n++] = *row;
    }
    return HP_OK;
}

/* --- Parts: the same by thread ---------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
    const struct hp_row *row_a = a, *row_b = b;
    if (row_a->item != row_b->item)
        return row_a->item < row_b->item ? -1 : 1;
    return row_a->thread < row_b->thread ? -1 : row_a->thread > row_b->thread;
}

static enum hp_err sum_parts(struct hp_rows *rows, const struct hp_profile *profile,
                             const struct source *source)
{
    struct hp_row *parts = rows->parts = calloc(source->n_counters + 1, sizeof *parts);
    if (!parts)
        return hp_fail_nomem();
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 0; i < source->n_counters; i++) {
        source->read(profile, i, &parts[n]);
        if (parts[n].item == HP_PROFILE_NONE)
            continue;
        sorted = sorted && (n == 0 || compare_parts(&parts[n - 1], &parts[n]) <= 0);
        n++;
    }
    if (!sorted) /* a normal profile's counters are, but those of its modules */
        qsort(parts, n, sizeof *parts, compare_parts);
    for (size_t i = 0; i < n; i++) {
        if (rows->n_parts > 0 && compare_parts(&parts[rows->n_parts - 1], &parts[i]) == 0)
            add_values(&parts[rows->n_parts - 1], &parts[i]);
        else
            parts[rows->n_parts++] = parts[i];
    }
    return HP_OK;
}

const struct hp_row *hp_rows_parts(const struct hp_rows *rows, uint32_t item, size_t *n)
{
    size_t low = 0, high = rows->n_parts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->parts[middle].item < item)
            low = middle + 1;
        else
            high = middle;
    }
    *n = 0;
    while (low + *n < rows->n_parts && rows->parts[low + *n].item == item)
        ++*n;
    return *n > 0 ? &rows->parts[low] : NULL;
}

/* --- Order ------------------------------------------------------------------------------------ */

struct order {
    const struct hp_profile *profile;
    enum hp_report_view view;
    const uint32_t *groups; /* by item: its list; NULL: all are one */
};

static struct hp_place function_place(const struct hp_profile *profile, uint32_t function)
{
    if (function == HP_PROFILE_NONE)
        return (struct hp_place){HP_PROFILE_NONE, UINT64_MAX};
    return profile->functions[function].place;
}

/* "net:50" before "net:100", behind "boa:5". */
static int compare_predictions(const struct hp_pprediction *a, const struct hp_pprediction *b)
{
    size_t n_a = strcspn(hp_text(a->scheme), ":"), n_b = strcspn(hp_text(b->scheme), ":");
    int order = strncmp(hp_text(a->scheme), hp_text(b->scheme), n_a < n_b ? n_a : n_b);
    if (order || n_a != n_b)
        return order ? order : n_a < n_b ? -1 : 1;
    return a->delay < b->delay ? -1 : a->delay > b->delay;
}

static int compare_address(const struct order *order, uint32_t a, uint32_t b)
{
    const struct hp_profile *p = order->profile;
    int first;
    switch (order->view) {
    case HP_REPORT_FUNCTIONS: return hp_place_compare(p->functions[a].place, p->functions[b].place);
    case HP_REPORT_BLOCKS: return hp_place_compare(p->blocks[a].place, p->blocks[b].place);
    case HP_REPORT_EDGES:
        first = hp_place_compare(p->edges[a].from, p->edges[b].from);
        return first ? first : hp_place_compare(p->edges[a].to, p->edges[b].to);
    case HP_REPORT_CALLS:
        first = hp_place_compare(function_place(p, p->calls[a].caller),
                                 function_place(p, p->calls[b].caller));
        return first ? first
                     : hp_place_compare(function_place(p, p->calls[a].callee),
                                        function_place(p, p->calls[b].callee));
    case HP_REPORT_PATHS: return hp_place_compare(p->paths[a].start, p->paths[b].start);
    case HP_REPORT_LOOPS:
    case HP_REPORT_PARTITION: return hp_place_compare(p->loops[a].header, p->loops[b].header);
    case HP_REPORT_INSTRUCTIONS: return hp_place_compare(p->insns[a].place, p->insns[b].place);
    case HP_REPORT_PREDICTIONS: return compare_predictions(&p->predictions[a], &p->predictions[b]);
    default: return 0;
    }
}

/* A total order: equal weights by address, equal addresses by place in the normal profile. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const struct hp_row *row_a = a, *row_b = b;
    const struct order *by = context;
    if (by->groups && by->groups[row_a->item] != by->groups[row_b->item])
        return by->groups[row_a->item] < by->groups[row_b->item] ? -1 : 1;
    if (row_a->v[0] != row_b->v[0])
        return row_a->v[0] > row_b->v[0] ? -1 : 1;
    int order = compare_address(context, row_a->item, row_b->item);
    return order ? order : row_a->item < row_b->item ? -1 : row_a->item > row_b->item;
}

bool hp_rows_have_parts(enum hp_report_view view)
{
    switch (view) {
    case HP_REPORT_THREADS:
    case HP_REPORT_CONTEXTS:
    case HP_REPORT_PREDICTIONS:
    case HP_REPORT_HOTSPOTS:
    case HP_REPORT_LOOP_MODELS:
    case HP_REPORT_PARTITION:
    case HP_REPORT_INSTRUCTIONS:
    case HP_REPORT_CPI:
    case HP_REPORT_SAMPLING:
    case HP_REPORT_MACHINE: return false;
    default: return true;
    }
}

/* By the events of the metric where that is one of the machine. */
static void weigh_paths(struct hp_row *rows, size_t n, const struct hp_tables *tables)
{
    for (size_t i = 0; i < n; i++)
        if (hp_tables_kind(tables, rows[i].item)->by_events)
            rows[i].v[0] = rows[i].v[3];
}

static enum hp_err init(struct hp_rows *rows, struct hp_tables *tables, enum hp_report_view view,
                        bool per_thread)
{
    if (view == HP_REPORT_LINES)
        return hp_rows_lines(rows, tables, per_thread);
    if (view == HP_REPORT_CONTEXTS)
        return hp_rows_contexts(rows, tables);
    if (view == HP_REPORT_PARTITION)
        return hp_rows_partition(rows, tables);
    if (view == HP_REPORT_INSTRUCTIONS)
        return hp_rows_insns(rows, tables);
    if (view == HP_REPORT_CPI)
        return hp_rows_cpi(rows, tables);
    if (view == HP_REPORT_SAMPLING)
        return hp_rows_sampling(rows, tables);
    struct source source = source_of(tables, view);
    if (!source.read)
        return hp_fail(HP_ERR_INVALID, "view %d is not a table", (int)view);
    HP_TRY(sum_items(rows, tables->profile, &source, !hp_rows_have_parts(view)));
    if (per_thread && hp_rows_have_parts(view))
        HP_TRY(sum_parts(rows, tables->profile, &source));
    if (view == HP_REPORT_PATHS) {
        weigh_paths(rows->rows, rows->n, tables);
        weigh_paths(rows->parts, rows->n_parts, tables);
    }
    return HP_OK;
}

bool hp_rows_same_group(const struct hp_tables *tables, enum hp_report_view view, uint32_t a,
                        uint32_t b)
{
    const struct hp_profile *p = tables->profile;
    switch (view) {
    case HP_REPORT_PATHS: return hp_tables_kind(tables, a) == hp_tables_kind(tables, b);
    case HP_REPORT_LOOP_MODELS:
        return strcmp(hp_text(p->model_loops[a].model), hp_text(p->model_loops[b].model)) == 0;
    case HP_REPORT_HOTSPOTS:
        return p->hotspots[a].run == p->hotspots[b].run &&
               strcmp(hp_text(p->hotspots[a].detector), hp_text(p->hotspots[b].detector)) == 0;
    default: return true;
    }
}

/* Items of a list follow each other in the normal form. */
static enum hp_err number_groups(const struct hp_tables *tables, enum hp_report_view view,
                                 uint32_t **groups)
{
    const struct hp_profile *p = tables->profile;
    size_t n = view == HP_REPORT_PATHS         ? p->n_paths
               : view == HP_REPORT_LOOP_MODELS ? p->n_model_loops
               : view == HP_REPORT_HOTSPOTS    ? p->n_hotspots
                                               : 0;
    *groups = NULL;
    if (n == 0)
        return HP_OK;
    *groups = calloc(n, sizeof **groups);
    if (!*groups)
        return hp_fail_nomem();
    for (uint32_t i = 1; i < n; i++)
        (*groups)[i] = (*groups)[i - 1] + !hp_rows_same_group(tables, view, i - 1, i);
    return HP_OK;
}

static enum hp_err sort_rows(struct hp_rows *rows, const struct hp_tables *tables,
                             enum hp_report_view view)
{
    uint32_t *groups;
    HP_TRY(number_groups(tables, view, &groups));
    struct order order = {tables->profile, view, groups};
    if (rows->n > 1)
        qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_rows, &order);
    for (size_t i = 0; view == HP_REPORT_PATHS && i < rows->n; i++) {
        bool same = i > 0 && groups[rows->rows[i - 1].item] == groups[rows->rows[i].item];
        uint64_t before = same ? rows->rows[i - 1].v[4] : 0;
        rows->rows[i].v[4] = hp_saturating_add(before, rows->rows[i].v[0]);
    }
    free(groups);
    return HP_OK;
}

void hp_rows_keep(struct hp_rows *rows, const struct hp_tables *tables, enum hp_report_view view,
                  size_t top)
{
    size_t kept = 0, of_group = 0;
    uint32_t last = HP_PROFILE_NONE;
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t item = rows->rows[i].item;
        if (last == HP_PROFILE_NONE || !hp_rows_same_group(tables, view, last, item))
            of_group = 0;
        last = item;
        if (top == 0 || of_group++ < top)
            rows->rows[kept++] = rows->rows[i];
    }
    rows->n_left_out = rows->n - kept;
    rows->n = kept;
}

enum hp_err hp_rows_init(struct hp_rows *rows, struct hp_tables *tables, enum hp_report_view view,
                         bool per_thread)
{
    *rows = (struct hp_rows){0};
    enum hp_err err = init(rows, tables, view, per_thread);
    if (err == HP_OK)
        err = sort_rows(rows, tables, view);
    if (err != HP_OK)
        hp_rows_fini(rows);
    return err;
}

void hp_rows_fini(struct hp_rows *rows)
{
    free(rows->rows);
    free(rows->parts);
    *rows = (struct hp_rows){0};
}
