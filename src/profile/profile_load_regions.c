// SPDX-License-Identifier: MIT
/*
 * Loading loops and hot spots. The tables may not be there.
 */
#include "profile/profile_loader.h"

/* --- Loops ------------------------------------------------------------------------------------ */

static void load_loops(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ploop *loop;
    if (!hp_reader_has(r, "loop"))
        return;
    hp_reader_begin(r, "loop");
    while (hp_reader_next(r) && (r->err = hp_profile_add_loop(l->profile, &loop)) == HP_OK) {
        hp_reader_id(r);
        loop->function = hp_reader_index(r);
        loop->header = hp_reader_place(r);
        loop->version = hp_reader_u32(r);
        loop->parent = hp_reader_index(r);
        loop->insns = hp_reader_u32(r);
        loop->flags = hp_reader_u32(r);
        loop->file = hp_loader_string(l);
        loop->first_line = hp_reader_u32(r);
        loop->last_line = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_loop_counts(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ploop_count *count;
    if (!hp_reader_has(r, "loop_count"))
        return;
    hp_reader_begin(r, "loop_count");
    while (hp_reader_next(r) && (r->err = hp_profile_add_loop_count(l->profile, &count)) == HP_OK) {
        count->item = hp_reader_u32(r);
        count->thread = hp_reader_u32(r);
        count->executions = hp_reader_u64(r);
        count->iterations = hp_reader_u64(r);
        count->back_edges = hp_reader_u64(r);
        count->min = hp_reader_u64(r);
        count->max = hp_reader_u64(r);
        count->self = hp_reader_u64(r);
        count->inclusive = hp_reader_u64(r);
        count->same = hp_reader_u64(r);
        count->stride = hp_reader_u64(r);
        count->interrupted = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_loop_trips(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ploop_trips *trips;
    if (!hp_reader_has(r, "loop_trip"))
        return;
    hp_reader_begin(r, "loop_trip");
    while (hp_reader_next(r) && (r->err = hp_profile_add_loop_trips(l->profile, &trips)) == HP_OK) {
        trips->loop = hp_reader_u32(r);
        trips->bucket = (uint8_t)hp_reader_i64(r, 0, 1);
        trips->value = hp_reader_u64(r);
        trips->count = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_loop_blocks(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_ploop_block *block;
    if (!hp_reader_has(r, "loop_block"))
        return;
    hp_reader_begin(r, "loop_block");
    while (hp_reader_next(r) && (r->err = hp_profile_add_loop_block(l->profile, &block)) == HP_OK) {
        block->loop = hp_reader_u32(r);
        block->block = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_model_loops(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pmodel_loop *loop;
    if (!hp_reader_has(r, "model_loop"))
        return;
    hp_reader_begin(r, "model_loop");
    while (hp_reader_next(r) && (r->err = hp_profile_add_model_loop(l->profile, &loop)) == HP_OK) {
        hp_reader_id(r);
        loop->model = hp_loader_string(l);
        loop->branch = hp_reader_place(r);
        loop->target = hp_reader_place(r);
        loop->function = hp_reader_index(r);
        loop->loop = hp_reader_index(r);
        loop->executions = hp_reader_u64(r);
        loop->average = hp_reader_u64(r);
        loop->iterations = hp_reader_u64(r);
        loop->instructions = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static void load_hotspots(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_photspot *hotspot;
    if (!hp_reader_has(r, "hotspot"))
        return;
    hp_reader_begin(r, "hotspot");
    while (hp_reader_next(r) && (r->err = hp_profile_add_hotspot(l->profile, &hotspot)) == HP_OK) {
        hp_reader_id(r);
        hotspot->run = hp_reader_u32(r);
        hotspot->detector = hp_loader_string(l);
        hotspot->number = hp_reader_u32(r);
        hotspot->pid = (int32_t)hp_reader_i64(r, INT32_MIN, INT32_MAX);
        hotspot->at_branches = hp_reader_u64(r);
        hotspot->at_instructions = hp_reader_u64(r);
        hotspot->insns = hp_reader_u32(r);
        hotspot->total = hp_reader_u64(r);
        hotspot->after = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_hotspot_branches(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_photspot_branch *branch;
    if (!hp_reader_has(r, "hotspot_branch"))
        return;
    hp_reader_begin(r, "hotspot_branch");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_hotspot_branch(l->profile, &branch)) == HP_OK) {
        hp_reader_id(r);
        branch->hotspot = hp_reader_u32(r);
        branch->branch = hp_reader_place(r);
        branch->flow = (uint8_t)hp_reader_i64(r, 0, HP_FLOW_COUNT_ - 1);
        branch->executed = hp_reader_u32(r);
        branch->taken = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_hotspot_blocks(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_photspot_block *block;
    if (!hp_reader_has(r, "hotspot_block"))
        return;
    hp_reader_begin(r, "hotspot_block");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_hotspot_block(l->profile, &block)) == HP_OK) {
        block->hotspot = hp_reader_u32(r);
        block->block = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_hotspot_slices(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_photspot_slice *slice;
    if (!hp_reader_has(r, "hotspot_slice"))
        return;
    hp_reader_begin(r, "hotspot_slice");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_hotspot_slice(l->profile, &slice)) == HP_OK) {
        slice->hotspot = hp_reader_u32(r);
        slice->slice = hp_reader_u32(r);
        slice->width = hp_reader_u64(r);
        slice->instructions = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

void hp_loader_regions(struct hp_loader *l)
{
    load_loops(l);
    load_loop_counts(l);
    load_loop_trips(l);
    load_loop_blocks(l);
    load_model_loops(l);
    load_hotspots(l);
    load_hotspot_branches(l);
    load_hotspot_blocks(l);
    load_hotspot_slices(l);
}
