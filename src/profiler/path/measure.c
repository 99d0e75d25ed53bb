// SPDX-License-Identifier: MIT
#include "profiler/path/path_index.h"

#include <stdlib.h>

static uint64_t weight_of(const struct hp_path_count *path, enum hp_weight weight)
{
    switch (weight) {
    case HP_WEIGHT_COUNT: return path->count;
    case HP_WEIGHT_INSNS: return path->insns;
    case HP_WEIGHT_EVENTS: break;
    }
    return path->events;
}

static double total(const struct hp_path_count *paths, size_t n, enum hp_weight weight)
{
    unsigned __int128 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weight_of(&paths[i], weight);
    return (double)sum;
}

static enum hp_err index_all(const struct hp_path_count *paths, size_t n,
                             struct hp_path_index *index)
{
    if (n > HP_PATH_INDEX_MAX)
        return hp_fail(HP_ERR_INVALID, "paths: %zu paths are too many to compare", n);
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_path_index_add(index, paths, (uint32_t)i, hp_path_hash(&paths[i].path)));
    return HP_OK;
}

/* The smaller side is indexed: the table. */
enum hp_err hp_path_overlap(const struct hp_path_count *table, size_t n_table,
                            const struct hp_path_count *complete, size_t n_complete,
                            enum hp_weight weight, double *percent)
{
    struct hp_path_index index = {0};
    double all_table = total(table, n_table, HP_WEIGHT_COUNT);
    double all_complete = total(complete, n_complete, weight), sum = 0;
    *percent = all_table == 0 && all_complete == 0 ? 100 : 0;
    if (all_table == 0 || all_complete == 0)
        return HP_OK;
    enum hp_err err = index_all(table, n_table, &index);
    for (size_t i = 0; i < n_complete && err == HP_OK; i++) {
        const struct hp_path *path = &complete[i].path;
        uint32_t place = hp_path_index_find(&index, table, path, hp_path_hash(path));
        if (place == HP_NO_ID)
            continue;
        double a = (double)table[place].count / all_table;
        double b = (double)weight_of(&complete[i], weight) / all_complete;
        sum += a < b ? a : b;
    }
    hp_path_index_fini(&index);
    *percent = sum * 100;
    return err;
}

static int heavier_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

enum hp_err hp_path_coverage(const struct hp_path_count *complete, size_t n_complete,
                             enum hp_weight weight, size_t n, double *percent)
{
    double all = total(complete, n_complete, weight);
    *percent = 100;
    if (all == 0)
        return HP_OK;
    uint64_t *weights = malloc(n_complete * sizeof *weights);
    if (!weights)
        return hp_fail_nomem();
    for (size_t i = 0; i < n_complete; i++)
        weights[i] = weight_of(&complete[i], weight);
    qsort(weights, n_complete, sizeof *weights, heavier_first);
    unsigned __int128 sum = 0;
    for (size_t i = 0; i < n_complete && i < n; i++)
        sum += weights[i];
    free(weights);
    *percent = (double)sum / all * 100;
    return HP_OK;
}
