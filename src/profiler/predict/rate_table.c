// SPDX-License-Identifier: MIT
/*
 * A path profile of 256 counters: counts paths, not heads, but only those that are currently hot.
 * See docs/better.md.
 *
 * A small set-associative table holds paths that are not predicted yet, each with a count and its
 * time of entry. A path in it must keep up a rate: when it is slower than one in WINDOW executions
 * (of any paths: the clock), with a credit of SLACK, its entry is free for the next path that needs
 * one. So at most WINDOW paths can hold an entry for long, the many rare paths pass by, and a path
 * that is refused tries again at its next execution. It is predicted when its count exceeds the
 * delay plus, as in net_rate.c, what the running time requires.
 *
 * For real programs it has fewer counters than NET, though each belongs to a path and not to a
 * head. Operations: as a path profile's, one for each branch and one for the counter.
 */
#include "profiler/predict/scheme.h"

#include <stdlib.h>

#define SETS   16
#define WAYS   16
#define WINDOW 700
#define SLACK  5
#define GROWTH 20000

struct place {
    bool used; /* ever */
    bool held;
    uint32_t path;
    uint32_t count;
    uint64_t since; /* by the clock */
};

struct rate_table {
    struct hp_scheme base; /* first */
    uint32_t delay;
    struct place places[SETS][WAYS];
    struct hp_scheme_cost cost;
};

/* Its size is fixed. */
static enum hp_err rate_table_grow(struct hp_scheme *scheme, size_t n_paths, size_t n_heads)
{
    (void)scheme;
    (void)n_paths;
    (void)n_heads;
    return HP_OK;
}

/* Ids stand for descriptors: a hash of an id is as good as a hash of its descriptor. */
static uint32_t set_of(uint32_t path)
{
    return (uint32_t)(path * UINT32_C(0x9e3779b1)) >> 28;
}

static bool is_too_slow(const struct place *place, uint64_t flow)
{
    return flow - place->since > WINDOW * ((uint64_t)place->count + SLACK);
}

/* The entry of the path; or a free one, which becomes its own; NULL: none. */
static struct place *find_place(struct rate_table *table, const struct hp_flow_step *step)
{
    struct place *set = table->places[set_of(step->path)], *place = NULL;
    for (uint32_t w = 0; w < WAYS; w++) {
        bool held = set[w].held && !is_too_slow(&set[w], step->flow);
        if (set[w].held && set[w].path == step->path) {
            place = &set[w];
            if (held)
                return place;
            break;
        }
        if (!place && !held)
            place = &set[w];
    }
    if (place) {
        table->cost.counters += !place->used;
        *place =
            (struct place){.used = true, .held = true, .path = step->path, .since = step->flow};
    }
    return place;
}

static bool rate_table_profile(struct hp_scheme *scheme, const struct hp_flow_step *step)
{
    struct rate_table *table = (struct rate_table *)scheme;
    struct place *place = find_place(table, step);
    table->cost.operations += (uint64_t)step->length + 1;
    if (!place)
        return false;
    place->count++;
    if (place->count <= table->delay + step->flow / GROWTH)
        return false;
    place->held = false;
    return true;
}

static struct hp_scheme_cost rate_table_cost(const struct hp_scheme *scheme)
{
    return ((const struct rate_table *)scheme)->cost;
}

static void rate_table_free(struct hp_scheme *scheme)
{
    free(scheme);
}

static const struct hp_scheme_ops rate_table_ops = {
    .name = "rate-table",
    .counts_paths = true,
    .grow = rate_table_grow,
    .profile = rate_table_profile,
    .cost = rate_table_cost,
    .free = rate_table_free,
};

static enum hp_err rate_table_make(const struct hp_scheme_config *config, struct hp_scheme **scheme)
{
    struct rate_table *table = calloc(1, sizeof *table);
    if (!table)
        return hp_fail_nomem();
    table->base.ops = &rate_table_ops;
    table->delay = (uint32_t)config->delay;
    *scheme = &table->base;
    return HP_OK;
}

const struct hp_scheme_kind hp_scheme_rate_table = {
    .model = HP_SCHEME_MODEL(
        "rate-table", "a table of 256 paths that keep up a rate (docs/better.md)", hp_scheme_delay),
    .make = rate_table_make,
};
