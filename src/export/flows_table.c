// SPDX-License-Identifier: MIT
#include "export/flows_table.h"

#include "hotpath/path.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(uint64_t *sum, uint64_t count)
{
    *sum = hp_saturating_add(*sum, count);
}

/* --- Paths ------------------------------------------------------------------------------------ */

static struct hp_place branch_of(const struct hp_pblock *block)
{
    return (struct hp_place){block->place.module, block->place.offset + block->branch};
}

/* Where paths ended: by edges, or, where a branch had several targets, by the first edge of that
 * branch. */
struct ends {
    uint64_t *known, *open;
};

/* That a block's end was passed `count` times: to `next`, or, when that is not known (NULL), to the
 * only place where it ever led. */
static void add_transfer(struct hp_flows *flows, struct ends *ends, const struct hp_pblock *block,
                         const struct hp_place *next, bool taken, uint64_t count)
{
    const struct hp_profile *p = flows->profile;
    size_t end, first = hp_flows_departures(flows, branch_of(block), &end), found = end, n = 0;
    for (size_t i = first; i < end; i++) {
        if (!p->edges[i].taken == taken || (next && hp_place_compare(p->edges[i].to, *next) != 0))
            continue;
        found = i;
        n++;
    }
    if (n == 1)
        add(&flows->edges[found], count);
    if (n == 1 && !next)
        add(&ends->known[found], count);
    else if (!next && n)
        add(&ends->open[first], count);
}

/* One path that ran `count` times. */
static void add_steps(struct hp_flows *flows, struct ends *ends, const struct hp_pstep *steps,
                      size_t n, uint64_t count)
{
    const struct hp_profile *p = flows->profile;
    for (size_t i = 0; i < n; i++) {
        const struct hp_pblock *block = &p->blocks[steps[i].block];
        const struct hp_place *next = i + 1 < n ? &p->blocks[steps[i + 1].block].place : NULL;
        add(&flows->blocks[steps[i].block], count);
        if (next && (steps[i].how == HP_STEP_CALLED || block->flow == HP_FLOW_NONE))
            add(&flows->continued[steps[i + 1].block], count);
        switch (steps[i].how) {
        case HP_STEP_FELL: add_transfer(flows, ends, block, next, false, count); break;
        case HP_STEP_TAKEN:
        case HP_STEP_ENTERED:
        case HP_STEP_RETURNED: add_transfer(flows, ends, block, next, true, count); break;
        case HP_STEP_CALLED: add_transfer(flows, ends, block, NULL, true, count); break;
        default: break;
        }
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

/* Says which tables there are. */
static enum hp_err no_table(const struct hp_profile *p, const char *name)
{
    char names[400];
    size_t length = 0;
    const char *last = "";
    if (!p->n_table_paths)
        return hp_fail(HP_ERR_INVALID,
                       "the profile has no hot path tables; record some: hotpath record --profile "
                       "paths --table vaswani -- PROGRAM");
    for (size_t i = 0; i < p->n_table_paths && length < sizeof names; i++) {
        if (strcmp(p->table_paths[i].table, last) == 0)
            continue;
        last = p->table_paths[i].table;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s'%s'",
                                   length ? ", " : "", last);
    }
    return hp_fail(HP_ERR_INVALID, "there is %s '%s'; there are: %s",
                   strchr(name, ' ') ? "no table" : "not one table", name, names);
}

/* The whole name of the table that is meant; NULL: there is none, or there are several. */
static const char *find_table(const struct hp_profile *p, const char *name)
{
    const char *found = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < p->n_table_paths; i++) {
        const char *table = p->table_paths[i].table;
        if (strcmp(table, name) == 0)
            return table;
        if (strncmp(table, name, length) != 0 || table[length] != ' ')
            continue;
        if (found && strcmp(found, table) != 0)
            return NULL;
        found = table;
    }
    return found;
}

static int order_steps(const void *a, const void *b)
{
    const struct hp_pstep *x = a, *y = b;
    return (x->path > y->path) - (x->path < y->path);
}

/* The steps of a path: they are in the order of paths. */
static const struct hp_pstep *steps_of(const struct hp_profile *p, uint32_t path, size_t *n)
{
    struct hp_pstep key = {.path = path};
    const struct hp_pstep *end = p->path_steps + p->n_path_steps;
    const struct hp_pstep *found = p->n_path_steps ? bsearch(&key, p->path_steps, p->n_path_steps,
                                                             sizeof *p->path_steps, order_steps)
                                                   : NULL;
    *n = 0;
    if (!found)
        return NULL;
    const struct hp_pstep *first = found;
    while (first > p->path_steps && first[-1].path == path)
        first--;
    while (first + *n < end && first[*n].path == path)
        ++*n;
    return first;
}

static enum hp_err add_paths(struct hp_flows *flows, struct ends *ends, const char *table,
                             uint64_t *starts)
{
    const struct hp_profile *p = flows->profile;
    for (size_t i = 0; i < p->n_table_paths; i++) {
        const struct hp_ptable_path *entry = &p->table_paths[i];
        size_t n;
        uint64_t count;
        if (strcmp(entry->table, table) != 0)
            continue;
        const struct hp_pstep *steps = steps_of(p, entry->path, &n);
        HP_TRY(executions_of(p, entry, steps, n, &count));
        add_steps(flows, ends, steps, n, count);
        add(n ? &starts[steps[0].block] : &flows->lost, count);
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
static void share_starts(struct hp_flows *flows, const struct ends *ends, size_t block,
                         uint64_t starts)
{
    size_t n;
    const uint32_t *arrivals =
        hp_flows_arrivals(flows, flows->profile->blocks[block].place.offset, &n);
    uint64_t known = 0, open = 0;
    for (size_t i = 0; i < n; i++) {
        add(&known, ends->known[arrivals[i]]);
        add(&open, open_of(flows, ends, arrivals[i]));
    }
    if (starts <= known || !open)
        return;
    for (size_t i = 0; i < n; i++)
        add(&flows->edges[arrivals[i]], (uint64_t)((unsigned __int128)(starts - known) *
                                                   open_of(flows, ends, arrivals[i]) / open));
}

enum hp_err hp_flows_add_table(struct hp_flows *flows, const char *name)
{
    const struct hp_profile *p = flows->profile;
    const char *table = find_table(p, name);
    if (!table)
        return no_table(p, name);
    struct ends ends = {calloc(p->n_edges + 1, sizeof *ends.known),
                        calloc(p->n_edges + 1, sizeof *ends.open)};
    uint64_t *starts = calloc(p->n_blocks + 1, sizeof *starts);
    enum hp_err err = ends.known && ends.open && starts ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        err = add_paths(flows, &ends, table, starts);
    for (size_t i = flows->first_block; i < flows->end_block && err == HP_OK; i++)
        share_starts(flows, &ends, i, starts[i]);
    free(ends.known);
    free(ends.open);
    free(starts);
    return err;
}
