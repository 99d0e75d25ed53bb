// SPDX-License-Identifier: MIT
/*
 * Walks backwards from a sample. Ways that do not differ in what may still come before are one
 * *state*: the same place, the same calls to be met, as many branches and (with a pair) as many
 * instructions to the sample. So the work is bounded by the states, however many paths there are.
 *
 * This file has states and stacks, found by hashing, and the walk along all ways at once, which can
 * list them.
 */
#include "base/grow.h"
#include "profiler/sample/reconstruct_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMPTY HP_WALK_EMPTY

/* --- Memory ----------------------------------------------------------------------------------- */

enum hp_err hp_walk_init(struct hp_backward_walk *walk, const struct hp_place_graph *graph,
                         uint32_t states)
{
    uint32_t size = 16;
    while (size < 2 * states)
        size *= 2;
    *walk = (struct hp_backward_walk){.graph = graph, .limit = states, .mask = size - 1};
    walk->states = calloc(states, sizeof *walk->states);
    walk->frames = calloc((size_t)states + 1, sizeof *walk->frames);
    walk->todo = calloc(states, sizeof *walk->todo);
    walk->state_slots = calloc(size, sizeof *walk->state_slots);
    walk->frame_slots = calloc(size, sizeof *walk->frame_slots);
    if (walk->states && walk->frames && walk->todo && walk->state_slots && walk->frame_slots)
        return HP_OK;
    hp_walk_fini(walk);
    return hp_fail_nomem();
}

void hp_walk_fini(struct hp_backward_walk *walk)
{
    free(walk->states);
    free(walk->frames);
    free(walk->links);
    free(walk->heap);
    free(walk->todo);
    free(walk->state_slots);
    free(walk->frame_slots);
    *walk = (struct hp_backward_walk){0};
}

void hp_walk_start(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                   struct hp_reconstruct_answer *answer)
{
    if (++walk->round == 0) { /* once in 2^32 queries */
        memset(walk->state_slots, 0, ((size_t)walk->mask + 1) * sizeof *walk->state_slots);
        memset(walk->frame_slots, 0, ((size_t)walk->mask + 1) * sizeof *walk->frame_slots);
        walk->round = 1;
    }
    walk->n_states = 0;
    walk->n_frames = 1;
    walk->n_links = 1;
    walk->n_heap = 0;
    walk->end = HP_NO_ID;
    walk->n_todo = 0;
    walk->over = false;
    walk->query = query;
    walk->answer = answer;
    *answer = (struct hp_reconstruct_answer){0};
}

/* The stack with one more call; HP_NO_ID: no room, or too deep. Equal stacks have equal numbers. */
static uint32_t push(struct hp_backward_walk *walk, uint32_t below, uint32_t site)
{
    uint32_t i = (uint32_t)hp_hash64((uint64_t)below << 32 | site) & walk->mask;
    for (; walk->frame_slots[i].round == walk->round; i = (i + 1) & walk->mask) {
        uint32_t known = walk->frame_slots[i].value;
        if (walk->frames[known].below == below && walk->frames[known].site == site)
            return known;
    }
    walk->over |= walk->n_frames > walk->limit;
    if (walk->over || walk->frames[below].depth == HP_WALK_DEPTH)
        return HP_NO_ID;
    walk->frame_slots[i] = (struct hp_walk_slot){walk->round, walk->n_frames};
    walk->frames[walk->n_frames] =
        (struct hp_walk_frame){below, site, walk->frames[below].depth + 1};
    return walk->n_frames++;
}

static bool same_state(const struct hp_walk_state *a, const struct hp_walk_state *b)
{
    return a->place == b->place && a->stack == b->stack && a->near == b->near &&
           a->level == b->level && a->seen == b->seen && a->way == b->way;
}

uint32_t hp_walk_find(struct hp_backward_walk *walk, const struct hp_walk_state *like)
{
    uint64_t hash = hp_hash64((uint64_t)like->stack << 32 | like->place);
    hash = hp_hash64(hash ^ ((uint64_t)like->near << 16 | (uint64_t)like->level << 8 |
                             (uint64_t)like->way << 1 | like->seen));
    uint32_t i = (uint32_t)hash & walk->mask;
    for (; walk->state_slots[i].round == walk->round; i = (i + 1) & walk->mask)
        if (same_state(&walk->states[walk->state_slots[i].value], like))
            return walk->state_slots[i].value;
    if (walk->n_states == walk->limit)
        return HP_NO_ID;
    walk->state_slots[i] = (struct hp_walk_slot){walk->round, walk->n_states};
    walk->states[walk->n_states] = *like;
    return walk->n_states++;
}

/* --- Pairs ------------------------------------------------------------------------------------ */

bool hp_walk_extend(const struct hp_walk_query *q, struct hp_walk_state *state, uint32_t place,
                    uint32_t insns)
{
    if (q->scheme == HP_RECONSTRUCT_HISTORY || state->seen)
        return true;
    uint32_t near = state->near + insns;
    bool here = place == q->other && q->other_index < insns;
    if (q->scheme == HP_RECONSTRUCT_PAIR)
        state->seen = here;
    else if (near >= q->distance) {
        state->seen = here && insns - q->other_index + state->near == q->distance;
        if (!state->seen)
            return false;
    }
    state->near = state->seen ? 0 : (uint16_t)(near < q->distance ? near : q->distance);
    return true;
}

/* A segment too short to contain the other instruction proves nothing. */
bool hp_walk_accepts(const struct hp_walk_query *q, const struct hp_walk_state *state)
{
    return q->scheme == HP_RECONSTRUCT_HISTORY || state->seen || state->near < q->distance;
}

/* --- All ways --------------------------------------------------------------------------------- */

enum hp_err hp_walk_join(struct hp_backward_walk *walk, uint32_t from, uint32_t to)
{
    HP_TRY(hp_grow(&walk->links, &walk->cap_links, walk->n_links + 1, sizeof *walk->links));
    walk->links[walk->n_links] = (struct hp_walk_link){to, walk->states[from].link};
    walk->states[from].link = (uint32_t)walk->n_links++;
    return HP_OK;
}

uint32_t hp_walk_behind(struct hp_backward_walk *walk, const struct hp_arrow *arrow, uint32_t stack)
{
    bool top = stack == EMPTY;
    switch (arrow->kind) {
    case HP_ARROW_RETURN: return push(walk, stack, arrow->site);
    case HP_ARROW_CALL:
        if (top)
            return walk->query->across ? EMPTY : HP_NO_ID;
        return walk->frames[stack].site == arrow->from ? walk->frames[stack].below : HP_NO_ID;
    case HP_ARROW_TAIL: return top && !walk->query->across ? HP_NO_ID : stack;
    default: return stack;
    }
}

/* Takes a step from a state, if the rules allow it. Its target is expanded later, once. */
static enum hp_err step(struct hp_backward_walk *walk, uint32_t id, const struct hp_arrow *arrow)
{
    const struct hp_walk_query *q = walk->query;
    const struct hp_walk_state *state = &walk->states[id];
    if (arrow->bit >= 0 && (q->history >> state->level & 1) != (uint32_t)arrow->bit)
        return HP_OK;
    struct hp_walk_state next = {.place = arrow->from,
                                 .stack = hp_walk_behind(walk, arrow, state->stack),
                                 .near = state->near,
                                 .level = (uint8_t)(state->level + (arrow->bit >= 0)),
                                 .seen = state->seen};
    if (next.stack == HP_NO_ID ||
        !hp_walk_extend(q, &next, arrow->from, walk->graph->places[arrow->from].insns))
        return HP_OK;
    uint32_t before = walk->n_states, to = hp_walk_find(walk, &next);
    walk->over |= to == HP_NO_ID;
    if (walk->over)
        return HP_OK;
    if (next.level == q->bits)
        walk->states[to].ends = hp_walk_accepts(q, &next);
    else if (to == before)
        walk->todo[walk->n_todo++] = to;
    return hp_walk_join(walk, to, id);
}

/* With calls on the stack only one call can come before; on an empty stack, within a routine,
 * none. */
static enum hp_err expand(struct hp_backward_walk *walk, uint32_t id)
{
    struct hp_walk_state *state = &walk->states[id];
    const struct hp_graph_place *place = &walk->graph->places[state->place];
    bool top = state->stack == EMPTY, across = walk->query->across;
    state->ends = top && !across && place->begins && hp_walk_accepts(walk->query, state);
    size_t end = top && across ? place[1].first : place->calls;
    for (size_t i = place->first; i < end && !walk->over; i++)
        HP_TRY(step(walk, id, &walk->graph->arrows[i]));
    if (top || place->calls == place[1].first)
        return HP_OK;
    const struct hp_arrow *call =
        hp_place_arrow(walk->graph, walk->frames[state->stack].site, state->place);
    return call && call->kind == HP_ARROW_CALL ? step(walk, id, call) : HP_OK;
}

enum hp_err hp_walk_all(struct hp_backward_walk *walk, const struct hp_walk_query *query)
{
    struct hp_walk_state first = {.place = query->place};
    struct hp_reconstruct_answer answer; /* not used */
    hp_walk_start(walk, query, &answer);
    if (hp_walk_extend(query, &first, query->place, query->index))
        walk->todo[walk->n_todo++] = hp_walk_find(walk, &first);
    while (walk->n_todo && !walk->over)
        HP_TRY(expand(walk, walk->todo[--walk->n_todo]));
    walk->answer = NULL;
    return HP_OK;
}
