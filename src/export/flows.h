// SPDX-License-Identifier: MIT
/*
 * What was executed in one file of a profile, as the formats for optimisers need it: how often
 * every block ran, and how often control went from one place to another. The counts are the exact
 * ones, or those of a hot path table.
 */
#ifndef HP_EXPORT_FLOWS_H
#define HP_EXPORT_FLOWS_H

#include "export/export.h"

/* A run of bytes of the module whose instructions were all executed equally often. */
struct hp_flow_range {
    uint64_t from, to; /* offsets; `to` is behind it */
    uint64_t count;
};

/* All zero is an empty one. */
struct hp_flows {
    const struct hp_profile *profile;
    uint32_t module;
    uint64_t *blocks;       /* executions, by the profile's index; of all modules */
    uint64_t *edges;        /* likewise */
    uint64_t *mispredicted; /* of these; all 0 where no machine was watched */
    uint64_t *continued; /* blocks: come to from above without a branch, behind a call or a cut */
    size_t first_block, end_block; /* those of the module */
    uint32_t *arrivals;            /* edges that lead into the module, by where to */
    size_t n_arrivals;
    /* The executed code of the module, in order, without overlaps; neighbours may have equal
     * counts. Every block starts one. */
    struct hp_flow_range *ranges;
    size_t n_ranges;
    uint64_t instructions; /* executed in the module, by these counts */
    uint64_t lost;         /* executions of paths of the table whose steps are not known */
};

/*
 * Counts for a module (hp_export_modules()). With a table, every path that was in it at the
 * end has run as often as the table counted: so have the blocks along it, and the transfers between
 * them. A branch at its end went where it always goes. One with several targets went to where paths
 * start that are not accounted for otherwise; where it was a return, it is left out. A table is
 * called as in the profile, "512x4 bl", or by the first word where that is enough. HP_ERR_INVALID:
 * there is no such table, or it counts something else than executions or instructions.
 * HP_ERR_NOMEM.
 */
enum hp_err hp_flows_init(struct hp_flows *flows, const struct hp_export_request *request,
                          uint32_t module);
void hp_flows_fini(struct hp_flows *flows);

/* The most executions of an instruction from one offset to before another. */
uint64_t hp_flows_executed(const struct hp_flows *flows, uint64_t from, uint64_t to);

/* The edges that lead to an offset of the module: the first of `*n` in flows->arrivals. */
const uint32_t *hp_flows_arrivals(const struct hp_flows *flows, uint64_t offset, size_t *n);

/* The first block of the module that starts at an offset or behind it; end_block: none does. */
size_t hp_flows_block(const struct hp_flows *flows, uint64_t offset);

/* The function that starts at a place, of any module; NULL: none does. */
const struct hp_pfunction *hp_flows_function(const struct hp_flows *flows, struct hp_place place);

/* How often the function at an offset of the module was entered, in whatever way: its first
 * instruction's executions, but for jumps of its own. */
uint64_t hp_flows_entries(const struct hp_flows *flows, uint64_t offset);

/* The edges that leave a place: from the one that is returned up to before `*end`. */
size_t hp_flows_departures(const struct hp_flows *flows, struct hp_place place, size_t *end);

/* Says in request->written that `n` of `total` things were written; the rest, if there is any, is
 * `where`, and what the table does not know. */
void hp_flows_written(const struct hp_flows *flows, struct hp_export_request *request,
                      const char *unit, uint64_t n, uint64_t total, const char *where);

/* Distinguishes code at an offset of this module from that of others. */
static inline uint64_t hp_flows_instance(const struct hp_flows *flows, uint64_t offset)
{
    return offset ^ (uint64_t)flows->module << 48;
}

/* Whether control comes back behind it. */
static inline bool hp_flow_is_call(uint8_t flow)
{
    return flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND;
}

/* Whether an edge starts, or ends, in the module. */
static inline bool hp_flows_leaves(const struct hp_flows *flows, size_t edge)
{
    return flows->profile->edges[edge].from.module == flows->module;
}
static inline bool hp_flows_enters(const struct hp_flows *flows, size_t edge)
{
    return flows->profile->edges[edge].to.module == flows->module;
}

#endif
