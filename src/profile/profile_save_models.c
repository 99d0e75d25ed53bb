// SPDX-License-Identifier: MIT
/*
 * Saving what came later than the counters: contexts, paths, and what models say.
 */
#include "profile/profile_store.h"

static void put_contexts(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "context", 3, p->n_contexts);
    for (size_t i = 0; i < p->n_contexts && w->err == HP_OK; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_index(w, p->contexts[i].parent);
        hp_store_index(w, p->contexts[i].function);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "context_count", 4, p->n_context_counts);
    for (size_t i = 0; i < p->n_context_counts && w->err == HP_OK; i++) {
        hp_store_i64(w, p->context_counts[i].item);
        hp_store_i64(w, p->context_counts[i].thread);
        hp_store_u64(w, p->context_counts[i].self);
        hp_store_u64(w, p->context_counts[i].calls);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_table_paths(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "table_path", 3, p->n_table_paths);
    for (size_t i = 0; i < p->n_table_paths && w->err == HP_OK; i++) {
        hp_store_string(w, p->table_paths[i].table);
        hp_store_i64(w, p->table_paths[i].path);
        hp_store_u64(w, p->table_paths[i].events);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_paths(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "path", 8, p->n_paths);
    for (size_t i = 0; i < p->n_paths && w->err == HP_OK; i++) {
        const struct hp_ppath *path = &p->paths[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_string(w, path->kind);
        hp_store_place(w, path->start);
        hp_store_i64(w, path->length);
        hp_store_i64(w, (int64_t)path->outcomes); /* bits, not amounts */
        hp_store_i64(w, (int64_t)path->targets);
        hp_store_index(w, path->function);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "path_step", 4, p->n_path_steps);
    for (size_t i = 0; i < p->n_path_steps && w->err == HP_OK; i++) {
        hp_store_i64(w, p->path_steps[i].path);
        hp_store_i64(w, p->path_steps[i].position);
        hp_store_i64(w, p->path_steps[i].block);
        hp_store_i64(w, p->path_steps[i].how);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "path_count", 5, p->n_path_counts);
    for (size_t i = 0; i < p->n_path_counts && w->err == HP_OK; i++) {
        hp_store_i64(w, p->path_counts[i].item);
        hp_store_i64(w, p->path_counts[i].thread);
        hp_store_u64(w, p->path_counts[i].count);
        hp_store_u64(w, p->path_counts[i].insns);
        hp_store_u64(w, p->path_counts[i].events);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_prediction(struct hp_store *w, const struct hp_pprediction *prediction)
{
    hp_store_text(w, prediction->scheme);
    hp_store_u64(w, prediction->delay);
    hp_store_u64(w, prediction->flow);
    hp_store_u64(w, prediction->paths);
    hp_store_u64(w, prediction->heads);
    hp_store_u64(w, prediction->hot_paths);
    hp_store_u64(w, prediction->hot_flow);
    hp_store_u64(w, prediction->predicted);
    hp_store_u64(w, prediction->predicted_hot);
    hp_store_u64(w, prediction->hits);
    hp_store_u64(w, prediction->noise);
    hp_store_u64(w, prediction->missed);
    hp_store_u64(w, prediction->profiled);
    hp_store_i64(w, prediction->closed_hits);
    hp_store_i64(w, prediction->closed_noise);
    hp_store_i64(w, prediction->closed_missed);
    hp_store_u64(w, prediction->counters);
    hp_store_u64(w, prediction->operations);
    hp_store_u64(w, prediction->branches);
}

static void put_models(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "model_stat", 5, p->n_stats);
    for (size_t i = 0; i < p->n_stats; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, p->stats[i].part);
        hp_store_text(w, p->stats[i].name);
        hp_store_i64(w, p->stats[i].unit);
        hp_store_u64(w, p->stats[i].value);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "prediction", 20, p->n_predictions);
    for (size_t i = 0; i < p->n_predictions; i++) {
        hp_store_i64(w, (int64_t)i);
        put_prediction(w, &p->predictions[i]);
        hp_store_next(w);
    }
    hp_store_end(w);
}

void hp_store_models(struct hp_store *w, const struct hp_profile *p)
{
    put_contexts(w, p);
    put_paths(w, p);
    put_table_paths(w, p);
    put_models(w, p);
}
