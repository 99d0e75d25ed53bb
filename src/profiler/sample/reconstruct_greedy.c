// SPDX-License-Identifier: MIT
/*
 * Walks backwards without a history: always takes the heaviest arrow, without backtracking.
 */
#include "base/grow.h"
#include "profiler/sample/reconstruct_impl.h"

static uint64_t weight_of(const struct hp_backward_walk *walk, const struct hp_arrow *arrow,
                          uint32_t stack)
{
    if (walk->query->scheme == HP_RECONSTRUCT_COUNTS)
        return walk->graph->places[arrow->from].left;
    return arrow->kind == HP_ARROW_CALL && stack != HP_WALK_EMPTY
               ? walk->graph->places[arrow->to].called
               : arrow->count;
}

/* The heaviest arrow that the rules allow; NULL: entering the routine is at least as heavy, or
 * there is none. */
static const struct hp_arrow *heaviest(struct hp_backward_walk *walk, uint32_t at, uint32_t stack)
{
    const struct hp_graph_place *place = &walk->graph->places[at];
    const struct hp_arrow *best = NULL, *arrows = walk->graph->arrows;
    uint64_t most = 0;
    bool top = stack == HP_WALK_EMPTY, across = walk->query->across;
    for (size_t i = place->first; i < place[1].first; i++) {
        bool out = arrows[i].kind == HP_ARROW_CALL || arrows[i].kind == HP_ARROW_TAIL;
        bool other =
            !top && arrows[i].kind == HP_ARROW_CALL && walk->frames[stack].site != arrows[i].from;
        uint64_t weight = weight_of(walk, &arrows[i], stack);
        if ((top && out && !across) || other || (best && weight <= most))
            continue;
        best = &arrows[i];
        most = weight;
    }
    bool begins = top && !across && place->begins;
    return begins && (!best || place->entered >= most) ? NULL : best;
}

static enum hp_err follow_trail(struct hp_walk_trail *trail, uint32_t place)
{
    if (!trail)
        return HP_OK;
    HP_TRY(hp_grow(&trail->places, &trail->cap, trail->n + 1, sizeof *trail->places));
    trail->places[trail->n++] = place;
    return HP_OK;
}

enum hp_err hp_walk_greedy(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                           struct hp_walk_trail *trail, struct hp_reconstruct_answer *answer)
{
    uint32_t at = query->place, stack = HP_WALK_EMPTY, steps = 0;
    uint64_t path = query->place;
    hp_walk_start(walk, query, answer);
    HP_TRY(follow_trail(trail, at));
    while (answer->known < query->bits && !walk->over) {
        const struct hp_arrow *arrow = heaviest(walk, at, stack);
        if (!arrow)
            break;
        stack = hp_walk_behind(walk, arrow, stack);
        walk->over |= ++steps > walk->limit;
        if (walk->over || stack == HP_NO_ID)
            return HP_OK;
        at = arrow->from;
        path = hp_walk_path(path, at);
        HP_TRY(follow_trail(trail, at));
        if (arrow->bit >= 0) {
            answer->paths[++answer->known] = 1;
            answer->path[answer->known] = path;
        }
    }
    if (query->across || stack != HP_WALK_EMPTY || !walk->graph->places[at].begins)
        return HP_OK;
    while (answer->known < query->bits) {
        answer->paths[++answer->known] = 1;
        answer->path[answer->known] = hp_walk_path(path, HP_WALK_BEGINNING);
    }
    return HP_OK;
}
