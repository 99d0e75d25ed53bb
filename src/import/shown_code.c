// SPDX-License-Identifier: MIT
/*
 * What samples show of code. A hop always shows the same of it: so many executions of blocks and
 * edges, so many instructions of functions. Things that all hops show alike are counted as one: a
 * *group*. So a sample costs as much as there are groups in its hops.
 */
#include "base/base.h"
#include "import/shown.h"
#include "import/stretches.h"
#include "profiler/lane.h"
#include "profiler/lanes.h"

#define MIN_CHUNKS 4 /* of steps: for fewer, no thread is started */

/* What is shown of a thing, or of a group, by a hop. */
struct part {
    uint32_t thing;
    uint32_t amount;
};

/* A group, in the samples so far of a part of all. */
struct group {
    uint64_t now, sum, squares; /* in the latest sample; in those before */
    uint32_t sample;            /* the latest that it is in */
    uint32_t samples;           /* before that one */
};

struct shown_code {
    struct hp_import_stacks *stacks;
    struct hp_result *result;
    struct hp_profile *profile;
    size_t n_blocks, n_functions;
    struct hp_map64 edge_of; /* from << 32 | to -> index */
    uint64_t *edges;         /* these keys */
    size_t n_edges, cap_edges;
    struct part *parts;
    size_t n_parts, cap_parts;
    size_t *firsts;   /* by hop, and behind the last: the first of its parts */
    size_t *place_of; /* by thing: behind its latest part */
    size_t n_places, cap_places;
    uint32_t *group_of; /* by thing: blocks, functions, edges */
    struct group *groups;
    size_t n_groups;
};

static void fini(struct shown_code *c)
{
    hp_map64_fini(&c->edge_of);
    free(c->edges);
    free(c->parts);
    free(c->firsts);
    free(c->place_of);
    free(c->group_of);
    free(c->groups);
}

/* --- What a hop shows ------------------------------------------------------------------------- */

/* An edge is a branch and its target: of blocks that end with the same branch, one stands for all.
 */
static enum hp_err edge_of(struct shown_code *c, uint32_t from, uint32_t to, uint32_t *edge)
{
    uint64_t key = (uint64_t)hp_stretches_same_end(c->stacks, from) << 32 | to;
    *edge = hp_map64_get(&c->edge_of, key);
    if (*edge != HP_MAP64_NONE)
        return HP_OK;
    *edge = (uint32_t)c->n_edges;
    HP_TRY(hp_grow(&c->edges, &c->cap_edges, c->n_edges + 1, sizeof *c->edges));
    HP_TRY(hp_map64_put(&c->edge_of, key, *edge));
    c->edges[c->n_edges++] = key;
    return HP_OK;
}

/* Of the same hop, the same thing comes once. */
static enum hp_err add_part(struct shown_code *c, size_t first, size_t thing, uint32_t amount)
{
    HP_TRY(hp_grow(&c->place_of, &c->cap_places, thing + 1, sizeof *c->place_of));
    for (; c->n_places <= thing; c->n_places++)
        c->place_of[c->n_places] = 0;
    size_t *place = &c->place_of[thing];
    if (*place > first) {
        c->parts[*place - 1].amount += amount;
        return HP_OK;
    }
    HP_TRY(hp_grow(&c->parts, &c->cap_parts, c->n_parts + 1, sizeof *c->parts));
    c->parts[c->n_parts++] = (struct part){(uint32_t)thing, amount};
    *place = c->n_parts;
    return HP_OK;
}

/* A block was executed, and then another one. */
static enum hp_err add_block(struct shown_code *c, size_t first, uint32_t block, uint32_t next)
{
    const struct hp_pblock *b = &c->profile->blocks[block];
    uint32_t edge;
    HP_TRY(edge_of(c, block, next, &edge));
    HP_TRY(add_part(c, first, c->n_blocks + c->n_functions + edge, 1));
    HP_TRY(add_part(c, first, block, 1));
    if (b->function == HP_PROFILE_NONE)
        return HP_OK;
    return add_part(c, first, c->n_blocks + b->function, b->insns);
}

static enum hp_err add_hop(struct shown_code *c, const struct hp_import_hop *hop)
{
    const struct hp_import_stacks *s = c->stacks;
    uint32_t next = s->spots[hop->to].block;
    size_t first = c->n_parts;
    bool runs = hop->run != HP_NO_ID && s->runs[hop->run].n;
    if (!runs)
        return hop->end != HP_NO_ID && next != HP_NO_ID ? add_block(c, first, hop->end, next)
                                                        : HP_OK;
    const struct hp_import_run *run = &s->runs[hop->run];
    const uint32_t *blocks = s->blocks + run->first;
    for (uint32_t i = 0; i + 1 < run->n; i++)
        HP_TRY(add_block(c, first, blocks[i], blocks[i + 1]));
    return next == HP_NO_ID ? HP_OK : add_block(c, first, blocks[run->n - 1], next);
}

static enum hp_err list_parts(struct shown_code *c)
{
    const struct hp_import_stacks *s = c->stacks;
    c->n_blocks = c->profile->n_blocks;
    c->n_functions = c->profile->n_functions;
    HP_TRY(hp_new(&c->firsts, s->n_hops + 1, sizeof *c->firsts));
    for (size_t i = 0; i < s->n_hops; i++) {
        HP_TRY(add_hop(c, &s->hops[i]));
        c->firsts[i + 1] = c->n_parts;
    }
    return HP_OK;
}

/* --- Groups ----------------------------------------------------------------------------------- */

/* Things of one group of which a hop shows the same become a new one. In the end those are together
 * of which all hops show the same. */
static enum hp_err split_groups(struct shown_code *c, size_t first, size_t end)
{
    struct hp_map64 split = {0};
    enum hp_err err = HP_OK;
    for (size_t i = first; i < end && err == HP_OK; i++) {
        uint32_t *group = &c->group_of[c->parts[i].thing];
        uint64_t key = (uint64_t)*group << 32 | c->parts[i].amount;
        uint32_t own = hp_map64_get(&split, key);
        if (own == HP_MAP64_NONE) {
            own = (uint32_t)++c->n_groups;
            err = hp_map64_put(&split, key, own);
        }
        *group = own;
    }
    hp_map64_fini(&split);
    return err;
}

/* Numbers the groups that are left from 1 on, and puts them in the place of things. */
static enum hp_err number_groups(struct shown_code *c, size_t n_things)
{
    uint32_t *number HP_CLEANUP(hp_free) = NULL;
    size_t *place_of HP_CLEANUP(hp_free) = NULL;
    size_t n = 0, at = 0;
    HP_TRY(hp_new(&number, c->n_groups + 1, sizeof *number));
    HP_TRY(hp_new(&place_of, c->n_groups + 1, sizeof *place_of));
    for (size_t i = 0; i < n_things; i++) {
        uint32_t *group = &c->group_of[i];
        if (*group && !number[*group])
            number[*group] = (uint32_t)++n;
        *group = number[*group];
    }
    c->n_groups = n + 1;
    for (size_t i = 0; i < c->stacks->n_hops; i++) {
        size_t first = c->firsts[i], begin = at;
        c->firsts[i] = begin;
        for (; first < c->firsts[i + 1]; first++) {
            uint32_t group = c->group_of[c->parts[first].thing], amount = c->parts[first].amount;
            if (place_of[group] > begin)
                continue;
            c->parts[at++] = (struct part){group, amount};
            place_of[group] = at;
        }
    }
    c->firsts[c->stacks->n_hops] = at;
    c->n_parts = at;
    return HP_OK;
}

static enum hp_err make_groups(struct shown_code *c)
{
    size_t n_things = c->n_blocks + c->n_functions + c->n_edges;
    HP_TRY(hp_new(&c->group_of, n_things, sizeof *c->group_of));
    for (size_t i = 0; i < c->stacks->n_hops; i++)
        HP_TRY(split_groups(c, c->firsts[i], c->firsts[i + 1]));
    HP_TRY(number_groups(c, n_things));
    return hp_new(&c->groups, c->n_groups, sizeof *c->groups);
}

/* --- Samples ---------------------------------------------------------------------------------- */

static inline void settle(struct group *g, uint32_t sample)
{
    g->samples += g->sample != 0;
    hp_add_up(&g->sum, g->now);
    hp_add_up(&g->squares, hp_saturating_mul(g->now, g->now));
    g->now = 0;
    g->sample = sample;
}

/* The samples of some chunks of steps. */
struct span {
    const struct shown_code *code;
    struct group *groups;
    size_t chunk, end;
};

static void show_span(void *context)
{
    const struct span *span = context;
    const struct shown_code *c = span->code;
    const struct hp_import_steps *steps = &c->stacks->steps;
    struct group *groups = span->groups;
    struct hp_import_stretch stretch = {.chunk = span->chunk, .next = steps->chunks[span->chunk]};
    while (hp_steps_next(steps, &stretch) && stretch.chunk < span->end)
        for (size_t i = 0; i < stretch.n; i++) {
            size_t hop = stretch.hops[i] & HP_HOP_ID;
            for (size_t k = c->firsts[hop]; k < c->firsts[hop + 1]; k++) {
                struct group *g = &groups[c->parts[k].thing];
                if (g->sample != stretch.sample)
                    settle(g, stretch.sample);
                g->now += c->parts[k].amount;
            }
        }
    for (size_t i = 0; i < c->n_groups; i++)
        settle(&groups[i], 0);
}

static void add_groups(struct shown_code *c, const struct group *more)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        struct group *g = &c->groups[i];
        g->samples += more[i].samples;
        hp_add_up(&g->sum, more[i].sum);
        hp_add_up(&g->squares, more[i].squares);
    }
}

/* A stack is in one chunk: the second half of them can be shown by another thread. Sums are the
 * same. */
static enum hp_err show_samples(struct shown_code *c)
{
    size_t n = c->stacks->steps.n_chunks;
    struct span first = {c, c->groups, 0, n}, second = {c, NULL, n / 2, n};
    struct group *groups HP_CLEANUP(hp_free) = NULL;
    struct hp_lane *lane = NULL;
    if (!n)
        return HP_OK;
    if (n < MIN_CHUNKS || hp_lanes_threads() < 2 || hp_lane_new(&lane) != HP_OK) {
        show_span(&first);
        return HP_OK;
    }
    enum hp_err err = hp_new(&groups, c->n_groups, sizeof *groups);
    if (err == HP_OK) {
        first.end = second.chunk;
        second.groups = groups;
        hp_lane_begin(lane, show_span, &second);
        show_span(&first);
        hp_lane_wait(lane);
        add_groups(c, groups);
    }
    hp_lane_free(lane);
    return err;
}

/* False: nothing is shown of the thing. */
static bool get(const struct shown_code *c, size_t thing, struct hp_psamples *row)
{
    const struct group *g = &c->groups[c->group_of[thing]];
    if (!c->group_of[thing] || !g->samples)
        return false;
    row->samples = g->samples;
    row->sum = g->sum < INT64_MAX ? g->sum : INT64_MAX;
    row->squares = g->squares < INT64_MAX ? g->squares : INT64_MAX;
    return true;
}

/* --- The profile ------------------------------------------------------------------------------ */

static enum hp_err add_rows(struct shown_code *c)
{
    struct hp_psamples row = {0}, *out;
    for (row.item = 0; row.item < c->n_blocks; row.item++)
        if (get(c, row.item, &row)) {
            HP_TRY(hp_profile_add_block_samples(c->profile, &out));
            *out = row;
        }
    for (row.item = 0; row.item < c->n_functions; row.item++)
        if (get(c, c->n_blocks + row.item, &row)) {
            HP_TRY(hp_profile_add_function_samples(c->profile, &out));
            *out = row;
        }
    return HP_OK;
}

/* An edge is there already: normalizing makes both one. */
static enum hp_err add_edge(struct shown_code *c, uint64_t key, uint32_t *index)
{
    struct hp_pedge *edge;
    *index = (uint32_t)c->profile->n_edges;
    HP_TRY(hp_profile_add_edge(c->profile, &edge));
    *edge = hp_result_edge(c->result, (uint32_t)(key >> 32), (uint32_t)key);
    return HP_OK;
}

static enum hp_err add_edges(struct shown_code *c)
{
    for (size_t i = 0; i < c->n_edges; i++) {
        struct hp_psamples row = {0}, *out;
        if (!get(c, c->n_blocks + c->n_functions + i, &row))
            continue;
        HP_TRY(add_edge(c, c->edges[i], &row.item));
        HP_TRY(hp_profile_add_edge_samples(c->profile, &out));
        *out = row;
    }
    return HP_OK;
}

enum hp_err hp_shown_code(struct hp_import_stacks *stacks, struct hp_result *result)
{
    struct shown_code c HP_CLEANUP(fini) = {
        .stacks = stacks, .result = result, .profile = hp_result_profile(result)};
    HP_TRY(list_parts(&c));
    HP_TRY(make_groups(&c));
    HP_TRY(show_samples(&c));
    HP_TRY(add_rows(&c));
    return add_edges(&c);
}
