// SPDX-License-Identifier: MIT
/*
 * Are loops and hot spots sound, and in their normal form?
 */
#include "profile/profile_memory.h"

#include <stdlib.h>

static bool is_index(uint32_t index, size_t n)
{
    return index == HP_PROFILE_NONE || index < n;
}

/* --- Loops ------------------------------------------------------------------------------------ */

static enum hp_err check_loop(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop *loop = &p->loops[i];
    if (!is_index(loop->header.module, p->n_modules))
        return hp_fail(HP_ERR_INVALID, "loop %zu is in module %u, which does not exist", i,
                       loop->header.module);
    if (!is_index(loop->function, p->n_functions))
        return hp_fail(HP_ERR_INVALID, "loop %zu is in function %u, which does not exist", i,
                       loop->function);
    if (!is_index(loop->parent, p->n_loops))
        return hp_fail(HP_ERR_INVALID, "loop %zu is in loop %u, which does not exist", i,
                       loop->parent);
    if (loop->parent != HP_PROFILE_NONE && p->loops[loop->parent].function != loop->function)
        return hp_fail(HP_ERR_INVALID, "loop %zu is in loop %u of another function", i,
                       loop->parent);
    if (loop->flags & ~(uint32_t)HP_LOOP_IRREDUCIBLE)
        return hp_fail(HP_ERR_INVALID, "loop %zu has flags 0x%x, which do not exist", i,
                       loop->flags);
    if (loop->first_line > loop->last_line)
        return hp_fail(HP_ERR_INVALID, "loop %zu has lines %u to %u", i, loop->first_line,
                       loop->last_line);
    return HP_OK;
}

/* Walks up from every loop, no further than to where a walk has been: each loop is passed once. */
enum hp_err hp_loops_check_nesting(const struct hp_profile *p, uint32_t *culprit)
{
    if (p->n_loops == 0)
        return HP_OK;
    uint32_t *seen = calloc(p->n_loops + 1, sizeof *seen); /* by which walk, from 1 */
    if (!seen)
        return hp_fail_nomem();
    enum hp_err err = HP_OK;
    for (uint32_t start = 0; start < p->n_loops && err == HP_OK; start++) {
        uint32_t at = start;
        while (at != HP_PROFILE_NONE && !seen[at]) {
            seen[at] = start + 1;
            at = p->loops[at].parent;
        }
        if (at != HP_PROFILE_NONE && seen[at] == start + 1) {
            *culprit = at;
            err = hp_fail(HP_ERR_INVALID, "loop %u is nested in itself", at);
        }
    }
    free(seen);
    return err;
}

static enum hp_err check_loop_count(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop_count *c = &p->loop_counts[i];
    if (c->item >= p->n_loops || c->thread >= p->n_threads)
        return hp_fail(HP_ERR_INVALID,
                       "loop counter %zu is of loop %u in thread %u, which do not exist", i,
                       c->item, c->thread);
    if (c->executions > c->iterations || c->back_edges > c->iterations || c->min > c->max ||
        c->max > c->iterations || (c->executions == 0 && c->max > 0) || c->same > c->executions ||
        c->stride > c->executions || c->interrupted > c->executions)
        return hp_fail(HP_ERR_INVALID, "loop counter %zu, of loop %u, contradicts itself", i,
                       c->item);
    return HP_OK;
}

static enum hp_err check_loop_trips(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop_trips *trips = &p->loop_trips[i];
    if (trips->loop >= p->n_loops || trips->bucket > 1 ||
        (trips->bucket ? trips->value > 63 : trips->value == 0))
        return hp_fail(HP_ERR_INVALID, "trip count %zu is of loop %u, %s %llu, which cannot be", i,
                       trips->loop, trips->bucket ? "bucket" : "value",
                       (unsigned long long)trips->value);
    return HP_OK;
}

static enum hp_err check_loop_block(const struct hp_profile *p, size_t i)
{
    if (p->loop_blocks[i].loop >= p->n_loops || p->loop_blocks[i].block >= p->n_blocks)
        return hp_fail(HP_ERR_INVALID, "loop %u has block %u, which do not exist",
                       p->loop_blocks[i].loop, p->loop_blocks[i].block);
    return HP_OK;
}

static enum hp_err check_model_loop(const struct hp_profile *p, size_t i)
{
    const struct hp_pmodel_loop *loop = &p->model_loops[i];
    if (!is_index(loop->branch.module, p->n_modules) ||
        !is_index(loop->target.module, p->n_modules) || !is_index(loop->function, p->n_functions) ||
        !is_index(loop->loop, p->n_loops))
        return hp_fail(HP_ERR_INVALID,
                       "loop %zu of the models refers to something that does not exist", i);
    return HP_OK;
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static enum hp_err check_hotspot(const struct hp_profile *p, size_t i)
{
    if (p->hotspots[i].after > p->hotspots[i].total)
        return hp_fail(HP_ERR_INVALID,
                       "hot spot %zu has more instructions after its detection than in all", i);
    return HP_OK;
}

static enum hp_err check_hotspot_branch(const struct hp_profile *p, size_t i)
{
    const struct hp_photspot_branch *branch = &p->hotspot_branches[i];
    if (branch->hotspot >= p->n_hotspots || !is_index(branch->branch.module, p->n_modules) ||
        branch->flow >= HP_FLOW_COUNT_ || branch->taken > branch->executed)
        return hp_fail(HP_ERR_INVALID,
                       "branch %zu of hot spot %u, flow %u, %u of %u times taken, cannot be", i,
                       branch->hotspot, branch->flow, branch->taken, branch->executed);
    return HP_OK;
}

static enum hp_err check_hotspot_block(const struct hp_profile *p, size_t i)
{
    if (p->hotspot_blocks[i].hotspot >= p->n_hotspots || p->hotspot_blocks[i].block >= p->n_blocks)
        return hp_fail(HP_ERR_INVALID, "hot spot %u has block %u, which do not exist",
                       p->hotspot_blocks[i].hotspot, p->hotspot_blocks[i].block);
    return HP_OK;
}

static enum hp_err check_hotspot_slice(const struct hp_profile *p, size_t i)
{
    if (p->hotspot_slices[i].hotspot >= p->n_hotspots || p->hotspot_slices[i].width == 0)
        return hp_fail(
            HP_ERR_INVALID, "slice %zu is of hot spot %u and %llu instructions, which cannot be", i,
            p->hotspot_slices[i].hotspot, (unsigned long long)p->hotspot_slices[i].width);
    return HP_OK;
}

enum hp_err hp_regions_check_row(const struct hp_profile *p, enum hp_parray which, size_t i)
{
    switch (which) {
    case HP_PARRAY_LOOPS: return check_loop(p, i);
    case HP_PARRAY_LOOP_COUNTS: return check_loop_count(p, i);
    case HP_PARRAY_LOOP_TRIPS: return check_loop_trips(p, i);
    case HP_PARRAY_LOOP_BLOCKS: return check_loop_block(p, i);
    case HP_PARRAY_MODEL_LOOPS: return check_model_loop(p, i);
    case HP_PARRAY_HOTSPOTS: return check_hotspot(p, i);
    case HP_PARRAY_HOTSPOT_BRANCHES: return check_hotspot_branch(p, i);
    case HP_PARRAY_HOTSPOT_BLOCKS: return check_hotspot_block(p, i);
    case HP_PARRAY_HOTSPOT_SLICES: return check_hotspot_slice(p, i);
    default: return HP_OK;
    }
}

/* --- Normal form ------------------------------------------------------------------------------ */

static bool trips_normal(const struct hp_profile *p)
{
    size_t values = 0;
    for (size_t i = 0; i < p->n_loop_trips; i++) {
        const struct hp_ploop_trips *trips = &p->loop_trips[i];
        if (trips->count == 0)
            return false;
        if (i == 0 || trips->bucket || trips->loop != trips[-1].loop)
            values = 0;
        if (!trips->bucket && ++values > HP_LOOP_VALUES)
            return false;
    }
    return hp_order_strict(&hp_order_loop_trips, p->loop_trips, p->n_loop_trips);
}

static bool slices_normal(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_hotspot_slices; i++)
        if (p->hotspot_slices[i].instructions == 0)
            return false;
    return hp_order_strict(&hp_order_hotspot_slice, p->hotspot_slices, p->n_hotspot_slices);
}

const char *hp_regions_abnormal(const struct hp_profile *p)
{
    if (!hp_order_strict(&hp_order_loop, p->loops, p->n_loops))
        return "loops";
    if (!hp_counters_normal(p->loop_counts, p->n_loop_counts, sizeof *p->loop_counts))
        return "loop counters";
    if (!trips_normal(p))
        return "trip counts of loops";
    if (!hp_order_strict(&hp_order_loop_block, p->loop_blocks, p->n_loop_blocks))
        return "blocks of loops";
    if (!hp_order_strict(&hp_order_model_loop, p->model_loops, p->n_model_loops))
        return "loops of models";
    if (!hp_order_strict(&hp_order_hotspot, p->hotspots, p->n_hotspots))
        return "hot spots";
    if (!hp_order_strict(&hp_order_hotspot_branch, p->hotspot_branches, p->n_hotspot_branches))
        return "branches of hot spots";
    if (!hp_order_strict(&hp_order_hotspot_block, p->hotspot_blocks, p->n_hotspot_blocks))
        return "blocks of hot spots";
    return slices_normal(p) ? NULL : "slices of hot spots";
}
