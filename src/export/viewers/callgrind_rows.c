// SPDX-License-Identifier: MIT
#include "export/viewers/callgrind_rows.h"

#include "base/grow.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_cg_rows_add(struct hp_cg_rows *rows, enum hp_cg_kind kind, struct hp_place place,
                           struct hp_cg_source source, struct hp_cg_row **row)
{
    HP_TRY(hp_grow(&rows->rows, &rows->capacity, rows->n + 1, sizeof *rows->rows));
    *row = &rows->rows[rows->n++];
    memset(*row, 0, sizeof **row);
    (*row)->place = place;
    (*row)->source = source;
    (*row)->kind = kind;
    return HP_OK;
}

static int compare_sources(struct hp_cg_source a, struct hp_cg_source b)
{
    int order = a.file == b.file ? 0 : strcmp(a.file, b.file);
    return order ? order : (a.line > b.line) - (a.line < b.line);
}

static int compare(const void *a, const void *b)
{
    const struct hp_cg_row *x = a, *y = b;
    int order = hp_place_compare(x->place, y->place);
    if (!order)
        order = compare_sources(x->source, y->source);
    if (!order)
        order = (x->kind > y->kind) - (x->kind < y->kind);
    if (!order && x->kind == HP_CG_JUMP)
        order = hp_place_compare(x->jump.to, y->jump.to);
    if (!order && x->kind == HP_CG_CALL)
        order = (x->call.callee > y->call.callee) - (x->call.callee < y->call.callee);
    return order;
}

void hp_cg_rows_join(struct hp_cg_rows *rows)
{
    size_t kept = 0;
    if (rows->n)
        qsort(rows->rows, rows->n, sizeof *rows->rows, compare);
    for (size_t i = 0; i < rows->n; i++) {
        struct hp_cg_row *row = &rows->rows[i], *last = kept ? &rows->rows[kept - 1] : NULL;
        if (last && row->kind == HP_CG_COST && compare(last, row) == 0)
            for (int k = 0; k < HP_CG_COLUMNS; k++)
                last->cost[k] = hp_saturating_add(last->cost[k], row->cost[k]);
        else
            rows->rows[kept++] = *row;
    }
    rows->n = kept;
}
