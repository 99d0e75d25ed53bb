// SPDX-License-Identifier: MIT
/*
 * Loading what came later than the counters: contexts, paths, and what models say. The tables may not be there.
 */
#include "profile/profile_loader.h"

static void load_contexts(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pcontext *context;
    if (!hp_reader_has(r, "context"))
        return;
    hp_reader_begin(r, "context");
    while (hp_reader_next(r) && (r->err = hp_profile_add_context(l->profile, &context)) == HP_OK) {
        hp_reader_id(r);
        context->parent = hp_reader_index(r);
        context->function = hp_reader_index(r);
    }
    hp_reader_end(r);
}

static void load_context_counts(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pcontext_count *count;
    if (!hp_reader_has(r, "context_count"))
        return;
    hp_reader_begin(r, "context_count");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_context_count(l->profile, &count)) == HP_OK) {
        count->item = hp_reader_u32(r);
        count->thread = hp_reader_u32(r);
        count->self = hp_reader_u64(r);
        count->calls = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_table_paths(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ptable_path *path;
    if (!hp_reader_has(r, "table_path"))
        return;
    hp_reader_begin(r, "table_path");
    while (hp_reader_next(r) && (r->err = hp_profile_add_table_path(l->profile, &path)) == HP_OK) {
        path->table = hp_loader_string(l);
        path->path = hp_reader_u32(r);
        path->events = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_paths(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ppath *path;
    if (!hp_reader_has(r, "path"))
        return;
    hp_reader_begin(r, "path");
    while (hp_reader_next(r) && (r->err = hp_profile_add_path(l->profile, &path)) == HP_OK) {
        hp_reader_id(r);
        path->kind = hp_loader_string(l);
        path->start = hp_reader_place(r);
        path->length = hp_reader_u32(r);
        path->outcomes = (uint64_t)hp_reader_i64(r, INT64_MIN, INT64_MAX);
        path->targets = (uint64_t)hp_reader_i64(r, INT64_MIN, INT64_MAX);
        path->function = hp_reader_index(r);
    }
    hp_reader_end(r);
}

static void load_path_steps(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pstep *step;
    if (!hp_reader_has(r, "path_step"))
        return;
    hp_reader_begin(r, "path_step");
    while (hp_reader_next(r) && (r->err = hp_profile_add_path_step(l->profile, &step)) == HP_OK) {
        step->path = hp_reader_u32(r);
        step->position = hp_reader_u32(r);
        step->block = hp_reader_u32(r);
        step->how = (uint8_t)hp_reader_i64(r, 0, HP_STEP_END);
    }
    hp_reader_end(r);
}

static void load_path_counts(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ppath_count *count;
    if (!hp_reader_has(r, "path_count"))
        return;
    hp_reader_begin(r, "path_count");
    while (hp_reader_next(r) && (r->err = hp_profile_add_path_count(l->profile, &count)) == HP_OK) {
        count->item = hp_reader_u32(r);
        count->thread = hp_reader_u32(r);
        count->count = hp_reader_u64(r);
        count->insns = hp_reader_u64(r);
        count->events = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_stats(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    if (!hp_reader_has(r, "model_stat"))
        return;
    hp_reader_begin(r, "model_stat");
    while (hp_reader_next(r)) {
        hp_reader_id(r);
        const char *part = hp_loader_text(l), *name = hp_loader_text(l);
        enum hp_stat_unit unit = (enum hp_stat_unit)hp_reader_i64(r, 0, HP_STAT_SHARE);
        uint64_t value = hp_reader_u64(r);
        if (r->err == HP_OK)
            r->err = hp_profile_add_stat(l->profile, part, name, unit, value);
    }
    hp_reader_end(r);
}

static void load_predictions(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pprediction *p;
    if (!hp_reader_has(r, "prediction"))
        return;
    hp_reader_begin(r, "prediction");
    while (hp_reader_next(r) && (r->err = hp_profile_add_prediction(l->profile, &p)) == HP_OK) {
        hp_reader_id(r);
        p->scheme = hp_loader_text(l);
        p->delay = hp_reader_u64(r);
        p->flow = hp_reader_u64(r);
        p->paths = hp_reader_u64(r);
        p->heads = hp_reader_u64(r);
        p->hot_paths = hp_reader_u64(r);
        p->hot_flow = hp_reader_u64(r);
        p->predicted = hp_reader_u64(r);
        p->predicted_hot = hp_reader_u64(r);
        p->hits = hp_reader_u64(r);
        p->noise = hp_reader_u64(r);
        p->missed = hp_reader_u64(r);
        p->profiled = hp_reader_u64(r);
        p->closed_hits = hp_reader_i64(r, INT64_MIN, INT64_MAX);
        p->closed_noise = hp_reader_i64(r, INT64_MIN, INT64_MAX);
        p->closed_missed = hp_reader_i64(r, INT64_MIN, INT64_MAX);
        p->counters = hp_reader_u64(r);
        p->operations = hp_reader_u64(r);
        p->branches = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

void hp_loader_models(struct hp_loader *l)
{
    load_contexts(l);
    load_context_counts(l);
    load_paths(l);
    load_path_steps(l);
    load_path_counts(l);
    load_table_paths(l);
    load_stats(l);
    load_predictions(l);
}
