// SPDX-License-Identifier: MIT
/*
 * The likeliest way back that agrees with the history, and whether it is the only one. The
 * likelihood of a step is how often it was taken out of all arrivals at its place; that of a way is
 * the product. Ways are extended in order of their likelihood (Dijkstra's algorithm, with
 * logarithms as lengths), so the first one that is long enough is the likeliest. At a place with
 * thousands of callers only the next best is tried at a time: arrows are in order of their counts.
 *
 * To find out whether there are several, every state may be reached by two ways, the two likeliest;
 * two ways that are long enough are a complete answer. So if thousands of ways agree the search
 * ends soon, and if only one does there is little to try.
 */
#include "base/grow.h"
#include "base/heap.h"
#include "profiler/sample/reconstruct_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEGINS SIZE_MAX

/* --- The heap --------------------------------------------------------------------------------- */

/* Ties go to the one found first, so that results are deterministic. */
static bool before(const void *x, const void *y)
{
    const struct hp_walk_choice *a = x, *b = y;
    if (a->cost < b->cost || a->cost > b->cost)
        return a->cost < b->cost;
    return a->state != b->state ? a->state < b->state : a->arrow < b->arrow;
}

static enum hp_err put(struct hp_backward_walk *walk, const struct hp_walk_choice *choice)
{
    HP_TRY(hp_grow(&walk->heap, &walk->cap_heap, walk->n_heap + 1, sizeof *walk->heap));
    walk->pending[walk->states[choice->state].level]++;
    hp_heap_put(walk->heap, walk->n_heap++, sizeof *choice, choice, before);
    return HP_OK;
}

static struct hp_walk_choice take(struct hp_backward_walk *walk)
{
    struct hp_walk_choice best;
    hp_heap_take(walk->heap, walk->n_heap--, sizeof best, &best, before);
    walk->pending[walk->states[best.state].level]--;
    return best;
}

/* --- Choices ---------------------------------------------------------------------------------- */

/* A step never taken is half as likely as one taken once. */
static double unlikely(uint64_t part, uint64_t whole)
{
    return log((whole ? (double)whole : 1) / (part ? (double)part : 0.5));
}

static bool allowed(const struct hp_backward_walk *walk, const struct hp_walk_state *state,
                    const struct hp_arrow *arrow)
{
    const struct hp_walk_query *q = walk->query;
    if (arrow->bit >= 0 && (q->history >> state->level & 1) != (uint32_t)arrow->bit)
        return false;
    return arrow->kind != HP_ARROW_TAIL || state->stack != HP_WALK_EMPTY || q->across;
}

/* Offers the best of a list of arrows, from `arrow` on. */
static enum hp_err offer_next(struct hp_backward_walk *walk, uint32_t id, size_t arrow, size_t end)
{
    const struct hp_walk_state *state = &walk->states[id];
    const struct hp_arrow *arrows = walk->graph->arrows;
    while (arrow < end && !allowed(walk, state, &arrows[arrow]))
        arrow++;
    if (arrow == end || (walk->ways == 1 && arrows[arrow].count == 0))
        return HP_OK;
    double cost =
        state->cost + unlikely(arrows[arrow].count, walk->graph->places[state->place].came);
    return put(walk, &(struct hp_walk_choice){.cost = cost, .state = id, .arrow = arrow});
}

/* Offers the call that must be met. Its site is known, so only how often the place was called at
 * all counts. */
static enum hp_err offer_call(struct hp_backward_walk *walk, uint32_t id)
{
    const struct hp_walk_state *state = &walk->states[id];
    const struct hp_graph_place *place = &walk->graph->places[state->place];
    const struct hp_arrow *call =
        hp_place_arrow(walk->graph, walk->frames[state->stack].site, state->place);
    if (!call || call->kind != HP_ARROW_CALL || !allowed(walk, state, call))
        return HP_OK;
    struct hp_walk_choice choice = {.cost = state->cost + unlikely(place->called, place->came),
                                    .state = id,
                                    .only = true,
                                    .arrow = (size_t)(call - walk->graph->arrows)};
    return put(walk, &choice);
}

static enum hp_err offer_beginning(struct hp_backward_walk *walk, uint32_t id)
{
    const struct hp_walk_state *state = &walk->states[id];
    const struct hp_graph_place *place = &walk->graph->places[state->place];
    double cost = place->entered ? unlikely(place->entered, place->came) : 0;
    if (!place->begins || !hp_walk_accepts(walk->query, state))
        return HP_OK;
    struct hp_walk_choice choice = {.cost = state->cost + cost, .state = id, .arrow = BEGINS};
    return put(walk, &choice);
}

/* Offers everything that may come before a state. */
static enum hp_err offer(struct hp_backward_walk *walk, uint32_t id)
{
    const struct hp_walk_state *state = &walk->states[id];
    const struct hp_graph_place *place = &walk->graph->places[state->place];
    bool top = state->stack == HP_WALK_EMPTY;
    HP_TRY(offer_next(walk, id, place->first, place->calls));
    if (!top)
        return place->calls < place[1].first ? offer_call(walk, id) : HP_OK;
    return walk->query->across ? offer_next(walk, id, place->calls, place[1].first)
                               : offer_beginning(walk, id);
}

/* --- The walk --------------------------------------------------------------------------------- */

/* A segment of this length was found. */
static void answer_with(struct hp_backward_walk *walk, uint32_t bits, uint32_t end, uint64_t path)
{
    if (walk->answer->paths[bits] == walk->ways)
        return;
    if (walk->answer->paths[bits]++)
        return;
    walk->answer->path[bits] = path;
    if (bits == walk->query->bits)
        walk->end = end;
}

/* A new state like this one, unless there are as many as wanted; HP_NO_ID: there are. */
static uint32_t find_way(struct hp_backward_walk *walk, struct hp_walk_state *like)
{
    for (like->way = 0; like->way < walk->ways; like->way++) {
        uint32_t before = walk->n_states, id = hp_walk_find(walk, like);
        walk->over |= id == HP_NO_ID;
        if (id == before || walk->over)
            return id;
    }
    return HP_NO_ID;
}

static enum hp_err go(struct hp_backward_walk *walk, const struct hp_walk_choice *choice)
{
    const struct hp_walk_query *q = walk->query;
    const struct hp_arrow *arrow = &walk->graph->arrows[choice->arrow];
    const struct hp_walk_state *state = &walk->states[choice->state];
    struct hp_walk_state next = {.place = arrow->from,
                                 .stack = hp_walk_behind(walk, arrow, state->stack),
                                 .near = state->near,
                                 .level = (uint8_t)(state->level + (arrow->bit >= 0)),
                                 .seen = state->seen,
                                 .path = hp_walk_path(state->path, arrow->from),
                                 .cost = choice->cost};
    if (next.stack == HP_NO_ID ||
        !hp_walk_extend(q, &next, arrow->from, walk->graph->places[arrow->from].insns))
        return HP_OK;
    uint32_t id = find_way(walk, &next);
    if (id == HP_NO_ID)
        return HP_OK;
    if (walk->linked)
        HP_TRY(hp_walk_join(walk, id, choice->state));
    if (arrow->bit >= 0 && hp_walk_accepts(q, &next))
        answer_with(walk, next.level, id, next.path);
    return next.level < q->bits ? offer(walk, id) : HP_OK;
}

static enum hp_err choose(struct hp_backward_walk *walk, const struct hp_walk_choice *choice)
{
    const struct hp_walk_state *state = &walk->states[choice->state];
    if (choice->arrow == BEGINS) {
        for (uint32_t n = state->level + 1u; n <= walk->query->bits; n++)
            answer_with(walk, n, choice->state, hp_walk_path(state->path, HP_WALK_BEGINNING));
        return HP_OK;
    }
    const struct hp_graph_place *place = &walk->graph->places[state->place];
    size_t end = choice->arrow < place->calls ? place->calls : place[1].first;
    if (!choice->only)
        HP_TRY(offer_next(walk, choice->state, choice->arrow + 1, end));
    return go(walk, choice);
}

/* Advances `*low`: shorter lengths are answered, because there are as many segments as wanted, or
 * because nothing shorter is left to extend. */
static void advance(const struct hp_backward_walk *walk, uint32_t *low)
{
    uint32_t left = 0;
    for (uint32_t level = 0; level < *low; level++)
        left += walk->pending[level];
    for (; *low < walk->query->bits; ++*low) {
        left += walk->pending[*low];
        if (left && walk->answer->paths[*low + 1] < walk->ways)
            return;
    }
}

/* Choices at `high` branches and more are useless now: all longer segments were found. */
static enum hp_err walk_on(struct hp_backward_walk *walk, uint32_t *low)
{
    uint32_t high = walk->query->bits;
    for (advance(walk, low); walk->n_heap && *low < high; advance(walk, low)) {
        struct hp_walk_choice choice = take(walk);
        uint8_t level = walk->states[choice.state].level;
        if (level < high)
            HP_TRY(choose(walk, &choice));
        if (walk->over) {
            walk->pending[level]++; /* it was not done */
            advance(walk, low);
            return HP_OK;
        }
        while (high && walk->answer->paths[high] == walk->ways)
            high--;
    }
    *low = walk->query->bits; /* everything was found, or there is no more */
    return HP_OK;
}

enum hp_err hp_walk_best(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                         uint8_t ways, bool linked, struct hp_reconstruct_answer *answer)
{
    struct hp_walk_state first = {.place = query->place, .path = query->place};
    hp_walk_start(walk, query, answer);
    walk->linked = linked;
    walk->ways = ways;
    memset(walk->pending, 0, sizeof walk->pending);
    if (hp_walk_extend(query, &first, query->place, query->index))
        HP_TRY(offer(walk, hp_walk_find(walk, &first)));
    return walk_on(walk, &answer->known);
}
