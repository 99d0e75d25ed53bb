// SPDX-License-Identifier: MIT
/* Counts from the paths of a hot path table. */
#include "base/base.h"
#include "export/flows.h"
#include "hotpath/path.h"
#include "report/tables.h"
#include "text/number.h"

/* --- Paths ------------------------------------------------------------------------------------ */

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
        const struct hp_pstep *steps =
            hp_items_of(p->path_steps, p->n_path_steps, sizeof *p->path_steps, entry->path, &n);
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
        hp_add_up(&flows->edges[arrivals[i]], (uint64_t)((unsigned __int128)(starts - known) *
                                                         open_of(flows, ends, arrivals[i]) / open));
}

enum hp_err hp_flows_add_table(struct hp_flows *flows, const char *name)
{
    const struct hp_profile *p = flows->profile;
    const char *table = NULL;
    HP_TRY(find_table(p, name, &table));
    struct ends ends HP_CLEANUP(fini_ends) = {calloc(p->n_edges + 1, sizeof *ends.known),
                                              calloc(p->n_edges + 1, sizeof *ends.open),
                                              calloc(p->n_blocks + 1, sizeof *ends.starts)};
    if (!ends.known || !ends.open || !ends.starts)
        return hp_fail_nomem();
    HP_TRY(add_paths(flows, &ends, table));
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        share_starts(flows, &ends, i);
    return HP_OK;
}
