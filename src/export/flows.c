// SPDX-License-Identifier: MIT
#include "export/flows.h"

#include "base/base.h"
#include "report/tables.h"
#include "text/number.h"

/* --- From the exact counts -------------------------------------------------------------------- */

static void add_counts(uint64_t *sums, const struct hp_pcount *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hp_add_up(&sums[counts[i].item], counts[i].count);
}

/* How often a block was come to by returns. */
static uint64_t returns_to(const struct hp_flows *flows, uint64_t offset)
{
    size_t n;
    uint64_t sum = 0;
    const uint32_t *arrivals = hp_flows_arrivals(flows, offset, &n);
    for (size_t i = 0; i < n; i++)
        if (flows->profile->edges[arrivals[i]].flow == HP_FLOW_RETURN)
            hp_add_up(&sum, flows->edges[arrivals[i]]);
    return sum;
}

/* What is behind calls, and behind blocks that were cut for their length. A return to elsewhere is
 * none from a call: so come handlers of exceptions. */
static void add_continued(struct hp_flows *flows)
{
    const struct hp_pblock *blocks = flows->profile->blocks;
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        uint64_t end = blocks[i].place.offset + blocks[i].size;
        bool call = hp_flow_is_call(blocks[i].flow);
        size_t next = hp_flows_block(flows, end);
        if (!flows->blocks[i] || (!call && blocks[i].flow != HP_FLOW_NONE) ||
            next == flows->end_block || blocks[next].place.offset != end)
            continue;
        if (call)
            flows->continued[next] = returns_to(flows, end);
        else
            hp_add_up(&flows->continued[next], flows->blocks[i]);
    }
}

/* --- Mispredictions --------------------------------------------------------------------------- */

/* Gives the mispredictions of a branch to its edges first ... end by how often they were taken. */
static void share_mispredictions(struct hp_flows *flows, size_t first, size_t end, uint64_t all)
{
    uint64_t executed = 0, given = 0;
    size_t most = first;
    for (size_t i = first; i < end; i++) {
        hp_add_up(&executed, flows->edges[i]);
        if (flows->edges[i] > flows->edges[most])
            most = i;
    }
    if (!executed)
        return;
    if (all > executed)
        all = executed;
    for (size_t i = first; i < end; i++) {
        flows->mispredicted[i] = hp_part_of(all, flows->edges[i], executed);
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
    return HP_COMPARE(p->edges[x].to.offset, p->edges[y].to.offset) ?: HP_COMPARE(x, y);
}

static void index_module(struct hp_flows *flows)
{
    const struct hp_profile *p = flows->profile;
    const struct hp_pblock *blocks = p->blocks;
    flows->first_block = HP_BISECT(i, 0, p->n_blocks, blocks[i].place.module < flows->module);
    flows->end_block = HP_BISECT(i, 0, p->n_blocks, blocks[i].place.module <= flows->module);
    for (size_t i = 0; i < p->n_edges; i++)
        if (hp_flows_enters(flows, i))
            flows->arrivals[flows->n_arrivals++] = (uint32_t)i;
    qsort_r(flows->arrivals, flows->n_arrivals, sizeof *flows->arrivals, order_arrivals,
            (void *)(uintptr_t)p);
}

static int order_ranges(const void *a, const void *b)
{
    const struct hp_flow_range *x = a, *y = b;
    return HP_COMPARE(x->from, y->from);
}

/* From where the number of executions changes (modulo 2^64). Counts instructions, too. */
static enum hp_err find_ranges(struct hp_flows *flows)
{
    size_t most = 2 * (flows->end_block - flows->first_block) + 1, n = 0;
    struct hp_flow_range *changes HP_CLEANUP(hp_free) = calloc(most, sizeof *changes);
    flows->ranges = calloc(most, sizeof *flows->ranges);
    if (!changes || !flows->ranges)
        return hp_fail_nomem();
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        const struct hp_pblock *block = &flows->profile->blocks[i];
        uint64_t from = block->place.offset;
        hp_add_up(&flows->instructions, flows->blocks[i] * block->insns);
        if (!flows->blocks[i] || !block->size)
            continue;
        changes[n++] = (struct hp_flow_range){from, 0, flows->blocks[i]};
        changes[n++] = (struct hp_flow_range){from + block->size, 0, -flows->blocks[i]};
    }
    qsort(changes, n, sizeof *changes, order_ranges);
    uint64_t count = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        count += changes[i].count;
        if (count && changes[i].from < changes[i + 1].from)
            flows->ranges[flows->n_ranges++] =
                (struct hp_flow_range){changes[i].from, changes[i + 1].from, count};
    }
    return HP_OK;
}

enum hp_err hp_flows_init(struct hp_flows *flows, const struct hp_profile *p,
                          const struct hp_export_request *request)
{
    *flows = (struct hp_flows){.profile = p};
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
    if (request->table) {
        HP_TRY(hp_flows_add_table(flows, request->table));
    } else if (p->n_block_counts) {
        add_counts(flows->blocks, p->block_counts, p->n_block_counts);
        add_counts(flows->edges, p->edge_counts, p->n_edge_counts);
        add_continued(flows);
    } else {
        return hp_fail(HP_ERR_INVALID, "the profile has no exact counts: record some, with "
                                       "--profile counts or exact");
    }
    add_mispredictions(flows);
    return find_ranges(flows);
}

void hp_flows_fini(struct hp_flows *flows)
{
    free(flows->blocks);
    free(flows->edges);
    free(flows->mispredicted);
    free(flows->arrivals);
    free(flows->continued);
    free(flows->ranges);
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
    *end = HP_BISECT(i, 0, p->n_edges, hp_place_compare(p->edges[i].from, from) <= 0);
    return HP_BISECT(i, 0, *end, hp_place_compare(p->edges[i].from, from) < 0);
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
    return HP_BISECT(i, flows->first_block, flows->end_block,
                     flows->profile->blocks[i].place.offset < offset);
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
        hp_add_up(&executed, flows->blocks[i]);
    const uint32_t *arrivals = hp_flows_arrivals(flows, offset, &n);
    for (size_t i = 0; i < n; i++) {
        const struct hp_pedge *edge = &p->edges[arrivals[i]];
        if (!hp_flow_is_call(edge->flow) && hp_flows_leaves(flows, arrivals[i]) &&
            edge->from.offset - offset < size)
            hp_add_up(&own, flows->edges[arrivals[i]]);
    }
    return executed > own ? executed - own : 0;
}

uint64_t hp_flows_executed(const struct hp_flows *flows, uint64_t from, uint64_t to)
{
    const struct hp_flow_range *ranges = flows->ranges;
    uint64_t most = 0;
    for (size_t i = HP_BISECT(i, 0, flows->n_ranges, ranges[i].to <= from);
         i < flows->n_ranges && ranges[i].from < to; i++)
        if (ranges[i].count > most)
            most = ranges[i].count;
    return most;
}

struct hp_export_written hp_flows_written(const struct hp_flows *flows, const char *unit,
                                          uint64_t n, uint64_t total, const char *where)
{
    struct hp_export_written written = {.unit = unit, .written = n, .total = total};
    int length = snprintf(written.missing, sizeof written.missing, "%s", n < total ? where : "");
    if (flows->lost)
        snprintf(written.missing + length, sizeof written.missing - (size_t)length,
                 "%s%" PRIu64 " executions of paths whose blocks are not in the profile",
                 length ? "; " : "", flows->lost);
    return written;
}
