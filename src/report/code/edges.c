// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"from", "address of the branch", HP_PLACE("from_")},
    {"to", "where it went", HP_PLACE("to_")},
    {"kind", "as that of a block", HP_NAMED("flow"), .as = HP_AS_FLOW},
    {"taken", "false: it fell through", HP_COLUMN, .as = HP_AS_FLAG},
    {"count", "executions", HP_COUNTED(0)},
    {"error",
     "of a profile of samples: half of the 95 % interval, as a fraction of `count`; null: not "
     "known",
     .get = hp_field_error, .value = HP_ROW_EDGE_SAMPLES, .needs = HP_ROW_EDGE_SAMPLES},
    {0}};

/* Sets how often a branch is taken, below 0 where there is no choice, for the `n` edges of it. */
static void find_taken(const struct hp_pedge *edges, size_t n, const uint64_t *counts,
                       double *taken)
{
    uint64_t all = 0, along = 0;
    bool falls = false;
    for (size_t i = 0; i < n; i++) {
        hp_add_up(&all, counts[i]);
        hp_add_up(&along, edges[i].taken ? counts[i] : 0);
        /* a system call goes on with the next instruction without being a choice */
        falls |=
            edges[i].flow == HP_FLOW_COND ||
            (!edges[i].taken && edges[i].flow != HP_FLOW_NONE && edges[i].flow != HP_FLOW_SYSCALL);
    }
    for (size_t i = 0; i < n; i++)
        taken[i] = falls ? hp_number_share(along, all) : -1;
}

static void put_taken(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const double *taken = in->context;
    if (taken[row->item] >= 0)
        hp_strbuf_percent(cell, taken[row->item]);
}

static void put_kind(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pedge *edge = &in->tables->profile->edges[row->item];
    const double *taken = in->context;
    hp_strbuf_add(cell, hp_flow_name((enum hp_flow)edge->flow));
    if (taken[row->item] >= 0)
        hp_strbuf_add(cell, edge->taken ? " taken" : " not taken");
}

static void put_from(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    struct hp_place from = in->tables->profile->edges[row->item].from;
    hp_put_code(in->tables, hp_tables_function_at(in->tables, from), from, cell);
}

static void put_to(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    struct hp_place to = in->tables->profile->edges[row->item].to;
    hp_strbuf_add(cell, "-> ");
    hp_put_code(in->tables, hp_tables_function_at(in->tables, to), to, cell);
}

static const struct hp_column columns[] = {
    {"count", .right = true},
    {"±", .field = "error", .right = true},
    {"taken %", .put = put_taken, .right = true},
    {"kind", .put = put_kind},
    {"from", .put = put_from, .flexible = true, .cut = HP_CUT_NAME},
    {"to", .put = put_to, .flexible = true, .cut = HP_CUT_NAME},
    {0}};

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_pedge *edges = text->tables->profile->edges;
    size_t n_edges = text->tables->profile->n_edges;
    uint64_t *counts HP_CLEANUP(hp_free) = calloc(n_edges + 1, sizeof *counts);
    double *taken HP_CLEANUP(hp_free) = calloc(n_edges + 1, sizeof *taken);
    if (!counts || !taken)
        return hp_fail_nomem();
    const struct hp_profile *p = text->tables->profile;
    for (size_t i = 0; i < p->n_edge_counts; i++) /* also of edges that are not shown */
        hp_add_up(&counts[p->edge_counts[i].item], p->edge_counts[i].count);
    for (size_t i = 0, n; i < n_edges; i += n) { /* which are in the order of their branches */
        for (n = 1; i + n < n_edges && hp_place_compare(edges[i].from, edges[i + n].from) == 0;)
            n++;
        find_taken(&edges[i], n, &counts[i], &taken[i]);
    }
    struct hp_text with = *text;
    with.context = taken;
    return hp_print_list(&with, &hp_view_edges, rows, limit);
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
    .fields = fields,
    .columns = columns,
    .print = print,
};
