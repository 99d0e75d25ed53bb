// SPDX-License-Identifier: MIT
/*
 * Is a profile sound, and is it in its normal form?
 */
#include "hotpath/path.h"
#include "profile/profile_memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_index(uint32_t index, size_t n)
{
    return index == HP_PROFILE_NONE || index < n;
}

static enum hp_err check_function(const struct hp_profile *p, size_t i)
{
    if (!is_index(p->functions[i].place.module, p->n_modules))
        return hp_fail(HP_ERR_INVALID, "function %zu is in module %u, which does not exist", i,
                       p->functions[i].place.module);
    return HP_OK;
}

static enum hp_err check_block(const struct hp_profile *p, size_t i)
{
    const struct hp_pblock *block = &p->blocks[i];
    if (!is_index(block->place.module, p->n_modules))
        return hp_fail(HP_ERR_INVALID, "block %zu is in module %u, which does not exist", i,
                       block->place.module);
    if (!is_index(block->function, p->n_functions))
        return hp_fail(HP_ERR_INVALID, "block %zu is in function %u, which does not exist", i,
                       block->function);
    if (block->flow >= HP_FLOW_COUNT_)
        return hp_fail(HP_ERR_INVALID, "block %zu has flow %u, which does not exist", i,
                       block->flow);
    if (block->branch > block->size)
        return hp_fail(HP_ERR_INVALID, "block %zu ends with an instruction outside it", i);
    return HP_OK;
}

static enum hp_err check_edge(const struct hp_profile *p, size_t i)
{
    const struct hp_pedge *edge = &p->edges[i];
    if (!is_index(edge->from.module, p->n_modules) || !is_index(edge->to.module, p->n_modules))
        return hp_fail(HP_ERR_INVALID, "edge %zu refers to a module that does not exist", i);
    if (edge->flow >= HP_FLOW_COUNT_ || edge->taken > 1)
        return hp_fail(HP_ERR_INVALID, "edge %zu has flow %u, taken %u, which cannot be", i,
                       edge->flow, edge->taken);
    return HP_OK;
}

static enum hp_err check_call(const struct hp_profile *p, size_t i)
{
    if (!is_index(p->calls[i].caller, p->n_functions) ||
        !is_index(p->calls[i].callee, p->n_functions))
        return hp_fail(HP_ERR_INVALID, "call %zu refers to a function that does not exist", i);
    return HP_OK;
}

static enum hp_err check_line(const struct hp_profile *p, size_t i)
{
    const struct hp_pline *line = &p->lines[i];
    if (line->block >= p->n_blocks)
        return hp_fail(HP_ERR_INVALID, "line %zu is of block %u, which does not exist", i,
                       line->block);
    if (line->from > line->to || line->to > p->blocks[line->block].size)
        return hp_fail(HP_ERR_INVALID, "line %zu is of bytes %u to %u, outside its block", i,
                       line->from, line->to);
    return HP_OK;
}

static enum hp_err check_path(const struct hp_profile *p, size_t i)
{
    const struct hp_ppath *path = &p->paths[i];
    if (!is_index(path->start.module, p->n_modules))
        return hp_fail(HP_ERR_INVALID, "path %zu is in module %u, which does not exist", i,
                       path->start.module);
    if (!is_index(path->function, p->n_functions))
        return hp_fail(HP_ERR_INVALID, "path %zu is in function %u, which does not exist", i,
                       path->function);
    if (path->length > HP_PATH_MAX_LENGTH || (path->length < 64 && path->outcomes >> path->length))
        return hp_fail(HP_ERR_INVALID, "path %zu has %u branches with outcomes 0x%llx", i,
                       path->length, (unsigned long long)path->outcomes);
    return HP_OK;
}

static enum hp_err check_step(const struct hp_profile *p, size_t i)
{
    const struct hp_pstep *step = &p->path_steps[i];
    if (step->path >= p->n_paths || step->block >= p->n_blocks || step->how > HP_STEP_END)
        return hp_fail(HP_ERR_INVALID,
                       "step %zu is of path %u, block %u, left in way %u, which cannot be", i,
                       step->path, step->block, step->how);
    return HP_OK;
}

static enum hp_err check_table_path(const struct hp_profile *p, size_t i)
{
    if (p->table_paths[i].path >= p->n_paths)
        return hp_fail(HP_ERR_INVALID, "path %zu of a table is path %u, which does not exist", i,
                       p->table_paths[i].path);
    return HP_OK;
}

static enum hp_err check_stat(const struct hp_profile *p, size_t i)
{
    if (p->stats[i].unit > HP_STAT_SHARE)
        return hp_fail(HP_ERR_INVALID, "stat %zu has unit %u, which does not exist", i,
                       p->stats[i].unit);
    return HP_OK;
}

static enum hp_err check_counter(const char *what, size_t i, uint32_t item, size_t n_items,
                                 uint32_t thread, size_t n_threads)
{
    if (item >= n_items)
        return hp_fail(HP_ERR_INVALID, "%s counter %zu is of %s %u, which does not exist", what, i,
                       what, item);
    if (thread >= n_threads)
        return hp_fail(HP_ERR_INVALID, "%s counter %zu is of thread %u, which does not exist", what,
                       i, thread);
    return HP_OK;
}

enum hp_err hp_profile_check_row(const struct hp_profile *p, enum hp_parray which, size_t i)
{
    switch (which) {
    case HP_PARRAY_FUNCTIONS: return check_function(p, i);
    case HP_PARRAY_BLOCKS: return check_block(p, i);
    case HP_PARRAY_EDGES: return check_edge(p, i);
    case HP_PARRAY_CALLS: return check_call(p, i);
    case HP_PARRAY_LINES: return check_line(p, i);
    case HP_PARRAY_PATHS: return check_path(p, i);
    case HP_PARRAY_PATH_STEPS: return check_step(p, i);
    case HP_PARRAY_TABLE_PATHS: return check_table_path(p, i);
    case HP_PARRAY_STATS: return check_stat(p, i);
    case HP_PARRAY_BLOCK_COUNTS:
        return check_counter("block", i, p->block_counts[i].item, p->n_blocks,
                             p->block_counts[i].thread, p->n_threads);
    case HP_PARRAY_EDGE_COUNTS:
        return check_counter("edge", i, p->edge_counts[i].item, p->n_edges,
                             p->edge_counts[i].thread, p->n_threads);
    case HP_PARRAY_FUNCTION_COUNTS:
        return check_counter("function", i, p->function_counts[i].item, p->n_functions,
                             p->function_counts[i].thread, p->n_threads);
    case HP_PARRAY_CALL_COUNTS:
        return check_counter("call", i, p->call_counts[i].item, p->n_calls,
                             p->call_counts[i].thread, p->n_threads);
    case HP_PARRAY_PATH_COUNTS:
        return check_counter("path", i, p->path_counts[i].item, p->n_paths,
                             p->path_counts[i].thread, p->n_threads);
    case HP_PARRAY_CONTEXTS:
    case HP_PARRAY_CONTEXT_COUNTS: return hp_contexts_check_row(p, which, i);
    case HP_PARRAY_LOOPS:
    case HP_PARRAY_LOOP_COUNTS:
    case HP_PARRAY_LOOP_TRIPS:
    case HP_PARRAY_LOOP_BLOCKS:
    case HP_PARRAY_MODEL_LOOPS:
    case HP_PARRAY_HOTSPOTS:
    case HP_PARRAY_HOTSPOT_BRANCHES:
    case HP_PARRAY_HOTSPOT_BLOCKS:
    case HP_PARRAY_HOTSPOT_SLICES: return hp_regions_check_row(p, which, i);
    case HP_PARRAY_MODULES:
    case HP_PARRAY_THREADS:
    case HP_PARRAY_PREDICTIONS:
    case HP_PARRAY_NOTES:
    case HP_PARRAY_COUNT_: return HP_OK;
    default: return hp_insns_check_row(p, which, i);
    }
}

enum hp_err hp_profile_check(const struct hp_profile *p)
{
    if ((unsigned)p->run.arch >= HP_ARCH_COUNT_)
        return hp_fail(HP_ERR_INVALID, "architecture %d does not exist", (int)p->run.arch);
    for (int which = 0; which < HP_PARRAY_COUNT_; which++) {
        size_t n = hp_profile_array_length(p, (enum hp_parray)which);
        for (size_t i = 0; i < n; i++)
            HP_TRY(hp_profile_check_row(p, (enum hp_parray)which, i));
    }
    uint32_t culprit;
    HP_TRY(hp_contexts_check_depth(p, &culprit));
    return hp_loops_check_nesting(p, &culprit);
}

/* --- Normal form ------------------------------------------------------------------------------ */

/* In order, and no two the same: those need not be neighbours in the order by path. */
static enum hp_err modules_normal(const struct hp_profile *p, bool *normal)
{
    *normal = hp_order_strict(&hp_order_module, p->modules, p->n_modules);
    if (!*normal || p->n_modules < 2)
        return HP_OK;
    size_t n = p->n_modules;
    uint32_t *map;
    struct hp_pmodule *copy = malloc(n * sizeof *copy);
    if (!copy)
        return hp_fail_nomem();
    memcpy(copy, p->modules, n * sizeof *copy);
    enum hp_err err = hp_order_apply(&hp_order_module_identity, copy, &n, &map);
    free(copy);
    HP_TRY(err);
    free(map);
    *normal = n == p->n_modules;
    return HP_OK;
}

static const char *first_abnormal(const struct hp_profile *p)
{
    if (!hp_order_strict(&hp_order_function, p->functions, p->n_functions))
        return "functions";
    if (!hp_order_strict(&hp_order_block, p->blocks, p->n_blocks))
        return "blocks";
    if (!hp_order_strict(&hp_order_edge, p->edges, p->n_edges))
        return "edges";
    if (!hp_order_strict(&hp_order_call, p->calls, p->n_calls))
        return "calls";
    if (!hp_order_strict(&hp_order_line, p->lines, p->n_lines))
        return "lines";
    if (!hp_order_strict(&hp_order_note, p->notes, p->n_notes))
        return "notes";
    if (!hp_order_strict(&hp_order_path, p->paths, p->n_paths))
        return "paths";
    if (!hp_order_strict(&hp_order_step, p->path_steps, p->n_path_steps))
        return "steps of paths";
    if (!hp_order_strict(&hp_order_table_path, p->table_paths, p->n_table_paths))
        return "paths of tables";
    if (!hp_order_strict(&hp_order_stat, p->stats, p->n_stats))
        return "stats";
    if (!hp_order_strict(&hp_order_prediction, p->predictions, p->n_predictions))
        return "predictions";
    if (!hp_counters_normal(p->block_counts, p->n_block_counts, sizeof *p->block_counts))
        return "block counters";
    if (!hp_counters_normal(p->edge_counts, p->n_edge_counts, sizeof *p->edge_counts))
        return "edge counters";
    if (!hp_counters_normal(p->function_counts, p->n_function_counts, sizeof *p->function_counts))
        return "function counters";
    if (!hp_counters_normal(p->call_counts, p->n_call_counts, sizeof *p->call_counts))
        return "call counters";
    if (!hp_counters_normal(p->path_counts, p->n_path_counts, sizeof *p->path_counts))
        return "path counters";
    const char *what = hp_contexts_abnormal(p);
    if (!what)
        what = hp_regions_abnormal(p);
    return what ? what : hp_insns_abnormal(p);
}

enum hp_err hp_profile_check_normal(const struct hp_profile *p)
{
    HP_TRY(hp_profile_check(p));
    bool normal;
    HP_TRY(modules_normal(p, &normal));
    const char *what = normal ? first_abnormal(p) : "modules";
    if (what)
        return hp_fail(HP_ERR_INVALID, "the profile is not in its normal form: its %s are not",
                       what);
    return HP_OK;
}
