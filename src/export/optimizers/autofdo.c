// SPDX-License-Identifier: MIT
/*
 * Three lists, each behind its length: runs of instructions with how often they were executed
 * (`from-to:count`, both ends are instructions), instructions
 * (`address:count`), and branches (`from->to:count`). Addresses are link-time ones in hexadecimal;
 * 0 is outside of the file.
 */

#include "export/export.h"
#include "export/flows.h"
#include "export/optimizers/bolt_image.h"

#include <inttypes.h>

struct writer {
    const struct hp_flows *flows;
    uint64_t base;
    FILE *out;
};

static uint64_t address(const struct writer *w, struct hp_place place)
{
    return place.module == w->flows->module ? w->base + place.offset : 0;
}

static size_t executed_blocks(const struct hp_flows *flows)
{
    size_t n = 0;
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        n += flows->blocks[i] != 0;
    return n;
}

static bool is_branch(const struct hp_flows *flows, size_t i)
{
    return flows->edges[i] && flows->profile->edges[i].taken &&
           (hp_flows_leaves(flows, i) || hp_flows_enters(flows, i));
}

static void put_blocks(const struct writer *w)
{
    const struct hp_flows *flows = w->flows;
    fprintf(w->out, "%zu\n", executed_blocks(flows));
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        const struct hp_pblock *block = &flows->profile->blocks[i];
        uint64_t from = address(w, block->place);
        if (flows->blocks[i])
            fprintf(w->out, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n", from, from + block->branch,
                    flows->blocks[i]);
    }
}

static void put_addresses(const struct writer *w)
{
    const struct hp_flows *flows = w->flows;
    fprintf(w->out, "%zu\n", executed_blocks(flows));
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        if (flows->blocks[i])
            fprintf(w->out, "%" PRIx64 ":%" PRIu64 "\n",
                    address(w, flows->profile->blocks[i].place), flows->blocks[i]);
}

static void put_branches(const struct writer *w)
{
    const struct hp_flows *flows = w->flows;
    size_t n = 0;
    for (size_t i = 0; i < flows->profile->n_edges; i++)
        n += is_branch(flows, i);
    fprintf(w->out, "%zu\n", n);
    for (size_t i = 0; i < flows->profile->n_edges; i++)
        if (is_branch(flows, i))
            fprintf(w->out, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n",
                    address(w, flows->profile->edges[i].from),
                    address(w, flows->profile->edges[i].to), flows->edges[i]);
}

static enum hp_err write_autofdo(const struct hp_profile *profile,
                                 const struct hp_export_request *request, FILE *out,
                                 struct hp_export_written *written)
{
    struct hp_flows *flows;
    struct hp_bolt_image image;
    HP_TRY(hp_flows_new(profile, request, &flows));
    enum hp_err err = hp_bolt_image_open_file(&profile->modules[flows->module], &image);
    if (err == HP_OK) {
        struct writer w = {.flows = flows, .base = image.base, .out = out};
        uint64_t all = hp_flows_instructions(flows);
        put_blocks(&w);
        put_addresses(&w);
        put_branches(&w);
        *written = (struct hp_export_written){.unit = "instructions", .written = all, .total = all};
        hp_flows_missing(flows, "", written);
        hp_bolt_image_close(&image);
    }
    hp_flows_free(flows);
    return err;
}

const struct hp_export_format hp_format_autofdo = {
    .name = "autofdo",
    .summary = "text for AutoFDO's create_llvm_prof --profiler=text",
    .write = write_autofdo,
};
