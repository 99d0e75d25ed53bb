// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/compare.h"
#include "report/items.h"
#include "report/tables.h"
#include "text/number.h"

#include <string.h>

/* --- Counters: where the values of a view come from ------------------------------------------- */

struct source {
    const struct hp_tables *tables;
    const struct hp_view *view;
    size_t n_counters, n_items;
    const struct hp_row_field *columns[HP_ROW_VALUES]; /* NULL: 0 */
};

static struct source source_of(const struct hp_tables *tables, const struct hp_view *view)
{
    struct source source = {.tables = tables, .view = view};
    source.n_items = hp_profile_n_rows(tables->profile, view->item);
    if (view->values[0])
        source.n_counters = hp_profile_n_rows(tables->profile, view->counter);
    for (size_t k = 0; k < HP_ROW_VALUES && view->values[k]; k++)
        source.columns[k] = hp_row_column(view->counter, view->values[k]);
    return source;
}

/* What every counter begins with. */
struct counter {
    uint32_t item, thread;
};

static void read_counter(const struct source *source, size_t i, struct hp_row *row)
{
    const struct hp_view *view = source->view;
    const void *counter = hp_profile_row(source->tables->profile, view->counter, i);
    struct counter of = {(uint32_t)i, HP_PROFILE_NONE};
    if (view->counter != view->item)
        memcpy(&of, counter, sizeof of);
    *row = (struct hp_row){.item = of.item, .thread = of.thread};
    for (size_t k = 0; k < HP_ROW_VALUES && source->columns[k]; k++)
        row->v[k] = hp_row_number(source->columns[k], counter);
    if (view->adjust)
        view->adjust(source->tables, row);
}

static void add_values(struct hp_row *row, const struct hp_row *other)
{
    for (size_t k = 0; k < HP_ROW_VALUES; k++)
        row->v[k] = hp_saturating_add(row->v[k], other->v[k]);
}

/* Sums the counters by item. Items without any are dropped, except threads: one that executed
 * nothing is worth knowing. */
static enum hp_err sum_items(struct hp_rows *rows, const struct source *source)
{
    HP_TRY(hp_rows_of_items(rows, source->n_items));
    rows->n = 0;
    for (size_t i = 0; i < source->n_counters; i++) {
        struct hp_row row;
        read_counter(source, i, &row);
        if (row.item != HP_PROFILE_NONE)
            add_values(&rows->rows[row.item], &row);
    }
    for (size_t i = 0; i < source->n_items; i++) {
        const struct hp_row *row = &rows->rows[i];
        if (!source->view->by_thread || row->v[0] || row->v[1] || row->v[2] || row->v[3])
            rows->rows[rows->n++] = *row;
    }
    return HP_OK;
}

/* --- Parts: the same by thread ---------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
    const struct hp_row *x = a, *y = b;
    return HP_COMPARE(x->item, y->item) ?: HP_COMPARE(x->thread, y->thread);
}

static enum hp_err sum_parts(struct hp_rows *rows, const struct source *source)
{
    struct hp_row *parts = rows->parts = calloc(source->n_counters + 1, sizeof *parts);
    if (!parts)
        return hp_fail_nomem();
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 0; i < source->n_counters; i++) {
        read_counter(source, i, &parts[n]);
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
    return hp_items_of(rows->parts, rows->n_parts, sizeof *rows->parts, item, n);
}

/* --- Order ------------------------------------------------------------------------------------ */

struct order {
    const struct hp_profile *profile;
    const struct hp_view *view;
    const uint32_t *lists; /* by item: its list; NULL: all are one */
};

static int compare_items(const struct order *by, uint32_t a, uint32_t b)
{
    const struct hp_view *view = by->view;
    int order = view->compare ? view->compare(by->profile, a, b) : 0;
    for (size_t i = 0; i < view->n_places && order == 0; i++) {
        const struct hp_place *x = hp_profile_row(by->profile, view->item, a) + view->places;
        const struct hp_place *y = hp_profile_row(by->profile, view->item, b) + view->places;
        order = hp_place_compare(x[i], y[i]);
    }
    return order ?: HP_COMPARE(a, b);
}

/* A total order: equal weights by address, equal addresses by place in the normal profile. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const struct hp_row *x = a, *y = b;
    const struct order *by = context;
    int order = by->lists ? HP_COMPARE(by->lists[x->item], by->lists[y->item]) : 0;
    return order ?: HP_COMPARE(y->v[0], x->v[0]) ?: compare_items(by, x->item, y->item);
}

bool hp_rows_same_list(const struct hp_tables *tables, const struct hp_view *view, uint32_t a,
                       uint32_t b)
{
    return !view->same_list || view->same_list(tables, a, b);
}

static enum hp_err sort_rows(struct hp_rows *rows, const struct hp_tables *tables,
                             const struct hp_view *view)
{
    size_t n = view->same_list ? hp_profile_n_rows(tables->profile, view->item) : 0;
    uint32_t *lists HP_CLEANUP(hp_free) = calloc(n + 1, sizeof *lists);
    if (!lists)
        return hp_fail_nomem();
    for (uint32_t i = 1; i < n; i++)
        lists[i] = lists[i - 1] + !view->same_list(tables, i - 1, i);
    struct order order = {tables->profile, view, n ? lists : NULL};
    if (rows->n > 1)
        qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_rows, &order);
    return HP_OK;
}

void hp_rows_keep(struct hp_rows *rows, const struct hp_tables *tables, const struct hp_view *view,
                  size_t top)
{
    size_t kept = 0, of_group = 0;
    uint32_t last = HP_PROFILE_NONE;
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t item = rows->rows[i].item;
        if (last == HP_PROFILE_NONE || !hp_rows_same_list(tables, view, last, item))
            of_group = 0;
        last = item;
        if (top == 0 || of_group++ < top)
            rows->rows[kept++] = rows->rows[i];
    }
    rows->n_left_out = rows->n - kept;
    rows->n = kept;
}

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables, const struct hp_view *view,
                        bool per_thread)
{
    if (view->make)
        return view->make(rows, tables, per_thread);
    struct source source = source_of(tables, view);
    HP_TRY(sum_items(rows, &source));
    return per_thread && view->by_thread ? sum_parts(rows, &source) : HP_OK;
}

enum hp_err hp_rows_init(struct hp_rows *rows, struct hp_tables *tables, const struct hp_view *view,
                         bool per_thread)
{
    *rows = (struct hp_rows){0};
    enum hp_err err = view->fields ? make(rows, tables, view, per_thread)
                                   : hp_fail(HP_ERR_INVALID, "view %s is no table", view->name);
    if (err == HP_OK)
        err = sort_rows(rows, tables, view);
    if (err != HP_OK)
        hp_rows_fini(rows);
    return err;
}

enum hp_err hp_rows_of_items(struct hp_rows *rows, size_t n)
{
    rows->rows = calloc(n + 1, sizeof *rows->rows);
    if (!rows->rows)
        return hp_fail_nomem();
    for (rows->n = 0; rows->n < n; rows->n++)
        rows->rows[rows->n] = (struct hp_row){.item = (uint32_t)rows->n, .thread = HP_PROFILE_NONE};
    return HP_OK;
}

size_t hp_rows_of_list(const struct hp_rows *rows, const struct hp_tables *tables,
                       const struct hp_view *view, size_t first)
{
    size_t n = 1;
    while (first + n < rows->n &&
           hp_rows_same_list(tables, view, rows->rows[first].item, rows->rows[first + n].item))
        n++;
    return n;
}

void hp_rows_fini(struct hp_rows *rows)
{
    free(rows->rows);
    free(rows->parts);
    *rows = (struct hp_rows){0};
}
