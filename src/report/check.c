// SPDX-License-Identifier: MIT
#include "report/check.h"

#include "hotpath/cycles.h"

#include <stdbool.h>

static bool index_fits(uint32_t index, size_t n)
{
    return index < n || index == HP_PROFILE_NONE;
}

static enum hp_err bad(const char *what, size_t index, const char *refers)
{
    return hp_fail(HP_ERR_INVALID,
                   "the profile is damaged: %s %zu refers to a %s that is not there", what, index,
                   refers);
}

static enum hp_err check_code(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_functions; i++)
        if (!index_fits(p->functions[i].place.module, p->n_modules))
            return bad("function", i, "module");
    for (size_t i = 0; i < p->n_blocks; i++) {
        if (!index_fits(p->blocks[i].place.module, p->n_modules))
            return bad("block", i, "module");
        if (!index_fits(p->blocks[i].function, p->n_functions))
            return bad("block", i, "function");
    }
    for (size_t i = 0; i < p->n_edges; i++)
        if (!index_fits(p->edges[i].from.module, p->n_modules) ||
            !index_fits(p->edges[i].to.module, p->n_modules))
            return bad("edge", i, "module");
    for (size_t i = 0; i < p->n_calls; i++)
        if (!index_fits(p->calls[i].caller, p->n_functions) ||
            !index_fits(p->calls[i].callee, p->n_functions))
            return bad("call", i, "function");
    for (size_t i = 0; i < p->n_lines; i++)
        if (p->lines[i].block >= p->n_blocks)
            return bad("line", i, "block");
    return HP_OK;
}

/* Of a normal profile parents come first. */
static enum hp_err check_contexts(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_contexts; i++)
        if (!index_fits(p->contexts[i].function, p->n_functions) ||
            !index_fits(p->contexts[i].parent, i))
            return bad("context", i, "function or context");
    for (size_t i = 0; i < p->n_context_counts; i++)
        if (p->context_counts[i].item >= p->n_contexts ||
            p->context_counts[i].thread >= p->n_threads)
            return bad("context count", i, "context or thread");
    return HP_OK;
}

static enum hp_err check_paths(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_paths; i++) {
        if (!index_fits(p->paths[i].start.module, p->n_modules))
            return bad("path", i, "module");
        if (!index_fits(p->paths[i].function, p->n_functions))
            return bad("path", i, "function");
    }
    for (size_t i = 0; i < p->n_path_steps; i++)
        if (p->path_steps[i].path >= p->n_paths || p->path_steps[i].block >= p->n_blocks)
            return bad("step", i, "path or block");
    for (size_t i = 0; i < p->n_path_counts; i++)
        if (p->path_counts[i].item >= p->n_paths || p->path_counts[i].thread >= p->n_threads)
            return bad("path count", i, "path or thread");
    return HP_OK;
}

static enum hp_err check_loops(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_loops; i++) {
        if (!index_fits(p->loops[i].header.module, p->n_modules))
            return bad("loop", i, "module");
        if (!index_fits(p->loops[i].function, p->n_functions))
            return bad("loop", i, "function");
        if (!index_fits(p->loops[i].parent, p->n_loops))
            return bad("loop", i, "loop");
    }
    for (size_t i = 0; i < p->n_loop_counts; i++)
        if (p->loop_counts[i].item >= p->n_loops || p->loop_counts[i].thread >= p->n_threads)
            return bad("loop count", i, "loop or thread");
    for (size_t i = 0; i < p->n_loop_trips; i++)
        if (p->loop_trips[i].loop >= p->n_loops)
            return bad("trip count", i, "loop");
    for (size_t i = 0; i < p->n_loop_blocks; i++)
        if (p->loop_blocks[i].loop >= p->n_loops || p->loop_blocks[i].block >= p->n_blocks)
            return bad("loop block", i, "loop or block");
    for (size_t i = 0; i < p->n_model_loops; i++) {
        const struct hp_pmodel_loop *loop = &p->model_loops[i];
        if (!index_fits(loop->branch.module, p->n_modules) ||
            !index_fits(loop->target.module, p->n_modules))
            return bad("model loop", i, "module");
        if (!index_fits(loop->function, p->n_functions) || !index_fits(loop->loop, p->n_loops))
            return bad("model loop", i, "function or loop");
    }
    return HP_OK;
}

static enum hp_err check_hotspots(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_hotspot_branches; i++)
        if (p->hotspot_branches[i].hotspot >= p->n_hotspots ||
            !index_fits(p->hotspot_branches[i].branch.module, p->n_modules))
            return bad("hot spot branch", i, "hot spot or module");
    for (size_t i = 0; i < p->n_hotspot_blocks; i++)
        if (p->hotspot_blocks[i].hotspot >= p->n_hotspots ||
            p->hotspot_blocks[i].block >= p->n_blocks)
            return bad("hot spot block", i, "hot spot or block");
    for (size_t i = 0; i < p->n_hotspot_slices; i++)
        if (p->hotspot_slices[i].hotspot >= p->n_hotspots)
            return bad("hot spot slice", i, "hot spot");
    return HP_OK;
}

static enum hp_err check_insns(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_insns; i++)
        if (!index_fits(p->insns[i].place.module, p->n_modules) ||
            !index_fits(p->insns[i].function, p->n_functions))
            return bad("instruction", i, "module or function");
    for (size_t i = 0; i < p->n_insn_tallies; i++)
        if (p->insn_tallies[i].insn >= p->n_insns)
            return bad("tally", i, "instruction");
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        if (p->insn_cycles[i].insn >= p->n_insns || p->insn_cycles[i].cause >= HP_CAUSES)
            return bad("cycles", i, "instruction or cause");
    for (size_t i = 0; i < p->n_attributions; i++)
        if (p->attributions[i].insn >= p->n_insns)
            return bad("attribution", i, "instruction");
    for (size_t i = 0; i < p->n_waits; i++)
        if (p->waits[i].insn >= p->n_insns || p->waits[i].producer >= p->n_insns)
            return bad("wait", i, "instruction");
    for (size_t i = 0; i < p->n_windows; i++)
        if (p->windows[i].thread >= p->n_threads)
            return bad("window", i, "thread");
    return HP_OK;
}

static enum hp_err check_counts(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_block_counts; i++)
        if (p->block_counts[i].item >= p->n_blocks || p->block_counts[i].thread >= p->n_threads)
            return bad("block count", i, "block or thread");
    for (size_t i = 0; i < p->n_edge_counts; i++)
        if (p->edge_counts[i].item >= p->n_edges || p->edge_counts[i].thread >= p->n_threads)
            return bad("edge count", i, "edge or thread");
    for (size_t i = 0; i < p->n_function_counts; i++)
        if (p->function_counts[i].item >= p->n_functions ||
            p->function_counts[i].thread >= p->n_threads)
            return bad("function count", i, "function or thread");
    for (size_t i = 0; i < p->n_call_counts; i++)
        if (p->call_counts[i].item >= p->n_calls || p->call_counts[i].thread >= p->n_threads)
            return bad("call count", i, "call or thread");
    return HP_OK;
}

enum hp_err hp_profile_check_references(const struct hp_profile *p)
{
    const size_t sizes[] = {p->n_modules,     p->n_threads,  p->n_functions,   p->n_blocks,
                            p->n_edges,       p->n_calls,    p->n_lines,       p->n_paths,
                            p->n_path_steps,  p->n_stats,    p->n_predictions, p->n_loops,
                            p->n_model_loops, p->n_hotspots, p->n_insns};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] >= HP_PROFILE_NONE)
            return hp_fail(HP_ERR_INVALID, "the profile is damaged: it has %zu elements of a kind",
                           sizes[i]);
    HP_TRY(check_code(p));
    HP_TRY(check_contexts(p));
    HP_TRY(check_paths(p));
    HP_TRY(check_loops(p));
    HP_TRY(check_hotspots(p));
    HP_TRY(check_insns(p));
    return check_counts(p);
}
