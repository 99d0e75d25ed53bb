// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/query/query.h"
#include "report/tables.h"
#include "text/number.h"

/* The values of counter `i`, from columns, NULL behind the last. */
static struct hp_row read_counter(const struct hp_tables *tables, const struct hp_view *view,
                                  const struct hp_row_field *const *columns, size_t i)
{
    const uint32_t *counter = hp_profile_row(tables->profile, view->counter, i);
    bool own = view->counter == view->item;
    struct hp_row row = {.item = own ? (uint32_t)i : counter[0],
                         .thread = own ? HP_PROFILE_NONE : counter[1]};
    for (size_t k = 0; columns[k]; k++)
        row.v[k] = hp_row_number(columns[k], counter);
    if (view->adjust)
        view->adjust(tables, &row);
    return row;
}

static int compare_parts(const void *a, const void *b)
{
    const struct hp_row *x = a, *y = b;
    return HP_COMPARE(x->item, y->item) ?: HP_COMPARE(x->thread, y->thread);
}

static void add_values(struct hp_row *row, const struct hp_row *other)
{
    for (size_t k = 0; k < HP_ROW_VALUES; k++)
        hp_add_up(&row->v[k], other->v[k]);
}

/* Sorts parts, and makes those of the same item and thread one; returns how many there are. */
static size_t join_parts(struct hp_row *parts, size_t n)
{
    size_t kept = 0, sorted = 1;
    while (sorted < n && compare_parts(&parts[sorted - 1], &parts[sorted]) <= 0)
        sorted++;
    if (sorted < n) /* a normal profile's counters are, but those of its modules */
        qsort(parts, n, sizeof *parts, compare_parts);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && compare_parts(&parts[kept - 1], &parts[i]) == 0)
            add_values(&parts[kept - 1], &parts[i]);
        else
            parts[kept++] = parts[i];
    }
    return kept;
}

/* Sums the counters by item, and by thread. Items without any are dropped, except threads: one that
 * executed nothing is worth knowing. */
static enum hp_err sum_counters(struct hp_rows *rows, const struct hp_tables *tables,
                                const struct hp_view *view)
{
    const struct hp_row_field *columns[HP_ROW_VALUES + 1] = {0};
    size_t n = view->values[0] ? hp_profile_n_rows(tables->profile, view->counter) : 0;
    for (size_t k = 0; k < HP_ROW_VALUES && view->values[k]; k++)
        columns[k] = hp_row_column(view->counter, view->values[k]);
    HP_TRY(hp_rows_of_items(rows, hp_profile_n_rows(tables->profile, view->item)));
    if (rows->per_thread) {
        HP_TRY(hp_new(&rows->parts, n + 1, sizeof *rows->parts));
    }
    for (size_t i = 0; i < n; i++) {
        struct hp_row row = read_counter(tables, view, columns, i);
        if (row.item == HP_PROFILE_NONE)
            continue;
        add_values(&rows->rows[row.item], &row);
        if (rows->per_thread)
            rows->parts[rows->n_parts++] = row;
    }
    rows->n_parts = join_parts(rows->parts, rows->n_parts);
    size_t kept = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct hp_row *row = &rows->rows[i];
        if (!view->by_thread || row->v[0] || row->v[1] || row->v[2] || row->v[3])
            rows->rows[kept++] = *row;
    }
    rows->n = kept;
    return HP_OK;
}

const struct hp_row *hp_rows_parts(const struct hp_rows *rows, uint32_t item, size_t *n)
{
    return hp_items_of(rows->parts, rows->n_parts, sizeof *rows->parts, item, n);
}

struct order {
    const struct hp_profile *profile;
    const struct hp_view *view;
};

/* A total order: equal weights as the view says, else by place in the normal profile. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const struct hp_row *x = a, *y = b;
    const struct order *by = context;
    int order = HP_COMPARE(x->list, y->list) ?: HP_COMPARE(y->v[0], x->v[0]);
    if (order == 0 && by->view->compare)
        order = by->view->compare(by->profile, x->item, y->item);
    return order ?: HP_COMPARE(x->item, y->item);
}

/* Of rows that are in the order of their items. */
static void sort_rows(struct hp_rows *rows, const struct hp_tables *tables,
                      const struct hp_view *view)
{
    struct hp_row *all = rows->rows;
    for (size_t i = 1; view->same_list && i < rows->n; i++)
        all[i].list = all[i - 1].list + !view->same_list(tables, all[i - 1].item, all[i].item);
    if (rows->n > 1)
        qsort_r(all, rows->n, sizeof *all, compare_rows, &(struct order){tables->profile, view});
}

void hp_rows_keep(struct hp_rows *rows, size_t top)
{
    size_t kept = 0, rank = 0;
    for (size_t i = 0; i < rows->n; i++) {
        rank = i && rows->rows[i].list == rows->rows[i - 1].list ? rank + 1 : 0;
        if (top == 0 || rank < top)
            rows->rows[kept++] = rows->rows[i];
    }
    rows->n_left_out = rows->n - kept;
    rows->n = kept;
}

enum hp_err hp_rows_init(struct hp_rows *rows, struct hp_tables *tables, const struct hp_view *view,
                         bool per_thread)
{
    *rows = (struct hp_rows){.per_thread = per_thread && view->by_thread};
    if (!view->fields)
        return hp_fail(HP_ERR_INVALID, "view %s is no table", view->name);
    if (view->values[0] || !view->make)
        HP_TRY(sum_counters(rows, tables, view));
    if (view->make)
        HP_TRY(view->make(rows, tables));
    sort_rows(rows, tables, view);
    return tables->query ? hp_query_apply(tables->query, tables, view, rows) : HP_OK;
}

enum hp_err hp_rows_of_items(struct hp_rows *rows, size_t n)
{
    HP_TRY(hp_new(&rows->rows, n + 1, sizeof *rows->rows));
    for (rows->n = 0; rows->n < n; rows->n++)
        rows->rows[rows->n] = (struct hp_row){.item = (uint32_t)rows->n, .thread = HP_PROFILE_NONE};
    return HP_OK;
}

void hp_rows_fini(struct hp_rows *rows)
{
    free(rows->rows);
    free(rows->parts);
    *rows = (struct hp_rows){0};
}
