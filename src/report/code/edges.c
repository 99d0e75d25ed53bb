// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

#include <stdlib.h>

static const struct hp_field fields[] = {
    {"from", "address of the branch", HP_PLACE("from_")},
    {"to", "where it went", HP_PLACE("to_")},
    {"kind", "as that of a block", HP_NAMED("flow"), .as = HP_AS_FLOW},
    {"taken", "false: it fell through", HP_COLUMN, .as = HP_AS_FLAG},
    {"count", "executions", HP_COUNTED(0)},
    {0}};

static const struct hp_column columns[] = {{"count", .right = true}, {"taken %", .right = true},
                                           {.title = "kind"},        {"from", .flexible = true},
                                           {"to", .flexible = true}, {0}};

/* --- How often branches are taken: by edge, below 0 where there is no choice ------------------ */

static int compare_from(const void *a, const void *b, void *context)
{
    const struct hp_pedge *edges = context;
    return hp_place_compare(edges[*(const uint32_t *)a].from, edges[*(const uint32_t *)b].from);
}

/* Sets `taken` of the `n` edges that leave one branch. */
static void find_taken(const struct hp_pedge *edges, const uint32_t *items, size_t n,
                       const uint64_t *counts, double *taken)
{
    uint64_t all = 0, along = 0;
    bool falls = false;
    for (size_t i = 0; i < n; i++) {
        const struct hp_pedge *edge = &edges[items[i]];
        uint64_t count = counts[items[i]];
        all = hp_saturating_add(all, count);
        along = hp_saturating_add(along, edge->taken ? count : 0);
        /* a system call goes on with the next instruction without being a choice */
        falls |= edge->flow == HP_FLOW_COND ||
                 (!edge->taken && edge->flow != HP_FLOW_NONE && edge->flow != HP_FLOW_SYSCALL);
    }
    for (size_t i = 0; i < n; i++)
        taken[items[i]] = falls ? hp_number_share(along, all) : -1;
}

/* The edges by their branches, which is the order of a normal profile already. */
static void order_by_branch(struct hp_pedge *edges, size_t n, uint32_t *items)
{
    bool sorted = true;
    for (uint32_t i = 0; i < n; i++) {
        items[i] = i;
        sorted = sorted && (i == 0 || hp_place_compare(edges[i - 1].from, edges[i].from) <= 0);
    }
    if (!sorted)
        qsort_r(items, n, sizeof *items, compare_from, edges);
}

static enum hp_err make_taken(const struct hp_tables *tables, const struct hp_rows *rows,
                              double **taken)
{
    struct hp_pedge *edges = tables->profile->edges;
    size_t n_edges = tables->profile->n_edges;
    uint32_t *items = calloc(n_edges + 1, sizeof *items);
    uint64_t *counts = calloc(n_edges + 1, sizeof *counts);
    *taken = calloc(n_edges + 1, sizeof **taken);
    enum hp_err err = items && counts && *taken ? HP_OK : hp_fail_nomem();
    if (err == HP_OK) {
        for (size_t i = 0; i < rows->n; i++)
            counts[rows->rows[i].item] = rows->rows[i].v[0];
        order_by_branch(edges, n_edges, items);
        for (size_t i = 0, n; i < n_edges; i += n) {
            for (n = 1; i + n < n_edges && compare_from(&items[i], &items[i + n], edges) == 0;)
                n++;
            find_taken(edges, &items[i], n, counts, *taken);
        }
    } else {
        free(*taken);
        *taken = NULL;
    }
    free(items);
    free(counts);
    return err;
}

/* --- Text ------------------------------------------------------------------------------------- */

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_pedge *edge = &in->tables->profile->edges[row->item];
    const double *taken = in->context;
    hp_strbuf_human(&cells[0], row->v[0]);
    if (hp_put_thread(row, &cells[3]))
        return 0;
    hp_strbuf_add(&cells[2], hp_flow_name((enum hp_flow)edge->flow));
    if (taken[row->item] >= 0) {
        hp_strbuf_percent(&cells[1], taken[row->item]);
        hp_strbuf_add(&cells[2], edge->taken ? " taken" : " not taken");
    }
    hp_put_code(in->tables, hp_tables_function_at(in->tables, edge->from), edge->from, &cells[3]);
    hp_strbuf_add(&cells[4], "-> ");
    hp_put_code(in->tables, hp_tables_function_at(in->tables, edge->to), edge->to, &cells[4]);
    return 0;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    double *taken;
    HP_TRY(make_taken(text->tables, rows, &taken));
    struct hp_text with = *text;
    with.context = taken;
    hp_rows_keep(rows, text->tables, &hp_view_edges, limit);
    enum hp_err err = hp_print_rows(&with, &hp_view_edges, NULL, rows, NULL);
    hp_print_more(text->out, rows->n_left_out);
    free(taken);
    return err;
}

static int compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    int order = hp_place_compare(p->edges[a].from, p->edges[b].from);
    return order ? order : hp_place_compare(p->edges[a].to, p->edges[b].to);
}

const struct hp_view hp_view_edges = {
    .name = "edges",
    .help = "control transfers, by how often they happened",
    .title = "Edges",
    .each = "control transfer that happened",
    .order = "`count`, then `from`, `to`",
    .empty = "no control transfer was executed",
    .lines = HP_LINES_NONE,
    .item = HP_ROW_EDGE,
    .counter = HP_ROW_EDGE_COUNT,
    .values = {"count"},
    .by_thread = true,
    .compare = compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
};
