// SPDX-License-Identifier: MIT
/*
 * Estimates how often edges were taken, from samples alone (docs/reconstruction.md, "From samples
 * alone"): expectation maximisation. A sample tells of the last instructions before it which ways
 * agree with its history and its pair. With the probabilities of steps known, so are those of these
 * ways, hence how often the sample is expected to have taken each edge. The sums of that over all
 * samples are new probabilities.
 */
#include "base/grow.h"
#include "profiler/sample/reconstruct_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPAN   HP_RECONSTRUCT_SPAN
#define ROUNDS 8
#define BITS   8    /* of history that are used */
#define SEEN   16.0 /* of the unit of counts: an edge that one sample took once */

/* Equal samples, together. All of it, but the weight, is the key. */
struct group {
    uint32_t place, index;
    uint32_t other, other_index; /* HP_NO_ID: no pair */
    uint32_t history, bits, distance, weight;
};

/* A step back to a state. */
struct move {
    uint32_t to;
    uint32_t arrow;
    uint32_t next; /* of the same state; NO_MOVE: none */
    bool within;   /* the arrow is within the span */
    double probability;
};
#define NO_MOVE UINT32_MAX

struct estimator {
    struct hp_place_graph *graph;
    struct hp_backward_walk *walk;
    struct group *groups;
    size_t n_groups;
    double *times;         /* by arrow: taken, in samples; NULL: 0 */
    double *expected;      /* by arrow, in this round */
    double *came, *called; /* by place */
    /* The ways back from one group. */
    double *before, *behind; /* by state: probability of the ways to it; of those beyond it */
    uint32_t *first;         /* by state: move */
    bool *done;              /* by state: all ways beyond it are known */
    uint32_t *order;         /* states, the farthest first */
    size_t n_order;
    struct move *moves;
    size_t n_moves, cap_moves;
};

/* --- Groups ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct group, weight));
}

static enum hp_err group_of(const struct hp_place_graph *g,
                            const struct hp_path_observation *sample, struct group *group)
{
    memset(group, 0, sizeof *group); /* it is compared as a whole */
    HP_TRY(hp_place_find(g, sample->pc, &group->place, &group->index));
    group->bits = sample->bits < BITS ? sample->bits : BITS;
    group->history = sample->history & ((1u << group->bits) - 1);
    group->weight = 1;
    group->other = HP_NO_ID;
    if (sample->distance && sample->distance <= SPAN) {
        group->distance = sample->distance;
        HP_TRY(hp_place_find(g, sample->other, &group->other, &group->other_index));
        if (group->other == HP_NO_ID)
            group->distance = 0;
    }
    return HP_OK;
}

static enum hp_err make_groups(struct estimator *e, const struct hp_path_observation *samples,
                               size_t n)
{
    HP_TRY(hp_new(&e->groups, n, sizeof *e->groups));
    for (size_t i = 0; i < n; i++) {
        struct group *group = &e->groups[e->n_groups];
        HP_TRY(group_of(e->graph, &samples[i], group));
        e->n_groups += group->place != HP_NO_ID;
    }
    if (!e->n_groups)
        return HP_OK;
    qsort(e->groups, e->n_groups, sizeof *e->groups, by_key);
    size_t kept = 0;
    for (size_t i = 1; i < e->n_groups; i++)
        if (by_key(&e->groups[i], &e->groups[kept]) == 0)
            e->groups[kept].weight += e->groups[i].weight;
        else
            e->groups[++kept] = e->groups[i];
    e->n_groups = kept + 1;
    return HP_OK;
}

/* --- Probabilities ---------------------------------------------------------------------------- */

static void sum_arrivals(struct estimator *e)
{
    const struct hp_place_graph *g = e->graph;
    for (uint32_t p = 0; p < g->n; p++)
        e->came[p] = e->called[p] = 0;
    for (size_t i = 0; i < g->n_arrows; i++) {
        const struct hp_arrow *arrow = &g->arrows[i];
        e->came[arrow->to] += e->times[i];
        e->called[arrow->to] += arrow->kind == HP_ARROW_CALL ? e->times[i] : 0;
    }
}

/* --- The ways back from a group --------------------------------------------------------------- */

/* Nothing before it matters any more: it has the span, and all of the history. */
static bool is_far(const struct group *group, const struct hp_walk_state *state)
{
    return state->near == SPAN && state->level == group->bits;
}

/* The state like this one; HP_NO_ID: no room. Neither instructions beyond the span matter, nor
 * branches beyond the history. */
static uint32_t state_of(struct estimator *e, const struct group *group, struct hp_walk_state *like)
{
    like->near = like->near < SPAN ? like->near : SPAN;
    like->level = like->level < group->bits ? like->level : (uint8_t)group->bits;
    if (is_far(group, like))
        *like = (struct hp_walk_state){.near = SPAN, .level = like->level, .seen = like->seen};
    uint32_t known = e->walk->n_states, id = hp_walk_find(e->walk, like);
    e->walk->over |= id == HP_NO_ID;
    if (id == known)
        e->before[id] = e->behind[id] = e->done[id] = 0;
    return id;
}

/* Whether the other instruction is among the last `insns` of a place that go before a state. */
static bool has_other(const struct group *group, uint32_t near, uint32_t place, uint32_t insns)
{
    return group->distance && place == group->other && group->other_index < insns &&
           near + insns - group->other_index <= group->distance;
}

static bool is_allowed(const struct group *group, const struct hp_walk_state *state,
                       const struct hp_arrow *arrow)
{
    return arrow->bit < 0 || state->level >= group->bits ||
           (group->history >> state->level & 1) == (uint32_t)arrow->bit;
}

static enum hp_err explore(struct estimator *e, const struct group *group, uint32_t id);

/* A step back by an arrow that is that likely, and all ways from there. A loop that no branch of
 * the history ends is left out. */
static enum hp_err move_back(struct estimator *e, const struct group *group, uint32_t id,
                             const struct hp_arrow *arrow, double probability)
{
    const struct hp_walk_state *state = &e->walk->states[id];
    uint32_t insns = e->graph->places[arrow->from].insns;
    if (!is_allowed(group, state, arrow))
        return HP_OK;
    struct hp_walk_state next = {.place = arrow->from,
                                 .stack = hp_walk_behind(e->walk, arrow, state->stack),
                                 .near = (uint16_t)(state->near + insns),
                                 .level = (uint8_t)(state->level + (arrow->bit >= 0)),
                                 .seen = state->seen};
    if (next.stack == HP_NO_ID)
        return HP_OK;
    next.seen |= has_other(group, state->near, arrow->from, insns);
    bool within = state->near < SPAN;
    uint32_t known = e->walk->n_states, to = state_of(e, group, &next);
    if (to == HP_NO_ID)
        return HP_OK;
    if (to == known)
        HP_TRY(explore(e, group, to));
    if (!e->done[to] || e->walk->over || !(e->behind[to] > 0))
        return HP_OK;
    HP_TRY(hp_grow(&e->moves, &e->cap_moves, e->n_moves + 1, sizeof *e->moves));
    e->moves[e->n_moves] =
        (struct move){to, (uint32_t)(arrow - e->graph->arrows), e->first[id], within, probability};
    e->first[id] = (uint32_t)e->n_moves++;
    e->behind[id] += probability * e->behind[to];
    return HP_OK;
}

/* The other instruction must have been met; a way that ends too soon proves nothing. Where nothing
 * is known to come before, the rest of the history is chance. */
static double end_here(const struct group *group, const struct hp_walk_state *state)
{
    bool open = !group->distance || state->seen || state->near < group->distance;
    return open ? ldexp(1, (int)state->level - (int)group->bits) : 0;
}

static enum hp_err explore_arrows(struct estimator *e, const struct group *group, uint32_t id)
{
    const struct hp_walk_state state = e->walk->states[id];
    const struct hp_graph_place *place = &e->graph->places[state.place];
    bool top = state.stack == HP_WALK_EMPTY;
    size_t end = top ? place[1].first : place->calls;
    if (place->first == place[1].first)
        e->behind[id] = end_here(group, &state);
    for (size_t i = place->first; i < end && !e->walk->over; i++)
        HP_TRY(move_back(e, group, id, &e->graph->arrows[i], e->times[i] / e->came[state.place]));
    if (top || place->calls == place[1].first || e->walk->over)
        return HP_OK;
    const struct hp_arrow *call =
        hp_place_arrow(e->graph, e->walk->frames[state.stack].site, state.place);
    if (!call || call->kind != HP_ARROW_CALL)
        return HP_OK;
    return move_back(e, group, id, call, e->called[state.place] / e->came[state.place]);
}

/* Finds the probability of the ways beyond a state. */
static enum hp_err explore(struct estimator *e, const struct group *group, uint32_t id)
{
    e->first[id] = NO_MOVE;
    if (is_far(group, &e->walk->states[id]))
        e->behind[id] = end_here(group, &e->walk->states[id]);
    else
        HP_TRY(explore_arrows(e, group, id));
    e->done[id] = true;
    e->order[e->n_order++] = id;
    return HP_OK;
}

/* From the sample; `*found`: there are ways, and not too many. */
static enum hp_err find_ways(struct estimator *e, const struct group *group, bool *found)
{
    static const struct hp_walk_query across = {.across = true};
    struct hp_reconstruct_answer answer; /* not used */
    struct hp_walk_state first = {.place = group->place, .near = (uint16_t)group->index};
    hp_walk_start(e->walk, &across, &answer);
    e->n_moves = 0;
    e->n_order = 0;
    first.seen = has_other(group, 0, group->place, group->index);
    enum hp_err err = explore(e, group, state_of(e, group, &first));
    e->walk->answer = NULL;
    e->walk->query = NULL;
    *found = !e->walk->over && e->behind[0] > 0;
    return err;
}

/* Adds what a group is expected to have taken within the span: a state comes in the order behind
 * all that are farther. Where there are too many ways, half of the history is forgotten. */
static enum hp_err expect(struct estimator *e, const struct group *group)
{
    struct group known = *group;
    bool found = false;
    if (group->index >= SPAN) /* its own place is all */
        return HP_OK;
    HP_TRY(find_ways(e, &known, &found));
    for (; e->walk->over && known.bits; known.bits /= 2)
        HP_TRY(find_ways(e, &known, &found));
    if (!found)
        return HP_OK;
    e->before[0] = group->weight / e->behind[0];
    for (size_t i = e->n_order; i-- > 0;) {
        uint32_t from = e->order[i];
        for (uint32_t m = e->first[from]; m != NO_MOVE; m = e->moves[m].next) {
            const struct move *move = &e->moves[m];
            double before = e->before[from] * move->probability;
            e->before[move->to] += before;
            if (move->within)
                e->expected[move->arrow] += before * e->behind[move->to];
        }
    }
    return HP_OK;
}

/* --- Rounds ----------------------------------------------------------------------------------- */

/* An edge that no sample took gets a sixteenth of one that one did. */
static void take_over(struct estimator *e)
{
    const struct hp_place_graph *g = e->graph;
    for (size_t i = 0; i < g->n_arrows; i++) {
        e->times[i] = e->expected[i] + (double)g->arrows[i].count + 1 / SEEN;
        e->expected[i] = 0;
    }
    sum_arrivals(e);
}

static enum hp_err run(struct estimator *e)
{
    for (size_t i = 0; i < e->graph->n_arrows; i++)
        e->expected[i] = 1; /* before the first round all are alike */
    take_over(e);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < e->n_groups; i++)
            HP_TRY(expect(e, &e->groups[i]));
        take_over(e);
    }
    for (size_t i = 0; i < e->graph->n_arrows; i++)
        e->graph->arrows[i].count = (uint64_t)llround(e->times[i] * SEEN);
    return hp_place_graph_order(e->graph);
}

static enum hp_err start(struct estimator *e)
{
    size_t n = e->graph->n_arrows, places = (size_t)e->graph->n + 1, states = e->walk->limit;
    HP_TRY(hp_new(&e->times, n, sizeof *e->times));
    HP_TRY(hp_new(&e->expected, n, sizeof *e->expected));
    HP_TRY(hp_new(&e->came, places, sizeof *e->came));
    HP_TRY(hp_new(&e->called, places, sizeof *e->called));
    HP_TRY(hp_new(&e->first, states, sizeof *e->first));
    HP_TRY(hp_new(&e->done, states, sizeof *e->done));
    HP_TRY(hp_new(&e->order, states, sizeof *e->order));
    HP_TRY(hp_new(&e->before, states, sizeof *e->before));
    return hp_new(&e->behind, states, sizeof *e->behind);
}

enum hp_err hp_place_graph_estimate(struct hp_place_graph *graph, struct hp_backward_walk *walk,
                                    const struct hp_path_observation *samples, size_t n)
{
    struct estimator e = {.graph = graph, .walk = walk};
    enum hp_err err = start(&e);
    if (err == HP_OK)
        err = make_groups(&e, samples, n);
    if (err == HP_OK)
        err = run(&e);
    free(e.groups);
    free(e.times);
    free(e.expected);
    free(e.came);
    free(e.called);
    free(e.first);
    free(e.done);
    free(e.order);
    free(e.before);
    free(e.behind);
    free(e.moves);
    return err;
}
