// SPDX-License-Identifier: MIT
/*
 * The heaviest paths. Each thread has its complete profile, so the same path may be in several: the
 * heaviest of each are put together. What a thread has of a path that is not among its own heaviest
 * is missing in the sum.
 */
#include "live/board_impl.h"

#include "base/grow.h"
#include "profiler/path/paths.h"

#include <stdlib.h>
#include <string.h>

#define OVER_MAX 4096 /* rows of threads that ended */

/* What of a path's executions counts; on average they have the same instructions. */
static enum hp_err add_path(struct hp_board_rows *rows, const struct hp_board *b,
                            const struct hp_path_count *path, uint64_t before)
{
    if (path->count <= before)
        return HP_OK;
    uint64_t count = path->count - before;
    struct hp_board_row row = {
        .weight = (uint64_t)((double)count * (double)path->insns / (double)path->count),
        .count = count,
        .block = path->path.block,
        .path = path->path};
    if (row.block < hp_code_n_blocks(b->code))
        row.module = hp_code_block(b->code, row.block)->module;
    return hp_board_add(rows, &row);
}

static enum hp_err add_paths(struct hp_board_rows *rows, const struct hp_board *b,
                             struct hp_complete *complete, const uint64_t *before, size_t n_before)
{
    size_t n;
    const struct hp_path_count *paths = hp_complete_paths(complete, &n);
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_path(rows, b, &paths[i], i < n_before ? before[i] : 0));
    hp_board_settle(rows);
    return HP_OK;
}

static enum hp_err keep_counts(uint64_t **to, size_t *cap, struct hp_complete *complete)
{
    size_t n;
    const struct hp_path_count *paths = hp_complete_paths(complete, &n);
    HP_TRY(hp_grow(to, cap, n + 1, sizeof **to));
    for (size_t i = 0; i < n; i++)
        (*to)[i] = paths[i].count;
    return HP_OK;
}

/* --- Of several threads ----------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    const struct hp_path *x = &((const struct hp_board_row *)a)->path;
    const struct hp_path *y = &((const struct hp_board_row *)b)->path;
    const uint64_t keys[2][5] = {{x->start, x->outcomes, x->targets, x->length, x->block},
                                 {y->start, y->outcomes, y->targets, y->length, y->block}};
    for (int i = 0; i < 5; i++)
        if (keys[0][i] != keys[1][i])
            return keys[0][i] < keys[1][i] ? -1 : 1;
    return 0;
}

/* Makes one of those that are the same path; says how many are left. */
static size_t join(struct hp_board_row *rows, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(rows, n, sizeof *rows, by_path);
    for (size_t i = 0; i < n; i++) {
        if (kept && hp_path_same(&rows[kept - 1].path, &rows[i].path)) {
            rows[kept - 1].weight += rows[i].weight;
            rows[kept - 1].count += rows[i].count;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static int by_weight(const void *a, const void *b)
{
    const struct hp_board_row *x = a, *y = b;
    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1) : by_path(a, b);
}

static enum hp_err append(struct hp_board_row **to, size_t *cap, size_t *n,
                          const struct hp_board_row *rows, size_t n_rows)
{
    HP_TRY(hp_grow(to, cap, *n + n_rows + 1, sizeof **to));
    if (n_rows)
        memcpy(*to + *n, rows, n_rows * sizeof **to);
    *n += n_rows;
    return HP_OK;
}

static struct hp_board_rows *begin_own(struct hp_board *b, enum hp_board_order order)
{
    struct hp_board_rows *rows = &b->own;
    *rows = (struct hp_board_rows){.rows = rows->rows, .cap = rows->cap, .order = order};
    return rows;
}

/* The thread has ended: what it executed since the start is kept, its counters are not. */
static enum hp_err bury(struct hp_board *b, struct hp_board_thread *t, struct hp_complete *complete)
{
    struct hp_board_rows *rows = begin_own(b, HP_BOARD_BY_SHARE);
    HP_TRY(add_paths(rows, b, complete, t->base, t->cap_base));
    HP_TRY(append(&b->over, &b->cap_over, &b->n_over, rows->rows, rows->n));
    if (b->n_over > OVER_MAX) {
        b->n_over = join(b->over, b->n_over);
        qsort(b->over, b->n_over, sizeof *b->over, by_weight);
        b->n_over = b->n_over < OVER_MAX / 2 ? b->n_over : OVER_MAX / 2;
    }
    free(t->before);
    free(t->base);
    *t = (struct hp_board_thread){.over = true};
    return HP_OK;
}

/* `known`: what it had done at the last look is known. */
static enum hp_err look_thread(struct hp_board *b, size_t i, bool known, size_t *n)
{
    struct hp_board_thread *t = &b->path_threads[i];
    const struct hp_paths_thread_view view = hp_paths_thread(b->paths, i);
    struct hp_board_rows *rows = begin_own(b, b->wish->order[HP_BOARD_PATHS]);
    if (b->paths_since)
        HP_TRY(add_paths(rows, b, view.complete, t->base, t->cap_base));
    else if (known)
        HP_TRY(add_paths(rows, b, view.complete, t->before, t->cap_before));
    HP_TRY(append(&b->candidates, &b->cap_candidates, n, rows->rows, rows->n));
    if (!view.running)
        return bury(b, t, view.complete);
    return keep_counts(&t->before, &t->cap_before, view.complete);
}

enum hp_err hp_board_look_paths(struct hp_board *b, const struct hp_board_wish *wish)
{
    size_t n_threads = hp_paths_threads(b->paths), n = 0;
    bool known = b->paths_looked == b->n_history;
    b->paths_since = wish->since;
    hp_paths_catch_up(b->paths);
    HP_TRY(hp_grow(&b->path_threads, &b->cap_path_threads, n_threads + 1, sizeof *b->path_threads));
    if (wish->since)
        HP_TRY(append(&b->candidates, &b->cap_candidates, &n, b->over, b->n_over));
    for (size_t i = 0; i < n_threads; i++)
        if (!b->path_threads[i].over)
            HP_TRY(look_thread(b, i, known, &n));
    b->n_candidates = join(b->candidates, n);
    b->paths_looked = b->n_history + 1;
    b->paths_known = known || wish->since;
    return HP_OK;
}

enum hp_err hp_board_offer_paths(struct hp_board *b)
{
    b->stale =
        b->paths_looked != b->n_history || b->paths_since != b->wish->since || !b->paths_known;
    for (size_t i = 0; i < b->n_candidates && !b->stale; i++)
        HP_TRY(hp_board_offer(b, HP_BOARD_PATHS, b->candidates[i]));
    return HP_OK;
}

enum hp_err hp_board_reset_paths(struct hp_board *b)
{
    size_t n = b->paths ? hp_paths_threads(b->paths) : 0;
    HP_TRY(hp_grow(&b->path_threads, &b->cap_path_threads, n + 1, sizeof *b->path_threads));
    if (b->paths)
        hp_paths_catch_up(b->paths);
    b->n_over = 0;
    for (size_t i = 0; i < n; i++) {
        struct hp_board_thread *t = &b->path_threads[i];
        if (!t->over)
            HP_TRY(keep_counts(&t->base, &t->cap_base, hp_paths_thread(b->paths, i).complete));
    }
    return HP_OK;
}

void hp_board_fini_paths(struct hp_board *b)
{
    for (size_t i = 0; i < b->cap_path_threads; i++) {
        free(b->path_threads[i].before);
        free(b->path_threads[i].base);
    }
    free(b->path_threads);
    free(b->own.rows);
    free(b->candidates);
    free(b->over);
}
