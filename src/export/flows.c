// SPDX-License-Identifier: MIT
#include "export/flows.h"
#include "base/bisect.h"

#include "export/flows_table.h"
#include "report/tables.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(uint64_t *sum, uint64_t count)
{
    *sum = hp_saturating_add(*sum, count);
}

/* --- From the exact counts -------------------------------------------------------------------- */

static void add_counts(uint64_t *sums, const struct hp_pcount *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(&sums[counts[i].item], counts[i].count);
}

/* How often a block was come to by returns. */
static uint64_t returns_to(const struct hp_flows *flows, uint64_t offset)
{
    size_t n;
    uint64_t sum = 0;
    const uint32_t *arrivals = hp_flows_arrivals(flows, offset, &n);
    for (size_t i = 0; i < n; i++)
        if (flows->profile->edges[arrivals[i]].flow == HP_FLOW_RETURN)
            add(&sum, flows->edges[arrivals[i]]);
    return sum;
}

/* What is behind calls, and behind blocks that were cut for their length. A return to elsewhere is
 * none from a call: so come handlers of exceptions. */
static void add_continued(struct hp_flows *flows)
{
    const struct hp_pblock *blocks = flows->profile->blocks;
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        uint64_t end = blocks[i].place.offset + blocks[i].size;
        bool call = blocks[i].flow == HP_FLOW_CALL || blocks[i].flow == HP_FLOW_CALL_IND;
        size_t next = hp_flows_block(flows, end);
        if (!flows->blocks[i] || (!call && blocks[i].flow != HP_FLOW_NONE) ||
            next == flows->end_block || blocks[next].place.offset != end)
            continue;
        if (call)
            flows->continued[next] = returns_to(flows, end);
        else
            add(&flows->continued[next], flows->blocks[i]);
    }
}

/* --- Mispredictions --------------------------------------------------------------------------- */

/* Gives the mispredictions of a branch to its edges first ... end by how often they were taken. */
static void share_mispredictions(struct hp_flows *flows, size_t first, size_t end, uint64_t all)
{
    uint64_t executed = 0, given = 0;
    size_t most = first;
    for (size_t i = first; i < end; i++) {
        add(&executed, flows->edges[i]);
        if (flows->edges[i] > flows->edges[most])
            most = i;
    }
    if (!executed)
        return;
    if (all > executed)
        all = executed;
    for (size_t i = first; i < end; i++) {
        flows->mispredicted[i] = (uint64_t)((unsigned __int128)all * flows->edges[i] / executed);
        given += flows->mispredicted[i];
    }
    uint64_t room = flows->edges[most] - flows->mispredicted[most];
    flows->mispredicted[most] += all - given < room ? all - given : room;
}

static void add_mispredictions(struct hp_flows *flows)
{
    const struct hp_profile *p = flows->profile;
    for (size_t i = 0; i < p->n_insn_tallies; i++) {
        const struct hp_pinsn_tally *tally = &p->insn_tallies[i];
        uint64_t count = tally->tally.events[HP_INSN_MISPREDICTED];
        struct hp_place place = p->insns[tally->insn].place;
        if (!count || strcmp(hp_text(tally->seen), "exact") != 0)
            continue;
        size_t end, first = hp_flows_departures(flows, place, &end);
        share_mispredictions(flows, first, end, count);
    }
}

/* --- The whole -------------------------------------------------------------------------------- */

static int order_arrivals(const void *a, const void *b, void *profile)
{
    const struct hp_profile *p = profile;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t to_x = p->edges[x].to.offset, to_y = p->edges[y].to.offset;
    return to_x != to_y ? (to_x > to_y) - (to_x < to_y) : (x > y) - (x < y);
}

static void index_module(struct hp_flows *flows)
{
    const struct hp_profile *p = flows->profile;
    while (flows->first_block < p->n_blocks &&
           p->blocks[flows->first_block].place.module < flows->module)
        flows->first_block++;
    flows->end_block = flows->first_block;
    while (flows->end_block < p->n_blocks &&
           p->blocks[flows->end_block].place.module == flows->module)
        flows->end_block++;
    for (size_t i = 0; i < p->n_edges; i++)
        if (hp_flows_enters(flows, i))
            flows->arrivals[flows->n_arrivals++] = (uint32_t)i;
    qsort_r(flows->arrivals, flows->n_arrivals, sizeof *flows->arrivals, order_arrivals,
            (void *)(uintptr_t)p);
}

static enum hp_err fill(struct hp_flows *flows, const struct hp_export_request *request)
{
    const struct hp_profile *p = flows->profile;
    if (request->metric && strcmp(request->metric, "instructions") != 0)
        return hp_fail(HP_ERR_INVALID,
                       "this format is made of executions: --metric %s does not fit it",
                       request->metric);
    HP_TRY(hp_export_module(p, request->module, &flows->module));
    flows->blocks = calloc(p->n_blocks + 1, sizeof *flows->blocks);
    flows->edges = calloc(p->n_edges + 1, sizeof *flows->edges);
    flows->mispredicted = calloc(p->n_edges + 1, sizeof *flows->mispredicted);
    flows->arrivals = calloc(p->n_edges + 1, sizeof *flows->arrivals);
    flows->continued = calloc(p->n_blocks + 1, sizeof *flows->continued);
    if (!flows->blocks || !flows->edges || !flows->mispredicted || !flows->arrivals ||
        !flows->continued)
        return hp_fail_nomem();
    index_module(flows);
    if (!request->table && !p->n_block_counts)
        return hp_fail(HP_ERR_INVALID, "the profile has no exact counts: record some, with "
                                       "--profile counts or exact");
    if (request->table) {
        HP_TRY(hp_flows_add_table(flows, request->table));
    } else {
        add_counts(flows->blocks, p->block_counts, p->n_block_counts);
        add_counts(flows->edges, p->edge_counts, p->n_edge_counts);
        add_continued(flows);
    }
    add_mispredictions(flows);
    return HP_OK;
}

enum hp_err hp_flows_new(const struct hp_profile *profile, const struct hp_export_request *request,
                         struct hp_flows **flows)
{
    struct hp_flows *made = calloc(1, sizeof *made);
    if (!made)
        return hp_fail_nomem();
    made->profile = profile;
    enum hp_err err = fill(made, request);
    if (err != HP_OK) {
        hp_flows_free(made);
        return err;
    }
    *flows = made;
    return HP_OK;
}

void hp_flows_free(struct hp_flows *flows)
{
    if (!flows)
        return;
    free(flows->blocks);
    free(flows->edges);
    free(flows->mispredicted);
    free(flows->arrivals);
    free(flows->continued);
    free(flows);
}

/* --- Questions -------------------------------------------------------------------------------- */

const uint32_t *hp_flows_arrivals(const struct hp_flows *flows, uint64_t offset, size_t *n)
{
    const struct hp_pedge *edges = flows->profile->edges;
    size_t low = HP_BISECT(i, 0, flows->n_arrivals, edges[flows->arrivals[i]].to.offset < offset);
    *n = 0;
    while (low + *n < flows->n_arrivals && edges[flows->arrivals[low + *n]].to.offset == offset)
        ++*n;
    return flows->arrivals + low;
}

size_t hp_flows_departures(const struct hp_flows *flows, struct hp_place from, size_t *end)
{
    const struct hp_profile *p = flows->profile;
    size_t low = HP_BISECT(i, 0, p->n_edges, hp_place_compare(p->edges[i].from, from) < 0);
    *end = HP_BISECT(i, low, p->n_edges, hp_place_compare(p->edges[i].from, from) <= 0);
    return low;
}

const struct hp_pfunction *hp_flows_function(const struct hp_flows *flows, struct hp_place place)
{
    const struct hp_profile *p = flows->profile;
    size_t low =
        HP_BISECT(i, 0, p->n_functions, hp_place_compare(p->functions[i].place, place) < 0);
    return low < p->n_functions && hp_place_compare(p->functions[low].place, place) == 0
               ? &p->functions[low]
               : NULL;
}

size_t hp_flows_block(const struct hp_flows *flows, uint64_t offset)
{
    size_t low = HP_BISECT(i, flows->first_block, flows->end_block,
                           flows->profile->blocks[i].place.offset < offset);
    return low;
}

uint64_t hp_flows_entries(const struct hp_flows *flows, uint64_t offset)
{
    const struct hp_profile *p = flows->profile;
    const struct hp_pfunction *function =
        hp_flows_function(flows, (struct hp_place){flows->module, offset});
    uint64_t executed = 0, own = 0, size = function ? function->size : 1;
    size_t n;
    for (size_t i = hp_flows_block(flows, offset);
         i < flows->end_block && p->blocks[i].place.offset == offset; i++)
        add(&executed, flows->blocks[i]);
    const uint32_t *arrivals = hp_flows_arrivals(flows, offset, &n);
    for (size_t i = 0; i < n; i++) {
        const struct hp_pedge *edge = &p->edges[arrivals[i]];
        bool call = edge->flow == HP_FLOW_CALL || edge->flow == HP_FLOW_CALL_IND;
        if (!call && hp_flows_leaves(flows, arrivals[i]) && edge->from.offset - offset < size)
            add(&own, flows->edges[arrivals[i]]);
    }
    return executed > own ? executed - own : 0;
}

uint64_t hp_flows_instructions(const struct hp_flows *flows)
{
    uint64_t sum = 0;
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        add(&sum, flows->blocks[i] * flows->profile->blocks[i].insns);
    return sum;
}

void hp_flows_missing(const struct hp_flows *flows, const char *where,
                      struct hp_export_written *written)
{
    bool rest = written->written < written->total;
    int n = snprintf(written->missing, sizeof written->missing, "%s", rest ? where : "");
    if (flows->lost && n >= 0 && (size_t)n < sizeof written->missing)
        snprintf(written->missing + n, sizeof written->missing - (size_t)n,
                 "%s%" PRIu64 " executions of paths whose blocks are not in the profile",
                 rest ? "; " : "", flows->lost);
}

/* Where the number of executions changes: by `count`, up or down. */
struct change {
    uint64_t at;
    uint64_t count; /* modulo 2^64 */
};

static int order_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static size_t list_changes(const struct hp_flows *flows, struct change *changes)
{
    size_t n = 0;
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        const struct hp_pblock *block = &flows->profile->blocks[i];
        if (!flows->blocks[i] || !block->size)
            continue;
        changes[n++] = (struct change){block->place.offset, flows->blocks[i]};
        changes[n++] = (struct change){block->place.offset + block->size, -flows->blocks[i]};
    }
    qsort(changes, n, sizeof *changes, order_changes);
    return n;
}

enum hp_err hp_flows_ranges(const struct hp_flows *flows, struct hp_flow_range **ranges, size_t *n)
{
    size_t most = 2 * (flows->end_block - flows->first_block) + 1;
    struct change *changes = calloc(most, sizeof *changes);
    struct hp_flow_range *made = calloc(most, sizeof *made);
    if (!changes || !made) {
        free(changes);
        free(made);
        return hp_fail_nomem();
    }
    size_t n_changes = list_changes(flows, changes);
    uint64_t count = 0;
    *n = 0;
    for (size_t i = 0, next; i < n_changes; i = next) {
        for (next = i; next < n_changes && changes[next].at == changes[i].at; next++)
            count += changes[next].count;
        if (count && next < n_changes)
            made[(*n)++] = (struct hp_flow_range){changes[i].at, changes[next].at, count};
    }
    free(changes);
    *ranges = made;
    return HP_OK;
}

uint64_t hp_flow_ranges_at(const struct hp_flow_range *ranges, size_t n, uint64_t offset)
{
    size_t low = HP_BISECT(i, 0, n, ranges[i].to <= offset);
    return low < n && ranges[low].from <= offset ? ranges[low].count : 0;
}
