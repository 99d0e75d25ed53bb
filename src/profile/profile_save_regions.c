// SPDX-License-Identifier: MIT
/*
 * Saving loops and hot spots.
 */
#include "profile/profile_store.h"

/* --- Loops ------------------------------------------------------------------------------------ */

static void put_loops(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "loop", 11, p->n_loops);
    for (size_t i = 0; i < p->n_loops && w->err == HP_OK; i++) {
        const struct hp_ploop *loop = &p->loops[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_index(w, loop->function);
        hp_store_place(w, loop->header);
        hp_store_i64(w, loop->version);
        hp_store_index(w, loop->parent);
        hp_store_i64(w, loop->insns);
        hp_store_i64(w, loop->flags);
        hp_store_string(w, loop->file);
        hp_store_i64(w, loop->first_line);
        hp_store_i64(w, loop->last_line);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_loop_counts(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "loop_count", 12, p->n_loop_counts);
    for (size_t i = 0; i < p->n_loop_counts && w->err == HP_OK; i++) {
        const struct hp_ploop_count *count = &p->loop_counts[i];
        hp_store_i64(w, count->item);
        hp_store_i64(w, count->thread);
        hp_store_u64(w, count->executions);
        hp_store_u64(w, count->iterations);
        hp_store_u64(w, count->back_edges);
        hp_store_u64(w, count->min);
        hp_store_u64(w, count->max);
        hp_store_u64(w, count->self);
        hp_store_u64(w, count->inclusive);
        hp_store_u64(w, count->same);
        hp_store_u64(w, count->stride);
        hp_store_u64(w, count->interrupted);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_loop_parts(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "loop_trip", 4, p->n_loop_trips);
    for (size_t i = 0; i < p->n_loop_trips && w->err == HP_OK; i++) {
        hp_store_i64(w, p->loop_trips[i].loop);
        hp_store_i64(w, p->loop_trips[i].bucket);
        hp_store_u64(w, p->loop_trips[i].value);
        hp_store_u64(w, p->loop_trips[i].count);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "loop_block", 2, p->n_loop_blocks);
    for (size_t i = 0; i < p->n_loop_blocks && w->err == HP_OK; i++) {
        hp_store_i64(w, p->loop_blocks[i].loop);
        hp_store_i64(w, p->loop_blocks[i].block);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_model_loops(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "model_loop", 12, p->n_model_loops);
    for (size_t i = 0; i < p->n_model_loops && w->err == HP_OK; i++) {
        const struct hp_pmodel_loop *loop = &p->model_loops[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_string(w, loop->model);
        hp_store_place(w, loop->branch);
        hp_store_place(w, loop->target);
        hp_store_index(w, loop->function);
        hp_store_index(w, loop->loop);
        hp_store_u64(w, loop->executions);
        hp_store_u64(w, loop->average);
        hp_store_u64(w, loop->iterations);
        hp_store_u64(w, loop->instructions);
        hp_store_next(w);
    }
    hp_store_end(w);
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static void put_hotspots(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "hotspot", 10, p->n_hotspots);
    for (size_t i = 0; i < p->n_hotspots && w->err == HP_OK; i++) {
        const struct hp_photspot *hotspot = &p->hotspots[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_i64(w, hotspot->run);
        hp_store_string(w, hotspot->detector);
        hp_store_i64(w, hotspot->number);
        hp_store_i64(w, hotspot->pid);
        hp_store_u64(w, hotspot->at_branches);
        hp_store_u64(w, hotspot->at_instructions);
        hp_store_i64(w, hotspot->insns);
        hp_store_u64(w, hotspot->total);
        hp_store_u64(w, hotspot->after);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_hotspot_parts(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "hotspot_branch", 7, p->n_hotspot_branches);
    for (size_t i = 0; i < p->n_hotspot_branches && w->err == HP_OK; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_i64(w, p->hotspot_branches[i].hotspot);
        hp_store_place(w, p->hotspot_branches[i].branch);
        hp_store_i64(w, p->hotspot_branches[i].flow);
        hp_store_i64(w, p->hotspot_branches[i].executed);
        hp_store_i64(w, p->hotspot_branches[i].taken);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "hotspot_block", 2, p->n_hotspot_blocks);
    for (size_t i = 0; i < p->n_hotspot_blocks && w->err == HP_OK; i++) {
        hp_store_i64(w, p->hotspot_blocks[i].hotspot);
        hp_store_i64(w, p->hotspot_blocks[i].block);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "hotspot_slice", 4, p->n_hotspot_slices);
    for (size_t i = 0; i < p->n_hotspot_slices && w->err == HP_OK; i++) {
        hp_store_i64(w, p->hotspot_slices[i].hotspot);
        hp_store_i64(w, p->hotspot_slices[i].slice);
        hp_store_u64(w, p->hotspot_slices[i].width);
        hp_store_u64(w, p->hotspot_slices[i].instructions);
        hp_store_next(w);
    }
    hp_store_end(w);
}

void hp_store_regions(struct hp_store *w, const struct hp_profile *p)
{
    put_loops(w, p);
    put_loop_counts(w, p);
    put_loop_parts(w, p);
    put_model_loops(w, p);
    put_hotspots(w, p);
    put_hotspot_parts(w, p);
}
