// SPDX-License-Identifier: MIT
/* Formats of link-time addresses, in hexadecimal, with counts. 0 is outside of the file. */
#include "base/base.h"
#include "export/optimizers/bolt.h"
#include "text/number.h"

struct writer {
    struct hp_flows flows;
    struct hp_bolt_image image;
    FILE *out;
};

static void release(struct writer *w)
{
    hp_flows_fini(&w->flows);
    hp_bolt_image_close(&w->image);
}

static enum hp_err open_file(struct writer *w, const struct hp_export_request *request)
{
    uint32_t module;
    w->out = request->out;
    HP_TRY(hp_export_module(request->profile, request->module, &module));
    HP_TRY(hp_flows_init(&w->flows, request, module));
    return hp_bolt_image_open_file(&request->profile->modules[module], &w->image);
}

static uint64_t address(const struct writer *w, struct hp_place place)
{
    return place.module == w->flows.module ? w->image.base + place.offset : 0;
}

/* Whether an edge has an end in the file, and was gone. */
static bool is_in_file(const struct hp_flows *flows, size_t i)
{
    return flows->edges[i] && (hp_flows_leaves(flows, i) || hp_flows_enters(flows, i));
}

/* --- AutoFDO ---------------------------------------------------------------------------------- */

/*
 * Three lists, each behind its length: runs of instructions with how often they were executed
 * (`from-to:count`, both ends are instructions), instructions (`address:count`), and branches
 * (`from->to:count`).
 */

/* Blocks as runs of instructions, or by their first ones. */
static void put_executed(const struct writer *w, bool runs)
{
    const struct hp_flows *flows = &w->flows;
    size_t n = 0;
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        n += flows->blocks[i] != 0;
    fprintf(w->out, "%zu\n", n);
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        const struct hp_pblock *block = &flows->profile->blocks[i];
        uint64_t from = address(w, block->place);
        if (!flows->blocks[i])
            continue;
        fprintf(w->out, "%" PRIx64, from);
        if (runs)
            fprintf(w->out, "-%" PRIx64, from + block->branch);
        fprintf(w->out, ":%" PRIu64 "\n", flows->blocks[i]);
    }
}

static void put_branches(const struct writer *w)
{
    const struct hp_flows *flows = &w->flows;
    const struct hp_pedge *edges = flows->profile->edges;
    size_t n = 0;
    for (size_t i = 0; i < flows->profile->n_edges; i++)
        n += edges[i].taken && is_in_file(flows, i);
    fprintf(w->out, "%zu\n", n);
    for (size_t i = 0; i < flows->profile->n_edges; i++)
        if (edges[i].taken && is_in_file(flows, i))
            fprintf(w->out, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n", address(w, edges[i].from),
                    address(w, edges[i].to), flows->edges[i]);
}

static enum hp_err write_autofdo(struct hp_export_request *request)
{
    struct writer w HP_CLEANUP(release) = {0};
    HP_TRY(open_file(&w, request));
    put_executed(&w, true);
    put_executed(&w, false);
    put_branches(&w);
    uint64_t n = w.flows.instructions;
    hp_flows_written(&w.flows, request, "instructions", n, n, "");
    return HP_OK;
}

const struct hp_export_format hp_format_autofdo = {
    .name = "autofdo",
    .summary = "text for AutoFDO's create_llvm_prof --profiler=text",
    .write = write_autofdo,
    .one_module = true,
};

/* --- BOLT, aggregated ------------------------------------------------------------------------- */

/*
 * Branches that were taken, and runs of instructions without one.
 *
 *   B <from> <to> <count> <mispredicted>   a taken branch
 *   F <from> <to> <count>                  from one instruction to another without a taken branch
 *   f <from> <to> <count>                  the same behind a return: it passed the call, too
 *
 * perf2bolt cuts runs at its own basic blocks, so a run need not be as long as it was in the
 * program: here it is a block, or the step from a branch that was not taken to what is behind it.
 */

static void put_run(const struct writer *w, char letter, uint64_t from, uint64_t to, uint64_t count)
{
    fprintf(w->out, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", letter, from, to, count);
}

static void put_edge(const struct writer *w, size_t i)
{
    const struct hp_pedge *edge = &w->flows.profile->edges[i];
    uint64_t from = address(w, edge->from), to = address(w, edge->to);
    uint64_t count = w->flows.edges[i];
    if (edge->taken)
        fprintf(w->out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", from, to, count,
                w->flows.mispredicted[i]);
    else if (from < to)
        put_run(w, 'F', from, to, count);
}

static void put_block(const struct writer *w, size_t i)
{
    const struct hp_pblock *block = &w->flows.profile->blocks[i];
    uint64_t count = w->flows.blocks[i], returned = w->flows.continued[i];
    if (returned > count)
        returned = count;
    uint64_t from = address(w, block->place);
    /* What was cut because it is long goes on behind its end. */
    uint64_t to = from + (block->flow == HP_FLOW_NONE ? block->size : block->branch);
    if (returned)
        put_run(w, 'f', from, to, returned);
    if (count > returned && from != to)
        put_run(w, 'F', from, to, count - returned);
}

static enum hp_err write_bolt_aggregated(struct hp_export_request *request)
{
    const struct hp_profile *profile = request->profile;
    struct writer w HP_CLEANUP(release) = {0};
    const struct hp_flows *flows = &w.flows;
    uint64_t branches = 0;
    HP_TRY(open_file(&w, request));
    for (size_t i = 0; i < profile->n_edges; i++) {
        if (!is_in_file(flows, i))
            continue;
        put_edge(&w, i);
        if (profile->edges[i].taken && hp_flows_leaves(flows, i))
            hp_add_up(&branches, flows->edges[i]);
    }
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        put_block(&w, i);
    hp_flows_written(flows, request, "taken branches", branches, branches, "");
    return HP_OK;
}

const struct hp_export_format hp_format_bolt_aggregated = {
    .name = "bolt-aggregated",
    .summary = "a pre-aggregated profile for perf2bolt and llvm-bolt --pa",
    .write = write_bolt_aggregated,
    .one_module = true,
};
