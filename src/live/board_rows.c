// SPDX-License-Identifier: MIT
/* The heaviest of many rows: twice as many as are kept, then the lighter half goes. */
#include "live/board_impl.h"

#include "base/grow.h"

#include <stdlib.h>

/* A total order, so that equal ones do not jump. */
static int compare(const struct hp_board_row *a, const struct hp_board_row *b,
                   enum hp_board_order order)
{
    bool by_count = order == HP_BOARD_BY_COUNT;
    const uint64_t keys[2][5] = {{by_count ? b->count : b->weight, by_count ? b->weight : b->count,
                                  a->id, a->path.start, a->path.outcomes},
                                 {by_count ? a->count : a->weight, by_count ? a->weight : a->count,
                                  b->id, b->path.start, b->path.outcomes}};
    for (int i = 0; i < 5; i++)
        if (keys[0][i] != keys[1][i])
            return keys[0][i] < keys[1][i] ? -1 : 1;
    return 0;
}

static int by_share(const void *a, const void *b)
{
    return compare(a, b, HP_BOARD_BY_SHARE);
}

static int by_count(const void *a, const void *b)
{
    return compare(a, b, HP_BOARD_BY_COUNT);
}

void hp_board_settle(struct hp_board_rows *rows)
{
    if (rows->n)
        qsort(rows->rows, rows->n, sizeof *rows->rows,
              rows->order == HP_BOARD_BY_COUNT ? by_count : by_share);
    if (rows->n > HP_BOARD_ROWS) {
        rows->n = HP_BOARD_ROWS;
        rows->cut = true;
    }
}

enum hp_err hp_board_add(struct hp_board_rows *rows, const struct hp_board_row *row)
{
    /* What was cut before is in order, and what is behind its last row would be cut again. */
    if (rows->cut && compare(row, &rows->rows[HP_BOARD_ROWS - 1], rows->order) > 0)
        return HP_OK;
    if (rows->n == (size_t)2 * HP_BOARD_ROWS)
        hp_board_settle(rows);
    HP_TRY(hp_grow(&rows->rows, &rows->cap, rows->n + 1, sizeof *rows->rows));
    rows->rows[rows->n++] = *row;
    return HP_OK;
}

enum hp_err hp_board_offer(struct hp_board *b, enum hp_board_kind kind, struct hp_board_row row)
{
    hp_board_name(b, kind, &row);
    if (b->wish->passes && !b->wish->passes(b->wish->context, kind, &row))
        return HP_OK;
    return hp_board_add(&b->kinds[kind], &row);
}
