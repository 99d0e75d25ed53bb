// SPDX-License-Identifier: MIT
#include "export/flows.h"

#include "base/base.h"
#include "hotpath/path.h"
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

/* --- From the paths of a table ---------------------------------------------------------------- */

/* Where paths ended: by edges, or, where a branch had several targets, by the first edge of that
 * branch. And how many started at each block. */
struct ends {
    uint64_t *known, *open, *starts;
};

static void fini_ends(struct ends *ends)
{
    free(ends->known);
    free(ends->open);
    free(ends->starts);
}

/* That a block's end was passed `count` times: to `next`, or, when that is not known (NULL), to the
 * only place where it ever led. */
static void add_transfer(struct hp_flows *flows, struct ends *ends, const struct hp_pblock *block,
                         const struct hp_place *next, bool taken, uint64_t count)
{
    const struct hp_pedge *edges = flows->profile->edges;
    struct hp_place from = {block->place.module, block->place.offset + block->branch};
    size_t end, first = hp_flows_departures(flows, from, &end), found = 0, n_found = 0;
    for (size_t i = first; i < end; i++) {
        if (!edges[i].taken != taken && (!next || hp_place_compare(edges[i].to, *next) == 0)) {
            found = i;
            n_found++;
        }
    }
    if (n_found == 1)
        hp_add_up(&flows->edges[found], count);
    if (!next && n_found)
        hp_add_up(n_found == 1 ? &ends->known[found] : &ends->open[first], count);
}

/* One path that ran `count` times. */
static void add_steps(struct hp_flows *flows, struct ends *ends, const struct hp_pstep *steps,
                      size_t n, uint64_t count)
{
    const struct hp_pblock *blocks = flows->profile->blocks;
    for (size_t i = 0; i < n; i++) {
        const struct hp_pblock *block = &blocks[steps[i].block];
        const struct hp_place *next = i + 1 < n ? &blocks[steps[i + 1].block].place : NULL;
        bool called = steps[i].how == HP_STEP_CALLED;
        hp_add_up(&flows->blocks[steps[i].block], count);
        if (next && (called || block->flow == HP_FLOW_NONE))
            hp_add_up(&flows->continued[steps[i + 1].block], count);
        if (steps[i].how < HP_STEP_END)
            add_transfer(flows, ends, block, called ? NULL : next, steps[i].how != HP_STEP_FELL,
                         count);
    }
}

/* How often a path ran by what its table counted. */
static enum hp_err executions_of(const struct hp_profile *p, const struct hp_ptable_path *entry,
                                 const struct hp_pstep *steps, size_t n, uint64_t *count)
{
    struct hp_ppcr ppcr;
    uint64_t insns = 0;
    HP_TRY(hp_ppcr_parse(p->paths[entry->path].kind, &ppcr));
    *count = entry->events;
    if (ppcr.metric == HP_METRIC_EXECUTIONS)
        return HP_OK;
    if (ppcr.metric != HP_METRIC_INSTRUCTIONS)
        return hp_fail(HP_ERR_INVALID,
                       "table '%s' counts %s: what was executed cannot be told from that; record "
                       "one that counts executions",
                       entry->table, hp_metric_title(ppcr.metric));
    for (size_t i = 0; i < n; i++)
        insns += p->blocks[steps[i].block].insns;
    *count = insns ? (entry->events + insns / 2) / insns : 0;
    return HP_OK;
}

/* The table that is meant: by its whole name, or by the first word where only one has it. */
static enum hp_err find_table(const struct hp_profile *p, const char *name, const char **found)
{
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    const char *last = "";
    size_t length = strlen(name), n_found = 0;
    if (!p->n_table_paths)
        return hp_fail(HP_ERR_INVALID,
                       "the profile has no hot path tables; record some: hotpath record --profile "
                       "paths --table vaswani -- PROGRAM");
    for (size_t i = 0; i < p->n_table_paths; i++) {
        const char *table = p->table_paths[i].table;
        if (strcmp(table, last) == 0)
            continue;
        hp_strbuf_format(&names, "%s'%s'", *last ? ", " : "", table);
        last = table;
        if (strncmp(table, name, length) != 0 || (table[length] && table[length] != ' '))
            continue;
        *found = table;
        n_found++;
        if (!table[length])
            return HP_OK;
    }
    if (n_found == 1)
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "there is %s '%s'; there are: %.399s",
                   strchr(name, ' ') ? "no table" : "not one table", name, hp_strbuf_text(&names));
}

static enum hp_err add_paths(struct hp_flows *flows, struct ends *ends, const char *table)
{
    const struct hp_profile *p = flows->profile;
    for (size_t i = 0; i < p->n_table_paths; i++) {
        const struct hp_ptable_path *entry = &p->table_paths[i];
        size_t n;
        uint64_t count;
        if (strcmp(entry->table, table) != 0)
            continue;
        const struct hp_pstep *steps = hp_items(p, HP_ROW_PATH_STEP, entry->path, &n);
        HP_TRY(executions_of(p, entry, steps, n, &count));
        add_steps(flows, ends, steps, n, count);
        hp_add_up(n ? &ends->starts[steps[0].block] : &flows->lost, count);
    }
    return HP_OK;
}

/* --- Branches with several targets ------------------------------------------------------------ */

/* How many executions of the branch of an edge led nobody knows where; 0: it is none of those. */
static uint64_t open_of(const struct hp_flows *flows, const struct ends *ends, uint32_t edge)
{
    const struct hp_pedge *edges = flows->profile->edges;
    if (!edges[edge].taken || edges[edge].flow == HP_FLOW_RETURN)
        return 0;
    size_t end;
    return ends->open[hp_flows_departures(flows, edges[edge].from, &end)];
}

/* Paths that start at a block were come to over edges. Those that no path is known to have ended
 * with are shared among the branches that have several targets, of which this is one. */
static void share_starts(struct hp_flows *flows, const struct ends *ends, size_t block)
{
    size_t n;
    const uint32_t *arrivals =
        hp_flows_arrivals(flows, flows->profile->blocks[block].place.offset, &n);
    uint64_t known = 0, open = 0, starts = ends->starts[block];
    for (size_t i = 0; i < n; i++) {
        hp_add_up(&known, ends->known[arrivals[i]]);
        hp_add_up(&open, open_of(flows, ends, arrivals[i]));
    }
    if (starts <= known || !open)
        return;
    for (size_t i = 0; i < n; i++)
        hp_add_up(&flows->edges[arrivals[i]],
                  hp_part_of(starts - known, open_of(flows, ends, arrivals[i]), open));
}

static enum hp_err add_table(struct hp_flows *flows, const char *name)
{
    const struct hp_profile *p = flows->profile;
    const char *table = NULL;
    struct ends ends HP_CLEANUP(fini_ends) = {0};
    HP_TRY(find_table(p, name, &table));
    HP_TRY(hp_new(&ends.known, p->n_edges, sizeof *ends.known));
    HP_TRY(hp_new(&ends.open, p->n_edges, sizeof *ends.open));
    HP_TRY(hp_new(&ends.starts, p->n_blocks, sizeof *ends.starts));
    HP_TRY(add_paths(flows, &ends, table));
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        share_starts(flows, &ends, i);
    return HP_OK;
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
    struct hp_flow_range *changes HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&changes, most, sizeof *changes));
    HP_TRY(hp_new(&flows->ranges, most, sizeof *flows->ranges));
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

enum hp_err hp_flows_init(struct hp_flows *flows, const struct hp_export_request *request,
                          uint32_t module)
{
    const struct hp_profile *p = request->profile;
    *flows = (struct hp_flows){.profile = p, .module = module};
    if (request->metric && strcmp(request->metric, "instructions") != 0)
        return hp_fail(HP_ERR_INVALID,
                       "this format is made of executions: --metric %s does not fit it",
                       request->metric);
    HP_TRY(hp_new(&flows->blocks, p->n_blocks, sizeof *flows->blocks));
    HP_TRY(hp_new(&flows->edges, p->n_edges, sizeof *flows->edges));
    HP_TRY(hp_new(&flows->mispredicted, p->n_edges, sizeof *flows->mispredicted));
    HP_TRY(hp_new(&flows->arrivals, p->n_edges, sizeof *flows->arrivals));
    HP_TRY(hp_new(&flows->continued, p->n_blocks, sizeof *flows->continued));
    index_module(flows);
    if (request->table) {
        HP_TRY(add_table(flows, request->table));
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

void hp_flows_written(const struct hp_flows *flows, struct hp_export_request *request,
                      const char *unit, uint64_t n, uint64_t total, const char *where)
{
    char *missing = request->written.missing;
    request->written = (struct hp_export_written){.unit = unit, .written = n, .total = total};
    int length = snprintf(missing, sizeof request->written.missing, "%s", n < total ? where : "");
    if (flows->lost)
        snprintf(missing + length, sizeof request->written.missing - (size_t)length,
                 "%s%" PRIu64 " executions of paths whose blocks are not in the profile",
                 length ? "; " : "", flows->lost);
}
