// SPDX-License-Identifier: MIT
/*
 * Prediction from branch frequencies, as in the binary translator Boa (Sathaye et al.; related work
 * of Duesterwald and Bala). Every branch direction is counted while paths are profiled, and heads
 * as in NET. When a head is hot, a path is built from there by always following the most frequent
 * direction (of equals, the first seen), to the first backward branch. Correlation of branches is
 * lost, so the path may be one that never runs; it is predicted nevertheless. Then the head's count
 * restarts.
 *
 * A *site* is a branch, an *edge* one of its directions. The successor of an edge is the site that
 * followed it the first time.
 *
 * Operations: for an execution, one for the head and one for each branch; for a prediction, one for
 * each branch followed.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "profiler/predict/scheme.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct edge {
    struct hp_flow_branch branch;
    uint64_t count;
    uint32_t site;
    uint32_t next;  /* site; NONE: the path ends with it, or its successor is unknown */
    uint32_t other; /* the next direction of the site; NONE */
};

struct site {
    uint64_t address;
    uint32_t first, last; /* edges, in order of first occurrence */
};

struct boa {
    struct hp_scheme base; /* first */
    uint32_t delay;
    uint32_t *counts; /* by head: 1 + its count; 0: never counted */
    size_t cap_counts;
    uint32_t *first_edge; /* by path: position of its edges in `along`, + 1; 0: not listed yet */
    size_t cap_first_edge;
    uint32_t *along; /* for each path the number of its edges, then the edges */
    size_t n_along, cap_along;
    struct site *sites;
    size_t n_sites, cap_sites;
    struct hp_map64 site_at;   /* address -> site */
    struct hp_map64 target_at; /* address -> a small number */
    uint32_t n_targets;
    struct hp_map64 edge_of; /* site << 32 | number of the target << 1 | taken -> edge */
    struct edge *edges;
    size_t n_edges, cap_edges;
    struct hp_scheme_cost cost;
    bool out_of_memory;
};

static enum hp_err boa_grow(struct hp_scheme *scheme, size_t n_paths, size_t n_heads)
{
    struct boa *boa = (struct boa *)scheme;
    HP_TRY(hp_grow(&boa->counts, &boa->cap_counts, n_heads, sizeof *boa->counts));
    return hp_grow(&boa->first_edge, &boa->cap_first_edge, n_paths, sizeof *boa->first_edge);
}

/* --- Branches --------------------------------------------------------------------------------- */

static enum hp_err find_site(struct boa *boa, uint64_t address, uint32_t *site)
{
    *site = hp_map64_get(&boa->site_at, address);
    if (*site != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&boa->sites, &boa->cap_sites, boa->n_sites + 1, sizeof *boa->sites));
    HP_TRY(hp_map64_put(&boa->site_at, address, (uint32_t)boa->n_sites));
    *site = (uint32_t)boa->n_sites++;
    boa->sites[*site] = (struct site){.address = address, .first = NONE, .last = NONE};
    return HP_OK;
}

static enum hp_err number_target(struct boa *boa, uint64_t target, uint32_t *number)
{
    *number = hp_map64_get(&boa->target_at, target);
    if (*number != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_map64_put(&boa->target_at, target, boa->n_targets));
    *number = boa->n_targets++;
    return HP_OK;
}

static enum hp_err find_edge(struct boa *boa, struct hp_flow_branch *branch, uint32_t *edge)
{
    uint32_t site, number;
    /* A backward target of an indirect branch is not part of a path: all count as one direction. */
    if (branch->indirect && branch->taken && branch->target <= branch->address)
        branch->target = 0;
    HP_TRY(find_site(boa, branch->address, &site));
    HP_TRY(number_target(boa, branch->target, &number));
    uint64_t key = (uint64_t)site << 32 | (number << 1 | branch->taken);
    *edge = hp_map64_get(&boa->edge_of, key);
    if (*edge != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&boa->edges, &boa->cap_edges, boa->n_edges + 1, sizeof *boa->edges));
    HP_TRY(hp_map64_put(&boa->edge_of, key, (uint32_t)boa->n_edges));
    *edge = (uint32_t)boa->n_edges++;
    boa->edges[*edge] = (struct edge){.branch = *branch, .site = site, .next = NONE, .other = NONE};
    if (boa->sites[site].first == NONE)
        boa->sites[site].first = *edge;
    else
        boa->edges[boa->sites[site].last].other = *edge;
    boa->sites[site].last = *edge;
    return HP_OK;
}

/* Lists the edges of a path. */
static enum hp_err list_edges(struct boa *boa, const struct hp_flow_step *step)
{
    struct hp_flow_branch branches[HP_PATH_MAX_LENGTH];
    size_t n = boa->base.host->branches(boa->base.host, step, branches), at = boa->n_along;
    HP_TRY(hp_grow(&boa->along, &boa->cap_along, at + 1 + n, sizeof *boa->along));
    if (at + 1 + n > NONE)
        return hp_fail_nomem();
    boa->along[at] = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        HP_TRY(find_edge(boa, &branches[i], &boa->along[at + 1 + i]));
    for (size_t i = 0; i + 1 < n; i++) {
        struct edge *edge = &boa->edges[boa->along[at + 1 + i]];
        if (edge->next == NONE)
            edge->next = boa->edges[boa->along[at + 2 + i]].site;
    }
    boa->n_along = at + 1 + n;
    boa->first_edge[step->path] = (uint32_t)at + 1;
    return HP_OK;
}

/* --- Predicting ------------------------------------------------------------------------------- */

static const struct edge *likeliest(const struct boa *boa, uint32_t site)
{
    const struct edge *best = &boa->edges[boa->sites[site].first];
    for (uint32_t e = best->other; e != NONE; e = boa->edges[e].other)
        if (boa->edges[e].count > best->count)
            best = &boa->edges[e];
    return best;
}

/* Follows the most frequent directions from `site`, to a backward branch or the maximum length, and
 * predicts that path. */
static void follow(struct boa *boa, const struct hp_flow_step *step, uint32_t site)
{
    struct hp_flow_branch branches[HP_PATH_MAX_LENGTH];
    uint64_t list[HP_PATH_MAX_LENGTH];
    const uint64_t *targets;
    struct hp_path at_hand;
    boa->base.host->path(boa->base.host, step, &at_hand, &targets);
    struct hp_path path = {.start = at_hand.start, .block = at_hand.block, .events = 1};
    bool back = false;
    while (!back && path.length < boa->base.max_length) {
        if (site == NONE) /* unknown from here on */
            return;
        const struct edge *edge = likeliest(boa, site);
        const struct hp_flow_branch *b = &edge->branch;
        back = b->taken && b->target <= b->address;
        branches[path.length++] = *b;
        path.outcomes = path.outcomes << 1 | b->taken;
        if (b->taken && b->indirect && !back) {
            path.targets = hp_path_hash_target(path.targets, b->target);
            list[path.n_targets++] = b->target;
        }
        site = edge->next;
    }
    boa->cost.operations += path.length;
    boa->base.host->predict(boa->base.host, &boa->base, &path, list, branches);
}

static bool boa_profile(struct hp_scheme *scheme, const struct hp_flow_step *step)
{
    struct boa *boa = (struct boa *)scheme;
    if (boa->out_of_memory)
        return false;
    if (!boa->first_edge[step->path] && list_edges(boa, step) != HP_OK) {
        boa->out_of_memory = true;
        return false;
    }
    const uint32_t *along = &boa->along[boa->first_edge[step->path] - 1];
    for (uint32_t i = 1; i <= along[0]; i++)
        boa->cost.counters += boa->edges[along[i]].count++ == 0;
    boa->cost.operations += along[0] + 1;
    uint32_t *count = &boa->counts[step->head];
    if (*count == 0) {
        boa->cost.counters++;
        *count = 1;
    }
    *count += 1;
    if (*count - 1 <= boa->delay)
        return false;
    *count = 1;
    if (along[0])
        follow(boa, step, boa->edges[along[1]].site);
    return false;
}

/* --- Creating --------------------------------------------------------------------------------- */

static struct hp_scheme_cost boa_cost(const struct hp_scheme *scheme)
{
    return ((const struct boa *)scheme)->cost;
}

static enum hp_err boa_check(const struct hp_scheme *scheme)
{
    return ((const struct boa *)scheme)->out_of_memory ? hp_fail_nomem() : HP_OK;
}

static void boa_free(struct hp_scheme *scheme)
{
    struct boa *boa = (struct boa *)scheme;
    free(boa->counts);
    free(boa->first_edge);
    free(boa->along);
    free(boa->sites);
    free(boa->edges);
    hp_map64_fini(&boa->site_at);
    hp_map64_fini(&boa->target_at);
    hp_map64_fini(&boa->edge_of);
    free(boa);
}

static const struct hp_scheme_ops boa_ops = {
    .name = "boa",
    .counts_paths = true,
    .grow = boa_grow,
    .profile = boa_profile,
    .cost = boa_cost,
    .check = boa_check,
    .free = boa_free,
};

static enum hp_err boa_make(const struct hp_scheme_config *config, struct hp_scheme **scheme)
{
    struct boa *boa = calloc(1, sizeof *boa);
    if (!boa)
        return hp_fail_nomem();
    boa->base.ops = &boa_ops;
    boa->delay = (uint32_t)config->delay;
    *scheme = &boa->base;
    return HP_OK;
}

const struct hp_scheme_kind hp_scheme_boa = {
    .model = HP_SCHEME_MODEL("boa", "from a hot head, the most frequent direction of each branch",
                             hp_scheme_delay),
    .make = boa_make,
};
