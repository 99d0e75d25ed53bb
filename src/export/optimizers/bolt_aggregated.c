// SPDX-License-Identifier: MIT
/*
 * The pre-aggregated profile that perf2bolt and llvm-bolt take with --pa: branches that were taken,
 * and runs of instructions without one.
 *
 *   B <from> <to> <count> <mispredicted>   a taken branch
 *   F <from> <to> <count>                  from one instruction to another without a taken branch
 *   f <from> <to> <count>                  the same behind a return: it passed the call, too
 *
 * Addresses are link-time ones; 0 is outside of the file. perf2bolt cuts runs at its own basic
 * blocks, so a run need not be as long as it was in the program: here it is a block, or the step
 * from a branch that was not taken to what is behind it.
 */
#include "export/export.h"
#include "export/flows.h"
#include "export/optimizers/bolt_image.h"
#include "text/number.h"

#include <inttypes.h>

struct writer {
    const struct hp_flows *flows;
    uint64_t base;
    FILE *out;
    uint64_t branches;
};

static uint64_t address(const struct writer *w, struct hp_place place)
{
    return place.module == w->flows->module ? w->base + place.offset : 0;
}

static void put_edge(struct writer *w, size_t i)
{
    const struct hp_pedge *edge = &w->flows->profile->edges[i];
    uint64_t from = address(w, edge->from), to = address(w, edge->to);
    uint64_t count = w->flows->edges[i];
    if (!count)
        return;
    if (edge->taken) {
        fprintf(w->out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", from, to, count,
                w->flows->mispredicted[i]);
        if (hp_flows_leaves(w->flows, i))
            w->branches = hp_saturating_add(w->branches, count);
    } else if (from < to) {
        fprintf(w->out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", from, to, count);
    }
}

static void put_block(struct writer *w, size_t i)
{
    const struct hp_pblock *block = &w->flows->profile->blocks[i];
    uint64_t count = w->flows->blocks[i], from = address(w, block->place);
    uint64_t returned = w->flows->continued[i];
    if (returned > count)
        returned = count;
    uint64_t to = from + block->branch;
    /* What was cut because it is long goes on behind its end. */
    if (block->flow == HP_FLOW_NONE)
        to = from + block->size;
    if (returned)
        fprintf(w->out, "f %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", from, to, returned);
    if (count > returned && from != to)
        fprintf(w->out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", from, to, count - returned);
}

static enum hp_err write_bolt_aggregated(const struct hp_profile *profile,
                                         const struct hp_export_request *request, FILE *out,
                                         struct hp_export_written *written)
{
    struct hp_flows *flows;
    struct hp_bolt_image image;
    HP_TRY(hp_flows_new(profile, request, &flows));
    enum hp_err err = hp_bolt_image_open_file(&profile->modules[flows->module], &image);
    if (err == HP_OK) {
        struct writer w = {.flows = flows, .base = image.base, .out = out};
        for (size_t i = 0; i < profile->n_edges; i++)
            if (hp_flows_leaves(flows, i) || hp_flows_enters(flows, i))
                put_edge(&w, i);
        for (size_t i = flows->first_block; i < flows->end_block; i++)
            put_block(&w, i);
        *written = (struct hp_export_written){
            .unit = "taken branches", .written = w.branches, .total = w.branches};
        hp_flows_missing(flows, "", written);
        hp_bolt_image_close(&image);
    }
    hp_flows_free(flows);
    return err;
}

const struct hp_export_format hp_format_bolt_aggregated = {
    .name = "bolt-aggregated",
    .summary = "a pre-aggregated profile for perf2bolt and llvm-bolt --pa",
    .write = write_bolt_aggregated,
};
